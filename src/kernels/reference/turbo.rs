//! The colours of Turbo.
//!
//! Mikhailov, *Turbo, an improved rainbow colormap for visualization*, Google 2019; its polynomial of degree 5 by Du.

/// Red, green and blue from the constant term on, encoded as sRGB.
const TURBO: [[f64; 6]; 3] = [
    [
        0.13572138,
        4.61539260,
        -42.66032258,
        132.13108234,
        -152.94239396,
        59.28637943,
    ],
    [0.09140261, 2.19418839, 4.84296658, -14.18503333, 4.27729857, 2.82956604],
    [
        0.10667330,
        12.64194608,
        -60.58204836,
        110.36276771,
        -89.90310912,
        27.34824973,
    ],
];

/// The colour of a share from 0 to 1, encoded. In double: the terms are up to a thousand times their sum.
pub(super) fn turbo(share: f32) -> [f32; 3] {
    let x = f64::from(share);
    let powers = [1.0, x, x.powi(2), x.powi(3), x.powi(4), x.powi(5)];
    TURBO.map(|factors| {
        factors
            .iter()
            .zip(powers)
            .map(|(factor, power)| factor * power)
            .sum::<f64>() as f32
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries of the published table of 256 colours, to which the polynomial is fitted: it is off by up to 0.09, and at
    /// entry 0 by 0.13.
    #[test]
    fn the_colours_are_near_the_published_table() {
        let table = [
            (16, [0.25107, 0.25237, 0.63374]),
            (64, [0.15844, 0.73551, 0.92305]),
            (128, [0.64362, 0.98999, 0.23356]),
            (192, [0.98360, 0.49291, 0.12849]),
            (255, [0.47960, 0.01583, 0.01055]),
        ];
        for (entry, expected) in table {
            let color = turbo(entry as f32 / 255.0);
            let error = color.iter().zip(expected).map(|(a, b): (&f32, f32)| (a - b).abs());
            assert!(error.fold(0.0, f32::max) < 0.09, "{entry}: {color:?}");
        }
    }
}
