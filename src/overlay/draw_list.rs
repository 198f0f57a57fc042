//! What the overlay's pass draws: egui's triangles as rectangles and triangles, sorted into tiles of the screen.

use std::sync::Arc;

use ash::vk;
use egui::epaint::{ClippedPrimitive, Mesh, Primitive, Vertex};

use super::Atlas;

/// Texels of a tile's side: a workgroup of `overlay.wgsl`.
pub(super) const TILE: u32 = 16;

/// Four words, which the shader loads at a time.
pub(super) type Four = [u32; 4];

/// Where the parts of [`DrawList::fours`] begin; shapes are at 0. The push constants of `overlay.wgsl`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Layout {
    /// Places of shapes, one a word, by tile and in the order they are drawn in.
    pub references: u32,
    /// Column, row, first reference, how many.
    pub tiles: u32,
    /// How many tiles have anything to draw.
    pub tile_count: u32,
    /// Texels a row of the atlas.
    pub atlas_width: u32,
}

/// Shapes to be drawn over a screen of one extent, in the form in which the shader reads them.
///
/// A shape begins with its bounds (least x and y, then those just beyond, 16 bits each, in texels and cut at the clip rectangle),
/// the place of its triangle, and its colour. Most of what egui makes are rectangles of one colour, glyphs above all: these have 0
/// for the place, and then the texture coordinate at the screen's corner and its change a texel. A triangle's place has its corners,
/// texture coordinates and colours, and one over twice its area.
#[derive(Debug, Clone)]
pub struct DrawList {
    /// All of it, by [`DrawList::layout`]. Never empty.
    pub fours: Vec<Four>,
    /// Where what is.
    pub layout: Layout,
    /// What its texture coordinates point into.
    pub atlas: Arc<Atlas>,
}

impl DrawList {
    /// Sorts what egui tessellated, in points of `pixels_per_point` texels, into the tiles of a screen. Meshes of textures other
    /// than egui's own and paint callbacks, which the overlay has none of, are left out.
    pub fn new(
        primitives: &[ClippedPrimitive],
        pixels_per_point: f32,
        screen: vk::Extent2D,
        atlas: &Arc<Atlas>,
    ) -> Self {
        let mut sorter = Sorter::new(screen);
        for ClippedPrimitive { clip_rect, primitive } in primitives {
            let Primitive::Mesh(mesh) = primitive else { continue };
            if mesh.texture_id != egui::TextureId::default() {
                continue;
            }
            let edge = |points: f32, limit: u32| (points * pixels_per_point).round().clamp(0.0, limit as f32) as u32;
            let clip = [
                edge(clip_rect.min.x, screen.width),
                edge(clip_rect.min.y, screen.height),
                edge(clip_rect.max.x, screen.width),
                edge(clip_rect.max.y, screen.height),
            ];
            sorter.mesh(mesh, clip, pixels_per_point, atlas.size);
        }
        sorter.finish(atlas)
    }
}

/// The list as it grows.
struct Sorter {
    fours: Vec<Four>,
    /// The shapes of each tile, row after row.
    tiles: Vec<Vec<u32>>,
    columns: u32,
}

/// A corner of a triangle: position and texture coordinate in texels, colour as the shader unpacks it.
#[derive(Clone, Copy, PartialEq)]
struct Corner {
    position: [f32; 2],
    uv: [f32; 2],
    color: u32,
}

impl Corner {
    fn new(vertex: &Vertex, pixels_per_point: f32, atlas: [usize; 2]) -> Self {
        Self {
            position: [vertex.pos.x * pixels_per_point, vertex.pos.y * pixels_per_point],
            uv: [vertex.uv.x * atlas[0] as f32, vertex.uv.y * atlas[1] as f32],
            color: u32::from_le_bytes(vertex.color.to_array()),
        }
    }
}

impl Sorter {
    fn new(screen: vk::Extent2D) -> Self {
        let (columns, rows) = (screen.width.div_ceil(TILE), screen.height.div_ceil(TILE));
        Self {
            // Place 0 stands for no triangle.
            fours: vec![Four::default()],
            tiles: vec![Vec::new(); columns as usize * rows as usize],
            columns,
        }
    }

    fn mesh(&mut self, mesh: &Mesh, clip: [u32; 4], pixels_per_point: f32, atlas: [usize; 2]) {
        let corner = |index: &u32| Corner::new(&mesh.vertices[*index as usize], pixels_per_point, atlas);
        let (mut triangles, _) = mesh.indices.as_chunks::<3>();
        while let [first, rest @ ..] = triangles {
            triangles = rest;
            let corners @ [a, b, c] = first.each_ref().map(corner);
            // The two halves of a rectangle, as egui makes them, share their second edge.
            let other = rest.first().filter(|other| other[..2] == [first[2], first[1]]);
            if let Some(d) = other.map(|other| corner(&other[2]))
                && is_rectangle([a, b, c, d])
            {
                triangles = &rest[1..];
                self.rectangle(a, d, clip);
            } else {
                self.triangle(corners, clip);
            }
        }
    }

