//! Files that are written whole or not at all: under another name in the same folder first, which is then renamed.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

/// The folder that a path names a file of.
pub(crate) fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// A file without its name yet, which is gone when it is dropped.
///
/// # Errors
/// The folder is not there or cannot be written to.
pub(crate) fn unfinished(folder: &Path) -> io::Result<NamedTempFile> {
    Builder::new()
        .prefix(".unfinished-")
        // As of any new file: less what the umask takes away.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
}

/// Writes a file in the place of the one of that name, if there is one, which stays as it is when something fails.
///
/// # Errors
/// What `write` says, or the file system.
pub(crate) fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut file = unfinished(folder_of(path))?;
    write(file.as_file_mut())?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_that_fails_half_way_leaves_the_one_before_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("facts.json");
        replace(&path, |file| file.write_all(b"first")).unwrap();
        let failed = replace(&path, |file| {
            file.write_all(b"half of the sec")?;
            Err(io::Error::other("no space"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "no space");
        assert_eq!(fs::read(&path).unwrap(), b"first");
        replace(&path, |file| file.write_all(b"second")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(replace(&folder.path().join("none/facts.json"), |_| Ok(())).is_err());
    }
}
