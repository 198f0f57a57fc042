//! What can be wrong with a capture, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// Why a capture could not be made or written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The folder exists.
    #[error("capture folder {} exists, and captures never overwrite: choose a new folder or remove this one", path.display())]
    FolderExists {
        /// The folder.
        path: PathBuf,
    },
    /// Something that is not a folder has the name.
    #[error("{} is in the way of the capture folder and is not a folder: choose another name", path.display())]
    FileInTheWay {
        /// What is there.
        path: PathBuf,
    },
    /// The folder to make it in does not exist.
    #[error("cannot make capture folder {}: {} does not exist; create it, or choose a folder that exists", path.display(), parent.display())]
    ParentMissing {
        /// The folder to make.
        path: PathBuf,
        /// The one it would be in.
        parent: PathBuf,
    },
    /// What it would be made in is not a folder.
    #[error("cannot make capture folder {}: a part of {} is not a folder; choose another place", path.display(), parent.display())]
    ParentNotFolder {
        /// The folder to make.
        path: PathBuf,
        /// What it would be in.
        parent: PathBuf,
    },
    /// The folder to make it in cannot be written to.
    #[error("cannot make capture folder {}: {} cannot be written to ({source}); choose a folder you may write to", path.display(), parent.display())]
    ParentNotWritable {
        /// The folder to make.
        path: PathBuf,
        /// The one it would be in.
        parent: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// The folder cannot be made for another reason.
    #[error("cannot make capture folder {} ({source}): choose another place", path.display())]
    Folder {
        /// The folder to make.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// An effect's column has the name of another column.
    #[error("the column {column} of effect {effect} would be there twice: give the effect's file another name")]
    ColumnTaken {
        /// The effect.
        effect: String,
        /// Its column.
        column: String,
    },
    /// The table or the trace cannot be written.
    #[error("cannot write {} after {rows} frames ({source}): make room or choose another place", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Frames that were written before, and can be read.
        rows: u64,
        /// The system's words.
        source: io::Error,
    },
}

impl CaptureError {
    /// What a failed `create_dir` means.
    pub(super) fn of_folder(dir: &Path, source: io::Error) -> CaptureError {
        let path = dir.to_owned();
        let parent = parent_of(dir).to_owned();
        match source.kind() {
            io::ErrorKind::AlreadyExists if dir.is_dir() => CaptureError::FolderExists { path },
            io::ErrorKind::AlreadyExists => CaptureError::FileInTheWay { path },
            io::ErrorKind::NotFound if !parent.exists() => CaptureError::ParentMissing { path, parent },
            io::ErrorKind::NotADirectory => CaptureError::ParentNotFolder { path, parent },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                CaptureError::ParentNotWritable { path, parent, source }
            }
            _ => CaptureError::Folder { path, source },
        }
    }
}

/// The folder that a path is in: the current one for a bare name.
pub(super) fn parent_of(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}
