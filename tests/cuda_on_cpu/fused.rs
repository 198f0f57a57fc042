//! Chains whose neighbours are one kernel, against the same chains without: the same bits. And the loop that all pointwise kernels
//! have, broken on purpose.

use std::cell::RefCell;
use std::sync::Arc;

use handover::kernels::{
    Binary, BrokenPixels, Chain, Effect, FrameExtents, FusedSource, Given, HEADERS, Launch, Member, Plan,
    SMOOTH_CHAINS, TEST_CHAINS, TestGuides, TestSetting, Tolerance, catalogue, compare, random_image,
};

use super::harness::{Frame, Job, Program, Unit};
use super::{EXTENTS, comparisons, jobs, parameters, reference};

const GIVEN: Given = Given {
    guides: true,
    scaled: false,
    transforms: true,
};

/// The kernels of fused launches, each made once.
#[derive(Default)]
struct Kernels {
    all: RefCell<Vec<(Arc<Effect>, Vec<Member>)>>,
}

impl Kernels {
    fn plan(&self, chain: &Chain) -> Plan {
        chain.plan_fused(GIVEN, &|members| {
            let source = FusedSource::new(members);
            let mut all = self.all.borrow_mut();
            if let Some((known, _)) = all.iter().find(|(known, _)| known.name == source.label) {
                return Some(Arc::clone(known));
            }
            let effect = Arc::new(source.effect(Binary::Ptx("")));
            all.push((Arc::clone(&effect), members.to_vec()));
            Some(effect)
        })
    }

    /// Their units, after those of the catalogue's effects.
    fn compile(&self) -> Program {
        let all = self.all.borrow();
        let plain = catalogue().effects().iter().map(|effect| Unit {
            effect,
            code: effect.code.clone(),
            included: Vec::new(),
        });
        let fused = all.iter().map(|(effect, members)| Unit {
            effect,
            code: effect.code.clone(),
            included: members
                .iter()
                .map(|member| (format!("{}.cu", member.of.name), member.of.code.clone()))
                .collect(),
        });
        Program::compile(&plain.chain(fused).collect::<Vec<_>>())
    }

    fn units(&self, plan: &Plan) -> Vec<usize> {
        let all = self.all.borrow();
        let unit = |effect: &Effect| {
            let fused = all.iter().position(|(fused, _)| fused.id == effect.id);
            fused.map_or_else(
                || catalogue().index_of(&effect.name).expect("an effect"),
                |place| catalogue().effects().len() + place,
            )
        };
        plan.launches.iter().map(|launch| unit(&launch.of)).collect()
    }
}

/// Three frames, as effects that keep something need.
fn job(kernels: &Kernels, plan: Plan, extent: [u32; 2], broken: BrokenPixels) -> Job {
    let frames = (1..=3).map(|frame| Frame {
        color: random_image(frame, extent, broken),
        guides: TestGuides::random(frame, extent),
        parameters: parameters(frame),
    });
    Job {
        units: kernels.units(&plan),
        plan,
        extents: FrameExtents::same(extent),
        frames: frames.collect(),
    }
}

#[test]
fn fused_chains_give_the_bits_of_unfused_ones() {
    let kernels = Kernels::default();
    let mut cases = Vec::new();
    for names in TEST_CHAINS.iter().chain(SMOOTH_CHAINS) {
        for setting in TestSetting::ALL {
            let chain = setting.chain(catalogue(), names).expect("effects");
            let (plain, fused) = (chain.plan_over(GIVEN), kernels.plan(&chain));
            assert!(fused.launches.len() < plain.launches.len(), "{names:?}");
            for extent in EXTENTS {
                for broken in [BrokenPixels::Absent, BrokenPixels::Present] {
                    let [plain, fused] = [&plain, &fused].map(|plan| job(&kernels, plan.clone(), extent, broken));
                    cases.push((*names, setting, plain, fused));
                }
            }
        }
    }
    let runs: Vec<String> = kernels
        .all
        .borrow()
        .iter()
        .map(|(effect, _)| effect.name.clone())
        .collect();
    assert!(
        runs.contains(&"exposure+tonemap+lut+vignette+film_grain+dither_bayer".to_owned()),
        "{runs:?}"
    );
    assert!(runs.contains(&"exposure+luminance".to_owned()), "{runs:?}");
    let program = kernels.compile();
    let (mut jobs, mut names) = (Vec::new(), Vec::new());
    for (chain, setting, plain, fused) in cases {
        names.push((chain, setting));
        jobs.extend([plain, fused]);
    }
    let images = program.run(&jobs);
    for (((chain, setting), jobs), images) in names.into_iter().zip(jobs.chunks(2)).zip(images.chunks(2)) {
        let extents = jobs[0].extents.display;
        let differ = images[0]
            .iter()
            .zip(&images[1])
            .position(|(plain, fused)| plain.map(half::f16::to_bits) != fused.map(half::f16::to_bits));
        assert_eq!(differ, None, "{chain:?}, {setting:?}, {extents:?}: {images:?}");
        if SMOOTH_CHAINS.contains(&chain) && setting == TestSetting::Default {
            let effects = chain
                .iter()
                .map(|name| &catalogue().by_name(name).expect("an effect").tolerance);
            let tolerance = Tolerance::of_chain(effects);
            let comparison = compare(&reference(&jobs[0]), &images[1], extents[0], &tolerance);
            assert!(comparison.passes(), "{chain:?}, {extents:?}: {:?}", comparison.worst);
        }
    }
}

