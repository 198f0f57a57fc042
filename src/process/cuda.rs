//! The chain on CUDA, in this process: shared images, shared timelines, one stream.

use std::sync::Arc;

use ash::vk;

use crate::cuda::{
    CudaContext, CudaDevice, CudaImage, CudaStream, Driver, Event, Function, ImageViews, Module, ResultExt, Stamps, launch,
};
use crate::frame::{FrameNumber, Timelines};
use crate::interop::{SharedImage, SharedTimeline};
use crate::kernels::{Catalogue, Image, ImageId, Launch, Pass, Plan, extent_divided};
use crate::scene::Target;
use crate::vulkan::Device;
use crate::vulkan::barrier::ChainOwner;

use super::{ChainTimes, Error, Job, Processor, SLOT_IMAGES, SlotImages, StampClock};

/// Runs chains on a CUDA stream. Fields in drop order: what uses the timelines and the context goes before them.
pub struct CudaProcessor {
    slots: Vec<Slot>,
    scratch: Vec<(u32, CudaImage)>,
    kernels: Kernels,
    stamps: Stamps,
    rendered: SharedTimeline,
    processed: SharedTimeline,
    extent: vk::Extent2D,
    withheld_from: Option<FrameNumber>,
    description: String,
    device: Arc<Device>,
    /// The stream that all chains run on, in the order of their frames.
    pub stream: Arc<CudaStream>,
    /// The context of the same GPU as the Vulkan device.
    pub context: Arc<CudaContext>,
}

/// One slot: its images, and the events that time its effects.
struct Slot {
    images: Vec<SharedImage>,
    events: Vec<Event>,
    effects: Vec<usize>,
}

impl CudaProcessor {
    /// Opens the CUDA device, loads all kernels and imports the timelines.
    ///
    /// # Errors
    /// The driver refused: a kernel did not load, or a timeline could not be shared.
    pub fn new(
        driver: &Driver,
        cuda: &CudaDevice,
        device: &Arc<Device>,
        timelines: &Timelines,
        catalogue: &'static Catalogue,
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
            scratch: Vec::new(),
            kernels: Kernels::load(&context, catalogue)?,
            stamps: Stamps::new(&context, 0)?,
            rendered: SharedTimeline::import(device, &context, &timelines.rendered)?,
            processed: SharedTimeline::import(device, &context, &timelines.processed)?,
            extent: vk::Extent2D::default(),
            withheld_from: None,
            description: format!("cuda on {}, driver of CUDA {major}.{minor}", cuda.name),
            device: Arc::clone(device),
            stream,
            context,
        })
    }

    /// Allocates what of the plan's scratch images is not there yet. Chains run one after the other on one stream, so
    /// all frames use the same ones, and none is freed while a frame may still use it.
    fn reserve_scratch(&mut self, plan: &Plan) -> Result<Vec<usize>, Error> {
        let mut places = Vec::with_capacity(plan.scratch.len());
        for image in &plan.scratch {
            let free = (0..self.scratch.len())
                .find(|place| self.scratch[*place].0 == image.divisor && !places.contains(place));
            let place = match free {
                Some(place) => place,
                None => {
                    let extent = extent_divided([self.extent.width, self.extent.height], image.divisor);
                    self.scratch.push((image.divisor, CudaImage::new(&self.context, extent)?));
                    self.scratch.len() - 1
                }
            };
            places.push(place);
        }
        Ok(places)
    }

    fn launch(&self, job: &Job, item: &Launch, scratch: &[usize]) -> Result<(), Error> {
        let slot = &self.slots[job.slot];
        let extent = [self.extent.width, self.extent.height];
        let shared = |index: usize| image_of(slot.images[index].views(), extent);
        let image = |id: ImageId| match id {
            ImageId::Color => shared(0),
            ImageId::Processed => shared(5),
            ImageId::Scratch(index) => {
                let image = &self.scratch[scratch[index]].1;
                image_of(&image.views, image.extent)
            }
        };
        let guide = |index: usize| if job.has_guides { shared(index) } else { Image::default() };
        let pass = Pass {
            source: image(item.source),
            second: item.second.map(image).unwrap_or_default(),
            destination: image(item.destination),
            depth: guide(1),
            normal: guide(2),
            albedo: guide(3),
            motion: guide(4),
            history: Image::default(),
            pointer: job.pointer,
            frame: job.frame.value(),
            time: job.time,
            time_delta: job.time_delta,
        };
        self.kernels.launch(&self.stream, item, &pass)
    }
}

/// An image as a kernel sees it.
pub(crate) fn image_of(views: &ImageViews, extent: [u32; 2]) -> Image {
    Image { surface: views.surface, texture: views.texture, extent }
}

/// Stamps of a slot: chain start, chain end.
const STAMPS: usize = 2;

impl Processor for CudaProcessor {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn description(&self) -> String {
        self.description.clone()
    }

    fn owner(&self) -> ChainOwner {
        ChainOwner::External
    }

