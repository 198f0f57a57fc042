//! A plan run once on CUDA over texels that the host gives: how the self-test compares kernels with their references.

use std::sync::Arc;

use half::f16;

use crate::cuda::{CudaContext, CudaDevice, CudaImage, CudaStream, Driver, ResultExt};
use crate::kernels::reference::FrameParameters;
use crate::kernels::{Catalogue, Image, ImageId, Pass, Plan};

use super::Error;
use super::cuda::image_of;
use super::cuda_kernels::Kernels;

/// All kernels, loaded, with a stream of their own.
pub struct CudaOnce {
    kernels: Kernels,
    stream: Arc<CudaStream>,
    context: Arc<CudaContext>,
}

impl CudaOnce {
    /// Loads all kernels on a device.
    ///
    /// # Errors
    /// The driver refused a kernel.
    pub fn new(driver: &Driver, device: &CudaDevice, catalogue: &'static Catalogue) -> Result<Self, Error> {
        let context = driver.context(device)?;
        let stream = context.new_stream().during(|| "create a stream")?;
        Ok(Self {
            kernels: Kernels::load(&context, catalogue)?,
            stream,
            context,
        })
    }

    /// Runs the plan from `color` (rows packed) and gives what it wrote to `processed`.
    ///
    /// # Errors
    /// No memory, or a kernel failed.
    pub fn run(
        &self,
        plan: &Plan,
        color: &[[f16; 4]],
        extent: [u32; 2],
        frame: &FrameParameters,
    ) -> Result<Vec<[f16; 4]>, Error> {
        let source = CudaImage::new(&self.context, extent)?;
        source.upload(bytemuck::cast_slice(color))?;
        let destination = self.poisoned(extent)?;
        let scratch = (0..plan.scratch.len())
            .map(|index| self.poisoned(plan.extent_of(ImageId::Scratch(index), extent)))
            .collect::<Result<Vec<_>, _>>()?;
        let image = |id: ImageId| {
            let image = match id {
                ImageId::Color => &source,
                ImageId::Processed => &destination,
                ImageId::Scratch(index) => &scratch[index],
            };
            image_of(&image.views, image.extent)
        };
        for item in &plan.launches {
            let pass = Pass {
                source: image(item.source),
                second: item.second.map(image).unwrap_or_default(),
                destination: image(item.destination),
                depth: Image::default(),
                normal: Image::default(),
                albedo: Image::default(),
                motion: Image::default(),
                history: Image::default(),
                pointer: frame.pointer,
                frame: frame.frame,
                time: frame.time,
                time_delta: frame.time_delta,
            };
            self.kernels.launch(&self.stream, item, &pass)?;
        }
        self.stream.synchronize().during(|| "run the kernels")?;
        let bytes = destination.download()?;
        Ok(bytemuck::pod_collect_to_vec(&bytes))
    }

    /// An image full of a value that no effect makes, so that a texel that was not written shows.
    fn poisoned(&self, extent: [u32; 2]) -> Result<CudaImage, Error> {
        let image = CudaImage::new(&self.context, extent)?;
        let texels = vec![[f16::from_f32(-12345.0); 4]; extent[0] as usize * extent[1] as usize];
        image.upload(bytemuck::cast_slice(&texels))?;
        Ok(image)
    }
}
