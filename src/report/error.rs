//! What can be wrong with a capture that is read, or with the page to be written, and what to do about it.

use std::io;
use std::path::PathBuf;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// There is no such path.
    #[error("{} does not exist: name the folder of a capture, or its frames.csv", path.display())]
    Missing {
        /// What was named.
        path: PathBuf,
    },
    /// A folder without a table.
    #[error("{} is not a capture: it has no frames.csv; {}", path.display(), found_there(captures))]
    NotACapture {
        /// The folder.
        path: PathBuf,
        /// Captures in it.
        captures: Vec<PathBuf>,
    },
    /// The table cannot be read.
    #[error("cannot read {} ({source}): make it readable, or name another capture", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// There is not even a whole header.
    #[error(
        "{} ends within its first line, after {bytes} bytes: the capture was cut off before its first frame; \
         make it again", path.display()
    )]
    NoHeader {
        /// The table.
        path: PathBuf,
        /// Its size.
        bytes: usize,
    },
    /// The first line is not text.
    #[error("{} is not a CSV of Handover: {reason}; name a capture's folder or its frames.csv", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// How that was seen.
        reason: String,
    },
    /// The table lacks columns, but has those that only Handover writes.
    #[error(
        "{} is from another version of Handover: it lacks the columns {}; report on it with the version that wrote it, \
         or make the capture again with this one ({})", path.display(), columns.join(", "), env!("CARGO_PKG_VERSION")
    )]
    OtherVersion {
        /// The table.
        path: PathBuf,
        /// What it lacks.
        columns: Vec<String>,
    },
    /// A column is there twice.
    #[error("{} has the column {column} twice: no reader can tell them apart", path.display())]
    ColumnTwice {
        /// The table.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// The table has no frames.
    #[error("{} holds no frames: the run ended before its first; make the capture again", path.display())]
    NoFrames {
        /// The table.
        path: PathBuf,
    },
    /// A line does not have one value for each column.
    #[error("{}:{line}: {found} values for {expected} columns: the file was changed or damaged", path.display())]
    LineLength {
        /// The table.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// Values in it.
        found: usize,
        /// Columns of the header.
        expected: usize,
    },
    /// A value is not what its column holds.
    #[error("{}:{line}: {column}: {value:?} is not {expected}", path.display())]
    Value {
        /// The table.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The column.
        column: String,
        /// What is there.
        value: String,
        /// What may be there.
        expected: &'static str,
    },
    /// More captures than the page has colours for.
    #[error("{count} captures are too many for one page: it tells up to {most} apart; name fewer, or leave out --html")]
    TooMany {
        /// Captures.
        count: usize,
        /// Colours.
        most: usize,
    },
    /// The page cannot be written where it should be.
    #[error("cannot write {}: {reason}", path.display())]
    NotWritten {
        /// The page.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
}

/// What to name instead of a folder that is no capture.
fn found_there(captures: &[PathBuf]) -> String {
    match captures {
        [] => "name a folder that `handover --capture` or F2 made".to_owned(),
        captures => {
            let names: Vec<_> = captures.iter().map(|path| path.display().to_string()).collect();
            format!("captures in it: {}", names.join(", "))
        }
    }
}
