//! `handover report`: its numbers against numpy's and CapFrameX's definitions, and what it refuses.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

#[path = "support/program.rs"]
mod program;
#[path = "support/refused.rs"]
mod refused;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use program::{Ended, Program, entries};
use refused::USAGE;
use serde_json::Value;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/report")
}

/// Runs it in a folder that `fill` prepares; `{F}` stands for the fixtures.
fn report(arguments: &str, fill: impl FnOnce(&Path)) -> Ended {
    let arguments = arguments.replace("{F}", fixtures().to_str().unwrap());
    Program::start(&format!("report {arguments}"), |_, folder| fill(folder)).end()
}

/// The text of a fixture's table.
fn table(name: &str) -> String {
    fs::read_to_string(fixtures().join(name).join("frames.csv")).unwrap()
}

/// Makes a capture's folder.
fn capture(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    fs::create_dir(folder.join(name)).unwrap();
    fs::write(folder.join(name).join("frames.csv"), text).unwrap();
}

/// It must end with the user's exit code, name all the words, print nothing and leave everything as it was.
fn refused(arguments: &str, words: &[&str], fill: impl FnOnce(&Path)) {
    let arguments = arguments.replace("{F}", fixtures().to_str().unwrap());
    let arguments = format!("report {arguments}");
    let ended = refused::refused(&arguments, USAGE, words, |_, folder| fill(folder));
    assert_eq!(ended.stdout, "", "{arguments}");
}

/// Every number of `expected` must be in `found`, to nine digits.
fn assert_same(found: &Value, expected: &Value, place: &str) {
    match expected {
        Value::Object(entries) => {
            for (key, value) in entries {
                assert_same(&found[key], value, &format!("{place}.{key}"));
            }
        }
        Value::Array(items) => {
            assert_eq!(found.as_array().map(Vec::len), Some(items.len()), "{place}");
            for (index, item) in items.iter().enumerate() {
                assert_same(&found[index], item, &format!("{place}[{index}]"));
            }
        }
        Value::Number(number) => {
            let (found, expected) = (found.as_f64().unwrap_or(f64::NAN), number.as_f64().unwrap());
            let is_close = (found - expected).abs() <= 1e-9 * expected.abs().max(1.0);
            assert!(is_close, "{place}: found {found}, expected {expected}");
        }
        other => assert_eq!(found, other, "{place}"),
    }
}

#[test]
fn numbers_are_numpys_and_capframexs() {
    let ended = report("{F}/steady {F}/spiky/frames.csv --json", |_| {});
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    let expected: Value = serde_json::from_str(include_str!("fixtures/report/expected.json")).unwrap();
    for (index, name) in ["steady", "spiky"].into_iter().enumerate() {
        let (found, expected) = (&found["captures"][index], &expected[name]);
        assert!(found["name"].as_str().unwrap().ends_with(name));
        assert_same(&found["frames"], &expected["frames"], name);
        assert_same(&found["rates"], &expected["rates"], name);
        let stages = expected["stages"].as_object().unwrap();
        assert_eq!(found["stages"].as_array().unwrap().len(), stages.len());
        for (column, expected) in stages {
            let mut stages = found["stages"].as_array().unwrap().iter();
            let stage = stages.find(|stage| stage["column"] == *column).unwrap();
            let place = format!("{name}: {column}");
            if expected.is_null() {
                assert!(stage["summary"].is_null() && stage["histogram"].is_null(), "{place}");
                continue;
            }
            let mut expected = expected.clone();
            let histogram = expected.as_object_mut().unwrap().remove("histogram").unwrap();
            assert_same(&stage["histogram"], &histogram, &place);
            assert_same(&stage["summary"], &expected, &place);
        }
    }
}

#[test]
fn a_report_says_what_the_run_said() {
    let arguments = "--present offscreen --processor host --gpu llvmpipe --size 64x36 --frames 40 --capture run";
    let run = Program::start(arguments, |_, _| {}).end();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    // Where the capture went is said before its table.
    let table = &run.stdout[run.stdout.find("frames: 40\n").unwrap()..];
    let ended = report(run.folder.path().join("run").to_str().unwrap(), |_| {});
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let (head, again) = ended.stdout.split_at(ended.stdout.find("frames: 40\n").unwrap());
    assert!(head.lines().next().unwrap().ends_with("run"), "{head}");
    assert_eq!(again, table);
}

#[test]
fn two_captures_are_compared_and_what_is_not_the_same_is_named() {
    let ended = report("{F}/steady {F}/spiky", |_| {});
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let text = &ended.stdout;
    let line = |start: &str| {
        text.lines()
            .rfind(|line| line.trim_start().starts_with(start))
            .unwrap()
            .to_owned()
    };
    assert!(
        text.contains("effects that ran: bloom, tonemap against bloom, tonemap, sobel"),
        "{text}"
    );
    // The spikes are too few to move the median's interval, and the frames are longer by about 5.0 - 4.2 ms.
    assert!(line("frame time").contains("differs"), "{text}");
    // Drawn from the same distribution in both.
    assert_eq!(
        line("hand-over, CUDA to Vulkan").matches("no difference seen").count(),
        2,
        "{text}"
    );
    assert!(
        text.contains("sobel: measured in") && text.contains("spiky only"),
        "{text}"
    );
    assert!(text.contains("1000 resamples, blocks of 7 and 6 frames"), "{text}");
    assert_eq!(report("{F}/steady {F}/spiky", |_| {}).stdout, *text, "not reproducible");
}

