//! `handover bench`: what it renders and keeps, what it calls a difference, and what it refuses.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

#[path = "support/program.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod program;
#[path = "support/refused.rs"]
mod refused;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use program::{Ended, Program, entries};
use refused::USAGE;
use serde_json::{Value, json};

/// Frames small and few: the numbers mean nothing, what is done with them does.
const SMALL: &str = "--processors host --scenes none --frames 4 --warm-up 2";

/// Runs it in a folder that `fill` prepares.
fn bench(arguments: &str, fill: impl FnOnce(&Path)) -> Ended {
    Program::start(&format!("bench {arguments}"), |_, folder| fill(folder)).end()
}

/// It must end well; what it wrote to `out.json`.
fn written(arguments: &str) -> (Ended, Value) {
    let ended = bench(&format!("{arguments} --json out.json"), |_| {});
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(entries(ended.folder.path()), ["out.json"]);
    let text = fs::read_to_string(ended.folder.path().join("out.json")).unwrap();
    let results = serde_json::from_str(&text).unwrap();
    (ended, results)
}

/// It must end with the user's exit code, name all the words, print nothing and leave everything as it was.
fn refused(arguments: &str, words: &[&str], fill: impl FnOnce(&Path)) {
    let arguments = format!("bench {arguments}");
    let ended = refused::refused(&arguments, USAGE, words, |_, folder| fill(folder));
    assert_eq!(ended.stdout, "", "{arguments}");
}

#[test]
fn every_case_runs_once_in_every_round_in_the_order_of_the_seed() {
    let arguments = format!(
        "{SMALL} --sizes 64x48,32x32 --chains none,bloom+tonemap --schedules serial,pipelined --in-flight 1,2 --rounds 3"
    );
    let (ended, results) = written(&format!("{arguments} --seed 7"));
    let cases = results["cases"].as_array().unwrap();
    // Serial has one frame in flight: 2 sizes, 2 chains, 3 orders.
    assert_eq!(cases.len(), 12);
    let described: BTreeSet<String> = cases
        .iter()
        .map(|case| {
            let [width, height] = ["width", "height"].map(|side| case[side].as_u64().unwrap());
            let chain = case["chain"].as_array().unwrap().len();
            format!(
                "{width}x{height} {chain} {} {}",
                case["schedule"].as_str().unwrap(),
                case["frames_in_flight"]
            )
        })
        .collect();
    let mut expected = BTreeSet::new();
    for size in ["64x48", "32x32"] {
        for chain in [0, 2] {
            for order in ["serial 1", "pipelined 1", "pipelined 2"] {
                expected.insert(format!("{size} {chain} {order}"));
            }
        }
    }
    assert_eq!(described, expected);
    assert_eq!(cases[6]["width"], 32, "cases are listed by size");

    // All rounds of a size, then all of the other; each round has each case of its size once, not always in the same order.
    let order: Vec<u64> = results["order"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case.as_u64().unwrap())
        .collect();
    assert_eq!(order.len(), 36);
    for (place, round) in order.chunks(6).enumerate() {
        let first = if place < 3 { 0 } else { 6 };
        let mut sorted = round.to_vec();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(first..first + 6), "{order:?}");
    }
    assert!(order[..6] != order[6..12] || order[6..12] != order[12..18], "{order:?}");
    assert!(
        ended.stderr.contains("12 cases, 3 rounds of 4 frames each: about"),
        "{}",
        ended.stderr
    );

    let (_, again) = written(&format!("{arguments} --seed 7"));
    assert_eq!(again["order"], results["order"]);
    let (_, other) = written(&format!("{arguments} --seed 8"));
    assert_ne!(other["order"], results["order"]);
}

