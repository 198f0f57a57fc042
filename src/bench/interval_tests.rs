//! The intervals against published tables and examples, and how often they hold the truth.

use super::*;

fn ranks(values: usize) -> usize {
    let ascending: Vec<f64> = (1..=values).map(|value| value as f64).collect();
    let interval = median(&ascending).and_then(|estimate| estimate.interval);
    interval.map_or(0, |[low, _]| low as usize)
}

/// From scipy 1.17, `scipy.stats.binom.cdf(k, n, 0.5)`; up to 30 they are those of tables of the sign test.
#[test]
fn the_sign_test_s_ranks_are_those_of_the_binomial_distribution() {
    let expected = [
        (1, 0),
        (5, 0),
        (6, 1),
        (8, 1),
        (9, 2),
        (12, 3),
        (15, 4),
        (17, 5),
        (20, 6),
        (25, 8),
        (30, 10),
        (50, 18),
        (100, 40),
    ];
    for (count, rank) in expected {
        assert_eq!(ranks(count), rank, "{count} values");
    }
}

/// `scipy.stats.quantile_test(values, q=0, p=0.5).confidence_interval(0.95)`.
#[test]
fn the_interval_of_a_median_is_scipy_s() {
    let values = [9.1, 8.7, 9.4, 8.8, 9.0, 9.9, 8.6, 9.2, 8.9];
    let expected = Estimate {
        value: 9.0,
        interval: Some([8.7, 9.4]),
    };
    assert_eq!(median(&values), Some(expected));
    assert_eq!(median(&[]), None);
}

/// Tables of Mann and Whitney's test, two-sided, 5 %: it refuses up to the value before the rank.
#[test]
fn mann_and_whitney_s_ranks_are_those_of_the_tables() {
    let critical = [
        (3, 5, 0),
        (4, 4, 0),
        (5, 5, 2),
        (6, 6, 5),
        (5, 8, 6),
        (7, 7, 8),
        (8, 10, 17),
        (9, 9, 17),
        (10, 10, 23),
        (20, 20, 127),
    ];
    for (first, second, value) in critical {
        assert_eq!(mann_whitney_rank(first, second), value + 1, "{first} and {second}");
        assert_eq!(mann_whitney_rank(second, first), value + 1, "{second} and {first}");
    }
    assert_eq!(mann_whitney_rank(3, 3), 0);
    assert_eq!(mann_whitney_rank(1, 30), 0);
}

/// The permeability of the human chorioamnion, Hollander and Wolfe (1973), page 69; R's help on `wilcox.test` has the data, and
/// R says 0.305, −0.15 to 0.76. Of the exponentials the shift is the ratio.
#[test]
fn a_ratio_is_the_shift_of_the_logarithms() {
    let at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46].map(f64::exp);
    let before = [1.15, 0.88, 0.90, 0.74, 1.21].map(f64::exp);
    let Estimate { value, interval } = unpaired_ratio(&before, &at_term).unwrap();
    let [low, high] = interval.unwrap();
    for (found, expected) in [(low, -0.15), (high, 0.76)] {
        assert!((found.ln() - expected).abs() < 1e-12, "{found}");
    }
    // Between the two ratios in the middle: 0.30 and 0.31 before the exponential.
    assert!((value - (0.30f64.exp() + 0.31f64.exp()) / 2.0).abs() < 1e-12, "{value}");
}

/// Rounds of the same program, whose times have a long tail: at most 1 of 20 intervals may miss 1.
#[test]
fn equal_cases_are_seldom_told_apart() {
    let mut rng = fastrand::Rng::with_seed(11);
    let mut rounds = |count: usize| -> Vec<f64> { (0..count).map(|_| 100.0 - 3.0 * rng.f64().ln()).collect() };
    let (mut paired, mut unpaired) = (0, 0);
    for _ in 0..1000 {
        let (a, b) = (rounds(9), rounds(9));
        let told = |ratio: Option<Estimate>| ratio.unwrap().verdict() != Verdict::NoDifferenceSeen;
        paired += u32::from(told(paired_ratio(&a, &b)));
        unpaired += u32::from(told(unpaired_ratio(&a, &b)));
    }
    // The tests' own errors are 3.9 % and 4.0 %, give or take three standard errors of 1,000 trials.
    assert!((20..=58).contains(&paired), "{paired}");
    assert!((21..=59).contains(&unpaired), "{unpaired}");
}

#[test]
fn a_difference_is_called_only_where_the_spread_carries_it() {
    let base = [10.0, 12.0, 14.0, 11.0, 13.0, 15.0];
    // Each round is a tenth slower: the pairs say so, though the two overlap.
    let slower = base.map(|time| time * 1.1);
    let paired = paired_ratio(&base, &slower).unwrap();
    assert_eq!(paired.verdict(), Verdict::Slower);
    assert!((paired.value - 1.1).abs() < 1e-12);
    assert_eq!(
        unpaired_ratio(&base, &slower).unwrap().verdict(),
        Verdict::NoDifferenceSeen
    );
    assert_eq!(
        unpaired_ratio(&base, &base.map(|time| time / 2.0)).unwrap().verdict(),
        Verdict::Faster
    );
    // One round the other way round is enough to say nothing, and five rounds say nothing ever.
    let mut one_faster = slower;
    one_faster[3] = 10.9;
    assert_eq!(
        paired_ratio(&base, &one_faster).unwrap().verdict(),
        Verdict::NoDifferenceSeen
    );
    assert_eq!(
        paired_ratio(&base[..5], &slower[..5]).unwrap().verdict(),
        Verdict::TooFewRounds
    );
}
