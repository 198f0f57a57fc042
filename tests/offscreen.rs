//! The whole program without a window: what its runs leave behind.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

#[path = "support/program.rs"]
mod program;
#[path = "support/table.rs"]
mod table;

use std::collections::HashMap;

use program::{Ended, Program, entries};
use table::{Table, numbers};

/// A small offscreen run: the picture of frame 30.
const SMALL: &str = "--present offscreen --size 160x90 --frames 30";

fn handover(arguments: &str) -> Ended {
    Program::start(arguments, |_, _| {}).end()
}

/// Runs, and returns the bytes of its picture.
fn picture(arguments: &str) -> Vec<u8> {
    let ended = handover(&format!("{SMALL} --screenshot frame.png {arguments}"));
    assert_eq!(ended.code, Some(0), "{arguments}\n{}", ended.stderr);
    assert_eq!(entries(ended.folder.path()), ["frame.png"]);
    std::fs::read(ended.folder.path().join("frame.png")).unwrap()
}

#[test]
fn the_same_frame_is_the_same_picture() {
    let first = picture("");
    assert!(first == picture(""), "two runs");
    for arguments in [
        "--frames-in-flight 1",
        "--frames-in-flight 8",
        "--schedule serial",
        "--schedule serial --frames-in-flight 1",
        "--schedule copy-back --validate",
        "--schedule copy-back --frames-in-flight 1",
        "--schedule copy-back --frames-in-flight 8",
        "--validate",
    ] {
        assert!(first == picture(arguments), "{arguments}");
    }
    assert!(first != picture("--kernels none"), "the chain changes nothing");
    assert!(
        first != picture("--set vignette.darkening=0 --set bloom.intensity=0"),
        "parameters change nothing"
    );
    assert!(first != picture("--time-step 0.05"), "the scene does not move");
}

#[test]
fn without_a_display_a_picture_and_timings_are_kept_in_numbered_folders() {
    let arguments = "--size 160x90 --frames 20";
    let first = Program::start(arguments, |_, _| {}).end();
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let expected = [
        "handover-0001/",
        "handover-0001/capture.json",
        "handover-0001/frame.png",
        "handover-0001/frames.csv",
        "handover-0001/trace.pftrace",
    ];
    assert_eq!(entries(first.folder.path()), expected);
    for words in [
        "no display: 20 frames are rendered offscreen",
        "timings of 20 frames: handover-0001/frames.csv",
        "picture of the last frame: handover-0001/frame.png",
        "average",
        "p50",
        "p95",
        "p99",
        "p99.9",
        "maximum",
        "1% low average",
        "1% low integral",
    ] {
        assert!(first.stdout.contains(words), "no `{words}`:\n{}", first.stdout);
    }
    let folder = first.folder.path().join("handover-0001");
    let picture = image::open(folder.join("frame.png")).unwrap();
    assert_eq!((picture.width(), picture.height()), (160, 90));
    let table = Table::read(&folder.join("frames.csv"));
    table.check(&["bloom", "tonemap", "sharpen", "vignette"]);
    assert_eq!(numbers(&table.column("frame")), (1..=20).collect::<Vec<_>>());
    // Three slots: the first three frames wait for none, the others for the one three before.
    let waited = table.column("waited_for_frame");
    assert_eq!(waited[..3], ["NA"; 3]);
    assert_eq!(numbers(&waited[3..]), (1..=17).collect::<Vec<_>>());
    // Nothing is acquired or presented without a window.
    for column in ["acquire_ms", "MsInPresentAPI"] {
        assert!(table.column(column).iter().all(|value| *value == "NA"), "{column}");
    }
    for column in ["scene_ms", "chain_ms", "present_gpu_ms", "record_ms", "submit_ms"] {
        for value in table.column(column) {
            assert!(value.parse::<f64>().unwrap() > 0.0, "{column}: {value}");
        }
    }

    let second = Program::start(arguments, |command, _| {
        command.current_dir(first.folder.path());
    });
    assert_eq!(second.end().code, Some(0));
    assert_eq!(
        entries(first.folder.path())[5..],
        [
            "handover-0002/",
            "handover-0002/capture.json",
            "handover-0002/frame.png",
            "handover-0002/frames.csv",
            "handover-0002/trace.pftrace",
        ]
    );
}

