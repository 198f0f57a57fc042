//! The plots' elements, of made results.

use super::*;
use crate::bench::growth::tests::{case, results};
use crate::bench::{Case, CountedBy, MemoryTaken};

/// Places of circles: x and y.
fn dots(svg: &str) -> Vec<[f64; 2]> {
    let number = |text: &str, name: &str| -> f64 {
        let from = text.split_once(&format!(" {name}=\"")).expect("an attribute").1;
        let text = from.split_once('"').expect("its end").0;
        text.parse().expect("a number")
    };
    svg.split("<circle")
        .skip(1)
        .map(|circle| [number(circle, "cx"), number(circle, "cy")])
        .collect()
}

#[test]
fn cost_in_proportion_to_pixels_is_a_straight_line_along_the_guide() {
    let sizes = [[1280, 720], [1920, 1080], [3840, 2160], [16_384, 16_384]];
    let cases: Vec<(Case, f64)> = sizes
        .map(|size| case(size, 3))
        .into_iter()
        .map(|case| {
            let us = case.pixels() as f64 * 1e-4;
            (case, us)
        })
        .collect();
    let svg = pixels(&results(&cases)).expect("several extents");
    assert!(
        svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && !svg.contains("NaN"),
        "{svg}"
    );
    for word in [
        ">720p<",
        ">16k<",
        ">µs a frame<",
        ">1000<",
        "none, bloom; cuda, pipelined, 3 in flight",
    ] {
        assert!(svg.contains(word), "{word}:\n{svg}");
    }
    let dots = dots(&svg);
    assert_eq!(dots.len(), 4);
    let slope = |from: [f64; 2], to: [f64; 2]| (to[1] - from[1]) / (to[0] - from[0]);
    assert!(
        (slope(dots[0], dots[1]) - slope(dots[1], dots[3])).abs() < 1e-3,
        "{dots:?}"
    );
    let guide = svg.split_once("class=\"guide\" d=\"").expect("a guide").1;
    let ends: Vec<f64> = guide
        .split_once('"')
        .expect("its end")
        .0
        .split(|letter: char| "ML ".contains(letter))
        .filter_map(|number| number.parse().ok())
        .collect();
    assert_eq!(ends, [dots[0], dots[3]].concat());
}

/// 16K in software takes a minute: its microseconds would not fit beside the axis.
#[test]
fn long_times_are_in_milliseconds() {
    let cases = [(case([1920, 1080], 1), 2e5), (case([16_384, 16_384], 1), 6e7)];
    let svg = pixels(&results(&cases)).expect("two extents");
    assert!(
        svg.contains(">ms a frame<") && svg.contains(">100000<") && !svg.contains(">1000000<"),
        "{svg}"
    );
}

#[test]
fn memory_has_a_line_for_each_extent() {
    let mut cases = Vec::new();
    for size in [[1920, 1080], [3840, 2160]] {
        cases.extend([1, 2, 8].map(|in_flight| (case(size, in_flight), 100.0)));
    }
    let mut results = results(&cases);
    assert_eq!(memory(&results), None);
    for measured in &mut results.cases {
        let bytes = measured.case.pixels() * 40 * measured.case.frames_in_flight as u64;
        let counted_by = CountedBy::Vulkan;
        measured.memory = Some(MemoryTaken { bytes, counted_by });
    }
    let svg = memory(&results).expect("several counts of frames");
    let dots = dots(&svg);
    assert_eq!(dots.len(), 6);
    // Four times the memory is as far up at each count.
    let up = |place: usize| dots[place][1] - dots[place + 3][1];
    assert!((up(0) - up(2)).abs() < 0.05 && up(0) > 10.0, "{dots:?}");
    assert!(
        svg.contains(">1080p, none, bloom; cuda, pipelined<") && !svg.contains("NaN"),
        "{svg}"
    );
}

#[test]
fn one_extent_has_no_plot() {
    assert_eq!(pixels(&results(&[(case([1920, 1080], 1), 100.0)])), None);
}
