//! What each frame cost: its record, the table of columns, statistics, captures and the run's history.
//!
//! Nothing here talks to a GPU or decides anything about a frame. The renderer fills one [`FrameRecord`] a frame when
//! the frame's slot retires, and hands it to the [`History`] (for the table printed at exit) and to the [`Capture`]
//! that is open, if there is one. Every number that leaves this module is defined once, in [`columns::COLUMNS`].

pub mod capture;
pub mod clock;
pub mod columns;
pub mod frames_csv;
pub mod histogram;
pub mod history;
pub mod instrument;
pub mod perfetto;
pub mod record;
pub mod spans;
pub mod statistics;
pub mod stutter;
pub mod table;
pub mod tool_range;

pub use capture::{Capture, CaptureError, Written};
pub use clock::{ClockProof, ClockRelation, ProvenBy};
pub use frames_csv::Sheet;
pub use history::History;
pub use instrument::Instrument;
pub use perfetto::{TraceInfo, TraceWriter, TracedEffect};
pub use record::{FrameRecord, FusedTime, milliseconds};
pub use spans::{FrameSpans, GpuWork, HostWork, Interval, KernelSpan};
pub use tool_range::{ToolRange, mark_frame};
