//! The least renderer: it fills the screen image with a known pattern and presents it.

use std::sync::Arc;
use std::time::Duration;

use ash::vk;
use handover::app::{Action, Flow, Input, Session};
use handover::present::{Acquired, Presented, Presenter, Screen, Software, Swapchain, VSync, can_present};
use handover::vulkan::{
    Buffer, BufferMemory, CommandPool, Device, DeviceRequest, Image, ImageDescription, Instance, InstanceRequest,
    PhysicalDevice, Surface, Timeline, TimelineWait, ValidationLog,
};
use winit::dpi::PhysicalSize;
use winit::window::Window;

/// The pattern's quarters: upper left, upper right, lower left, lower right.
pub const QUARTERS: [[u8; 3]; 4] = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [10, 20, 30]];

const SLOTS: usize = 3;

/// Which presenter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Swapchain,
    Software,
}

/// What a run has to do.
#[derive(Clone, Copy)]
pub struct Plan {
    pub kind: Kind,
    pub vsync: VSync,
    pub frames: u64,
    pub resizes: u32,
    /// Every third frame acquires an image and is given up before it is submitted.
    pub gives_up: bool,
}

struct Slot {
    screen: Image,
    pool: CommandPool,
    frame: u64,
}

/// What dies with the extent.
struct Sized {
    slots: Vec<Slot>,
    pattern: Buffer,
}

/// Presents by a [`Plan`], and calls `done` when it is fulfilled and everything is shown.
pub struct Rig<F> {
    plan: Plan,
    sized: Option<Sized>,
    presenter: Box<dyn Presenter>,
    retired: Timeline,
    frame: u64,
    tries: u64,
    resizes: u32,
    awaits_resize: bool,
    window: Arc<Window>,
    done: F,
    device: Arc<Device>,
}

pub fn instance(window: &Arc<Window>) -> Arc<Instance> {
    Instance::new(&InstanceRequest {
        surface_extensions: Surface::required_extensions(window).unwrap(),
        validate: true,
        validate_if_present: true,
    })
    .unwrap()
}

/// The first device that can present.
pub fn presentable(instance: &Arc<Instance>, surface: &Surface) -> PhysicalDevice {
    let mut reasons = Vec::new();
    for physical in instance.physical_devices().unwrap() {
        let family = physical.graphics_family().unwrap().index;
        match can_present(surface, &physical, family) {
            Ok(()) => return physical,
            Err(reason) => reasons.push(reason),
        }
    }
    panic!("no device can present: {reasons:?}");
}

impl<F: FnMut(&Window)> Rig<F> {
    pub fn new(window: &Arc<Window>, plan: Plan, done: F) -> (Self, Arc<ValidationLog>) {
        let instance = instance(window);
        let log = Arc::clone(instance.validation.as_ref().unwrap());
        let surface = Surface::new(&instance, window).unwrap();
        let request = DeviceRequest {
            swapchain: plan.kind == Kind::Swapchain,
            ..Default::default()
        };
        let device = Device::new(&instance, presentable(&instance, &surface), &request).unwrap();
        let extent = extent_of(window);
        let presenter: Box<dyn Presenter> = match plan.kind {
            Kind::Swapchain => Box::new(Swapchain::new(&device, surface, plan.vsync, extent, SLOTS).unwrap()),
            Kind::Software => Box::new(Software::new(&device, window, SLOTS).unwrap()),
        };
        println!("{}", presenter.description());
        let mut rig = Self {
            plan,
            sized: None,
            presenter,
            retired: Timeline::new(&device, "retired", false).unwrap(),
            frame: 0,
            tries: 0,
            resizes: 0,
            awaits_resize: false,
            window: Arc::clone(window),
            done,
            device,
        };
        rig.resize_slots();
        (rig, log)
    }

    /// Makes what has the presenter's extent.
    fn resize_slots(&mut self) {
        self.sized = None;
        let extent = self.presenter.extent();
        let description = ImageDescription {
            extent,
            format: vk::Format::R8G8B8A8_UNORM,
            usage: vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST | vk::ImageUsageFlags::STORAGE,
        };
        let device = &self.device;
        let size = u64::from(extent.width) * u64::from(extent.height) * 4;
        let usage = vk::BufferUsageFlags::TRANSFER_SRC;
        let mut pattern = Buffer::new(device, size, usage, BufferMemory::Upload, "pattern").unwrap();
        for (index, pixel) in pattern.bytes_mut().chunks_exact_mut(4).enumerate() {
            let (x, y) = (index as u32 % extent.width, index as u32 / extent.width);
            let quarter = usize::from(x >= extent.width / 2) + 2 * usize::from(y >= extent.height / 2);
            pixel[..3].copy_from_slice(&QUARTERS[quarter]);
        }
        let slots = (0..SLOTS)
            .map(|_| Slot {
                screen: Image::new(device, description, "screen").unwrap(),
                pool: CommandPool::new(device, device.present_queue, "present").unwrap(),
                frame: 0,
            })
            .collect();
        self.sized = Some(Sized { slots, pattern });
    }

    fn retire(&mut self, slot: usize) {
        let frame = self.sized.as_ref().unwrap().slots[slot].frame;
        let wait = self.retired.wait(frame, Duration::from_secs(10)).unwrap();
        assert_eq!(wait, TimelineWait::Reached, "frame {frame} did not retire");
        self.presenter.retired(slot).unwrap();
    }

