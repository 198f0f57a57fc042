//! `--processor auto` and `--schedule auto`, where the host is all there is.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

#[path = "support/program.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod program;

use program::{Ended, Program};

const SMALL: &str = "--present offscreen --scene none --kernels exposure --size 64x48 --frames 20";

fn run(arguments: &str) -> Ended {
    let ended = Program::start(&format!("{SMALL} {arguments}"), |_, _| {}).end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended
}

/// The rest of the line that begins so.
fn rest<'a>(text: &'a str, begin: &str) -> &'a str {
    let line = text.lines().find_map(|line| line.split_once(begin));
    line.unwrap_or_else(|| panic!("no line has `{begin}`:\n{text}")).1
}

/// Microseconds a frame, and the latency's milliseconds.
fn figures(text: &str, way: &str) -> [f64; 2] {
    let line = rest(text, &format!("auto: {way}: "));
    let us = line.split_once(" µs a frame").expect("a time").0;
    let latency = line
        .split_once("latency ")
        .expect("a latency")
        .1
        .split_once(" ms")
        .expect("its unit")
        .0;
    [us, latency].map(|number| number.parse().expect("a number"))
}

#[test]
fn every_way_is_measured_and_the_session_runs_in_the_best() {
    for (prefer, place) in [("latency", 1), ("throughput", 0)] {
        let ended = run(&format!("--processor auto --schedule auto --prefer {prefer}"));
        let text = &ended.stderr;
        let ways = ["host, serial", "host, pipelined", "host, copy-back"];
        let measured = ways.map(|way| (figures(text, way)[place], way));
        let best = measured
            .into_iter()
            .min_by(|one, other| one.0.total_cmp(&other.0))
            .expect("three")
            .1;
        for way in ["cuda, serial", "cuda, pipelined", "cuda, copy-back", "in-queue"] {
            assert!(!rest(text, &format!("auto: {way} is left out: ")).is_empty(), "{text}");
        }
        assert!(rest(text, &format!("auto: by {prefer}: ")).starts_with(best), "{text}");
        // What the session says of itself.
        let schedule = best.split_once(", ").expect("a schedule").1;
        assert!(
            rest(text, "scene none, 64x48 | ").starts_with(&format!("{schedule}, 3 in flight")),
            "{text}"
        );
        assert!(
            ended.stdout.contains("20 frames") || ended.stdout.contains(" 20 "),
            "{}",
            ended.stdout
        );
    }
}

#[test]
fn one_of_the_two_options_leaves_the_other_as_it_is() {
    let text = run("--schedule auto").stderr;
    for way in ["host, serial", "host, pipelined", "host, copy-back"] {
        assert!(figures(&text, way)[0] > 0.0);
    }
    assert!(
        !text.contains("auto: cuda") && !text.contains("auto: in-queue"),
        "{text}"
    );
    let text = run("--processor auto --schedule serial").stderr;
    assert!(figures(&text, "host, serial")[0] > 0.0);
    assert!(
        rest(&text, "auto: in-queue is left out: ").contains("--schedule"),
        "{text}"
    );
    assert!(rest(&text, "scene none, 64x48 | ").starts_with("serial"), "{text}");
}

#[test]
fn what_no_way_can_do_is_the_user_s_error() {
    for (arguments, word) in [
        ("--processor auto --scene nothing", "studio, none"),
        ("--schedule auto --size 20000x20", "16384x16384"),
        ("--prefer latency", "--processor auto"),
        ("--schedule auto --processor in-queue", "one order only"),
    ] {
        let arguments = format!("--present offscreen --frames 1 {arguments}");
        let ended = Program::start(&arguments, |_, _| {}).end();
        assert_eq!(ended.code, Some(2), "{arguments}: {}", ended.stderr);
        assert!(ended.stderr.contains(word), "{arguments}: {}", ended.stderr);
    }
}
