//! The table as text, read back by the csv crate, and the README's table of columns.

use std::collections::HashMap;

use super::*;
use crate::timing::FusedTime;
use crate::timing::columns::{Unit, markdown_table};

fn sheet() -> Sheet {
    Sheet {
        application: "hand,over \"1\"".to_owned(),
        process_id: 42,
        present_runtime: "Vulkan".to_owned(),
        effects: vec!["blur".to_owned(), "bloom".to_owned()],
        origin: Duration::from_millis(1000),
    }
}

fn full_record() -> FrameRecord {
    FrameRecord {
        frame: 7,
        start: Duration::from_micros(1_016_500),
        until_present_ms: 1.875,
        between_presents_ms: Some(16.25),
        slot_wait_ms: Some(1.0),
        waited_for_frame: Some(4),
        acquire_ms: Some(0.5),
        record_ms: Some(0.25),
        submit_ms: Some(0.125),
        present_ms: Some(0.0625),
        gpu_latency_ms: Some(2.0),
        scene_ms: Some(3.0),
        handover_to_cuda_ms: Some(0.155),
        kernels_ms: vec![Some(0.1), Some(0.2)],
        fused: [("exposure+tonemap", 0.25), ("vignette+film_grain", 0.5)]
            .map(|(label, time_ms)| FusedTime {
                label,
                time_ms,
                bytes: 1,
            })
            .to_vec(),
        chain_ms: Some(0.32),
        handover_to_vulkan_ms: Some(0.156),
        present_gpu_ms: Some(0.04),
        overlay_ms: Some(0.03),
        latency_ms: Some(5.7),
        gpu_busy_ms: Some(3.36),
        ..FrameRecord::default()
    }
}

fn read(sheet: &Sheet, records: &[FrameRecord]) -> Vec<HashMap<String, String>> {
    let bytes = [sheet.header(), sheet.rows(records)].concat();
    csv::Reader::from_reader(&bytes[..])
        .deserialize()
        .map(|row| row.unwrap())
        .collect()
}

#[test]
fn every_value_comes_back_under_its_name() {
    let rows = read(&sheet(), &[full_record()]);
    let expected = [
        ("Application", "hand,over \"1\""),
        ("ProcessID", "42"),
        ("PresentRuntime", "Vulkan"),
        ("CPUStartTimeInMs", "16.500000"),
        ("MsBetweenPresents", "16.250000"),
        ("MsInPresentAPI", "0.062500"),
        ("MsCPUBusy", "1.875000"),
        ("MsGPULatency", "2.000000"),
        ("MsGPUTime", "3.671000"),
        ("MsGPUBusy", "3.360000"),
        ("MsGPUWait", "0.311000"),
        ("frame", "7"),
        ("start_ms", "1016.500000"),
        ("waited_for_frame", "4"),
        ("slot_wait_ms", "1.000000"),
        ("acquire_ms", "0.500000"),
        ("record_ms", "0.250000"),
        ("submit_ms", "0.125000"),
        ("scene_ms", "3.000000"),
        ("handover_to_cuda_ms", "0.155000"),
        ("chain_ms", "0.320000"),
        ("handover_to_vulkan_ms", "0.156000"),
        ("present_gpu_ms", "0.040000"),
        ("overlay_ms", "0.030000"),
        ("latency_ms", "5.700000"),
        ("fused", "exposure+tonemap vignette+film_grain"),
        ("fused_ms", "0.750000"),
        ("blur_ms", "0.100000"),
        ("bloom_ms", "0.200000"),
    ];
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].len(), expected.len());
    for (name, value) in expected {
        assert_eq!(rows[0][name], value, "{name}");
    }
}

#[test]
fn what_was_not_measured_is_na() {
    let fresh = FrameRecord {
        frame: 1,
        scene_ms: Some(f64::NAN),
        kernels_ms: vec![None],
        ..FrameRecord::default()
    };
    let row = &read(&sheet(), &[fresh])[0];
    let measured = [
        "Application",
        "ProcessID",
        "PresentRuntime",
        "CPUStartTimeInMs",
        "MsCPUBusy",
        "frame",
        "start_ms",
    ];
    for (name, value) in row {
        assert_eq!(value == "NA", !measured.contains(&name.as_str()), "{name} is {value}");
    }
}

/// The names of PresentMon 2.5's default columns, as `WriteCsvHeader<FrameMetrics>` in its `CsvOutput.cpp` writes them.
const PRESENT_MON: &str = "Application,ProcessID,SwapChainAddress,PresentRuntime,SyncInterval,PresentFlags,\
    AllowsTearing,PresentMode,TimeInMs,MsBetweenSimulationStart,MsBetweenPresents,MsBetweenDisplayChange,\
    MsInPresentAPI,MsRenderPresentLatency,MsUntilDisplayed,CPUStartTimeInMs,MsBetweenAppStart,MsCPUBusy,MsCPUWait,\
    MsGPULatency,MsGPUTime,MsGPUBusy,MsGPUWait,MsAnimationError,AnimationTime,MsFlipDelay,\
    MsAllInputToPhotonLatency,MsClickToPhotonLatency";

#[test]
fn present_mons_names_come_first_and_only_they_claim_to_be() {
    let is_first = |column: &crate::timing::columns::Column| column.present_mon.is_some();
    let first = COLUMNS.iter().take_while(|column| is_first(column)).count();
    assert!(first > 0 && COLUMNS[first..].iter().all(|column| !is_first(column)));
    for column in COLUMNS {
        let is_theirs = PRESENT_MON.split(',').any(|name| name == column.name);
        assert_eq!(is_theirs, is_first(column), "{}", column.name);
    }
}

#[test]
fn names_are_unique_and_say_their_unit() {
    let names = sheet().names();
    for (index, name) in names.iter().enumerate() {
        assert!(!names[..index].contains(name), "{name} is there twice");
    }
    for column in COLUMNS.iter().filter(|column| column.present_mon.is_none()) {
        assert_eq!(
            column.name.ends_with("_ms"),
            column.unit == Unit::Milliseconds,
            "{}",
            column.name
        );
    }
}

#[test]
fn the_readme_has_this_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = std::fs::read_to_string(path).unwrap().replace("\r\n", "\n");
    let (_, rest) = readme
        .split_once("<!-- columns -->\n")
        .expect("README.md has <!-- columns -->");
    let (table, _) = rest
        .split_once("<!-- /columns -->")
        .expect("README.md has <!-- /columns -->");
    let expected = markdown_table();
    assert_eq!(
        table.trim(),
        expected.trim(),
        "README.md between the markers must be:\n\n{expected}"
    );
}
