//! Tests of plans, over every subset of the effects that have a key.

use super::*;
use crate::kernels::{Binary, Chain, FusedSource, POINTWISE_TEXELS, PassImage, catalogue};
use std::collections::{HashMap, HashSet};

/// Of the effects that have a key, by key.
fn subset(bits: u32) -> Chain {
    let names: Vec<&str> = catalogue()
        .keyed()
        .enumerate()
        .filter(|(bit, _)| bits & (1 << bit) != 0)
        .map(|(_, (_, effect))| effect.name.as_str())
        .collect();
    Chain::with_enabled(catalogue(), &names).expect("effects")
}

#[test]
fn an_empty_chain_copies() {
    let plan = subset(0).plan();
    assert_eq!(plan.launches.len(), 1);
    let launch = &plan.launches[0];
    assert_eq!(catalogue().effects()[launch.effect].name, "copy");
    assert_eq!(
        (launch.sources, launch.destination),
        ([Some(ImageId::Color), None, None], Some(ImageId::Processed))
    );
    assert!(plan.scratch.is_empty() && !launch.parameters.is_empty());
}

/// With every run of neighbours as one launch, or with none.
fn planned(chain: &Chain, is_fused: bool) -> Plan {
    let given = Given {
        guides: true,
        scaled: false,
        transforms: true,
    };
    chain.plan_fused(given, &|members| {
        let effect = FusedSource::new(members).effect(Binary::Ptx(""));
        is_fused.then(|| Arc::new(effect))
    })
}

#[test]
fn every_subset_flows_from_color_to_processed() {
    for (bits, is_fused) in (0..256).flat_map(|bits| [(bits, false), (bits, true)]) {
        let plan = planned(&subset(bits), is_fused);
        let last = plan.launches.len() - 1;
        let mut written: HashSet<ImageId> = HashSet::from([ImageId::Color]);
        for (index, launch) in plan.launches.iter().enumerate() {
            let reads: Vec<ImageId> = launch.sources.into_iter().flatten().collect();
            let destination = launch.destination.expect("these effects write images");
            assert!(
                !reads.contains(&destination),
                "subset {bits}: launch {index} reads what it writes"
            );
            assert!(
                reads.iter().all(|image| written.contains(image)),
                "subset {bits}: {index} reads nothing"
            );
            assert!(!reads.contains(&ImageId::Processed));
            assert_ne!(destination, ImageId::Color);
            assert_eq!(
                destination == ImageId::Processed,
                index == last,
                "subset {bits}: launch {index}"
            );
            written.insert(destination);
        }
        assert_eq!(plan.launches[0].sources[0], Some(ImageId::Color));
    }
}

#[test]
fn neighbours_are_one_launch_with_all_that_is_theirs() {
    let chain = |names: &[&str]| Chain::with_enabled(catalogue(), names).expect("effects");
    let names = ["auto_exposure", "tonemap", "lut", "gaussian", "film_grain", "vignette"];
    let [plain, fused] = [false, true].map(|is_fused| planned(&chain(&names), is_fused));
    let labels: Vec<&str> = fused.launches.iter().skip(3).map(Launch::label).collect();
    let blurs = ["gaussian: rows", "gaussian: columns"];
    assert_eq!(
        labels,
        ["auto_exposure+tonemap+lut", blurs[0], blurs[1], "film_grain+vignette"]
    );
    let run = &fused.launches[3];
    let of = |effect: &str| {
        plain
            .launches
            .iter()
            .rfind(|launch| launch.of.name == effect)
            .expect("launched")
    };
    let members = ["auto_exposure", "tonemap", "lut"].map(of);
    assert_eq!(run.parameters, members.map(|member| member.parameters.clone()).concat());
    let buffers = members.iter().flat_map(|member| member.buffers).flatten();
    assert!(buffers.eq(run.buffers.into_iter().flatten()));
    assert_eq!((run.state, run.effect), (members[0].state, members[0].effect));
    assert!(run.description().pointwise && fused.states == plain.states && fused.tables == plain.tables);
    // What lay between them needs no image, and each thread makes several texels.
    let needed = |names: &[&str]| planned(&chain(names), true).scratch.len();
    assert_eq!((needed(&names[1..3]), needed(&["tonemap", "gaussian"])), (0, 2));
    let extents = FrameExtents::same([1, 7]);
    let threads = [1, 7u32.div_ceil(POINTWISE_TEXELS[1])];
    assert_eq!(fused.threads_of(run, extents), threads);
    let blur = &fused.launches[4];
    let [across, down] = blur.description().texels;
    assert_eq!(
        fused.threads_of(blur, extents),
        [1u32.div_ceil(across), 7u32.div_ceil(down)]
    );
}

#[test]
fn a_run_has_at_most_four_buffers() {
    let lut = catalogue().by_name("lut").expect("an effect");
    let mut effects: Vec<Effect> = catalogue()
        .effects()
        .iter()
        .map(|effect| effect.as_ref().clone())
        .collect();
    let names = ["lut", "second", "third", "fourth", "fifth"];
    effects.extend(names[1..].iter().map(|name| Effect {
        name: (*name).to_owned(),
        ..lut.as_ref().clone()
    }));
    let all = Arc::new(crate::kernels::Catalogue::new(effects).expect("names are given once"));
    let plan = planned(&Chain::with_enabled(&all, &names).expect("effects"), true);
    let fused: Vec<_> = plan.launches.iter().map(|launch| launch.fused).collect();
    assert_eq!(fused, [Some("lut+second+third+fourth"), None]);
}

