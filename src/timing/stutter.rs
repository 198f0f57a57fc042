//! Stutter: frames that took far longer than those before them.

use serde::Serialize;

use crate::timing::statistics::mean;

/// A frame stutters when it takes more than this many times the moving average: `StutteringFactor` of CapFrameX's
/// settings, as it comes.
pub const STUTTER_FACTOR: f64 = 2.5;

/// How much of a run stuttered.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Stutter {
    /// Frames that stuttered.
    pub frames: usize,
    /// Their share of the whole time, percent.
    pub percent_of_time: f64,
}

impl Stutter {
    /// The frames that took longer than [`STUTTER_FACTOR`] times the [`moving_average`], and their share of the time.
    ///
    /// CXWorld/CapFrameX, `FrametimeStatisticProvider.cs`: `GetStutteringTimePercentage`. The count is that of the same
    /// frames; CapFrameX's own `GetStutteringCountPercentage` compares with the average of the whole run instead.
    pub fn of(times: &[f64]) -> Stutter {
        let total: f64 = times.iter().sum();
        let averages = moving_average(times);
        let stuttering = times.iter().zip(averages);
        let stuttering = stuttering.filter(|(time, average)| **time > STUTTER_FACTOR * average);
        let (frames, time) = stuttering.fold((0, 0.0), |(frames, sum), (time, _)| (frames + 1, sum + time));
        Stutter {
            frames,
            // Spans across two clocks may be negative and add up to nothing, of which there is no share.
            percent_of_time: if frames > 0 && total > 0.0 {
                100.0 * time / total
            } else {
                0.0
            },
        }
    }
}

/// The mean of each frame and those before it, where a time over three times the one before it counts as that one. It goes
/// over ten times the root of the run's mean in milliseconds: 41 frames at 60 frames a second.
///
/// CXWorld/CapFrameX: `GetMovingAverage` in `FrametimeStatisticProvider.cs`, and `SampleBasedMovingAverage.cs`.
pub fn moving_average(times: &[f64]) -> Vec<f64> {
    let window = window(times);
    let without_spike = |index: usize| match index.checked_sub(1).map(|before| times[before]) {
        Some(before) if times[index] > before * 3.0 => before,
        _ => times[index],
    };
    let average = |index: usize| {
        let first = (index + 1).saturating_sub(window);
        let sum: f64 = (first..=index).rev().map(without_spike).sum();
        sum / (index + 1 - first) as f64
    };
    (0..times.len()).map(average).collect()
}

/// Frames of the moving average: rounded, to the even neighbour where it is half-way, and at least the frame itself.
fn window(times: &[f64]) -> usize {
    let mean = mean(times).unwrap_or_default().max(0.0);
    ((mean.sqrt() * 10.0).round_ties_even() as usize).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_long_frame_among_equal_ones_stutters() {
        let mut times = [10.0; 100];
        times[60] = 100.0;
        // The spike counts as the frame before it, so the moving average is 10 throughout.
        assert_eq!(moving_average(&times), [10.0; 100]);
        let stutter = Stutter::of(&times);
        assert_eq!((stutter.frames, stutter.percent_of_time), (1, 100.0 * 100.0 / 1090.0));
    }

    #[test]
    fn a_lasting_change_is_no_stutter() {
        // Twice as long from here on: below the factor even before the average has followed.
        let times: Vec<f64> = (0..200).map(|frame| if frame < 100 { 8.0 } else { 16.0 }).collect();
        assert_eq!(Stutter::of(&times), Stutter::default());
    }

    #[test]
    fn windows_follow_the_mean() {
        assert_eq!(window(&[16.667]), 41);
        assert_eq!(window(&[0.0]), 1);
        // 0.7225 ms: the root is 0.85, and 8.5 goes to the even neighbour.
        assert_eq!(window(&[0.7225]), 8);
        assert_eq!(Stutter::of(&[]), Stutter::default());
        assert_eq!(Stutter::of(&[0.0, 0.0]), Stutter::default());
    }
}