    /// The rectangle from the upper left corner `a` to `d`.
    fn rectangle(&mut self, a: Corner, d: Corner, clip: [u32; 4]) {
        let bounds = bounds(&[a, d], clip);
        let slope = |axis: usize| (d.uv[axis] - a.uv[axis]) / (d.position[axis] - a.position[axis]);
        let [across, down] = [slope(0), slope(1)];
        let origin = [a.uv[0] - across * a.position[0], a.uv[1] - down * a.position[1]];
        let place = self.fours.len() as u32;
        if self.refer(place, bounds) {
            self.fours.push(head(bounds, 0, a.color));
            self.fours.push([origin[0], origin[1], across, down].map(f32::to_bits));
        }
    }

    fn triangle(&mut self, corners: [Corner; 3], clip: [u32; 4]) {
        let [a, mut b, mut c] = corners;
        let along = |to: Corner, axis: usize| to.position[axis] - a.position[axis];
        let area = along(b, 0) * along(c, 1) - along(b, 1) * along(c, 0);
        if area == 0.0 || !area.is_finite() {
            return;
        }
        // Clockwise on the screen.
        if area < 0.0 {
            std::mem::swap(&mut b, &mut c);
        }
        let bounds = bounds(&corners, clip);
        let place = self.fours.len() as u32;
        if self.refer(place, bounds) {
            let bits = |[x, y]: [f32; 2], [z, w]: [f32; 2]| [x, y, z, w].map(f32::to_bits);
            self.fours.extend([
                head(bounds, place + 1, 0),
                bits(a.position, b.position),
                bits(c.position, c.uv),
                bits(a.uv, b.uv),
                [a.color, b.color, c.color, area.abs().recip().to_bits()],
            ]);
        }
    }

    /// Notes the shape in all tiles that its bounds touch; whether there are any.
    fn refer(&mut self, place: u32, [left, top, right, bottom]: [u32; 4]) -> bool {
        if left >= right || top >= bottom {
            return false;
        }
        for row in top / TILE..=(bottom - 1) / TILE {
            for column in left / TILE..=(right - 1) / TILE {
                self.tiles[(row * self.columns + column) as usize].push(place);
            }
        }
        true
    }

    fn finish(self, atlas: &Arc<Atlas>) -> DrawList {
        let mut fours = self.fours;
        let mut references = Vec::new();
        let mut tiles = Vec::new();
        for (tile, shapes) in (0..).zip(&self.tiles).filter(|(_, shapes)| !shapes.is_empty()) {
            let place = [tile % self.columns, tile / self.columns];
            tiles.push([place[0], place[1], references.len() as u32, shapes.len() as u32]);
            references.extend(shapes);
        }
        references.resize(references.len().next_multiple_of(4), 0);
        let references_at = fours.len() as u32;
        fours.extend(references.as_chunks().0);
        let layout = Layout {
            references: references_at,
            tiles: fours.len() as u32,
            tile_count: tiles.len() as u32,
            atlas_width: atlas.size[0] as u32,
        };
        fours.extend(tiles);
        DrawList {
            fours,
            layout,
            atlas: Arc::clone(atlas),
        }
    }
}

fn head([left, top, right, bottom]: [u32; 4], triangle: u32, color: u32) -> Four {
    [left | top << 16, right | bottom << 16, triangle, color]
}

/// Whether these are the upper left, upper right, lower left and lower right corner of a rectangle of one colour, and of one in
/// the atlas.
fn is_rectangle([a, b, c, d]: [Corner; 4]) -> bool {
    let upright = |of: fn(Corner) -> [f32; 2]| {
        let [a, b, c, d] = [a, b, c, d].map(of);
        a[1] == b[1] && c[1] == d[1] && a[0] == c[0] && b[0] == d[0]
    };
    let has_area = a.position[0] < d.position[0] && a.position[1] < d.position[1];
    let one_color = [b, c, d].iter().all(|corner| corner.color == a.color);
    has_area && one_color && upright(|corner| corner.position) && upright(|corner| corner.uv)
}

