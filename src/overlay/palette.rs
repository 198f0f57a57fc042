//! Colours that people with any kind of colour vision tell apart, and what they stand for.
//!
//! The eight of Okabe and Ito, "Color Universal Design" (2008), <https://jfly.uni-koeln.de/color/>, and greys. Nothing rests on
//! colour alone: whatever has one also has a name or a place beside it.

use egui::Color32;

/// Orange.
pub const ORANGE: Color32 = Color32::from_rgb(230, 159, 0);
/// Sky blue.
pub const SKY_BLUE: Color32 = Color32::from_rgb(86, 180, 233);
/// Bluish green.
pub const GREEN: Color32 = Color32::from_rgb(0, 158, 115);
/// Yellow.
pub const YELLOW: Color32 = Color32::from_rgb(240, 228, 66);
/// Blue.
pub const BLUE: Color32 = Color32::from_rgb(0, 114, 178);
/// Vermillion.
pub const VERMILLION: Color32 = Color32::from_rgb(213, 94, 0);
/// Reddish purple.
pub const PURPLE: Color32 = Color32::from_rgb(204, 121, 167);

/// Behind everything: dark enough for every colour above whatever picture is under it.
pub const PANEL: Color32 = Color32::from_rgba_premultiplied(12, 14, 17, 230);
/// Behind a graph.
pub const WELL: Color32 = Color32::from_rgb(6, 7, 9);
/// Lines of a grid.
pub const GRID: Color32 = Color32::from_rgb(52, 57, 64);
/// Text.
pub const TEXT: Color32 = Color32::from_rgb(236, 238, 240);
/// Text that is less important: 7:1 against the panel.
pub const DIM: Color32 = Color32::from_rgb(168, 175, 184);
/// Where nobody works.
pub const IDLE: Color32 = Color32::from_rgb(70, 76, 84);
/// The host.
pub const HOST: Color32 = Color32::from_rgb(153, 153, 153);

/// Black or white, whichever reads better on the colour: by relative luminance (WCAG 2.2).
pub fn text_on(color: Color32) -> Color32 {
    if contrast(color, Color32::BLACK) >= contrast(color, Color32::WHITE) {
        Color32::BLACK
    } else {
        Color32::WHITE
    }
}

/// The contrast ratio of two opaque colours, 1 to 21 (WCAG 2.2).
pub fn contrast(one: Color32, other: Color32) -> f32 {
    let luminance = |color: Color32| {
        let [red, green, blue, _] = egui::Rgba::from(color).to_array();
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    };
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_can_be_read_on_whatever_it_is_on() {
        for color in [ORANGE, SKY_BLUE, GREEN, YELLOW, BLUE, VERMILLION, PURPLE, IDLE, HOST] {
            // WCAG's level AA for text.
            let ratio = contrast(color, text_on(color));
            assert!(ratio >= 4.5, "{color:?}: {ratio}");
            // And its 3:1 for graphics.
            assert!(color == IDLE || contrast(color, WELL) >= 3.0, "{color:?} on a graph");
        }
        // The panel over a white picture is the worst.
        let over_white = Color32::from_rgb(12 + 25, 14 + 25, 17 + 25);
        assert!(contrast(TEXT, over_white) >= 7.0);
        assert!(contrast(DIM, over_white) >= 4.5);
    }

    #[test]
    fn contrast_is_that_of_the_specification() {
        assert!((contrast(Color32::BLACK, Color32::WHITE) - 21.0).abs() < 1e-4);
        // #777777 on white is the well-known just-failing grey: 4.48.
        assert!((contrast(Color32::from_rgb(0x77, 0x77, 0x77), Color32::WHITE) - 4.48).abs() < 0.01);
    }
}
