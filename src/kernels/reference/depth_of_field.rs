//! Depth of field: each point is spread over the circle of confusion of a thin lens.
//!
//! Potmesil and Chakravarty, *A Lens and Aperture Camera Model for Synthetic Image Generation*, 1981. What is before the focus
//! and what is behind it are blurred apart, at half resolution. Sums run row after row, in float: where bright light stands
//! beside dim, what is left of it hangs on every bit.

use super::{FloatImage, ReferencePass, Texel};

const FOCUS: usize = 0;
const FOCAL_LENGTH: usize = 1;
const F_NUMBER: usize = 2;
const SENSOR_HEIGHT: usize = 3;
const LARGEST: usize = 4;

/// Texels of the halved picture that one of the largest near radii stands for, along an axis.
const TILE: i64 = 16;

/// A camera, in metres.
struct Camera {
    focus: f32,
    /// Diameter of what is infinitely far, on the sensor.
    infinite: f32,
    /// Texels for each metre of the sensor.
    texels: f32,
    largest: f32,
}

impl Camera {
    fn of(pass: &ReferencePass) -> Self {
        let focal_length = 0.001 * pass.parameter::<f32>(FOCAL_LENGTH);
        let focus = pass.parameter::<f32>(FOCUS);
        let aperture = focal_length / pass.parameter::<f32>(F_NUMBER);
        Self {
            focus,
            infinite: aperture * focal_length / (focus - focal_length),
            texels: pass.guides.depth.extent[1] as f32 / (0.001 * pass.parameter::<f32>(SENSOR_HEIGHT)),
            largest: pass.parameter(LARGEST),
        }
    }

    /// Of the circle of confusion, texels; negative before the focus.
    fn radius(&self, depth: f32) -> f32 {
        let unlimited = 0.5 * self.infinite * self.texels * (1.0 - self.focus / depth.max(1e-6));
        unlimited.clamp(-self.largest, self.largest)
    }
}

/// How much of a texel is shown blurred.
fn blurred_share(radius: f32) -> f32 {
    (radius - 0.5).clamp(0.0, 1.0)
}

/// How much of a texel a disc covers; its edge is as soft as a texel.
fn covered(disc: f32, distance: f32) -> f32 {
    (disc + 1.0 - distance).clamp(0.0, 1.0)
}

/// One over the integral of [`covered`] over the plane.
fn density(disc: f32) -> f32 {
    let middle = disc + 0.5;
    1.0 / (3.14159265 * (middle * middle + 1.0 / 12.0))
}

/// Sums up colours with their weights; the mean, with the sum of the weights.
fn mean(taps: impl Iterator<Item = (Texel, f32)>) -> ([f32; 3], f32) {
    let (mut sum, mut weights) = ([0.0; 3], 0.0);
    for (color, weight) in taps {
        for (sum, value) in sum.iter_mut().zip(color) {
            *sum += value * weight;
        }
        weights += weight;
    }
    let scale = if weights > 0.0 { 1.0 / weights } else { 0.0 };
    (sum.map(|sum| sum * scale), weights)
}

/// Four texels of one side of the focus become one, each with the weight of its radius.
fn halved(pass: &ReferencePass, y: u32, out: &mut [Texel], side: f32) {
    let camera = Camera::of(pass);
    let [width, height] = pass.source.extent.map(i64::from);
    for (x, out) in (0..).zip(out) {
        let (mut sum, mut weights, mut squares) = ([0.0f32; 3], 0.0, 0.0);
        for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let (x, y) = ((2 * x + dx).min(width - 1), (2 * i64::from(y) + dy).min(height - 1));
            let weight = (side * camera.radius(pass.guides.depth.at(x, y)[0])).max(0.0);
            for (sum, value) in sum.iter_mut().zip(pass.source.at(x, y)) {
                *sum += value * weight;
            }
            weights += weight;
            squares += weight * weight;
        }
        *out = [0.0; 4];
        if weights > 0.0 {
            let [red, green, blue] = sum.map(|sum| sum / weights);
            *out = [red, green, blue, 0.5 * squares / weights];
        }
    }
}

pub(super) fn near(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    halved(pass, y, out, -1.0);
}

pub(super) fn far(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    halved(pass, y, out, 1.0);
}

pub(super) fn reach(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let tile = |from: i64| from * TILE..(from + 1) * TILE;
    for (x, out) in (0..).zip(out) {
        let texels = tile(i64::from(y)).flat_map(|y| tile(x).map(move |x| (x, y)));
        let radii = texels.map(|(x, y)| pass.source.at(x, y)[3]);
        *out = [radii.fold(0.0, f32::max), 0.0, 0.0, 0.0];
    }
}

/// Offsets of all discs up to a radius, with their lengths.
fn offsets(radius: f32) -> impl Iterator<Item = (i64, i64, f32)> {
    let reach = radius as i64 + 1;
    (-reach..=reach).flat_map(move |dy| (-reach..=reach).map(move |dx| (dx, dy, ((dx * dx + dy * dy) as f32).sqrt())))
}

