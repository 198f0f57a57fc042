//! Events that time kernels.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, sys};

use super::{Error, ResultExt};

/// `CUevent` with timing, recorded again and again.
pub struct Event {
    raw: sys::CUevent,
    context: Arc<CudaContext>,
}

impl Event {
    /// Creates it.
    ///
    /// # Errors
    /// The driver refused.
    pub fn new(context: &Arc<CudaContext>) -> Result<Self, Error> {
        let what = || "create a timing event";
        context.bind_to_thread().during(what)?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: C3, C4.
        unsafe { sys::cuEventCreate(&raw mut raw, 0) }.during(what)?;
        Ok(Self {
            raw,
            context: Arc::clone(context),
        })
    }

    /// Records it on the stream.
    ///
    /// # Errors
    /// The driver refused.
    pub fn record(&self, stream: &CudaStream) -> Result<(), Error> {
        // SAFETY: C1, C4.
        unsafe { sys::cuEventRecord(self.raw, stream.cu_stream()) }.during(|| "record a timing event")
    }

    /// Has it recorded whenever a graph that the stream is recording gets here.
    ///
    /// # Errors
    /// The driver refused: the stream is recording none.
    pub fn record_in_graph(&self, stream: &CudaStream) -> Result<(), Error> {
        let flags = sys::CUevent_record_flags_enum::CU_EVENT_RECORD_EXTERNAL as u32;
        // SAFETY: C1, C4.
        unsafe { sys::cuEventRecordWithFlags(self.raw, stream.cu_stream(), flags) }
            .during(|| "put a timing event into a graph")
    }

    /// Whether the stream is past it, or its context has failed. Never blocks.
    #[cfg(feature = "gl")]
    pub(crate) fn is_reached(&self) -> bool {
        // SAFETY: C1, C4.
        unsafe { sys::cuEventQuery(self.raw) != sys::CUresult::CUDA_ERROR_NOT_READY }
    }

    /// Waits until the stream is past it.
    ///
    /// # Errors
    /// Its context has failed.
    #[cfg(feature = "gl")]
    pub(crate) fn wait(&self) -> Result<(), Error> {
        // SAFETY: C1, C4.
        unsafe { sys::cuEventSynchronize(self.raw) }.during(|| "wait for a timing event")
    }

    /// Milliseconds from `self` to `end`; `None` when either is not reached yet. Never blocks.
    pub fn milliseconds_until(&self, end: &Self) -> Option<f64> {
        let mut milliseconds = 0.0;
        // SAFETY: C1, C4; both events are of this context.
        let result = unsafe { sys::cuEventElapsedTime(&raw mut milliseconds, self.raw, end.raw) };
        (result == sys::CUresult::CUDA_SUCCESS).then_some(f64::from(milliseconds))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: C1, C2.
            let _ = unsafe { sys::cuEventDestroy_v2(self.raw) };
        }
    }
}
