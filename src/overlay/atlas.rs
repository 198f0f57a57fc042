//! The texture that holds egui's glyphs, kept on the host until a draw list needs it.

use std::sync::Arc;

use egui::epaint::textures::TexturesDelta;
use egui::epaint::{ImageData, ImageDelta};

/// Texels of egui's font texture: RGBA8, premultiplied, rows without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Atlas {
    /// Texels across and down.
    pub size: [usize; 2],
    /// The least significant byte is red. Never empty.
    pub texels: Vec<u32>,
}

impl Default for Atlas {
    /// One white texel: what shapes without a texture use.
    fn default() -> Self {
        Self {
            size: [1, 1],
            texels: vec![u32::MAX],
        }
    }
}

impl Atlas {
    /// Applies what egui changed. A changed atlas is a new one: frames in flight keep theirs.
    pub fn apply(atlas: &mut Arc<Self>, mut delta: TexturesDelta) {
        let changes = delta.set.get(&egui::TextureId::default());
        for ImageDelta { image, pos, .. } in changes.into_iter().flatten() {
            let ImageData::Color(image) = image;
            let texels = image.pixels.iter().map(|color| u32::from_le_bytes(color.to_array()));
            let atlas = Arc::make_mut(atlas);
            match *pos {
                None if !image.pixels.is_empty() => {
                    atlas.size = image.size;
                    atlas.texels = texels.collect();
                }
                None => {}
                Some(at) => atlas.patch(at, image.size, &texels.collect::<Vec<_>>()),
            }
        }
        delta.clear();
    }

    /// Writes a rectangle of texels; what of it is outside is left out.
    fn patch(&mut self, [left, top]: [usize; 2], [width, height]: [usize; 2], texels: &[u32]) {
        let across = width.min(self.size[0].saturating_sub(left));
        for row in 0..height.min(self.size[1].saturating_sub(top)) {
            let to = (top + row) * self.size[0] + left;
            self.texels[to..to + across].copy_from_slice(&texels[row * width..row * width + across]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_goes_where_it_belongs_and_nowhere_else() {
        let mut atlas = Atlas {
            size: [3, 2],
            texels: vec![0; 6],
        };
        atlas.patch([1, 1], [2, 1], &[7, 8]);
        assert_eq!(atlas.texels, [0, 0, 0, 0, 7, 8]);
        atlas.patch([2, 0], [2, 5], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(atlas.texels, [0, 0, 1, 0, 7, 3]);
    }
}
