//! Plans timed on CUDA, without a renderer around them: what `handover bench kernels` measures.

use std::sync::Arc;

use crate::cuda::{
    ArithmeticRates, ArrayFormat, CudaBuffer, CudaContext, CudaDevice, CudaImage, CudaStream, Driver, Event, ResultExt,
    arithmetic_rates, copy_bandwidth, copy_us,
};
use crate::kernels::reference::FrameParameters;
use crate::kernels::{BrokenPixels, FrameExtents, Guide, Plan, TestGuides, random_image};

use super::Error;
use super::cuda_chain::{CudaChain, image_of};
use super::launch_pass::FrameViews;

/// Runs plans over images of its own, frame after frame, and times them by events.
pub struct CudaTimed {
    images: Option<Images>,
    chain: CudaChain,
    stream: Arc<CudaStream>,
    context: Arc<CudaContext>,
}

/// What plans are run over, at one pair of extents.
struct Images {
    extents: FrameExtents,
    color: CudaImage,
    processed: CudaImage,
    guides: [CudaImage; 4],
}

/// How large a piece of the images is made at random; the rest repeats it.
const TILE: [u32; 2] = [480, 270];

impl CudaTimed {
    /// Opens the device.
    ///
    /// # Errors
    /// The driver refused.
    pub fn new(driver: &Driver, device: &CudaDevice) -> Result<Self, Error> {
        let context = driver.context(device)?;
        let stream = context.new_stream().during(|| "create a stream")?;
        Ok(Self {
            images: None,
            chain: CudaChain::new(&context, &stream, false),
            stream,
            context,
        })
    }

    /// The device's copy bandwidth, bytes a second (see [`copy_bandwidth`]), and its arithmetic.
    ///
    /// # Errors
    /// The driver refused.
    pub fn limits(&self) -> Result<(Option<f64>, ArithmeticRates), Error> {
        let bandwidth = copy_bandwidth(&self.context, &self.stream)?;
        Ok((bandwidth, arithmetic_rates(&self.context, &self.stream)?))
    }

    /// Makes images of those extents, in place of others: light at random, with guides.
    ///
    /// # Errors
    /// No memory.
    pub fn retarget(&mut self, extents: FrameExtents) -> Result<(), Error> {
        self.stream.synchronize().during(|| "wait for the stream")?;
        self.images = None;
        self.chain.clear();
        let light = random_image(1, TILE, BrokenPixels::Absent);
        let guides = TestGuides::random(1, TILE);
        let image = |texels: &[u8], extent: [u32; 2], format: ArrayFormat| {
            let image = CudaImage::new(&self.context, extent, format)?;
            image.upload(&repeated(texels, extent))?;
            Ok::<_, Error>(image)
        };
        let guide = |guide: Guide, format| image(guides.bytes(guide), extents.scene, format);
        self.images = Some(Images {
            extents,
            color: image(bytemuck::cast_slice(&light), extents.scene, ArrayFormat::Rgba16f)?,
            processed: CudaImage::new(&self.context, extents.display, ArrayFormat::Rgba16f)?,
            guides: [
                guide(Guide::Depth, ArrayFormat::R32f)?,
                guide(Guide::Normal, ArrayFormat::Rgba16f)?,
                guide(Guide::Albedo, ArrayFormat::Rgba8)?,
                guide(Guide::Motion, ArrayFormat::Rg16f)?,
            ],
        });
        Ok(())
    }

    /// Microseconds of the driver's own copy of as many bytes as an image of that extent has, the mean of so many: what a kernel that only
    /// copies could reach.
    ///
    /// # Errors
    /// No memory.
    pub fn copy_us(&self, extent: [u32; 2], copies: u32) -> Result<f64, Error> {
        let bytes = extent.iter().map(|length| u64::from(*length)).product::<u64>() * 8;
        let [from, to] = [
            CudaBuffer::new(&self.context, bytes)?,
            CudaBuffer::new(&self.context, bytes)?,
        ];
        copy_us(&self.context, &self.stream, (&from, &to), 2)?;
        Ok(copy_us(&self.context, &self.stream, (&from, &to), copies)?)
    }

