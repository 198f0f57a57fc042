//! The chain on CUDA, in this process: shared images, shared timelines, one stream.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk;

use crate::cuda::{
    CudaContext, CudaDevice, CudaStream, Driver, Event, Function, ResultExt, Stamps, copy_bandwidth, find_cufft,
    is_idle,
};
use crate::frame::{FrameNumber, Timelines};
use crate::interop::{SharedImage, SharedImageDescription, SharedTimeline, prove_clock};
use crate::kernels::{FrameExtents, Plan};
use crate::scene::Target;
use crate::timing::{ClockProof, Interval};
use crate::vulkan::barrier::Barriers;
use crate::vulkan::ownership::acquire_from_external;
use crate::vulkan::{COLOR, Device};

use super::cuda_chain::{CudaChain, Loaded};
use super::cuda_graph::{ChainGraph, Likeness};
use super::cuda_kernels::KernelLoader;
use super::cuda_screen::CudaScreens;
use super::{ChainTimes, Error, Job, KernelTime, PROCESSED, Processor, SLOT_IMAGES, SlotImages, extent_of};

/// Runs chains on a CUDA stream. Fields in drop order: what uses the timelines and the context goes before them.
pub struct CudaProcessor {
    pub(super) slots: Vec<Slot>,
    pub(super) chain: CudaChain,
    /// Where chains end in screen images.
    pub(super) screens: Option<CudaScreens>,
    pub(super) stamps: Option<Stamps>,
    /// Gone only after a chain without end.
    pub(super) semaphores: Option<Semaphores>,
    stamp_kernel: Function,
    pub(super) extents: FrameExtents,
    pub(super) withheld_from: Option<FrameNumber>,
    clock: ClockProof,
    description: String,
    device: Arc<Device>,
    /// All chains run on it, in the order of their frames.
    pub(super) stream: Arc<CudaStream>,
    /// Of the same GPU as the Vulkan device.
    pub(super) context: Arc<CudaContext>,
}

/// CUDA's side of the timelines, and Vulkan's, which outlives it.
pub(super) struct Semaphores {
    pub(super) rendered: SharedTimeline,
    pub(super) processed: SharedTimeline,
    _timelines: Arc<Timelines>,
}

/// One slot: its images, and the events that time its kernels. The graph goes before what it works on.
pub(super) struct Slot {
    /// Of frames that are like the last one.
    pub(super) graph: Option<ChainGraph>,
    pub(super) images: Vec<SharedImage>,
    /// One before the first launch, one after each.
    pub(super) events: Vec<Event>,
    /// What the slot's frame launched, with times still to be filled in. Empty where kernels are not timed.
    pub(super) launches: Vec<KernelTime>,
    /// What they run.
    pub(super) loaded: Option<Loaded>,
    /// What the slot's frame was like.
    pub(super) likeness: Option<Likeness>,
    /// The slot's frame has stamps.
    pub(super) is_stamped: bool,
    /// And one where its overlay began.
    pub(super) has_overlay: bool,
}

impl CudaProcessor {
    /// Opens the CUDA device and imports the timelines.
    ///
    /// # Errors
    /// The driver refused: a timeline could not be shared.
    pub fn new(
        driver: &Driver,
        cuda: &CudaDevice,
        device: &Arc<Device>,
        timelines: &Arc<Timelines>,
    ) -> Result<Self, Error> {
        if !cuda.timeline_interop {
            return Err(Error::Effect {
                effect: cuda.name.clone(),
                reason: "does not share timeline semaphores (CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED \
                         is 0): update the driver, or use --processor host"
                    .into(),
            });
        }
        let context = driver.context(cuda)?;
        let stream = context.new_stream().during(|| "create the chain's stream")?;
        let (major, minor) = (driver.version / 1000, driver.version % 1000 / 10);
        Ok(Self {
            slots: Vec::new(),
            chain: CudaChain::new(&context, &stream, false),
            screens: None,
            stamps: None,
            semaphores: Some(Semaphores {
                rendered: SharedTimeline::import(device, &context, &timelines.rendered)?,
                processed: SharedTimeline::import(device, &context, &timelines.processed)?,
                _timelines: Arc::clone(timelines),
            }),
            stamp_kernel: Stamps::kernel(&context)?,
            extents: FrameExtents::same([0; 2]),
            withheld_from: None,
            clock: prove_clock(device, &context, &stream)?,
            description: format!("cuda on {}, driver of CUDA {major}.{minor}", cuda.name),
            device: Arc::clone(device),
            stream,
            context,
        })
    }
}

