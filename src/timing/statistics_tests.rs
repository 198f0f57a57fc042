//! The statistics against numpy and CapFrameX's definitions: `tests/fixtures/statistics.py`.

use serde_json::Value;

use super::*;

fn number(case: &Value, key: &str) -> f64 {
    case[key].as_f64().unwrap()
}

fn assert_close(found: f64, expected: f64, what: &str) {
    // Sums run in another order in numpy (pairwise), so the last digits may differ.
    assert!(
        (found - expected).abs() <= expected.abs() * 1e-12,
        "{what}: found {found}, expected {expected}"
    );
}

#[test]
fn statistics_are_numpys_and_capframexs() {
    let fixture = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/statistics.json"));
    let fixture: Value = serde_json::from_str(fixture).unwrap();
    let cases = fixture["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 9);
    for case in cases {
        let times: Vec<f64> = case["times_ms"]
            .as_array()
            .unwrap()
            .iter()
            .map(|time| time.as_f64().unwrap())
            .collect();
        let summary = Summary::of(&times).unwrap();
        let rates = FrameRates::of(&times);
        assert_eq!(summary.count, times.len());
        let found = [
            ("mean_ms", summary.mean_ms),
            ("p50_ms", summary.p50_ms),
            ("p95_ms", summary.p95_ms),
            ("p99_ms", summary.p99_ms),
            ("p99_9_ms", summary.p99_9_ms),
            ("max_ms", summary.max_ms),
            ("average_fps", rates.average_fps.unwrap()),
            (
                "one_percent_low_average_fps",
                rates.one_percent_low_average_fps.unwrap(),
            ),
            (
                "one_percent_low_integral_fps",
                rates.one_percent_low_integral_fps.unwrap(),
            ),
        ];
        for (key, value) in found {
            assert_close(value, number(case, key), &format!("{}: {key}", case["name"]));
        }
    }
}

/// Expected values of CapFrameX's own tests, `FrametimeStatisticProviderTest.cs`.
#[test]
fn capframexs_own_examples_hold() {
    let integral = |times: &[f64]| slowest_percent_integral(times).unwrap();
    let average = |times: &[f64]| slowest_percent_average(times).unwrap();
    assert_close(integral(&[10.0, 10.0, 10.0, 10.0, 100.0]), 100.0, "integral");
    assert_close(average(&[100.0; 5]), 100.0, "average");
}

#[test]
fn nothing_has_no_statistics() {
    assert_eq!(Summary::of(&[]), None);
    assert_eq!(FrameRates::of(&[]), FrameRates::default());
    assert_eq!(percentile(&[], 50.0), None);
    assert_eq!(mean(&[]), None);
}

#[test]
fn no_time_has_no_rate() {
    assert_eq!(FrameRates::of(&[0.0, 0.0]), FrameRates::default());
}

#[test]
fn the_ends_of_the_percentiles_are_minimum_and_maximum() {
    let ascending = sorted(&[3.0, 1.0, 2.0]);
    assert_eq!(percentile(&ascending, 0.0), Some(1.0));
    assert_eq!(percentile(&ascending, 100.0), Some(3.0));
}
