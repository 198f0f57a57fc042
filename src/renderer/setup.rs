//! Making a renderer, giving it a new extent, and bringing it to an end.

use std::collections::VecDeque;
use std::sync::Arc;

use ash::vk;

use crate::frame::{FrameNumber, Timelines};
use crate::kernels::{FrameExtents, Given};
use crate::overlay::DrawList;
use crate::present::{PresentPass, Presenter, Screen};
use crate::process::{ChainTimes, Processor};
use crate::scene::{Scene, TagCheck};
use crate::timing::FrameRecord;
use crate::vulkan::barrier::copies_to_host;
use crate::vulkan::transfer::image_to_buffer;
use crate::vulkan::{Buffer, BufferMemory, CommandPool, Device, Queue, ResultExt};

use super::copy_back::{CheckSubmissions, present_queue};
use super::slots::{slots, whole_frame_queue};
use super::{Error, HostClock, Renderer, Schedule, Settings, TagReport};

/// What a renderer is made from.
pub struct Parts {
    /// The device.
    pub device: Arc<Device>,
    /// The timelines, shared with the processor.
    pub timelines: Arc<Timelines>,
    /// Draws.
    pub scene: Box<dyn Scene>,
    /// Runs the chain.
    pub processor: Box<dyn Processor>,
    /// Runs the plans that `processor` cannot, where there is one that can.
    pub standby: Option<Box<dyn Processor>>,
    /// Shows.
    pub presenter: Box<dyn Presenter>,
}

impl Renderer {
    /// Makes a renderer for the presenter's extent.
    ///
    /// # Errors
    /// What cannot be shared, no memory, or a failed call.
    pub fn new(parts: Parts, settings: Settings) -> Result<Self, Error> {
        let Parts {
            device,
            timelines,
            scene,
            mut processor,
            standby,
            mut presenter,
        } = parts;
        let in_queue = processor.is_in_queue();
        let (scene_queue, present_queue) = match in_queue {
            // One queue does it all.
            true => [whole_frame_queue(&device, scene.as_ref()); 2].into(),
            false => (
                device.scene_queue,
                present_queue(settings.schedule, &device, presenter.as_mut()),
            ),
        };
        let only_copies = device
            .transfer_queue
            .is_some_and(|queue| queue.raw == present_queue.raw);
        let present_pass = if settings.schedule == Schedule::CopyBack && !in_queue {
            processor.end_in_screen()?;
            None
        } else {
            Some(PresentPass::new(&device, present_queue)?)
        };
        let slots = slots(&device, [scene_queue, present_queue], only_copies, in_queue, &settings)?;
        let slot_count = settings.frames_in_flight;
        let tag_check = || TagCheck::new(&device, slot_count);
        let tag_check = settings.check_tags.then(tag_check).transpose()?;
        let checks = || CheckSubmissions::new(&device, slot_count);
        let needs_checks = settings.check_tags && present_pass.is_none();
        let window = presenter.extent();
        let mut renderer = Self {
            presenter,
            present_pass,
            overlay_pass: None,
            overlay: None,
            tag_check,
            checks: needs_checks.then(checks).transpose()?,
            scene,
            images: Vec::new(),
            processor,
            standby,
            is_standing_in: false,
            slots,
            pending: VecDeque::new(),
            timelines,
            last_frame: FrameNumber::NONE,
            last_in_queue: FrameNumber::NONE,
            last_pointer: None,
            extent: vk::Extent2D::default(),
            settings,
            needs_rebuild: false,
            is_broken: false,
            shown_slot: None,
            scene_queue,
            present_queue,
            only_copies,
            clock: HostClock::new(&device)?,
            finished: Vec::new(),
            spare: Vec::new(),
            chain_times: ChainTimes::default(),
            tags: TagReport::default(),
            device,
        };
        renderer.resize(window)?;
        Ok(renderer)
    }

    /// Brings all frames to their end and makes everything that has the frame's extent anew. Frame numbers go on.
    ///
    /// # Errors
    /// As [`Renderer::render_frame`]; what cannot be shared; no memory.
    pub fn resize(&mut self, window: vk::Extent2D) -> Result<(), Error> {
        self.finish()?;
        self.device.wait_idle()?;
        self.presenter.rebuild(window, self.slots.len())?;
        self.needs_rebuild = false;
        let extent = self.presenter.extent();
        if extent == self.extent {
            return Ok(());
        }
        // Until all is made anew there is nothing to draw into, and nothing to read: should it fail half-way, or should
        // there be nothing to show now, no handle of what is gone is left.
        self.extent = vk::Extent2D::default();
        self.shown_slot = None;
        if extent.width == 0 || extent.height == 0 {
            return Ok(());
        }
        self.retarget(extent)
    }

