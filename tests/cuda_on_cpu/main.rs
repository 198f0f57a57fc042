//! The kernels' CUDA sources, compiled for the CPU, against the references, without a GPU. And the check of the check:
//! kernels broken on purpose must be found out.

mod cooperation;
mod fused;
mod harness;
mod mutations;
mod mutations_over_time;
mod screen;

use half::f16;
use handover::kernels::reference::{FrameParameters, HostImages, HostScratch, MappedImage, run};
use handover::kernels::{
    BrokenPixels, Chain, Comparison, Effect, FrameExtents, HEADERS, Parameter, ParameterType, PassDescription, Plan,
    Table, TestGuides, catalogue, compare, random_image,
};
use harness::{Frame, Job, Program, Unit};
use mutations::MUTATIONS;
use mutations_over_time::OVER_TIME;
use rayon::prelude::*;
use std::sync::Arc;

const EXTENTS: [[u32; 2]; 7] = [[1, 1], [17, 31], [64, 48], [1, 40], [35, 2], [131, 9], [134, 50]];

/// Values of all parameters: the defaults, all at their ends, and each alone at its ends and in between.
fn settings(effect: &Effect) -> Vec<Vec<f64>> {
    let values = |of: fn(&Parameter) -> f64| effect.parameters.iter().map(of).collect::<Vec<f64>>();
    let defaults = values(|parameter| parameter.default);
    let mut all = vec![defaults.clone()];
    if effect.parameters.is_empty() {
        return all;
    }
    all.extend([
        values(|parameter| parameter.minimum),
        values(|parameter| parameter.maximum),
    ]);
    for (index, parameter) in effect.parameters.iter().enumerate() {
        let middle = (parameter.minimum + parameter.maximum) / 2.0;
        let whole = parameter.parameter_type != ParameterType::F32;
        for value in [
            parameter.minimum,
            if whole { middle.floor() } else { middle },
            parameter.maximum,
        ] {
            let mut one = defaults.clone();
            one[index] = value;
            all.push(one);
        }
    }
    all
}

/// The chain's plan; of an effect with a table, also with tables of other sizes, dimensions and domains.
fn plans(chain: &mut Chain, effect: &Effect) -> Vec<Plan> {
    let mut plans = vec![chain.plan()];
    if effect.table().is_some() {
        let index = chain.active()[0];
        for (size, dimensions, seed) in [(5u32, 3, 1), (9, 1, 2)] {
            let count = size.pow(dimensions);
            let mut texels = vec![
                [size as f32, dimensions as f32, 0.0, 0.0],
                [-0.25, 0.0, 0.125, 0.0],
                [1.0, 2.0, 0.875, 0.0],
            ];
            let entries = random_image(seed, [count, 1], BrokenPixels::Absent);
            let entry = |texel: &[f16; 4]| texel.map(|value| 1.5 * value.to_f32().min(1.0) - 0.25);
            texels.extend(entries.iter().map(entry));
            chain.set_table(index, Arc::new(Table::new(texels, None)));
            plans.push(chain.plan());
        }
    }
    plans
}

/// What is computed for an effect: every setting at every extent, with and without broken pixels.
fn jobs(effect: &Effect, unit: usize) -> Vec<Job> {
    let mut jobs = Vec::new();
    for values in settings(effect) {
        let mut chain = Chain::with_enabled(catalogue(), &[&effect.name]).expect("an effect");
        for (parameter, value) in effect.parameters.iter().zip(values) {
            chain
                .set(&format!("{}.{}", effect.name, parameter.name), value)
                .expect("in range");
        }
        let plans = plans(&mut chain, effect);
        let frames = if plans[0].states.is_empty() { 1 } else { 3 };
        for display in EXTENTS {
            let scene = display.map(|length| {
                if effect.upscales {
                    (2 * length).div_ceil(3)
                } else {
                    length
                }
            });
            for broken in [BrokenPixels::Absent, BrokenPixels::Present] {
                let first = jobs.len() as u64 + 1;
                let frames = (first..first + frames).map(|frame| Frame {
                    color: random_image(frame, scene, broken),
                    guides: TestGuides::random(frame, scene),
                    parameters: parameters(frame),
                });
                // The program's table, if there is one, and others in turn.
                let plan = &plans[jobs.len() / 2 % plans.len()];
                jobs.push(Job {
                    units: vec![unit; plan.launches.len()],
                    plan: plan.clone(),
                    extents: FrameExtents { scene, display },
                    frames: frames.collect(),
                });
            }
        }
    }
    jobs
}

fn parameters(frame: u64) -> FrameParameters {
    let place = frame as f32;
    FrameParameters {
        frame,
        time: 0.25 * place,
        time_delta: 1.0 / 64.0,
        pointer: [place % 19.0, place % 7.0],
        previous_pointer: [(place - 1.0) % 19.0, (place - 1.0) % 7.0],
        jitter: [0.25, -0.375],
    }
}

/// The last frame's image.
fn reference(job: &Job) -> Vec<[f16; 4]> {
    let [width, height] = job.extents.display.map(|length| length as usize);
    let mut processed = vec![[f16::ZERO; 4]; width * height];
    let mut scratch = HostScratch::default();
    for frame in &job.frames {
        let color = MappedImage {
            bytes: bytemuck::cast_slice(&frame.color),
            pitch: job.extents.scene[0] as usize * 8,
        };
        let out = (bytemuck::cast_slice_mut(&mut processed), width * 8);
        let images = HostImages::new(job.extents, color, out, &mut scratch).expect("images fit");
        let mut images = images.with_guides(frame.guides.host());
        run(&job.plan, &mut images, &frame.parameters).expect("has a reference");
    }
    processed
}

