//! How frames are made.

use std::time::Duration;

use crate::timing::Instrument;

use super::Schedule;

/// How frames are made.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Frames between their scene's submission and their retirement, 1 to 8.
    pub frames_in_flight: usize,
    /// The order of submissions.
    pub schedule: Schedule,
    /// Width and height of the scene, of those of what is shown: above 0, at most 1.
    pub render_scale: f32,
    /// How long a frame may take before it is overdue.
    pub wait_limit: Duration,
    /// Effects in the catalogue: the length of a record's list of kernel times.
    pub effects: usize,
    /// Every texel of every processed frame is compared on the GPU with what the scene `none` wrote.
    pub check_tags: bool,
    /// How much is measured.
    pub instrument: Instrument,
    /// The chain that the tags go through is `complement`.
    pub check_complement: bool,
}