pub(super) fn spread(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let reach = pass.second.expect("the spread reads the tiles");
    let y = i64::from(y);
    for (x, out) in (0..).zip(out) {
        let tiles = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| reach.at(x / TILE + dx, y / TILE + dy)[0]));
        let most = tiles.fold(0.0, f32::max);
        *out = [0.0; 4];
        if most > 0.0 {
            let taps = offsets(most).map(|(dx, dy, length)| (pass.source.at(x + dx, y + dy), length));
            let discs = taps.filter(|(from, _)| from[3] > 0.0).map(|(from, length)| {
                let disc = from[3];
                (from, covered(disc, length) * density(disc) * blurred_share(2.0 * disc))
            });
            let ([red, green, blue], cover) = mean(discs);
            // At the edge of what is before the focus half of the light arrives; up to there it hides what is behind.
            *out = [red, green, blue, (2.0 * cover).min(1.0)];
        }
    }
}

pub(super) fn gather(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let y = i64::from(y);
    for (x, out) in (0..).zip(out) {
        let disc = pass.source.at(x, y)[3];
        *out = [0.0; 4];
        if disc > 0.0 {
            let taps = offsets(disc).map(|(dx, dy, length)| (pass.source.at(x + dx, y + dy), length));
            let discs = taps.filter(|(from, _)| from[3] > 0.0).map(|(from, length)| {
                let smaller = from[3].min(disc);
                (from, covered(smaller, length) * density(smaller))
            });
            let ([red, green, blue], _) = mean(discs);
            *out = [red, green, blue, 1.0];
        }
    }
}

/// Bilinear, each texel with the weight of how much is in it; and how much there is.
fn doubled(field: FloatImage, x: i64, y: i64) -> ([f32; 3], f32) {
    let beside = |at: i64| if at % 2 == 1 { 1 } else { -1 };
    let taps = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(i, j)| {
        let from = field.at(x / 2 + i * beside(x), y / 2 + j * beside(y));
        let along = |other: i64| if other == 1 { 0.25 } else { 0.75 };
        (from, along(i) * along(j) * from[3])
    });
    mean(taps.into_iter())
}

