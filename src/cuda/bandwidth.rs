//! How fast the device's memory is: a copy within it, timed.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, sys};

use super::{CudaBuffer, Error, Event, ResultExt};

/// Bytes copied: several times the largest cache of a GPU (126 MB on a B200).
const BYTES: usize = 512 << 20;

/// Copies timed, after one that is not: a clock that was resting gets up.
const COPIES: usize = 5;

/// `None` when there is not so much left.
fn allocate(context: &Arc<CudaContext>) -> Result<Option<CudaBuffer>, Error> {
    match CudaBuffer::new(context, BYTES as u64) {
        Err(error) if error.result == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => Ok(None),
        made => made.map(Some),
    }
}

/// Bytes a second that `cuMemcpyDtoDAsync` moves within the device's memory, those read and those written counted both: the
/// fastest of a few large copies. `None` where there is no memory left for it. Waits for the stream.
///
/// # Errors
/// The driver refused.
pub fn copy_bandwidth(context: &Arc<CudaContext>, stream: &CudaStream) -> Result<Option<f64>, Error> {
    let (Some(from), Some(to)) = (allocate(context)?, allocate(context)?) else {
        return Ok(None);
    };
    let events = (0..COPIES + 2)
        .map(|_| Event::new(context))
        .collect::<Result<Vec<_>, _>>()?;
    let what = || "copy within the device's memory";
    events[0].record(stream)?;
    for event in &events[1..] {
        // SAFETY: C1, C4; both allocations have this length, and are freed only after the stream was waited for.
        unsafe { sys::cuMemcpyDtoDAsync_v2(to.address(), from.address(), BYTES, stream.cu_stream()) }.during(what)?;
        event.record(stream)?;
    }
    stream.synchronize().during(what)?;
    let times = events[1..]
        .windows(2)
        .filter_map(|pair| pair[0].milliseconds_until(&pair[1]));
    let fastest = times.filter(|time| *time > 0.0).reduce(f64::min);
    Ok(fastest.map(|milliseconds| 2.0 * BYTES as f64 / milliseconds * 1e3))
}
