//! Who runs the kernel chain between the scene and the screen.
//!
//! A processor owns what is shared: the slots' images. It waits for `rendered`, runs the chain's plan and signals
//! `processed`; the renderer knows nothing else of it. Or it is in the queue, and records the chain between scene and present.

mod cuda;
mod cuda_chain;
mod cuda_frame;
mod cuda_graph;
mod cuda_kernels;
mod cuda_screen;
mod host;
mod host_bandwidth;
mod host_screen;
mod host_texels;
mod in_queue;
mod launch_pass;
mod once;
mod timed;

use std::sync::Arc;

use ash::vk;

use crate::frame::FrameNumber;
use crate::interop::SharedFormat;
use crate::kernels::reference::FrameParameters;
use crate::kernels::{FrameExtents, Launch, Plan};
use crate::overlay::DrawList;
use crate::scene::{SceneTargets, Target};
use crate::timing::{ClockProof, Instrument, Interval};
use crate::{interop, vulkan};

pub use cuda::CudaProcessor;
pub use cuda_kernels::{KernelLoader, LoadedEffect};
pub use host::HostProcessor;
pub use in_queue::{InQueueProcessor, QueueOnce};
pub use once::CudaOnce;
pub use timed::CudaTimed;

/// An error of running the chain.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Sharing failed.
    #[error(transparent)]
    Interop(#[from] interop::Error),
    /// A Vulkan call failed.
    #[error(transparent)]
    Vulkan(#[from] vulkan::Error),
    /// A CUDA call failed: the driver refused, or a kernel faulted.
    #[error(transparent)]
    Cuda(#[from] crate::cuda::Error),
    /// A Fourier transform failed.
    #[error(transparent)]
    Fft(#[from] crate::cuda::FftError),
    /// An effect that cannot run here.
    #[error("the effect `{effect}` {reason}")]
    Effect {
        /// The effect's name.
        effect: String,
        /// Why it cannot run.
        reason: String,
    },
    /// A processor whose chains end in `processed` only.
    #[error("the processor `{processor}` writes no screen image: the schedule `copy-back` needs `cuda` or `host`")]
    NoScreen {
        /// Its name.
        processor: &'static str,
    },
    /// The thread that runs the chain on the host is gone.
    #[error("the host's chain thread stopped: {reason}")]
    Stopped {
        /// What it said.
        reason: String,
    },
}

impl Error {
    /// Memory ran out.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Self::Interop(error) => error.is_out_of_memory(),
            Self::Vulkan(error) => error.is_out_of_memory(),
            Self::Cuda(error) => error.is_out_of_memory(),
            Self::Fft(error) => error.is_out_of_memory(),
            Self::Effect { .. } | Self::NoScreen { .. } | Self::Stopped { .. } => false,
        }
    }
}

/// The images of one slot, as Vulkan sees them.
#[derive(Debug, Clone, Copy)]
pub struct SlotImages {
    /// What the scene writes.
    pub scene: SceneTargets,
    /// What the chain writes: RGBA16F.
    pub processed: Target,
}

/// The images of a slot: name, format and usage, in the order of [`SceneTargets::all`], then `processed`.
///
/// `color` can be an attachment of a raster scene or a storage image of a compute scene; all can be sampled and copied.
const SLOT_IMAGES: [(&str, SharedFormat, vk::ImageUsageFlags); 6] = {
    use vk::ImageUsageFlags as Usage;
    let written =
        Usage::from_raw(Usage::COLOR_ATTACHMENT.as_raw() | Usage::SAMPLED.as_raw() | Usage::TRANSFER_SRC.as_raw());
    let color = Usage::from_raw(written.as_raw() | Usage::STORAGE.as_raw());
    let processed = Usage::from_raw(
        Usage::STORAGE.as_raw() | Usage::SAMPLED.as_raw() | Usage::TRANSFER_SRC.as_raw() | Usage::TRANSFER_DST.as_raw(),
    );
    [
        ("color", SharedFormat::Rgba16Float, color),
        ("depth", SharedFormat::R32Float, written),
        ("normal", SharedFormat::Rgba16Float, written),
        ("albedo", SharedFormat::Rgba8Unorm, written),
        ("motion", SharedFormat::Rg16Float, written),
        ("processed", SharedFormat::Rgba16Float, processed),
    ]
};

/// The extent of the image of that place: `processed` is as large as what is shown, the others are the scene's.
fn extent_of(place: usize, extents: FrameExtents) -> vk::Extent2D {
    let [width, height] = match place {
        PROCESSED => extents.display,
        _ => extents.scene,
    };
    vk::Extent2D { width, height }
}

/// The place of `processed` among them.
const PROCESSED: usize = SLOT_IMAGES.len() - 1;

impl SlotImages {
    fn from_targets([color, depth, normal, albedo, motion, processed]: [Target; 6]) -> Self {
        Self {
            scene: SceneTargets {
                color,
                depth,
                normal,
                albedo,
                motion,
            },
            processed,
        }
    }
}

/// What the chain is given for one frame.
#[derive(Debug, Clone)]
pub struct Job {
    /// The slot whose images hold the frame.
    pub slot: usize,
    /// The frame.
    pub frame: FrameNumber,
    /// What to launch.
    pub plan: Arc<Plan>,
    /// The scene wrote the guides.
    pub has_guides: bool,
    /// Seconds since the scene began.
    pub time: f32,
    /// Seconds since the frame before.
    pub time_delta: f32,
    /// Where the pointer is, in texels.
    pub pointer: [f32; 2],
    /// Where it was in the frame before.
    pub previous_pointer: [f32; 2],
    /// How far the scene's projection was moved, texels.
    pub jitter: [f32; 2],
    /// How much is measured.
    pub instrument: Instrument,
    /// What to draw over the screen image, where the chain ends in one.
    pub overlay: Option<Arc<DrawList>>,
}

impl Job {
    /// What every launch of the chain is given.
    fn frame_parameters(&self) -> FrameParameters {
        FrameParameters {
            frame: self.frame.value(),
            time: self.time,
            time_delta: self.time_delta,
            pointer: self.pointer,
            previous_pointer: self.previous_pointer,
            jitter: self.jitter,
        }
    }
}

/// When a frame's chain ran, and each kernel in it. What was not measured is missing.
#[derive(Debug, Clone, Default)]
pub struct ChainTimes {
    /// From its start, after its wait for `rendered`, to its end, before its signal of `processed`, on the Vulkan device's clock.
    /// `None` where the chain's clock and the device's could not be related.
    pub interval: Option<Interval>,
    /// From start to end, milliseconds, on the chain's own clock.
    pub chain_ms: Option<f64>,
    /// The launches, in order.
    pub kernels: Vec<KernelTime>,
    /// Where the chain drew the overlay: the last part of it, on the device's clock.
    pub overlay: Option<Interval>,
    /// How long that took, milliseconds, on the chain's own clock.
    pub overlay_ms: Option<f64>,
}

impl ChainTimes {
    /// Nothing is known; the list keeps its memory.
    pub fn clear(&mut self) {
        self.kernels.clear();
        let kernels = std::mem::take(&mut self.kernels);
        *self = Self {
            kernels,
            ..Self::default()
        };
    }
}

/// One launch of a chain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelTime {
    /// Catalogue index; of a fused launch the first effect's.
    pub effect: usize,
    /// Index into the effect's passes.
    pub pass: usize,
    /// It ran passes of several effects at once: [`Launch::fused`].
    pub fused: Option<&'static str>,
    /// From when to when, nanoseconds since the chain's start on the chain's own clock.
    pub since_start_ns: [f64; 2],
    /// The fewest bytes that it must move: see [`Plan::least_bytes`].
    pub bytes: u64,
}

