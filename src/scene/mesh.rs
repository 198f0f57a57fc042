//! Meshes made by formula: outward faces run counter-clockwise, normals have unit length.

use bytemuck::{Pod, Zeroable};
use glam::{Vec2, Vec3};

/// A corner of a triangle.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Vertex {
    /// Metres, in the mesh's own space.
    pub position: Vec3,
    /// Outward, of unit length.
    pub normal: Vec3,
    /// For patterns: across and along the surface, 0 to 1.
    pub uv: Vec2,
}

/// Triangles with shared corners.
#[derive(Debug, Clone, Default)]
pub struct Mesh {
    /// The corners.
    pub vertices: Vec<Vertex>,
    /// Three a triangle.
    pub indices: Vec<u32>,
}

impl Mesh {
    /// A square of side 2 in the XZ plane that faces +Y.
    pub fn plane() -> Self {
        let corner = |x: f32, z: f32| Vertex {
            position: Vec3::new(x, 0.0, z),
            normal: Vec3::Y,
            uv: 0.5 * Vec2::new(x, z) + 0.5,
        };
        Self {
            vertices: vec![
                corner(-1.0, -1.0),
                corner(-1.0, 1.0),
                corner(1.0, 1.0),
                corner(1.0, -1.0),
            ],
            indices: vec![0, 1, 2, 0, 2, 3],
        }
    }

    /// A sphere of radius 1 in `rings` bands from pole to pole.
    pub fn sphere(rings: u32, segments: u32) -> Self {
        let profile = |ring: u32| {
            // The poles by value and not by sine, so that their band closes exactly.
            if ring == 0 || ring == rings {
                return Vec2::new(0.0, if ring == 0 { -1.0 } else { 1.0 });
            }
            let (sin, cos) = (std::f32::consts::PI * ring as f32 / rings as f32).sin_cos();
            Vec2::new(sin, -cos)
        };
        let mut mesh = Self::default();
        for ring in 0..rings {
            let [low, high] = [profile(ring), profile(ring + 1)];
            mesh.push_band(
                [low, high],
                [low, high],
                [ring as f32, (ring + 1) as f32].map(|v| v / rings as f32),
                segments,
            );
        }
        mesh
    }

    /// A profile turned around the Y axis: points of (radius, height) from the bottom up, the first and last on the
    /// axis. Each of its straight pieces has its own normal, so that corners stay sharp.
    pub fn lathe(profile: &[[f32; 2]], segments: u32) -> Self {
        let mut mesh = Self::default();
        let length: f32 = profile
            .windows(2)
            .map(|piece| Vec2::from(piece[0]).distance(piece[1].into()))
            .sum();
        let mut along = 0.0;
        for piece in profile.windows(2) {
            let [low, high] = [Vec2::from(piece[0]), Vec2::from(piece[1])];
            let step = high - low;
            let normal = Vec2::new(step.y, -step.x).normalize();
            let next = along + step.length();
            mesh.push_band([low, high], [normal; 2], [along / length, next / length], segments);
            along = next;
        }
        mesh
    }

    /// A closed ring of triangles between two (radius, height) circles. A radius of 0 makes it a fan.
    fn push_band(&mut self, circles: [Vec2; 2], normals: [Vec2; 2], v: [f32; 2], segments: u32) {
        let first = self.vertices.len() as u32;
        for segment in 0..=segments {
            let (sin, cos) = angle(segment, segments).sin_cos();
            let turn = |point: Vec2| Vec3::new(point.x * sin, point.y, point.x * cos);
            for side in 0..2 {
                self.vertices.push(Vertex {
                    position: turn(circles[side]),
                    normal: turn(normals[side]).normalize(),
                    uv: Vec2::new(segment as f32 / segments as f32, v[side]),
                });
            }
        }
        for segment in 0..segments {
            let low = first + 2 * segment;
            if circles[0].x != 0.0 {
                self.indices.extend([low, low + 2, low + 1]);
            }
            if circles[1].x != 0.0 {
                self.indices.extend([low + 1, low + 2, low + 3]);
            }
        }
    }

    /// A ring around the Y axis: `radius` to the middle of a tube of `tube`.
    pub fn torus(radius: f32, tube: f32, segments: u32, sides: u32) -> Self {
        let center = move |turn: f32| {
            let (sin, cos) = turn.sin_cos();
            Vec3::new(radius * sin, 0.0, radius * cos)
        };
        Self::tube(center, tube, segments, sides)
    }

    /// A (p, q) torus knot about the Z axis, of outer radius near 1, with a tube of radius `tube`.
    pub fn torus_knot(p: u32, q: u32, tube: f32, segments: u32, sides: u32) -> Self {
        let center = move |turn: f32| {
            let (sin_p, cos_p) = (p as f32 * turn).sin_cos();
            let (sin_q, cos_q) = (q as f32 * turn).sin_cos();
            let radius = 0.62 + 0.26 * cos_q;
            Vec3::new(radius * cos_p, radius * sin_p, -0.26 * sin_q)
        };
        Self::tube(center, tube, segments, sides)
    }

