//! A processor in the queue for any Vulkan device: it copies where others launch kernels.

use std::sync::Arc;
use std::time::Duration;

use ash::vk;
use handover::frame::FrameNumber;
use handover::kernels::{FrameExtents, Plan};
use handover::process::{ChainTimes, Error as ProcessError, Job, KernelLoader, Processor, SlotImages};
use handover::scene::{SceneTargets, Target};
use handover::timing::{ClockProof, Interval};
use handover::vulkan::kernel_barrier::{kernels_to_compute, make_general, to_kernels};
use handover::vulkan::{Device, Image, ImageDescription, TimestampPool};

/// What the processor does besides copying.
#[derive(Clone, Copy, PartialEq)]
pub enum Trouble {
    None,
    /// The chain of this frame cannot be recorded.
    Fails(u64),
    /// From this frame on the queue waits for an event that the host sets after so long.
    Stalls(u64, Duration),
}

/// Copies `color` to `processed` in the frame's own commands.
pub struct Copying {
    slots: Vec<Slot>,
    extent: vk::Extent2D,
    trouble: Trouble,
    /// Set by whoever ends the stall.
    pub event: vk::Event,
    device: Arc<Device>,
}

struct Slot {
    color: Image,
    processed: Image,
    guides: [Image; 4],
    stamps: Option<TimestampPool>,
    is_new: bool,
}

impl Copying {
    pub fn new(device: &Arc<Device>, trouble: Trouble) -> Self {
        // SAFETY: destroyed in `drop`, once.
        let event = unsafe { device.raw.create_event(&vk::EventCreateInfo::default(), None) }.unwrap();
        Self {
            slots: Vec::new(),
            extent: vk::Extent2D::default(),
            trouble,
            event,
            device: Arc::clone(device),
        }
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        // SAFETY: the renderer waited for the queue.
        unsafe { self.device.raw.destroy_event(self.event, None) };
    }
}

const TRANSFER: vk::ImageUsageFlags = vk::ImageUsageFlags::from_raw(
    vk::ImageUsageFlags::TRANSFER_SRC.as_raw() | vk::ImageUsageFlags::TRANSFER_DST.as_raw(),
);