impl KernelTime {
    /// Of a launch that was not timed yet.
    fn untimed(launch: &Launch, bytes: u64) -> Self {
        Self {
            effect: launch.effect,
            pass: launch.pass,
            fused: launch.fused,
            since_start_ns: [0.0; 2],
            bytes,
        }
    }
}

/// Runs chains.
pub trait Processor {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What it is in fact, for the line at start: `cuda on NVIDIA H200, driver of CUDA 13.0`.
    fn description(&self) -> String;

    /// The chain runs on the GPU (and counts as GPU time).
    fn is_on_gpu(&self) -> bool;

    /// How the chain's clock and the Vulkan device's are related, as it was found when the processor was made.
    fn clock(&self) -> ClockProof;

    /// Finds out again. The GPU and the chain are idle.
    ///
    /// # Errors
    /// A failed call.
    fn prove_clock(&mut self) -> Result<ClockProof, Error>;

    /// Bytes a second that a copy in the memory that the chain works on moves, those read and those written counted both: what a
    /// kernel that only moves texels could reach. `None` where it cannot be measured. Takes some milliseconds; the GPU and the
    /// chain are idle.
    ///
    /// # Errors
    /// A failed call.
    fn copy_bandwidth(&mut self) -> Result<Option<f64>, Error>;

