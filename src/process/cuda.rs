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
use crate::kernels::{FrameExtents, Image, Plan};
use crate::scene::Target;
use crate::timing::{ClockProof, GpuWork, Interval, ToolRange};
use crate::vulkan::barrier::Barriers;
use crate::vulkan::ownership::acquire_from_external;
use crate::vulkan::{COLOR, Device};

use super::cuda_chain::{CudaChain, Loaded, image_of};
use super::cuda_kernels::KernelLoader;
use super::cuda_screen::CudaScreens;
use super::launch_pass::FrameViews;
use super::{ChainTimes, Error, Job, KernelTime, PROCESSED, Processor, SLOT_IMAGES, SlotImages, extent_of};

/// Runs chains on a CUDA stream. Fields in drop order: what uses the timelines and the context goes before them.
pub struct CudaProcessor {
    slots: Vec<Slot>,
    chain: CudaChain,
    /// Where chains end in screen images.
    screens: Option<CudaScreens>,
    stamps: Option<Stamps>,
    /// Gone only after a chain without end.
    semaphores: Option<Semaphores>,
    stamp_kernel: Function,
    extents: FrameExtents,
    withheld_from: Option<FrameNumber>,
    clock: ClockProof,
    description: String,
    device: Arc<Device>,
    /// All chains run on it, in the order of their frames.
    stream: Arc<CudaStream>,
    /// Of the same GPU as the Vulkan device.
    context: Arc<CudaContext>,
}

/// CUDA's side of the timelines, and Vulkan's, which outlives it.
struct Semaphores {
    rendered: SharedTimeline,
    processed: SharedTimeline,
    _timelines: Arc<Timelines>,
}

/// One slot: its images, and the events that time its kernels.
struct Slot {
    images: Vec<SharedImage>,
    /// One before the first launch, one after each.
    events: Vec<Event>,
    /// What the slot's frame launched, with times still to be filled in. Empty where kernels are not timed.
    launches: Vec<KernelTime>,
    /// What they run.
    loaded: Option<Loaded>,
    /// The slot's frame has stamps.
    is_stamped: bool,
    /// And one where its overlay began.
    has_overlay: bool,
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

    fn stamp(&mut self, index: usize) -> Result<(), Error> {
        if let Some(stamps) = &mut self.stamps {
            stamps.clear(index);
            stamps.enqueue(&self.stream, index)?;
        }
        Ok(())
    }

    /// Records the slot's event of this number, which is the next to be made or was made before.
    fn record_event(&mut self, slot: usize, number: usize) -> Result<(), Error> {
        let events = &mut self.slots[slot].events;
        if events.len() == number {
            events.push(Event::new(&self.context)?);
        }
        Ok(events[number].record(&self.stream)?)
    }

    fn views(&self, job: &Job) -> FrameViews {
        let slot = &self.slots[job.slot];
        let extent = |index: usize| match index {
            PROCESSED => self.extents.display,
            _ => self.extents.scene,
        };
        let shared = |index: usize| image_of(slot.images[index].views(), extent(index));
        FrameViews {
            color: shared(0),
            processed: shared(PROCESSED),
            guides: match job.has_guides {
                true => [shared(1), shared(2), shared(3), shared(4)],
                false => [Image::default(); 4],
            },
        }
    }
}

/// Stamps of a slot: chain start, chain end, overlay start.
const STAMPS: usize = 3;

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
                images,
                events: Vec::new(),
                launches: Vec::new(),
                loaded: None,
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
        self.context.bind_to_thread().during(|| "bind the CUDA context")?;
        let extents = self.extents;
        self.slots[job.slot].loaded = Some(self.chain.prepare(&job.plan, extents)?);
        let (views, frame) = (self.views(&job), job.frame_parameters());
        let stamp = job.slot * STAMPS;
        let (is_stamped, is_timed) = (job.instrument.has_parts(), job.instrument.has_kernels());
        self.slots[job.slot].launches.clear();
        self.slots[job.slot].is_stamped = is_stamped;

        if let Some(semaphores) = &self.semaphores {
            semaphores.rendered.wait(&self.stream, job.frame.value())?;
        }
        if is_stamped {
            self.stamp(stamp)?;
        }
        if is_timed {
            self.record_event(job.slot, 0)?;
        }
        let chain = ToolRange::new(GpuWork::Chain.label());
        for (number, item) in job.plan.launches.iter().enumerate() {
            let range = ToolRange::new(item.label());
            self.chain.launch(&job.plan, number, extents, &views, &frame)?;
            drop(range);
            if is_timed {
                let bytes = job.plan.least_bytes(item, extents);
                self.slots[job.slot].launches.push(KernelTime::untimed(item, bytes));
                self.record_event(job.slot, number + 1)?;
            }
        }
        self.chain.end_frame();
        if let Some(screens) = &mut self.screens {
            let stamps = self.stamps.as_mut().filter(|_| is_stamped);
            let stamps = stamps.map(|stamps| (stamps, stamp + 2));
            let slot = &mut self.slots[job.slot];
            slot.has_overlay = screens.enqueue(&self.stream, &job, views.processed, stamps)?;
        }
        drop(chain);
        if is_stamped {
            self.stamp(stamp + 1)?;
        }
        let is_withheld = self.withheld_from.is_some_and(|withheld| job.frame >= withheld);
        if let Some(semaphores) = self.semaphores.as_ref().filter(|_| !is_withheld) {
            semaphores.processed.signal(&self.stream, job.frame.value())?;
        }
        Ok(())
    }

    fn times(&mut self, slot: usize) -> ChainTimes {
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
        let kernels = launches.iter().zip(spans).map_while(|(launch, span)| {
            let from = since_start_ns;
            since_start_ns += span? * 1e6;
            Some(KernelTime {
                since_start_ns: [from, since_start_ns],
                ..*launch
            })
        });
        let kernels = kernels.collect();
        let stamp = |index: usize| {
            let stamps = self.stamps.as_ref().filter(|_| *is_stamped);
            stamps.and_then(|stamps| stamps.read(slot * STAMPS + index))
        };
        let stamps = stamp(0).zip(stamp(1));
        let overlay = if *has_overlay { stamp(2).zip(stamp(1)) } else { None };
        let relation = &self.clock.relation;
        let on_device = |(start, end)| Some(Interval::new(relation.convert(start)?, relation.convert(end)?));
        let milliseconds = |(start, end): (u64, u64)| end.wrapping_sub(start) as f64 * 1e-6;
        ChainTimes {
            interval: stamps.and_then(on_device),
            chain_ms: stamps.map(milliseconds),
            kernels,
            overlay: overlay.and_then(on_device),
            overlay_ms: overlay.map(milliseconds),
        }
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
