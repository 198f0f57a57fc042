//! What is said of memory, of made sizes.

use super::*;
use crate::bench::growth::tests::{case, results};
use crate::bench::{LeftOut, MemoryTaken};

/// 100 MiB, and 80 for each frame in flight.
fn measured(counted_by: CountedBy) -> Results {
    let cases = [1, 2, 4].map(|in_flight| (case([1920, 1080], in_flight), 100.0));
    let mut results = results(&cases);
    for measured in &mut results.cases {
        measured.memory = Some(MemoryTaken {
            bytes: (100 + 80 * measured.case.frames_in_flight as u64) << 20,
            counted_by,
        });
    }
    results
}

#[test]
fn a_row_says_what_each_frame_more_takes() {
    let mut results = measured(CountedBy::Cuda);
    results.left_out.push(LeftOut {
        case: case([1920, 1080], 8),
        reason: "no memory".into(),
    });
    let text = text(&results);
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("none, bloom"))
        .map(|line| {
            line.split("  ")
                .map(str::trim)
                .filter(|part| !part.is_empty())
                .skip(1)
                .collect()
        })
        .collect();
    // 80 MiB are 40.45 bytes for each of 2,073,600 pixels.
    let expected: [&[&str]; 4] = [
        &["1080p", "1", "180.0"],
        &["1080p", "2", "260.0", "80.0", "40.5"],
        &["1080p", "4", "420.0", "80.0", "40.5"],
        &["1080p", "8", "left out"],
    ];
    assert_eq!(rows, expected, "{text}");
    assert!(text.contains("1080p, 8 in flight is left out: no memory\n"), "{text}");
    assert!(text.contains("cuMemGetInfo"), "{text}");
}

#[test]
fn the_text_says_who_counted_and_nothing_where_nobody_did() {
    for (counted_by, words) in [
        (CountedBy::Vulkan, "VK_EXT_memory_budget)."),
        (CountedBy::Allocator, "the driver does not count"),
    ] {
        let text = text(&measured(counted_by));
        assert!(text.contains(words), "{text}");
    }
    let mut unmeasured = measured(CountedBy::Cuda);
    for case in &mut unmeasured.cases {
        case.memory = None;
    }
    assert_eq!(text(&unmeasured), "");
    let mut one = measured(CountedBy::Cuda);
    one.cases.truncate(1);
    assert_eq!(text(&one), "");
}

#[test]
fn memory_and_what_was_left_out_are_in_the_file() {
    let mut results = measured(CountedBy::Vulkan);
    results.left_out.push(LeftOut {
        case: case([1920, 1080], 8),
        reason: "no memory".into(),
    });
    let written = results.to_json().expect("writes");
    assert!(written.contains("\"counted_by\": \"vulkan\""), "{written}");
    let read: Results = serde_json::from_str(&written).expect("reads");
    assert_eq!(read.left_out, results.left_out);
    let memory = |results: &Results| results.cases.iter().map(|case| case.memory).collect::<Vec<_>>();
    assert_eq!(memory(&read), memory(&results));
    assert!(memory(&read).iter().all(Option::is_some));
}
