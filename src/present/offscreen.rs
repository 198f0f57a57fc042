//! The presenter that shows nothing: frames are counted, measured and written without a window.

use std::sync::Arc;

use ash::vk;

use super::{Acquired, Error, Presented, Presenter};
use crate::vulkan::barrier::Barriers;
use crate::vulkan::{self, Device, Queue};

/// Presents nowhere.
pub struct Offscreen {
    /// Of frames; it changes only by a rebuild, since there is no window that could change it.
    extent: vk::Extent2D,
    device: Arc<Device>,
}

impl Offscreen {
    /// Frames will have the given extent.
    pub fn new(device: &Arc<Device>, extent: vk::Extent2D) -> Self {
        Self {
            extent,
            device: Arc::clone(device),
        }
    }
}

impl Presenter for Offscreen {
    fn name(&self) -> &'static str {
        "offscreen"
    }

    fn description(&self) -> String {
        format!("offscreen, {}x{}", self.extent.width, self.extent.height)
    }

    fn has_present_call(&self) -> bool {
        false
    }

    fn extent(&self) -> vk::Extent2D {
        self.extent
    }

    fn acquire(&mut self, _slot: usize) -> Result<Acquired, Error> {
        Ok(Acquired::Image(0))
    }

    fn record(&mut self, commands: vk::CommandBuffer, _slot: usize, _target: u32, screen: &vulkan::Image) {
        Barriers::new()
            .screen_to_transfer(screen.raw)
            .record(&self.device, commands);
    }

    fn wait(&self, _slot: usize) -> Option<vk::SemaphoreSubmitInfo<'static>> {
        None
    }

    fn signal(&self, _target: u32) -> Option<vk::SemaphoreSubmitInfo<'static>> {
        None
    }

    fn present(&mut self, _queue: Queue, _slot: usize, _target: u32) -> Result<Presented, Error> {
        Ok(Presented::Shown)
    }

    fn retired(&mut self, _slot: usize) -> Result<(), Error> {
        Ok(())
    }

    fn rebuild(&mut self, window: vk::Extent2D, _slots: usize) -> Result<(), Error> {
        self.extent = window;
        Ok(())
    }
}
