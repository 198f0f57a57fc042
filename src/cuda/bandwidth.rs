//! How fast the device's memory is: a copy within it, timed.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, sys};

use super::{CudaBuffer, Error, Event, ResultExt};

/// Bytes copied: several times the largest cache of a GPU (126 MB on a B200).
const BYTES: usize = 512 << 20;

/// Copies timed, after one that is not: a clock that was resting gets up.
const COPIES: u32 = 5;

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
    let mut fastest = 0.0;
    copy_us(context, stream, (&from, &to), 1)?;
    for _ in 0..COPIES {
        let us = copy_us(context, stream, (&from, &to), 1)?;
        fastest = f64::max(fastest, 2.0 * BYTES as f64 / us * 1e6);
    }
    Ok(Some(fastest))
}

/// Microseconds of a copy of a whole buffer to another of that length, the mean of so many, one behind the other. Waits for the
/// stream.
///
/// # Errors
/// The driver refused.
///
/// # Panics
/// If the second is smaller.
pub fn copy_us(
    context: &Arc<CudaContext>,
    stream: &CudaStream,
    (from, to): (&CudaBuffer, &CudaBuffer),
    copies: u32,
) -> Result<f64, Error> {
    assert!(to.bytes() >= from.bytes(), "a copy fits into the buffer");
    let what = || "copy within the device's memory";
    let events = [Event::new(context)?, Event::new(context)?];
    events[0].record(stream)?;
    for _ in 0..copies {
        // SAFETY: C1, C4; both buffers are long enough, and the stream is waited for before this returns.
        let copy = unsafe {
            sys::cuMemcpyDtoDAsync_v2(to.address(), from.address(), from.bytes() as usize, stream.cu_stream())
        };
        copy.during(what)?;
    }
    events[1].record(stream)?;
    stream.synchronize().during(what)?;
    Ok(events[0].milliseconds_until(&events[1]).unwrap_or(f64::NAN) * 1e3 / f64::from(copies))
}
