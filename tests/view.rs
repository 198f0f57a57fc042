//! The whole program in a window, driven by keys and resizes as a user does, with the validation layer watching.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

#[path = "support/driven.rs"]
mod driven;
#[path = "support/program.rs"]
mod program;
#[path = "support/table.rs"]
mod table;
#[path = "support/xvfb.rs"]
mod xvfb;

use driven::{EXTENT, Picture, Window};
use program::Program;
use table::Table;
use xvfb::Xvfb;

/// Names of the effects by key, from 1.
const EFFECTS: [&str; 8] = [
    "exposure",
    "gaussian",
    "bloom",
    "chromatic_aberration",
    "tonemap",
    "sobel",
    "sharpen",
    "vignette",
];

/// Each key changes the picture, and pressed again brings back the bytes of before.
fn toggle_effects(window: &mut Window, plain: &Picture, places: &[usize]) {
    for place in places {
        let (key, name) = (place.to_string(), EFFECTS[place - 1]);
        window.press(&key);
        window.until(name, |window| window.picture() != *plain);
        let differing = window.picture().differences(plain);
        assert!(
            differing > plain.texels.len() / 100,
            "{name} changed {differing} texels only"
        );
        window.keep(name);
        window.press(&key);
        window.until_shown(&format!("the picture without {name}"), plain);
    }
}

/// Solo is the picture of the effect alone, bypass that of none.
fn solo_and_bypass(window: &mut Window, plain: &Picture) {
    window.press("6");
    let edges = window.steady_picture("edges", Some(plain));
    window.press("5");
    let both = window.steady_picture("edges and the tone map", Some(&edges));
    assert!(both != *plain, "two effects show the scene without any");
    window.press("shift+6");
    window.until_shown("edges alone", &edges);
    window.press("shift+6");
    window.until_shown("both again", &both);
    window.press("b");
    window.until_shown("the bypassed picture", plain);
    window.press("0");
    window.until_shown("both after the bypass", &both);
    window.press("5");
    window.until_shown("edges after the tone map was switched off", &edges);
    window.press("6");
    window.until_shown("the picture without effects", plain);
}

/// F2 starts a capture, and F2 ends it; its table is whole then.
fn capture(window: &mut Window, folder: &str) {
    window.press("7");
    window.press("F2");
    window.until("the title of a capture", |window| window.title().contains("capturing"));
    window.press("F2");
    window.until("the title without a capture", |window| {
        !window.title().contains("capturing")
    });
    window.press("7");
    let table = Table::read(&window.program.folder.path().join(folder).join("frames.csv"));
    table.check(&["sharpen"]);
    table.check_waits();
    assert!(table.rows.len() >= 2, "{} rows", table.rows.len());
    for column in ["scene_ms", "sharpen_ms", "present_gpu_ms", "latency_ms", "acquire_ms"] {
        for value in table.column(column) {
            assert!(value.parse::<f64>().unwrap() > 0.0, "{column}: {value}");
        }
    }
}

/// Through many sizes; every fifth is the first again, and must show the first picture again.
fn resize(window: &mut Window, plain: &Picture, times: u32) {
    for step in 1..=times {
        let [width, height] = if step % 5 == 0 {
            EXTENT
        } else {
            [(97 + step * 53 % 400) as u16, (61 + step * 37 % 300) as u16]
        };
        window.xdotool(&format!("windowsize {} {width} {height}", window.id));
        if step % 5 == 0 {
            window.until_shown(&format!("the picture after {step} resizes"), plain);
        }
    }
}

/// The picture that a key writes is the one in the window.
fn save(window: &mut Window, file: &str) {
    window.press("p");
    let path = window.program.folder.path().join(file);
    window.until("a picture file", |_| path.exists());
    assert!(
        Picture::read(&path) == window.picture(),
        "{file} is not what the window shows"
    );
}

/// Another scene, and back.
fn switch_scene(window: &mut Window, plain: &Picture) {
    window.press("n");
    window.until("another scene", |window| window.picture() != *plain);
    window.keep("next_scene");
    window.press("shift+n");
    window.until_shown("the first scene again", plain);
}

