//! The presenter that shows nothing: frames are counted, measured and written without a window.

use ash::vk;

use super::{Acquired, Error, Presented, Presenter, Screen};
use crate::vulkan::Queue;

/// Presents nowhere.
pub struct Offscreen {
    /// Of frames; it changes only by a rebuild, since there is no window that could change it.
    extent: vk::Extent2D,
}

impl Offscreen {
    /// Frames will have the given extent.
    pub fn new(extent: vk::Extent2D) -> Self {
        Self { extent }
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

    fn record(&mut self, _commands: vk::CommandBuffer, _slot: usize, _target: u32, _screen: Screen) {}

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
