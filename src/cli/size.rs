//! Width and height of frames.

/// Width and height, at least 1 each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Texels across.
    pub width: u32,
    /// Texels down.
    pub height: u32,
}

/// No GPU has images larger than this a side (`maxImageDimension2D` is 32768 at most today).
const LARGEST_SIDE: u32 = 32_768;

/// Reads `1280x720`.
///
/// # Errors
/// What is expected.
pub fn parse_size(text: &str) -> Result<Size, String> {
    let sides = text.split_once(['x', 'X']).and_then(|(width, height)| {
        let (width, height) = (width.trim().parse().ok()?, height.trim().parse().ok()?);
        Some(Size { width, height })
    });
    let valid = 1..=LARGEST_SIDE;
    sides
        .filter(|size| valid.contains(&size.width) && valid.contains(&size.height))
        .ok_or_else(|| format!("expected WIDTHxHEIGHT, each from 1 to {LARGEST_SIDE}, such as 1280x720"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_two_numbers_in_range() {
        assert_eq!(
            parse_size("1280x720"),
            Ok(Size {
                width: 1280,
                height: 720
            })
        );
        for wrong in [
            "0x720",
            "1280x0",
            "1280",
            "1280x",
            "x",
            "-1x5",
            "40000x1",
            "4294967296x1",
            "1.5x2",
            "",
        ] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }
}
