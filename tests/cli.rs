//! The whole program without a window: what it refuses, and what its offscreen runs leave behind.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

#[path = "support/program.rs"]
mod program;

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use program::{Ended, Program, Table, entries, numbers};

/// A small offscreen run: the picture of frame 30.
const SMALL: &str = "--present offscreen --size 160x90 --frames 30";

/// The exit code for what the user asked for, and that for what the machine lacks.
const USAGE: i32 = 2;
const MACHINE: i32 = 1;

fn handover(arguments: &str) -> Ended {
    Program::start(arguments, |_, _| {}).end()
}

/// The run must end with this code, name all the words, and leave the folder as it was.
fn refused(arguments: &str, code: i32, words: &[&str]) {
    refused_with(arguments, code, words, |_, _| {});
}

fn refused_with(arguments: &str, code: i32, words: &[&str], adjust: impl FnOnce(&mut Command, &Path)) {
    let mut before = Vec::new();
    let program = Program::start(arguments, |command, folder| {
        adjust(command, folder);
        before = entries(folder);
    });
    let ended = program.end();
    let stderr = &ended.stderr;
    assert_eq!(ended.code, Some(code), "{arguments}\n{stderr}");
    for word in words {
        assert!(
            stderr.contains(word),
            "{arguments}: the message lacks `{word}`:\n{stderr}"
        );
    }
    assert_eq!(
        entries(ended.folder.path()),
        before,
        "{arguments} left something behind"
    );
}

/// Runs, and returns the bytes of its picture.
fn picture(arguments: &str) -> Vec<u8> {
    let ended = handover(&format!("{SMALL} --screenshot frame.png {arguments}"));
    assert_eq!(ended.code, Some(0), "{arguments}\n{}", ended.stderr);
    assert_eq!(entries(ended.folder.path()), ["frame.png"]);
    std::fs::read(ended.folder.path().join("frame.png")).unwrap()
}

fn doctor(adjust: impl FnOnce(&mut Command, &Path)) -> (Option<i32>, serde_json::Value) {
    let ended = Program::start("doctor --json", adjust).end();
    let report = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}:\n{}", ended.stdout));
    (ended.code, report)
}

fn without_driver(command: &mut Command, folder: &Path) {
    // Two names: loaders before 1.3.207 know only the second.
    for variable in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"] {
        command.env(variable, folder.join("no-such-driver.json"));
    }
}

#[test]
fn unknown_names_are_answered_with_the_known_ones() {
    refused(
        "--kernels bloom,tonemop",
        USAGE,
        &[
            "\"tonemop\"",
            "did you mean \"tonemap\"?",
            "exposure, gaussian, bloom, chromatic_aberration, tonemap, sobel, sharpen, vignette",
        ],
    );
    refused(
        &format!("{SMALL} --scene studioo --screenshot frame.png"),
        USAGE,
        &["studioo", "studio, none"],
    );
    refused("--processor gpu", USAGE, &["'gpu'", "auto, cuda, host"]);
    refused("--schedule fast", USAGE, &["'fast'", "serial", "pipelined"]);
    refused(
        "--present screen",
        USAGE,
        &["'screen'", "auto, swapchain, software, offscreen"],
    );
    refused("--vsync maybe", USAGE, &["'maybe'", "on", "off", "mailbox"]);
    refused(
        &format!("{SMALL} --gpu no-such-gpu --capture run"),
        USAGE,
        &["no GPU matches --gpu no-such-gpu", "Vulkan devices:", "CUDA devices:"],
    );
    refused("selftest everything", USAGE, &["'everything'", "handover", "tags"]);
    refused("docter", USAGE, &["'docter'", "doctor"]);
    refused("--framse 3", USAGE, &["--framse", "--frames"]);
}

