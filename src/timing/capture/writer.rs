//! The loop of the thread that writes a capture's rows.

use std::io::{self, Write};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use crate::timing::frames_csv::Sheet;
use crate::timing::record::FrameRecord;

/// How long a row waits for others before it is written. A killed process may lose the last 100 ms; half of that
/// leaves room for a slow disk.
const GATHER: Duration = Duration::from_millis(50);

/// How the writing ended.
#[derive(Debug)]
pub(super) struct Outcome {
    /// Rows that were written whole.
    pub rows: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Why it ended early.
    pub error: Option<io::Error>,
}

/// Writes rows until every sender is gone or a write fails.
///
/// Only whole rows are handed to the sink, each block in one write, so a killed process leaves a table that reads.
pub(super) fn write_frames(receiver: &Receiver<FrameRecord>, mut sheet: Sheet, sink: &mut impl Write) -> Outcome {
    let mut outcome = Outcome {
        rows: 0,
        bytes: 0,
        error: None,
    };
    while let Ok(first) = receiver.recv() {
        if outcome.rows == 0 {
            sheet.origin = first.start;
        }
        let records = gather(receiver, first);
        let block = sheet.rows(&records);
        if let Err(error) = sink.write_all(&block).and_then(|()| sink.flush()) {
            outcome.error = Some(error);
            break;
        }
        outcome.rows += records.len() as u64;
        outcome.bytes += block.len() as u64;
    }
    outcome
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
