//! Kernels that are written while the program runs. No GPU runs them here: they are compiled, and what is wrong is shown.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

#[path = "support/driven.rs"]
#[expect(dead_code, reason = "the test of the view uses the rest")]
mod driven;
#[path = "support/program.rs"]
mod program;
#[path = "support/refused.rs"]
mod refused;
#[path = "support/xvfb.rs"]
mod xvfb;

use std::fs;
use std::path::Path;
use std::process::Command;

use driven::Window;
use handover::cuda::{Driver, Nvrtc};
use program::Program;
use refused::{USAGE, refused};

const GOOD: &str = r#"/*---
title = "Glow"
stage = "look"

[[parameters]]
name = "amount"
unit = ""
minimum = 0.0
maximum = 1.0
default = 0.5
step = 0.05
type = "f32"

[[passes]]
entry = "glow"
source = "input"
destination = "output"
---*/
#include "handover.cuh"
#include "shared.cuh"

struct GlowParameters {
    float amount;
};

extern "C" __global__ void glow(const __grid_constant__ Pass pass, const __grid_constant__ GlowParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    store(pass.destination, at, load(pass.source, at.x, at.y) * (STRENGTH * parameters.amount));
}
"#;

/// The checks of what is compiled need a compiler.
fn has_nvrtc() -> bool {
    let is_there = Nvrtc::get().is_some();
    assert!(
        is_there || std::env::var_os("HANDOVER_NEED_NVRTC").is_none(),
        "no NVRTC"
    );
    if !is_there {
        println!("skipped: there is no NVRTC");
    }
    is_there
}

fn with_kernels(command: &mut Command, folder: &Path) {
    command.env("XDG_CONFIG_HOME", folder.join("settings"));
    let kernels = folder.join("mine");
    fs::create_dir(&kernels).unwrap();
    fs::write(kernels.join("glow.cu"), GOOD).unwrap();
    fs::write(kernels.join("shared.cuh"), "#define STRENGTH 2.0f\n").unwrap();
}

#[test]
fn what_is_wrong_with_a_saved_kernel_is_in_the_window_until_it_is_put_right() {
    if !has_nvrtc() {
        return;
    }
    let mut window = Window::open("software", "--kernels ./mine,sobel", with_kernels);
    let plain = window.pause();
    let mine = window.program.folder.path().join("mine");
    let title = |window: &mut Window, words: &str, is_there: bool| {
        window.until(words, |window| window.title().contains(words) == is_there);
    };
    let log = |window: &mut Window, words: &str, count: usize| {
        window.until(words, |window| window.program.stderr().matches(words).count() == count);
    };
    log(&mut window, "mine/glow.cu: compiled in ", 1);
    // Broken, by a write in place.
    fs::write(mine.join("glow.cu"), GOOD.replace("STRENGTH *", "STRENGHT *")).unwrap();
    title(&mut window, "| ./mine/glow.cu cannot be used", true);
    let message = "mine/glow.cu:29:66: error: identifier \"STRENGHT\" is undefined";
    log(&mut window, message, 1);
    window.until("the message", |window| window.picture() != plain);
    window.keep("live_problem");
    // Put right, by a file that is renamed over it.
    fs::write(mine.join("glow.cu~"), GOOD).unwrap();
    fs::rename(mine.join("glow.cu~"), mine.join("glow.cu")).unwrap();
    title(&mut window, "cannot be used", false);
    window.until_shown("the picture without the message", &plain);
    log(&mut window, "mine/glow.cu: compiled in ", 2);
    // The front matter and the struct are not the same.
    fs::write(
        mine.join("glow.cu"),
        GOOD.replace("name = \"amount\"", "name = \"strength\""),
    )
    .unwrap();
    title(&mut window, "cannot be used", true);
    log(&mut window, "has no member `float strength`", 1);
    // What it includes is broken, and put right.
    fs::write(mine.join("glow.cu"), GOOD).unwrap();
    title(&mut window, "cannot be used", false);
    fs::write(mine.join("shared.cuh"), "#define STRENGTH (2.0f\n").unwrap();
    title(&mut window, "cannot be used", true);
    fs::write(mine.join("shared.cuh"), "#define STRENGTH 3.0f\n").unwrap();
    title(&mut window, "cannot be used", false);
    // A new file is a new effect, which J reaches.
    fs::write(
        mine.join("shine.cu"),
        GOOD.replace("glow", "shine")
            .replace("GlowParameters", "ShineParameters"),
    )
    .unwrap();
    log(&mut window, "mine/shine.cu: compiled in ", 1);
    for _ in 0..60 {
        window.press("j");
    }
    window.until("shine or another effect", |window| window.title().contains("| "));
    window.quit(&["mine/", "mine/glow.cu", "mine/shared.cuh", "mine/shine.cu"]);
}

#[test]
fn a_kernel_without_a_reference_does_not_run_on_the_host_and_is_told() {
    if !has_nvrtc() {
        return;
    }
    let run = "--present offscreen --processor host --size 160x90 --frames 2 --screenshot frame.png";
    let picture = |arguments: &str| {
        let ended = Program::start(&format!("{run} {arguments}"), with_kernels).end();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        (fs::read(ended.folder.path().join("frame.png")).unwrap(), ended.stderr)
    };
    let (plain, _) = picture("--kernels sobel");
    let (same, log) = picture("--kernels sobel,glow --kernel mine/glow.cu --set glow.amount=0.7");
    assert!(plain == same, "a kernel that cannot run changed the picture");
    assert!(
        log.contains("glow does not run: it has no reference on the CPU, and this needs CUDA"),
        "{log}"
    );
    // A file in the place of one of the program's own: not even then.
    let (same, log) = picture("--kernels ./mine,sobel,glow");
    assert!(plain == same && log.contains("glow does not run"), "{log}");
}

#[test]
fn files_and_names_that_cannot_be_are_refused_before_the_run() {
    let run = "--present offscreen --screenshot frame.png";
    let refuse = |arguments: &str, words: &[&str]| {
        refused(&format!("{run} {arguments}"), USAGE, words, with_kernels);
    };
    refuse("--kernel none.cu", &["none.cu", "No such file"]);
    refuse("--kernel mine", &["mine", "ends in .cu"]);
    refuse("--kernels ./none", &["./none", "No such file"]);
    refuse("--kernels mine/glow.cu", &["mine/glow.cu", "expected a folder"]);
    refuse(
        "--kernel mine/glow.cu --kernels glov",
        &["\"glov\"", "did you mean \"glow\"?"],
    );
    refuse(
        "--kernel mine/glow.cu --set glow.amount=2",
        &["amount = 2 is outside 0 to 1"],
    );
    refuse(
        "--kernel mine/glow.cu --set glow.amont=1",
        &["did you mean \"amount\"?"],
    );
}

#[test]
fn the_self_test_of_live_kernels_needs_cuda_and_says_so() {
    if Driver::load().is_ok() {
        println!("skipped: there is a CUDA driver");
        return;
    }
    let ended = Program::start("selftest live --saves 4", |_, _| {}).end();
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert!(
        ended.stdout.contains("SKIP") && ended.stdout.contains("CUDA"),
        "{}",
        ended.stdout
    );
}
