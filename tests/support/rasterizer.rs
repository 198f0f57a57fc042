//! egui's tessellation, and its triangles drawn in the plainest way, for the overlay's pass to be compared with.

use std::sync::Arc;

use egui::epaint::{ClippedPrimitive, Mesh, Primitive};
use egui::{LayerId, Pos2, RawInput, Rect, ViewportId, ViewportInfo};
use handover::overlay::Atlas;
use image::RgbaImage;

/// What egui makes of some shapes, and its atlas.
pub fn tessellated(
    scale: f32,
    size: egui::Vec2,
    paint: impl Fn(&egui::Painter),
) -> (Vec<ClippedPrimitive>, Arc<Atlas>) {
    let context = egui::Context::default();
    context.tessellation_options_mut(|options| options.prerasterized_discs = false);
    let mut input = RawInput {
        screen_rect: Some(Rect::from_min_size(Pos2::ZERO, size)),
        ..RawInput::default()
    };
    let viewport = ViewportInfo {
        native_pixels_per_point: Some(scale),
        ..ViewportInfo::default()
    };
    input.viewports.insert(ViewportId::ROOT, viewport);
    let output = context.run_pass(input, |context| paint(&context.layer_painter(LayerId::background())));
    let mut atlas = Arc::default();
    Atlas::apply(&mut atlas, output.textures_delta);
    (context.tessellate(output.shapes, scale), atlas)
}

/// The atlas between its texels, as egui asks for it: linear.
fn sample(atlas: &Atlas, uv: [f64; 2]) -> [f64; 4] {
    let [width, height] = atlas.size;
    let at = |axis: usize, size: usize| {
        let texel = (uv[axis] * size as f64 - 0.5).clamp(0.0, size as f64 - 1.0);
        let low = texel.floor() as usize;
        (low, (low + 1).min(size - 1), texel - texel.floor())
    };
    let ((left, right, across), (top, bottom, down)) = (at(0, width), at(1, height));
    let texel = |x: usize, y: usize| {
        atlas.texels[y * width + x]
            .to_le_bytes()
            .map(|byte| f64::from(byte) / 255.0)
    };
    let corners = [
        texel(left, top),
        texel(right, top),
        texel(left, bottom),
        texel(right, bottom),
    ];
    std::array::from_fn(|channel| {
        let [a, b, c, d] = corners.map(|corner| corner[channel]);
        (a + (b - a) * across) * (1.0 - down) + (c + (d - c) * across) * down
    })
}

/// Triangle by triangle, texel by texel, in double precision: barycentric coordinates, and "over" on sRGB-encoded values.
fn blend_mesh(mesh: &Mesh, clip: Rect, scale: f64, atlas: &Atlas, target: &mut [[f64; 4]], width: usize) {
    let edge = |points: f32| (f64::from(points) * scale).round();
    for indices in mesh.indices.chunks_exact(3) {
        let corners = [indices[0], indices[1], indices[2]].map(|index| mesh.vertices[index as usize]);
        let [a, b, c] = corners.map(|corner| [f64::from(corner.pos.x) * scale, f64::from(corner.pos.y) * scale]);
        let cross =
            |a: [f64; 2], b: [f64; 2], p: [f64; 2]| (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]);
        let area = cross(a, b, c);
        if area == 0.0 {
            continue;
        }
        for (place, under) in target.iter_mut().enumerate() {
            // A hair right of the centre and less below it: soft edges go through centres, which belong to one of two triangles.
            let p = [
                (place % width) as f64 + 0.500_001,
                (place / width) as f64 + 0.500_000_001,
            ];
            let inside_x = edge(clip.min.x) < p[0] && p[0] < edge(clip.max.x);
            let inside_y = edge(clip.min.y) < p[1] && p[1] < edge(clip.max.y);
            let weights = [cross(b, c, p), cross(c, a, p), cross(a, b, p)].map(|part| part / area);
            if !inside_x || !inside_y || weights.iter().any(|weight| *weight < 0.0) {
                continue;
            }
            let mixed = |value: [f64; 3]| {
                weights
                    .iter()
                    .zip(value)
                    .map(|(weight, value)| weight * value)
                    .sum::<f64>()
            };
            let uv = [
                mixed(corners.map(|corner| f64::from(corner.uv.x))),
                mixed(corners.map(|corner| f64::from(corner.uv.y))),
            ];
            let texel = sample(atlas, uv);
            let color: [f64; 4] = std::array::from_fn(|channel| {
                texel[channel] * mixed(corners.map(|corner| f64::from(corner.color.to_array()[channel]) / 255.0))
            });
            for channel in 0..4 {
                under[channel] = color[channel] + under[channel] * (1.0 - color[3]);
            }
        }
    }
}

/// All of it over `under`: what the pass must draw, each channel from 0 to 1.
pub fn reference(under: &RgbaImage, primitives: &[ClippedPrimitive], scale: f32, atlas: &Atlas) -> Vec<[f64; 4]> {
    let mut target: Vec<_> = under
        .pixels()
        .map(|pixel| pixel.0.map(|byte| f64::from(byte) / 255.0))
        .collect();
    for ClippedPrimitive { clip_rect, primitive } in primitives {
        let Primitive::Mesh(mesh) = primitive else {
            panic!("only meshes")
        };
        blend_mesh(
            mesh,
            *clip_rect,
            scale.into(),
            atlas,
            &mut target,
            under.width() as usize,
        );
    }
    target
}
