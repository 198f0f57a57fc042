//! The overlay of a running view: shown or hidden, and kept fed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk;

use crate::kernels::Catalogue;
use crate::overlay::{Chosen, Facts, Notice, Overlay, Panels};
use crate::renderer::Renderer;
use crate::timing::FrameRecord;
use crate::vulkan::PhysicalDevice;

use super::capture::effect_names;

/// How long the chosen effect is shown after a key, where the overlay is not.
const SHOWN_FOR: Duration = Duration::from_secs(3);

/// The overlay with its switches.
pub(crate) struct ViewOverlay {
    overlay: Overlay,
    is_on: bool,
    /// Hides it, and whatever else is drawn over the picture.
    all_hidden: bool,
    /// The user's choice, in place of the window's scale.
    fixed_scale: Option<f32>,
    window_scale: f32,
    /// The effect that keys change, and when they last did.
    chosen: Option<Arc<Chosen>>,
    touched_at: Option<Instant>,
    /// What went wrong and is not put right yet.
    notice: Option<Arc<Notice>>,
    /// What is said that only has to be found out once has been.
    has_measured: bool,
}

impl ViewOverlay {
    /// The overlay of a view on `device`.
    pub fn new(device: &PhysicalDevice, catalogue: &Catalogue, is_on: bool, fixed_scale: Option<f32>) -> Self {
        let facts = Facts {
            memory_total: device.local_memory(),
            ..Facts::default()
        };
        let mut overlay = Self {
            overlay: Overlay::new(facts),
            is_on,
            all_hidden: false,
            fixed_scale,
            window_scale: 1.0,
            chosen: None,
            touched_at: None,
            notice: None,
            has_measured: false,
        };
        overlay.set_effects(catalogue);
        overlay
    }

    /// Remembers a retired frame; gives the one that it is remembered in place of.
    pub fn push(&mut self, record: FrameRecord) -> Option<FrameRecord> {
        self.overlay.push(record)
    }

    /// The window's pixels a point.
    pub fn set_window_scale(&mut self, pixels_per_point: f64) {
        self.window_scale = pixels_per_point as f32;
    }

    /// Shows it or hides it. What is hidden with all else is shown.
    pub fn toggle(&mut self) {
        self.is_on = self.all_hidden || !self.is_on;
        self.all_hidden = false;
    }

    /// Hides all, or shows what was hidden.
    pub fn toggle_all(&mut self) {
        self.all_hidden = !self.all_hidden;
    }

    /// The effect that keys change now, and when they last did.
    pub fn set_chosen(&mut self, chosen: Option<Chosen>, touched_at: Option<Instant>) {
        (self.chosen, self.touched_at) = (chosen.map(Arc::new), touched_at);
    }

    /// The effects by catalogue index, when there are others than at the start.
    pub fn set_effects(&mut self, catalogue: &Catalogue) {
        self.overlay.facts_mut().effects = effect_names(catalogue).into_iter().map(str::to_owned).collect();
    }

    /// What went wrong, or nothing any more.
    pub fn set_notice(&mut self, notice: Option<Notice>) {
        self.notice = notice.map(Arc::new);
    }

    fn panels(&self) -> Panels {
        let was_touched = self.touched_at.is_some_and(|at| at.elapsed() < SHOWN_FOR);
        Panels {
            frames: self.is_on && !self.all_hidden,
            chosen: self
                .chosen
                .clone()
                .filter(|_| (self.is_on || was_touched) && !self.all_hidden),
            notice: self.notice.clone().filter(|_| !self.all_hidden),
        }
    }

    /// Gives the renderer what is to be drawn over the next frame. `title` says what runs.
    ///
    /// # Errors
    /// What is measured when the overlay is shown for the first time failed.
    pub fn prepare(
        &mut self,
        renderer: &mut Renderer,
        title: impl FnOnce(&mut Renderer) -> String,
    ) -> anyhow::Result<()> {
        let panels = self.panels();
        if panels.is_empty() {
            renderer.set_overlay(None);
            return Ok(());
        }
        let vk::Extent2D { width, height } = renderer.extent();
        if width == 0 || height == 0 {
            return Ok(());
        }
        if panels.frames && !self.has_measured {
            self.has_measured = true;
            let copy_bandwidth = renderer.copy_bandwidth()?;
            let facts = self.overlay.facts_mut();
            facts.copy_bandwidth = copy_bandwidth;
            facts.clock = Some(renderer.processor().clock());
        }
        self.overlay.facts_mut().title = title(renderer);
        self.overlay.set_panels(panels);
        let scale = self.fixed_scale.unwrap_or(self.window_scale);
        renderer.set_overlay(self.overlay.draw(renderer.extent(), scale));
        Ok(())
    }
}