    /// Makes the images of all slots for new extents, in place of the old ones. The GPU and the chain are idle. Without slots
    /// nothing is left: another processor runs the next frames.
    ///
    /// # Errors
    /// What cannot be shared; no memory.
    fn retarget(&mut self, extents: FrameExtents, slots: usize) -> Result<Vec<SlotImages>, Error>;

    /// Records, at the end of the slot's scene, how what the scene wrote (`color` first) gets to the chain, which is the plan's.
    /// `family` is the queue's.
    fn record_release(&self, commands: vk::CommandBuffer, slot: usize, written: &[Target], family: u32, plan: &Plan);

    /// Records, at the start of the slot's present, how `processed` comes back: readable by compute shaders of a queue of
    /// `family`, in GENERAL.
    fn record_acquire(&self, commands: vk::CommandBuffer, slot: usize, family: u32);

    /// The chain is recorded into the command buffer that draws and presents: [`record_chain`](Self::record_chain) is called for
    /// each frame, between [`record_release`](Self::record_release) and [`record_acquire`](Self::record_acquire), and
    /// [`enqueue`](Self::enqueue) is not. There is neither `rendered` nor `processed`.
    fn is_in_queue(&self) -> bool {
        false
    }

    /// Records the chain of a processor that is in the queue; nothing for others. The slot's frame before has retired.
    ///
    /// # Errors
    /// A kernel did not load, or no memory.
    fn record_chain(&mut self, _commands: vk::CommandBuffer, _job: &Job) -> Result<(), Error> {
        Ok(())
    }

    /// From the next [`Processor::retarget`] on chains end in the slots' screen images ([`SrgbTable`](crate::kernels::SrgbTable)), with
    /// [`Job::overlay`] drawn over them, and Vulkan has nothing left to do but to copy.
    ///
    /// # Errors
    /// They cannot: [`Error::NoScreen`].
    fn end_in_screen(&mut self) -> Result<(), Error> {
        Err(Error::NoScreen { processor: self.name() })
    }

    /// The slot's screen image, as large as what is shown, where chains end in one.
    fn screen(&self, _slot: usize) -> Option<vk::Image> {
        None
    }

    /// Records, at the start of the slot's present, how its screen image comes back: readable by copies of a queue of `family`, in
    /// TRANSFER_SRC_OPTIMAL. It takes no more of the queue than copies do.
    fn record_acquire_screen(&self, _commands: vk::CommandBuffer, _slot: usize, _family: u32) {}

    /// Enqueues wait for `rendered`, the chain, and the signal of `processed`, all at the job's frame. Never waits.
    ///
    /// # Errors
    /// The driver refused, or an earlier chain failed.
    fn enqueue(&mut self, job: Job) -> Result<(), Error>;

    /// Writes over `times` when the chain of the slot's frame ran. The frame has retired.
    fn times(&mut self, slot: usize, times: &mut ChainTimes);

    /// Whether effects that compute by Fourier transforms can run; if not, what is missing and how to get it.
    ///
    /// # Errors
    /// They cannot.
    fn transforms(&self) -> Result<(), String> {
        Ok(())
    }

    /// Why it cannot run a plan that another processor may: the reason names the effect. `None` where it can. Told at once where the
    /// plan before was the same.
    fn refuses(&mut self, _plan: &Plan) -> Option<&str> {
        None
    }

    /// Who loads kernels, where they are loaded: another thread may have it do so before a frame needs them.
    fn kernel_loader(&self) -> Option<Arc<KernelLoader>>;

    /// From `frame` on, `processed` is not signalled: to test what happens then.
    fn withhold_from(&mut self, frame: FrameNumber);

    /// Takes no more frames, and waits a limited time until what was enqueued has ended or can be seen not to end. One that is in
    /// the queue is told so only when what it recorded does not end.
    fn stop(&mut self);

    /// Why an enqueued chain failed, if one did and the processor knows: the frame will never be processed.
    fn failure(&mut self) -> Option<Error>;
}
