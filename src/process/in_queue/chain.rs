//! A chain's launches in a Vulkan command buffer, with what they use besides the frame's own images.

use std::sync::Arc;

use ash::vk;

use crate::cuda::CudaContext;
use crate::kernels::reference::FrameParameters;
use crate::kernels::{BufferId, ChainMemory, Effect, FrameExtents, Launch, Pass, Plan, Table};
use crate::vulkan::kernel_barrier::to_kernels;
use crate::vulkan::{Buffer, Device, transfer};

use super::super::Error;
use super::super::cuda_kernels::{KernelLoader, LoadedEffect};
use super::super::launch_pass::{FrameViews, pass_of};
use super::NO_TRANSFORMS;
use super::memory::{QueueBuffer, QueueMemory};
use super::steps::{Step, Work, steps};

/// Records plans, one frame after the other, all for one queue.
pub(in crate::process) struct QueueChain {
    memory: ChainMemory<QueueMemory>,
    /// Of the plan that was prepared for.
    loaded: Loaded,
    /// The plan.
    plan_id: Option<u64>,
    /// The plan that was asked for last, and why it cannot run.
    refusal: Option<(u64, Option<String>)>,
    pub allocator: QueueMemory,
    loader: Arc<KernelLoader>,
    device: Arc<Device>,
}

/// What the launches of a frame run and read: kept until it has retired.
pub(in crate::process) type Loaded = Arc<LoadedPlan>;

/// What a plan needs on the device besides the chain's memory.
#[derive(Default)]
pub(in crate::process) struct LoadedPlan {
    steps: Vec<Step>,
    /// By launch.
    effects: Vec<Arc<LoadedEffect>>,
    /// In the order of [`Plan::tables`].
    tables: Vec<LoadedTable>,
    /// What new tables are copied from.
    _staging: Vec<Buffer>,
}

/// A table on the device.
#[derive(Clone)]
struct LoadedTable {
    id: u64,
    buffer: Arc<QueueBuffer>,
}

/// What is the same for all launches of a frame.
pub(in crate::process) struct QueueFrame<'a> {
    pub commands: vk::CommandBuffer,
    pub plan: &'a Plan,
    pub extents: FrameExtents,
    pub views: &'a FrameViews,
    pub parameters: FrameParameters,
}

impl QueueChain {
    pub fn new(context: &Arc<CudaContext>, device: &Arc<Device>, is_poisoned: bool) -> Result<Self, Error> {
        Ok(Self {
            memory: ChainMemory::default(),
            loaded: Loaded::default(),
            plan_id: None,
            refusal: None,
            allocator: QueueMemory::new(device, is_poisoned)?,
            loader: Arc::new(KernelLoader::in_queue(context, device)),
            device: Arc::clone(device),
        })
    }

    pub fn loader(&self) -> &Arc<KernelLoader> {
        &self.loader
    }

    /// Why a plan cannot run here, if so.
    pub fn refuses(&mut self, plan: &Plan) -> Option<&str> {
        if self.refusal.as_ref().is_none_or(|(id, _)| *id != plan.id) {
            let mut effects = plan.launches.iter().map(|launch| &launch.of);
            let refusal = effects.find_map(|effect| self.load(effect).err());
            self.refusal = Some((plan.id, refusal.map(|error| error.to_string())));
        }
        self.refusal.as_ref()?.1.as_deref()
    }

    /// The effect's functions, unless it cannot run here.
    pub fn load(&self, effect: &Effect) -> Result<Arc<LoadedEffect>, Error> {
        if effect.transforms() {
            return Err(Error::Effect {
                effect: effect.name.clone(),
                reason: NO_TRANSFORMS.into(),
            });
        }
        self.loader.load(effect)
    }

    /// Makes ready for a frame of the plan; at once where the frame before was of the same. Gives what its launches run.
    pub fn prepare(&mut self, plan: &Plan, extents: FrameExtents) -> Result<Loaded, Error> {
        if self.plan_id != Some(plan.id) {
            let effects = plan.launches.iter().map(|launch| self.load(&launch.of));
            let effects = effects.collect::<Result<_, _>>()?;
            let mut staging = Vec::new();
            let tables = plan.tables.iter().map(|table| self.table(table, &mut staging));
            let tables = tables.collect::<Result<_, _>>()?;
            self.loaded = Arc::new(LoadedPlan {
                steps: steps(plan),
                effects,
                tables,
                _staging: staging,
            });
            self.plan_id = Some(plan.id);
        }
        self.memory.prepare(plan, extents, &mut self.allocator)?;
        Ok(Arc::clone(&self.loaded))
    }

