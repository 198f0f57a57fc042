//! An effect's code with what it includes in it, to stand beside the code of others.
//!
//! Two effects may include files of one name from different folders, guard them alike, or give macros of one name different
//! meanings. So what is included by `"…"` is put in the place of the line, for each effect anew, and what it defines is undefined
//! behind it. What is included by `<…>` is the compiler's own and stands before all effects.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::kernels::Effect;

/// As deep as files may include others.
const DEEPEST: usize = 16;

/// The header, which all have together.
const HEADER: &str = "handover.cuh";

/// An effect's code by itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Whole {
    /// The code.
    pub code: String,
    /// Lines to stand before all effects.
    pub outside: BTreeSet<String>,
}

/// The effect's code with what it includes. A file that is not there is left to the compiler, which says so.
pub(super) fn whole(effect: &Effect) -> Whole {
    let mut expansion = Expansion::default();
    match &effect.folder {
        Some(folder) => expansion.add(&effect.code, folder, 0),
        // The program's own include nothing but the header.
        None => expansion.whole.code.clone_from(&effect.code),
    }
    for name in &expansion.defined {
        expansion.whole.code += &format!("#undef {name}\n");
    }
    expansion.whole
}

#[derive(Default)]
struct Expansion {
    whole: Whole,
    defined: BTreeSet<String>,
    /// Files that are there once: they say `#pragma once`.
    once: BTreeSet<PathBuf>,
}

impl Expansion {
    fn add(&mut self, text: &str, folder: &Path, depth: usize) {
        for line in text.lines() {
            let directive = line.trim_start().strip_prefix('#').map_or("", str::trim_start);
            if let Some(name) = directive.strip_prefix("define ") {
                let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
                let name = name.trim_start();
                let end = name.find(|letter| !is_part(letter)).unwrap_or(name.len());
                self.defined.insert(name[..end].to_owned());
            }
            let included = directive.strip_prefix("include").map(str::trim);
            let quoted = included.and_then(|name| name.strip_prefix('"')?.split_once('"'));
            // Lines stay as many as they were.
            match (included, quoted) {
                (_, Some((HEADER, _))) => self.whole.code += "\n",
                (_, Some((name, _))) if depth < DEEPEST && self.include(&folder.join(name), depth) => {}
                (Some(name), None) if name.starts_with('<') => {
                    self.whole.outside.insert(line.trim().to_owned());
                    self.whole.code += "\n";
                }
                _ if directive.split_whitespace().eq(["pragma", "once"]) => self.whole.code += "\n",
                _ => {
                    self.whole.code += line;
                    self.whole.code += "\n";
                }
            }
        }
    }

    /// Whether the file is there.
    fn include(&mut self, path: &Path, depth: usize) -> bool {
        let (Ok(text), Ok(file)) = (fs::read_to_string(path), fs::canonicalize(path)) else {
            return false;
        };
        let is_once = text.lines().any(|line| line.split_whitespace().eq(["#pragma", "once"]));
        if !is_once || self.once.insert(file) {
            self.add(&text, path.parent().unwrap_or(Path::new("")), depth + 1);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::catalogue;

    #[test]
    fn what_is_included_is_the_effect_s_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
        fs::create_dir(folder.path().join("more")).expect("made");
        write(
            "shared.cuh",
            "#pragma once\n#include \"more/deep.cuh\"\n#define SCALE 2.0f\nint shared;\n",
        );
        write("more/deep.cuh", "#ifndef DEEP\n#define DEEP\nint deep;\n#endif\n");
        let effect = Effect {
            folder: Some(folder.path().to_owned()),
            code: "#include \"handover.cuh\"\n#include <cuda_fp16.h>\n # include \"shared.cuh\"\n#include \"shared.cuh\"\n\
                   #include \"none.cuh\"\n#define ONE(x) x\nint own;\n"
                .into(),
            ..catalogue().by_name("exposure").expect("an effect").as_ref().clone()
        };
        let whole = whole(&effect);
        assert_eq!(whole.outside, BTreeSet::from(["#include <cuda_fp16.h>".to_owned()]));
        let expected = "\n\n\n#ifndef DEEP\n#define DEEP\nint deep;\n#endif\n#define SCALE 2.0f\nint shared;\n\
                        #include \"none.cuh\"\n#define ONE(x) x\nint own;\n#undef DEEP\n#undef ONE\n#undef SCALE\n";
        assert_eq!(whole.code, expected);
    }

    #[test]
    fn the_program_s_own_are_as_they_are() {
        for effect in catalogue().effects() {
            let expected = Whole {
                code: effect.code.clone(),
                outside: BTreeSet::new(),
            };
            assert_eq!(whole(effect), expected);
            let others = effect
                .code
                .lines()
                .filter(|line| line.starts_with('#') && !line.starts_with("#pragma unroll"));
            assert!(
                others
                    .clone()
                    .all(|line| !line.starts_with("#define") && !line.contains("<")),
                "{}",
                effect.name
            );
        }
    }
}