    /// A tube around a closed curve that is given for angles from 0 to 2 pi and never passes through the origin.
    fn tube(center: impl Fn(f32) -> Vec3, tube: f32, segments: u32, sides: u32) -> Self {
        let mut mesh = Self::default();
        let step = 1e-3;
        for segment in 0..=segments {
            let turn = angle(segment, segments);
            let middle = center(turn);
            let tangent = (center(turn + step) - center(turn - step)).normalize();
            // The direction from the origin turns with the curve and comes back to itself, so the tube closes untwisted.
            let binormal = tangent.cross(middle).normalize();
            let normal = binormal.cross(tangent);
            for side in 0..=sides {
                let (sin, cos) = angle(side, sides).sin_cos();
                let outward = cos * normal + sin * binormal;
                mesh.vertices.push(Vertex {
                    position: middle + tube * outward,
                    normal: outward.normalize(),
                    uv: Vec2::new(side as f32 / sides as f32, segment as f32 / segments as f32),
                });
            }
        }
        for segment in 0..segments {
            for side in 0..sides {
                let here = segment * (sides + 1) + side;
                let next = here + sides + 1;
                mesh.indices.extend([here, here + 1, next, next, here + 1, next + 1]);
            }
        }
        mesh
    }

    /// A box of half side 1 whose edges are rounded with `radius`, each in `steps`.
    pub fn rounded_box(radius: f32, steps: u32) -> Self {
        let inner = 1.0 - radius;
        // Where a face is cut: the two rounded rims finely, the flat middle not at all.
        let rim = (0..=steps).map(|step| (std::f32::consts::FRAC_PI_4 * (1.0 - step as f32 / steps as f32)).tan());
        let rim: Vec<f32> = rim.map(|slope| inner + radius * slope).collect();
        let cuts: Vec<f32> = rim.iter().map(|cut| -cut).chain(rim.iter().rev().copied()).collect();
        let mut mesh = Self::default();
        for axis in 0..3 {
            for sign in [1.0, -1.0] {
                mesh.push_box_face(axis, sign, inner, radius, &cuts);
            }
        }
        mesh
    }

    fn push_box_face(&mut self, axis: usize, sign: f32, inner: f32, radius: f32, cuts: &[f32]) {
        let first = self.vertices.len() as u32;
        let count = cuts.len() as u32;
        for &row in cuts {
            for &column in cuts {
                let mut on_cube = [0.0; 3];
                on_cube[axis] = sign;
                on_cube[(axis + 1) % 3] = column;
                on_cube[(axis + 2) % 3] = row;
                let on_cube = Vec3::from(on_cube);
                let core = on_cube.clamp(Vec3::splat(-inner), Vec3::splat(inner));
                let normal = (on_cube - core).normalize();
                self.vertices.push(Vertex {
                    position: core + radius * normal,
                    normal,
                    uv: 0.5 * Vec2::new(column, row) + 0.5,
                });
            }
        }
        for row in 0..count - 1 {
            for column in 0..count - 1 {
                let here = first + row * count + column;
                let above = here + count;
                let quad = [here, here + 1, above, above, here + 1, above + 1];
                self.indices.extend(if sign > 0.0 {
                    quad
                } else {
                    [quad[0], quad[2], quad[1], quad[3], quad[5], quad[4]]
                });
            }
        }
    }

    /// A cut stone of radius 1: an icosahedron whose faces are split in four, each with a normal of its own.
    pub fn gem() -> Self {
        let golden = 0.5 * (1.0 + 5.0_f32.sqrt());
        let corners: Vec<Vec3> = (0..12)
            .map(|corner| {
                let [a, b] = [corner & 1, corner >> 1 & 1].map(|bit| if bit == 0 { -1.0 } else { 1.0 });
                let point = [0.0, a, b * golden];
                Vec3::from([0, 1, 2].map(|axis| point[(axis + corner / 4) % 3])).normalize()
            })
            .collect();
        let mut mesh = Self::default();
        let edge = 1.2; // a little over the edge of an icosahedron in the unit sphere, 1.0515
        for a in 0..12 {
            for b in a + 1..12 {
                for c in b + 1..12 {
                    let [p, q, r] = [corners[a], corners[b], corners[c]];
                    if p.distance(q) < edge && q.distance(r) < edge && r.distance(p) < edge {
                        let outward = (q - p).cross(r - p).dot(p) > 0.0;
                        mesh.push_split_facet(if outward { [p, q, r] } else { [p, r, q] });
                    }
                }
            }
        }
        mesh
    }

    fn push_split_facet(&mut self, [p, q, r]: [Vec3; 3]) {
        let middle = |a: Vec3, b: Vec3| (a + b).normalize();
        let (pq, qr, rp) = (middle(p, q), middle(q, r), middle(r, p));
        for facet in [[p, pq, rp], [pq, q, qr], [rp, qr, r], [pq, qr, rp]] {
            let normal = (facet[1] - facet[0]).cross(facet[2] - facet[0]).normalize();
            for position in facet {
                self.indices.push(self.vertices.len() as u32);
                self.vertices.push(Vertex {
                    position,
                    normal,
                    uv: Vec2::ZERO,
                });
            }
        }
    }
}

