//! Plans run on CUDA over texels that the host gives: how the self-test compares kernels with their references.

use std::sync::Arc;

use half::f16;

use crate::cuda::{ArrayFormat, CudaContext, CudaDevice, CudaImage, CudaStream, Driver, ResultExt};
use crate::kernels::reference::FrameParameters;
use crate::kernels::{FrameExtents, Guide, Image, Plan, TestGuides};

use super::Error;
use super::cuda_chain::{CudaChain, image_of};
use super::launch_pass::FrameViews;

/// A chain with a stream of its own.
pub struct CudaOnce {
    chain: CudaChain,
    stream: Arc<CudaStream>,
    context: Arc<CudaContext>,
}

impl CudaOnce {
    /// Opens the device.
    ///
    /// # Errors
    /// The driver refused.
    pub fn new(driver: &Driver, device: &CudaDevice) -> Result<Self, Error> {
        let context = driver.context(device)?;
        let stream = context.new_stream().during(|| "create a stream")?;
        Ok(Self {
            chain: CudaChain::new(&context, &stream, true),
            stream,
            context,
        })
    }

    /// Runs one frame of the plan from `color` (rows packed, of the scene's extent) and gives what it wrote to `processed`.
    /// Frames of one plan follow one another: what effects keep is there in the next.
    ///
    /// # Errors
    /// No memory, or a kernel failed.
    pub fn run(
        &mut self,
        plan: &Plan,
        color: &[[f16; 4]],
        guides: &TestGuides,
        extents: FrameExtents,
        frame: &FrameParameters,
    ) -> Result<Vec<[f16; 4]>, Error> {
        let source = self.upload(bytemuck::cast_slice(color), extents.scene, ArrayFormat::Rgba16f)?;
        let texels = extents.display[0] as usize * extents.display[1] as usize;
        let poison = vec![[f16::from_f32(-12345.0); 4]; texels];
        let destination = self.upload(bytemuck::cast_slice(&poison), extents.display, ArrayFormat::Rgba16f)?;
        let mut uploaded = Vec::new();
        let mut views = FrameViews {
            color: view(&source),
            processed: view(&destination),
            guides: [Image::default(); 4],
        };
        for guide in &plan.guides {
            let format = match guide {
                Guide::Depth => ArrayFormat::R32f,
                Guide::Normal => ArrayFormat::Rgba16f,
                Guide::Albedo => ArrayFormat::Rgba8,
                Guide::Motion => ArrayFormat::Rg16f,
            };
            let image = self.upload(guides.bytes(*guide), extents.scene, format)?;
            views.guides[*guide as usize] = view(&image);
            uploaded.push(image);
        }
        self.chain.prepare(plan, extents)?;
        for number in 0..plan.launches.len() {
            if self.chain.runs(plan, number) {
                self.chain.launch(plan, number, extents, &views, frame)?;
            }
        }
        self.chain.end_frame();
        self.stream.synchronize().during(|| "run the kernels")?;
        drop(uploaded);
        let bytes = destination.download()?;
        Ok(bytemuck::pod_collect_to_vec(&bytes))
    }

    /// The next frame is the first: nothing that effects kept is left.
    pub fn forget(&mut self) {
        self.chain.clear();
    }

    fn upload(&self, texels: &[u8], extent: [u32; 2], format: ArrayFormat) -> Result<CudaImage, Error> {
        let image = CudaImage::new(&self.context, extent, format)?;
        image.upload(texels)?;
        Ok(image)
    }
}

fn view(image: &CudaImage) -> Image {
    image_of(&image.views, image.extent)
}