#[test]
fn captures_of_a_command_line_have_a_row_a_frame() {
    for (arguments, active) in [
        // A chain without effects copies.
        ("--kernels none --frames-in-flight 1", &["copy"][..]),
        ("--kernels gaussian,sobel --frames-in-flight 8", &["gaussian", "sobel"]),
        ("--scene none --kernels exposure --schedule serial", &["exposure"]),
    ] {
        let ended = handover(&format!("{SMALL} --capture run {arguments}"));
        assert_eq!(ended.code, Some(0), "{arguments}\n{}", ended.stderr);
        assert_eq!(
            entries(ended.folder.path()),
            ["run/", "run/capture.json", "run/frames.csv", "run/trace.pftrace"]
        );
        let table = Table::read(&ended.folder.path().join("run/frames.csv"));
        table.check(active);
        if arguments.contains("serial") {
            // The samples' way, to compare with: each frame is waited for.
            assert_eq!(table.column("waited_for_frame"), table.column("frame"));
        } else {
            table.check_waits();
        }
        assert_eq!(table.rows.len(), 30, "{arguments}");
        let same: HashMap<_, _> = ["Application", "ProcessID", "PresentRuntime"]
            .map(|name| (name, table.column(name)))
            .into();
        for (name, values) in same {
            assert!(values.iter().all(|value| *value == values[0]), "{name}: {values:?}");
        }
    }
}

#[test]
fn the_self_test_passes_on_the_host() {
    let ended = handover("selftest --processor host --frames 300 --resizes 20 --validate");
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    for words in [
        "PASS  handover",
        "PASS  withheld",
        "PASS  schedules",
        "PASS  tags",
        "300 frames",
        "PASS  resizes",
        "20 resizes",
        "PASS  allocations",
        "PASS  validation",
        "0 errors",
        "all parts passed",
    ] {
        assert!(ended.stdout.contains(words), "no `{words}`:\n{}", ended.stdout);
    }
    assert!(entries(ended.folder.path()).is_empty());
}

/// The part of the panel that is always there, at the upper left, and the column that it ends at. Points.
const PANEL: [std::ops::Range<u32>; 2] = [10..610, 10..250];

#[test]
fn the_overlay_is_drawn_in_its_panel_alone_and_its_cost_is_a_column_of_its_own() {
    let run = |arguments: &str| {
        let ended = handover(&format!(
            "--present offscreen --scene none --kernels none --frames 6 --validate --screenshot frame.png --capture timings \
             {arguments}"
        ));
        assert_eq!(ended.code, Some(0), "{arguments}\n{}", ended.stderr);
        let picture = image::open(ended.folder.path().join("frame.png")).unwrap().into_rgb8();
        (picture, Table::read(&ended.folder.path().join("timings/frames.csv")))
    };
    for scale in [1, 2] {
        let size = format!("--size {}x{}", 620 * scale, 300 * scale);
        let (plain, table) = run(&size);
        assert!(table.column("overlay_ms").iter().all(|value| *value == "NA"));
        // The chain ends in the screen image for one of them.
        let schedule = ["pipelined", "copy-back"][scale as usize - 1];
        let (drawn, table) = run(&format!("{size} --overlay --ui-scale {scale} --schedule {schedule}"));
        for value in table.column("overlay_ms") {
            assert!(value.parse::<f64>().unwrap() > 0.0, "{value}");
        }
        table.check(&["copy"]);
        let [columns, rows] = PANEL.map(|range| range.start * scale..range.end * scale);
        let mut same_inside = 0;
        for ((x, y, plain), drawn) in plain.enumerate_pixels().zip(drawn.pixels()) {
            if columns.contains(&x) && rows.contains(&y) {
                same_inside += u32::from(plain == drawn);
            } else if !columns.contains(&x) || y < rows.start {
                assert_eq!(plain, drawn, "scale {scale}: {x}, {y} is outside of the panel");
            }
        }
        let inside = (columns.len() * rows.len()) as u32;
        assert!(
            same_inside < inside / 10,
            "scale {scale}: {same_inside} of {inside} texels of the panel are as without"
        );
    }
}

