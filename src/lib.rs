//! Handover: one frame, handed back and forth between Vulkan and CUDA on the same GPU.
//!
//! ```text
//! host     reuse slot ─ acquire ─ submit scene N ─ enqueue chain N ─ submit present N ─ present
//!               ▲                        │                │                  │
//!            retired                     ▼                ▼                  ▼
//! Vulkan        ╎     ………………………………… scene N ──┐                      ┌── present N ──┐
//!               ╎                             │ rendered = N          │ processed = N │ retired = N
//! CUDA          ╎                             └── kernel, kernel, … ──┘               │
//!               └╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌┘
//! ```
//!
//! Several frames are under way at a time, each in a *slot* with images of its own. Timeline semaphores order their parts;
//! every value of every timeline is a frame number. The host waits for nothing but a slot's previous frame.
//!
//! Where to look:
//!
//! | for | see |
//! |---|---|
//! | the frame, top to bottom | [`Renderer::render_frame`](renderer::Renderer::render_frame) |
//! | frame numbers and timelines | [`frame`] |
//! | sharing images and timelines with CUDA; which Vulkan device is which CUDA device | [`interop`] |
//! | opening a GPU in both APIs for an example, and what its proof needs | [`proof`] |
//! | who runs the kernels: CUDA or the host | [`process`] |
//! | what the kernels are, in which order they run, and each on the CPU | [`kernels`] |
//! | what is drawn | [`scene`] |
//! | where frames go | [`present`] |
//! | what is drawn over them | [`overlay`] |
//! | what each frame cost | [`timing`] |
//! | reports on captures | [`report`] |
//! | the rounds of a bench, and what of two differs | [`mod@bench`] |
//! | the window and its keys | [`app`] |
//! | the command line | [`cli`] |
//! | the two APIs, wrapped thinly | [`vulkan`], [`cuda`] |
//!
//! Arrows point down: cli → app → renderer → {scene, process, present, timing} → interop → {cuda, vulkan}; cli →
//! report → timing, and cli → bench → renderer.

// The examples name this crate, and are a part of its self-test.
extern crate self as handover;

// What the public interface has in it, and the examples with it: a program needs no other dependency.
#[doc(no_inline)]
pub use {anyhow, bytemuck};

pub mod app;
pub mod bench;
pub mod cli;
pub mod cuda;
pub mod frame;
pub mod interop;
pub mod kernels;
pub mod live;
pub mod overlay;
pub mod present;
pub mod process;
pub mod proof;
pub mod renderer;
pub mod report;
pub mod scene;
pub mod shaders;
pub mod timing;
pub mod vulkan;
mod whole_file;
