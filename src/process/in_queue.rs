//! The chain inside the Vulkan queue: the same kernels, launched by the command buffer that draws and presents.
//!
//! ```text
//! one command buffer:  scene ─ barrier ─ kernel ─ barrier ─ kernel … ─ barrier ─ present ─ copy
//! ```
//!
//! Nothing is exported and nothing changes hands: no semaphore stands between scene, chain and present, and the GPU does not switch
//! between its engines. CUDA only links the kernels, on whatever thread loads them.

mod chain;
mod kernels;
mod memory;
mod once;
mod steps;

use std::sync::Arc;

use ash::vk;

use crate::cuda::{CudaContext, CudaDevice, Driver, ResultExt, copy_bandwidth};
use crate::frame::FrameNumber;
use crate::kernels::{FrameExtents, Image, Plan};
use crate::scene::Target;
use crate::timing::{ClockProof, GpuWork, Interval};
use crate::vulkan::kernel_barrier::{kernels_to_compute, to_kernels};
use crate::vulkan::{Device, TimestampPool};

use super::cuda_kernels::KernelLoader;
use super::launch_pass::FrameViews;
use super::{ChainTimes, Error, Job, KernelTime, PROCESSED, Processor, SLOT_IMAGES, SlotImages, extent_of};
use chain::{Loaded, QueueChain, QueueFrame};
pub(super) use kernels::link_module;
use memory::QueueImage;
pub use once::QueueOnce;

/// Records chains into frames' command buffers. Fields in drop order.
pub struct InQueueProcessor {
    slots: Vec<Slot>,
    chain: QueueChain,
    extents: FrameExtents,
    /// A frame does not end: what it uses is left to the driver.
    is_abandoned: bool,
    description: String,
    device: Arc<Device>,
    /// Of the same GPU as the Vulkan device.
    context: Arc<CudaContext>,
}

/// One slot: its images, and the stamps of its frame.
struct Slot {
    /// In the order of [`SLOT_IMAGES`].
    images: Vec<QueueImage>,
    /// The chain's start, then the end of each launch; where launches are not timed, the chain's end.
    stamps: Option<TimestampPool>,
    /// How many of them the slot's frame writes.
    stamped: u32,
    /// What the slot's frame launched, with times still to be filled in. Empty where kernels are not timed.
    launches: Vec<KernelTime>,
    /// What they run.
    loaded: Option<Loaded>,
}

/// Why an effect cannot run here.
const NO_TRANSFORMS: &str =
    "computes by Fourier transforms, which cuFFT runs on CUDA streams and not in a Vulkan queue";

impl InQueueProcessor {
    /// Opens the CUDA device to link in. The Vulkan device was made with
    /// [`kernels_in_queue`](crate::vulkan::DeviceRequest::kernels_in_queue).
    ///
    /// # Errors
    /// The driver refused.
    pub fn new(driver: &Driver, cuda: &CudaDevice, device: &Arc<Device>) -> Result<Self, Error> {
        let context = driver.context(cuda)?;
        let (major, minor) = (driver.version / 1000, driver.version % 1000 / 10);
        Ok(Self {
            slots: Vec::new(),
            chain: QueueChain::new(&context, device, false)?,
            extents: FrameExtents::same([0; 2]),
            is_abandoned: false,
            description: format!(
                "in-queue on {}, linked by the driver of CUDA {major}.{minor}",
                cuda.name
            ),
            device: Arc::clone(device),
            context,
        })
    }

    fn views(&self, job: &Job) -> FrameViews {
        let images = &self.slots[job.slot].images;
        FrameViews {
            color: images[0].view,
            processed: images[PROCESSED].view,
            guides: match job.has_guides {
                true => std::array::from_fn(|guide| images[guide + 1].view),
                false => [Image::default(); 4],
            },
        }
    }
}

