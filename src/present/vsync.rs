//! Whether presenting waits for the display, and which present mode that is on this machine.

use ash::vk;

/// What `--vsync` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum VSync {
    /// Each frame is shown, at the display's pace.
    #[default]
    On,
    /// A frame is shown at once, torn where the display is in the middle of its scan.
    Off,
    /// The newest frame is shown at the display's pace; older ones are dropped.
    Mailbox,
}

impl VSync {
    /// The present mode for it among those on offer: FIFO, which every device has, where nothing closer is.
    pub fn present_mode(self, offered: &[vk::PresentModeKHR]) -> vk::PresentModeKHR {
        use vk::PresentModeKHR as Mode;
        let wanted: &[Mode] = match self {
            Self::On => &[],
            Self::Off => &[Mode::IMMEDIATE, Mode::FIFO_RELAXED],
            Self::Mailbox => &[Mode::MAILBOX],
        };
        wanted
            .iter()
            .copied()
            .find(|mode| offered.contains(mode))
            .unwrap_or(Mode::FIFO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vk::PresentModeKHR as Mode;

    #[test]
    fn the_closest_mode_on_offer_is_taken() {
        let all = [Mode::FIFO, Mode::MAILBOX, Mode::IMMEDIATE, Mode::FIFO_RELAXED];
        assert_eq!(VSync::On.present_mode(&all), Mode::FIFO);
        assert_eq!(VSync::Off.present_mode(&all), Mode::IMMEDIATE);
        assert_eq!(VSync::Mailbox.present_mode(&all), Mode::MAILBOX);
        let relaxed = [Mode::FIFO, Mode::FIFO_RELAXED];
        assert_eq!(VSync::Off.present_mode(&relaxed), Mode::FIFO_RELAXED);
        assert_eq!(VSync::Off.present_mode(&[Mode::FIFO]), Mode::FIFO);
        assert_eq!(VSync::Mailbox.present_mode(&relaxed), Mode::FIFO);
    }
}
