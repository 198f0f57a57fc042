//! The intervals against what is known of them: their width in closed form, and how often they hold the truth.

use super::*;

/// Values that follow one another: each is `memory` times the one before it, and noise.
fn correlated(rng: &mut Rng, count: usize, memory: f64) -> Vec<f64> {
    // Irwin and Hall's sum of twelve: mean 0, variance 1.
    let mut noise = || (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
    let mut value = noise() / (1.0 - memory * memory).sqrt();
    let mut next = || {
        value = memory * value + noise();
        value
    };
    (0..count).map(|_| next()).collect()
}

/// The variance of the resampled mean is the variance of the means of all blocks of the circle, by the number of
/// blocks.
#[test]
fn widths_are_those_of_the_closed_form() {
    let values = correlated(&mut Rng::with_seed(3), 1000, 0.7);
    let (length, blocks) = (block_length(1000), 100);
    assert_eq!(length, 10);
    let centre = mean(&values).unwrap();
    let block_mean = |start: usize| (0..length).map(|step| values[(start + step) % 1000]).sum::<f64>() / 10.0;
    let variance = (0..1000).map(|start| (block_mean(start) - centre).powi(2)).sum::<f64>() / 1000.0;
    let expected = 2.0 * 1.959964 * (variance / f64::from(blocks)).sqrt();
    let ([low, high], _) = intervals(&vec![0.0; 1000], &values).unwrap();
    // 1,000 resamples give the ends of an interval to a few percent.
    assert!(
        ((high - low) / expected - 1.0).abs() < 0.1,
        "{} and {expected}",
        high - low
    );
    assert!(((low + high) / 2.0 - centre).abs() < 0.1 * expected);
}

/// Two captures of the same process: nearly all intervals must hold 0. Single frames instead of blocks would make it 3
/// of 4, as the standard error would be too small by the root of (1 + 0.5) / (1 - 0.5).
#[test]
fn equal_captures_show_no_difference() {
    let mut rng = Rng::with_seed(5);
    let (mut in_mean, mut in_median) = (0, 0);
    for _ in 0..200 {
        let [a, b] = [(); 2].map(|()| correlated(&mut rng, 216, 0.5));
        let (of_mean, of_median) = intervals(&a, &b).unwrap();
        let holds = |[low, high]: Interval| low <= 0.0 && 0.0 <= high;
        in_mean += u32::from(holds(of_mean));
        in_median += u32::from(holds(of_median));
    }
    assert!((172..=198).contains(&in_mean), "{in_mean} of 200 means");
    assert!((172..=200).contains(&in_median), "{in_median} of 200 medians");
}

#[test]
fn a_shift_is_seen_and_measured() {
    let mut rng = Rng::with_seed(7);
    let a = correlated(&mut rng, 1000, 0.5);
    let b: Vec<f64> = correlated(&mut rng, 1000, 0.5)
        .iter()
        .map(|value| value + 1.0)
        .collect();
    let (of_mean, of_median) = intervals(&a, &b).unwrap();
    for [low, high] in [of_mean, of_median] {
        assert!(low > 0.0 && low < 1.0 && high > 1.0, "{low} to {high}");
    }
    assert_eq!(intervals(&a, &b), Some((of_mean, of_median)), "not reproducible");
}

#[test]
fn medians_are_the_50th_percentile() {
    let mut rng = Rng::with_seed(9);
    for count in [1, 2, 3, 20, 101] {
        let mut values = correlated(&mut rng, count, 0.0);
        let expected = percentile(&sorted(&values), 50.0).unwrap();
        assert_eq!(median(&mut values), expected, "{count} values");
    }
}

#[test]
fn a_few_frames_have_no_interval() {
    assert_eq!(intervals(&[1.0; 19], &[2.0; 100]), None);
    assert!(intervals(&[1.0; 20], &[2.0; 20]).is_some());
}
