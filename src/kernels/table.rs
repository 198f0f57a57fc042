//! Tables that effects read from a file: buffers whose content the chain gives.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::cube;

/// What kind of file a table is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TableFormat {
    /// A colour table: Adobe's Cube LUT Specification 1.0 (`.cube`).
    Cube,
}

/// The content of a table, as kernels find it: texels of four floats.
///
/// A [`TableFormat::Cube`] begins with three texels: size and dimensions (3, or 1), the domain's minimum, its maximum. Then the
/// entries, size to the power of dimensions, in the file's order: red changes fastest.
pub struct Table {
    texels: Vec<[f32; 4]>,
    path: Option<PathBuf>,
    id: u64,
}

/// A file that holds no such table. The message names the file, the line, and what is expected there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {message}", .path.display(), .line.map_or_else(String::new, |line| format!(":{line}")))]
pub struct TableError {
    /// The file.
    pub path: PathBuf,
    /// Counted from 1; none if the file could not be read at all.
    pub line: Option<usize>,
    /// What is wrong, and what is expected.
    pub message: String,
}

impl Table {
    /// A table of these texels, laid out as its format says.
    pub fn new(texels: Vec<[f32; 4]>, path: Option<&Path>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            texels,
            path: path.map(Path::to_path_buf),
            id: NEXT.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or what is in it is no table of that format.
    pub fn read(format: TableFormat, path: &Path) -> Result<Self, TableError> {
        match format {
            TableFormat::Cube => cube::read(path),
        }
    }

    /// What an effect's table holds as long as no file was given.
    pub fn of_program(format: TableFormat) -> &'static Arc<Self> {
        static CUBE: OnceLock<Arc<Table>> = OnceLock::new();
        match format {
            TableFormat::Cube => CUBE.get_or_init(|| {
                let text = include_str!("../../assets/luts/warm_film.cube");
                let parsed = cube::parse(&mut text.as_bytes(), Path::new("warm_film.cube"));
                let (texels, _) = parsed.expect("the embedded table is tested");
                Arc::new(Self::new(texels, None))
            }),
        }
    }

    /// Its content, aligned to 4 bytes.
    pub fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.texels)
    }

    /// The file it was read from; none for the program's own.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// No other table has it.
    pub fn id(&self) -> u64 {
        self.id
    }
}

impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, texels) = (&self.path, self.texels.len());
        write!(formatter, "Table {{ path: {path:?}, texels: {texels} }}")
    }
}
