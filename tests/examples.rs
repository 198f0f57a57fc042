//! Every example runs: to PASS where there is CUDA, to SKIP with a reason where there is none.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

use std::path::{Path, PathBuf};
use std::process::Command;

use handover::cuda::Driver;

/// Examples that need more than one GPU with CUDA.
const SEVERAL_GPUS: [&str; 1] = ["several_gpus"];

/// Where cargo puts examples: beside the folder of the tests.
fn folder() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("examples")
}

#[test]
fn every_example_ends_as_this_machine_lets_it() {
    let has_cuda = Driver::load().is_ok();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut names: Vec<_> = std::fs::read_dir(sources)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert!(!names.is_empty());
    for name in names {
        let output = Command::new(folder().join(&name))
            .output()
            .unwrap_or_else(|error| panic!("{name}: {error}: `cargo build --examples` makes it"));
        let (stdout, stderr) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        let may_skip = !has_cuda || SEVERAL_GPUS.contains(&name.as_str());
        let last = stdout.lines().last().unwrap_or_default();
        match output.status.code() {
            Some(0) => assert!(last.starts_with(&format!("PASS {name}: ")), "{name}: {stdout}"),
            Some(77) if may_skip => assert!(last.starts_with(&format!("SKIP {name}: ")), "{name}: {stdout}"),
            code => panic!("{name} ended with {code:?}:\n{stdout}{stderr}"),
        }
        assert!(!stderr.contains("panicked"), "{name}: {stderr}");
    }
}