impl Slot {
    /// Makes room for so many stamps. The slot has retired.
    fn make_room(&mut self, device: &Arc<Device>, count: u32) -> Result<(), Error> {
        if self.stamps.as_ref().is_none_or(|stamps| stamps.count() < count) {
            // Twice as many as needed: a chain that grows by an effect at a time does not make a pool each time.
            // The frame is on one of the two: the fewest valid bits hold on both.
            let queue = match device.present_queue.timestamp_valid_bits < device.scene_queue.timestamp_valid_bits {
                true => device.present_queue,
                false => device.scene_queue,
            };
            self.stamps = TimestampPool::asked(device, queue, 2 * count, "timestamps of a chain")?;
        } else if let Some(stamps) = &mut self.stamps {
            stamps.reset();
        }
        Ok(())
    }

    fn stamp(&self, commands: vk::CommandBuffer, index: u32) {
        if let Some(stamps) = self.stamps.as_ref().filter(|_| index < self.stamped) {
            stamps.write(commands, index);
        }
    }
}

impl Processor for InQueueProcessor {
    fn name(&self) -> &'static str {
        "in-queue"
    }

    fn description(&self) -> String {
        self.description.clone()
    }

    fn is_on_gpu(&self) -> bool {
        true
    }

    fn is_in_queue(&self) -> bool {
        true
    }

    fn clock(&self) -> ClockProof {
        ClockProof::OWN
    }

    fn prove_clock(&mut self) -> Result<ClockProof, Error> {
        Ok(ClockProof::OWN)
    }

    fn copy_bandwidth(&mut self) -> Result<Option<f64>, Error> {
        let stream = self.context.new_stream().during(|| "create a stream to copy on")?;
        Ok(copy_bandwidth(&self.context, &stream)?)
    }

    fn retarget(&mut self, extents: FrameExtents, slots: usize) -> Result<Vec<SlotImages>, Error> {
        // The old images go first, so that old and new are never in memory together.
        self.slots.clear();
        self.chain.clear();
        self.extents = extents;
        let mut targets = Vec::with_capacity(slots);
        for slot in 0..slots {
            let mut images = Vec::with_capacity(SLOT_IMAGES.len());
            for (place, (name, format, usage)) in SLOT_IMAGES.iter().enumerate() {
                let vk::Extent2D { width, height } = extent_of(place, extents);
                let name = format!("{name} of slot {slot}");
                let memory = &mut self.chain.allocator;
                images.push(memory.new_image([width, height], format.vulkan(), *usage, &name)?);
            }
            targets.push(SlotImages::from_targets(std::array::from_fn(|index| Target {
                image: images[index].vulkan.raw,
                view: images[index].vulkan.view,
            })));
            self.slots.push(Slot {
                images,
                stamps: None,
                stamped: 0,
                launches: Vec::new(),
                loaded: None,
            });
        }
        Ok(targets)
    }

    fn record_release(&self, commands: vk::CommandBuffer, _: usize, _: &[Target], _: u32, _: &Plan) {
        // Of everything before it, frames before this one among it: chains share their memory.
        to_kernels(&self.device, commands);
    }

    fn record_acquire(&self, commands: vk::CommandBuffer, _: usize, _: u32) {
        kernels_to_compute(&self.device, commands);
    }

    fn record_chain(&mut self, commands: vk::CommandBuffer, job: &Job) -> Result<(), Error> {
        let extents = self.extents;
        let loaded = self.chain.prepare(&job.plan, extents)?;
        let (views, is_timed) = (self.views(job), job.instrument.has_kernels());
        let slot = &mut self.slots[job.slot];
        slot.loaded = Some(loaded);
        slot.launches.clear();
        slot.stamped = match (job.instrument.has_parts(), is_timed) {
            (false, _) => 0,
            (true, false) => 2,
            (true, true) => 1 + self.chain.running(&job.plan) as u32,
        };
        if slot.stamped > 0 {
            slot.make_room(&self.device, slot.stamped)?;
        }
        self.device.begin_label(commands, GpuWork::Chain.label());
        slot.stamp(commands, 0);
        let frame = QueueFrame {
            commands,
            plan: &job.plan,
            extents,
            views: &views,
            parameters: job.frame_parameters(),
        };
        self.chain.record(&frame, |number| {
            if is_timed {
                let item = &job.plan.launches[number];
                let bytes = job.plan.least_bytes(item, extents);
                slot.launches.push(KernelTime::untimed(item, bytes));
                slot.stamp(commands, slot.launches.len() as u32);
            }
        });
        if !is_timed {
            slot.stamp(commands, 1);
        }
        self.device.end_label(commands);
        Ok(())
    }

    fn enqueue(&mut self, job: Job) -> Result<(), Error> {
        Err(Error::Stopped {
            reason: format!("frame {} was enqueued, and this processor records", job.frame),
        })
    }

    fn times(&mut self, slot: usize, times: &mut ChainTimes) {
        times.clear();
        let Slot {
            stamps,
            stamped,
            launches,
            ..
        } = &self.slots[slot];
        let Some(stamps) = stamps.as_ref().filter(|_| *stamped > 0) else {
            return;
        };
        let stamps = stamps.read();
        fill_times(times, stamps.iter().take(*stamped as usize).copied(), launches);
    }

    fn transforms(&self) -> Result<(), String> {
        Err(NO_TRANSFORMS.into())
    }

    fn refuses(&mut self, plan: &Plan) -> Option<&str> {
        self.chain.refuses(plan)
    }

    fn kernel_loader(&self) -> Option<Arc<KernelLoader>> {
        Some(Arc::clone(self.chain.loader()))
    }

    fn withhold_from(&mut self, _: FrameNumber) {
        // Nothing is signalled between scene and present that could be withheld.
    }

    fn stop(&mut self) {
        self.is_abandoned = true;
    }

    fn failure(&mut self) -> Option<Error> {
        // A kernel that faults takes the device with it, which every call then says.
        None
    }
}

