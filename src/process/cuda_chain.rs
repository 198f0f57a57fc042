//! A chain's launches on a CUDA stream, with what they use besides the frame's own images.

use std::sync::Arc;

use std::collections::HashMap;

use crate::cuda::{ArrayFormat, CudaBuffer, CudaContext, CudaImage, CudaStream, Fft, ImageViews, find_cufft};
use crate::kernels::reference::FrameParameters;
use crate::kernels::{
    Buffer, BufferId, ChainMemory, FrameExtents, Image, Launch, Memory, Pass, Plan, Table, TexelFormat, Transform,
};

use super::Error;
use super::cuda_kernels::{KernelLoader, LoadedEffect};
use super::launch_pass::{FrameViews, pass_of};

/// Runs plans, one frame after the other on one stream.
pub(super) struct CudaChain {
    memory: ChainMemory<CudaMemory>,
    /// Every transform that was ever needed at these extents.
    ffts: HashMap<FftKey, Fft>,
    /// Of the plan that was prepared for.
    loaded: Loaded,
    /// The plan.
    plan_id: Option<u64>,
    allocator: CudaMemory,
    loader: Arc<KernelLoader>,
    stream: Arc<CudaStream>,
}

/// What is transformed how: direction, extent, planes.
type FftKey = (Transform, [u32; 2], u32);

/// What the launches of a frame run and read: kept until it has retired.
pub(super) type Loaded = Arc<LoadedPlan>;

/// What a plan needs on the device besides the chain's memory.
#[derive(Default)]
pub(super) struct LoadedPlan {
    /// By launch.
    effects: Vec<Arc<LoadedEffect>>,
    /// In the order of [`Plan::tables`], each with its id.
    tables: Vec<(u64, Arc<CudaBuffer>)>,
}

/// Allocates in a context.
pub(super) struct CudaMemory {
    context: Arc<CudaContext>,
    /// New images and buffers are filled with a value that no effect makes: what was not written shows.
    pub is_poisoned: bool,
}

impl Memory for CudaMemory {
    type Image = CudaImage;
    type Buffer = CudaBuffer;
    type Error = Error;

    fn image(&mut self, extent: [u32; 2], format: TexelFormat) -> Result<CudaImage, Error> {
        let array = match format {
            TexelFormat::Rgba16f => ArrayFormat::Rgba16f,
            TexelFormat::Rgba32f => ArrayFormat::Rgba32f,
        };
        let image = CudaImage::new(&self.context, extent, array)?;
        if self.is_poisoned {
            let bytes = u64::from(extent[0]) * u64::from(extent[1]) * format.bytes();
            image.upload(&vec![POISON; bytes as usize])?;
        }
        Ok(image)
    }

    fn buffer(&mut self, bytes: u64) -> Result<CudaBuffer, Error> {
        let buffer = CudaBuffer::new(&self.context, bytes)?;
        if self.is_poisoned {
            buffer.upload(&vec![POISON; bytes as usize])?;
        }
        Ok(buffer)
    }
}

/// Every half and every float of these bytes is NaN.
const POISON: u8 = 0xff;

impl CudaChain {
    pub fn new(context: &Arc<CudaContext>, stream: &Arc<CudaStream>, is_poisoned: bool) -> Self {
        Self {
            memory: ChainMemory::default(),
            ffts: HashMap::new(),
            loaded: Loaded::default(),
            plan_id: None,
            allocator: CudaMemory {
                context: Arc::clone(context),
                is_poisoned,
            },
            loader: Arc::new(KernelLoader::new(context)),
            stream: Arc::clone(stream),
        }
    }

    pub fn loader(&self) -> &Arc<KernelLoader> {
        &self.loader
    }

    /// Makes ready for a frame of the plan; at once where the frame before was of the same. Gives what its launches run.
    pub fn prepare(&mut self, plan: &Plan, extents: FrameExtents) -> Result<Loaded, Error> {
        if self.plan_id != Some(plan.id) {
            let effects = plan.launches.iter().map(|launch| self.loader.load(&launch.of));
            let tables = plan.tables.iter().map(|table| Ok((table.id(), self.table(table)?)));
            self.loaded = Arc::new(LoadedPlan {
                effects: effects.collect::<Result<_, _>>()?,
                tables: tables.collect::<Result<_, Error>>()?,
            });
            self.plan_id = Some(plan.id);
        }
        self.memory.prepare(plan, extents, &mut self.allocator)?;
        self.prepare_ffts(plan, extents)?;
        Ok(Arc::clone(&self.loaded))
    }