#[test]
fn a_capture_does_not_differ_from_itself() {
    let ended = report("{F}/spiky {F}/spiky --json", |_| {});
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    let comparison = &found["comparison"];
    assert_eq!(comparison["conditions"], serde_json::json!([]));
    for stage in comparison["stages"].as_array().unwrap() {
        for centre in ["mean", "median"] {
            assert_eq!(stage[centre]["difference_ms"], 0.0);
            let interval = &stage[centre]["interval_ms"];
            assert!(
                interval[0].as_f64() <= Some(0.0) && interval[1].as_f64() >= Some(0.0),
                "{stage}"
            );
        }
    }
}

#[test]
fn facts_and_a_cut_off_line_are_told() {
    let text = table("steady");
    let ended = report("run other", |folder| {
        capture(folder, "run", &text[..text.len() - 9]);
        fs::write(
            folder.join("run/capture.json"),
            r#"{"extent": {"width": 64}, "gpu": "llvmpipe"}"#,
        )
        .unwrap();
        capture(folder, "other", &text);
        fs::write(folder.join("other/capture.json"), "{\"gpu\": ").unwrap();
    });
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let last_line = text.lines().last().unwrap().len() + 1 - 9;
    for words in [
        "  extent.width: 64\n",
        "  gpu: llvmpipe\n",
        &format!("note: the last line is not whole: its {last_line} bytes are left out\n"),
        "frames: 239\n",
        "note: other/capture.json is left out: EOF",
        "not the same conditions: gpu: llvmpipe against not said\n",
    ] {
        assert!(ended.stdout.contains(words), "no `{words}` in:\n{}", ended.stdout);
    }
}

#[test]
fn what_is_no_capture_is_refused() {
    refused("", &["<DIR>"], |_| {});
    refused("nowhere", &["nowhere does not exist"], |_| {});
    refused(
        "runs",
        &["runs is not a capture", "captures in it: runs/a, runs/b"],
        |folder| {
            fs::create_dir(folder.join("runs")).unwrap();
            capture(&folder.join("runs"), "b", "");
            capture(&folder.join("runs"), "a", "");
            fs::create_dir(folder.join("runs/neither")).unwrap();
        },
    );
    refused("empty", &["empty is not a capture", "`handover --capture`"], |folder| {
        fs::create_dir(folder.join("empty")).unwrap();
    });
    refused("run", &["run/frames.csv ends within its first line"], |folder| {
        capture(folder, "run", "Applic")
    });
    refused("run", &["run/frames.csv holds no frames"], |folder| {
        capture(folder, "run", table("steady").lines().next().unwrap().to_owned() + "\n");
    });
    refused(
        "run",
        &["another version of Handover", "lacks the columns scene_ms"],
        |folder| {
            capture(folder, "run", table("steady").replacen("scene_ms", "draw_ms", 1));
        },
    );
    refused("picture.png", &["picture.png is not a CSV of Handover"], |folder| {
        fs::write(folder.join("picture.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    });
    refused(
        "{F}/steady run",
        &["run/frames.csv:2: record_ms: \"-1\" is not 0 or more"],
        |folder| {
            let record = table("steady")
                .lines()
                .nth(1)
                .unwrap()
                .split(',')
                .nth(16)
                .unwrap()
                .to_owned();
            capture(folder, "run", table("steady").replacen(&record, "-1", 1));
        },
    );
}

#[test]
fn pages_that_cannot_be_written_are_refused() {
    let page = |file: &str| format!("{{F}}/steady --html {file}");
    refused(
        &page("there.html"),
        &["there.html: it exists", "never overwrite"],
        |folder| {
            fs::write(folder.join("there.html"), "mine").unwrap();
        },
    );
    refused(&page("dangling.html"), &["it exists"], |folder| {
        std::os::unix::fs::symlink("nothing", folder.join("dangling.html")).unwrap();
    });
    refused(&page("."), &["it is a folder"], |_| {});
    refused(
        &page("missing/page.html"),
        &["its folder missing does not exist"],
        |_| {},
    );
    refused(&page("file/page.html"), &["file is not a folder"], |folder| {
        fs::write(folder.join("file"), "").unwrap();
    });
    let captures = "{F}/steady ".repeat(7);
    refused(
        &format!("{captures} --html page.html"),
        &["7 captures are too many", "up to 6"],
        |_| {},
    );
    refused("nowhere --html page.html", &["nowhere does not exist"], |_| {});
    // Always full.
    if Path::new("/dev/full").exists() {
        refused(&page("/dev/full"), &["it exists"], |_| {});
    }
    refused(&page("/proc/page.html"), &["cannot write /proc/page.html"], |_| {});
}

#[test]
fn a_page_is_readable_like_any_file() {
    let ended = report("{F}/steady --html page.html", |_| {});
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(entries(ended.folder.path()), ["page.html"]);
    let mode = fs::metadata(ended.folder.path().join("page.html"))
        .unwrap()
        .permissions()
        .mode();
    // The umask takes away what it does; what is left is what a plain file has.
    fs::write(ended.folder.path().join("plain"), "").unwrap();
    assert_eq!(
        mode,
        fs::metadata(ended.folder.path().join("plain"))
            .unwrap()
            .permissions()
            .mode()
    );
}

/// A disk that is full: a page of tens of kilobytes under a limit of files of one.
#[test]
fn a_full_disk_leaves_nothing_behind() {
    let program = env!("CARGO_BIN_EXE_handover");
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "trap '' XFSZ; ulimit -f 1; exec {program} report {}/steady --json --html page.html >/dev/null",
        fixtures().display()
    );
    let ended = std::process::Command::new("bash")
        .args(["-c", &script])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(USAGE), "{stderr}");
    assert!(stderr.contains("cannot write page.html: File too large"), "{stderr}");
    assert_eq!(entries(folder.path()), Vec::<String>::new());
}