/// Stamps of a slot: chain start, chain end, overlay start.
pub(super) const STAMPS: usize = 3;

impl Processor for CudaProcessor {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn description(&self) -> String {
        self.description.clone()
    }

    fn is_on_gpu(&self) -> bool {
        true
    }

    fn clock(&self) -> ClockProof {
        self.clock
    }

    fn prove_clock(&mut self) -> Result<ClockProof, Error> {
        Ok(prove_clock(&self.device, &self.context, &self.stream)?)
    }

    fn copy_bandwidth(&mut self) -> Result<Option<f64>, Error> {
        Ok(copy_bandwidth(&self.context, &self.stream)?)
    }

    fn retarget(&mut self, extents: FrameExtents, slots: usize) -> Result<Vec<SlotImages>, Error> {
        self.stream.synchronize().during(|| "wait for the chain's stream")?;
        // The old images go first, so that old and new are never in memory together.
        self.slots.clear();
        self.chain.clear();
        if let Some(screens) = &mut self.screens {
            screens.clear();
        }
        self.extents = extents;
        self.stamps = None;
        if slots == 0 {
            // It steps back: what it runs next may be of other effects.
            self.chain.loader().forget_all();
            return Ok(Vec::new());
        }
        self.stamps = Some(Stamps::new(&self.stamp_kernel, slots * STAMPS)?);
        let mut targets = Vec::with_capacity(slots);
        for slot in 0..slots {
            let images = SLOT_IMAGES
                .iter()
                .enumerate()
                .map(|(place, (name, format, usage))| {
                    let name = format!("{name} of slot {slot}");
                    let description = SharedImageDescription::new(*format, extent_of(place, extents), *usage);
                    SharedImage::new(&self.device, &self.context, description, &name)
                })
                .collect::<Result<Vec<_>, _>>()?;
            targets.push(SlotImages::from_targets(std::array::from_fn(|index| Target {
                image: images[index].vulkan.raw,
                view: images[index].vulkan.view,
            })));
            self.slots.push(Slot {
                graph: None,
                images,
                events: Vec::new(),
                launches: Vec::new(),
                loaded: None,
                likeness: None,
                is_stamped: false,
                has_overlay: false,
            });
        }
        if let Some(screens) = &mut self.screens {
            screens.retarget(&self.device, extents.display, slots)?;
        }
        Ok(targets)
    }

    fn record_release(&self, commands: vk::CommandBuffer, slot: usize, written: &[Target], family: u32, _plan: &Plan) {
        let released = written.iter().fold(Barriers::new(), |barriers, target| {
            barriers.release_to_external(target.image, family)
        });
        let outputs = [Some(self.slots[slot].images[PROCESSED].vulkan.raw), self.screen(slot)];
        outputs
            .into_iter()
            .flatten()
            .fold(released, Barriers::discard_to_external)
            .record(&self.device, commands);
    }

    fn end_in_screen(&mut self) -> Result<(), Error> {
        self.screens = Some(CudaScreens::new(&self.context)?);
        Ok(())
    }

    fn screen(&self, slot: usize) -> Option<vk::Image> {
        self.screens.as_ref().map(|screens| screens.image(slot))
    }

