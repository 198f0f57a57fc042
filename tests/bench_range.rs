//! `handover bench`: how cost grows with pixels, memory with frames in flight, and rates with GPUs; what is left out of it.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

#[path = "support/program.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod program;

use std::fs;

use program::{Ended, Program, entries};
use serde_json::{Value, json};

/// Frames small and few: the numbers mean nothing, what is done with them does.
const SMALL: &str = "--processors host --scenes none --frames 4 --warm-up 2";

/// The bench must end well; what it wrote to `out.json`.
fn written(arguments: &str) -> (Ended, Value) {
    let ended = Program::start(&format!("bench {arguments} --json out.json"), |_, _| {}).end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let text = fs::read_to_string(ended.folder.path().join("out.json")).unwrap();
    (ended, serde_json::from_str(&text).unwrap())
}

/// The columns of a printed line, which are two or more spaces apart.
fn columns<'a>(text: &'a str, begin: &str) -> Vec<&'a str> {
    let line = text.lines().find(|line| line.starts_with(begin));
    let line = line.unwrap_or_else(|| panic!("no line begins with `{begin}`:\n{text}"));
    line.split("  ")
        .map(str::trim)
        .filter(|column| !column.is_empty())
        .collect()
}

#[test]
fn what_the_device_has_no_images_for_is_left_out_with_its_reason() {
    let (ended, results) = written(&format!(
        "{SMALL} --sizes 64x48,30000x20 --chains none --schedules pipelined --in-flight 1 --rounds 1"
    ));
    assert_eq!(results["cases"].as_array().unwrap().len(), 1);
    let left_out = results["left_out"].as_array().unwrap();
    assert_eq!(left_out.len(), 1);
    assert_eq!(left_out[0]["width"], 30_000);
    assert!(
        left_out[0]["reason"].as_str().unwrap().contains("up to 16384x16384"),
        "{left_out:?}"
    );
    assert!(
        ended.stdout.contains("30000x20 is left out: 30000x20: llvmpipe"),
        "{}",
        ended.stdout
    );
}

#[test]
fn cost_against_pixels_is_a_table_and_a_plot_that_the_file_gives_again() {
    let sizes = "64x48,128x96,256x192";
    let arguments = format!("bench pixels {SMALL} --sizes {sizes} --rounds 2 --json out.json --plot-pixels plot.svg");
    let ended = Program::start(&arguments, |_, _| {}).end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let heading = columns(&ended.stdout, "cost against pixels");
    assert_eq!(
        heading[1..5],
        ["megapixels", "µs a frame", "lowest to highest", "ns a pixel"]
    );
    let table = ended.stdout.split_once("cost against pixels").unwrap().1;
    for size in sizes.split(',') {
        let row = columns(table, size);
        // 2 rounds: a value and no interval.
        assert!(
            row[2].parse::<f64>().unwrap() > 0.0 && (size == "64x48" || row[6] == "NA"),
            "{row:?}"
        );
    }
    let folder = ended.folder.path();
    assert_eq!(entries(folder), ["out.json", "plot.svg"]);
    let [json, plot] = ["out.json", "plot.svg"].map(|name| fs::read(folder.join(name)).unwrap());
    let read = "bench --read out.json --plot-pixels again.svg --plot-memory none.svg";
    let again = Program::start(read, |_, folder| {
        fs::write(folder.join("out.json"), &json).unwrap();
    })
    .end();
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(fs::read(again.folder.path().join("again.svg")).unwrap(), plot);
    assert!(again.stderr.contains("none.svg is not drawn"), "{}", again.stderr);
    assert_eq!(entries(again.folder.path()), ["again.svg", "out.json"]);
}

#[test]
fn each_frame_in_flight_takes_its_images_of_memory() {
    let (ended, results) = written("memory --processors host --sizes 1024x512 --in-flight 1,4,8 --chains bloom");
    let cases = results["cases"].as_array().unwrap();
    let bytes: Vec<u64> = cases
        .iter()
        .map(|case| case["memory"]["bytes"].as_u64().unwrap())
        .collect();
    let images = 1024 * 512 * 40;
    assert!(bytes[0] >= images, "{bytes:?}");
    for (place, frames) in [(1, 4), (2, 8)] {
        assert!(bytes[place] >= bytes[0].max(frames * images), "{bytes:?}");
    }
    assert!(bytes[2] > bytes[0], "{bytes:?}");
    assert!(
        ended.stdout.contains("memory against frames in flight"),
        "{}",
        ended.stdout
    );
}

/// Two instances on the device that is there: of each alone, of both together, all rounds.
#[test]
fn instances_run_alone_and_at_the_same_time() {
    let arguments =
        format!("{SMALL} --sizes 64x48 --chains none --schedules serial,pipelined --in-flight 2 --rounds 3 --gpus 0,0");
    let (ended, results) = written(&arguments);
    assert_eq!(results["format"], "handover bench gpus");
    let cases = results["cases"].as_array().unwrap();
    assert_eq!((cases.len(), results["instances"].as_array().unwrap().len()), (2, 2));
    for case in cases {
        for part in ["alone", "together"] {
            let of_part = case[part].as_array().unwrap();
            assert_eq!(of_part.len(), 2, "{case}");
            for rounds in of_part.iter().map(|rounds| rounds.as_array().unwrap()) {
                let times: Vec<f64> = rounds.iter().map(|round| round["frame_us"].as_f64().unwrap()).collect();
                assert!(times.len() == 3 && times.iter().all(|us| *us > 0.0), "{case}");
            }
        }
    }
    let row = columns(ended.stdout.split_once("µs a frame").unwrap().1, "instance 1");
    assert_eq!(row[4..], ["NA", "too few rounds"]);
    assert!(ended.stdout.contains("all together "), "{}", ended.stdout);
    assert!(!ended.stderr.contains("only GPU"), "{}", ended.stderr);
}

#[test]
fn one_gpu_is_measured_alone_and_a_line_says_why() {
    let (ended, results) = written(&format!(
        "{SMALL} --sizes 64x48 --chains none --schedules serial --rounds 2 --gpus all"
    ));
    let case = &results["cases"].as_array().unwrap()[0];
    assert_eq!(case["alone"][0].as_array().unwrap().len(), 2);
    assert_eq!(case["together"], json!([]));
    assert_eq!(ended.stderr.matches("the only GPU here").count(), 1, "{}", ended.stderr);
    assert!(
        columns(&ended.stdout, "instance 0 ")[2..4] == ["NA", "NA"],
        "{}",
        ended.stdout
    );
}
