//! Colours that are computed each by itself, several at a time.

use super::Texel;

/// Colours that are computed together: so many of each channel fill a few registers.
const TOGETHER: usize = 16;

/// `out` is `map` of each colour, and its alpha. The channels are taken apart, so that the compiler computes several colours at
/// once where `map` has no branch.
#[inline(always)]
pub(super) fn map_colors(source: &[Texel], out: &mut [Texel], map: impl Fn([f32; 3]) -> [f32; 3]) {
    let (sources, last_source) = source.as_chunks::<TOGETHER>();
    let (outs, last_out) = out.as_chunks_mut::<TOGETHER>();
    for (out, source) in outs.iter_mut().zip(sources) {
        let [mut red, mut green, mut blue] = [[0.0; TOGETHER]; 3];
        for index in 0..TOGETHER {
            [red[index], green[index], blue[index], _] = source[index];
        }
        for index in 0..TOGETHER {
            [red[index], green[index], blue[index]] = map([red[index], green[index], blue[index]]);
        }
        for index in 0..TOGETHER {
            out[index] = [red[index], green[index], blue[index], source[index][3]];
        }
    }
    for (out, [red, green, blue, alpha]) in last_out.iter_mut().zip(last_source) {
        let [red, green, blue] = map([*red, *green, *blue]);
        *out = [red, green, blue, *alpha];
    }
}
