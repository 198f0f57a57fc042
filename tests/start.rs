//! The start: `handover bench start`, and compiled pipelines that are kept on disk.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

#[path = "support/program.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod program;

use std::fs;
use std::path::{Path, PathBuf};

use program::{Ended, Program, entries};
use serde_json::Value;

const VIEW: &str = "--present offscreen --processor host --scene none --kernels none --frames 1 --size 64x48";

/// A frame, with this folder for what is kept.
fn frame(caches: &Path) -> Ended {
    let ended = Program::start(VIEW, |command, _| {
        command.env("XDG_CACHE_HOME", caches);
    })
    .end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended
}

/// The file of the one device, in the folder of this program.
fn file_in(caches: &Path) -> PathBuf {
    let folder = caches.join("handover");
    let names = entries(&folder);
    let kept: Vec<_> = names.iter().filter(|name| name.ends_with(".bin")).collect();
    assert_eq!(kept.len(), 1, "{names:?}");
    assert!(kept[0].starts_with("pipelines-"), "{names:?}");
    folder.join(kept[0])
}

#[test]
fn pipelines_are_kept_and_a_broken_file_is_set_aside_with_one_line() {
    let caches = tempfile::tempdir().unwrap();
    frame(caches.path());
    let file = file_in(caches.path());
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    let ended = frame(caches.path());
    let said: Vec<_> = ended.stderr.lines().filter(|line| line.contains("pipelines")).collect();
    assert_eq!(said.len(), 1, "{}", ended.stderr);
    assert!(
        said[0].contains("pipelines are compiled anew") && said[0].contains(".broken"),
        "{said:?}"
    );
    assert_eq!(fs::read(file.with_extension("broken")).unwrap().len(), whole.len() - 1);
    // It is there again, and nothing is said of it.
    let ended = frame(caches.path());
    assert!(!ended.stderr.contains("pipelines"), "{}", ended.stderr);
    file_in(caches.path());
}

#[test]
fn where_pipelines_cannot_be_kept_frames_come_all_the_same() {
    let caches = tempfile::tempdir().unwrap();
    fs::write(caches.path().join("handover"), b"in the way").unwrap();
    let ended = frame(caches.path());
    assert!(
        ended.stderr.contains("compiled pipelines are not kept"),
        "{}",
        ended.stderr
    );
    assert_eq!(fs::read(caches.path().join("handover")).unwrap(), b"in the way");
}

#[test]
fn the_bench_times_every_start_and_says_what_was_done() {
    let arguments =
        "bench start --rounds 2 --json out.json -- --processor host --scene none --kernels gaussian --size 64x48";
    let ended = Program::start(arguments, |_, _| {}).end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(entries(ended.folder.path()), ["out.json"]);
    for words in ["caches kept", "caches empty", "Vulkan instance", "first frame"] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
    let text = fs::read_to_string(ended.folder.path().join("out.json")).unwrap();
    let results: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(results["view"][0], "--processor");
    for case in results["cases"].as_array().unwrap() {
        let (rounds, steps) = (case["rounds_ms"].as_array().unwrap(), case["steps"].as_array().unwrap());
        assert_eq!((rounds.len(), steps.len()), (2, 2));
        for (total, steps) in rounds.iter().zip(steps) {
            let named = |name: &str| {
                let found = steps.as_array().unwrap().iter().find(|step| step["name"] == name);
                let step = found.unwrap_or_else(|| panic!("no {name}: {steps}"));
                (step["from_ms"].as_f64().unwrap(), step["until_ms"].as_f64().unwrap())
            };
            let order = [
                "Vulkan instance",
                "Vulkan device",
                "scene",
                "processor",
                "renderer",
                "first frame",
            ]
            .map(named);
            for pair in order.windows(2) {
                assert!(pair[0].0 < pair[0].1 && pair[0].1 <= pair[1].0, "{steps}");
            }
            assert!(order[5].1 < total.as_f64().unwrap(), "{total}: {steps}");
        }
    }
}

#[test]
fn a_view_that_fails_ends_the_bench_with_its_message() {
    let ended = Program::start("bench start --rounds 1 -- --scene nowhere", |_, _| {}).end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("no scene is called `nowhere`"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("the program ended with"), "{}", ended.stderr);
}