/// Compares each job's image with the reference's.
fn comparisons(effect: &Effect, jobs: &[Job], images: &[Vec<[f16; 4]>]) -> Vec<Comparison> {
    let compare_one = |(job, image): (&Job, &Vec<[f16; 4]>)| {
        compare(&reference(job), image, job.extents.display[0], &effect.tolerance)
    };
    jobs.par_iter().zip(images).map(compare_one).collect()
}

#[test]
fn every_kernel_equals_its_reference() {
    let effects = catalogue().effects();
    let units: Vec<Unit> = effects
        .iter()
        .map(|effect| Unit {
            effect,
            code: effect.code.clone(),
            included: Vec::new(),
        })
        .collect();
    let program = Program::compile(&units);
    let mut failures = Vec::new();
    for (unit, effect) in effects.iter().enumerate() {
        let jobs = jobs(effect, unit);
        let comparisons = comparisons(effect, &jobs, &program.run(&jobs));
        let allowed = comparisons
            .iter()
            .filter_map(|comparison| comparison.worst)
            .filter(|worst| worst.allowed);
        println!(
            "{}: {} images, at most {} ulps",
            effect.name,
            jobs.len(),
            allowed.map(|worst| worst.ulps).max().unwrap_or(0)
        );
        for (job, comparison) in jobs
            .iter()
            .zip(&comparisons)
            .filter(|(_, comparison)| !comparison.passes())
        {
            let worst = comparison.worst.expect("a failure has a worst texel");
            let settings = effect.parameters.iter().map(|parameter| {
                let value = effect
                    .get(&job.plan.launches[0].parameters, &parameter.name)
                    .expect("a parameter");
                format!("{}={value} ", parameter.name)
            });
            let settings: String = settings.collect();
            let [width, height] = job.extents.display;
            failures.push(format!(
                "{} {settings}{width}x{height} frame {}: {} channels, {worst}",
                effect.name, job.frames[0].parameters.frame, comparison.failures
            ));
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures, among them\n{}",
        failures.len(),
        failures[..failures.len().min(40)].join("\n")
    );
}

#[test]
fn a_broken_kernel_is_found_out() {
    let mut units = Vec::new();
    let mut labels = Vec::new();
    for (name, from, to) in MUTATIONS.iter().chain(OVER_TIME) {
        let effect = catalogue().by_name(name).expect("an effect");
        let code = with_headers(&effect.code);
        assert!(code.contains(from), "{name}.cu has no {from:?}");
        units.push(Unit {
            effect,
            code: code.replace(from, to),
            included: Vec::new(),
        });
        labels.push(format!("{name}: {to}"));
    }
    // Of pointwise passes the header keeps to the extent.
    let keeps_to_extent = |effect: &&Arc<Effect>| {
        let writes = |pass: &&PassDescription| pass.destination.is_some();
        !effect.passes.iter().filter(writes).all(|pass| pass.pointwise)
    };
    for effect in catalogue().effects().iter().filter(keeps_to_extent) {
        for side in SIDES {
            let code = without_last(&side, &with_headers(&effect.code));
            units.push(Unit {
                effect,
                code,
                included: Vec::new(),
            });
            labels.push(format!("{}: the last of {}", effect.name, side.name));
        }
    }
    let program = Program::compile(&units);
    let mut unnoticed = Vec::new();
    for (unit, label) in labels.iter().enumerate() {
        let effect = units[unit].effect;
        // Most faults show at once.
        let passes = |jobs: &[Job]| {
            let found = comparisons(effect, jobs, &program.run(jobs));
            found.iter().all(Comparison::passes)
        };
        if jobs(effect, unit).chunks(10).all(passes) {
            unnoticed.push(label.as_str());
        }
    }
    assert!(unnoticed.is_empty(), "not noticed: {unnoticed:#?}");
}

/// The code with what it shares with a few others in it: a fault may be there as well.
fn with_headers(code: &str) -> String {
    let shared = HEADERS.iter().filter(|(name, _)| *name != "handover.cuh");
    shared.fold(code.to_owned(), |code, (name, text)| {
        code.replace(&format!("#include \"{name}\""), text)
    })
}

/// Rows or columns, of which the last is left out: whether a texel is before it, and whether a write of bytes is.
struct Side {
    name: &'static str,
    texel: &'static str,
    bytes: &'static str,
}

const SIDES: [Side; 2] = [
    Side {
        name: "rows",
        texel: "(at).y + 1 < int((image).extent.y)",
        bytes: "(y) + 1 < reinterpret_cast<Surface*>(surface)->height",
    },
    Side {
        name: "columns",
        texel: "(at).x + 1 < int((image).extent.x)",
        bytes: "(x) + int(sizeof(value)) < reinterpret_cast<Surface*>(surface)->width * \
                reinterpret_cast<Surface*>(surface)->texel_bytes",
    },
];

/// The code with a fault: most kernels return where a thread has no texel; of others every write is looked at.
fn without_last(Side { texel, bytes, .. }: &Side, code: &str) -> String {
    const GUARD: &str = "if (!covers(pass.destination, at)) return;";
    if code.contains(GUARD) {
        let condition = texel.replace("(image)", "pass.destination");
        return code.replace(
            GUARD,
            &format!("if (!covers(pass.destination, at) || !({condition})) return;"),
        );
    }
    format!(
        "#define store(image, at, ...) (({texel}) ? store(image, at, __VA_ARGS__) : void())\n\
         #define store_bits(image, at, ...) (({texel}) ? store_bits(image, at, __VA_ARGS__) : void())\n\
         #define surf2Dwrite(value, surface, x, y) (({bytes}) ? surf2Dwrite(value, surface, x, y) : void())\n\
         {code}\n#undef store\n#undef store_bits\n#undef surf2Dwrite\n"
    )
}