fn chain(names: &[&str]) -> Chain {
    Chain::with_enabled(catalogue(), names).expect("effects")
}

#[test]
fn runs_end_where_they_must() {
    let kernels = Kernels::default();
    let labels = |names: &[&str]| {
        let plan = kernels.plan(&chain(names));
        let label = |launch: &Launch| launch.label().to_owned();
        plan.launches.iter().map(label).collect::<Vec<_>>()
    };
    // A stencil.
    assert_eq!(
        labels(&["exposure", "sobel", "vignette"]),
        ["exposure", "sobel", "vignette"]
    );
    // What keeps something begins a run, by its last pass.
    assert_eq!(
        labels(&["exposure", "auto_exposure", "tonemap"]),
        [
            "exposure",
            "auto_exposure: count",
            "auto_exposure: gather",
            "auto_exposure: adapt",
            "auto_exposure+tonemap"
        ]
    );
    assert_eq!(labels(&["tonemap"]), ["tonemap"]);
    assert_eq!(labels(&[]), ["copy"]);
    // The images between are needed no more.
    let plan = kernels.plan(&chain(&["exposure", "tonemap", "vignette"]));
    assert!(plan.scratch.is_empty());
    let launch = &plan.launches[0];
    assert_eq!(
        (launch.fused, launch.parameters.len()),
        (Some("exposure+tonemap+vignette"), 20)
    );
    // One read, one write.
    assert_eq!(plan.least_bytes(launch, FrameExtents::same([3, 5])), 2 * 3 * 5 * 8);
}

/// What stands in the header, and what it is replaced by.
const MUTATIONS: &[(&str, &str)] = &[
    (
        "if (at.x + 1 < int(image.extent.x)) return surf2Dread<uint4>(image.surface, at.x * int(texel_size)",
        "if (at.x + 2 < int(image.extent.x)) return surf2Dread<uint4>(image.surface, at.x * int(texel_size)",
    ),
    ("to_halves(second.x, second.y)", "to_halves(first.x, first.y)"),
    ("make_int2(min(at.x + 1, ", "make_int2(min(at.x, "),
    ("blockIdx.y * pointwise_rows + row", "blockIdx.y * pointwise_rows"),
    (
        "blockIdx.x * pointwise_pairs + pair",
        "blockIdx.x * pointwise_pairs + pair + 1",
    ),
    (
        "make_uint4(last.x, last.y, 0u, 0u)",
        "make_uint4(last.y, last.x, 0u, 0u)",
    ),
    (
        "if (covers(pass.destination, at)) store_two",
        "if (covers(pass.destination, at) && at.x < 100) store_two",
    ),
    (
        "surf2Dwrite(make_uint2(words.x, words.y)",
        "surf2Dwrite(make_uint2(words.x, words.x)",
    ),
    ("? words : light_of(words)", "? words : words"),
    ("if constexpr (!is_light) words = light_of(words);", ""),
    ("second ? two.y : two.x", "two.x"),
];

#[test]
fn a_broken_pointwise_loop_is_found_out() {
    // Between them they look at the place, hand on what is below 0, and keep bits.
    let effects = ["copy", "film_grain", "vignette", "exposure", "albedo_view"]
        .map(|name| catalogue().by_name(name).expect("an effect"));
    for (from, to) in MUTATIONS {
        let has = |(_, text): &(&str, &str)| text.contains(from);
        assert!(HEADERS.iter().any(has), "no header has {from:?}");
        let units = effects.map(|effect| Unit {
            effect,
            code: effect.code.clone(),
            included: Vec::new(),
        });
        let program = Program::compile_with(|text| text.replace(from, to), &units);
        let is_noticed = effects.iter().enumerate().any(|(unit, effect)| {
            let jobs = jobs(effect, unit);
            comparisons(effect, &jobs, &program.run(&jobs))
                .iter()
                .any(|comparison| !comparison.passes())
        });
        assert!(is_noticed, "not noticed: {to:?}");
    }
}
