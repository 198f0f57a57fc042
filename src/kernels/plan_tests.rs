//! Tests of plans, over every subset of the effects that have a key.

use super::*;
use crate::kernels::catalogue;
use std::collections::HashSet;

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

#[test]
fn every_subset_flows_from_color_to_processed() {
    for bits in 0..256 {
        let plan = subset(bits).plan();
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
    assert_eq!(count(0b1111_1111), 2);
    assert_eq!(count(0b0000_0011), 2);
    assert_eq!(subset(0b100).plan().scratch.len(), 9);
}

#[test]
fn extents_are_rounded_up_and_never_empty() {
    let plan = subset(0b100).plan();
    let extents: HashSet<[u32; 2]> = (0..plan.scratch.len())
        .map(|index| plan.extent_of(ImageId::Scratch(index), FrameExtents::same([33, 1])))
        .collect();
    assert_eq!(extents, HashSet::from([[17, 1], [9, 1], [5, 1], [3, 1], [2, 1]]));
    assert_eq!(plan.extent_of(ImageId::Processed, FrameExtents::same([33, 1])), [33, 1]);
}
