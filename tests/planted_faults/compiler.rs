//! Compiles planted copies against the library and the crates that the examples were just built with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::fault::root;

/// `rustc`, with what an example may name.
pub struct Compiler {
    /// Paths of crates by their names.
    crates: BTreeMap<String, PathBuf>,
    /// Where all crates lie.
    folder: PathBuf,
}

impl Compiler {
    /// Asks cargo, which has built the examples for this very test, where it put the crates.
    pub fn new() -> Self {
        let test = std::env::current_exe().unwrap();
        let folder = test.parent().unwrap().to_owned();
        let profile = match folder.parent().and_then(Path::file_name).unwrap().to_str() {
            Some("debug") => "dev",
            name => name.unwrap(),
        };
        // What other platforms need was not downloaded.
        let version = Command::new("rustc").arg("-vV").output().unwrap();
        let version = String::from_utf8(version.stdout).unwrap();
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
        let of_host = ["--locked", "--offline", "--format-version=1", "--filter-platform", host];
        let metadata = cargo(&[&["metadata"][..], &of_host].concat());
        let metadata: Value = serde_json::from_slice(&metadata).unwrap();
        let resolve = &metadata["resolve"];
        let nodes = resolve["nodes"].as_array().unwrap();
        let library = nodes.iter().find(|node| node["id"] == resolve["root"]).unwrap();
        let names = library["deps"].as_array().unwrap().iter();
        let mut names: BTreeMap<_, _> = names.map(|dep| (text(&dep["pkg"]), text(&dep["name"]))).collect();
        names.insert(text(&resolve["root"]), "handover");

        let target = folder.ancestors().nth(2).unwrap().to_str().unwrap();
        let build = ["build", "--locked", "--offline", "--examples", "--message-format=json"];
        let built = cargo(&[&build[..], &["--profile", profile, "--target-dir", target]].concat());
        let messages: Vec<Value> = serde_json::Deserializer::from_slice(&built)
            .into_iter()
            .map(Result::unwrap)
            .collect();
        let mut crates = BTreeMap::new();
        for message in messages.iter().filter(|message| message["target"]["kind"][0] == "lib") {
            if let Some(name) = message["package_id"].as_str().and_then(|id| names.get(id)) {
                let files = message["filenames"].as_array().unwrap().iter().map(text);
                let file = files.into_iter().find(|file| file.ends_with(".rlib")).unwrap();
                crates.insert((*name).to_owned(), PathBuf::from(file));
            }
        }
        Self { crates, folder }
    }

    /// Checks a program without making one; what the compiler said.
    pub fn check(&self, source: &Path) -> Output {
        let mut rustc = Command::new("rustc");
        rustc
            .args([
                "--edition=2024",
                "--crate-type=bin",
                "--emit=metadata",
                "--cap-lints=allow",
                "-o",
            ])
            .arg(source.with_extension("rmeta"))
            .arg("-L")
            .arg(format!("dependency={}", self.folder.display()))
            .arg(source);
        for (name, path) in &self.crates {
            rustc.arg("--extern").arg(format!("{name}={}", path.display()));
        }
        rustc.output().unwrap()
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn cargo(arguments: &[&str]) -> Vec<u8> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments:?}: {errors}");
    output.stdout
}