#[test]
fn numbers_out_of_range_are_refused() {
    for size in ["0x0", "0x720", "70000x1", "1280", "1280x-1", "axb"] {
        refused(
            &format!("--size={size}"),
            USAGE,
            &[size, "WIDTHxHEIGHT", "from 1 to 32768"],
        );
    }
    refused(
        "--present offscreen --gpu llvmpipe --size 32768x1 --capture run --screenshot frame.png",
        USAGE,
        &["--size 32768x1", "llvmpipe", "up to 16384x16384"],
    );
    refused("--frames 0", USAGE, &["'0'", "--frames"]);
    refused("--frames-in-flight 0", USAGE, &["'0'", "1..=8"]);
    refused("--frames-in-flight 9", USAGE, &["'9'", "1..=8"]);
    refused("--time-step 0", USAGE, &["--time-step", "above 0"]);
    refused("--time-step nan", USAGE, &["--time-step", "above 0"]);
    refused("--wait-limit=-1", USAGE, &["--wait-limit", "above 0"]);
    refused("selftest --frames 0", USAGE, &["'0'", "--frames"]);
}

#[test]
fn pictures_that_cannot_be_written_are_refused_before_the_run() {
    let run = |file: &str| format!("{SMALL} --capture run --screenshot {file}");
    refused(
        &run("missing/frame.png"),
        USAGE,
        &["missing/frame.png", "its folder does not exist"],
    );
    refused(&run("frame.jpg"), USAGE, &["frame.jpg", "must end in .png"]);
    refused(&run("frame"), USAGE, &["must end in .png"]);
    refused_with(
        &run("folder.png"),
        USAGE,
        &["folder.png", "it is a folder"],
        |_, folder| {
            std::fs::create_dir(folder.join("folder.png")).unwrap();
        },
    );
}

#[test]
fn captures_that_cannot_be_made_are_refused() {
    let run = format!("{SMALL} --screenshot frame.png --capture");
    refused_with(
        &format!("{run} taken"),
        USAGE,
        &["taken exists", "never overwrite"],
        |_, folder| std::fs::create_dir(folder.join("taken")).unwrap(),
    );
    refused_with(
        &format!("{run} file"),
        USAGE,
        &["file is in the way", "choose another name"],
        |_, folder| std::fs::write(folder.join("file"), "not a capture").unwrap(),
    );
    refused(
        &format!("{run} missing/run"),
        USAGE,
        &["missing/run", "missing does not exist"],
    );
    refused_with(&format!("{run} file/run"), USAGE, &["is not a folder"], |_, folder| {
        std::fs::write(folder.join("file"), "not a folder").unwrap();
    });
}

#[test]
fn a_window_without_a_display_is_refused() {
    for presenter in ["swapchain", "software"] {
        let arguments = format!("--present {presenter} --capture run");
        refused(&arguments, USAGE, &["need a display", "--present offscreen"]);
        refused_with(&arguments, USAGE, &["no X server answers"], |command, _| {
            command.env("DISPLAY", ":9999");
        });
    }
}

#[test]
fn a_machine_without_vulkan_is_told_apart() {
    for arguments in [
        format!("{SMALL} --capture run --screenshot frame.png"),
        "selftest".into(),
    ] {
        refused_with(
            &arguments,
            MACHINE,
            &[
                "found no driver",
                "install the GPU's Vulkan driver",
                "mesa-vulkan-drivers",
            ],
            without_driver,
        );
        refused_with(&arguments, MACHINE, &["Vulkan loader", "libvulkan1"], without_loader);
    }
    for (lack, words) in [
        (without_driver as fn(&mut Command, &Path), "found no driver"),
        (without_loader, "Vulkan loader"),
    ] {
        let (code, report) = doctor(lack);
        assert_eq!(code, Some(MACHINE));
        assert!(report["chosen"].is_null());
        assert_eq!(report["vulkan_loader"]["present"], false);
        assert!(report["advice"].to_string().contains(words), "{}", report["advice"]);
    }
}

/// A file that is no library hides the one of the system.
fn without_loader(command: &mut Command, folder: &Path) {
    let libraries = folder.join("libraries");
    std::fs::create_dir(&libraries).unwrap();
    std::fs::write(libraries.join("libvulkan.so.1"), "not a library").unwrap();
    command.env("LD_LIBRARY_PATH", libraries);
}