/// I and Tab show and hide the overlay; hidden, it leaves nothing behind.
fn overlay(window: &mut Window, plain: &Picture) {
    window.press("i");
    window.until("the overlay", |window| window.picture() != *plain);
    let differing = window.picture().differences(plain);
    assert!(
        differing > plain.texels.len() / 2,
        "the overlay is {differing} texels only"
    );
    window.keep("overlay");
    window.press("Tab");
    window.until_shown("the picture without anything over it", plain);
    window.press("Tab");
    window.until("the overlay again", |window| window.picture() != *plain);
    window.press("i");
    window.until_shown("the picture without the overlay", plain);
    // What is hidden with all else is shown when it is asked for.
    window.press("Tab");
    window.press("i");
    window.until("the overlay in spite of Tab", |window| window.picture() != *plain);
    window.press("i");
    window.until_shown("the picture without the overlay again", plain);
}

#[test]
fn a_swapchain_shows_what_keys_and_resizes_ask_for() {
    let mut window = Window::open("swapchain", "--kernels none", |_, _| {});
    let plain = window.pause();
    assert_eq!(plain.extent, EXTENT);
    window.keep("plain");
    toggle_effects(&mut window, &plain, &[1, 2, 3, 4, 5, 6, 7, 8]);
    solo_and_bypass(&mut window, &plain);
    switch_scene(&mut window, &plain);
    overlay(&mut window, &plain);
    save(&mut window, "handover-0001.png");
    capture(&mut window, "handover-0001");
    resize(&mut window, &plain, 50);
    capture(&mut window, "handover-0002");
    window.press("space");
    window.until("moving on", |window| window.picture() != plain);
    window.quit(&[
        "handover-0001.png",
        "handover-0001/",
        "handover-0001/capture.json",
        "handover-0001/frames.csv",
        "handover-0001/trace.pftrace",
        "handover-0002/",
        "handover-0002/capture.json",
        "handover-0002/frames.csv",
        "handover-0002/trace.pftrace",
    ]);
}

#[test]
fn software_shows_what_keys_and_resizes_ask_for() {
    let mut window = Window::open("software", "--kernels none", |_, _| {});
    let plain = window.pause();
    window.keep("software_plain");
    toggle_effects(&mut window, &plain, &[3, 5]);
    overlay(&mut window, &plain);
    save(&mut window, "handover-0001.png");
    capture(&mut window, "handover-0001");
    resize(&mut window, &plain, 15);
    window.quit(&[
        "handover-0001.png",
        "handover-0001/",
        "handover-0001/capture.json",
        "handover-0001/frames.csv",
        "handover-0001/trace.pftrace",
    ]);
}

#[test]
fn copy_back_shows_what_keys_and_resizes_ask_for() {
    for presenter in ["software", "swapchain"] {
        let mut window = Window::open(presenter, "--kernels none --schedule copy-back", |_, _| {});
        let plain = window.pause();
        window.keep(&format!("copy_back_{presenter}"));
        toggle_effects(&mut window, &plain, &[5]);
        overlay(&mut window, &plain);
        save(&mut window, "handover-0001.png");
        capture(&mut window, "handover-0001");
        resize(&mut window, &plain, 10);
        window.quit(&[
            "handover-0001.png",
            "handover-0001/",
            "handover-0001/capture.json",
            "handover-0001/frames.csv",
            "handover-0001/trace.pftrace",
        ]);
    }
}

#[test]
fn a_server_that_ends_with_its_last_client_lasts_until_the_window() {
    // Whoever looks for the display and leaves before the window opens takes such a server with it. One that resets
    // instead, as X servers do by default, refuses clients for a while.
    let server = Xvfb::start(&["-terminate"]);
    let program = Program::start("--processor host --size 64x36 --frames 3", |command, _| {
        command.env("DISPLAY", &server.display);
    });
    let ended = program.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("frames: 3"), "{}", ended.stdout);
}