    fn retarget(&mut self, extent: vk::Extent2D, slots: usize) -> Result<Vec<SlotImages>, Error> {
        self.stream.synchronize().during(|| "wait for the chain's stream")?;
        // The old images go first, so that old and new are never in memory together.
        self.slots.clear();
        self.scratch.clear();
        self.extent = extent;
        self.stamps = Stamps::new(&self.context, slots * STAMPS)?;
        let mut targets = Vec::with_capacity(slots);
        for slot in 0..slots {
            let images = SLOT_IMAGES
                .iter()
                .map(|(name, format, usage)| {
                    let name = format!("{name} of slot {slot}");
                    SharedImage::new(&self.device, &self.context, *format, extent, *usage, &name)
                })
                .collect::<Result<Vec<_>, _>>()?;
            targets.push(SlotImages::from_targets(std::array::from_fn(|index| Target {
                image: images[index].vulkan.raw,
                view: images[index].vulkan.view,
            })));
            let events = (0..=self.kernels.effects()).map(|_| Event::new(&self.context));
            self.slots.push(Slot { images, events: events.collect::<Result<_, _>>()?, effects: Vec::new() });
        }
        Ok(targets)
    }

    fn enqueue(&mut self, job: Job) -> Result<(), Error> {
        self.context.bind_to_thread().during(|| "bind the CUDA context")?;
        let scratch = self.reserve_scratch(&job.plan)?;
        let stamp = job.slot * STAMPS;
        self.stamps.clear(stamp);
        self.stamps.clear(stamp + 1);
        self.slots[job.slot].effects.clear();

        self.rendered.wait(&self.stream, job.frame.value())?;
        self.stamps.enqueue(&self.stream, stamp)?;
        self.slots[job.slot].events[0].record(&self.stream)?;
        for launches in job.plan.launches.chunk_by(|one, next| one.effect == next.effect) {
            for item in launches {
                self.launch(&job, item, &scratch)?;
            }
            let slot = &mut self.slots[job.slot];
            slot.effects.push(launches[0].effect);
            slot.events[slot.effects.len()].record(&self.stream)?;
        }
        self.stamps.enqueue(&self.stream, stamp + 1)?;
        if self.withheld_from.is_none_or(|withheld| job.frame < withheld) {
            self.processed.signal(&self.stream, job.frame.value())?;
        }
        Ok(())
    }

    fn times(&mut self, slot: usize) -> ChainTimes {
        let Slot { events, effects, .. } = &self.slots[slot];
        let spans = events.windows(2).map(|pair| pair[0].milliseconds_until(&pair[1]));
        ChainTimes {
            clock: StampClock::GlobalTimer,
            start: self.stamps.read(slot * STAMPS),
            end: self.stamps.read(slot * STAMPS + 1),
            effects: effects.iter().copied().zip(spans).collect(),
        }
    }

    fn withhold_from(&mut self, frame: FrameNumber) {
        self.withheld_from = Some(frame);
    }

    fn failure(&mut self) -> Option<Error> {
        // A fault shows in every later call on the context.
        self.context.bind_to_thread().during(|| "bind the CUDA context").err().map(Error::from)
    }
}

impl Drop for CudaProcessor {
    fn drop(&mut self) {
        if let Err(error) = self.stream.synchronize() {
            tracing::debug!("the chain's stream ended with {error:?}");
        }
    }
}

/// The functions of all effects, by catalogue index and pass.
pub struct Kernels {
    functions: Vec<Vec<(Function, [u32; 2])>>,
}

impl Kernels {
    /// Loads every effect of the catalogue that comes with PTX.
    ///
    /// # Errors
    /// The driver refused a module or has no such entry: the error names the effect.
    pub fn load(context: &Arc<CudaContext>, catalogue: &'static Catalogue) -> Result<Self, Error> {
        let functions = catalogue.effects().iter().map(|effect| {
            let ptx = effect.ptx.ok_or_else(|| Error::Effect {
                effect: effect.name.clone(),
                reason: "has no PTX: run scripts/compile-kernels".into(),
            })?;
            let module = Module::load(context, ptx, &effect.name)?;
            effect.passes.iter().map(|pass| Ok((module.function(&pass.entry)?, pass.block))).collect()
        });
        Ok(Self { functions: functions.collect::<Result<_, Error>>()? })
    }

    /// How many effects there are, hidden ones among them.
    pub fn effects(&self) -> usize {
        self.functions.len()
    }

    /// Enqueues one launch over the whole of its destination.
    ///
    /// # Errors
    /// The driver refused.
    pub fn launch(&self, stream: &CudaStream, item: &Launch, pass: &Pass) -> Result<(), Error> {
        let (function, block) = &self.functions[item.effect][item.pass];
        let arguments = [bytemuck::bytes_of(pass), &item.parameters];
        launch(stream, function, pass.destination.extent, *block, &arguments)?;
        Ok(())
    }
}
