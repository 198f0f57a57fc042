//! When the window renders again: at once, after a pause, or not before something happens to it.

use std::time::{Duration, Instant};

/// How long a skipped frame, or a look at a minimized window, is waited for: unnoticed by a user, no load on a CPU.
const PAUSE: Duration = Duration::from_millis(100);

/// How often the title changes, and the window's state is asked for where no event tells it.
const TITLE_INTERVAL: Duration = Duration::from_millis(500);

/// What the loop does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Renders.
    Frame,
    /// Looks again then.
    At(Instant),
    /// Waits for an event.
    Event,
}

/// What keeps the window from rendering, and how fast it renders.
#[derive(Debug)]
pub(super) struct Pace {
    /// One side of the window is 0.
    pub empty: bool,
    /// All of it is covered.
    pub occluded: bool,
    /// It is an icon. Some window systems tell that by no event, so it is asked for at each tick.
    pub minimized: bool,
    /// The last frame found nothing to render into; the next is tried then.
    retry_at: Option<Instant>,
    frames: u32,
    tick: Instant,
}

impl Pace {
    pub fn new(now: Instant) -> Self {
        Self {
            empty: false,
            occluded: false,
            minimized: false,
            retry_at: None,
            frames: 0,
            tick: now,
        }
    }

    /// What to do at `now`.
    pub fn next(&self, now: Instant) -> Next {
        if self.empty || self.occluded {
            return Next::Event;
        }
        if self.minimized {
            return Next::At(now + PAUSE);
        }
        match self.retry_at {
            Some(at) if at > now => Next::At(at),
            _ => Next::Frame,
        }
    }

    /// A frame was rendered, or skipped.
    pub fn frame(&mut self, rendered: bool, now: Instant) {
        self.frames += u32::from(rendered);
        self.retry_at = (!rendered).then(|| now + PAUSE);
    }

    /// Twice a second: the frames per second since the last time.
    pub fn tick(&mut self, now: Instant) -> Option<f64> {
        let elapsed = now.duration_since(self.tick);
        if elapsed < TITLE_INTERVAL {
            return None;
        }
        let rate = f64::from(self.frames) / elapsed.as_secs_f64();
        (self.frames, self.tick) = (0, now);
        Some(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_shows_nothing_does_not_render() {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        assert_eq!(pace.next(now), Next::Frame);
        pace.minimized = true;
        assert_eq!(pace.next(now), Next::At(now + PAUSE));
        pace.occluded = true;
        assert_eq!(pace.next(now), Next::Event);
        (pace.occluded, pace.minimized, pace.empty) = (false, false, true);
        assert_eq!(pace.next(now), Next::Event);
    }

    #[test]
    fn a_skipped_frame_is_tried_again_after_a_pause() {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        pace.frame(false, now);
        assert_eq!(pace.next(now), Next::At(now + PAUSE));
        assert_eq!(pace.next(now + PAUSE), Next::Frame);
        pace.frame(true, now + PAUSE);
        assert_eq!(pace.next(now + PAUSE), Next::Frame);
    }

    #[test]
    fn the_title_changes_at_most_twice_a_second() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        for _ in 0..30 {
            pace.frame(true, start);
        }
        assert_eq!(pace.tick(start + TITLE_INTERVAL / 2), None);
        assert_eq!(pace.tick(start + TITLE_INTERVAL), Some(60.0));
        assert_eq!(pace.tick(start + TITLE_INTERVAL), None);
    }
}
