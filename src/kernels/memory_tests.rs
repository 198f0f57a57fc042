//! Tests of a chain's memory, with numbers for images and buffers.

use super::*;
use crate::kernels::{Chain, Effect, catalogue, parse};
use std::sync::Arc;

/// Counts what it makes.
#[derive(Debug, Default)]
struct Numbers {
    images: Vec<([u32; 2], TexelFormat)>,
    buffers: Vec<u64>,
}

impl Memory for Numbers {
    type Image = usize;
    type Buffer = usize;
    type Error = &'static str;

    fn image(&mut self, extent: [u32; 2], format: TexelFormat) -> Result<usize, &'static str> {
        if self.images.len() == 100 {
            return Err("no memory");
        }
        self.images.push((extent, format));
        Ok(self.images.len() - 1)
    }

    fn buffer(&mut self, bytes: u64) -> Result<usize, &'static str> {
        self.buffers.push(bytes);
        Ok(self.buffers.len() - 1)
    }
}

const KEEPER: &str = r#"/*---
title = "T"
summary = "S"
source = "none"
alpha = "unchanged"
broken_pixels = "kept"
stage = "look"
[tolerance]
why = "exact"
[[buffers]]
name = "bins"
bytes = 1024
zeroed = true
[[buffers]]
name = "value"
bytes = 16
bytes_per_texel = 2
keeps = true
[[passes]]
entry = "keeper_count"
source = "input"
buffers = ["bins", "value.previous", "value"]
block = [32, 8]
[[passes]]
entry = "keeper_spread"
source = "input"
second = "field.previous"
destination = "field"
divisor = 2
format = "rgba32f"
keeps = true
repeat = 3
block = [32, 8]
[[passes]]
entry = "keeper_show"
source = "input"
second = "field"
destination = "output"
buffers = ["bins"]
block = [32, 8]
---*/
"#;

/// A chain of the shipped effects and `keeper`.
fn chain(names: &[&str]) -> Chain {
    let keeper = parse("keeper", KEEPER).expect("parses");
    let shipped = catalogue().effects().iter().map(|effect| effect.as_ref().clone());
    let all: Vec<Effect> = shipped.chain([keeper]).collect();
    let catalogue = Arc::new(crate::kernels::Catalogue::new(all).expect("goes together"));
    Chain::with_enabled(&catalogue, names).expect("effects")
}

const EXTENTS: FrameExtents = FrameExtents {
    scene: [33, 8],
    display: [33, 8],
};

#[test]
fn a_plan_names_what_is_kept_zeroed_and_repeated() {
    let plan = chain(&["keeper"]).plan();
    let kept = |previous| KeptId {
        state: 0,
        index: 0,
        previous,
    };
    let [count, first, second, third, show] = plan.launches.as_slice() else {
        panic!("{} launches", plan.launches.len());
    };
    assert_eq!(count.destination, None);
    assert_eq!(count.zeroes, [0]);
    assert_eq!(
        count.buffers[..3],
        [
            Some(BufferId::Scratch(0)),
            Some(BufferId::Kept(kept(true))),
            Some(BufferId::Kept(kept(false)))
        ]
    );
    assert_eq!(plan.threads_of(count, EXTENTS), [33, 8]);
    assert_eq!(plan.bytes_of(BufferId::Kept(kept(true)), EXTENTS), 16 + 2 * 33 * 8);
    // Each of the three reads what the one before wrote; the last writes what is kept.
    assert_eq!(
        first.sources[..2],
        [Some(ImageId::Color), Some(ImageId::Kept(kept(true)))]
    );
    assert_eq!(second.sources[0], first.destination);
    assert_eq!(third.sources[0], second.destination);
    assert_eq!(third.destination, Some(ImageId::Kept(kept(false))));
    assert_eq!(
        [first, second, third].map(|launch| launch.description().index),
        [0, 1, 2]
    );
    assert_eq!(plan.extent_of(ImageId::Kept(kept(false)), EXTENTS), [17, 4]);
    assert_eq!(show.sources[1], third.destination);
    assert!(show.zeroes.is_empty(), "what was counted is shown");
    assert_eq!(plan.states.len(), 1);
}