    fn record_acquire_screen(&self, commands: vk::CommandBuffer, slot: usize, family: u32) {
        if let Some(image) = self.screen(slot) {
            acquire_from_external(&self.device, commands, family, &[(image, COLOR)], &[]);
        }
    }

    fn record_acquire(&self, commands: vk::CommandBuffer, slot: usize, family: u32) {
        Barriers::new()
            .acquire_from_external(self.slots[slot].images[PROCESSED].vulkan.raw, family)
            .record(&self.device, commands);
    }

    fn enqueue(&mut self, job: Job) -> Result<(), Error> {
        self.enqueue_chain(&job)
    }

    fn times(&mut self, slot: usize, times: &mut ChainTimes) {
        times.clear();
        let Slot {
            events,
            launches,
            is_stamped,
            has_overlay,
            ..
        } = &self.slots[slot];
        // Each event is timed from the one before: a float of milliseconds since the chain's start would lose ticks of a long
        // chain.
        let spans = events.windows(2).map(|pair| pair[0].milliseconds_until(&pair[1]));
        let mut since_start_ns = 0.0;
        times
            .kernels
            .extend(launches.iter().zip(spans).map_while(|(launch, span)| {
                let from = since_start_ns;
                since_start_ns += span? * 1e6;
                Some(KernelTime {
                    since_start_ns: [from, since_start_ns],
                    ..*launch
                })
            }));
        let stamp = |index: usize| {
            let stamps = self.stamps.as_ref().filter(|_| *is_stamped);
            stamps.and_then(|stamps| stamps.read(slot * STAMPS + index))
        };
        let stamps = stamp(0).zip(stamp(1));
        let overlay = if *has_overlay { stamp(2).zip(stamp(1)) } else { None };
        let relation = &self.clock.relation;
        let on_device = |(start, end)| Some(Interval::new(relation.convert(start)?, relation.convert(end)?));
        let milliseconds = |(start, end): (u64, u64)| end.wrapping_sub(start) as f64 * 1e-6;
        times.interval = stamps.and_then(on_device);
        times.chain_ms = stamps.map(milliseconds);
        times.overlay = overlay.and_then(on_device);
        times.overlay_ms = overlay.map(milliseconds);
    }

    fn transforms(&self) -> Result<(), String> {
        find_cufft().map_err(|error| error.to_string())
    }

    fn kernel_loader(&self) -> Option<Arc<KernelLoader>> {
        Some(Arc::clone(self.chain.loader()))
    }

    fn withhold_from(&mut self, frame: FrameNumber) {
        self.withheld_from = Some(frame);
    }

    fn stop(&mut self) {
        if !self.settles() {
            tracing::debug!("the chain's stream does not end");
        }
    }

    fn failure(&mut self) -> Option<Error> {
        // A fault shows in every later call on the context.
        is_idle(&self.stream).err().map(Error::from)
    }
}

/// How long the stream may take to end once nothing more is enqueued. Longer than any frame, shorter than patience.
const SETTLE_LIMIT: Duration = Duration::from_secs(2);

impl CudaProcessor {
    fn settles(&self) -> bool {
        let started = Instant::now();
        // A context that failed has nothing left to do.
        while !is_idle(&self.stream).unwrap_or(true) {
            if started.elapsed() > SETTLE_LIMIT {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }
}

impl Drop for CudaProcessor {
    fn drop(&mut self) {
        if !self.settles() {
            // To free what a kernel without end still uses would wait for that kernel. The driver frees it at exit.
            tracing::warn!("a kernel does not end: its memory is left to the driver");
            std::mem::forget(std::mem::take(&mut self.slots));
            self.chain.abandon();
            std::mem::forget(self.screens.take());
            std::mem::forget(self.stamps.take());
            std::mem::forget(self.semaphores.take());
            std::mem::forget((Arc::clone(&self.stream), Arc::clone(&self.context)));
            // A load may wait for that kernel too.
            return;
        }
        self.chain.loader().stop();
    }
}
