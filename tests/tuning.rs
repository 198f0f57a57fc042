//! Effects, their order, their parameters and presets: by keys in a window, and on the command line.
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

use driven::{Picture, Window};
use program::{Ended, Program};
use refused::{USAGE, refused};

/// A user without presets: a folder for settings that is in the program's.
fn own_settings(command: &mut Command, folder: &Path) {
    command.env("XDG_CONFIG_HOME", folder.join("settings"));
}

fn handover(arguments: &str, adjust: impl FnOnce(&mut Command, &Path)) -> Ended {
    Program::start(arguments, |command, folder| {
        own_settings(command, folder);
        adjust(command, folder);
    })
    .end()
}

/// The title once it has the words, which is set twice a second.
fn until_titled(window: &mut Window, words: &str) {
    window.until(words, |window| window.title().contains(words));
}

/// The picture of the chain, without the panel that a key shows for a while.
fn settled(window: &mut Window) -> Picture {
    window.press("Tab");
    let picture = window.steady_picture("the picture without the panel", None);
    window.press("Tab");
    picture
}

/// The picture must come to be this one, without the panel.
fn until_settled(window: &mut Window, what: &str, expected: &Picture) {
    window.press("Tab");
    window.until_shown(what, expected);
    window.press("Tab");
}

#[test]
fn keys_choose_and_change_order_parameters_and_presets() {
    let mut window = Window::open("software", "--kernels sobel,vignette", own_settings);
    window.pause();
    let first = settled(&mut window);
    window.press("bracketright");
    until_titled(&mut window, "| sobel.strength = 0.85 (0 to 1)");
    window.until("the panel", |window| window.picture() != first);
    window.keep("chosen");
    // The panel goes by itself.
    window.until_shown("the picture without the panel", &first);

    window.press("minus minus");
    until_titled(&mut window, "sobel.strength = 0.75 (0 to 1)");
    window.press("shift+minus");
    until_titled(&mut window, "sobel.strength = 0.25 (0 to 1)");
    let weaker = settled(&mut window);
    assert!(weaker != first, "a parameter changed and the picture did not");
    window.press("shift+minus");
    until_titled(&mut window, "sobel.strength = 0 (0 to 1)");
    window.press("BackSpace");
    until_titled(&mut window, "sobel.strength = 0.85 (0 to 1)");
    until_settled(&mut window, "the default", &first);

    // The order: edges of the darkened picture are others.
    window.press("shift+j");
    until_titled(&mut window, "vignette, sobel");
    let turned = settled(&mut window);
    assert!(turned != first, "another order shows the same picture");
    window.press("shift+k");
    until_titled(&mut window, "sobel, vignette");
    until_settled(&mut window, "the order of before", &first);

    // Effects without a key of their own are reached like all others.
    window.press("j");
    until_titled(&mut window, "| vignette.darkening");
    window.press("Return");
    until_titled(&mut window, "| vignette (off)");
    window.press("Return");
    until_titled(&mut window, "sobel, vignette");

    // Presets: the first of the list, saved under a name of its own, and found again after another.
    window.press("l");
    until_titled(&mut window, "tonemap, sobel, vignette");
    window.press("j j bracketright minus");
    window.press("F5");
    let saved = window
        .program
        .folder
        .path()
        .join("settings/handover/presets/preset-0001.toml");
    window.until("the preset's file", |_| saved.exists());
    let mine = settled(&mut window);
    window.press("l");
    window.until("the preset after it", |window| {
        window.program.stderr().matches("preset comic").count() == 2
    });
    window.press("shift+l");
    window.until("the saved preset", |window| {
        window.program.stderr().contains("INFO preset preset-0001\n")
    });
    until_settled(&mut window, "the saved preset", &mine);
    window.quit(&[
        "settings/",
        "settings/handover/",
        "settings/handover/presets/",
        "settings/handover/presets/preset-0001.toml",
    ]);
}