    /// Runs that many frames of the plan, one behind the other without a wait, after as many that are not timed (an eighth of them, at
    /// least two) and make what lasts. Microseconds of a frame, their mean.
    ///
    /// # Errors
    /// No memory, an effect that cannot run, or a kernel that failed.
    ///
    /// # Panics
    /// If there are no images yet.
    pub fn frame_us(&mut self, plan: &Plan, frames: u32) -> Result<f64, Error> {
        let events = [Event::new(&self.context)?, Event::new(&self.context)?];
        for number in 0..(frames / 8).max(2) {
            self.frame(plan, number, &mut |_| Ok(()))?;
        }
        events[0].record(&self.stream)?;
        for number in 0..frames {
            self.frame(plan, number, &mut |_| Ok(()))?;
        }
        events[1].record(&self.stream)?;
        self.stream.synchronize().during(|| "run the kernels")?;
        let milliseconds = events[0].milliseconds_until(&events[1]);
        Ok(milliseconds.unwrap_or(f64::NAN) * 1e3 / f64::from(frames))
    }

    /// Microseconds of each launch of the plan, with an event before and after each, which adds some of its own: the shortest of a few
    /// frames, in which also what lasts is made anew.
    ///
    /// # Errors
    /// As [`CudaTimed::frame_us`].
    ///
    /// # Panics
    /// As [`CudaTimed::frame_us`].
    pub fn launches_us(&mut self, plan: &Plan, frames: u32) -> Result<Vec<f64>, Error> {
        let count = plan.launches.len() + 1;
        let events = (0..count).map(|_| Event::new(&self.context));
        let events = events.collect::<Result<Vec<_>, _>>()?;
        let mut shortest = vec![f64::INFINITY; plan.launches.len()];
        for number in 0..frames {
            let stream = Arc::clone(&self.stream);
            self.chain.forget_made();
            self.frame(plan, number, &mut |launch| Ok(events[launch].record(&stream)?))?;
            self.stream.synchronize().during(|| "run the kernels")?;
            for (shortest, pair) in shortest.iter_mut().zip(events.windows(2)) {
                let milliseconds = pair[0].milliseconds_until(&pair[1]);
                *shortest = shortest.min(milliseconds.unwrap_or(f64::NAN) * 1e3);
            }
        }
        Ok(shortest)
    }

    /// Enqueues a frame; `at` is called before each launch and after the last.
    fn frame(&mut self, plan: &Plan, number: u32, at: &mut dyn FnMut(usize) -> Result<(), Error>) -> Result<(), Error> {
        let images = self.images.as_ref().expect("retarget came before");
        let extents = images.extents;
        let views = FrameViews {
            color: image_of(&images.color.views, extents.scene),
            processed: image_of(&images.processed.views, extents.display),
            guides: images
                .guides
                .each_ref()
                .map(|image| image_of(&image.views, image.extent)),
        };
        let [width, height] = extents.display.map(|length| length as f32);
        let frame = FrameParameters {
            frame: u64::from(number) + 1,
            time: number as f32 / 60.0,
            time_delta: 1.0 / 60.0,
            pointer: [width / 2.0, height / 2.0],
            previous_pointer: [width / 2.0, height / 2.0],
            jitter: [0.0; 2],
        };
        self.chain.prepare(plan, extents)?;
        for launch in 0..plan.launches.len() {
            at(launch)?;
            if self.chain.runs(plan, launch) {
                self.chain.launch(plan, launch, extents, &views, &frame)?;
            }
        }
        at(plan.launches.len())?;
        self.chain.end_frame();
        Ok(())
    }
}

/// The texels of an image of that extent that shows the tile again and again.
fn repeated(tile: &[u8], [width, height]: [u32; 2]) -> Vec<u8> {
    let texel = tile.len() / (TILE[0] as usize * TILE[1] as usize);
    let (row, tile_row) = (width as usize * texel, TILE[0] as usize * texel);
    let mut bytes = Vec::with_capacity(row * height as usize);
    for from in tile.chunks_exact(tile_row).cycle().take(height as usize) {
        bytes.extend(from.iter().cycle().take(row));
    }
    bytes
}
