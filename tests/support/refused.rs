//! Runs that must be refused.

use std::path::Path;
use std::process::Command;

use crate::program::{Ended, Program, entries};

/// The exit code of what the user asked for and cannot be.
pub const USAGE: i32 = 2;

/// The run must end with this code, name all the words on standard error, and leave its folder as `adjust` filled it.
pub fn refused(arguments: &str, code: i32, words: &[&str], adjust: impl FnOnce(&mut Command, &Path)) -> Ended {
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
    ended
}