#[test]
fn a_saved_preset_shows_the_same_picture() {
    let run = "--present offscreen --processor host --size 160x90 --frames 3";
    let chain = "--kernels vignette,bloom,film_grain --set bloom.intensity=0.9 --set sobel.strength=0.5 --set film_grain.size=3";
    let made = handover(
        &format!("{run} {chain} --save-preset look.toml --screenshot a.png"),
        |_, _| {},
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert!(made.stdout.contains("preset: look.toml"), "{}", made.stdout);
    let text = fs::read_to_string(made.folder.path().join("look.toml")).unwrap();
    assert!(
        text.contains("effects = [\"vignette\", \"bloom\", \"film_grain\"]"),
        "{text}"
    );
    let copy = made.folder.path().join("look.toml");
    let loaded = handover(
        &format!("{run} --preset mine --save-preset again --screenshot b.png"),
        |_, folder| {
            let presets = folder.join("settings/handover/presets");
            fs::create_dir_all(&presets).unwrap();
            fs::copy(&copy, presets.join("mine.toml")).unwrap();
        },
    );
    assert_eq!(loaded.code, Some(0), "{}", loaded.stderr);
    let picture = |ended: &Ended, name: &str| fs::read(ended.folder.path().join(name)).unwrap();
    assert_eq!(picture(&made, "a.png"), picture(&loaded, "b.png"));
    let again = loaded.folder.path().join("settings/handover/presets/again.toml");
    assert_eq!(fs::read_to_string(again).unwrap(), text);
    // A parameter of the command line counts more than the preset's.
    let other = handover(
        &format!("{run} --preset film --set film_grain.amount=0 --save-preset c.toml"),
        |_, _| {},
    );
    let text = fs::read_to_string(other.folder.path().join("c.toml")).unwrap();
    assert!(text.contains("amount = 0.0"), "{text}");
}

#[test]
fn presets_are_listed_with_what_is_wrong_with_them() {
    let ended = handover("presets", |_, folder| {
        let presets = folder.join("settings/handover/presets");
        fs::create_dir_all(&presets).unwrap();
        fs::write(presets.join("mine.toml"), "title = \"Mine\"\neffects = [\"bloom\"]").unwrap();
        fs::write(presets.join("old.toml"), "effects = [\"blom\"]").unwrap();
    });
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for words in [
        "film     An old lens on grainy film (bloom, chromatic_aberration, tonemap, vignette, film_grain)",
        "mine     Mine (bloom)",
        "old      broken: ",
        "old.toml:1: no effect is called \"blom\" (did you mean \"bloom\"?)",
        "settings/handover/presets",
    ] {
        assert!(ended.stdout.contains(words), "no `{words}`:\n{}", ended.stdout);
    }
}

#[test]
fn what_is_wrong_with_a_preset_is_said_before_the_run() {
    let run = "--present offscreen --screenshot frame.png";
    let refuse = |arguments: &str, words: &[&str], text: &str| {
        refused(&format!("{run} {arguments}"), USAGE, words, |command, folder| {
            own_settings(command, folder);
            fs::write(folder.join("look.toml"), text).unwrap();
        });
    };
    let file = "--preset look.toml";
    refuse(
        "--preset flim",
        &[
            "\"flim\"",
            "did you mean \"film\"",
            "comic, crisp, dream, film, neutral",
        ],
        "",
    );
    refuse("--preset none.toml", &["none.toml", "No such file"], "");
    refuse(file, &["look.toml:1:", "expected effects = [ … ]"], "");
    refuse(
        file,
        &["look.toml:2:", "\"efects\"", "did you mean \"effects\""],
        "title = \"T\"\nefects = []",
    );
    let text = "effects = [\"bloom\"]\n\n[parameters.bloom]\nintensity = 9";
    refuse(file, &["look.toml:4:", "intensity = 9 is outside 0 to 4"], text);
    refuse("--preset film --kernels bloom", &["--preset", "--kernels"], "");
    refuse("--save-preset look.toml", &["look.toml exists", "not overwritten"], "");
    refuse("--save-preset none/look.toml", &["none does not exist"], "");
    refuse("--save-preset ./look.txt", &["must end in .toml"], "");
}