/// Follows what each image holds: every launch must find there what its front matter names.
#[test]
fn every_subset_reads_what_the_front_matter_names() {
    for bits in 0..256 {
        let plan = subset(bits).plan();
        // What an image holds: the launch that wrote it, and the name its effect gives it.
        let mut holds: HashMap<ImageId, (Option<usize>, PassImage)> =
            HashMap::from([(ImageId::Color, (None, PassImage::Output))]);
        let (mut input, mut effect_start) = (None, 0);
        for (index, launch) in plan.launches.iter().enumerate() {
            if launch.pass == 0 {
                (input, effect_start) = (index.checked_sub(1), index);
            }
            let description = &catalogue().effects()[launch.effect].passes[launch.pass];
            assert_eq!(launch.entry(), description.entry);
            let check = |named: PassImage, id: ImageId| match named {
                PassImage::Input => assert_eq!(holds[&id], (input, PassImage::Output)),
                scratch => {
                    assert_eq!(holds[&id].1, scratch);
                    assert!(
                        holds[&id].0 >= Some(effect_start),
                        "written by this effect, in this frame"
                    );
                }
            };
            for (named, id) in description.sources.into_iter().zip(launch.sources) {
                assert_eq!(named.is_some(), id.is_some());
                named.into_iter().zip(id).for_each(|(named, id)| check(named, id));
            }
            let (id, named) = launch
                .destination
                .zip(description.destination)
                .expect("an image is written");
            holds.insert(id, (Some(index), named));
            if let (ImageId::Scratch(index), PassImage::Scratch { shape, .. }) = (id, named) {
                assert_eq!(plan.scratch[index].shape, shape);
            }
        }
    }
}

#[test]
fn scratch_images_are_reused() {
    let count = |bits: u32| {
        subset(bits)
            .plan()
            .scratch
            .iter()
            .filter(|scratch| scratch.shape.divisor == 1)
            .count()
    };
    // Point after point, two images take turns; the last writes Processed.
    assert_eq!(count(0b1101_0001), 2);
    // The Gaussian's second pass reads what the first one read besides.
    assert_eq!(count(0b1111_1111), 3);
    assert_eq!(count(0b0000_0011), 2);
    assert_eq!(subset(0b100).plan().scratch.len(), 6);
}

#[test]
fn extents_are_rounded_up_and_never_empty() {
    let plan = subset(0b100).plan();
    let extents: HashSet<[u32; 2]> = (0..plan.scratch.len())
        .map(|index| plan.extent_of(ImageId::Scratch(index), FrameExtents::same([33, 1])))
        .collect();
    assert_eq!(extents, HashSet::from([[17, 1], [9, 1], [5, 1]]));
    assert_eq!(plan.extent_of(ImageId::Processed, FrameExtents::same([33, 1])), [33, 1]);
}

fn names(plan: &Plan) -> Vec<&str> {
    let mut names: Vec<&str> = plan.launches.iter().map(|launch| launch.of.name.as_str()).collect();
    names.dedup();
    names
}

/// Over a smaller scene something upscales always, and what reads guides comes before it.
#[test]
fn a_smaller_scene_is_upscaled_once_and_after_all_that_reads_guides() {
    let given = Given {
        guides: true,
        scaled: true,
        transforms: true,
    };
    let extents = FrameExtents {
        scene: [20, 10],
        display: [30, 15],
    };
    for (chain, wanted) in [
        (&["tonemap", "vignette"][..], &["tonemap", "enlarge", "vignette"][..]),
        (&["tonemap", "easu", "vignette"], &["tonemap", "easu", "vignette"]),
        (&["easu", "bloom", "outline"], &["outline", "easu", "bloom"]),
        (&["outline"], &["outline", "enlarge"]),
        (&[], &["enlarge"]),
    ] {
        let chain = Chain::with_enabled(catalogue(), chain).expect("effects");
        let plan = chain.plan_over(given);
        assert_eq!(names(&plan), wanted);
        for launch in &plan.launches {
            let at = plan
                .launches
                .iter()
                .position(|other| other.of.upscales)
                .expect("one upscales");
            let is_before = plan.launches[..at].contains(launch);
            let whole = launch.sources[0].map(|image| plan.extent_of(image, extents));
            if launch.pass == 0 {
                let extent = if is_before || launch.of.upscales {
                    extents.scene
                } else {
                    extents.display
                };
                assert_eq!(whole, Some(extent), "{}", launch.of.name);
            }
        }
        let last = plan.launches.last().and_then(|launch| launch.destination);
        assert_eq!(last, Some(ImageId::Processed));
    }
}

#[test]
fn what_is_not_there_leaves_out_the_effects_that_need_it() {
    let chain = Chain::with_enabled(catalogue(), &["taa", "fft_bloom", "tonemap"]).expect("effects");
    let over = |guides, transforms| {
        chain.plan_over(Given {
            guides,
            scaled: false,
            transforms,
        })
    };
    assert_eq!(names(&over(true, true)), ["taa", "fft_bloom", "tonemap"]);
    assert!(over(true, true).jitter && !over(false, true).jitter);
    assert_eq!(names(&over(false, true)), ["fft_bloom", "tonemap"]);
    assert_eq!(names(&over(true, false)), ["taa", "tonemap"]);
    let alone = Chain::with_enabled(catalogue(), &["taa"]).expect("an effect");
    let without = alone.plan_over(Given {
        guides: false,
        scaled: false,
        transforms: true,
    });
    assert_eq!(names(&without), ["copy"]);
}
