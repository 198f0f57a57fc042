//! Tests of running plans on host memory.

use super::*;
use crate::kernels::reference::{HostImageError, HostScratch};
use crate::kernels::{BrokenPixels, Chain, FrameExtents, TestGuides, catalogue, random_image};

const FRAME: FrameParameters = FrameParameters {
    frame: 3,
    time: 0.0,
    time_delta: 0.0,
    pointer: [0.0; 2],
    previous_pointer: [0.0; 2],
    jitter: [0.0; 2],
};

fn run_on(chain: &Chain, extent: [u32; 2], color: &[[f16; 4]], scratch: &mut HostScratch) -> Vec<[f16; 4]> {
    let mut processed = vec![[f16::NAN; 4]; color.len()];
    let pitch = extent[0] as usize * TEXEL_SIZE;
    let source = MappedImage {
        bytes: bytemuck::cast_slice(color),
        pitch,
    };
    let destination = (bytemuck::cast_slice_mut(&mut processed), pitch);
    let guides = TestGuides::random(1, extent);
    let extents = FrameExtents::same(extent);
    let images = HostImages::new(extents, source, destination, scratch).expect("images fit");
    let mut images = images.with_guides(guides.host());
    run(&chain.plan(), &mut images, &FRAME).expect("has references");
    processed
}

fn bits(image: &[[f16; 4]]) -> Vec<[u16; 4]> {
    image.iter().map(|texel| texel.map(f16::to_bits)).collect()
}

/// Scratch images are reused within a chain: one reused too early would differ from one effect after the other.
#[test]
fn every_subset_is_its_effects_one_after_the_other() {
    let extent = [19, 11];
    let color = random_image(7, extent, BrokenPixels::Present);
    // The same scratch serves chains of all shapes, as it does while a user toggles.
    let mut scratch = HostScratch::default();
    let keyed: Vec<&str> = catalogue().keyed().map(|(_, effect)| effect.name.as_str()).collect();
    for subset in 1..256 {
        let names: Vec<&str> = (0..8)
            .filter(|bit| subset & (1 << bit) != 0)
            .map(|i| keyed[i])
            .collect();
        let chain = Chain::with_enabled(catalogue(), &names).expect("effects");
        let together = run_on(&chain, extent, &color, &mut scratch);
        let one_by_one = names.iter().fold(color.clone(), |image, name| {
            let single = Chain::with_enabled(catalogue(), &[name]).expect("an effect");
            run_on(&single, extent, &image, &mut HostScratch::default())
        });
        assert_eq!(bits(&together), bits(&one_by_one), "{names:?}");
    }
}

/// What is made once is there in the frames that follow, and made again with other parameters: each picture is that of a chain that began
/// with it.
#[test]
fn what_is_made_once_gives_the_pictures_of_a_chain_that_makes_it_in_each_frame() {
    let makes = |effect: &&std::sync::Arc<crate::kernels::Effect>| effect.once().next().is_some();
    let effects: Vec<_> = catalogue().effects().iter().filter(makes).collect();
    assert!(!effects.is_empty());
    for effect in effects {
        let mut chain = Chain::with_enabled(catalogue(), &[&effect.name]).expect("an effect");
        let mut scratch = HostScratch::default();
        let mut frame = |chain: &Chain, extent: [u32; 2], seed| {
            let color = random_image(seed, extent, BrokenPixels::Present);
            let ran = run_on(chain, extent, &color, &mut scratch);
            let fresh = run_on(chain, extent, &color, &mut HostScratch::default());
            assert_eq!(
                bits(&ran),
                bits(&fresh),
                "{} at {extent:?}, picture {seed}",
                effect.name
            );
        };
        for seed in 1..4 {
            frame(&chain, [37, 23], seed);
        }
        for parameter in &effect.parameters {
            let setting = format!("{}.{}", effect.name, parameter.name);
            chain.set(&setting, parameter.maximum).expect("in range");
            frame(&chain, [37, 23], 4);
            frame(&chain, [37, 23], 5);
        }
        frame(&chain, [23, 37], 6);
        frame(&chain, [23, 37], 7);
    }
}

#[test]
fn an_empty_chain_copies_every_bit() {
    let color = random_image(2, [33, 9], BrokenPixels::Present);
    let copied = run_on(&Chain::new(catalogue()), [33, 9], &color, &mut HostScratch::default());
    assert_eq!(bits(&copied), bits(&color));
}

#[test]
fn broken_pixels_become_light_in_every_visible_effect() {
    for (_, effect) in catalogue().visible() {
        let color = random_image(5, [40, 30], BrokenPixels::Present);
        let chain = Chain::with_enabled(catalogue(), &[&effect.name]).expect("an effect");
        let processed = run_on(&chain, [40, 30], &color, &mut HostScratch::default());
        assert!(
            processed
                .iter()
                .flatten()
                .all(|value| value.is_finite() && *value >= f16::ZERO),
            "{}",
            effect.name
        );
    }
}

