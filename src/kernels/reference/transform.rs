//! Fourier transforms on the CPU, in 64 bits.

use super::super::grid::Transform;
use rayon::prelude::*;
use realfft::RealFftPlanner;
use realfft::num_complex::Complex;
use rustfft::FftPlanner;

/// Transforms planes of a grid of that extent; `to` is overwritten.
pub(super) fn run(transform: Transform, [width, height]: [u32; 2], from: &[u8], to: &mut [u8]) {
    let (width, height) = (width as usize, height as usize);
    let (real, spectrum) = (width * height, (width / 2 + 1) * height);
    match transform {
        Transform::R2c => {
            let (from, to) = (
                bytemuck::cast_slice::<u8, f32>(from),
                bytemuck::cast_slice_mut::<u8, [f32; 2]>(to),
            );
            for (from, to) in from.chunks(real).zip(to.chunks_mut(spectrum)) {
                forward(from, to, width, height);
            }
        }
        Transform::C2r => {
            let (from, to) = (
                bytemuck::cast_slice::<u8, [f32; 2]>(from),
                bytemuck::cast_slice_mut::<u8, f32>(to),
            );
            for (from, to) in from.chunks(spectrum).zip(to.chunks_mut(real)) {
                backward(from, to, width, height);
            }
        }
    }
}

fn forward(from: &[f32], to: &mut [[f32; 2]], width: usize, height: usize) {
    let fft = RealFftPlanner::<f64>::new().plan_fft_forward(width);
    let columns = width / 2 + 1;
    let mut rows = vec![Complex::default(); columns * height];
    rows.par_chunks_mut(columns)
        .zip(from.par_chunks(width))
        .for_each(|(out, row)| {
            let mut row: Vec<f64> = row.iter().copied().map(f64::from).collect();
            fft.process(&mut row, out).expect("the lengths are the plan's");
        });
    let mut turned = turn(&rows, columns);
    let fft = FftPlanner::<f64>::new().plan_fft_forward(height);
    turned.par_chunks_mut(height).for_each(|column| fft.process(column));
    for (to, value) in to.iter_mut().zip(turn(&turned, height)) {
        *to = [value.re as f32, value.im as f32];
    }
}

fn backward(from: &[[f32; 2]], to: &mut [f32], width: usize, height: usize) {
    let columns = width / 2 + 1;
    let values: Vec<_> = from
        .iter()
        .map(|[re, im]| Complex::new(f64::from(*re), f64::from(*im)))
        .collect();
    let mut turned = turn(&values, columns);
    let fft = FftPlanner::<f64>::new().plan_fft_inverse(height);
    turned.par_chunks_mut(height).for_each(|column| fft.process(column));
    let mut rows = turn(&turned, height);
    let fft = RealFftPlanner::<f64>::new().plan_fft_inverse(width);
    rows.par_chunks_mut(columns)
        .zip(to.par_chunks_mut(width))
        .for_each(|(row, out)| {
            // The spectrum of something real: rounding alone puts something else there.
            row[0].im = 0.0;
            row[columns - 1].im = 0.0;
            let mut values = vec![0.0; width];
            fft.process(row, &mut values)
                .expect("the lengths are the plan's, and the ends are real");
            for (out, value) in out.iter_mut().zip(values) {
                *out = value as f32;
            }
        });
}

/// Rows become columns.
fn turn(values: &[Complex<f64>], width: usize) -> Vec<Complex<f64>> {
    let height = values.len() / width;
    let mut turned = vec![Complex::default(); values.len()];
    turned.par_chunks_mut(height).enumerate().for_each(|(x, column)| {
        for (y, value) in column.iter_mut().enumerate() {
            *value = values[y * width + x];
        }
    });
    turned
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    fn spectrum_of(values: &[f32], extent: [u32; 2]) -> Vec<[f32; 2]> {
        let mut out = vec![[0.0f32; 2]; (extent[0] as usize / 2 + 1) * extent[1] as usize];
        run(
            Transform::R2c,
            extent,
            bytemuck::cast_slice(values),
            bytemuck::cast_slice_mut(&mut out),
        );
        out
    }

    /// The definition: the sum over all texels of the value times e to the -i τ (k x / width + l y / height).
    #[test]
    fn it_is_the_definition_s() {
        let (width, height) = (10, 6);
        let values: Vec<f32> = (0..60).map(|index| ((index * 37) % 61) as f32 / 8.0 - 3.0).collect();
        let found = spectrum_of(&values, [10, 6]);
        for l in 0..height {
            for k in 0..=width / 2 {
                let mut sum = Complex::new(0.0, 0.0);
                for y in 0..height {
                    for x in 0..width {
                        let turn = -TAU * ((k * x) as f64 / width as f64 + (l * y) as f64 / height as f64);
                        sum += Complex::from_polar(f64::from(values[y * width + x]), turn);
                    }
                }
                let [re, im] = found[l * (width / 2 + 1) + k].map(f64::from);
                assert!(
                    (sum - Complex::new(re, im)).norm() < 1e-4,
                    "{k} {l}: {re} {im} for {sum}"
                );
            }
        }
    }

    #[test]
    fn forth_and_back_multiplies_by_the_texels_in_every_plane() {
        let values: Vec<f32> = (0..2 * 14 * 8).map(|index| ((index * 29) % 97) as f32).collect();
        let spectrum: Vec<[f32; 2]> = spectrum_of(&values[..112], [14, 8])
            .into_iter()
            .chain(spectrum_of(&values[112..], [14, 8]))
            .collect();
        let mut back = vec![0f32; values.len()];
        run(
            Transform::C2r,
            [14, 8],
            bytemuck::cast_slice(&spectrum),
            bytemuck::cast_slice_mut(&mut back),
        );
        for (before, after) in values.iter().zip(&back) {
            assert!((before * 112.0 - after).abs() < 112.0 * 1e-4);
        }
    }
}
