//! A file that is written whole or not at all, and in the place of no other.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::report::error::ReportError;
use crate::whole_file::{folder_of, unfinished};

/// A file to be made: opened under another name in the same folder before the work begins, and renamed when it is
/// whole.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    unfinished: NamedTempFile,
}

impl NewFile {
    /// Makes sure that the file can be written, and is not there yet.
    ///
    /// # Errors
    ///
    /// Why it cannot. Nothing is left behind then.
    pub fn create(path: &Path) -> Result<NewFile, ReportError> {
        let refused = |reason: String| ReportError::NotWritten {
            path: path.to_owned(),
            reason,
        };
        if path.file_name().is_none() || path.is_dir() {
            return Err(refused("it is a folder; name a file".to_owned()));
        }
        if fs::symlink_metadata(path).is_ok() {
            return Err(refused(EXISTS.to_owned()));
        }
        let folder = folder_of(path);
        let unfinished = unfinished(folder).map_err(|error| refused(why(folder, &error)))?;
        Ok(NewFile {
            path: path.to_owned(),
            unfinished,
        })
    }

    /// Writes the text and gives the file its name.
    ///
    /// # Errors
    ///
    /// The disk is full, or another program made a file of this name meanwhile. Nothing is left behind then.
    pub fn write(mut self, text: &str) -> Result<PathBuf, ReportError> {
        let refused = |reason: String| ReportError::NotWritten {
            path: self.path.clone(),
            reason,
        };
        let written = self.unfinished.write_all(text.as_bytes());
        written
            .and_then(|()| self.unfinished.as_file().sync_all())
            .map_err(|error| refused(format!("{error}; make room or choose another place")))?;
        match self.unfinished.persist_noclobber(&self.path) {
            Ok(_) => Ok(self.path),
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Err(refused(EXISTS.to_owned())),
            Err(error) => Err(refused(error.error.to_string())),
        }
    }
}

const EXISTS: &str = "it exists, and handover never overwrites; choose a new name or remove it";

fn why(folder: &Path, error: &io::Error) -> String {
    let folder = folder.display();
    match error.kind() {
        ErrorKind::NotFound => format!("its folder {folder} does not exist; create it, or choose one that exists"),
        ErrorKind::NotADirectory => format!("{folder} is not a folder; choose another place"),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            format!("{folder} cannot be written to; choose a folder you may write to")
        }
        _ => format!("{error}; choose another place"),
    }
}