#[test]
fn what_is_kept_changes_places_and_stays_while_the_effect_runs() {
    let (mut memory, mut numbers) = (ChainMemory::<Numbers>::default(), Numbers::default());
    let kept = |previous| {
        ImageId::Kept(KeptId {
            state: 0,
            index: 0,
            previous,
        })
    };
    let mut chain = chain(&["keeper"]);
    let plan = chain.plan();
    memory.prepare(&plan, EXTENTS, &mut numbers).expect("memory");
    assert_eq!(memory.frames(0), 0);
    let written = *memory.image(kept(false)).expect("kept");
    assert_ne!(Some(&written), memory.image(kept(true)));
    memory.end_frame();
    assert_eq!((memory.frames(0), memory.image(kept(true))), (1, Some(&written)));

    // Another effect comes, a parameter changes: it is all there still, and nothing of it is given to the other.
    let gaussian = chain.catalogue().index_of("gaussian").expect("an effect");
    chain.toggle(gaussian);
    let both = chain.plan();
    memory.prepare(&both, EXTENTS, &mut numbers).expect("memory");
    assert_eq!((memory.frames(0), memory.image(kept(true))), (1, Some(&written)));
    for index in 0..both.scratch.len() {
        assert!(
            memory
                .image(ImageId::Scratch(index))
                .is_some_and(|place| *place != written)
        );
    }
    memory.end_frame();

    // Off and on again: it begins anew, in memory that is there.
    let keeper = chain.catalogue().index_of("keeper").expect("an effect");
    chain.toggle(keeper);
    memory.prepare(&chain.plan(), EXTENTS, &mut numbers).expect("memory");
    memory.end_frame();
    let made = numbers.images.len();
    chain.toggle(keeper);
    memory.prepare(&chain.plan(), EXTENTS, &mut numbers).expect("memory");
    assert_eq!((memory.frames(0), numbers.images.len()), (0, made));

    // Another extent: everything is another.
    memory.end_frame();
    memory
        .prepare(&chain.plan(), FrameExtents::same([8, 8]), &mut numbers)
        .expect("memory");
    assert_eq!(memory.frames(0), 0);
    assert!(numbers.images.len() > made);
}

#[test]
fn after_a_lack_of_memory_the_next_call_begins_anew() {
    let (mut memory, mut numbers) = (ChainMemory::<Numbers>::default(), Numbers::default());
    numbers.images = vec![([1, 1], TexelFormat::Rgba16f); 100];
    let plan = chain(&["keeper"]).plan();
    assert_eq!(memory.prepare(&plan, EXTENTS, &mut numbers), Err("no memory"));
    numbers.images.clear();
    assert_eq!(memory.prepare(&plan, EXTENTS, &mut numbers), Ok(()));
    assert_eq!(memory.frames(0), 0);
}

#[test]
fn what_cannot_be_is_refused_with_its_line() {
    let message = |from: &str, to: &str| {
        assert!(KEEPER.contains(from));
        parse("keeper", &KEEPER.replacen(from, to, 1))
            .expect_err(to)
            .to_string()
    };
    for (from, to, wanted) in [
        (
            "\"value.previous\"",
            "\"bins.previous\"",
            "line 19: pass 1 (keeper_count): reads \"bins.previous\", but \"bins\" is not kept",
        ),
        (
            "\"value\"]",
            "\"values\"]",
            "line 19: pass 1 (keeper_count): there is no buffer \"values\"",
        ),
        ("\"value\"]", "\"bins\"]", "expected each buffer once"),
        (
            "field.previous",
            "fields.previous",
            "line 24: pass 2 (keeper_spread): reads \"fields.previous\"; expected",
        ),
        ("repeat = 3", "repeat = 0", "expected `repeat` from 1 to 256, found 0"),
        (
            "bytes = 1024\n",
            "",
            "line 10: buffer \"bins\": expected `bytes` or `bytes_per_texel` above 0",
        ),
        (
            "bytes_per_texel = 2\n",
            "zeroed = true\n",
            "expected either `keeps` or `zeroed`",
        ),
        ("name = \"bins\"", "name = \"b.ins\"", "expected a name without a dot"),
        (
            "source = \"input\"\nbuffers",
            "buffers",
            "nothing says how many threads there are",
        ),
        (
            "source = \"input\"\nbuffers",
            "source = \"input\"\ntexels = [0, 2]\nbuffers",
            "expected at least one of `texels`",
        ),
        ("destination = \"output\"\n", "", "the last pass must write \"output\""),
    ] {
        let found = message(from, to);
        assert!(found.contains(wanted), "{to:?}: {found}");
    }
}
