//! What the window drives: whoever renders implements it.

use ash::vk;

use super::{Action, Input};

/// How a frame ended, for the window's loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// The frame went on its way; the next one can follow at once.
    Continue,
    /// There was nothing to render into; the loop waits a little before it asks again.
    Skipped,
    /// No more frames: the window closes.
    Exit,
}

/// A running view. All calls come from the thread of the window.
pub trait Session {
    /// Renders one frame. Not called while the window is minimized, hidden or without area.
    ///
    /// # Errors
    /// What ends the program.
    fn frame(&mut self, input: &Input) -> anyhow::Result<Flow>;

    /// Does what the user asked for, except what the window does itself.
    ///
    /// # Errors
    /// What ends the program.
    fn act(&mut self, action: Action) -> anyhow::Result<()>;

    /// The window has this extent now, neither side 0. Called before the next frame, once for all changes since the last.
    ///
    /// # Errors
    /// What ends the program.
    fn resized(&mut self, extent: vk::Extent2D) -> anyhow::Result<()>;

    /// The window has this many pixels a point now: on a display of more pixels, all that is drawn over the picture is to grow.
    fn scaled(&mut self, pixels_per_point: f64);

    /// The window's title. Asked for at most twice a second.
    fn title(&self, frames_per_second: f64) -> String;

    /// The last call, while the window is still there: ends captures, waits for the GPU, prints results.
    ///
    /// # Errors
    /// What should make the program's exit code non-zero.
    fn closing(&mut self) -> anyhow::Result<()>;
}
