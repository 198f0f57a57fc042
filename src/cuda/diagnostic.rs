//! NVRTC's log, read: each error and warning with its file, line and column.

use std::fmt::{self, Display, Formatter};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// It did not compile.
    Error,
    /// It compiled.
    Warning,
    /// More about the one before.
    Note,
}

/// One message of the compiler's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file, as it was named to the compiler or found by it.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters. NVRTC before 12.3 tells none: then it is that of the name which the message quotes, where the
    /// line has it, and `None` where it has not.
    pub column: Option<usize>,
    /// How bad it is.
    pub severity: Severity,
    /// NVRTC's text.
    pub text: String,
}

impl Display for Diagnostic {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { file, line, text, .. } = self;
        let column = self.column.map_or_else(String::new, |column| format!(":{column}"));
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        write!(formatter, "{file}:{line}{column}: {severity}: {text}")
    }
}

/// What comes before the source line that a message shows, and before the caret below it.
const INDENT: usize = 2;

/// Reads a log. `source` is the text of the file called `name`.
pub(super) fn parse(log: &str, name: &str, source: &str) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    let mut shown: Option<&str> = None;
    for line in log.lines() {
        if let Some(diagnostic) = head(line) {
            found.push(diagnostic);
            shown = None;
        } else if line.trim().is_empty() {
            shown = None;
        } else if let Some(last) = found.last_mut() {
            if line.trim() == "^" {
                last.column = shown.and_then(|shown| column_of(shown, line.find('^')?));
            } else {
                // The source line, or one that goes on with the message, such as the types of arguments.
                shown = Some(line);
            }
        }
    }
    for diagnostic in found
        .iter_mut()
        .filter(|diagnostic| diagnostic.column.is_none() && diagnostic.file == name)
    {
        let line = source.lines().nth(diagnostic.line.saturating_sub(1));
        diagnostic.column = line.and_then(|line| place_of_quoted(line, &diagnostic.text));
    }
    found
}

/// `FILE(LINE): error: TEXT`, `FILE(LINE): warning #177-D: TEXT`
fn head(line: &str) -> Option<Diagnostic> {
    let (place, rest) = line.split_once("): ")?;
    let (file, number) = place.rsplit_once('(')?;
    let (kind, text) = rest.split_once(": ")?;
    let severity = match kind.split(" #").next()? {
        "error" | "catastrophic error" | "internal error" => Severity::Error,
        "warning" | "remark" => Severity::Warning,
        "note" => Severity::Note,
        _ => return None,
    };
    Some(Diagnostic {
        file: file.to_owned(),
        line: number.parse().ok()?,
        column: None,
        severity,
        text: text.to_owned(),
    })
}

/// The column of a caret: it counts bytes of the line above it, and tabs are tabs in both.
fn column_of(shown: &str, caret: usize) -> Option<usize> {
    let source = shown.get(INDENT..)?;
    let before = source.get(..caret.checked_sub(INDENT)?)?;
    Some(before.chars().count() + 1)
}

/// Where the line has the first name that the text quotes, as a word of its own.
fn place_of_quoted(line: &str, text: &str) -> Option<usize> {
    let quoted = text.split('"').nth(1).filter(|quoted| !quoted.is_empty())?;
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let places = line.match_indices(quoted);
    let mut whole = places.filter(|(at, found)| {
        let before = line[..*at].chars().next_back();
        let after = line[at + found.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    });
    whole.next().map(|(at, _)| line[..at].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As NVRTC 12.9 writes it.
    const WITH_CARETS: &str = "\
dir/bad.cu(4): error: identifier \"foo\" is undefined
  \t    int2 at = thread_texel();  foo = 3; \t bar(at);
  \t                               ^

dir/bad.cu(7): error: identifier \"zz\" is undefined
      int ü = 3; zz = 3;
                  ^

dir/bad.cu(9): warning #177-D: variable \"unused\" was declared but never referenced
      int unused;
          ^

Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"

dir/bad.cu(12): error: no instance of function template \"second_of\" matches the argument list
            argument types are: (void (*)(Pass))
  using P = decltype(second_of(&::edge));
                     ^
dir/more.cuh(2): note #3327-D: candidate function template failed deduction
  template <class P> __device__ P second_of(void (*)(Pass, P));
                                  ^

3 errors detected in the compilation of \"dir/bad.cu\".
";

    #[test]
    fn carets_give_columns() {
        let found = parse(WITH_CARETS, "dir/bad.cu", "");
        let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "dir/bad.cu:4:33: error: identifier \"foo\" is undefined",
                "dir/bad.cu:7:16: error: identifier \"zz\" is undefined",
                "dir/bad.cu:9:9: warning: variable \"unused\" was declared but never referenced",
                "dir/bad.cu:12:20: error: no instance of function template \"second_of\" matches the argument list",
                "dir/more.cuh:2:33: note: candidate function template failed deduction",
            ]
        );
    }

    #[test]
    fn without_carets_the_quoted_name_gives_the_column() {
        // As NVRTC 12.0 writes it.
        let log = "a (b).cu(2): error: identifier \"foo\" is undefined\n\n\
                   a (b).cu(3): catastrophic error: cannot open source file \"beside.cuh\"\n\n\
                   a (b).cu(9): error: expected a \";\"\n\n\
                   1 catastrophic error detected in the compilation of \"a (b).cu\".\nCompilation terminated.\n";
        let source = "first\n  food = foo;\n#include \"beside.cuh\"\n";
        let found = parse(log, "a (b).cu", source);
        assert_eq!(
            found.iter().map(|one| (one.line, one.column)).collect::<Vec<_>>(),
            [(2, Some(10)), (3, Some(11)), (9, None)]
        );
        assert_eq!(found[2].to_string(), "a (b).cu:9: error: expected a \";\"");
    }

    #[test]
    fn no_log_makes_it_panic() {
        for log in [
            "",
            "^",
            "(): : ",
            "a(x): error: b",
            "a(1): error: b\n^\n",
            "a(1): error: b\nü\n ^",
            "a(1): error: b\n\u{301}\n  ^",
        ] {
            let _ = parse(log, "a", "");
        }
    }
}
