//! The window: winit's events become [`Action`]s and [`Input`], and both go to the [`Session`] that renders.

mod action;
mod keys;
mod pace;
mod pointer;
mod session;
mod window;

pub use action::Action;
pub use keys::{markdown_table, text_table};
pub use pointer::{HeldKeys, Input};
pub use session::{Flow, Session};
pub use window::{WindowOptions, run};
