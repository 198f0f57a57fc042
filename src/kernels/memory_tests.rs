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

const MAKER: &str = r#"/*---
title = "T"
summary = "S"
source = "none"
alpha = "unchanged"
broken_pixels = "kept"
stage = "look"
[tolerance]
why = "exact"
[[parameters]]
name = "width"
unit = ""
minimum = 0.0
maximum = 1.0
default = 0.5
step = 0.1
type = "f32"
[[buffers]]
name = "work"
bytes = 64
[[buffers]]
name = "table"
bytes = 128
[[passes]]
entry = "maker_fill"
source = "input"
buffers = ["table"]
once = true
[[passes]]
entry = "maker_count"
source = "input"
buffers = ["work", "table"]
[[passes]]
entry = "maker_show"
source = "input"
destination = "output"
buffers = ["work", "table"]
---*/
"#;

/// A chain of the shipped effects, `keeper` and `maker`.
fn chain(names: &[&str]) -> Chain {
    let own = [("keeper", KEEPER), ("maker", MAKER)];
    let own = own.map(|(name, code)| parse(name, code).expect("parses"));
    let shipped = catalogue().effects().iter().map(|effect| effect.as_ref().clone());
    let all: Vec<Effect> = shipped.chain(own).collect();
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

/// By launch, whether it runs.
fn running(memory: &ChainMemory<Numbers>, plan: &Plan) -> Vec<bool> {
    plan.launches.iter().map(|launch| memory.runs(launch)).collect()
}

#[test]
fn what_is_made_once_stays_until_a_parameter_or_the_extent_changes_or_the_effect_begins_anew() {
    let (mut memory, mut numbers) = (ChainMemory::<Numbers>::default(), Numbers::default());
    let table = BufferId::Made(MadeId { state: 0, index: 0 });
    let mut chain = chain(&["maker"]);
    let plan = chain.plan();
    assert_eq!(plan.launches[0].buffers[0], Some(table));
    assert_eq!(plan.launches[1].buffers[..2], [Some(BufferId::Scratch(0)), Some(table)]);
    assert_eq!(
        (plan.bytes_of(table, EXTENTS), plan.own_bytes(EXTENTS)),
        (128, 128 + 64)
    );

    let mut frame = |memory: &mut ChainMemory<Numbers>, plan: &Plan, extents| {
        memory.prepare(plan, extents, &mut numbers).expect("memory");
        let place = (!plan.states.is_empty())
            .then(|| memory.buffer(table).copied())
            .flatten();
        let ran = running(memory, plan);
        memory.end_frame();
        (ran, place)
    };
    let (all, steady) = (vec![true; 3], vec![false, true, true]);
    let (ran, place) = frame(&mut memory, &plan, EXTENTS);
    assert_eq!(ran, all);
    for _ in 0..2 {
        // One of it, in its place in each frame.
        assert_eq!(frame(&mut memory, &plan, EXTENTS), (steady.clone(), place));
    }

    // Another effect comes: it is all there still.
    let gaussian = chain.catalogue().index_of("gaussian").expect("an effect");
    chain.toggle(gaussian);
    let both = chain.plan();
    memory.prepare(&both, EXTENTS, &mut Numbers::default()).expect("memory");
    let by_maker = both.launches.iter().filter(|launch| launch.of.name == "maker");
    assert_eq!(by_maker.map(|launch| memory.runs(launch)).collect::<Vec<_>>(), steady);
    memory.end_frame();
    chain.toggle(gaussian);
    assert_eq!(frame(&mut memory, &chain.plan(), EXTENTS), (steady.clone(), place));

    // A frame that was prepared for and not run made nothing.
    chain.set("maker.width", 0.25).expect("in range");
    let plan = chain.plan();
    memory.prepare(&plan, EXTENTS, &mut Numbers::default()).expect("memory");
    assert_eq!(running(&memory, &plan), all);
    assert_eq!(frame(&mut memory, &plan, EXTENTS), (all.clone(), place));
    assert_eq!(frame(&mut memory, &plan, EXTENTS).0, steady);
    memory.forget_made();
    assert_eq!(frame(&mut memory, &plan, EXTENTS).0, all);

    let maker = chain.catalogue().index_of("maker").expect("an effect");
    chain.toggle(maker);
    frame(&mut memory, &chain.plan(), EXTENTS);
    chain.toggle(maker);
    assert_eq!(frame(&mut memory, &chain.plan(), EXTENTS).0, all);
    assert_eq!(frame(&mut memory, &chain.plan(), EXTENTS).0, steady);
    assert_eq!(frame(&mut memory, &chain.plan(), FrameExtents::same([8, 8])).0, all);
}

#[test]
fn a_pass_that_runs_once_is_refused_what_changes_from_frame_to_frame() {
    let message = |from: &str, to: &str| {
        assert!(MAKER.contains(from));
        let error = parse("maker", &MAKER.replacen(from, to, 1)).expect_err(to);
        error.to_string()
    };
    let alone = "pass 1 (maker_fill): a pass that runs once writes buffers alone";
    for more in ["destination = \"a\"", "second = \"input\"", "repeat = 2"] {
        let found = message("once = true", &format!("once = true\n{more}"));
        assert!(found.contains(alone), "{more}: {found}");
    }
    for (more, buffer) in [("zeroed = true", "table"), ("keeps = true", "table")] {
        let found = message("bytes = 128", &format!("bytes = 128\n{more}"));
        assert!(
            found.contains(&format!("uses {buffer:?}: expected a buffer that is neither")),
            "{more}: {found}"
        );
    }
    let table = message("bytes = 128", "table = \"cube\"");
    assert!(table.contains("neither `zeroed`, kept nor a table"), "{table}");
    let last = MAKER.replace("destination = \"output\"\n", "once = true\n");
    let found = parse("maker", &last).expect_err("writes no output").to_string();
    assert!(found.contains("the last pass must write \"output\""), "{found}");
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