pub(super) fn composite(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let camera = Camera::of(pass);
    let [near, far] = [pass.second, pass.third].map(|field| field.expect("the composite reads two fields"));
    let y = i64::from(y);
    for ((x, out), color) in (0..).zip(out).zip(pass.source.row(y)) {
        let ((near, cover), (far, is_there)) = (doubled(near, x, y), doubled(far, x, y));
        let radius = camera.radius(pass.guides.depth.at(x, y)[0]);
        let share = if is_there > 0.0 { blurred_share(radius) } else { 0.0 };
        let lit = [0, 1, 2].map(|channel: usize| {
            let behind = color[channel] * (1.0 - share) + far[channel] * share;
            behind * (1.0 - cover) + near[channel] * cover
        });
        *out = [lit[0], lit[1], lit[2], color[3]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::FrameParameters;
    use crate::kernels::reference::test_images::Bench;
    use crate::kernels::{FrameExtents, TestGuides};

    /// A lens of 100 mm at f/2, focused at 2 m, before a sensor 24 mm high.
    const LENS: [(&str, f64); 5] = [
        ("focus", 2.0),
        ("focal_length", 100.0),
        ("f_number", 2.0),
        ("sensor_height", 24.0),
        ("largest", 32.0),
    ];

    /// The lens equation 1/f = 1/d + 1/v: the image of a point at depth d is at v(d) behind the lens, so a sensor at v(s) cuts
    /// its cone in a disc.
    fn disc_diameter(depth: f64) -> f64 {
        let (f, aperture) = (0.1, 0.1 / 2.0);
        let image = |depth: f64| f * depth / (depth - f);
        aperture * (image(depth) - image(2.0)).abs() / image(depth)
    }

    fn blurred(extent: [u32; 2], image: &[Texel], depth: &[f32]) -> Vec<Texel> {
        let count = image.len();
        let guides = TestGuides::new(
            extent[0],
            depth,
            &vec![[0.0; 3]; count],
            &vec![[0.0; 3]; count],
            &vec![[0.0; 2]; count],
        );
        let mut bench = Bench::new("depth_of_field", &LENS, FrameExtents::same(extent));
        bench.frame(image, Some(&guides), &FrameParameters::default())
    }

    #[test]
    fn circles_of_confusion_are_the_thin_lens_s() {
        let camera = Camera {
            focus: 2.0,
            infinite: 0.05 * 0.1 / (2.0 - 0.1),
            texels: 1080.0 / 0.024,
            largest: 1000.0,
        };
        for depth in [0.3f32, 1.0, 1.9, 2.0, 2.5, 10.0, 1e6] {
            let texels = disc_diameter(f64::from(depth)) / 0.024 * 1080.0;
            let radius = f64::from(camera.radius(depth));
            assert!(
                (radius.abs() - 0.5 * texels).abs() < 1e-4 * texels + 1e-5,
                "{depth} m: {radius} for {texels}"
            );
            assert_eq!(radius < 0.0, depth < 2.0);
        }
        assert!((camera.radius(f32::INFINITY) - 0.5 * camera.infinite * camera.texels).abs() < 1e-3);
        assert_eq!(Camera { largest: 7.0, ..camera }.radius(f32::NAN), -7.0);
    }

    /// Up to half a texel of radius nothing is changed, whatever is around.
    #[test]
    fn what_is_in_focus_is_left_alone() {
        let extent = [40, 30];
        let image: Vec<Texel> = (0..1200)
            .map(|i| [(i * 7 % 11) as f32, (i % 3) as f32, 0.25, 0.5])
            .collect();
        // A disc's diameter on the sensor is at most 30 texels of 24 mm: 2 m to 2.2 m is in focus, 50 m is not.
        let depth: Vec<f32> = (0..1200)
            .map(|i| {
                if i % 40 < 20 {
                    2.0 + 0.01 * (i % 40) as f32
                } else {
                    50.0
                }
            })
            .collect();
        let out = blurred(extent, &image, &depth);
        let sharp = |i: &usize| i % 40 < 20;
        assert!((0..1200).filter(sharp).all(|i| out[i] == image[i]));
        let even = blurred(extent, &[[3.0, 2.0, 0.5, 1.0]; 1200], &[0.6; 1200]);
        assert!(
            even.iter()
                .flatten()
                .zip([3.0, 2.0, 0.5, 1.0].iter().cycle())
                .all(|(a, b)| (a / b - 1.0).abs() < 1e-3)
        );
    }

    /// A bright texel out of focus is a disc of the circle's radius, and as much light as before.
    #[test]
    fn a_point_becomes_a_disc_of_the_circle_s_diameter_with_its_light() {
        let extent = [240u32, 240];
        let at = |x: usize, y: usize| y * 240 + x;
        for depth in [0.9f32, 1.3, 4.0, 1000.0] {
            let mut image = vec![[0.0, 0.0, 0.0, 1.0]; 240 * 240];
            // Four texels, so that its middle is a corner.
            for (x, y) in [(119, 119), (120, 119), (119, 120), (120, 120)] {
                image[at(x, y)] = [1000.0, 500.0, 100.0, 1.0];
            }
            let out = blurred(extent, &image, &vec![depth; 240 * 240]);
            let radius = 0.5 * disc_diameter(f64::from(depth)) / 0.024 * 240.0;
            assert!((1.5..32.0).contains(&radius), "{depth} m: {radius}");
            let (mut light, mut moment) = (0.0, 0.0);
            for y in 0..240 {
                for x in 0..240 {
                    let value = f64::from(out[at(x, y)][0]);
                    light += value;
                    moment += value * ((x as f64 - 119.5).powi(2) + (y as f64 - 119.5).powi(2));
                }
            }
            assert!((light / 4000.0 - 1.0).abs() < 0.01, "{depth} m: {light}");
            // The mean square distance in a disc is half its radius squared. The edge is soft over a texel of the halved picture,
            // and both changes of resolution add about a texel.
            let found = (2.0 * moment / light).sqrt();
            assert!(
                (found - radius).abs() < 1.6,
                "{depth} m: a radius of {found} for {radius}"
            );
            // Even inside, nothing outside.
            let value = |distance: f64| f64::from(out[at((120.0 + distance) as usize, 120)][0]);
            if radius > 6.0 {
                let middle = 4000.0 / (std::f64::consts::PI * (radius + 1.0).powi(2));
                for distance in [0.0, 0.4 * radius, 0.8 * radius] {
                    assert!(
                        (value(distance) / middle - 1.0).abs() < 0.12,
                        "{depth} m, {distance}: {}",
                        value(distance)
                    );
                }
                assert_eq!(value(radius + 5.0), 0.0);
            }
        }
    }

    /// Behind a sharp edge the far picture does not bleed onto it; before one the near picture does.
    #[test]
    fn only_what_is_before_the_focus_spreads_over_an_edge() {
        let extent = [160u32, 160];
        let bright = |i: usize| i % 160 >= 80;
        let image: Vec<Texel> = (0..160 * 160)
            .map(|i| if bright(i) { [10.0; 4] } else { [0.0; 4] })
            .collect();
        let depth = |out_of_focus: f32| -> Vec<f32> {
            (0..160 * 160)
                .map(|i| if bright(i) { out_of_focus } else { 2.0 })
                .collect()
        };
        let row = |out: &[Texel]| -> Vec<f32> { out[80 * 160..81 * 160].iter().map(|texel| texel[0]).collect() };
        let far = row(&blurred(extent, &image, &depth(100.0)));
        assert!(
            far[..80].iter().all(|light| *light == 0.0) && far[80..].iter().all(|light| (light - 10.0).abs() < 0.01)
        );
        let near = row(&blurred(extent, &image, &depth(1.0)));
        assert!(near[77] > 2.0 && near[77] < 8.0, "{}", near[77]);
        assert!(near.windows(2).all(|pair| pair[0] <= pair[1] + 0.01));
    }
}
