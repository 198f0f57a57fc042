//! How fast the device's memory is: a copy within it, timed.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, sys};

use super::{Error, Event, ResultExt};

/// Bytes copied: several times the largest cache of a GPU (126 MB on a B200).
const BYTES: usize = 512 << 20;

/// Copies timed, after one that is not: a clock that was resting gets up.
const COPIES: usize = 5;

/// Memory of the device for as long as the measurement takes.
struct Allocation {
    address: sys::CUdeviceptr,
    context: Arc<CudaContext>,
}

impl Allocation {
    /// `None` when there is not so much left.
    fn new(context: &Arc<CudaContext>) -> Result<Option<Self>, Error> {
        let what = || format!("allocate {BYTES} bytes to copy");
        context.bind_to_thread().during(what)?;
        let mut address = 0;
        // SAFETY: C1, C3, C4.
        match unsafe { sys::cuMemAlloc_v2(&raw mut address, BYTES) } {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => return Ok(None),
            result => result.during(what)?,
        }
        Ok(Some(Self {
            address,
            context: Arc::clone(context),
        }))
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: C1, C4; it waits for what still uses the memory.
            let _ = unsafe { sys::cuMemFree_v2(self.address) };
        }
    }
}

/// Bytes a second that `cuMemcpyDtoDAsync` moves within the device's memory, those read and those written counted both: the
/// fastest of a few large copies. `None` where there is no memory left for it. Waits for the stream.
///
/// # Errors
/// The driver refused.
pub fn copy_bandwidth(context: &Arc<CudaContext>, stream: &CudaStream) -> Result<Option<f64>, Error> {
    let (Some(from), Some(to)) = (Allocation::new(context)?, Allocation::new(context)?) else {
        return Ok(None);
    };
    let events = (0..COPIES + 2)
        .map(|_| Event::new(context))
        .collect::<Result<Vec<_>, _>>()?;
    let what = || "copy within the device's memory";
    events[0].record(stream)?;
    for event in &events[1..] {
        // SAFETY: C1, C4; both allocations have this length, and are freed only after the stream was waited for.
        unsafe { sys::cuMemcpyDtoDAsync_v2(to.address, from.address, BYTES, stream.cu_stream()) }.during(what)?;
        event.record(stream)?;
    }
    stream.synchronize().during(what)?;
    let times = events[1..]
        .windows(2)
        .filter_map(|pair| pair[0].milliseconds_until(&pair[1]));
    let fastest = times.filter(|time| *time > 0.0).reduce(f64::min);
    Ok(fastest.map(|milliseconds| 2.0 * BYTES as f64 / milliseconds * 1e3))
}