#[test]
fn a_round_holds_the_frame_time_and_its_stages_where_they_are_measured() {
    let (ended, results) = written(&format!(
        "{SMALL} --sizes 64x48 --chains bloom --schedules serial --instrument off,frame,full --rounds 2"
    ));
    let cases = results["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 3);
    for case in cases {
        let rounds = case["rounds"].as_array().unwrap();
        assert_eq!(rounds.len(), 2);
        for round in rounds {
            let ms = |stage: &str| round[stage].as_f64();
            if case["instrument"] == "off" {
                assert_eq!(
                    (ms("scene_ms"), ms("chain_ms"), ms("present_gpu_ms")),
                    (None, None, None)
                );
                continue;
            }
            // Frames one at a time: their mean time is more than half the median of any part, in the same unit.
            for stage in ["scene_ms", "chain_ms", "present_gpu_ms"] {
                let (stage, frame) = (ms(stage).unwrap(), ms("frame_us").unwrap() * 1e-3);
                assert!(stage > 0.0 && frame > stage / 2.0, "{round}");
            }
        }
    }
    for text in [
        "none, 64x48, bloom\n",
        "serial, 1 in flight, instrument full",
        "too few rounds",
    ] {
        assert!(ended.stdout.contains(text), "{text}:\n{}", ended.stdout);
    }
    for (field, value) in [
        ("format", json!("handover bench")),
        ("format_version", json!(1)),
        ("frames", json!(4)),
    ] {
        assert_eq!(results[field], value);
    }
    assert!(results["machine"]["gpu"].as_str().unwrap().contains("llvmpipe"));
    assert!(results["date"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn cases_that_do_not_fit_together_are_made_anew() {
    let arguments = format!("-v {SMALL} --sizes 64x48 --chains none --in-flight 1,2 --schedules pipelined --rounds 3");
    let made = |ended: &Ended| ended.stderr.matches("made: ").count();
    let (roomy, _) = written(&arguments);
    assert_eq!(made(&roomy), 2, "{}", roomy.stderr);
    let (tight, results) = written(&format!("{arguments} --memory 0"));
    // The two trials, then a new renderer wherever the case is another than that before it.
    let order: Vec<u64> = results["order"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case.as_u64().unwrap())
        .collect();
    let mut ran = vec![0, 1];
    ran.extend(order);
    ran.dedup();
    assert_eq!(made(&tight), ran.len(), "{}", tight.stderr);
    assert!(ran.len() > 3);
}

/// Rounds of three cases of the same work, microseconds.
const BASE: [f64; 6] = [200.0, 204.0, 196.0, 202.0, 198.0, 206.0];
const SLOWER: [f64; 6] = [210.0, 216.2, 203.8, 213.1, 206.9, 216.3];
const EQUAL: [f64; 6] = [201.0, 203.0, 197.5, 201.0, 198.2, 205.0];

/// A file of results with these cases: frames in flight, and frame times.
fn results(cases: &[(u64, [f64; 6])]) -> Value {
    let case = |(in_flight, times): &(u64, [f64; 6])| {
        json!({
            "scene": "none", "width": 64, "height": 48, "chain": ["bloom"], "processor": "cuda", "schedule": "pipelined",
            "frames_in_flight": in_flight, "instrument": "off",
            "rounds": times.map(|frame_us| json!({ "frame_us": frame_us })),
        })
    };
    let rounds = (0..6).flat_map(|_| 0..cases.len());
    json!({
        "format": "handover bench", "format_version": 1, "handover": "0.1.0", "date": "2026-01-02T03:04:05Z",
        "machine": {
            "gpu": "some GPU", "uuid": "0", "vulkan_driver": "driver 1", "cuda_driver": "12.8", "cpu": "some CPU",
            "cpu_threads": 2, "build": "release",
        },
        "frames": 100, "warm_up": 10, "seed": 1, "order": rounds.collect::<Vec<_>>(),
        "cases": cases.iter().map(case).collect::<Vec<_>>(),
    })
}

fn write(folder: &Path, name: &str, results: &Value) {
    fs::write(folder.join(name), results.to_string()).unwrap();
}

/// The columns of a printed line, which are two or more spaces apart.
fn columns<'a>(text: &'a str, begin: &str) -> Vec<&'a str> {
    let line = text.lines().find(|line| line.starts_with(begin));
    let line = line.unwrap_or_else(|| panic!("no line begins with `{begin}`:\n{text}"));
    line.split("  ")
        .map(str::trim)
        .filter(|column| !column.is_empty())
        .collect()
}

/// Numbers of scipy: `quantile_test` of the times and of the ratios of pairs.
#[test]
fn differences_are_called_by_the_spread_of_pairs() {
    let ended = bench("--read a.json", |folder| {
        write(folder, "a.json", &results(&[(1, BASE), (2, SLOWER), (3, EQUAL)]));
    });
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let row = |in_flight: u64| columns(&ended.stdout, &format!("cuda, pipelined, {in_flight} in flight"));
    assert_eq!(row(1)[1..], ["201.0", "196.0 to 206.0", "196.0 to 206.0"]);
    assert_eq!(
        row(2)[1..],
        [
            "211.6",
            "203.8 to 216.3",
            "203.8 to 216.3",
            "1.0500",
            "1.0398 to 1.0598",
            "slower"
        ]
    );
    assert_eq!(
        row(3)[1..],
        [
            "201.0",
            "197.5 to 205.0",
            "197.5 to 205.0",
            "0.9981",
            "0.9950 to 1.0077",
            "no difference seen"
        ]
    );
}

/// Against another file rounds are no pairs: the interval is that of Mann and Whitney's test, by all 36 ratios.
#[test]
fn two_files_are_compared_case_by_case() {
    let ended = bench("--read b.json --compare a.json", |folder| {
        write(folder, "a.json", &results(&[(1, BASE), (2, BASE), (4, BASE)]));
        write(folder, "b.json", &results(&[(1, SLOWER), (2, EQUAL), (8, BASE)]));
    });
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let row = |in_flight: u64| {
        columns(
            &ended.stdout,
            &format!("none, 64x48, bloom; cuda, pipelined, {in_flight} in flight"),
        )
    };
    assert_eq!(row(1)[1..], ["201.0", "211.6", "1.0500", "1.0190 to 1.0815", "slower"]);
    assert_eq!(
        row(2)[1..],
        ["201.0", "201.0", "0.9992", "0.9757 to 1.0253", "no difference seen"]
    );
    for text in [
        "not in the file: none, 64x48, bloom; cuda, pipelined, 8",
        "only in the file: none, 64x48, bloom; cuda, pipelined, 4",
    ] {
        assert!(ended.stdout.contains(text), "{text}:\n{}", ended.stdout);
    }
}

#[test]
fn results_of_another_machine_are_compared_only_when_told() {
    let fill = |folder: &Path| {
        write(folder, "a.json", &results(&[(1, BASE)]));
        let mut other = results(&[(1, SLOWER)]);
        other["machine"]["gpu"] = "another GPU".into();
        other["machine"]["vulkan_driver"] = "driver 2".into();
        other["frames"] = 50.into();
        write(folder, "b.json", &other);
    };
    let words = [
        "a.json",
        "GPU: another GPU against some GPU",
        "driver 2 against driver 1",
        "--compare-anyway",
    ];
    refused("--read b.json --compare a.json", &words, fill);
    let ended = bench("--read b.json --compare a.json --compare-anyway", fill);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for text in [
        "not the same: GPU: another GPU against some GPU",
        "not the same: Vulkan driver: driver 2 against driver 1",
        "not the same: frames a round: 50 against 100",
    ] {
        assert!(ended.stdout.contains(text), "{text}:\n{}", ended.stdout);
    }
    // Before anything is rendered, too.
    refused(
        &format!("{SMALL} --sizes 64x48 --compare a.json --json c.json"),
        &["llvmpipe", "some GPU"],
        fill,
    );
}

#[test]
fn files_that_are_none_of_a_bench_are_refused() {
    let text = results(&[(1, BASE)]).to_string();
    let changed = |change: fn(&mut Value)| {
        let mut value = results(&[(1, BASE), (2, BASE)]);
        change(&mut value);
        value.to_string()
    };
    let damaged: [(String, &str); 11] = [
        (String::new(), "EOF"),
        ("frame,start_ms\n1,2\n".into(), "expected"),
        (text[..text.len() / 2].into(), "EOF"),
        ("{}".into(), "\"format\""),
        ("[]".into(), "\"format\""),
        (changed(|value| value["format"] = "other".into()), "\"format\""),
        (changed(|value| value["format_version"] = 2.into()), "format version 2"),
        (changed(|value| value["cases"] = json!([])), "no cases"),
        (changed(|value| value["cases"][1] = value["cases"][0].clone()), "twice"),
        (
            changed(|value| value["cases"][0]["rounds"][0]["frame_us"] = 0.into()),
            "above 0",
        ),
        (changed(|value| value["order"][0] = 1.into()), "\"order\""),
    ];
    for (text, word) in damaged {
        refused("--read a.json", &["a.json", word], |folder| {
            fs::write(folder.join("a.json"), &text).unwrap();
        });
    }
    refused(
        &format!("{SMALL} --compare none.json"),
        &["none.json", "No such file"],
        |_| {},
    );
    refused("--read .", &["cannot read"], |_| {});
}

#[test]
fn wrong_options_are_refused_before_anything_is_rendered() {
    refused("--json there.json", &["there.json", "exists"], |folder| {
        fs::write(folder.join("there.json"), "mine").unwrap();
    });
    refused("--json no/out.json", &["no/out.json", "does not exist"], |_| {});
    for (arguments, words) in [
        (
            "--chains bloom+blom",
            &["blom", "did you mean \"bloom\"?", "default"][..],
        ),
        (
            "--scenes studioo --sizes 32x32 --json out.json",
            &["studioo", "studio, none"],
        ),
        ("--sizes 2k", &["2k", "720p, 1080p, 1440p, 4k, 8k, 16k"]),
        ("--sizes 30000x20", &["30000x20", "16384x16384"]),
        ("--in-flight 0", &["0", "1..=8"]),
        ("--rounds 0", &["0", "1..=100"]),
        ("--frames 0", &["0"]),
        ("--instrument some", &["some", "off, frame, full"]),
        ("quick", &["quick", "short, schedules, instrument, pixels, memory"]),
        ("--plot-pixels there.svg", &["there.svg", "exists"]),
        ("--plot-memory no/plot.svg", &["no/plot.svg", "does not exist"]),
        ("--compare-anyway", &["--compare"]),
        ("--read a.json --rounds 3", &["--read", "--rounds"]),
        ("--processors host --gpu no-such-gpu", &["no-such-gpu"]),
        ("--processors host --gpus 0,no-such-gpu", &["no-such-gpu"]),
        ("--gpus all --gpu 0", &["--gpus", "--gpu"]),
        (
            "--gpus 0,0 --processors host --scenes none --sizes 30000x20",
            &["16384x16384"],
        ),
    ] {
        refused(arguments, words, |folder| {
            if arguments.contains("there.svg") {
                fs::write(folder.join("there.svg"), "mine").unwrap();
            }
        });
    }
}
