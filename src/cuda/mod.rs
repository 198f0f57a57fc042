//! CUDA's driver API, loaded at run time through cudarc. Nothing here knows what a frame or a kernel chain is.
//!
//! cudarc panics when libcuda or one of its symbols is missing. [`Driver::load`] checks both before any other call, and
//! everything else in this folder takes a [`Driver`] or something made from one.
//!
//! Rules that the SAFETY comments of this folder rely on:
//!
//! * **C1** Everything keeps an `Arc` of the context it was made in. What creates and what destroys binds that context to
//!   the calling thread; what enqueues is called on a thread that has bound it.
//! * **C2** An object is destroyed only when the stream that used it has finished with it.
//! * **C3** Descriptors and arguments live on the caller's stack until the call returns; CUDA keeps none of them.
//! * **C4** [`Driver::load`] found libcuda and every symbol in `SYMBOLS`.
//!
//! And for NVRTC, which is another library:
//!
//! * **N1** Loading it runs its initializers, which is what we want of it.
//! * **N2** A function is looked up with the type that `nvrtc.h` gives it.
//! * **N3** Arguments live until the call returns; a program is destroyed once, after its last use.

mod arithmetic;
mod array;
mod bandwidth;
mod buffer;
mod compile;
mod diagnostic;
mod driver;
mod error;
mod event;
mod fft;
mod graph;
mod launch;
mod link;
mod memory_info;
mod module;
mod nvrtc;
mod peer;
mod pinned;
mod stamp;
mod views;

pub use arithmetic::{ArithmeticRates, arithmetic_rates};
pub use array::{ArrayFormat, CudaImage};
pub use bandwidth::{copy_bandwidth, copy_us};
pub use buffer::CudaBuffer;
pub use compile::{Binary, CompileError, Compiled, Source, compile, compile_for};
pub use diagnostic::{Diagnostic, Severity};
pub use driver::{CudaDevice, Driver, Unavailable, load_lazily};
pub use error::{Error, ResultExt};
pub use event::Event;
pub use fft::{Fft, FftError, find_cufft};
pub use graph::{Capture, Graph, GraphNode, KernelNode};
pub use launch::{is_idle, launch};
pub use link::link;
pub use memory_info::memory_taken;
pub use module::{Function, Module};
pub use nvrtc::Nvrtc;
pub use peer::copy_to_peer;
pub use pinned::PinnedBuffer;
pub use stamp::Stamps;
pub use views::ImageViews;

pub use cudarc::driver::{CudaContext, CudaStream};