    /// Makes everything of this extent anew. The GPU is idle, and nothing is left to be read.
    pub(super) fn retarget(&mut self, extent: vk::Extent2D) -> Result<(), Error> {
        let extents = FrameExtents {
            scene: array(scaled(extent, self.settings.render_scale)),
            display: array(extent),
        };
        self.images = self.processor.retarget(extents, self.slots.len())?;
        let processed: Vec<_> = self.images.iter().map(|images| images.processed.view).collect();
        if let Some(pass) = &mut self.present_pass {
            pass.retarget(&processed, extent)?;
        }
        if let Some(check) = &mut self.tag_check {
            for (slot, view) in processed.iter().enumerate() {
                check.set_image(slot, *view, extent);
            }
        }
        self.retarget_scene(extent)?;
        self.extent = extent;
        Ok(())
    }

    /// Draws another scene from the next frame on.
    ///
    /// # Errors
    /// As [`Renderer::resize`].
    pub fn set_scene(&mut self, scene: Box<dyn Scene>) -> Result<(), Error> {
        self.finish()?;
        self.device.wait_idle()?;
        self.scene = scene;
        if self.processor.is_in_queue() {
            self.change_queue(whole_frame_queue(&self.device, self.scene.as_ref()))?;
        }
        self.retarget_scene(self.extent)
    }

    /// From the next frame on another queue does it all. All frames have retired.
    fn change_queue(&mut self, queue: Queue) -> Result<(), Error> {
        if queue.raw == self.scene_queue.raw {
            return Ok(());
        }
        self.slots = slots(&self.device, [queue; 2], false, true, &self.settings)?;
        let mut present_pass = PresentPass::new(&self.device, queue)?;
        let processed: Vec<_> = self.images.iter().map(|images| images.processed.view).collect();
        if !processed.is_empty() {
            present_pass.retarget(&processed, self.extent)?;
        }
        self.present_pass = Some(present_pass);
        self.overlay_pass = None;
        self.shown_slot = None;
        (self.scene_queue, self.present_queue) = (queue, queue);
        Ok(())
    }

    /// Draws the list over every frame from the next present on, or nothing. It is not part of what is measured of a frame, but
    /// for [`FrameRecord::overlay_ms`].
    pub fn set_overlay(&mut self, list: Option<Arc<DrawList>>) {
        self.overlay = list;
    }

    /// What a copy in the processor's memory moves: see [`Processor::copy_bandwidth`]. Brings all frames to their end first.
    ///
    /// # Errors
    /// As [`Renderer::finish`]; a failed call.
    pub fn copy_bandwidth(&mut self) -> Result<Option<f64>, Error> {
        self.finish()?;
        Ok(self.processor.copy_bandwidth()?)
    }

    fn retarget_scene(&mut self, extent: vk::Extent2D) -> Result<(), Error> {
        if extent.width == 0 {
            return Ok(()); // minimized: the next resize gives it targets
        }
        let targets: Vec<_> = self.images.iter().map(|images| images.scene).collect();
        let extent = scaled(extent, self.settings.render_scale);
        Ok(self.scene.retarget(&targets, extent)?)
    }

    /// Sends every frame on its way and waits, within the limit, until all have retired.
    ///
    /// # Errors
    /// As [`Renderer::render_frame`].
    pub fn finish(&mut self) -> Result<(), Error> {
        if self.is_broken {
            return Err(Error::Broken);
        }
        while !self.pending.is_empty() {
            self.present_next()?;
        }
        // Oldest first, so that records come in the order of their frames.
        for age in 1..=self.slots.len() as u64 {
            let slot = ((self.last_frame.value() + age) % self.slots.len() as u64) as usize;
            self.wait_and_retire(slot)?;
        }
        Ok(())
    }

    /// The records of frames that have retired since the last call, in order.
    pub fn take_records(&mut self) -> Vec<FrameRecord> {
        std::mem::take(&mut self.finished)
    }

    /// Hands over the same, one after the other. A record that `keep` gives back lends the memory of its lists to a frame to come: with
    /// all of them given back, frames need no memory of the host's.
    pub fn hand_records(&mut self, keep: impl FnMut(FrameRecord) -> Option<FrameRecord>) {
        self.spare.extend(self.finished.drain(..).filter_map(keep));
    }

