//! A capture as it was read.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::report::error::ReportError;
use crate::report::facts;
use crate::report::rows;
use crate::timing::capture::FRAMES_FILE;

/// A capture, read from its folder.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The table.
    pub path: PathBuf,
    /// What it is called: its folder.
    pub name: String,
    /// Program that made it, as the table says.
    pub application: String,
    /// What presented its frames.
    pub present_runtime: String,
    /// When each frame began, milliseconds since the first.
    pub start_ms: Vec<f64>,
    /// The frame time first, then the stages in the order of the table printed at the end of a run.
    pub stages: Vec<StageTimes>,
    /// What `capture.json` says, key and value; empty without one.
    pub facts: Vec<(String, String)>,
    /// What a reader has to know, such as lines that were left out.
    pub notes: Vec<String>,
}

/// The times of one stage.
#[derive(Debug, Clone)]
pub struct StageTimes {
    /// Its column.
    pub column: String,
    /// Its name in words.
    pub title: String,
    /// Whether it is one effect's part of the kernel chain.
    pub is_effect: bool,
    /// Milliseconds, one a frame; NaN where it was not measured.
    pub times_ms: Vec<f64>,
}

impl StageTimes {
    /// The times that were measured, in the order of their frames.
    pub fn measured_ms(&self) -> Vec<f64> {
        self.times_ms.iter().copied().filter(|time| time.is_finite()).collect()
    }
}

impl Recording {
    /// Reads a capture: its folder, or its `frames.csv` whatever the file is called. Columns of the names in `effects`
    /// are shown as parts of the kernel chain; other columns in `_ms` that are not known become further stages.
    ///
    /// # Errors
    ///
    /// All that can be wrong with a capture, each with the place and what to do.
    pub fn open(path: &Path, effects: &[&str]) -> Result<Recording, ReportError> {
        let table = table_of(path)?;
        let unreadable = |source| ReportError::Unreadable {
            path: table.clone(),
            source,
        };
        let bytes = fs::read(&table).map_err(unreadable)?;
        let mut recording = rows::read(&table, &bytes, effects)?;
        recording.name = name_of(path);
        match facts::read(&table.with_file_name(facts::FACTS_FILE)) {
            Ok(facts) => recording.facts = facts,
            Err(note) => recording.notes.push(note),
        }
        Ok(recording)
    }

    /// How many frames there are.
    pub fn frames(&self) -> usize {
        self.start_ms.len()
    }

    /// The stage of a column, if the capture has it.
    pub fn stage(&self, column: &str) -> Option<&StageTimes> {
        self.stages.iter().find(|stage| stage.column == column)
    }
}

/// The table that a path stands for.
fn table_of(path: &Path) -> Result<PathBuf, ReportError> {
    let metadata = fs::metadata(path).map_err(|source| match source.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => ReportError::Missing { path: path.to_owned() },
        _ => ReportError::Unreadable {
            path: path.to_owned(),
            source,
        },
    })?;
    if !metadata.is_dir() {
        return Ok(path.to_owned());
    }
    let table = path.join(FRAMES_FILE);
    if table.exists() {
        return Ok(table);
    }
    let entries = fs::read_dir(path).map_err(|source| ReportError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let folders = entries.flatten().map(|entry| entry.path());
    let mut captures: Vec<_> = folders.filter(|folder| folder.join(FRAMES_FILE).is_file()).collect();
    captures.sort();
    Err(ReportError::NotACapture {
        path: path.to_owned(),
        captures,
    })
}

/// The folder's path as it was named; for a table that is not called `frames.csv`, the table's.
fn name_of(path: &Path) -> String {
    let is_table = path.file_name().is_some_and(|name| name == FRAMES_FILE) && path.is_file();
    let folder = path
        .parent()
        .filter(|folder| is_table && !folder.as_os_str().is_empty());
    folder.unwrap_or(path).display().to_string()
}
