//! What is said of how cost grows, of made times.

use super::*;
use crate::bench::{LeftOut, MachineFacts, Round};
use crate::live::Fuse;
use crate::renderer::Schedule;
use crate::timing::Instrument;

/// A case of that extent.
pub(in crate::bench) fn case([width, height]: [u32; 2], frames_in_flight: usize) -> Case {
    Case {
        scene: "none".into(),
        width,
        height,
        chain: vec!["bloom".into()],
        processor: "cuda".into(),
        schedule: Schedule::Pipelined,
        frames_in_flight,
        instrument: Instrument::Frame,
        fuse: Fuse::Auto,
    }
}

/// Results of these cases, each of which takes so many microseconds a frame, give or take 1 %.
pub(in crate::bench) fn results(cases: &[(Case, f64)]) -> Results {
    let machine = MachineFacts {
        gpu: "some GPU".into(),
        uuid: String::new(),
        vulkan_driver: "driver 1".into(),
        cuda_driver: None,
        cpu: String::new(),
        cpu_threads: 1,
        build: "release".into(),
    };
    let described: Vec<Case> = cases.iter().map(|(case, _)| case.clone()).collect();
    let mut results = Results::new(machine, &described, 10, 1, 1);
    for share in [0.99, 1.0, 1.01, 0.995, 1.005, 1.002] {
        for (place, (_, us)) in cases.iter().enumerate() {
            let round = Round {
                frame_us: us * share,
                ..Round::default()
            };
            results.push(place, round);
        }
    }
    results
}

fn line<'a>(text: &'a str, begin: &str) -> Vec<&'a str> {
    let found = text.lines().find(|line| line.starts_with(begin));
    let line = found.unwrap_or_else(|| panic!("no line begins with `{begin}`:\n{text}"));
    line.split("  ")
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}

#[test]
fn growth_is_the_power_of_pixels_and_judged_from_1080p_on() {
    let sizes = [[1280, 720], [1920, 1080], [3840, 2160], [7680, 4320]];
    // 720p and 1080p: all the same; to 4K as pixels; to 8K by their square root more.
    let times = [100.0, 100.0, 400.0, 400.0 * 4.0 * 2.0];
    let cases: Vec<(Case, f64)> = sizes.map(|size| case(size, 3)).into_iter().zip(times).collect();
    let results = results(&cases);
    let text = text(&results);
    let columns = |size: &str| line(&text, size);
    // The median of each case's rounds is 100.1 % of its time.
    assert_eq!(columns("720p")[1..], ["0.92", "100.1", "99.0 to 101.0", "0.1086"]);
    // From 720p the 1080p are not judged.
    for (size, ns, exponent, verdict) in [
        ("1080p", "0.0483", 0.0, None),
        ("4k", "0.0483", 1.0, Some("as pixels")),
        ("8k", "0.0965", 1.5, Some("faster than pixels")),
    ] {
        let columns = columns(size);
        let growth: f64 = columns[5].parse().expect("a number");
        let (low, high) = columns[6].split_once(" to ").expect("an interval");
        let ends = [low, high].map(|end| end.parse::<f64>().expect("a number"));
        assert_eq!(columns[4], ns, "{text}");
        assert!((growth - exponent).abs() < 2e-3, "{text}");
        assert!(
            ends[0] < growth && growth < ends[1] && ends[1] - ends[0] < 0.05,
            "{text}"
        );
        assert_eq!(columns.get(7).copied(), verdict, "{text}");
    }
    assert!(
        text.contains("Above 1080p cost grows faster than pixels in 1 of 2 steps."),
        "{text}"
    );
}

#[test]
fn extents_that_were_left_out_are_in_the_table_with_their_reason() {
    let cases = [(case([1920, 1080], 3), 100.0), (case([2560, 1440], 3), 150.0)];
    let mut results = results(&cases);
    results.left_out.push(LeftOut {
        case: case([16_384, 16_384], 3),
        reason: "too large for it".into(),
    });
    let text = text(&results);
    assert_eq!(line(&text, "16k "), ["16k", "left out"]);
    assert!(text.contains("16k is left out: too large for it\n"), "{text}");
    // 1.5 times the cost of 1.78 times the pixels.
    assert!(line(&text, "1440p").join(" ").ends_with("slower than pixels"), "{text}");
    assert!(text.contains("no faster than pixels, in 1 of 1 steps"), "{text}");
}

#[test]
fn few_rounds_and_one_extent_say_nothing() {
    assert_eq!(
        text(&results(&[
            (case([1920, 1080], 3), 100.0),
            (case([1920, 1080], 4), 90.0)
        ])),
        ""
    );
    let mut few = results(&[(case([1920, 1080], 3), 100.0), (case([3840, 2160], 3), 400.0)]);
    for case in &mut few.cases {
        case.rounds.truncate(3);
    }
    assert!(text(&few).contains("cannot be told from so few rounds"));
    // As many pixels, another shape: there is no factor to take a power of.
    let turned = results(&[(case([1920, 1080], 3), 100.0), (case([1080, 1920], 3), 120.0)]);
    assert!(exponent(&turned.cases[0], &turned.cases[1]).is_none());
    assert!(!text(&turned).contains("NaN"), "{}", text(&turned));
}
