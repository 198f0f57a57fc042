//! What is read from a table, and what is refused with which words.

use super::*;
use crate::timing::frames_csv::Sheet;
use crate::timing::record::FrameRecord;

/// A table as the capture writes it, with three frames and one effect.
fn table() -> String {
    let sheet = Sheet::of_this_process("Vulkan", &["blur"]);
    let records: Vec<_> = (1..=3_u32)
        .map(|frame| FrameRecord {
            frame: frame.into(),
            between_presents_ms: (frame > 1).then_some(10.5),
            record_ms: Some(0.25),
            handover_to_cuda_ms: Some(if frame == 2 { -0.001 } else { 0.002 }),
            kernels_ms: vec![Some(f64::from(frame))],
            ..FrameRecord::default()
        })
        .collect();
    String::from_utf8([sheet.header(), sheet.rows(&records)].concat()).unwrap()
}

fn read_text(text: &str) -> Result<Recording, String> {
    read(Path::new("run/frames.csv"), text.as_bytes(), &["blur"]).map_err(|error| error.to_string())
}

fn refused(text: &str, words: &[&str]) {
    let message = read_text(text).unwrap_err();
    for word in words {
        assert!(message.contains(word), "no `{word}` in: {message}");
    }
}

/// The table with a value of one line replaced.
fn with_value(line: usize, column: &str, value: &str) -> String {
    let mut lines: Vec<Vec<String>> = table()
        .lines()
        .map(|line| line.split(',').map(str::to_owned).collect())
        .collect();
    let position = lines[0].iter().position(|name| name == column).unwrap();
    lines[line - 1][position] = value.to_owned();
    lines.iter().map(|line| line.join(",") + "\n").collect()
}

#[test]
fn what_the_capture_writes_is_read_back() {
    let recording = read_text(&table()).unwrap();
    assert_eq!(recording.frames(), 3);
    assert_eq!(recording.present_runtime, "Vulkan");
    assert_eq!(recording.stages[0].column, "MsBetweenPresents");
    assert_eq!(recording.stages[0].measured_ms(), [10.5, 10.5]);
    assert!(recording.stages[0].times_ms[0].is_nan());
    let chain = recording
        .stages
        .iter()
        .position(|stage| stage.column == "chain_ms")
        .unwrap();
    let blur = &recording.stages[chain + 1];
    assert_eq!((blur.title.as_str(), blur.is_effect), ("blur", true));
    assert_eq!(blur.times_ms, [1.0, 2.0, 3.0]);
    assert_eq!(
        recording.stage("handover_to_cuda_ms").unwrap().times_ms,
        [0.002, -0.001, 0.002]
    );
    assert_eq!(recording.notes.len(), 1);
    assert!(
        recording.notes[0].starts_with("handover_to_cuda_ms: values below 0"),
        "{:?}",
        recording.notes
    );
}

#[test]
fn columns_of_a_later_version_become_stages_and_others_are_passed_over() {
    let text: String = table()
        .lines()
        .enumerate()
        .map(|(index, line)| match index {
            0 => format!("{line},mask_ms,colour\n"),
            _ => format!("{line},{index}.5,green\n"),
        })
        .collect();
    let recording = read_text(&text).unwrap();
    let last = recording.stages.last().unwrap();
    assert_eq!((last.column.as_str(), last.is_effect), ("mask_ms", false));
    assert_eq!(last.times_ms, [1.5, 2.5, 3.5]);
    assert!(recording.stage("start_ms").is_none() && recording.stage("colour").is_none());
}

#[test]
fn a_line_that_was_cut_off_is_left_out_wherever_the_cut_is() {
    let text = table();
    let last = text[..text.len() - 1].rfind('\n').unwrap() + 1;
    for cut in last + 1..text.len() {
        let recording = read_text(&text[..cut]).unwrap();
        assert_eq!(recording.frames(), 2);
        let note = format!("the last line is not whole: its {} bytes are left out", cut - last);
        assert_eq!(recording.notes[0], note);
    }
    refused(&text[..20], &["ends within its first line, after 20 bytes"]);
    refused("", &["after 0 bytes"]);
}

#[test]
fn tables_of_others_are_told_apart() {
    refused(
        "x,y\n1,2\n",
        &["is not a CSV of Handover: it lacks the columns frame, CPUStartTimeInMs, MsBetweenPresents"],
    );
    // PresentMon 2.3, by default.
    let present_mon = "Application,ProcessID,SwapChainAddress,PresentRuntime,SyncInterval,PresentFlags,AllowsTearing,\
                       PresentMode,CPUStartTime,FrameTime,CPUBusy,CPUWait,GPULatency,GPUTime,GPUBusy,GPUWait,\
                       DisplayLatency,DisplayedTime,AnimationError,AnimationTime,ClickToPhotonLatency\n";
    refused(
        present_mon,
        &["it looks like PresentMon's; it lacks the columns frame, CPUStartTimeInMs"],
    );
    let other = table().replacen("scene_ms", "draw_ms", 1);
    refused(
        &other,
        &["is from another version of Handover: it lacks the columns scene_ms; report on it"],
    );
    let twice = table().replacen("blur_ms", "chain_ms", 1);
    refused(&twice, &["has the column chain_ms twice"]);
    let header = table().lines().next().unwrap().to_owned() + "\n";
    refused(&header, &["holds no frames"]);
    let error = read(Path::new("a.png"), b"\x89PNG\r\n\x1a\n\xff\xfe\n", &[]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("a.png is not a CSV of Handover: line 1 is not UTF-8 text"),
        "{error}"
    );
}

#[test]
fn values_that_cannot_be_are_named_with_their_place() {
    for (value, expected) in [
        ("fast", "a number or NA"),
        ("NaN", "a number or NA"),
        ("inf", "a number or NA"),
        ("", "a number or NA"),
        ("-0.1", "0 or more"),
    ] {
        let place = format!("run/frames.csv:3: record_ms: {value:?} is not {expected}");
        refused(&with_value(3, "record_ms", value), &[&place]);
    }
    refused(
        &with_value(4, "frame", "2"),
        &["frames.csv:4: frame: \"2\" is not above the frame number of the line before"],
    );
    refused(
        &with_value(2, "CPUStartTimeInMs", "NA"),
        &["frames.csv:2: CPUStartTimeInMs: \"NA\" is not a number"],
    );
    refused(
        &table().replacen(",10.5", ",10.5,1", 1),
        &["frames.csv:3:", "29 values for 28 columns"],
    );
}