    /// Whether the launch of that number runs in the frame that was prepared for: see [`ChainMemory::runs`].
    pub fn runs(&self, plan: &Plan, number: usize) -> bool {
        self.memory.runs(&plan.launches[number])
    }

    /// Whether all launches run in it.
    pub fn runs_all(&self, plan: &Plan) -> bool {
        plan.launches.iter().all(|launch| self.memory.runs(launch))
    }

    /// In the next frame all launches run.
    pub fn forget_made(&mut self) {
        self.memory.forget_made();
    }

    /// Enqueues the launch of that number of the plan that was prepared for.
    pub fn launch(
        &self,
        plan: &Plan,
        number: usize,
        extents: FrameExtents,
        views: &FrameViews,
        frame: &FrameParameters,
    ) -> Result<(), Error> {
        let item = &plan.launches[number];
        for index in &item.zeroes {
            if let Some(buffer) = self.memory.buffer(BufferId::Scratch(*index)) {
                buffer.fill(&self.stream, 0)?;
            }
        }
        if let Some(key) = plan.transform_of(item, extents) {
            return self.transform(item, key);
        }
        let pass = self.pass(item, views, frame);
        let (threads, block) = (plan.threads_of(item, extents), item.description().block);
        self.loaded.effects[number].launch(&self.stream, item.pass, threads, block, (&pass, &item.parameters))
    }

    /// Makes the transforms that the plan needs and that were not made before.
    fn prepare_ffts(&mut self, plan: &Plan, extents: FrameExtents) -> Result<(), Error> {
        for launch in &plan.launches {
            let Some(key) = plan
                .transform_of(launch, extents)
                .filter(|key| !self.ffts.contains_key(key))
            else {
                continue;
            };
            find_cufft().map_err(|error| Error::Effect {
                effect: launch.of.name.clone(),
                reason: error.to_string(),
            })?;
            let (transform, extent, planes) = key;
            let _alone = self.loader.alone();
            let fft = Fft::new(
                &self.allocator.context,
                &self.stream,
                transform == Transform::R2c,
                extent,
                planes,
            )?;
            self.ffts.insert(key, fft);
        }
        Ok(())
    }

    fn transform(&self, item: &Launch, key: FftKey) -> Result<(), Error> {
        let buffer = |place: usize| item.buffers[place].and_then(|id| self.memory.buffer(id));
        if let (Some(fft), Some(from), Some(to)) = (self.ffts.get(&key), buffer(0), buffer(1)) {
            fft.run(from, to)?;
        }
        Ok(())
    }

    /// All launches of the frame are enqueued.
    pub fn end_frame(&mut self) {
        self.memory.end_frame();
    }

    /// Frees all images and buffers. The stream is idle.
    pub fn clear(&mut self) {
        self.ffts.clear();
        self.memory = ChainMemory::default();
    }

    /// What a kernel without end still uses is left to the driver.
    pub fn abandon(&mut self) {
        std::mem::forget(std::mem::take(&mut self.ffts));
        std::mem::forget(std::mem::take(&mut self.memory));
        std::mem::forget(std::mem::take(&mut self.loaded));
        self.loader.abandon();
    }

    /// A table on the device: where the plan before had it already, else a new one.
    fn table(&self, table: &Table) -> Result<Arc<CudaBuffer>, Error> {
        if let Some((_, there)) = self.loaded.tables.iter().find(|(id, _)| *id == table.id()) {
            return Ok(Arc::clone(there));
        }
        let buffer = CudaBuffer::new(&self.allocator.context, table.bytes().len() as u64)?;
        buffer.upload(table.bytes())?;
        Ok(Arc::new(buffer))
    }

    /// The first argument of a launch of the plan that was prepared for.
    pub fn pass(&self, item: &Launch, views: &FrameViews, frame: &FrameParameters) -> Pass {
        let image = |own| {
            let image = self.memory.image(own);
            image.map(|image| image_of(&image.views, image.extent))
        };
        let buffer = |id| {
            let buffer = match id {
                BufferId::Table(index) => self.loaded.tables.get(index).map(|(_, buffer)| buffer.as_ref()),
                own => self.memory.buffer(own),
            };
            buffer.map(|buffer| Buffer {
                bytes: buffer.address(),
                size: buffer.bytes(),
            })
        };
        let kept_frames = item.state.map_or(0, |state| self.memory.frames(state));
        pass_of(item, views, frame, kept_frames, image, buffer)
    }
}

/// An image as a kernel sees it.
pub(super) fn image_of(views: &ImageViews, extent: [u32; 2]) -> Image {
    Image {
        surface: views.surface,
        texture: views.texture,
        extent,
    }
}