    fn rebuild(&mut self) {
        // Oldest first: the newest frame is the one that stays on the screen.
        for frame in self.frame + 1..=self.frame + SLOTS as u64 {
            self.retire(frame as usize % SLOTS);
        }
        self.device.wait_idle().unwrap();
        self.presenter.rebuild(extent_of(&self.window), SLOTS).unwrap();
        self.resize_slots();
    }

    fn render(&mut self) -> Flow {
        self.tries += 1;
        let slot = (self.frame + 1) as usize % SLOTS;
        self.retire(slot);
        let target = match self.presenter.acquire(slot).unwrap() {
            Acquired::Image(target) => target,
            Acquired::OutOfDate => {
                self.rebuild();
                return Flow::Continue;
            }
            Acquired::NotReady => return Flow::Skipped,
        };
        if self.plan.gives_up && self.tries.is_multiple_of(3) {
            if self.tries.is_multiple_of(2) {
                self.rebuild();
            }
            return Flow::Continue;
        }
        self.frame += 1;
        self.sized.as_mut().unwrap().slots[slot].frame = self.frame;
        self.record(slot, target);
        let waits: Vec<_> = self.presenter.wait(slot).into_iter().collect();
        let signals: Vec<_> = std::iter::once(self.retired.at(self.frame))
            .chain(self.presenter.signal(target))
            .collect();
        let (device, queue) = (&self.device, self.device.present_queue);
        let commands = self.sized.as_ref().unwrap().slots[slot].pool.commands;
        device.submit(queue, commands, &waits, &signals).unwrap();
        if self.presenter.present(queue, slot, target).unwrap() == Presented::OutOfDate {
            self.rebuild();
        }
        Flow::Continue
    }

    fn record(&mut self, slot: usize, target: u32) {
        let sized = self.sized.as_ref().unwrap();
        let slot_of = &sized.slots[slot];
        let commands = slot_of.pool.begin().unwrap();
        let image = slot_of.screen.raw;
        let whole = |old, new| {
            [vk::ImageMemoryBarrier2::default()
                .image(image)
                .subresource_range(handover::vulkan::COLOR)
                .src_stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
                .src_access_mask(vk::AccessFlags2::MEMORY_WRITE)
                .dst_stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
                .dst_access_mask(vk::AccessFlags2::MEMORY_READ | vk::AccessFlags2::MEMORY_WRITE)
                .old_layout(old)
                .new_layout(new)]
        };
        let region = [vk::BufferImageCopy::default()
            .image_subresource(vk::ImageSubresourceLayers {
                aspect_mask: vk::ImageAspectFlags::COLOR,
                layer_count: 1,
                ..Default::default()
            })
            .image_extent(slot_of.screen.description.extent.into())];
        let copied = vk::ImageLayout::TRANSFER_DST_OPTIMAL;
        let before = whole(vk::ImageLayout::UNDEFINED, copied);
        let after = whole(copied, vk::ImageLayout::TRANSFER_SRC_OPTIMAL);
        let raw = &self.device.raw;
        // SAFETY: the command buffer is recording; image and buffer live until the device is idle.
        unsafe {
            raw.cmd_pipeline_barrier2(commands, &vk::DependencyInfo::default().image_memory_barriers(&before));
            raw.cmd_copy_buffer_to_image(commands, sized.pattern.raw, image, copied, &region);
            raw.cmd_pipeline_barrier2(commands, &vk::DependencyInfo::default().image_memory_barriers(&after));
        }
        let screen = Screen::from(&slot_of.screen);
        self.presenter.record(commands, slot, target, screen);
        slot_of.pool.end().unwrap();
    }

    /// Asks for the next size when the last one has come: sizes that differ in both directions, odd ones among them.
    fn ask_for_resize(&mut self) {
        if self.resizes < self.plan.resizes && !self.awaits_resize {
            let step = self.resizes % 7;
            let size = PhysicalSize::new(301 + 53 * step, 400 - 37 * step);
            self.awaits_resize = self.window.request_inner_size(size).is_none();
        }
    }
}

impl<F: FnMut(&Window)> Session for Rig<F> {
    fn frame(&mut self, _input: &Input) -> anyhow::Result<Flow> {
        let flow = self.render();
        if self.frame < self.plan.frames || self.resizes < self.plan.resizes {
            self.ask_for_resize();
            return Ok(flow);
        }
        self.rebuild();
        // The rebuilt window has no contents until it is presented to.
        self.render();
        for slot in 0..SLOTS {
            self.retire(slot);
        }
        (self.done)(&self.window);
        println!("{} frames, {} resizes", self.frame, self.resizes);
        Ok(Flow::Exit)
    }

    fn act(&mut self, _action: Action) -> anyhow::Result<()> {
        Ok(())
    }

    fn resized(&mut self, _extent: vk::Extent2D) -> anyhow::Result<()> {
        self.resizes += u32::from(self.awaits_resize);
        self.awaits_resize = false;
        self.rebuild();
        Ok(())
    }

    fn scaled(&mut self, _pixels_per_point: f64) {}

    fn title(&self, frames_per_second: f64) -> String {
        format!("rig, {frames_per_second:.0} fps")
    }

    fn closing(&mut self) -> anyhow::Result<()> {
        self.device.wait_idle()?;
        Ok(())
    }
}

fn extent_of(window: &Window) -> vk::Extent2D {
    let size = window.inner_size();
    vk::Extent2D {
        width: size.width,
        height: size.height,
    }
}
