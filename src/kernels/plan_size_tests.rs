//! Sizes of plans at the largest extents, against arithmetic that cannot overflow.

use super::*;
use crate::kernels::effect::{Effect, TexelFormat};
use crate::kernels::{Chain, GridKind, catalogue, padded};

/// As large as `--size` takes; 16384 is what most GPUs' images may have.
const LARGEST_SIDE: u32 = 32_768;
const SIDES: [u32; 2] = [16_384, LARGEST_SIDE];

/// CUDA's `gridDim` (compute capability 7.5, "Technical Specifications per Compute Capability").
const MOST_BLOCKS: [u32; 2] = [i32::MAX as u32, 65_535];

/// The plan of one effect alone.
fn plan(effect: &Effect) -> Plan {
    let given = Given {
        guides: true,
        scaled: effect.upscales,
        transforms: true,
    };
    let chain = Chain::with_enabled(catalogue(), &[&effect.name]).expect("an effect that there is");
    chain.plan_over(given)
}

fn texels(extent: [u32; 2]) -> u128 {
    extent.map(u128::from).iter().product()
}

/// What a buffer takes by its description, in 128 bits.
fn expected_bytes(size: BufferSize, extent: [u32; 2]) -> u128 {
    let grid = size.grid.map_or(0, |grid| {
        let [width, height] = extent.map(|length| u128::from(padded(length.div_ceil(grid.divisor))));
        let row = match grid.kind {
            GridKind::Real => width * 4,
            GridKind::Spectrum => (width / 2 + 1) * 8,
        };
        row * height * u128::from(grid.planes)
    });
    u128::from(size.fixed) + u128::from(size.per_texel) * texels(extent) + grid
}

#[test]
fn no_size_of_an_effect_s_memory_overflows() {
    let mut largest = 0;
    for side in SIDES {
        let extents = FrameExtents::same([side; 2]);
        for effect in catalogue().effects() {
            let plan = plan(effect);
            let kept = plan.states.iter().flat_map(|state| &state.buffers);
            for buffer in plan.buffers.iter().chain(kept) {
                let expected = expected_bytes(buffer.size, [side; 2]);
                assert_eq!(u128::from(buffer.bytes(extents)), expected, "{} at {side}", effect.name);
                largest = largest.max(expected);
            }
            let own: u128 = plan.scratch.iter().map(|image| texels(image.extent(extents)) * 8).sum();
            assert!(u128::from(plan.own_bytes(extents)) >= own, "{} at {side}", effect.name);
            for launch in &plan.launches {
                let images = launch.sources.into_iter().chain([launch.destination]).flatten();
                let images = images.map(|image| {
                    let wide = plan.format_of(image) == TexelFormat::Rgba32f;
                    texels(plan.extent_of(image, extents)) * if wide { 16 } else { 8 }
                });
                let least = u128::from(plan.least_bytes(launch, extents));
                match launch.description().bytes_per_texel {
                    Some(bytes) => assert_eq!(least, texels(plan.texels_of(launch, extents)) * u128::from(bytes)),
                    None => assert!(least >= images.sum::<u128>(), "{} at {side}", effect.name),
                }
            }
        }
    }
    assert!(
        largest > 1 << 33,
        "the test reaches sizes that need over 32 bits: {largest}"
    );
}

/// By hand: at 16384x16384 an image of halves has 2^31 bytes, one of floats 2^32, and the three planes of the padded half-size grid
/// that convolutions are computed in 3 GiB.
#[test]
fn sizes_at_16k_are_those_of_a_calculation_by_hand() {
    let extents = FrameExtents::same([16_384; 2]);
    let copy = Chain::with_enabled(catalogue(), &[]).expect("an empty chain").plan();
    assert_eq!(copy.least_bytes(&copy.launches[0], extents), 2 << 31);
    let bloom = catalogue().by_name("fft_bloom").expect("an effect");
    let bloom = plan(bloom);
    let sizes: Vec<u64> = bloom.buffers.iter().map(|buffer| buffer.bytes(extents)).collect();
    let (real, spectrum) = (3 * 16_384 * 16_384 * 4, 3 * (16_384 / 2 + 1) * 16_384 * 8);
    assert_eq!(sizes, [spectrum]);
    let made: Vec<u64> = bloom.states[0]
        .made
        .iter()
        .map(|buffer| buffer.bytes(extents))
        .collect();
    assert_eq!(made, [real, real, spectrum]);
    assert_eq!(bloom.own_bytes(extents), 2 * (real + spectrum));
}

/// Kernels count texels in 32 bits, and bytes in 64: places in buffers are texels' indices times an element's size, the bytes of a row
/// are an `int` (surfaces count x in bytes), and an outline's seeds are two coordinates of 16 bits.
#[test]
fn texels_of_the_largest_extents_are_counted_in_32_bits() {
    assert!(texels([LARGEST_SIDE; 2]) <= 1 << 31);
    let row = u128::from(LARGEST_SIDE) * u128::from(TexelFormat::Rgba32f.bytes());
    assert!(row <= 1 << 31);
    const { assert!(LARGEST_SIDE <= 1 << 16) };
}

#[test]
fn launches_over_the_largest_extents_are_grids_that_cuda_takes() {
    for side in SIDES {
        let extents = FrameExtents::same([side; 2]);
        for effect in catalogue().effects() {
            let plan = plan(effect);
            for launch in &plan.launches {
                let (threads, block) = (plan.threads_of(launch, extents), launch.description().block);
                for axis in 0..2 {
                    let blocks = threads[axis].div_ceil(block[axis].max(1));
                    assert!(blocks <= MOST_BLOCKS[axis], "{} at {side}: {threads:?}", launch.label());
                }
            }
        }
    }
}
