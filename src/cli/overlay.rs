//! The overlay of a running view: shown or hidden, and kept fed.

use ash::vk;

use crate::kernels::catalogue;
use crate::overlay::{Facts, Overlay};
use crate::renderer::Renderer;
use crate::timing::FrameRecord;
use crate::vulkan::PhysicalDevice;

/// The overlay with its switches.
pub(crate) struct ViewOverlay {
    overlay: Overlay,
    is_on: bool,
    /// Hides it, and whatever else is drawn over the picture.
    all_hidden: bool,
    /// The user's choice, in place of the window's scale.
    fixed_scale: Option<f32>,
    window_scale: f32,
    /// What is said that only has to be found out once has been.
    has_measured: bool,
}

impl ViewOverlay {
    /// The overlay of a view on `device`.
    pub fn new(device: &PhysicalDevice, is_on: bool, fixed_scale: Option<f32>) -> Self {
        let facts = Facts {
            effects: catalogue().effects().iter().map(|effect| effect.name.clone()).collect(),
            memory_total: device.local_memory(),
            ..Facts::default()
        };
        Self {
            overlay: Overlay::new(facts),
            is_on,
            all_hidden: false,
            fixed_scale,
            window_scale: 1.0,
            has_measured: false,
        }
    }

    /// Remembers a retired frame.
    pub fn push(&mut self, record: FrameRecord) {
        self.overlay.push(record);
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

    /// Gives the renderer what is to be drawn over the next frame. `title` says what runs.
    ///
    /// # Errors
    /// What is measured when the overlay is shown for the first time failed.
    pub fn prepare(
        &mut self,
        renderer: &mut Renderer,
        title: impl FnOnce(&mut Renderer) -> String,
    ) -> anyhow::Result<()> {
        if !self.is_on || self.all_hidden {
            renderer.set_overlay(None);
            return Ok(());
        }
        let vk::Extent2D { width, height } = renderer.extent();
        if width == 0 || height == 0 {
            return Ok(());
        }
        if !self.has_measured {
            self.has_measured = true;
            let copy_bandwidth = renderer.copy_bandwidth()?;
            let facts = self.overlay.facts_mut();
            facts.copy_bandwidth = copy_bandwidth;
            facts.clock = Some(renderer.processor().clock());
        }
        self.overlay.facts_mut().title = title(renderer);
        let scale = self.fixed_scale.unwrap_or(self.window_scale);
        renderer.set_overlay(self.overlay.draw(renderer.extent(), scale));
        Ok(())
    }
}
