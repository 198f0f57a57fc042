//! A capture: a new folder whose `frames.csv` and `trace.pftrace` are written beside the frames, off their thread.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use crate::timing::columns::{COLUMNS, effect_column};
use crate::timing::frames_csv::Sheet;
use crate::timing::perfetto::{TraceInfo, TraceWriter};
use crate::timing::record::FrameRecord;

mod error;
mod writer;

pub use error::CaptureError;
use writer::{Failure, Outcome, Output, Progress, write_frames};

/// Name of the table in a capture's folder.
pub const FRAMES_FILE: &str = "frames.csv";
/// Name of the trace in a capture's folder.
pub const TRACE_FILE: &str = "trace.pftrace";

/// A capture being written.
///
/// Dropping it without [`finish`](Self::finish) still writes all frames; an error is then only logged.
#[derive(Debug)]
pub struct Capture {
    folder: PathBuf,
    /// Closing it ends the writer.
    sender: Option<Sender<FrameRecord>>,
    writer: Option<JoinHandle<Outcome>>,
}

/// What a finished capture holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The table's path.
    pub path: PathBuf,
    /// Its rows, one a frame, without the header.
    pub rows: u64,
    /// The trace's path.
    pub trace: PathBuf,
}

impl Capture {
    /// Makes the folder `dir`, which must not exist yet, and writes what its `frames.csv` and `trace.pftrace` begin with.
    ///
    /// # Errors
    ///
    /// All that can be wrong with the path, each with what to do. Nothing is left behind then.
    pub fn create(dir: &Path, sheet: Sheet, trace: &TraceInfo) -> Result<Capture, CaptureError> {
        check_names(&sheet)?;
        fs::create_dir(dir).map_err(|error| CaptureError::of_folder(dir, error))?;
        Self::start(dir, sheet, trace).inspect_err(|_| {
            // Best effort: the error that is being returned says more than one about cleaning up.
            let _ = fs::remove_file(dir.join(FRAMES_FILE));
            let _ = fs::remove_file(dir.join(TRACE_FILE));
            let _ = fs::remove_dir(dir);
        })
    }

    fn start(dir: &Path, sheet: Sheet, trace: &TraceInfo) -> Result<Capture, CaptureError> {
        let header = sheet.header();
        let mut table = create_with(&dir.join(FRAMES_FILE), &header)?;
        let (trace_writer, trace_header) = TraceWriter::new(trace);
        let mut trace = create_with(&dir.join(TRACE_FILE), &trace_header)?;
        let begun = Progress {
            rows: 0,
            table_bytes: header.len() as u64,
            trace_bytes: trace_header.len() as u64,
        };
        let (sender, receiver) = mpsc::channel();
        let writer = thread::Builder::new()
            .name("capture".to_owned())
            .spawn(move || {
                let output = Output {
                    table: &mut table,
                    trace: &mut trace,
                };
                let outcome = write_frames(&receiver, sheet, trace_writer, begun, output);
                end_at_whole_frames(&table, &trace, &outcome);
                outcome
            })
            .map_err(|source| CaptureError::Write {
                path: dir.to_owned(),
                rows: 0,
                source,
            })?;
        Ok(Capture {
            folder: dir.to_owned(),
            sender: Some(sender),
            writer: Some(writer),
        })
    }

    /// The folder, for what else belongs to the capture.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the table is written.
    pub fn path(&self) -> PathBuf {
        self.folder.join(FRAMES_FILE)
    }

    /// Hands a frame to the writer: a copy and a queue without bound, so it never waits for the disk.
    ///
    /// After a failed write frames are dropped; [`finish`](Self::finish) tells.
    pub fn push(&self, record: &FrameRecord) {
        if let Some(sender) = &self.sender {
            // An error says that the writer has stopped. It keeps the reason, which is reported once, by `finish`.
            let _ = sender.send(record.clone());
        }
    }

    /// Writes what is left and closes both files.
    ///
    /// # Errors
    ///
    /// [`CaptureError::Write`] if one could not be written; both end after the last whole block of frames before, and can
    /// be read.
    pub fn finish(mut self) -> Result<Written, CaptureError> {
        self.close()
    }

    fn close(&mut self) -> Result<Written, CaptureError> {
        drop(self.sender.take());
        let joined = self.writer.take().map(JoinHandle::join);
        let outcome = joined.and_then(Result::ok).unwrap_or_else(|| Outcome {
            done: Progress::default(),
            failure: Some(Failure {
                file: FRAMES_FILE,
                source: io::Error::other("the thread that writes the capture panicked"),
            }),
        });
        let rows = outcome.done.rows;
        match outcome.failure {
            None => Ok(Written {
                path: self.path(),
                rows,
                trace: self.folder.join(TRACE_FILE),
            }),
            Some(Failure { file, source }) => Err(CaptureError::Write {
                path: self.folder.join(file),
                rows,
                source,
            }),
        }
    }

    /// The folder for the next capture of a series: `BASE-0001`, `BASE-0002` and so on, one after the highest there is.
    ///
    /// Nothing is made: [`create`](Self::create) refuses should someone else be faster.
    pub fn next_free(base: &Path) -> PathBuf {
        // A base such as `..` has no name of its own; the series is then put into it.
        let name = base.file_name().map_or("capture".into(), |name| name.to_string_lossy());
        let numbered = |number: u32| base.with_file_name(format!("{name}-{number:04}"));
        // A folder that cannot be listed has no captures we know of; `create` says what is wrong with it.
        let entries = fs::read_dir(error::parent_of(&numbered(1)))
            .into_iter()
            .flatten()
            .flatten();
        let highest = entries
            .filter_map(|entry| number_of(&entry.file_name().to_string_lossy(), &name))
            .max();
        numbered(highest.unwrap_or(0) + 1)
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        if self.writer.is_some()
            && let Err(error) = self.close()
        {
            tracing::error!("{error}");
        }
    }
}

/// The number of an entry of the series `name`, if it is one.
fn number_of(entry: &str, name: &str) -> Option<u32> {
    let digits = entry.strip_prefix(name)?.strip_prefix('-')?;
    let only_digits = digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    only_digits
        .then(|| digits.parse().ok())
        .flatten()
        .filter(|number| *number < u32::MAX)
}

/// Refuses two columns of one name: no reader could tell them apart.
fn check_names(sheet: &Sheet) -> Result<(), CaptureError> {
    for (index, effect) in sheet.effects.iter().enumerate() {
        let column = effect_column(effect);
        let taken = COLUMNS.iter().any(|fixed| fixed.name == column) || sheet.effects[..index].contains(effect);
        if taken {
            return Err(CaptureError::ColumnTaken {
                effect: effect.clone(),
                column,
            });
        }
    }
    Ok(())
}

/// A new file with what it begins with.
fn create_with(path: &Path, header: &[u8]) -> Result<File, CaptureError> {
    let mut options = OpenOptions::new();
    let created = options.write(true).create_new(true).open(path);
    created
        .and_then(|mut file| file.write_all(header).map(|()| file))
        .map_err(|source| CaptureError::Write {
            path: path.to_owned(),
            rows: 0,
            source,
        })
}

/// Cuts off what a full disk broke, so that what is there can be read, and both files hold the same frames.
fn end_at_whole_frames(table: &File, trace: &File, outcome: &Outcome) {
    if outcome.failure.is_some() {
        // The first error is the one to report; without the cut a file has one broken row or packet at its end.
        let _ = table.set_len(outcome.done.table_bytes);
        let _ = trace.set_len(outcome.done.trace_bytes);
    }
}

#[cfg(test)]
mod tests;
