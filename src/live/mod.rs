//! Kernels while they are written: a saved file is parsed, compiled and loaded on a thread of its own, and handed over when it can
//! run. What is broken is said, and changes nothing.
//!
//! [`Live`] is the thread. It watches files and folders ([`Watcher`]), makes effects of them ([`build()`]), has the processor's
//! [`KernelLoader`] load them, and gives [`Event`]s to whoever asks once a frame. [`Fuser`] makes one kernel of neighbours in the
//! same way.

mod build;
mod checks;
mod files;
mod fuser;
mod includes;
mod thread;
mod watch;

pub use build::{Built, Problem, build, describe};
pub use files::{Files, FilesError};
pub use fuser::{Fuse, Fuser, fuse};
pub use thread::{Event, Live, Target};
pub use watch::Watcher;

#[cfg(doc)]
use crate::process::KernelLoader;
