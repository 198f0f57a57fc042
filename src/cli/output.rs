//! Standard output: results go there, messages go to standard error.

use std::fmt::Display;
use std::io::{ErrorKind, Write};

use anyhow::Context;

/// Prints a line. A reader that has gone, as in `handover doctor | head -1`, ends the output and not the program.
///
/// # Errors
/// Anything else that keeps it from being written, such as a full disk.
pub fn print(text: impl Display) -> anyhow::Result<()> {
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("write to standard output"),
        _ => Ok(()),
    }
}
