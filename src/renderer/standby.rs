//! Two processors that take turns: one runs what the other cannot.

use crate::kernels::{FrameExtents, Plan};

use super::{Error, Renderer};

impl Renderer {
    /// Lets the standby run the plans that the usual processor refuses, and the usual one all others. Where they change places all
    /// frames are brought to their end first; frame numbers go on, and what effects keep begins anew.
    pub(super) fn choose_processor(&mut self, plan: &Plan) -> Result<(), Error> {
        let Some(standby) = &mut self.standby else {
            return Ok(());
        };
        let (usual, other) = match self.is_standing_in {
            true => (standby, &mut self.processor),
            false => (&mut self.processor, standby),
        };
        match (usual.refuses(plan), self.is_standing_in) {
            (Some(reason), false) => tracing::info!("{reason}: frames with it run on {}", other.name()),
            (None, true) => tracing::info!("frames run {} again", usual.name()),
            (Some(_), true) | (None, false) => return Ok(()),
        }
        self.take_turns()
    }

    fn take_turns(&mut self) -> Result<(), Error> {
        self.finish()?;
        self.device.wait_idle()?;
        let Some(standby) = &mut self.standby else {
            return Ok(());
        };
        std::mem::swap(&mut self.processor, standby);
        self.is_standing_in = !self.is_standing_in;
        let extent = std::mem::take(&mut self.extent);
        self.shown_slot = None;
        // The one that steps back gives up its images first, so that those of both are never in memory together.
        standby.retarget(FrameExtents::same([0; 2]), 0)?;
        self.retarget(extent)
    }
}
