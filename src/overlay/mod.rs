//! What is drawn over the picture: what the last frames cost, as graphs; the effect that keys change; what went wrong.
//!
//! [`Overlay`] keeps the last frames' records and lays them out with egui; the [`DrawList`] that comes out is drawn by
//! [`OverlayPass`](crate::present::OverlayPass), after the chain and outside of what is measured of a frame, or at the end of a chain that
//! makes the picture which is shown: to the same bytes.

mod atlas;
mod draw_list;
mod draw_over;
mod figures;
mod frame_times;
mod legend;
mod paint;
pub mod palette;
mod panels;
mod stack;
mod ticks;
mod timeline;
mod tracks;
mod typesetter;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk;

use crate::timing::{ClockProof, FrameRecord};

pub use atlas::Atlas;
pub use draw_list::{DrawList, Layout};
use figures::Figures;
pub use panels::{Chosen, ChosenParameter, Notice};
pub use stack::{Part, mean_parts, parts_of};
pub use timeline::{Arrow, Bar, Signal, Timeline, Track};
use typesetter::{Job, LaidOut, Typesetter};

/// Frames that are kept, which the graph shows: four seconds of 60 Hz.
const FRAMES_KEPT: usize = 240;

/// The least time from one layout to the next: shorter than a frame of most displays, so that graphs move with the frames.
const LAYOUT_INTERVAL: Duration = Duration::from_millis(15);

/// The least time from one change of the numbers to the next: they are to be read.
const FIGURES_INTERVAL: Duration = Duration::from_millis(250);

/// What the overlay says that does not come from frames.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// What runs, in a line.
    pub title: String,
    /// Names of the effects, by catalogue index.
    pub effects: Vec<String>,
    /// Bytes a second of a copy in the processor's memory: see [`Processor::copy_bandwidth`](crate::process::Processor::copy_bandwidth).
    pub copy_bandwidth: Option<f64>,
    /// How the chain's clock and the device's are related.
    pub clock: Option<ClockProof>,
    /// Bytes of the GPU's own memory.
    pub memory_total: u64,
}

/// Which panels are shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Panels {
    /// What frames cost.
    pub frames: bool,
    /// The effect that keys change.
    pub chosen: Option<Arc<Chosen>>,
    /// What went wrong.
    pub notice: Option<Arc<Notice>>,
}

impl Panels {
    /// Nothing is shown.
    pub fn is_empty(&self) -> bool {
        !self.frames && self.chosen.is_none() && self.notice.is_none()
    }
}

impl Default for Panels {
    /// What frames cost, alone.
    fn default() -> Self {
        Self {
            frames: true,
            chosen: None,
            notice: None,
        }
    }
}

/// The overlay: what it knows, and its last layout.
pub struct Overlay {
    recent: VecDeque<FrameRecord>,
    facts: Facts,
    panels: Panels,
    figures: Arc<Figures>,
    figures_at: Option<Instant>,
    last: Option<LaidOut>,
    /// When the last layout was begun.
    begun_at: Option<Instant>,
    /// One is under way.
    is_busy: bool,
    /// Started when something is drawn for the first time.
    typesetter: Option<Typesetter>,
}

impl Overlay {
    /// An overlay that has seen no frame.
    pub fn new(facts: Facts) -> Self {
        Self {
            recent: VecDeque::with_capacity(FRAMES_KEPT),
            facts,
            panels: Panels::default(),
            figures: Arc::default(),
            figures_at: None,
            last: None,
            begun_at: None,
            is_busy: false,
            typesetter: None,
        }
    }

    /// What it says beside the frames.
    pub fn facts_mut(&mut self) -> &mut Facts {
        &mut self.facts
    }

    /// Shows these panels from the next layout on.
    pub fn set_panels(&mut self, panels: Panels) {
        if self.panels != panels {
            self.panels = panels;
            // The layout that is shown has others: the next is due at once.
            self.begun_at = None;
        }
    }

    /// Remembers a retired frame; gives the one that it is remembered in place of.
    pub fn push(&mut self, record: FrameRecord) -> Option<FrameRecord> {
        let is_full = self.recent.len() == FRAMES_KEPT;
        let oldest = is_full.then(|| self.recent.pop_front()).flatten();
        self.recent.push_back(record);
        oldest
    }

    /// What to draw over a screen of this extent, `scale` texels a point: the last layout that is done. Waits for one only where
    /// none was made for such a screen. `None` where the system gives no thread to lay out on.
    pub fn draw(&mut self, screen: vk::Extent2D, scale: f32) -> Option<Arc<DrawList>> {
        if self.typesetter.is_none() {
            self.typesetter = Typesetter::start();
        }
        let typesetter = self.typesetter.as_ref()?;
        if let Some(layout) = typesetter.take() {
            self.last = Some(layout);
            self.is_busy = false;
        }
        let now = Instant::now();
        loop {
            let fits = |last: &LaidOut| last.screen == screen && last.scale == scale;
            let fitting = self
                .last
                .as_ref()
                .filter(|last| fits(last))
                .map(|last| Arc::clone(&last.list));
            let is_due = self.begun_at.is_none_or(|at| now - at >= LAYOUT_INTERVAL);
            if !self.is_busy && (is_due || fitting.is_none()) {
                // The first frames change the numbers at once.
                let is_young = self.recent.len() < FRAMES_KEPT / 4;
                let are_due = self.figures_at.is_none_or(|at| now - at >= FIGURES_INTERVAL);
                if is_young || are_due {
                    self.figures = Arc::new(Figures::of(&self.recent, self.last.as_ref().map(|last| last.took_ms)));
                    self.figures_at = Some(now);
                }
                typesetter.begin(Job {
                    facts: self.facts.clone(),
                    panels: self.panels.clone(),
                    figures: Arc::clone(&self.figures),
                    frame_times: self.recent.iter().map(|record| record.between_presents_ms).collect(),
                    screen,
                    scale,
                });
                (self.is_busy, self.begun_at) = (true, Some(now));
            }
            if fitting.is_some() {
                return fitting;
            }
            self.last = Some(typesetter.wait()?);
            self.is_busy = false;
        }
    }
}

#[cfg(test)]
mod tests;
