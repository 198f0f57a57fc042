//! The loop of the thread that writes a capture's frames.

use std::io::{self, Write};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use super::{FRAMES_FILE, TRACE_FILE};
use crate::timing::frames_csv::Sheet;
use crate::timing::perfetto::TraceWriter;
use crate::timing::record::FrameRecord;

/// How long a frame waits for others before it is written. A killed process may lose the last 100 ms; half of that
/// leaves room for a slow disk.
const GATHER: Duration = Duration::from_millis(50);

/// Where a capture goes.
pub(super) struct Output<'a> {
    /// The table.
    pub table: &'a mut dyn Write,
    /// The trace.
    pub trace: &'a mut dyn Write,
}

/// What both files hold whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// Rows of the table, and frames of the trace.
    pub rows: u64,
    /// Length of the table.
    pub table_bytes: u64,
    /// Length of the trace.
    pub trace_bytes: u64,
}

/// How the writing ended.
#[derive(Debug)]
pub(super) struct Outcome {
    /// What was written.
    pub done: Progress,
    /// Why it ended early.
    pub failure: Option<Failure>,
}

/// A file that could not be written.
#[derive(Debug)]
pub(super) struct Failure {
    /// Its name.
    pub file: &'static str,
    /// The system's words.
    pub source: io::Error,
}

/// Writes frames until every sender is gone or a write fails. `done` is what the files hold already.
///
/// Only whole rows and packets are handed on, each block in one write, so a killed process leaves files that read.
pub(super) fn write_frames(
    receiver: &Receiver<FrameRecord>,
    mut sheet: Sheet,
    mut trace: TraceWriter,
    mut done: Progress,
    mut output: Output<'_>,
) -> Outcome {
    while let Ok(first) = receiver.recv() {
        if done.rows == 0 {
            sheet.origin = first.start;
        }
        let records = gather(receiver, first);
        let rows = sheet.rows(&records);
        let packets: Vec<u8> = records.iter().flat_map(|record| trace.frame(record)).collect();
        if let Err(failure) = output.write(&rows, &packets) {
            return Outcome {
                done,
                failure: Some(failure),
            };
        }
        done.rows += records.len() as u64;
        done.table_bytes += rows.len() as u64;
        done.trace_bytes += packets.len() as u64;
    }
    let failure = output.write(&[], &trace.finish()).err();
    Outcome { done, failure }
}

impl Output<'_> {
    fn write(&mut self, rows: &[u8], packets: &[u8]) -> Result<(), Failure> {
        let failed = |file| move |source| Failure { file, source };
        write_whole(self.table, rows).map_err(failed(FRAMES_FILE))?;
        write_whole(self.trace, packets).map_err(failed(TRACE_FILE))
    }
}

fn write_whole(sink: &mut dyn Write, block: &[u8]) -> io::Result<()> {
    sink.write_all(block)?;
    sink.flush()
}

/// The first record and all that come within [`GATHER`] of it.
fn gather(receiver: &Receiver<FrameRecord>, first: FrameRecord) -> Vec<FrameRecord> {
    let mut records = vec![first];
    let due = Instant::now() + GATHER;
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return records;
        }
        match receiver.recv_timeout(left) {
            Ok(record) => records.push(record),
            Err(_) => return records,
        }
    }
}