/// Upscaled by EASU the small scene is nearer to the large one than by the bilinear filter, which runs where nothing else is on.
#[test]
fn a_scene_drawn_smaller_is_shown_as_large() {
    let shown = |arguments: &str| {
        let bytes = picture(&format!("--validate {arguments}"));
        image::load_from_memory(&bytes).unwrap().into_rgb8()
    };
    let (full, easu, enlarged) = (
        shown("--kernels tonemap"),
        shown("--kernels tonemap,easu --render-scale 0.5"),
        shown("--kernels tonemap --render-scale 0.5"),
    );
    let off = |picture: &image::RgbImage| -> f64 {
        assert_eq!(picture.dimensions(), (160, 90));
        let pairs = picture.as_raw().iter().zip(full.as_raw());
        pairs.map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum()
    };
    assert!(
        off(&easu) > 0.0 && off(&easu) < off(&enlarged),
        "{} against {}",
        off(&easu),
        off(&enlarged)
    );
    let ended = handover("--present offscreen --size 321x181 --frames 3 --render-scale 0.5 --scene none --capture run");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let facts = std::fs::read(ended.folder.path().join("run/capture.json")).unwrap();
    let facts: serde_json::Value = serde_json::from_slice(&facts).unwrap();
    assert_eq!(facts["views"][0]["scene_extent"], serde_json::json!([161, 91]));
}

#[test]
fn a_capture_tells_what_it_was_made_with() {
    let ended = handover(
        "--present offscreen --size 160x90 --frames 12 --capture run --processor host --schedule serial \
         --frames-in-flight 2 --kernels exposure,vignette --set exposure.stops=1.5 --scene none",
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let folder = ended.folder.path().join("run");
    assert_eq!(entries(&folder), ["capture.json", "frames.csv", "trace.pftrace"]);
    let facts: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join("capture.json")).unwrap()).unwrap();
    for (pointer, expected) in [
        ("/format", serde_json::json!(1)),
        ("/program/version", serde_json::json!(env!("CARGO_PKG_VERSION"))),
        ("/cuda", serde_json::Value::Null),
        ("/processor/name", serde_json::json!("host")),
        ("/presenter/name", serde_json::json!("offscreen")),
        ("/schedule", serde_json::json!("serial")),
        ("/frames_in_flight", serde_json::json!(2)),
        ("/instrument", serde_json::json!("full")),
        (
            "/views",
            serde_json::json!([{"from_frame": 1, "scene": "none", "extent": [160, 90], "scene_extent": [160, 90]}]),
        ),
        ("/chains/0/from_frame", serde_json::json!(1)),
        (
            "/chains/0/effects/0",
            serde_json::json!({"name": "exposure", "parameters": {"stops": 1.5}}),
        ),
        ("/chains/0/effects/1/name", serde_json::json!("vignette")),
        ("/host_clock/name", serde_json::json!("CLOCK_MONOTONIC_RAW")),
        ("/clock/at_start/by", serde_json::json!("host_clock")),
        ("/clock/at_end/by", serde_json::json!("host_clock")),
        ("/frames", serde_json::json!({"first": 1, "last": 12, "count": 12})),
    ] {
        assert_eq!(facts.pointer(pointer), Some(&expected), "{pointer} of {facts:#}");
    }
    assert!(
        facts["vulkan"]["uuid"].as_str().is_some_and(|uuid| uuid.len() == 36),
        "{facts:#}"
    );
    assert!(facts["host_clock"]["calibrations"].as_u64() >= Some(1), "{facts:#}");
}
