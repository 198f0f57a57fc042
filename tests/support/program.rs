//! The whole program in a folder of its own, and what it leaves there.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A run that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(300);

/// The program, running in an empty folder without a display, unless it was given one.
pub struct Program {
    /// Where it runs.
    pub folder: TempDir,
    /// Where its output goes: not into the folder, which only the program writes to.
    logs: TempDir,
    child: Child,
}

/// How a run ended.
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub folder: TempDir,
}

impl Program {
    /// Starts it. `arguments` are parted by spaces; `adjust` may change the environment and fill the folder.
    pub fn start(arguments: &str, adjust: impl FnOnce(&mut Command, &Path)) -> Self {
        let (folder, logs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let log = |name| Stdio::from(File::create(logs.path().join(name)).unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_handover"));
        command
            .args(arguments.split_whitespace())
            .current_dir(folder.path())
            .env("XDG_CACHE_HOME", logs.path().join("cache"))
            .stdin(Stdio::null())
            .stdout(log("stdout"))
            .stderr(log("stderr"));
        for variable in ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "RUST_LOG"] {
            command.env_remove(variable);
        }
        adjust(&mut command, folder.path());
        let child = command.spawn().unwrap();
        Self { folder, logs, child }
    }

    /// What it has written to standard error so far.
    pub fn stderr(&self) -> String {
        std::fs::read_to_string(self.logs.path().join("stderr")).unwrap()
    }

    /// Fails when it has ended, which it was not asked to.
    #[allow(
        dead_code,
        reason = "only runs that are driven from outside are looked at while they last"
    )]
    pub fn expect_running(&mut self) {
        let status = self.child.try_wait().unwrap();
        assert!(status.is_none(), "it ended by itself, {status:?}:\n{}", self.stderr());
    }

    /// Ends it as it stands, and gives what it left.
    #[allow(dead_code, reason = "most runs end by themselves")]
    pub fn kill(mut self) -> TempDir {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap())
    }

    /// Waits for its end.
    pub fn end(mut self) -> Ended {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < LIMIT, "it does not end:\n{}", self.stderr());
            std::thread::sleep(Duration::from_millis(10));
        };
        let stderr = self.stderr();
        assert!(!stderr.contains("panicked"), "{stderr}");
        assert!(!stderr.contains('\u{1b}'), "a log in a file has colours: {stderr}");
        // The folder outlives the program; a name of its own keeps it from the drop below.
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
        Ended {
            code: status.code(),
            stdout: std::fs::read_to_string(self.logs.path().join("stdout")).unwrap(),
            stderr,
            folder,
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Everything below the folder, with `/` after folders, sorted.
pub fn entries(folder: &Path) -> Vec<String> {
    fn walk(folder: &Path, below: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = below.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                found.push(format!("{}/", name.display()));
                walk(&entry.path(), &name, found);
            } else {
                found.push(name.display().to_string());
            }
        }
    }
    let mut found = Vec::new();
    walk(folder, &PathBuf::new(), &mut found);
    found.sort();
    found
}