    /// How many launches of the plan that was prepared for run in this frame.
    pub fn running(&self, plan: &Plan) -> usize {
        plan.launches.iter().filter(|launch| self.memory.runs(launch)).count()
    }

    /// Records the launches of the plan that was prepared for. What was written before, in the queue, is ordered before them;
    /// what follows needs a barrier. `launched` is called after each that runs, with its number.
    pub fn record(&mut self, frame: &QueueFrame<'_>, mut launched: impl FnMut(usize)) {
        self.allocator.record_fresh(frame.commands);
        for Step { needs_barrier, work } in &self.loaded.steps {
            if *needs_barrier {
                to_kernels(&self.device, frame.commands);
            }
            match work {
                Work::Zero(buffer) => self.zero(frame.commands, *buffer),
                // Its barrier stands between others that run.
                Work::Launch(number) if !self.memory.runs(&frame.plan.launches[*number]) => {}
                Work::Launch(number) => {
                    self.launch(frame, *number);
                    launched(*number);
                }
            }
        }
        self.memory.end_frame();
    }

    fn zero(&self, commands: vk::CommandBuffer, buffer: usize) {
        if let Some(buffer) = self.memory.buffer(BufferId::Scratch(buffer)) {
            transfer::fill(&self.device, commands, buffer.vulkan.raw, 0..buffer.vulkan.size, 0);
        }
    }

    fn launch(&self, frame: &QueueFrame<'_>, number: usize) {
        let item = &frame.plan.launches[number];
        let Some(function) = self.loaded.effects[number].queue_function(item.pass) else {
            return; // a transform, which was refused
        };
        let pass = self.pass(item, frame);
        let (threads, block) = (frame.plan.threads_of(item, frame.extents), item.description().block);
        self.device.begin_label(frame.commands, item.label());
        let arguments = [bytemuck::bytes_of(&pass), &item.parameters];
        // SAFETY: recording; `Pass` and the parameter struct are laid out as the kernel has them, which the layout tests keep;
        // the function, images and buffers are kept until the frame has retired.
        unsafe { function.launch(frame.commands, threads, block, arguments) };
        self.device.end_label(frame.commands);
    }

    fn pass(&self, item: &Launch, frame: &QueueFrame<'_>) -> Pass {
        let image = |own| self.memory.image(own).map(|image| image.view);
        let buffer = |id| match id {
            BufferId::Table(index) => self.loaded.tables.get(index).map(|table| table.buffer.view),
            own => self.memory.buffer(own).map(|buffer| buffer.view),
        };
        let kept_frames = item.state.map_or(0, |state| self.memory.frames(state));
        pass_of(item, frame.views, &frame.parameters, kept_frames, image, buffer)
    }

    /// A table on the device: where the plan before had it already, else a new one.
    fn table(&mut self, table: &Table, staging: &mut Vec<Buffer>) -> Result<LoadedTable, Error> {
        if let Some(there) = self.loaded.tables.iter().find(|there| there.id == table.id()) {
            return Ok(there.clone());
        }
        let (buffer, from) = self.allocator.upload(table.bytes(), "a table")?;
        staging.push(from);
        Ok(LoadedTable {
            id: table.id(),
            buffer: Arc::new(buffer),
        })
    }

    /// Frees all images and buffers. The queue is idle.
    pub fn clear(&mut self) {
        self.memory = ChainMemory::default();
        self.allocator.forget_fresh();
        // Tables that were not copied yet are made anew.
        self.loaded = Loaded::default();
        self.plan_id = None;
    }

    /// What a kernel without end still uses is left to the driver.
    pub fn abandon(&mut self) {
        std::mem::forget(std::mem::take(&mut self.memory));
        std::mem::forget(std::mem::take(&mut self.loaded));
        self.loader.abandon();
    }
}