impl Processor for Copying {
    fn name(&self) -> &'static str {
        "copying"
    }

    fn description(&self) -> String {
        "copying in the queue".into()
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

    fn prove_clock(&mut self) -> Result<ClockProof, ProcessError> {
        Ok(ClockProof::OWN)
    }

    fn copy_bandwidth(&mut self) -> Result<Option<f64>, ProcessError> {
        Ok(None)
    }

    fn retarget(&mut self, extents: FrameExtents, slots: usize) -> Result<Vec<SlotImages>, ProcessError> {
        let [width, height] = extents.display;
        self.extent = vk::Extent2D { width, height };
        let image = |format, usage, name: &str| {
            let description = ImageDescription {
                extent: self.extent,
                format,
                usage: usage | TRANSFER | vk::ImageUsageFlags::SAMPLED,
            };
            Image::new(&self.device, description, name)
        };
        let (color, storage) = (vk::ImageUsageFlags::COLOR_ATTACHMENT, vk::ImageUsageFlags::STORAGE);
        let half = vk::Format::R16G16B16A16_SFLOAT;
        self.slots = (0..slots)
            .map(|_| {
                Ok(Slot {
                    color: image(half, color | storage, "color")?,
                    processed: image(half, storage, "processed")?,
                    guides: [
                        image(vk::Format::R32_SFLOAT, color, "depth")?,
                        image(half, color, "normal")?,
                        image(vk::Format::R8G8B8A8_UNORM, color, "albedo")?,
                        image(vk::Format::R16G16_SFLOAT, color, "motion")?,
                    ],
                    stamps: TimestampPool::new(&self.device, self.device.scene_queue, 2, "chain")?,
                    is_new: true,
                })
            })
            .collect::<Result<_, ProcessError>>()?;
        let target = |image: &Image| Target {
            image: image.raw,
            view: image.view,
        };
        let images = self.slots.iter().map(|slot| SlotImages {
            scene: SceneTargets {
                color: target(&slot.color),
                depth: target(&slot.guides[0]),
                normal: target(&slot.guides[1]),
                albedo: target(&slot.guides[2]),
                motion: target(&slot.guides[3]),
            },
            processed: target(&slot.processed),
        });
        Ok(images.collect())
    }

    fn record_release(&self, commands: vk::CommandBuffer, _: usize, _: &[Target], _: u32, _: &Plan) {
        to_kernels(&self.device, commands);
    }

    fn record_acquire(&self, commands: vk::CommandBuffer, _: usize, _: u32) {
        kernels_to_compute(&self.device, commands);
    }

    fn record_chain(&mut self, commands: vk::CommandBuffer, job: &Job) -> Result<(), ProcessError> {
        let device = &self.device;
        match self.trouble {
            Trouble::Fails(frame) if job.frame.value() >= frame => {
                return Err(ProcessError::Effect {
                    effect: "made to fail".into(),
                    reason: "did not load".into(),
                });
            }
            Trouble::Stalls(frame, _) if job.frame.value() == frame => {
                let (host, all) = (vk::PipelineStageFlags::HOST, vk::PipelineStageFlags::ALL_COMMANDS);
                // SAFETY: recording; the event lives until the queue is idle.
                unsafe {
                    device
                        .raw
                        .cmd_wait_events(commands, &[self.event], host, all, &[], &[], &[]);
                };
            }
            _ => {}
        }
        let slot = &mut self.slots[job.slot];
        if std::mem::take(&mut slot.is_new) {
            make_general(device, commands, &[slot.processed.raw]);
        }
        if let Some(stamps) = &mut slot.stamps {
            stamps.reset();
            stamps.write(commands, 0);
        }
        let layers = vk::ImageSubresourceLayers {
            aspect_mask: vk::ImageAspectFlags::COLOR,
            mip_level: 0,
            base_array_layer: 0,
            layer_count: 1,
        };
        let region = [vk::ImageCopy::default()
            .src_subresource(layers)
            .dst_subresource(layers)
            .extent(self.extent.into())];
        let general = vk::ImageLayout::GENERAL;
        let (from, to) = (slot.color.raw, slot.processed.raw);
        // SAFETY: recording; both images live as long as their slot.
        unsafe { device.raw.cmd_copy_image(commands, from, general, to, general, &region) };
        if let Some(stamps) = &slot.stamps {
            stamps.write(commands, 1);
            stamps.copy(commands, 2);
        }
        Ok(())
    }

    fn enqueue(&mut self, _: Job) -> Result<(), ProcessError> {
        panic!("a chain in the queue is not enqueued");
    }

    fn times(&mut self, slot: usize, times: &mut ChainTimes) {
        let stamps = self.slots[slot].stamps.as_ref().map(TimestampPool::read);
        let interval = stamps.and_then(|stamps| Some(Interval::new(stamps[0]?, stamps[1]?)));
        times.clear();
        times.interval = interval;
        times.chain_ms = interval.map(Interval::milliseconds);
    }

    fn transforms(&self) -> Result<(), String> {
        Err("takes more than a copy".into())
    }

    fn refuses(&mut self, plan: &Plan) -> Option<&str> {
        let mut effects = plan.launches.iter().map(|launch| &launch.of);
        effects.any(|effect| effect.transforms()).then_some("it only copies")
    }

    fn kernel_loader(&self) -> Option<Arc<KernelLoader>> {
        None
    }

    fn withhold_from(&mut self, _: FrameNumber) {}

    fn stop(&mut self) {
        panic!("the queue came to rest");
    }

    fn failure(&mut self) -> Option<ProcessError> {
        None
    }
}
