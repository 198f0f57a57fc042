//! What a renderer takes of the GPU's memory.

use std::sync::Arc;

use crate::bench::{Case, CountedBy, MemoryTaken};
use crate::cuda::{self, memory_taken};
use crate::kernels::Plan;

use crate::renderer::View;

use super::super::setup::{Machine, Request};
use super::measure::{render, renderer};

/// Measures it: on a device of its own, so that nothing is left of another, from before its renderer is made to after its first frames.
///
/// # Errors
/// As [`Machine::open`]; no memory; a frame that failed.
pub fn taken(request: &Request, case: &Case, plan: &Arc<Plan>) -> anyhow::Result<MemoryTaken> {
    let machine = Machine::open(request, None)?;
    // The context takes some memory by itself, and is held so that it is there before.
    let context = match &machine.cuda {
        Some((driver, device)) => Some(driver.context(device)?),
        None => None,
    };
    let now = || -> Result<(u64, CountedBy), cuda::Error> {
        Ok(match (&context, machine.device.memory_used()) {
            (Some(context), _) => (memory_taken(context)?, CountedBy::Cuda),
            (None, Some(used)) => (used, CountedBy::Vulkan),
            (None, None) => (machine.device.memory_allocated(), CountedBy::Allocator),
        })
    };
    let (before, counted_by) = now()?;
    let mut renderer = renderer(&machine, case)?;
    // Every slot once, and what the chain keeps in both of its places.
    render(&mut renderer, &View::first(plan), case.frames_in_flight as u64 + 1)?;
    let (after, _) = now()?;
    Ok(MemoryTaken {
        bytes: after.saturating_sub(before),
        counted_by,
    })
}