/// The angle of a step on a circle; the last is the first again, to the bit, so that seams close.
fn angle(step: u32, steps: u32) -> f32 {
    std::f32::consts::TAU * (step % steps) as f32 / steps as f32
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn closed_meshes() -> Vec<(&'static str, Mesh)> {
        vec![
            ("sphere", Mesh::sphere(12, 16)),
            (
                "lathe",
                Mesh::lathe(&[[0.0, 0.0], [1.0, 0.0], [1.0, 0.9], [0.9, 1.0], [0.0, 1.0]], 24),
            ),
            ("torus", Mesh::torus(1.0, 0.2, 32, 8)),
            ("knot", Mesh::torus_knot(2, 3, 0.12, 200, 10)),
            ("other knot", Mesh::torus_knot(3, 4, 0.08, 300, 8)),
            ("box", Mesh::rounded_box(0.2, 4)),
            ("gem", Mesh::gem()),
        ]
    }

    /// Corners that share a place are one corner.
    fn welded(mesh: &Mesh) -> Vec<[u32; 3]> {
        let mut places = HashMap::new();
        let place_of: Vec<u32> = mesh
            .vertices
            .iter()
            .map(|vertex| {
                // Adding 0 turns -0 into 0.
                let key = vertex
                    .position
                    .to_array()
                    .map(|value| ((value * 1e5).round() + 0.0) as i64);
                let next = places.len() as u32;
                *places.entry(key).or_insert(next)
            })
            .collect();
        mesh.indices
            .chunks_exact(3)
            .map(|corners| [corners[0], corners[1], corners[2]].map(|corner| place_of[corner as usize]))
            .collect()
    }

    #[test]
    fn each_edge_is_shared_by_two_triangles_that_run_it_in_opposite_directions() {
        for (name, mesh) in closed_meshes() {
            let mut edges: HashMap<[u32; 2], u32> = HashMap::new();
            for [a, b, c] in welded(&mesh) {
                assert!(a != b && b != c && c != a, "{name}: a triangle without area");
                for edge in [[a, b], [b, c], [c, a]] {
                    *edges.entry(edge).or_default() += 1;
                }
            }
            for (&[a, b], &count) in &edges {
                assert_eq!(count, 1, "{name}: an edge is run twice the same way");
                assert!(edges.contains_key(&[b, a]), "{name}: an open edge");
            }
        }
    }

    #[test]
    fn normals_have_unit_length_and_faces_run_with_them() {
        for (name, mesh) in closed_meshes().into_iter().chain([("plane", Mesh::plane())]) {
            for vertex in &mesh.vertices {
                assert!((vertex.normal.length() - 1.0).abs() < 1e-5, "{name}: {vertex:?}");
            }
            for corners in mesh.indices.chunks_exact(3) {
                let [a, b, c] = [corners[0], corners[1], corners[2]].map(|corner| mesh.vertices[corner as usize]);
                let face = (b.position - a.position).cross(c.position - a.position).normalize();
                let normal = (a.normal + b.normal + c.normal).normalize();
                assert!(face.dot(normal) > 0.8, "{name}: {face} against {normal}");
            }
        }
    }

    /// By the divergence theorem the signed volume is positive exactly when faces look outward.
    #[test]
    fn volumes_are_those_of_the_solids() {
        let volume = |mesh: &Mesh| -> f32 {
            let at = |corner: u32| mesh.vertices[corner as usize].position;
            mesh.indices
                .chunks_exact(3)
                .map(|corners| at(corners[0]).dot(at(corners[1]).cross(at(corners[2]))) / 6.0)
                .sum()
        };
        let pi = std::f32::consts::PI;
        let close = |mesh: Mesh, expected: f32| {
            let found = volume(&mesh);
            assert!((found / expected - 1.0).abs() < 0.02, "{found} against {expected}");
        };
        close(Mesh::sphere(48, 64), 4.0 / 3.0 * pi);
        close(Mesh::torus(1.0, 0.2, 128, 32), 2.0 * pi * pi * 0.04);
        close(
            Mesh::lathe(&[[0.0, 0.0], [0.5, 0.0], [0.5, 2.0], [0.0, 2.0]], 96),
            0.5 * pi,
        );
        // Eight corners make a ball, twelve edges make three cylinders, the rest is a cross of boxes.
        let (inner, radius) = (0.8_f32, 0.2_f32);
        let rounded = 4.0 / 3.0 * pi * radius.powi(3)
            + 3.0 * pi * radius * radius * (2.0 * inner)
            + 6.0 * (2.0 * inner).powi(2) * radius
            + (2.0 * inner).powi(3);
        close(Mesh::rounded_box(radius, 8), rounded);
        assert!(volume(&Mesh::gem()) > 0.85 * 4.0 / 3.0 * pi);
        assert!(volume(&Mesh::torus_knot(2, 3, 0.1, 400, 16)) > 0.0);
    }
}