/// From the stamps of a chain, on the device's clock: its start, then the end of each launch, or of all of them. Nothing where one is
/// missing.
fn fill_times(times: &mut ChainTimes, stamps: impl Iterator<Item = Option<u64>> + Clone, launches: &[KernelTime]) {
    let (Some(Some(start)), Some(Some(end))) = (stamps.clone().next(), stamps.clone().last()) else {
        return;
    };
    if stamps.clone().any(|stamp| stamp.is_none()) {
        return;
    }
    let since_start = |stamp: u64| stamp.wrapping_sub(start) as f64;
    times.interval = Some(Interval::new(start, end));
    times.chain_ms = Some(since_start(end) * 1e-6);
    let ends = stamps.flatten().skip(1).map(since_start);
    let mut from = 0.0;
    times
        .kernels
        .extend(launches.iter().zip(ends).map(|(launch, to)| KernelTime {
            since_start_ns: [std::mem::replace(&mut from, to), to],
            ..*launch
        }));
}

impl Drop for InQueueProcessor {
    fn drop(&mut self) {
        if self.is_abandoned {
            std::mem::forget(std::mem::take(&mut self.slots));
            self.chain.abandon();
            std::mem::forget((Arc::clone(&self.device), Arc::clone(&self.context)));
            return;
        }
        self.chain.loader().stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_s_stamps_are_its_interval_and_those_between_its_launches() {
        let kernel = |effect, pass, since_start_ns, bytes| KernelTime {
            effect,
            pass,
            fused: None,
            since_start_ns,
            bytes,
        };
        let launches = [kernel(4, 0, [0.0; 2], 80), kernel(7, 1, [0.0; 2], 160)];
        let times = |stamps: &[Option<u64>], launches: &[KernelTime]| {
            let mut times = ChainTimes::default();
            fill_times(&mut times, stamps.iter().copied(), launches);
            times
        };
        let all = times(&[Some(1_000), Some(3_000), Some(3_500)], &launches);
        assert_eq!(all.interval, Some(Interval::new(1_000, 3_500)));
        assert_eq!(all.chain_ms, Some(0.0025));
        assert_eq!(
            all.kernels,
            [kernel(4, 0, [0.0, 2_000.0], 80), kernel(7, 1, [2_000.0, 2_500.0], 160)]
        );
        let missing = times(&[Some(1_000), None, Some(3_500)], &launches);
        assert!(missing.interval.is_none() && missing.kernels.is_empty());

        let parts = times(&[Some(1_000), Some(3_500)], &[]);
        assert_eq!(parts.interval, Some(Interval::new(1_000, 3_500)));
        assert!(parts.kernels.is_empty());
    }
}
