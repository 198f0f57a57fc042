//! EASU: the upscaling of AMD FidelityFX Super Resolution 1.0, with exact reciprocals and roots.

use super::{ReferencePass, Texel};

/// Where the taps lie about the texel at the upper left of the position, in the order that the header adds them up.
const TAPS: [[i64; 2]; 12] = [
    [0, -1],
    [1, -1],
    [-1, 1],
    [0, 1],
    [0, 0],
    [-1, 0],
    [1, 1],
    [2, 1],
    [2, 0],
    [1, 0],
    [1, 2],
    [0, 2],
];
/// Among them, the four around the position: upper left, upper right, lower left, lower right.
const AROUND: [usize; 4] = [4, 9, 3, 6];

/// The crosses about those four, as places in [`TAPS`]: above, left, middle, right, below.
const CROSSES: [[usize; 5]; 4] = [[0, 5, 4, 9, 3], [1, 4, 9, 8, 6], [4, 2, 3, 6, 11], [9, 3, 6, 7, 10]];

/// The rise over the largest of two neighbouring steps, squared: 1 along a ramp, 0 on a thin line.
fn straightness(before: f32, middle: f32, after: f32) -> f32 {
    let steepest = (after - middle).abs().max((middle - before).abs());
    if steepest <= 0.0 {
        return 0.0;
    }
    let share = ((after - before).abs() / steepest).clamp(0.0, 1.0);
    share * share
}

