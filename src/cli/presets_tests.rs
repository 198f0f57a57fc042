//! Tests of where presets are.

use super::*;
use crate::cli::UsageError;

fn chain() -> Chain {
    Chain::new(catalogue())
}

#[test]
fn every_preset_of_the_program_can_be_loaded_and_has_a_title() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/presets");
    let mut files: Vec<String> = fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .path()
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    files.sort();
    assert_eq!(files, SHIPPED.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for (name, text) in SHIPPED {
        let preset = Preset::read(name, text, &chain()).unwrap_or_else(|error| panic!("{error}"));
        assert!(
            preset.title.is_some() && !preset.chain.enabled_names().is_empty(),
            "{name}"
        );
    }
}

#[test]
fn the_user_s_files_are_listed_and_hide_the_program_s() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut presets = Presets::in_folder(Some(folder.path().to_owned()));
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    write("film.toml", "effects = [\"sobel\"]");
    write("mine.toml", "effects = [\"gaussian\"]");
    write("broken.toml", "effects = [\"gausian\"]");
    write("notes.txt", "nothing");
    assert_eq!(
        presets.load("film", &chain()).expect("loads").enabled_names(),
        ["sobel"]
    );
    assert_eq!(
        presets.load("mine", &chain()).expect("loads").enabled_names(),
        ["gaussian"]
    );
    assert_eq!(presets.all().len(), SHIPPED.len() + 2);
    // From the one after another; a broken one is said, changes nothing, and is passed.
    let mut names = Vec::new();
    for _ in 0..presets.all().len() {
        let loaded = presets.switch(1, &chain());
        names.push((presets.current.clone().expect("one is chosen"), loaded.is_some()));
    }
    assert_eq!(names[0], ("neutral".into(), true));
    assert!(names.contains(&("broken".into(), false)), "{names:?}");
    assert_eq!(names.last(), Some(&("mine".into(), true)));
    let error = presets.load("broken", &chain()).expect_err("broken");
    assert!(
        error
            .to_string()
            .contains("broken.toml:1: no effect is called \"gausian\" (did you mean \"gaussian\"?)")
    );
}

#[test]
fn unknown_names_and_files_that_are_none_are_refused() {
    let mut presets = Presets::in_folder(None);
    let mut message = |name: &str| {
        let error = presets.load(name, &chain()).expect_err("refused");
        assert!(error.is::<UsageError>());
        error.to_string()
    };
    let unknown = message("flim");
    assert!(
        unknown.starts_with("no preset is called \"flim\" (did you mean \"film\"?); there are comic, "),
        "{unknown}"
    );
    assert!(message("./flim.toml").starts_with("./flim.toml: "));
    assert!(message("flim.toml").starts_with("flim.toml: "));
    assert!(message("/dev/zero").contains("expected a TOML file"));
    assert!(message("/").contains("expected a TOML file"));
}

#[test]
fn what_is_saved_takes_the_next_free_name_and_loads_again() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join("handover/presets");
    let mut presets = Presets::in_folder(Some(folder.clone()));
    let mut chain = Chain::with_enabled(catalogue(), &["bloom", "sharpen"]).expect("known");
    chain.set("bloom.intensity", 0.35).expect("in range");
    assert_eq!(
        presets.save_next(&chain).expect("saved"),
        folder.join("preset-0001.toml")
    );
    fs::write(folder.join("preset-0002.toml"), "mine").expect("written");
    assert_eq!(
        presets.save_next(&chain).expect("saved"),
        folder.join("preset-0003.toml")
    );
    assert_eq!(
        fs::read_to_string(folder.join("preset-0002.toml")).expect("read"),
        "mine"
    );
    let loaded = presets.load("preset-0003", &chain).expect("loads");
    assert_eq!(loaded.enabled_names(), ["bloom", "sharpen"]);
    assert_eq!(loaded.get("bloom.intensity"), chain.get("bloom.intensity"));
    assert_eq!(fs::read_dir(&folder).expect("the folder").count(), 3);
}

#[test]
fn a_path_for_a_new_preset_is_checked_before_the_run() {
    let home = tempfile::tempdir().expect("a folder");
    let presets = Presets::in_folder(Some(home.path().join("presets")));
    assert_eq!(
        presets.check_new("mine").expect("free"),
        home.path().join("presets/mine.toml")
    );
    let path = |name: &str| home.path().join(name).display().to_string();
    assert!(presets.check_new(&path("mine.toml")).is_ok());
    fs::write(path("taken.toml"), "").expect("written");
    let message = |name: &str| presets.check_new(name).expect_err("refused").to_string();
    assert!(message(&path("taken.toml")).ends_with("exists, and presets are not overwritten"));
    assert!(message(&path("mine.txt")).contains("must end in .toml"));
    assert!(message(&path("none/mine.toml")).contains("does not exist"));
    assert!(message("").contains("expected a name"));
    let nowhere = Presets::in_folder(None)
        .check_new("mine")
        .expect_err("refused")
        .to_string();
    assert!(nowhere.contains("XDG_CONFIG_HOME"), "{nowhere}");
}
