//! A draw list drawn on the CPU: what `shaders/overlay.wgsl` and `kernels/screen/overlay.cu` draw, to the bit.
//!
//! They agree because each sum and each product is rounded by itself, in the same order, and because nothing is divided: the one
//! quotient that triangles need is the host's.

use rayon::prelude::*;

use super::DrawList;
use super::draw_list::{Four, TILE};

/// One over the square of 255: a product of two bytes becomes 0 to 1.
const OF_BYTES: f32 = 1.0 / 65025.0;

/// Bytes of a texel.
const TEXEL: usize = 4;

type Point = [f32; 2];

/// A texel that is covered: what of the atlas it shows, times which colour; both premultiplied and sRGB-encoded, in steps of a byte.
struct Covered {
    uv: Point,
    color: [f32; 4],
}

impl DrawList {
    /// Draws over a screen image: rows of RGBA8 texels without gaps. Texels that no shape covers are not touched. A list made for
    /// another extent is cut off at the image's edge.
    pub fn draw_over(&self, screen: &mut [u8], [width, height]: [u32; 2]) {
        let tiles = self.tiles();
        let rows_of_tiles = screen.par_chunks_mut((TILE * width) as usize * TEXEL);
        (0..height.div_ceil(TILE))
            .into_par_iter()
            .zip_eq(rows_of_tiles)
            .for_each(|(row, texels)| {
                // Tiles come row after row.
                let first = tiles.partition_point(|tile| tile[1] < row);
                let here = tiles[first..].iter().take_while(|tile| tile[1] == row);
                here.for_each(|tile| self.draw_tile(tile, texels, width));
            });
    }

    fn tiles(&self) -> &[Four] {
        &self.fours[self.layout.tiles as usize..][..self.layout.tile_count as usize]
    }

    /// Draws one tile into the rows of its row of tiles.
    fn draw_tile(&self, tile @ [column, row, ..]: &Four, texels: &mut [u8], width: u32) {
        let left = column * TILE;
        for (line, y) in texels.chunks_mut(width as usize * TEXEL).zip(row * TILE..) {
            let (line, _) = line.as_chunks_mut::<TEXEL>();
            for x in left..(left + TILE).min(width) {
                if let Some([over @ .., alpha]) = self.texel(tile, [x, y]) {
                    let under = &mut line[x as usize];
                    for (under, over) in under.iter_mut().zip(over) {
                        let value = over * 255.0 + f32::from(*under) * (1.0 - alpha);
                        *under = (value + 0.5).floor().min(255.0) as u8;
                    }
                    under[3] = u8::MAX;
                }
            }
        }
    }

    /// What the tile's shapes come to over a texel; `None` where none covers it.
    fn texel(&self, [_, _, first, count]: &Four, at: [u32; 2]) -> Option<[f32; 4]> {
        let p = at.map(|texel| texel as f32 + 0.5);
        let references = &self.fours[self.layout.references as usize..self.layout.tiles as usize];
        let references = &references.as_flattened()[*first as usize..][..*count as usize];
        let mut over = None;
        for shape in references {
            let Some(Covered { uv, color }) = self.covered(*shape as usize, at, p) else {
                continue;
            };
            let seen = bytes(self.atlas_texel(uv));
            let color: [f32; 4] = std::array::from_fn(|channel| seen[channel] * color[channel] * OF_BYTES);
            let left = 1.0 - color[3];
            let under = over.unwrap_or([0.0; 4]);
            over = Some(std::array::from_fn(|channel| color[channel] + under[channel] * left));
        }
        over
    }

    fn covered(&self, shape: usize, at: [u32; 2], p: Point) -> Option<Covered> {
        // Its bounds, where its triangle is (0: it is a rectangle), and a rectangle's colour.
        let [low, high, triangle, color] = self.fours[shape];
        let unpacked = |corner: u32| [corner & 0xffff, corner >> 16];
        let (low, high) = (unpacked(low), unpacked(high));
        if (0..2).any(|axis| at[axis] < low[axis] || at[axis] >= high[axis]) {
            return None;
        }
        if triangle != 0 {
            return self.triangle(triangle as usize, p);
        }
        let [u, v, across, down] = self.fours[shape + 1].map(f32::from_bits);
        Some(Covered {
            uv: [u + across * p[0], v + down * p[1]],
            color: bytes(color),
        })
    }

    fn triangle(&self, at: usize, p: Point) -> Option<Covered> {
        let points = |four: Four| {
            let [x, y, z, w] = four.map(f32::from_bits);
            [[x, y], [z, w]]
        };
        let fours = &self.fours[at..at + 4];
        let [a, b] = points(fours[0]);
        let [c, uv_c] = points(fours[1]);
        let [uv_a, uv_b] = points(fours[2]);
        let [color_a, color_b, color_c, near] = fours[3];
        let (of_c, of_a, of_b) = (edge(a, b, p), edge(b, c, p), edge(c, a, p));
        let area = of_c + of_a + of_b;
        if !is_inside(of_c, a, b) || !is_inside(of_a, b, c) || !is_inside(of_b, c, a) || area <= 0.0 {
            return None;
        }
        // Devices divide differently; a step of Newton's method from the host's quotient has the one of these very sums.
        let near = f32::from_bits(near);
        let inverse = near * (2.0 - area * near);
        let [u, v, w] = [of_a, of_b, of_c].map(|weight| (weight * inverse).clamp(0.0, 1.0));
        let [color_a, color_b, color_c] = [color_a, color_b, color_c].map(bytes);
        Some(Covered {
            uv: std::array::from_fn(|axis| u * uv_a[axis] + v * uv_b[axis] + w * uv_c[axis]),
            color: std::array::from_fn(|channel| u * color_a[channel] + v * color_b[channel] + w * color_c[channel]),
        })
    }

    /// A texel of the atlas, and never one beyond it.
    fn atlas_texel(&self, [u, v]: Point) -> u32 {
        let texels = &self.atlas.texels;
        let place = v as usize * self.layout.atlas_width as usize + u as usize;
        texels[place.min(texels.len() - 1)]
    }
}

fn bytes(word: u32) -> [f32; 4] {
    word.to_le_bytes().map(f32::from)
}

/// Twice the area of a, b, p: positive where they run clockwise on the screen. Computed from the same end whichever way the edge
/// runs, so that two triangles that share it get the same number with opposite signs.
fn edge(a: Point, b: Point, p: Point) -> f32 {
    let is_swapped = a[0] > b[0] || (a[0] == b[0] && a[1] > b[1]);
    let (origin, end) = if is_swapped { (b, a) } else { (a, b) };
    let along = [end[0] - origin[0], end[1] - origin[1]];
    let to = [p[0] - origin[0], p[1] - origin[1]];
    let area = along[0] * to[1] - along[1] * to[0];
    if is_swapped { -area } else { area }
}

/// A texel whose centre is on an edge belongs to the triangle right of or below it.
fn is_inside(area: f32, a: Point, b: Point) -> bool {
    let along = [b[0] - a[0], b[1] - a[1]];
    area > 0.0 || (area == 0.0 && (along[1] < 0.0 || (along[1] == 0.0 && along[0] > 0.0)))
}
