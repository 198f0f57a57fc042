//! The whole program without a window: what it refuses.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

#[path = "support/program.rs"]
mod program;
#[path = "support/refused.rs"]
mod refused;

use std::path::Path;
use std::process::Command;

use program::{Ended, Program};
use refused::USAGE;

/// A small offscreen run: the picture of frame 30.
const SMALL: &str = "--present offscreen --size 160x90 --frames 30";

/// The exit code for what the machine lacks.
const MACHINE: i32 = 1;

fn handover(arguments: &str) -> Ended {
    Program::start(arguments, |_, _| {}).end()
}

/// The run must end with this code, name all the words, and leave the folder as it was.
fn refused(arguments: &str, code: i32, words: &[&str]) {
    refused::refused(arguments, code, words, |_, _| {});
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
            "there are ",
            "gaussian, bloom, ",
            "vignette",
        ],
    );
    refused(
        &format!("{SMALL} --scene studioo --screenshot frame.png"),
        USAGE,
        &["studioo", "studio, none"],
    );
    refused("--processor gpu", USAGE, &["'gpu'", "auto, cuda, in-queue, host"]);
    refused("--schedule fast", USAGE, &["'fast'", "serial", "pipelined"]);
    for (setting, words) in [
        (
            "bloom.intensity",
            &["--set bloom.intensity", "EFFECT.PARAMETER=NUMBER"][..],
        ),
        ("bloom.intensity=much", &["EFFECT.PARAMETER=NUMBER"]),
        ("bloom.intensity=NaN", &["EFFECT.PARAMETER=NUMBER"]),
        (
            "lut.file=no/such.cube",
            &[
                "--set lut.file=no/such.cube",
                "no/such.cube: cannot be read as a colour table (.cube)",
            ],
        ),
        ("intensity=1", &["EFFECT.PARAMETER"]),
        ("blom.intensity=1", &["blom", "bloom"]),
        ("bloom.itensity=1", &["itensity", "intensity", "threshold"]),
        (
            "vignette.darkening=1.5",
            &["--set vignette.darkening=1.5", "darkening", "0", "1"],
        ),
    ] {
        refused(&format!("--present offscreen --set {setting}"), USAGE, words);
    }
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
        &["32768x1", "llvmpipe", "up to 16384x16384"],
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
    refused::refused(
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
    refused::refused(
        &format!("{run} taken"),
        USAGE,
        &["taken exists", "never overwrite"],
        |_, folder| std::fs::create_dir(folder.join("taken")).unwrap(),
    );
    refused::refused(
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
    refused::refused(&format!("{run} file/run"), USAGE, &["is not a folder"], |_, folder| {
        std::fs::write(folder.join("file"), "not a folder").unwrap();
    });
}

#[test]
fn a_window_without_a_display_is_refused() {
    for presenter in ["swapchain", "software"] {
        let arguments = format!("--present {presenter} --capture run");
        refused(&arguments, USAGE, &["need a display", "--present offscreen"]);
        refused::refused(&arguments, USAGE, &["no X server answers"], |command, _| {
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
        refused::refused(
            &arguments,
            MACHINE,
            &[
                "found no driver",
                "install the GPU's Vulkan driver",
                "mesa-vulkan-drivers",
            ],
            without_driver,
        );
        refused::refused(&arguments, MACHINE, &["Vulkan loader", "libvulkan1"], without_loader);
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
    for arguments in [
        &format!("{SMALL} --processor in-queue --capture run"),
        "selftest --processor in-queue",
        "bench --processors in-queue",
    ] {
        refused(
            arguments,
            MACHINE,
            &[
                "--processor in-queue cannot be: no CUDA driver library",
                "VK_NVX_binary_import and VK_NVX_image_view_handle",
                "use --processor cuda",
                "host, which runs everywhere",
            ],
        );
    }
}

#[test]
fn a_processor_in_the_queue_takes_no_schedule_and_has_no_signal_to_withhold() {
    for schedule in ["serial", "pipelined"] {
        refused(
            &format!("{SMALL} --processor in-queue --schedule {schedule}"),
            USAGE,
            &[
                "--schedule: the processor in-queue has one order only",
                "--processor cuda",
            ],
        );
    }
    refused(
        &format!("{SMALL} --processor in-queue --withhold-processed 5"),
        USAGE,
        &[
            "--withhold-processed: the processor in-queue signals nothing",
            "--processor cuda or host",
        ],
    );
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
    for device in &names {
        let missing = device["missing_for_in_queue"].to_string();
        let is_nvidia = device["driver"].as_str().unwrap().contains("NVIDIA");
        assert!(missing.contains("VK_NVX_binary_import") || is_nvidia, "{report}");
    }
    for part in ["vulkan_loader", "cuda_driver", "nvrtc", "display"] {
        assert!(report[part]["present"].is_boolean(), "{part}: {report}");
    }
    let text = handover("doctor");
    assert_eq!(text.code, Some(0));
    assert!(text.stdout.contains("for in-queue"), "{}", text.stdout);
    assert!(
        text.stdout
            .contains(&format!("chosen: {}", chosen["vulkan"].as_str().unwrap())),
        "{}",
        text.stdout
    );
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
        "report",
    ] {
        assert!(help.stdout.contains(words), "no `{words}`:\n{}", help.stdout);
    }
    let version = handover("--version");
    assert_eq!(version.stdout.trim(), concat!("handover ", env!("CARGO_PKG_VERSION")));
}
