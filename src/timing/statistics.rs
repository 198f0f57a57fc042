//! Statistics over times in milliseconds: pure functions with published definitions.
//!
//! Values must be finite. Functions over nothing give `None`, never 0 and never NaN.

use serde::Serialize;

use crate::timing::stutter::Stutter;

/// Frames a second over all of them: n / Σt. `None` without frames, or when they took no time at all.
///
/// It is not the mean of each frame's rate, which would count short frames too much.
/// CapFrameX has the same (`GetFpsMetricValue`, `EMetric.Average`).
pub fn average_fps(times_ms: &[f64]) -> Option<f64> {
    let total: f64 = times_ms.iter().sum();
    (total > 0.0).then(|| times_ms.len() as f64 * 1e3 / total)
}

/// The arithmetic mean: Σt / n.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// A copy in ascending order, as [`percentile`] wants it.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The `percent`-th percentile (0 to 100) of ascending values, linear between neighbours.
///
/// It is `numpy.percentile` with its default method `linear` (Hyndman and Fan's type 7): with n values, the one at the
/// index `(n - 1) * percent / 100`, counted from 0.
pub fn percentile(ascending: &[f64], percent: f64) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    Some(between_neighbours(ascending, last as f64 * percent / 100.0))
}

/// The mean of all times that are at least as long as the 99th percentile. As a rate it is the "1% low average".
///
/// CXWorld/CapFrameX, `FrametimeStatisticProvider.cs`: `GetPercentageHighAverageSequence(sequence, 1 - 0.01)`. Its
/// percentile is Math.NET's `Quantile`, the approximately median-unbiased one (Hyndman and Fan's type 8), and not
/// [`percentile`].
pub fn slowest_percent_average(times: &[f64]) -> Option<f64> {
    let threshold = median_unbiased_quantile(&sorted(times), SLOW_QUANTILE)?;
    let slow: Vec<f64> = times.iter().copied().filter(|time| *time >= threshold).collect();
    mean(&slow)
}

/// The time at which the longest ones, longest first, add up to 1 % of the whole. As a rate it is the "1% low
/// integral".
///
/// CXWorld/CapFrameX, `FrametimeStatisticProvider.cs`: `GetPercentageHighIntegralSequence(sequence, 1 - 0.01)`; there
/// said to equal MSI Afterburner's.
pub fn slowest_percent_integral(times: &[f64]) -> Option<f64> {
    let ascending = sorted(times);
    let slow_time = ascending.iter().rev().sum::<f64>() * (1.0 - SLOW_QUANTILE);
    let mut so_far = 0.0;
    let reached = ascending.iter().rev().find(|time| {
        so_far += **time;
        so_far >= slow_time
    });
    reached.copied()
}

/// Where the slowest 1 % begin.
const SLOW_QUANTILE: f64 = 0.99;

fn rate(time_ms: f64) -> Option<f64> {
    (time_ms > 0.0).then(|| 1e3 / time_ms)
}

/// Hyndman and Fan's type 8, numpy's `median_unbiased`, Math.NET's default: the value at (n + 1/3) q + 1/3, counted
/// from 1.
fn median_unbiased_quantile(ascending: &[f64], quantile: f64) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    let position = (ascending.len() as f64 + 1.0 / 3.0) * quantile + 1.0 / 3.0;
    Some(between_neighbours(ascending, (position - 1.0).clamp(0.0, last as f64)))
}

/// The value at an index counted from 0 that may lie between two of them. The index is at most the last one.
fn between_neighbours(ascending: &[f64], index: f64) -> f64 {
    let below = (index.floor() as usize).min(ascending.len() - 1);
    let above = (below + 1).min(ascending.len() - 1);
    ascending[below] + (ascending[above] - ascending[below]) * (index - below as f64)
}

/// The statistics of one stage, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// How many values there were: frames for which the stage could be measured.
    pub count: usize,
    /// See [`mean`].
    pub mean_ms: f64,
    /// 50th [`percentile`].
    pub p50_ms: f64,
    /// 90th [`percentile`].
    pub p90_ms: f64,
    /// 95th [`percentile`].
    pub p95_ms: f64,
    /// 99th [`percentile`].
    pub p99_ms: f64,
    /// 99.9th [`percentile`].
    pub p99_9_ms: f64,
    /// The longest.
    pub max_ms: f64,
    /// See [`slowest_percent_average`].
    pub slowest_percent_average_ms: f64,
    /// See [`slowest_percent_integral`].
    pub slowest_percent_integral_ms: f64,
    /// See [`Stutter::of`].
    pub stutter: Stutter,
}

impl Summary {
    /// Summarizes times in the order of their frames. `None` without any.
    pub fn of(times_ms: &[f64]) -> Option<Summary> {
        let ascending = sorted(times_ms);
        Some(Summary {
            count: ascending.len(),
            mean_ms: mean(times_ms)?,
            p50_ms: percentile(&ascending, 50.0)?,
            p90_ms: percentile(&ascending, 90.0)?,
            p95_ms: percentile(&ascending, 95.0)?,
            p99_ms: percentile(&ascending, 99.0)?,
            p99_9_ms: percentile(&ascending, 99.9)?,
            max_ms: *ascending.last()?,
            slowest_percent_average_ms: slowest_percent_average(times_ms)?,
            slowest_percent_integral_ms: slowest_percent_integral(times_ms)?,
            stutter: Stutter::of(times_ms),
        })
    }
}

/// The rates of a run, in frames a second.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct FrameRates {
    /// See [`average_fps`].
    pub average_fps: Option<f64>,
    /// "1% low average": the rate of [`slowest_percent_average`].
    pub one_percent_low_average_fps: Option<f64>,
    /// "1% low integral": the rate of [`slowest_percent_integral`].
    pub one_percent_low_integral_fps: Option<f64>,
}

impl FrameRates {
    /// The rates of frame times in milliseconds.
    pub fn of(frame_times_ms: &[f64]) -> FrameRates {
        FrameRates {
            average_fps: average_fps(frame_times_ms),
            one_percent_low_average_fps: slowest_percent_average(frame_times_ms).and_then(rate),
            one_percent_low_integral_fps: slowest_percent_integral(frame_times_ms).and_then(rate),
        }
    }
}

#[cfg(test)]
#[path = "statistics_tests.rs"]
mod tests;
