//! The ranges that a profiler is told of: a tool of our own is loaded by NVTX, as Nsight Systems is, and writes them down.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

#[path = "support/program.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod program;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use program::Program;

/// Labels in the order of their ranges' begins, each with how many ranges it lies in.
type Ranges = Vec<(usize, String)>;

/// Compiles the tool into the folder.
fn recorder(folder: &Path) -> std::path::PathBuf {
    let library = folder.join("libnvtx_recorder.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/nvtx_recorder.c");
    // Rust links with it, so it is there.
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(source)
        .status()
        .unwrap();
    assert!(compiled.success());
    library
}

/// Those of each thread, the chain's last. Every range must have ended.
fn ranges(record: &str) -> Vec<Ranges> {
    let mut threads: BTreeMap<&str, (usize, Ranges)> = BTreeMap::new();
    for line in record.lines() {
        let (thread, event) = line.split_once(' ').unwrap();
        let (depth, labels) = threads.entry(thread).or_default();
        match event.split_once(' ') {
            Some(("push", label)) => {
                labels.push((*depth, label.to_owned()));
                *depth += 1;
            }
            _ => {
                assert_eq!(event, "pop");
                *depth = depth.checked_sub(1).expect("more ends than begins");
            }
        }
    }
    let closed = |(depth, labels)| {
        assert_eq!(depth, 0, "ranges are left open: {labels:?}");
        labels
    };
    let mut threads: Vec<_> = threads.into_values().map(closed).collect();
    threads.sort_by_key(|labels| labels[0].1 == "chain");
    threads
}

/// Runs the program with the tool, and gives what each thread's ranges were.
fn recorded(arguments: &str, code: i32) -> Vec<Ranges> {
    let tools = tempfile::tempdir().unwrap();
    let record = tools.path().join("record");
    let ended = Program::start(arguments, |command, _| {
        command
            .env("NVTX_INJECTION64_PATH", recorder(tools.path()))
            .env("NVTX_RECORD", &record);
    })
    .end();
    assert_eq!(ended.code, Some(code), "{}", ended.stderr);
    ranges(&std::fs::read_to_string(record).unwrap())
}

#[test]
fn a_profiler_sees_the_host_s_works_and_each_effect() {
    let threads = recorded(
        "--present offscreen --processor host --size 64x48 --scene none --kernels bloom,tonemap --frames-in-flight 2 --frames 4",
        0,
    );
    let [renders, chain] = &threads[..] else {
        panic!("{threads:?}");
    };
    // The labels of one whole frame, from the wait for its slot to the end of its own chain's enqueueing.
    let frame = [
        "wait for slot",
        "retire",
        "acquire",
        "record scene",
        "submit scene",
        "enqueue chain",
    ];
    let begins: Vec<_> = (0..renders.len())
        .filter(|index| renders[*index].1 == frame[0])
        .collect();
    assert_eq!(begins.len(), 4);
    for begin in begins {
        let labels: Vec<_> = renders[begin..begin + frame.len()].iter().collect();
        let expected: Vec<_> = frame.iter().map(|label| (0, (*label).to_owned())).collect();
        assert!(labels.into_iter().eq(&expected), "{renders:?}");
    }
    let count = |wanted: &str| renders.iter().filter(|(_, label)| label == wanted).count();
    for label in ["record present", "submit present", "present"] {
        assert_eq!(count(label), 4, "{label}");
    }

    let chains: Vec<_> = chain.split(|range| *range == (0, "chain".to_owned())).skip(1).collect();
    assert_eq!(chains.len(), 4);
    for kernels in chains {
        let labels: Vec<_> = kernels.iter().map(|(depth, label)| (*depth, label.as_str())).collect();
        let (last, bloom) = labels.split_last().unwrap();
        assert_eq!(*last, (1, "tonemap"));
        assert!(
            bloom.len() > 1
                && bloom
                    .iter()
                    .all(|(depth, label)| *depth == 1 && label.starts_with("bloom: ")),
            "{labels:?}"
        );
    }
}

#[test]
fn ranges_of_frames_that_fail_are_closed() {
    let threads = recorded(
        "--present offscreen --processor host --size 64x48 --scene none --frames-in-flight 2 --wait-limit 0.3 \
         --withhold-processed 3",
        1,
    );
    let last = threads.iter().flat_map(|labels| labels.last()).collect::<Vec<_>>();
    assert!(last.iter().any(|(_, label)| label.starts_with("wait for")), "{last:?}");
}

#[test]
fn a_tool_that_is_not_there_changes_nothing() {
    let ended = Program::start(
        "--present offscreen --processor host --size 64x48 --scene none --frames 3",
        |command, folder| {
            command.env("NVTX_INJECTION64_PATH", folder.join("no-such-tool.so"));
        },
    )
    .end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}
