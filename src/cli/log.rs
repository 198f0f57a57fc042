//! Where messages go: standard error, without the clutter of a server's log.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// Starts logging: warnings by default, more with each `-v`; `RUST_LOG` overrides.
pub fn start(verbose: u8) {
    let level = match verbose {
        0 => "info,vulkan=warn",
        1 => "debug",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    // A second start (tests in one process) keeps the first logger.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(verbose > 0)
        .without_time()
        .try_init();
}
