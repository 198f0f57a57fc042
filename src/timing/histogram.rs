//! Histograms: equal bins over a range, as numpy's.

use serde::Serialize;

use crate::timing::statistics::{percentile, sorted};

/// More bins than this are narrower than a picture can show.
pub const MOST_BINS: usize = 80;

/// How many values lie in each of a row of equal bins.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Histogram {
    /// The bins' limits, ascending: one more than there are bins. A value on a limit is in the bin above it, and in the
    /// last bin where there is none above.
    pub edges: Vec<f64>,
    /// Values in each bin.
    pub counts: Vec<u64>,
}

impl Histogram {
    /// The histogram of all values, over their range, with [`bin_count`] bins. `None` without values.
    ///
    /// Where all values are equal the range is one wide, with the value in the middle, as numpy's.
    pub fn of(values: &[f64]) -> Option<Histogram> {
        let ascending = sorted(values);
        let (first, last) = (*ascending.first()?, *ascending.last()?);
        let range = if first == last {
            [first - 0.5, last + 0.5]
        } else {
            [first, last]
        };
        Some(Histogram::with_edges(values, edges(range, bin_count(&ascending))))
    }

    /// The histogram over given limits, as from [`edges`]; values outside them are not counted.
    ///
    /// It is `numpy.histogram`.
    pub fn with_edges(values: &[f64], edges: Vec<f64>) -> Histogram {
        let mut counts = vec![0; edges.len().saturating_sub(1)];
        for value in values {
            let is_within = edges.first() <= Some(value) && Some(value) <= edges.last();
            if is_within && let Some(last) = counts.len().checked_sub(1) {
                let above = edges.partition_point(|edge| edge <= value);
                counts[above.saturating_sub(1).min(last)] += 1;
            }
        }
        Histogram { edges, counts }
    }
}

/// The limits of equal bins over a range: `numpy.linspace`, so that the last is the range's end itself.
pub fn edges([first, last]: [f64; 2], bins: usize) -> Vec<f64> {
    let step = (last - first) / bins as f64;
    let edge = |bin| if bin == bins { last } else { bin as f64 * step + first };
    (0..=bins).map(edge).collect()
}

/// How many bins show ascending values well: the larger of Freedman and Diaconis's number and Sturges's, at most 80.
///
/// Freedman and Diaconis: bins of 2 IQR / n^(1/3). Sturges: log2(n) + 1 bins.
pub fn bin_count(ascending: &[f64]) -> usize {
    let (Some(first), Some(last)) = (ascending.first(), ascending.last()) else {
        return 0;
    };
    let count = ascending.len() as f64;
    let quartile = |percent| percentile(ascending, percent).unwrap_or_default();
    let width = 2.0 * (quartile(75.0) - quartile(25.0)) / count.cbrt();
    let freedman_diaconis = if width > 0.0 {
        ((last - first) / width).ceil()
    } else {
        0.0
    };
    let sturges = (count.log2() + 1.0).ceil();
    (freedman_diaconis.max(sturges) as usize).clamp(1, MOST_BINS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_belong_to_the_bin_above_and_the_last_to_the_last() {
        // numpy.histogram([0, 1, 1, 2, 3, 4], bins=4): the example that numpy's documentation words as "all but the
        // last bin is half-open".
        let edges = vec![0.0, 1.0, 2.0, 3.0, 4.0];
        let found = Histogram::with_edges(&[0.0, 1.0, 1.0, 2.0, 3.0, 4.0], edges.clone());
        assert_eq!(found.counts, [1, 2, 1, 2]);
        let outside = Histogram::with_edges(&[-0.1, 4.1], edges);
        assert_eq!(outside.counts, [0; 4]);
    }

    #[test]
    fn equal_values_have_a_range_too() {
        let found = Histogram::of(&[8.0; 5]).unwrap();
        assert_eq!((found.edges[0], *found.edges.last().unwrap()), (7.5, 8.5));
        assert_eq!(found.counts.iter().sum::<u64>(), 5);
        assert_eq!(Histogram::of(&[]), None);
    }

    #[test]
    fn a_far_value_does_not_make_bins_without_end() {
        let mut values: Vec<f64> = (0..1000).map(f64::from).collect();
        values.push(1e9);
        let found = Histogram::of(&values).unwrap();
        assert_eq!((found.counts.len(), found.counts[0], found.counts[79]), (80, 1000, 1));
    }
}
