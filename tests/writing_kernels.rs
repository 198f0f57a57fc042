//! Follows the guide to writing kernels: what it says is in files is compiled, and what it says is typed is understood.
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

use std::path::Path;

use clap::Parser;
use handover::cli::Cli;
use handover::cuda::Nvrtc;
use handover::kernels::{Binary, Stage};
use handover::live::build;

const GUIDE: &str = include_str!("../docs/writing-kernels.md");

/// The blocks of a language, in their order.
fn blocks(language: &str) -> Vec<&'static str> {
    let start = format!("```{language}\n");
    let parts = GUIDE.split(start.as_str()).skip(1);
    parts.map(|part| part.split_once("```").unwrap().0).collect()
}

#[test]
fn every_file_of_the_guide_becomes_an_effect() {
    let is_there = Nvrtc::get().is_some();
    assert!(
        is_there || std::env::var_os("HANDOVER_NEED_NVRTC").is_none(),
        "no NVRTC"
    );
    if !is_there {
        println!("skipped: there is no NVRTC");
        return;
    }
    let files = blocks("c++");
    assert_eq!(files.len(), 4);
    let path = Path::new("warmth.cu");
    for (text, parameters) in files.iter().zip([0, 0, 1, 0]) {
        let built = build(path, text, (7, 5)).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
        let effect = built.effect;
        assert_eq!((effect.name.as_str(), effect.stage), ("warmth", Stage::Grade));
        assert_eq!(effect.parameters.len(), parameters);
        assert!(matches!(effect.binary, Some(Binary::Cubin(_))));
        assert!(built.warnings.is_empty(), "{:?}", built.warnings);
    }
    // What the guide says to try: a semicolon less is told with its line, in the window's words.
    let broken = files[1].replace("0.7f * color.z, color.w);", "0.7f * color.z, color.w)");
    let problem = build(path, &broken, (7, 5)).unwrap_err().to_string();
    let line = 1 + broken[..broken.find("return make_float4").unwrap()]
        .matches('\n')
        .count();
    assert!(
        [line, line + 1]
            .iter()
            .any(|line| problem.starts_with(&format!("warmth.cu:{line}"))),
        "{problem}"
    );
    assert!(problem.contains("expected a \";\""), "{problem}");
}

#[test]
fn every_command_of_the_guide_is_understood() {
    let commands: Vec<&str> = blocks("sh").into_iter().flat_map(str::lines).collect();
    assert!(commands.len() >= 4, "{commands:?}");
    for command in commands {
        Cli::try_parse_from(command.split_whitespace())
            .map(drop)
            .unwrap_or_else(|error| panic!("{command}\n{error}"));
    }
}

#[test]
fn every_key_of_the_guide_is_in_the_table() {
    let keys = handover::app::text_table();
    for (label, meaning) in [
        ("J ", "next effect"),
        ("K ", "effect before"),
        ("Enter", "switch the chosen effect"),
        ("Shift+J", "later"),
        ("Shift+K", "earlier"),
        ("] ", "parameter"),
        ("=, +", "ten steps"),
        ("Backspace", "default"),
        ("F5", "preset"),
        ("L ", "preset"),
    ] {
        let found = keys
            .lines()
            .any(|line| line.trim_start().starts_with(label) && line.contains(meaning));
        assert!(found, "{label}: {meaning}\n{keys}");
    }
}
