//! Where a processed frame goes: the swapchain of a window, a window without Vulkan presentation, or nowhere.

mod capability;
mod display;
mod offscreen;
mod overlay_pass;
mod pass;
mod screen;
mod software;
mod swapchain;
mod vsync;

use ash::vk;

pub use capability::can_present;
#[cfg(target_os = "linux")]
pub use display::x_server_has;
pub use display::{Display, DisplayServer, find_display};
pub use offscreen::Offscreen;
pub use overlay_pass::OverlayPass;
pub use pass::PresentPass;
pub use screen::Screen;
pub use software::Software;
pub use swapchain::Swapchain;
pub use vsync::VSync;

use crate::vulkan::{self, Queue};

/// An error of presenting.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A Vulkan call failed.
    #[error(transparent)]
    Vulkan(#[from] vulkan::Error),
    /// The window system refused.
    #[error("{what}: {reason}")]
    Window {
        /// What was asked of it.
        what: &'static str,
        /// What it said.
        reason: String,
    },
}

/// How an acquire ended. Out of date is a value and not an error: it happens with every resize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acquired {
    /// Something to present into: the swapchain image's index, or 0.
    Image(u32),
    /// The swapchain no longer fits its surface; make it anew, then try again.
    OutOfDate,
    /// No image within the limit (a hidden or minimized window): skip this frame.
    NotReady,
}

/// How a present ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presented {
    /// It is on its way to the screen.
    Shown,
    /// As [`Acquired::OutOfDate`]; the frame's GPU work is done all the same.
    OutOfDate,
}

/// Takes the 8-bit screen image of a frame to where people see it.
///
/// Calls come in this order for each frame: `acquire`, `record`, `present`, and, when the GPU has finished the frame,
/// `retired`. Several frames are between `acquire` and `retired` at a time, each in a slot of its own.
pub trait Presenter {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What it does in fact, for the line at start: `swapchain, 3 images, FIFO`.
    fn description(&self) -> String;

    /// Acquiring and presenting are calls of a window system, and worth a column of their own.
    fn has_present_call(&self) -> bool {
        true
    }

    /// The extent that frames must have now. Zero in either direction: nothing can be shown (minimized).
    fn extent(&self) -> vk::Extent2D;

    /// Gets something to present into. Waits a limited time.
    ///
    /// # Errors
    /// A lost device or surface.
    fn acquire(&mut self, slot: usize) -> Result<Acquired, Error>;

    /// Whether from its next rebuild on it can do with copies alone, and present from queues of the family: one that only transfers
    /// will do then.
    ///
    /// # Errors
    /// The reason why not, as the end of a sentence: `frames are presented by another queue: …`.
    fn copies_on(&mut self, _family: u32) -> Result<(), String> {
        Ok(())
    }

    /// Records how the slot's screen image gets to `target`. It stays in TRANSFER_SRC_OPTIMAL, so that what else wants a copy can
    /// follow.
    fn record(&mut self, commands: vk::CommandBuffer, slot: usize, target: u32, screen: Screen);

    /// What the present submission must wait for beside `processed`: the swapchain's acquire.
    fn wait(&self, slot: usize) -> Option<vk::SemaphoreSubmitInfo<'static>>;

    /// What the present submission must signal beside `retired`: the binary semaphore of the *swapchain image*.
    fn signal(&self, target: u32) -> Option<vk::SemaphoreSubmitInfo<'static>>;

    /// Presents, after the submission.
    ///
    /// # Errors
    /// A lost device or surface.
    fn present(&mut self, queue: Queue, slot: usize, target: u32) -> Result<Presented, Error>;

    /// The slot's frame has retired on the GPU: what was read back for it can be shown now.
    ///
    /// # Errors
    /// The window system refused.
    fn retired(&mut self, slot: usize) -> Result<(), Error>;

    /// The window has a new extent, or the swapchain is out of date. The GPU is idle. `slots` frames will be in flight.
    ///
    /// # Errors
    /// No memory, or a lost surface.
    fn rebuild(&mut self, window: vk::Extent2D, slots: usize) -> Result<(), Error>;
}
