//! A CUDA context that is opened on a thread of its own, while Vulkan makes its device.

use std::sync::Arc;
use std::thread::JoinHandle;

use crate::cuda::{CudaContext, CudaDevice, Driver, Error};

use super::start;

/// The context, open or about to be. Who opens the same one meanwhile waits in the driver, and then finds it open: so it is kept until
/// somebody did. Dropping it waits for the thread, which must not be in the driver when the process ends.
pub(super) struct EarlyContext(Option<JoinHandle<Result<Arc<CudaContext>, Error>>>);

impl EarlyContext {
    /// Begins to open it. Where that fails, whoever opens it next says why.
    pub fn open(driver: &Driver, device: &CudaDevice) -> Self {
        let (driver, device) = (driver.clone(), device.clone());
        let open = move || start::step("CUDA context", || driver.context(&device));
        let thread = std::thread::Builder::new().name("CUDA context".into()).spawn(open);
        Self(thread.inspect_err(|error| tracing::debug!("{error}")).ok())
    }
}

impl Drop for EarlyContext {
    fn drop(&mut self) {
        // A panic was printed when it happened.
        let _ = self.0.take().map(JoinHandle::join);
    }
}
