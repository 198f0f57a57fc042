//! The table of faults, and their planting.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A row of `faults.toml`, which says what its columns are.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    pub name: String,
    pub example: String,
    pub wrong: String,
    pub file: Option<PathBuf>,
    pub find: String,
    pub replace: String,
    pub caught_by: CaughtBy,
    pub expect: String,
}

/// What must catch a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum CaughtBy {
    #[serde(rename = "compiler")]
    Compiler,
    #[serde(rename = "FAIL")]
    Example,
    #[serde(rename = "validation")]
    Validation,
}

impl CaughtBy {
    /// As in the table.
    pub fn text(self) -> &'static str {
        match self {
            Self::Compiler => "compiler",
            Self::Example => "FAIL",
            Self::Validation => "validation",
        }
    }
}

/// The checkout.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All rows.
pub fn faults() -> Vec<Fault> {
    #[derive(Deserialize)]
    struct Table {
        fault: Vec<Fault>,
    }
    toml::from_str::<Table>(include_str!("faults.toml")).unwrap().fault
}

/// Names of all examples.
pub fn examples() -> BTreeSet<String> {
    let files = fs::read_dir(root().join("examples")).unwrap();
    files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect()
}

impl Fault {
    /// The file it is planted in.
    pub fn path(&self) -> PathBuf {
        let examples = || Path::new("examples").join(&self.example).with_extension("rs");
        self.file.clone().unwrap_or_else(examples)
    }

    /// The file's text with the fault in it.
    pub fn planted(&self) -> String {
        let text = fs::read_to_string(root().join(self.path())).unwrap();
        let places = text.matches(&self.find).count();
        assert_eq!(places, 1, "{}: {:?} in {:?}", self.name, self.find, self.path());
        assert_ne!(self.find, self.replace, "{}: nothing is planted", self.name);
        text.replace(&self.find, &self.replace)
    }
}
