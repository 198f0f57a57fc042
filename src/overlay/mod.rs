//! What is drawn over the picture: what the last frames cost, as graphs.
//!
//! [`Overlay`] keeps the last frames' records and lays them out with egui; the [`DrawList`] that comes out is drawn by
//! [`OverlayPass`](crate::present::OverlayPass), after the chain and outside of what is measured of a frame.

mod atlas;
mod draw_list;
mod figures;
mod frame_times;
mod legend;
mod paint;
pub mod palette;
mod stack;
mod ticks;
mod timeline;
mod tracks;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk;
use egui::{LayerId, RawInput, Rect, ViewportId, ViewportInfo};

use crate::timing::{ClockProof, FrameRecord, milliseconds};

pub use atlas::Atlas;
pub use draw_list::{DrawList, Layout};
use figures::Figures;
pub use stack::{Part, mean_parts, parts_of};
pub use timeline::{Arrow, Bar, Signal, Timeline, Track};

/// Frames that are kept, which the graph shows: four seconds of 60 Hz.
const FRAMES_KEPT: usize = 240;

/// The least time from one layout to the next. Shorter than a frame of most displays, so that graphs move with the frames; where
/// frames are shorter still, layouts would cost more than they show.
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

/// The overlay: what it knows, and its last layout.
pub struct Overlay {
    recent: VecDeque<FrameRecord>,
    facts: Facts,
    figures: Figures,
    figures_at: Option<Instant>,
    context: egui::Context,
    atlas: Arc<Atlas>,
    last: Option<LaidOut>,
}

/// A layout, what it was made for, and what it took.
struct LaidOut {
    at: Instant,
    screen: vk::Extent2D,
    scale: f32,
    list: Arc<DrawList>,
    took_ms: f64,
}

impl Overlay {
    /// An overlay that has seen no frame.
    pub fn new(facts: Facts) -> Self {
        let context = egui::Context::default();
        // The shader takes the nearest texel of the atlas, which suits text and not discs of any size.
        context.tessellation_options_mut(|options| options.prerasterized_discs = false);
        Self {
            recent: VecDeque::with_capacity(FRAMES_KEPT),
            facts,
            figures: Figures::default(),
            figures_at: None,
            context,
            atlas: Arc::default(),
            last: None,
        }
    }

    /// What it says beside the frames.
    pub fn facts_mut(&mut self) -> &mut Facts {
        &mut self.facts
    }

    /// Remembers a retired frame.
    pub fn push(&mut self, record: FrameRecord) {
        if self.recent.len() == FRAMES_KEPT {
            self.recent.pop_front();
        }
        self.recent.push_back(record);
    }

    /// What to draw over a screen of this extent, `scale` texels a point. Laid out anew where that is due.
    pub fn draw(&mut self, screen: vk::Extent2D, scale: f32) -> Arc<DrawList> {
        let now = Instant::now();
        let fits = |last: &&LaidOut| last.screen == screen && last.scale == scale;
        if let Some(last) = self.last.as_ref().filter(fits)
            && now - last.at < LAYOUT_INTERVAL
        {
            return Arc::clone(&last.list);
        }
        // The first frames change them at once.
        let is_young = self.recent.len() < FRAMES_KEPT / 4;
        if is_young || self.figures_at.is_none_or(|at| now - at >= FIGURES_INTERVAL) {
            self.figures = Figures::of(&self.recent, self.last.as_ref().map(|last| last.took_ms));
            self.figures_at = Some(now);
        }
        let list = Arc::new(self.lay_out(screen, scale));
        self.last = Some(LaidOut {
            at: now,
            screen,
            scale,
            list: Arc::clone(&list),
            took_ms: milliseconds(now.elapsed()),
        });
        list
    }

    fn lay_out(&mut self, screen: vk::Extent2D, scale: f32) -> DrawList {
        let size = egui::vec2(screen.width as f32, screen.height as f32) / scale;
        let mut input = RawInput {
            screen_rect: Some(Rect::from_min_size(egui::Pos2::ZERO, size)),
            ..RawInput::default()
        };
        let viewport = ViewportInfo {
            native_pixels_per_point: Some(scale),
            ..ViewportInfo::default()
        };
        input.viewports.insert(ViewportId::ROOT, viewport);
        let output = self.context.run_pass(input, |context| {
            let painter = context.layer_painter(LayerId::background());
            paint::panel(&painter, &self.facts, &self.figures, &self.recent);
        });
        Atlas::apply(&mut self.atlas, output.textures_delta);
        let primitives = self.context.tessellate(output.shapes, output.pixels_per_point);
        DrawList::new(&primitives, output.pixels_per_point, screen, &self.atlas)
    }
}

#[cfg(test)]
mod tests;
