//! What each frame cost: its record and the table of columns.
//!
//! Nothing here talks to a GPU or decides anything about a frame. The renderer fills one [`FrameRecord`] a frame when
//! the frame's slot retires. Every number that leaves this module is defined once, in [`columns::COLUMNS`].

pub mod columns;
pub mod frames_csv;
pub mod record;

pub use frames_csv::Sheet;
pub use record::{FrameRecord, milliseconds};
