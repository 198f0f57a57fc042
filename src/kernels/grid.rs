//! Grids of numbers in buffers, for effects that compute by Fourier transforms.

/// A buffer that holds planes of a padded grid.
///
/// The extent that the effect is given is divided by `divisor`, rounded up, and padded by [`padded`] along both axes: an offset
/// between any two texels, and its opposite, has a place of its own, so that a convolution does not come round the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grid {
    /// What its elements are.
    pub kind: GridKind,
    /// Planes, one behind the other.
    pub planes: u32,
    /// Of the effect's extent.
    pub divisor: u32,
}

/// What a grid's elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GridKind {
    /// Floats, row after row.
    Real,
    /// The half of a real grid's spectrum that is not redundant: pairs of floats, width / 2 + 1 a row.
    Spectrum,
}

/// A Fourier transform of all planes of a grid, without normalization: forth and back multiplies by the number of texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transform {
    /// From a real grid to its spectrum, with the exponent's sign negative.
    R2c,
    /// From a spectrum to the real grid. The spectrum holds nothing afterwards.
    C2r,
}

/// Odd numbers, without factors that transforms are slow for: all up to 45, and what the usual heights of pictures have.
const ODD_PARTS: [u32; 10] = [1, 3, 5, 9, 15, 25, 27, 45, 75, 135];

/// The length of a padded axis: the least that is at least `2 * length - 1` and a power of two above 1 times 1, 3, 5, 9, 15, 25, 27, 45, 75 or 135.
pub fn padded(length: u32) -> u32 {
    let least = (2 * length).saturating_sub(1).max(1);
    let padded = |odd: &u32| odd * least.div_ceil(*odd).next_power_of_two().max(2);
    ODD_PARTS.iter().map(padded).min().unwrap_or(least)
}

impl Grid {
    /// Width and height of the real grid, for an effect that is given images of that extent.
    pub fn extent(self, given: [u32; 2]) -> [u32; 2] {
        given.map(|length| padded(length.div_ceil(self.divisor)))
    }

    /// Elements of a plane in x and y.
    pub fn elements(self, given: [u32; 2]) -> [u32; 2] {
        let [width, height] = self.extent(given);
        match self.kind {
            GridKind::Real => [width, height],
            GridKind::Spectrum => [width / 2 + 1, height],
        }
    }

    /// Of all planes.
    pub fn bytes(self, given: [u32; 2]) -> u64 {
        let element = match self.kind {
            GridKind::Real => 4,
            GridKind::Spectrum => 8,
        };
        self.elements(given).into_iter().map(u64::from).product::<u64>() * u64::from(self.planes) * element
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_enough_fast_and_not_much() {
        assert_eq!(
            [1, 2, 3, 4, 5, 9, 32, 960, 540].map(padded),
            [2, 4, 6, 8, 10, 18, 64, 1920, 1080]
        );
        for length in 1..3000 {
            let padded = padded(length);
            assert!(
                padded >= 2 * length - 1 && padded.is_multiple_of(2),
                "{length}: {padded}"
            );
            let largest = match length {
                ..32 => 6 * (2 * length - 1) / 5 + 4,
                32.. => 9 * (2 * length - 1) / 8,
            };
            assert!(padded <= largest, "{length}: {padded}");
            let mut rest = padded >> padded.trailing_zeros();
            for factor in [3, 5] {
                while rest.is_multiple_of(factor) {
                    rest /= factor;
                }
            }
            assert_eq!(rest, 1, "{length}: {padded}");
        }
    }
}
