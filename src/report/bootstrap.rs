//! Confidence intervals of a difference by the bootstrap, for times that depend on those before them.
//!
//! Frames come in runs: a slow one is followed by slow ones. Drawing single frames would break the runs and give
//! intervals that are too narrow, so blocks of neighbouring frames are drawn: Künsch, "The jackknife and the bootstrap
//! for general stationary observations", Annals of Statistics 17 (1989). The frames are taken as a circle, so that each
//! is drawn equally often: Politis and Romano, "A circular block-resampling procedure for stationary data" (1992). A
//! block has n^(1/3) frames, the order that makes the error of the variance least (Künsch; Hall, Horowitz and Jing, "On
//! blocking rules for the bootstrap with dependent data", Biometrika 82, 1995).

use fastrand::Rng;
use rayon::prelude::*;

use crate::timing::statistics::{mean, percentile, sorted};

/// Resamples: enough for the ends of a 95 % interval (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993,
/// section 13: 1,000).
pub const RESAMPLES: u64 = 1000;

/// Share of intervals that hold the true difference, percent.
pub const CONFIDENCE: f64 = 95.0;

/// With fewer values than this in either there is no interval.
pub const FEWEST: usize = 20;

/// A report on the same captures says the same.
const SEED: u64 = 0x68616e646f766572;

/// Mean and median of one series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Centre {
    /// Arithmetic mean.
    pub mean: f64,
    /// 50th percentile.
    pub median: f64,
}

/// Lower and upper end of an interval.
pub type Interval = [f64; 2];

/// The intervals of the differences in mean and median of `b` against `a`: between the 2.5th and 97.5th percentile of
/// the differences of resamples. `None` where either has fewer than [`FEWEST`] values.
pub fn intervals(a: &[f64], b: &[f64]) -> Option<(Interval, Interval)> {
    if a.len().min(b.len()) < FEWEST {
        return None;
    }
    let differences: Vec<Centre> = (0..RESAMPLES)
        .into_par_iter()
        .map_init(Vec::new, |resample, number| {
            let mut rng = Rng::with_seed(SEED.wrapping_add(number));
            let of_a = resampled(a, &mut rng, resample);
            let of_b = resampled(b, &mut rng, resample);
            Centre {
                mean: of_b.mean - of_a.mean,
                median: of_b.median - of_a.median,
            }
        })
        .collect();
    let interval = |read: fn(&Centre) -> f64| {
        let ascending = sorted(&differences.iter().map(read).collect::<Vec<_>>());
        let tail = (100.0 - CONFIDENCE) / 2.0;
        let end = |percent| percentile(&ascending, percent).expect("there are resamples");
        [end(tail), end(100.0 - tail)]
    };
    Some((interval(|centre| centre.mean), interval(|centre| centre.median)))
}

/// Frames of a block: n^(1/3), rounded up.
pub fn block_length(count: usize) -> usize {
    (count as f64).cbrt().ceil() as usize
}

/// Mean and median of as many values as there are, drawn in blocks. `resample` is memory to use.
fn resampled(values: &[f64], rng: &mut Rng, resample: &mut Vec<f64>) -> Centre {
    let (count, length) = (values.len(), block_length(values.len()));
    resample.clear();
    while resample.len() < count {
        let start = rng.usize(..count);
        let length = length.min(count - resample.len());
        let until_end = length.min(count - start);
        resample.extend_from_slice(&values[start..start + until_end]);
        resample.extend_from_slice(&values[..length - until_end]);
    }
    Centre {
        mean: mean(resample).expect("there are values"),
        median: median(resample),
    }
}

/// The median of values that may be reordered: of an even number, the mean of the two in the middle.
fn median(values: &mut [f64]) -> f64 {
    let (half, is_even) = (values.len() / 2, values.len().is_multiple_of(2));
    let (below, middle, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    if is_even {
        let below = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        below + (*middle - below) * 0.5
    } else {
        *middle
    }
}

#[cfg(test)]
#[path = "bootstrap_tests.rs"]
mod tests;