#[test]
fn alpha_is_unchanged_where_the_front_matter_says_so() {
    for (_, effect) in catalogue().visible().filter(|(_, effect)| effect.alpha == "unchanged") {
        let color = random_image(6, [40, 30], BrokenPixels::Absent);
        let chain = Chain::with_enabled(catalogue(), &[&effect.name]).expect("an effect");
        let processed = run_on(&chain, [40, 30], &color, &mut HostScratch::default());
        assert!(
            color
                .iter()
                .zip(&processed)
                .all(|(before, after)| before[3] == after[3]),
            "{}",
            effect.name
        );
    }
}

/// Mapped LINEAR images have padded rows, and the last row may end with its last texel.
#[test]
fn padded_rows_give_the_same_picture_and_padding_is_left_alone() {
    let extent = [21, 13];
    let color = random_image(4, extent, BrokenPixels::Absent);
    let (row, source_pitch, destination_pitch) = (21 * TEXEL_SIZE, 256, 192);
    let mut source = vec![0xeeu8; source_pitch * 12 + row];
    for (padded, texels) in source.chunks_mut(source_pitch).zip(color.chunks(21)) {
        padded[..row].copy_from_slice(bytemuck::cast_slice(texels));
    }
    for names in [&[][..], &["gaussian", "tonemap"][..]] {
        let chain = Chain::with_enabled(catalogue(), names).expect("effects");
        let mut destination = vec![0xeeu8; destination_pitch * 12 + row];
        let mut scratch = HostScratch::default();
        let color_image = MappedImage {
            bytes: &source,
            pitch: source_pitch,
        };
        let mut images = HostImages::new(
            FrameExtents::same(extent),
            color_image,
            (&mut destination, destination_pitch),
            &mut scratch,
        )
        .expect("images fit");
        run(&chain.plan(), &mut images, &FRAME).expect("has references");
        let tight = run_on(&chain, extent, &color, &mut HostScratch::default());
        for (padded, texels) in destination.chunks(destination_pitch).zip(tight.chunks(21)) {
            assert_eq!(&padded[..row], bytemuck::cast_slice::<[f16; 4], u8>(texels));
            assert!(padded[row..].iter().all(|byte| *byte == 0xee));
        }
    }
}

#[test]
fn memory_that_cannot_hold_the_image_is_refused() {
    let bytes = vec![0u16; 4 * 16];
    let bytes: &[u8] = bytemuck::cast_slice(&bytes);
    let refused = |extent, bytes, pitch| {
        let mut processed = [0u16; 64];
        let mut scratch = HostScratch::default();
        let destination = (bytemuck::cast_slice_mut(&mut processed[..]), 32);
        HostImages::new(
            FrameExtents::same(extent),
            MappedImage { bytes, pitch },
            destination,
            &mut scratch,
        )
        .err()
    };
    assert_eq!(refused([4, 4], bytes, 32), None);
    assert_eq!(refused([0, 4], bytes, 32), Some(HostImageError::Empty(0, 4)));
    assert_eq!(
        refused([4, 4], bytes, 31),
        Some(HostImageError::Pitch {
            image: "color",
            pitch: 31,
            row: 32
        })
    );
    assert_eq!(
        refused([4, 4], &bytes[..126], 32),
        Some(HostImageError::TooShort {
            image: "color",
            found: 126,
            needed: 128
        })
    );
    assert_eq!(
        refused([3, 3], &bytes[1..], 32),
        Some(HostImageError::Unaligned("color"))
    );
}

#[test]
fn a_kernel_without_a_reference_is_named() {
    let mut plan = Chain::new(catalogue()).plan();
    let mut mine = plan.launches[0].of.as_ref().clone();
    mine.passes[0].entry = "mine".into();
    plan.launches[0].of = std::sync::Arc::new(mine);
    let (color, mut processed) = ([f16::ONE; 4], [f16::ZERO; 4]);
    let mut scratch = HostScratch::default();
    let source = MappedImage {
        bytes: bytemuck::cast_slice(&color),
        pitch: 8,
    };
    let mut images = HostImages::new(
        FrameExtents::same([1, 1]),
        source,
        (bytemuck::cast_slice_mut(&mut processed), 8),
        &mut scratch,
    )
    .expect("images fit");
    let error = run(&plan, &mut images, &FRAME).expect_err("has no reference");
    assert_eq!(
        error.to_string(),
        "the kernel mine has no CPU reference, so it needs CUDA"
    );
    assert_eq!(processed, [f16::ZERO; 4]);
}
