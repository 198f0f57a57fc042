//! Confidence intervals from few values, without an assumption on how they are distributed.
//!
//! A bench has a handful of rounds. Resampling so few gives intervals that are too narrow, so the ends are values that were
//! measured, chosen by the exact distribution of a rank.

use crate::timing::statistics::{percentile, sorted};

/// Share of intervals that hold the true value, at least.
pub const CONFIDENCE: f64 = 0.95;

/// A value and where the true one is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// As measured.
    pub value: f64,
    /// Lower and upper end. `None`: too few values to tell with [`CONFIDENCE`].
    pub interval: Option<[f64; 2]>,
}

/// What a ratio of times says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval is below 1.
    Faster,
    /// The whole interval is above 1.
    Slower,
    /// 1 is in it: the spread does not carry a difference.
    NoDifferenceSeen,
    /// There is no interval.
    TooFewRounds,
}

impl Estimate {
    /// What it says as a ratio of times.
    pub fn verdict(&self) -> Verdict {
        match self.interval {
            None => Verdict::TooFewRounds,
            Some([_, high]) if high < 1.0 => Verdict::Faster,
            Some([low, _]) if low > 1.0 => Verdict::Slower,
            Some(_) => Verdict::NoDifferenceSeen,
        }
    }
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::NoDifferenceSeen => "no difference seen",
            Self::TooFewRounds => "too few rounds",
        }
    }
}

/// The median, and the interval of the sign test: from the k-th smallest value to the k-th largest. Needs 6 values.
///
/// How many of n independent values are below the true median is binomial, so the interval misses it with the probability
/// 2 · P(B(n, ½) < k); k is the largest for which that is at most 5 % (Conover, "Practical Nonparametric Statistics", 3rd edition,
/// 1999, section 3.2). `None` without values.
pub fn median(values: &[f64]) -> Option<Estimate> {
    let ascending = sorted(values);
    let count = ascending.len();
    let mut probability = 0.5f64.powi(i32::try_from(count).ok()?);
    let (mut below, mut rank) = (0.0, 0);
    // P(B = rank), from the one before it.
    while rank < count && 2.0 * (below + probability) <= 1.0 - CONFIDENCE {
        below += probability;
        rank += 1;
        probability *= (count + 1 - rank) as f64 / rank as f64;
    }
    Some(Estimate {
        value: percentile(&ascending, 50.0)?,
        interval: ends(&ascending, rank),
    })
}

/// The median of the ratios of values that belong together, other to base.
pub fn paired_ratio(base: &[f64], other: &[f64]) -> Option<Estimate> {
    let ratios: Vec<f64> = base.iter().zip(other).map(|(base, other)| other / base).collect();
    median(&ratios)
}

/// By which factor values differ that do not belong together: the median of all ratios, other to base, and the interval of
/// Mann and Whitney's test, from the k-th smallest ratio to the k-th largest. Needs
/// four values of each, or three and five.
///
/// It is Hodges and Lehmann's estimate and Moses' interval of a shift, taken of the logarithms (Hollander, Wolfe and Chicken,
/// "Nonparametric Statistical Methods", 3rd edition, 2014, sections 4.2 and 4.3).
pub fn unpaired_ratio(base: &[f64], other: &[f64]) -> Option<Estimate> {
    let ratios: Vec<f64> = base
        .iter()
        .flat_map(|base| other.iter().map(move |other| other / base))
        .collect();
    let ascending = sorted(&ratios);
    Some(Estimate {
        value: percentile(&ascending, 50.0)?,
        interval: ends(&ascending, mann_whitney_rank(base.len(), other.len())),
    })
}

/// The `rank`-th smallest and largest, counted from 1; 0 is no rank.
fn ends(ascending: &[f64], rank: usize) -> Option<[f64; 2]> {
    let low = rank.checked_sub(1)?;
    Some([ascending[low], ascending[ascending.len() - rank]])
}

/// The largest k for which 2 · P(U < k) is at most 5 %, where U is Mann and Whitney's statistic of two samples of one
/// distribution.
fn mann_whitney_rank(first: usize, second: usize) -> usize {
    // chances[count][sum]: of drawing without regard to order `count` ranks of those so far, whose sum less the least possible
    // is `sum`. Each rank is either drawn or not; as all draws are equally likely, they are counted.
    let most = first * second;
    let mut ways = vec![vec![0.0f64; most + 1]; first + 1];
    ways[0][0] = 1.0;
    for rank in 1..=first + second {
        for count in (1..=rank.min(first)).rev() {
            // The ranks above the `count - 1` least ones that this one is above of.
            let excess = rank - count;
            for sum in (excess..=most).rev() {
                ways[count][sum] += ways[count - 1][sum - excess];
            }
        }
    }
    let all: f64 = ways[first].iter().sum();
    let mut below = 0.0;
    let within = ways[first].iter().take_while(|ways| {
        below += **ways / all;
        2.0 * below <= 1.0 - CONFIDENCE
    });
    within.count()
}

#[cfg(test)]
#[path = "interval_tests.rs"]
mod tests;
