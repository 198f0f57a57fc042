//! The panel that a scope is drawn on, over a lower corner of the picture.

use super::Texel;

/// Where a panel is, texels of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Panel {
    left: i64,
    /// The row below it.
    below: i64,
    /// Width and height.
    pub extent: [i64; 2],
}

/// The corner that a panel is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Corner {
    LowerLeft,
    LowerRight,
}

impl Panel {
    /// `size` is its share of the picture but for a margin of a fortieth of the shorter side.
    pub fn new(picture: [u32; 2], size: f32, corner: Corner) -> Self {
        let [width, height] = picture.map(i64::from);
        let margin = width.min(height) / 40;
        let extent = [width, height].map(|length| ((size * (length - 2 * margin) as f32) as i64).max(1));
        let left = match corner {
            Corner::LowerLeft => margin,
            Corner::LowerRight => width - margin - extent[0],
        };
        Self {
            left,
            below: height - margin,
            extent,
        }
    }

    /// A texel of the picture as columns from the panel's left and rows from its bottom, if it is on the panel.
    pub fn at(&self, x: i64, y: i64) -> Option<[i64; 2]> {
        let at = [x - self.left, self.below - 1 - y];
        at.iter()
            .zip(self.extent)
            .all(|(at, length)| (0..length).contains(at))
            .then_some(at)
    }

    /// Whether it is the first or last column or row, or the first of a quarter along `axis`.
    pub fn is_line(&self, at: [i64; 2], axis: usize) -> bool {
        let quarter = |at: i64| (at * 4).div_euclid(self.extent[axis]);
        let is_edge = |(at, length): (i64, i64)| at == 0 || at == length - 1;
        quarter(at[axis]) != quarter(at[axis] - 1) || at.into_iter().zip(self.extent).any(is_edge)
    }
}

/// What is drawn, over the picture's light as far as the display shows it.
pub(super) fn over(color: Texel, drawn: [f32; 3], opacity: f32) -> Texel {
    let mixed = |channel: usize| color[channel].min(1.0) * (1.0 - opacity) + drawn[channel] * opacity;
    [mixed(0), mixed(1), mixed(2), color[3]]
}