    /// What the check of the tags found so far.
    pub fn tags(&self) -> &TagReport {
        &self.tags
    }

    /// The last frame that was begun.
    pub fn last_frame(&self) -> FrameNumber {
        self.last_frame
    }

    /// The frames' extent.
    pub fn extent(&self) -> vk::Extent2D {
        self.extent
    }

    /// Who runs the chain.
    pub fn processor(&mut self) -> &mut dyn Processor {
        self.processor.as_mut()
    }

    /// Who shows.
    pub fn presenter(&self) -> &dyn Presenter {
        self.presenter.as_ref()
    }

    /// The queue that draws.
    pub fn scene_queue(&self) -> Queue {
        self.scene_queue
    }

    /// The queue that presents: the scene's under the serial schedule, or where there is no other; under `copy-back` the one that
    /// only transfers, where it can.
    pub fn present_queue(&self) -> Queue {
        self.present_queue
    }

    /// What the chain is run over: its plan is made for that.
    pub fn given(&self) -> Given {
        Given {
            guides: self.scene.writes_guides(),
            scaled: self.settings.render_scale < 1.0,
            transforms: self.transforms().is_ok(),
        }
    }

    /// The scene's extent, texels: at least 1x1.
    pub fn scene_extent(&self) -> vk::Extent2D {
        scaled(self.extent, self.settings.render_scale)
    }

    /// Whether the processor can run effects that compute by Fourier transforms; if not, what is missing.
    ///
    /// # Errors
    /// It cannot.
    pub fn transforms(&self) -> Result<(), String> {
        let of_processor = self.processor.transforms();
        match &self.standby {
            Some(standby) if of_processor.is_err() => standby.transforms(),
            _ => of_processor,
        }
    }

    /// The name of the scene.
    pub fn scene_name(&self) -> &'static str {
        self.scene.name()
    }

    /// How frames are made.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The frame presented last: RGBA, 8 bits, sRGB. Brings all frames to their end first.
    ///
    /// # Errors
    /// [`Error::NothingShown`] before the first frame and between a resize and the next; as [`Renderer::finish`]; no
    /// memory.
    pub fn read_screen(&mut self) -> Result<image::RgbaImage, Error> {
        self.finish()?;
        let screen = self.shown_slot.and_then(|slot| self.screen(slot));
        let Screen { image, extent } = screen.ok_or(Error::NothingShown)?;
        let vk::Extent2D { width, height } = extent;
        let size = u64::from(width) * u64::from(height) * 4;
        let usage = vk::BufferUsageFlags::TRANSFER_DST;
        let buffer = Buffer::new(&self.device, size, usage, BufferMemory::ReadBack, "screenshot")?;
        // All frames have retired, and their presenters left their screens ready to be copied.
        CommandPool::run_once(&self.device, self.present_queue, |commands| {
            image_to_buffer(&self.device, commands, image, extent, buffer.raw);
            copies_to_host(&self.device, commands);
        })?;
        image::RgbaImage::from_raw(width, height, buffer.bytes().to_vec())
            .ok_or(vk::Result::ERROR_UNKNOWN)
            .during(|| "read the screen back")
            .map_err(Error::from)
    }

    /// Lets go of frames that will not be processed: signals `processed` in the chain's place, so that the queues run
    /// empty. The other timelines are the queues' own and come by themselves.
    fn abandon(&mut self) -> Result<(), Error> {
        if self.processor.is_in_queue() {
            return self.abandon_in_queue();
        }
        // What the chain still signals must come first: values only grow.
        self.processor.stop();
        if self.timelines.processed.value()? < self.last_frame.value() {
            self.timelines.processed.signal(self.last_frame.value())?;
        }
        Ok(())
    }
}

/// An extent multiplied and rounded: at least 1x1.
fn scaled(extent: vk::Extent2D, scale: f32) -> vk::Extent2D {
    let length = |length: u32| ((f64::from(length) * f64::from(scale)).round() as u32).clamp(1, length.max(1));
    vk::Extent2D {
        width: length(extent.width),
        height: length(extent.height),
    }
}

fn array(extent: vk::Extent2D) -> [u32; 2] {
    [extent.width, extent.height]
}

impl Drop for Renderer {
    fn drop(&mut self) {
        let ended = self.finish().or_else(|error| {
            tracing::debug!("frames are let go at the end: {error}");
            self.abandon()
        });
        if let Err(error) = ended.and_then(|()| Ok(self.device.wait_idle()?)) {
            tracing::warn!("the GPU did not come to rest: {error}");
        }
    }
}
