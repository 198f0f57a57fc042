//! AgX: Sobotka's view transform in the analytic form of Wrensch, *Minimal AgX Implementation*, 2023.

use super::{ReferencePass, Texel};

/// Published by columns, as GLSL writes matrices.
const INSET: [[f32; 3]; 3] = [
    [0.842_479_06, 0.042_328_242, 0.042_375_655],
    [0.078_433_6, 0.878_468_6, 0.078_433_6],
    [0.079_223_745, 0.079_166_13, 0.879_143],
];
const OUTSET: [[f32; 3]; 3] = [
    [1.196_879, -0.052_896_85, -0.052_971_635],
    [-0.098_020_88, 1.151_903_1, -0.098_043_45],
    [-0.099_029_74, -0.098_961_18, 1.151_073_7],
];

/// The encoding's range, stops around 1.
const RANGE: [f32; 2] = [-12.47393, 4.026069];

/// The sigmoid's fit of degree 7 (mean squared error 1.86e-6), from the constant term on.
const SIGMOID: [f64; 8] = [0.002857, -0.1718, 4.361, -28.72, 92.06, -126.7, 78.01, -17.86];

/// Slope, power and saturation of a look (ASC CDL; no offset).
struct Look {
    slope: [f32; 3],
    power: f32,
    saturation: f32,
}

const GOLDEN: Look = Look {
    slope: [1.0, 0.9, 0.5],
    power: 0.8,
    saturation: 0.8,
};
const PUNCHY: Look = Look {
    slope: [1.0; 3],
    power: 1.35,
    saturation: 1.4,
};

fn multiply(columns: [[f32; 3]; 3], vector: [f32; 3]) -> [f32; 3] {
    std::array::from_fn(|row| columns[0][row] * vector[0] + columns[1][row] * vector[1] + columns[2][row] * vector[2])
}

/// The polynomial by powers, in double: its terms are up to a hundred times its value.
fn sigmoid(x: f32) -> f32 {
    let x = f64::from(x);
    let (sum, _) = SIGMOID
        .iter()
        .fold((0.0, 1.0), |(sum, power), factor| (sum + factor * power, power * x));
    sum as f32
}

fn agx(color: [f32; 3], look: Option<&Look>) -> [f32; 3] {
    let encoded = multiply(INSET, color).map(|value| {
        let stops = value.max(1e-10).log2().clamp(RANGE[0], RANGE[1]);
        sigmoid((stops - RANGE[0]) / (RANGE[1] - RANGE[0]))
    });
    let graded = match look {
        None => encoded,
        Some(look) => {
            let luma = 0.2126 * encoded[0] + 0.7152 * encoded[1] + 0.0722 * encoded[2];
            std::array::from_fn(|channel| {
                let value = (encoded[channel] * look.slope[channel]).max(0.0).powf(look.power);
                luma + look.saturation * (value - luma)
            })
        }
    };
    multiply(OUTSET, graded).map(|value| value.max(0.0).powf(2.2).min(1.0))
}

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let look = [None, Some(&GOLDEN), Some(&PUNCHY)][pass.parameter::<u32>(0) as usize];
    for (out, [red, green, blue, alpha]) in out.iter_mut().zip(pass.source.row(i64::from(y))) {
        let [red, green, blue] = agx([*red, *green, *blue], look);
        *out = [red, green, blue, *alpha];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::{apply, assert_fixture};

    /// `tests/fixtures/tone.csv` holds the published constants evaluated in float64; `tests/fixtures/make-tone` made it.
    #[test]
    fn colours_equal_the_published_form_in_float64_in_every_look() {
        let fixture = include_str!("../../../tests/fixtures/tone.csv");
        for (look, name) in [(0.0, "agx"), (1.0, "agx golden"), (2.0, "agx punchy")] {
            assert_fixture(fixture, name, &[("look", look)], 64);
        }
    }

    #[test]
    fn the_two_matrices_undo_each_other() {
        for (index, column) in OUTSET.into_iter().enumerate() {
            let back = multiply(INSET, column);
            assert!(
                (0..3).all(|row| (back[row] - f32::from(row == index)).abs() < 1e-5),
                "{back:?}"
            );
        }
    }

    #[test]
    fn greys_rise_and_a_bright_colour_turns_pale() {
        let greys: Vec<f32> = (-100..45)
            .map(|tenth| agx([2f32.powf(tenth as f32 / 10.0); 3], None)[1])
            .collect();
        assert!(greys.windows(2).all(|pair| pair[0] <= pair[1]));
        let saturation = |light: f32| {
            let [red, green, _, _] = apply("agx", &[], [1, 1], &[[light, 0.1 * light, 0.1 * light, 1.0]])[0];
            (red - green) / red
        };
        assert!(
            saturation(64.0) < 0.1 && saturation(1.0) > 0.5,
            "{} {}",
            saturation(1.0),
            saturation(64.0)
        );
    }
}
