//! The encoding of sRGB: IEC 61966-2-1.

/// From the encoded value to light; both in [0, 1].
pub(super) fn decode(encoded: f32) -> f32 {
    if encoded <= 0.04045 {
        encoded / 12.92
    } else {
        ((encoded + 0.055) / 1.055).powf(2.4)
    }
}
