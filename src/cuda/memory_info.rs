//! How much of the device's memory is taken.

use std::sync::Arc;

use cudarc::driver::{CudaContext, result};

use super::{Error, ResultExt};

/// Bytes of the device's memory that are taken, by this process and all others.
///
/// # Errors
/// The driver refused.
pub fn memory_taken(context: &Arc<CudaContext>) -> Result<u64, Error> {
    let what = || "ask how much memory is free";
    context.bind_to_thread().during(what)?;
    let (free, total) = result::mem_get_info().during(what)?;
    Ok(total.saturating_sub(free) as u64)
}
