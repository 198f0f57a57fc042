//! Which kernel files there are: named ones, all of a folder, and the program's own where its checkout is there.

use std::fs;
use std::path::{Path, PathBuf};

use super::build::{Problem, effect_name};

/// Kernel files that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilesError {
    /// A path that names no kernel file, or no folder.
    #[error("{0}")]
    Path(#[from] Problem),
    /// Two files of one name, which would be one effect.
    #[error("{first} and {second} both make the effect {name:?}: rename one")]
    Twice {
        /// The effect.
        name: String,
        /// One file.
        first: String,
        /// The other.
        second: String,
    },
}

/// A kernel file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelFile {
    /// As messages call it.
    pub path: PathBuf,
    /// As the watcher calls it.
    pub key: PathBuf,
}

/// A folder that is watched.
#[derive(Debug, Clone)]
struct Folder {
    path: PathBuf,
    key: PathBuf,
    /// Every kernel file in it counts, not only named ones.
    is_whole: bool,
}

/// The kernel files to watch.
#[derive(Debug, Clone, Default)]
pub struct Files {
    named: Vec<KernelFile>,
    folders: Vec<Folder>,
}

impl Files {
    /// Of these files, and of these folders all that end in `.cu`.
    ///
    /// # Errors
    /// A path that is not there or is of another kind, or two files of one name.
    pub fn new(files: &[PathBuf], folders: &[PathBuf]) -> Result<Self, FilesError> {
        let mut all = Self::default();
        for path in files {
            effect_name(path)?;
            let is_file = fs::metadata(path).map_err(|error| Problem::new(path, error))?.is_file();
            let name = path.file_name().filter(|_| is_file);
            let name = name.ok_or_else(|| Problem::new(path, "expected a file of CUDA C++"))?;
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty())
                .unwrap_or(Path::new("."));
            let key = all.folder(folder, false)?.join(name);
            all.named.push(KernelFile {
                path: path.clone(),
                key,
            });
        }
        for folder in folders {
            all.folder(folder, true)?;
        }
        let found = all.all();
        for (index, file) in found.iter().enumerate() {
            let Some(other) = found[..index]
                .iter()
                .find(|other| other.path.file_stem() == file.path.file_stem())
            else {
                continue;
            };
            return Err(FilesError::Twice {
                name: effect_name(&file.path)?,
                first: other.path.display().to_string(),
                second: file.path.display().to_string(),
            });
        }
        Ok(all)
    }

    /// The program's own kernels, as they are in the checkout it was built in; none where that is gone.
    pub fn of_program() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
        let mut all = Self::default();
        if folder.is_dir() {
            let _ = all.folder(&folder, true);
        }
        all
    }

    /// Takes those of another list in.
    pub fn extend(&mut self, other: Self) {
        self.named.extend(other.named);
        self.folders.extend(other.folders);
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }

    /// The folders that are watched.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(|folder| folder.key.as_path())
    }

    /// All that are there now, by path; those of folders whose names make no effect are left out.
    pub fn all(&self) -> Vec<KernelFile> {
        let whole = self.folders.iter().filter(|folder| folder.is_whole);
        let entries = whole.flat_map(|folder| {
            let entries = fs::read_dir(&folder.key).into_iter().flatten().flatten();
            entries.map(|entry| entry.path())
        });
        let in_folders = entries.filter_map(|key| self.find(&key));
        let mut all: Vec<KernelFile> = self.named.iter().cloned().chain(in_folders).collect();
        all.sort_by(|one, other| one.path.cmp(&other.path));
        all.dedup_by(|one, other| one.key == other.key);
        all
    }

    /// The kernel file that the watcher calls so, if it is one of them.
    pub fn find(&self, key: &Path) -> Option<KernelFile> {
        if let Some(named) = self.named.iter().find(|named| named.key == key) {
            return Some(named.clone());
        }
        let folder = self
            .folders
            .iter()
            .find(|folder| folder.is_whole && key.parent() == Some(&folder.key))?;
        let path = folder.path.join(key.file_name()?);
        effect_name(&path).ok()?;
        Some(KernelFile {
            path,
            key: key.to_owned(),
        })
    }

    fn folder(&mut self, path: &Path, is_whole: bool) -> Result<PathBuf, Problem> {
        let key = fs::canonicalize(path).map_err(|error| Problem::new(path, error))?;
        if !key.is_dir() {
            return Err(Problem::new(path, "expected a folder of kernels"));
        }
        self.folders.push(Folder {
            path: path.to_owned(),
            key: key.clone(),
            is_whole,
        });
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_or_found_in_folders() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("more")).expect("made");
        for name in [
            "edge.cu",
            "other.cu",
            "more/glow.cu",
            "more/my-glow.cu",
            "more/shared.cuh",
            "more/.glow.cu.swp",
        ] {
            fs::write(at(name), "").expect("written");
        }
        let files = Files::new(&[at("edge.cu")], &[at("more")]).expect("they are there");
        let paths: Vec<PathBuf> = files.all().into_iter().map(|file| file.path).collect();
        assert_eq!(paths, [at("edge.cu"), at("more/glow.cu")]);
        let key = |name: &str| fs::canonicalize(folder.path()).expect("there").join(name);
        assert!(files.find(&key("edge.cu")).is_some() && files.find(&key("other.cu")).is_none());
        // One that is not there yet.
        assert_eq!(
            files.find(&key("more/new.cu")).map(|file| file.path),
            Some(at("more/new.cu"))
        );
        assert_eq!(files.folders().count(), 2);
    }

    #[test]
    fn paths_that_cannot_be_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for name in ["edge.cu", "my-edge.cu", "edge.txt", "1edge.cu"] {
            fs::write(at(name), "").expect("written");
        }
        fs::create_dir(at("more")).expect("made");
        fs::create_dir(at("folder.cu")).expect("made");
        fs::write(at("more/edge.cu"), "").expect("written");
        let message = |files: &[&str], folders: &[&str]| {
            let paths = |names: &[&str]| Vec::from_iter(names.iter().map(|name| at(name)));
            Files::new(&paths(files), &paths(folders))
                .expect_err("refused")
                .to_string()
        };
        assert!(message(&["none.cu"], &[]).contains("none.cu: No such file"));
        for name in ["my-edge.cu", "edge.txt", "1edge.cu"] {
            assert!(
                message(&[name], &[]).contains("letters, digits and _ that ends in .cu"),
                "{name}"
            );
        }
        assert!(message(&["folder.cu"], &[]).contains("expected a file of CUDA C++"));
        assert!(message(&[], &["none"]).contains("none: No such file"));
        assert!(message(&[], &["edge.cu"]).contains("expected a folder"));
        assert!(message(&["edge.cu"], &["more"]).contains("both make the effect \"edge\""));
    }
}