/// The colour at a position `[x, y]` right of and below the upper left texel, 0 to 1, from the twelve encoded taps.
fn resolve(taps: &[[f32; 3]; 12], [x, y]: [f32; 2]) -> [f32; 3] {
    let luma = taps.map(|[r, g, b]| b * 0.5 + (r * 0.5 + g));
    let weights = [(1.0 - x) * (1.0 - y), x * (1.0 - y), (1.0 - x) * y, x * y];
    let (mut direction, mut length) = ([0.0f32; 2], 0.0f32);
    for (cross, weight) in CROSSES.into_iter().zip(weights) {
        let [above, left, middle, right, below] = cross.map(|tap| luma[tap]);
        direction[0] += (right - left) * weight;
        length += straightness(left, middle, right) * weight;
        direction[1] += (below - above) * weight;
        length += straightness(above, middle, below) * weight;
    }
    let squared = direction[0] * direction[0] + direction[1] * direction[1];
    if squared < 1.0 / 32768.0 {
        direction[0] = 1.0;
    } else {
        let scale = 1.0 / squared.sqrt();
        direction = direction.map(|part| part * scale);
    }
    let half = length * 0.5;
    let length = half * half;
    let [dx, dy] = direction;
    let stretch = (dx * dx + dy * dy) / dx.abs().max(dy.abs());
    let along = 1.0 + (stretch - 1.0) * length;
    let across = 1.0 - 0.5 * length;
    let lobe = 0.5 + (1.0 / 4.0 - 0.04 - 0.5) * length;
    let clip = 1.0 / lobe;

    let (mut sum, mut total) = ([0.0f32; 3], 0.0f32);
    for (color, offset) in taps.iter().zip(TAPS) {
        let [ox, oy] = [offset[0] as f32 - x, offset[1] as f32 - y];
        let rotated = [(ox * dx + oy * dy) * along, (ox * -dy + oy * dx) * across];
        let distance = (rotated[0] * rotated[0] + rotated[1] * rotated[1]).min(clip);
        let base = 2.0 / 5.0 * distance - 1.0;
        let window = lobe * distance - 1.0;
        let weight = (25.0 / 16.0 * (base * base) - (25.0 / 16.0 - 1.0)) * (window * window);
        for (sum, color) in sum.iter_mut().zip(color) {
            *sum += color * weight;
        }
        total += weight;
    }
    std::array::from_fn(|channel| {
        let around = AROUND.map(|tap| taps[tap][channel]);
        let least = around.into_iter().fold(f32::INFINITY, f32::min);
        let most = around.into_iter().fold(f32::NEG_INFINITY, f32::max);
        (sum[channel] / total).max(least).min(most)
    })
}

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let source = pass.source;
    let scale = [0, 1].map(|axis| source.extent[axis] as f32 / pass.extent[axis] as f32);
    let place = |at: f32, axis: usize| at * scale[axis] + (0.5 * scale[axis] - 0.5);
    let py = place(y as f32, 1);
    for (x, out) in (0u32..).zip(out) {
        let px = place(x as f32, 0);
        let [left, top] = [px.floor(), py.floor()];
        let [fx, fy] = [px - left, py - top];
        let texels = TAPS.map(|[dx, dy]| source.at(left as i64 + dx, top as i64 + dy));
        let [r, g, b] = resolve(&texels.map(|[r, g, b, _]| [r.sqrt(), g.sqrt(), b.sqrt()]), [fx, fy]);
        let nearest = AROUND[usize::from(fx >= 0.5) + 2 * usize::from(fy >= 0.5)];
        *out = [r * r, g * g, b * b, texels[nearest][3]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::FrameExtents;
    use crate::kernels::reference::FrameParameters;
    use crate::kernels::reference::test_images::Bench;

    /// `tests/fixtures/easu.csv` is FsrEasuF's published arithmetic in 40 digits; `tests/fixtures/make-easu` made it.
    #[test]
    fn vectors_of_the_published_arithmetic() {
        let fixture = include_str!("../../../tests/fixtures/easu.csv");
        let mut cases = 0;
        for line in fixture.lines().skip(1) {
            let fields: Vec<f32> = line.split(',').map(|field| field.parse().expect("a number")).collect();
            let taps: [[f32; 3]; 12] = std::array::from_fn(|tap| std::array::from_fn(|c| fields[2 + 3 * tap + c]));
            let resolved = resolve(&taps, [fields[0], fields[1]]);
            for (channel, value) in resolved.into_iter().enumerate() {
                assert!((value - fields[38 + channel]).abs() < 1e-5, "{line}: {resolved:?}");
            }
            cases += 1;
        }
        assert!(cases >= 60);
    }

    fn upscaled(effect: &str, scene: [u32; 2], display: [u32; 2], image: &[Texel]) -> Vec<Texel> {
        let mut bench = Bench::new(effect, &[], FrameExtents { scene, display });
        bench.frame(image, None, &FrameParameters::default())
    }

    #[test]
    fn flat_pictures_stay_flat_at_every_scale() {
        for effect in ["easu", "enlarge"] {
            for scene in [[1, 1], [3, 2], [7, 5], [9, 6]] {
                let image = vec![[0.25, 0.5, 4.0, 0.75]; (scene[0] * scene[1]) as usize];
                let out = upscaled(effect, scene, [13, 9], &image);
                for texel in out {
                    for (value, wanted) in texel.into_iter().zip([0.25, 0.5, 4.0, 0.75]) {
                        assert!(
                            (value / wanted - 1.0).abs() < 1e-3,
                            "{effect} from {scene:?}: {texel:?}"
                        );
                    }
                }
            }
        }
    }

    /// A slanted edge upscaled twofold is closer to the edge drawn at that extent than the bilinear filter's: what it is for.
    #[test]
    fn a_slanted_edge_is_closer_to_the_true_one_than_a_bilinear_filter_s() {
        let edge = |[width, height]: [u32; 2]| -> Vec<Texel> {
            let covered = |x: f32, y: f32| {
                // 16 samples a texel of a half plane through the middle.
                let inside = (0..16).filter(|sample| {
                    let (sx, sy) = ((sample % 4) as f32 / 4.0 + 0.125, (sample / 4) as f32 / 4.0 + 0.125);
                    (x + sx) / width as f32 - 0.5 > 0.35 * ((y + sy) / height as f32 - 0.5)
                });
                inside.count() as f32 / 16.0
            };
            let texels = (0..width * height).map(|index| covered((index % width) as f32, (index / width) as f32));
            // The coverage as it is displayed, so that both filters see what EASU is made for.
            texels
                .map(|value| [value * value, value * value, value * value, 1.0])
                .collect()
        };
        let truth = edge([64, 64]);
        let error = |effect: &str| -> f32 {
            let out = upscaled(effect, [32, 32], [64, 64], &edge([32, 32]));
            let off = out.iter().zip(&truth).map(|(a, b)| (a[0].sqrt() - b[0].sqrt()).powi(2));
            off.sum::<f32>()
        };
        let (easu, bilinear) = (error("easu"), error("enlarge"));
        assert!(easu < 0.8 * bilinear, "{easu} against {bilinear}");
    }

    /// Of a picture that is linear in position, the bilinear filter is exact away from the edges.
    #[test]
    fn a_bilinear_ramp_is_exact() {
        let image: Vec<Texel> = (0..64)
            .map(|index| [1.0 + (index % 8) as f32 / 8.0, 1.0 + (index / 8) as f32 / 8.0, 1.0, 1.0])
            .collect();
        let out = upscaled("enlarge", [8, 8], [16, 16], &image);
        for y in 1..15usize {
            for x in 1..15usize {
                let at = |place: usize| 1.0 + ((place as f32 + 0.5) / 2.0 - 0.5) / 8.0;
                let texel = out[y * 16 + x];
                assert!(
                    (texel[0] - at(x)).abs() < 1e-3 && (texel[1] - at(y)).abs() < 1e-3,
                    "{x} {y}: {texel:?}"
                );
            }
        }
    }
}
