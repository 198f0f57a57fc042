//! An X server without a screen, on a display number that is free.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A running Xvfb; it ends with this.
pub struct Xvfb {
    /// For `DISPLAY`.
    pub display: String,
    server: Child,
}

impl Xvfb {
    /// Starts it; `options` follow its own.
    pub fn start(options: &[&str]) -> Self {
        // The server chooses the number and writes it when it accepts connections.
        let mut server = Command::new("Xvfb")
            .args([
                "-displayfd",
                "1",
                "-screen",
                "0",
                "1280x800x24",
                "-nolisten",
                "tcp",
                "-noreset",
            ])
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("start Xvfb: {error}\n  install xvfb (Debian, Ubuntu: apt install xvfb)"));
        let mut number = String::new();
        let stdout = server.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut number).unwrap();
        let number = number.trim();
        assert!(!number.is_empty(), "Xvfb ended before it was ready");
        Self {
            display: format!(":{number}"),
            server,
        }
    }
}

impl Drop for Xvfb {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
