//! Compares a processor's picture with the reference's, within an effect's tolerance.

use super::tolerance::Tolerance;
use half::f16;

/// The outcome of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The channel furthest from what is expected; none if all are equal. Failing channels come before others.
    pub worst: Option<Mismatch>,
    /// Channels outside the tolerance.
    pub failures: usize,
    /// Channels compared.
    pub channels: usize,
}

/// One channel of one texel that differs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mismatch {
    /// x and y, texels.
    pub position: [u32; 2],
    /// 0 to 3: red, green, blue, alpha.
    pub channel: usize,
    /// What the reference says.
    pub expected: f16,
    /// What was found.
    pub actual: f16,
    /// Steps between neighbouring halves from one to the other; `u32::MAX` if one is NaN or infinite.
    pub ulps: u32,
    /// Whether the tolerance allows it.
    pub allowed: bool,
}

impl Comparison {
    /// Whether every channel is within the tolerance.
    pub fn passes(&self) -> bool {
        self.failures == 0
    }
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        let channel = ["red", "green", "blue", "alpha"][self.channel];
        let [x, y] = self.position;
        write!(
            formatter,
            "{channel} at ({x}, {y}): {} instead of {}",
            self.actual, self.expected
        )?;
        if self.ulps == u32::MAX {
            Ok(())
        } else {
            write!(formatter, ", {} ulps", self.ulps)
        }
    }
}

/// Compares two RGBA16F images of `width` texels a row, no padding. NaN equals NaN whatever its bits; an infinity
/// equals itself alone.
///
/// # Panics
/// If the images differ in length.
pub fn compare(expected: &[[f16; 4]], actual: &[[f16; 4]], width: u32, tolerance: &Tolerance) -> Comparison {
    assert_eq!(expected.len(), actual.len(), "images of different extents");
    let mut comparison = Comparison {
        worst: None,
        failures: 0,
        channels: expected.len() * 4,
    };
    for (index, (expected, actual)) in (0u32..).zip(expected.iter().zip(actual)) {
        for (channel, (expected, actual)) in expected.iter().zip(actual).enumerate() {
            let ulps = ulps_between(*expected, *actual);
            if ulps == 0 {
                continue;
            }
            let allowed = ulps != u32::MAX && (ulps <= tolerance.ulps || is_near(*expected, *actual, tolerance));
            comparison.failures += usize::from(!allowed);
            let position = [index % width, index / width];
            let mismatch = Mismatch {
                position,
                channel,
                expected: *expected,
                actual: *actual,
                ulps,
                allowed,
            };
            let rank = |mismatch: &Mismatch| (!mismatch.allowed, mismatch.ulps);
            if comparison
                .worst
                .as_ref()
                .is_none_or(|worst| rank(&mismatch) > rank(worst))
            {
                comparison.worst = Some(mismatch);
            }
        }
    }
    comparison
}

fn is_near(expected: f16, actual: f16, tolerance: &Tolerance) -> bool {
    let expected = expected.to_f32();
    (actual.to_f32() - expected).abs() <= tolerance.absolute.max(tolerance.relative * expected.abs())
}

fn ulps_between(a: f16, b: f16) -> u32 {
    if a == b || (a.is_nan() && b.is_nan()) {
        return 0;
    }
    if !(a.is_finite() && b.is_finite()) {
        return u32::MAX;
    }
    // Halves are ordered as their magnitude bits are, on either side of zero.
    let order = |value: f16| {
        let magnitude = i32::from(value.to_bits() & 0x7fff);
        if value.is_sign_negative() {
            -magnitude
        } else {
            magnitude
        }
    };
    order(a).abs_diff(order(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differ(expected: f32, actual: f32, tolerance: &Tolerance) -> Comparison {
        compare(
            &[[f16::from_f32(expected); 4]],
            &[[f16::from_f32(actual); 4]],
            1,
            tolerance,
        )
    }

    fn tolerance(ulps: u32, absolute: f32, relative: f32) -> Tolerance {
        Tolerance {
            ulps,
            absolute,
            relative,
            why: String::new(),
        }
    }

    #[test]
    fn any_of_the_three_bounds_suffices() {
        assert!(!differ(1.0, 1.002, &tolerance(1, 0.0, 0.0)).passes());
        assert!(differ(1.0, 1.002, &tolerance(2, 0.0, 0.0)).passes());
        assert!(differ(1.0, 1.002, &tolerance(0, 0.003, 0.0)).passes());
        assert!(differ(100.0, 100.2, &tolerance(0, 0.0, 0.003)).passes());
        assert_eq!(differ(0.0, -0.0, &tolerance(0, 0.0, 0.0)).worst, None);
    }

    #[test]
    fn nan_and_infinities_equal_themselves_alone() {
        let wide = tolerance(70000, f32::INFINITY, 0.0);
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(differ(value, value, &wide).worst, None);
            assert_eq!(differ(value, 65504.0, &wide).failures, 4);
            assert_eq!(differ(1.0, value, &wide).failures, 4);
        }
    }

    #[test]
    fn the_worst_failure_is_named() {
        let mut actual = vec![[f16::ONE; 4]; 6];
        actual[3][1] = f16::from_f32(1.25);
        actual[5][2] = f16::from_f32(1.5);
        let comparison = compare(&[[f16::ONE; 4]; 6], &actual, 3, &tolerance(1, 0.0, 0.0));
        assert_eq!((comparison.failures, comparison.channels), (2, 24));
        let worst = comparison.worst.expect("a mismatch");
        assert_eq!((worst.position, worst.channel), ([2, 1], 2));
        assert_eq!(worst.to_string(), "blue at (2, 1): 1.5 instead of 1, 512 ulps");
    }
}
