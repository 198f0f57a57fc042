//! Chromium without a window, a network or a profile.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use image::RgbImage;
use serde_json::Value;
use tempfile::TempDir;

/// What distributions call it.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/// What a browser does by itself on its first start is left out, as far as that can be asked for.
const SILENT: [&str; 8] = [
    "--headless=new",
    // In containers there often is no way to make a sandbox; the pages are the test's own.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND",
];

/// A browser with a profile of its own.
pub struct Chromium {
    name: &'static str,
    folder: TempDir,
}

impl Chromium {
    /// Finds it.
    pub fn start() -> Self {
        let is_there = |name: &&str| {
            let version = Command::new(name)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            version.is_ok_and(|status| status.success())
        };
        let name = NAMES.into_iter().find(is_there);
        Self {
            name: name.expect("no Chromium; install chromium (Debian: apt install chromium)"),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn run(&self, arguments: &[&str], url: &str) -> String {
        let profile = format!("--user-data-dir={}", self.folder.path().join("profile").display());
        // A browser that hangs ends, and says so with 124.
        let output = Command::new("timeout")
            .args(["120", self.name])
            .args(SILENT)
            .arg(profile)
            .args(arguments)
            .arg(url)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {stderr}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }

    /// The page's elements as the browser has read them.
    pub fn dom(&self, url: &str) -> String {
        let dom = self.run(&["--dump-dom"], url);
        assert!(dom.contains("</html>"), "{dom}");
        dom
    }

    /// What the page looks like.
    pub fn picture(&self, url: &str, is_dark: bool) -> RgbImage {
        let path = self.folder.path().join("picture.png");
        let screenshot = format!("--screenshot={}", path.display());
        // 0 is dark, 1 is light.
        let scheme = format!("--blink-settings=preferredColorScheme={}", u8::from(!is_dark));
        self.run(
            &["--hide-scrollbars", "--window-size=1240,900", &scheme, &screenshot],
            url,
        );
        image::open(&path).unwrap().into_rgb8()
    }

    /// The requests that the page made beyond its own file. What the browser asks for by itself has no initiator.
    pub fn requests(&self, url: &str) -> Vec<String> {
        let path = self.folder.path().join("net.json");
        self.run(&[&format!("--log-net-log={}", path.display()), "--dump-dom"], url);
        requests_of_pages(&path)
    }
}

fn requests_of_pages(log: &Path) -> Vec<String> {
    let log: Value = serde_json::from_str(&fs::read_to_string(log).unwrap()).unwrap();
    let start = &log["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"];
    assert!(start.is_u64(), "the log has no such events");
    let events = log["events"].as_array().unwrap().iter();
    let starts = events.filter(|event| event["type"] == *start && event["params"]["url"].is_string());
    let by_pages = starts.filter(|event| event["params"]["initiator"] != "not an origin");
    by_pages
        .map(|event| event["params"]["url"].as_str().unwrap().to_owned())
        .collect()
}

/// How many texels below the first rows have this colour.
pub fn texels(picture: &RgbImage, colour: [u8; 3], first_row: u32) -> usize {
    let texels = picture
        .enumerate_pixels()
        .filter(|(_, row, texel)| *row >= first_row && texel.0 == colour);
    texels.count()
}