#[test]
fn cuda_is_not_replaced_where_it_was_asked_for() {
    let (_, report) = doctor(|_, _| {});
    if report["cuda_driver"]["present"] == true {
        return;
    }
    refused(
        &format!("{SMALL} --processor cuda --capture run --screenshot frame.png"),
        MACHINE,
        &["no CUDA driver library (libcuda.so.1)", "install the NVIDIA driver"],
    );
    refused("selftest --processor cuda", MACHINE, &["install the NVIDIA driver"]);
}

#[test]
fn doctor_names_the_chosen_pair() {
    let (code, report) = doctor(|_, _| {});
    assert_eq!(code, Some(0));
    let chosen = &report["chosen"];
    let names: Vec<_> = report["vulkan_devices"].as_array().unwrap().iter().collect();
    assert!(
        names.iter().any(|device| device["name"] == chosen["vulkan"]),
        "{report}"
    );
    assert_eq!(chosen["processor"] == "cuda", chosen["cuda"].is_string(), "{report}");
    assert_eq!(chosen["presenter"], "offscreen");
    for part in ["vulkan_loader", "cuda_driver", "nvrtc", "display"] {
        assert!(report[part]["present"].is_boolean(), "{part}: {report}");
    }
    let text = handover("doctor");
    assert_eq!(text.code, Some(0));
    assert!(
        text.stdout
            .contains(&format!("chosen: {}", chosen["vulkan"].as_str().unwrap())),
        "{}",
        text.stdout
    );
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
        "--validate",
    ] {
        assert!(first == picture(arguments), "{arguments}");
    }
    assert!(first != picture("--kernels none"), "the chain changes nothing");
    assert!(first != picture("--time-step 0.05"), "the scene does not move");
}

#[test]
fn without_a_display_a_picture_and_timings_are_kept_in_numbered_folders() {
    let arguments = "--size 160x90 --frames 20";
    let first = Program::start(arguments, |_, _| {}).end();
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let expected = ["handover-0001/", "handover-0001/frame.png", "handover-0001/frames.csv"];
    assert_eq!(entries(first.folder.path()), expected);
    for words in [
        "no display: 20 frames are rendered offscreen",
        "timings of 20 frames: handover-0001/frames.csv",
        "picture of the last frame: handover-0001/frame.png",
        "average",
        "50th percentile",
        "95th percentile",
        "99th percentile",
        "99.9th percentile",
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
        entries(first.folder.path())[3..],
        ["handover-0002/", "handover-0002/frame.png", "handover-0002/frames.csv"]
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
        assert_eq!(entries(ended.folder.path()), ["run/", "run/frames.csv"]);
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
fn a_withheld_signal_ends_in_the_bounded_wait() {
    let arguments = "--withhold-processed 5 --wait-limit 3 --screenshot frame.png";
    refused(
        &format!("{SMALL} {arguments}"),
        MACHINE,
        &["after 3s the timeline `processed` stands at 4 and 5 was expected"],
    );
}

#[test]
fn the_self_test_passes_on_the_host() {
    let ended = handover("selftest --processor host --frames 300 --resizes 20 --validate");
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    for words in [
        "PASS  handover",
        "PASS  withheld",
        "PASS  tags",
        "300 frames",
        "PASS  resizes",
        "20 resizes",
        "PASS  validation",
        "0 errors",
        "all parts passed",
    ] {
        assert!(ended.stdout.contains(words), "no `{words}`:\n{}", ended.stdout);
    }
    assert!(entries(ended.folder.path()).is_empty());
}

#[test]
fn help_and_version_are_there() {
    let help = handover("--help");
    assert_eq!(help.code, Some(0));
    for words in [
        "Examples:",
        "--scene",
        "--kernels",
        "--processor",
        "--schedule",
        "--present",
        "--gpu",
        "--size",
        "--frames",
        "--frames-in-flight",
        "--time-step",
        "--capture",
        "--screenshot",
        "--fullscreen",
        "--vsync",
        "--validate",
        "--verbose",
        "doctor",
        "selftest",
    ] {
        assert!(help.stdout.contains(words), "no `{words}`:\n{}", help.stdout);
    }
    let version = handover("--version");
    assert_eq!(version.stdout.trim(), concat!("handover ", env!("CARGO_PKG_VERSION")));
}
