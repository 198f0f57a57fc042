//! The table's text for no, one and several frames.

use super::*;
use crate::timing::columns::Unit;
use crate::timing::record::FrameRecord;

#[test]
fn stages_are_columns_in_milliseconds() {
    for stage in STAGES {
        assert_eq!(stage.column().unit, Unit::Milliseconds, "{}", stage.column);
    }
    assert_eq!(STAGES[FRAME_TIME].column, "MsBetweenPresents");
    assert_eq!(STAGES[CHAIN].column, "chain_ms");
}

#[test]
fn no_frames_print_na() {
    let table = summary_table(&History::new(&["blur"]));
    assert!(
        table.starts_with("frames: 0\naverage                  NA frames per second\n"),
        "{table}"
    );
    let stages: Vec<&str> = table.lines().skip(6).collect();
    assert_eq!(stages.len(), STAGES.len());
    for line in stages {
        assert_eq!(
            line.split_whitespace().filter(|word| *word == "NA").count(),
            HEADINGS.len() - 1,
            "{line}"
        );
    }
}

#[test]
fn one_frame_has_no_frame_time_but_stages() {
    let mut history = History::new(&["blur"]);
    history.push(&FrameRecord {
        frame: 1,
        record_ms: Some(0.5),
        ..FrameRecord::default()
    });
    let table = summary_table(&history);
    let line = |start: &str| table.lines().find(|line| line.starts_with(start)).unwrap().to_owned();
    assert!(line("frame time").contains("NA"));
    assert_eq!(
        line("host: record").split_whitespace().skip(2).collect::<Vec<_>>(),
        ["1"]
            .iter()
            .chain(&["0.5000"; 7])
            .chain(&["0"])
            .copied()
            .collect::<Vec<_>>()
    );
}

#[test]
fn stages_are_named_in_full_and_numbers_line_up() {
    let mut history = History::new(&["blur", "bloom"]);
    for frame in 1..=101_u64 {
        history.push(&FrameRecord {
            frame,
            between_presents_ms: (frame > 1).then_some(10.0),
            slot_wait_ms: Some(0.0),
            record_ms: Some(0.0),
            submit_ms: Some(0.0),
            scene_ms: Some(frame as f64),
            kernels_ms: vec![Some(0.25), None],
            ..FrameRecord::default()
        });
    }
    let expected = "\
frames: 101
average              100.00 frames per second
1% low average       100.00 frames per second
1% low integral      100.00 frames per second
stutter                   0 frames, 0.00 % of the time

milliseconds                              frames  average      p50      p90      p95       p99     p99.9   maximum  stutter
frame time, present to present               100  10.0000  10.0000  10.0000  10.0000   10.0000   10.0000   10.0000        0
host: wait for the slot's previous frame     101   0.0000   0.0000   0.0000   0.0000    0.0000    0.0000    0.0000        0
host: acquire                                 NA       NA       NA       NA       NA        NA        NA        NA       NA
host: record                                 101   0.0000   0.0000   0.0000   0.0000    0.0000    0.0000    0.0000        0
host: submit                                 101   0.0000   0.0000   0.0000   0.0000    0.0000    0.0000    0.0000        0
host: present                                 NA       NA       NA       NA       NA        NA        NA        NA       NA
scene                                        101  51.0000  51.0000  91.0000  96.0000  100.0000  100.9000  101.0000        0
hand-over, Vulkan to CUDA                     NA       NA       NA       NA       NA        NA        NA        NA       NA
kernel chain                                  NA       NA       NA       NA       NA        NA        NA        NA       NA
  blur                                       101   0.2500   0.2500   0.2500   0.2500    0.2500    0.2500    0.2500        0
hand-over, CUDA to Vulkan                     NA       NA       NA       NA       NA        NA        NA        NA       NA
present on the GPU                            NA       NA       NA       NA       NA        NA        NA        NA       NA
overlay on the GPU                            NA       NA       NA       NA       NA        NA        NA        NA       NA
latency, frame start to retired               NA       NA       NA       NA       NA        NA        NA        NA       NA
";
    let table = summary_table(&history);
    assert_eq!(table, expected, "\n{table}");
}