/// The texels whose centres corners can have between them, within a clip rectangle: least x and y, and those just beyond. A centre
/// on the upper or left edge is inside, one on the lower or right is not.
fn bounds(corners: &[Corner], clip: [u32; 4]) -> [u32; 4] {
    let along = |axis: usize| corners.iter().map(move |corner| corner.position[axis]);
    // The centre of texel x is at x + 0.5, so x + 0.5 >= edge from ceil(edge - 0.5) on. What is negative becomes 0.
    let texel = |edge: f32| (edge - 0.5).ceil() as u32;
    let least = |axis: usize| texel(along(axis).fold(f32::MAX, f32::min));
    let beyond = |axis: usize| texel(along(axis).fold(f32::MIN, f32::max));
    [
        least(0).max(clip[0]),
        least(1).max(clip[1]),
        beyond(0).min(clip[2]),
        beyond(1).min(clip[3]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::{Color32, Pos2, Rect, pos2};

    const SCREEN: vk::Extent2D = vk::Extent2D { width: 100, height: 50 };

    fn list_of(mesh: Mesh, clip_rect: Rect) -> DrawList {
        let primitives = [ClippedPrimitive {
            clip_rect,
            primitive: Primitive::Mesh(mesh),
        }];
        DrawList::new(&primitives, 2.0, SCREEN, &Arc::new(Atlas::default()))
    }

    /// Tiles as (column, row, how many shapes).
    fn tiles(list: &DrawList) -> Vec<(u32, u32, u32)> {
        let tiles = &list.fours[list.layout.tiles as usize..];
        assert_eq!(tiles.len(), list.layout.tile_count as usize);
        tiles
            .iter()
            .map(|[column, row, _, count]| (*column, *row, *count))
            .collect()
    }

    fn everything() -> Rect {
        Rect::from_min_max(Pos2::ZERO, pos2(1e4, 1e4))
    }

    #[test]
    fn shapes_are_in_every_tile_they_touch_and_in_no_other() {
        let mut mesh = Mesh::default();
        // In texels: 30 to 34 across, which is two tiles, and 4 to 16 down, which is one: texel 16 is not covered.
        mesh.add_colored_rect(Rect::from_min_max(pos2(15.0, 2.0), pos2(17.0, 8.0)), Color32::WHITE);
        let list = list_of(mesh.clone(), everything());
        assert_eq!(tiles(&list), [(1, 0, 1), (2, 0, 1)]);
        // The clip rectangle ends at texel 32.
        let clipped = list_of(mesh.clone(), Rect::from_min_max(Pos2::ZERO, pos2(16.0, 100.0)));
        assert_eq!(tiles(&clipped), [(1, 0, 1)]);
        // What is far out, on any side, is in no tile.
        for offset in [[-500.0, 0.0], [500.0, 0.0], [0.0, -500.0], [0.0, 500.0]] {
            let mut away = mesh.clone();
            away.translate(offset.into());
            assert_eq!(tiles(&list_of(away, everything())), []);
        }
    }

    #[test]
    fn a_rectangle_is_one_shape_whose_texture_goes_from_corner_to_corner() {
        let mut mesh = Mesh::default();
        let uv = Rect::from_min_max(pos2(0.25, 0.5), pos2(0.75, 1.0));
        mesh.add_rect_with_uv(Rect::from_min_max(pos2(1.0, 2.0), pos2(3.0, 3.0)), uv, Color32::RED);
        let list = list_of(mesh, everything());
        let [_, head, texture, ..] = list.fours[..] else {
            panic!("{:?}", list.fours)
        };
        assert_eq!(head, [2 | 4 << 16, 6 | 6 << 16, 0, 0xff00_00ff]);
        let [u, v, across, down] = texture.map(f32::from_bits);
        // The atlas has one texel, so texture coordinates are those of the mesh.
        assert_eq!((u + across * 2.0, u + across * 6.0), (0.25, 0.75));
        assert_eq!((v + down * 4.0, v + down * 6.0), (0.5, 1.0));
    }

    #[test]
    fn what_is_no_rectangle_stays_triangles_that_run_clockwise() {
        let corners = [[1.0, 1.0], [9.0, 1.0], [1.0, 9.0], [9.0, 9.0]];
        let mesh_of = |corners: [[f32; 2]; 4], colors: [Color32; 4]| {
            let mut mesh = Mesh::default();
            for (corner, color) in corners.into_iter().zip(colors) {
                mesh.colored_vertex(corner.into(), color);
            }
            mesh.add_triangle(0, 1, 2);
            mesh.add_triangle(2, 1, 3);
            mesh
        };
        let shapes = |mesh| tiles(&list_of(mesh, everything()))[0].2;
        let white = [Color32::WHITE; 4];
        assert_eq!(shapes(mesh_of(corners, white)), 1);
        let mut gradient = white;
        gradient[3] = Color32::BLACK;
        assert_eq!(shapes(mesh_of(corners, gradient)), 2);
        let mut skewed = corners;
        skewed[3] = [9.5, 9.0];
        assert_eq!(shapes(mesh_of(skewed, white)), 2);
        // Turned the other way round, and a triangle without area.
        let [a, b, c, _] = corners;
        let list = list_of(mesh_of([a, c, b, b], white), everything());
        assert_eq!(tiles(&list)[0].2, 1);
        let corner = |at: usize, from: usize| [list.fours[at][from], list.fours[at][from + 1]].map(f32::from_bits);
        // Two texels a point.
        assert_eq!(
            [corner(2, 0), corner(2, 2), corner(3, 0)],
            [[2.0, 2.0], [18.0, 2.0], [2.0, 18.0]]
        );
    }
}
