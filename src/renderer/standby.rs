//! Two processors that take turns: one runs what the other cannot.

use std::collections::BTreeSet;

use crate::kernels::{FrameExtents, Plan};

use super::{Error, Renderer};

impl Renderer {
    /// Lets the standby run plans with Fourier transforms that the usual processor cannot compute, and the usual one all others.
    /// Where they change places all frames are brought to their end first; frame numbers go on, and what effects keep begins anew.
    pub(super) fn choose_processor(&mut self, plan: &Plan) -> Result<(), Error> {
        let Some(standby) = &self.standby else { return Ok(()) };
        let (usual, other) = match self.is_standing_in {
            true => (standby, &self.processor),
            false => (&self.processor, standby),
        };
        let needs_standby = has_transforms(plan) && usual.transforms().is_err() && other.transforms().is_ok();
        if needs_standby == self.is_standing_in {
            return Ok(());
        }
        let said = match usual.transforms() {
            Err(reason) if needs_standby => {
                format!("{} {reason}: frames with it run on {}", effects(plan), other.name())
            }
            _ => format!("frames run {} again", usual.name()),
        };
        tracing::info!("{said}");
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

fn has_transforms(plan: &Plan) -> bool {
    plan.launches
        .iter()
        .any(|launch| launch.description().transform.is_some())
}

/// The effects that have them, for the log.
fn effects(plan: &Plan) -> String {
    let transforming = plan.launches.iter().filter(|launch| launch.of.transforms());
    let names: BTreeSet<&str> = transforming.map(|launch| launch.of.name.as_str()).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}
