//! The kernels' CUDA sources, compiled for the CPU, against the references, without a GPU. And the check of the check:
//! kernels broken on purpose must be found out.

mod harness;

use half::f16;
use handover::kernels::reference::{FrameParameters, HostImages, HostScratch, MappedImage, run};
use handover::kernels::{
    BrokenPixels, Chain, Comparison, Effect, FrameExtents, Parameter, ParameterType, TestGuides, catalogue, compare,
    random_image,
};
use harness::{Frame, Job, Program, Unit};
use rayon::prelude::*;

const EXTENTS: [[u32; 2]; 5] = [[1, 1], [17, 31], [64, 48], [1, 40], [35, 2]];

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
        let plan = chain.plan();
        let frames = if plan.states.is_empty() { 1 } else { 3 };
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
                jobs.push(Job {
                    unit,
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

/// (effect, what stands in its source, what it is replaced by).
const MUTATIONS: &[(&str, &str, &str)] = &[
    (
        "copy",
        "load_bits(pass.source, at)",
        "to_half(to_float(load_bits(pass.source, make_int2(at.x, at.y / 2 * 2))))",
    ),
    ("complement", "1.0f - value.w", "value.w"),
    ("exposure", "exposed.x, exposed.y", "exposed.y, exposed.x"),
    ("exposure", "exposed.z, color.w", "exposed.z, exposed.w"),
    ("exposure", "int(whole)", "int(whole) + 1"),
    ("gaussian", "before + after", "before + after * 0.0f"),
    ("gaussian", "i <= int(parameters.radius)", "i < int(parameters.radius)"),
    ("gaussian", "make_int2(0, 1)", "make_int2(1, 0)"),
    ("gaussian", "total += 2.0f * weight", "total += 1.99f * weight"),
    ("bloom", "i < 6; ++i", "i < 5; ++i"),
    ("bloom", "i > 0 && i < 5", "i > 0 && i < 4"),
    ("bloom", "7.0f / 16.0f, 3.0f / 16.0f", "6.0f / 16.0f, 4.0f / 16.0f"),
    ("bloom", "fminf(texel.x, limit)", "texel.x"),
    ("bloom", "(4.0f * knee)", "(3.0f * knee)"),
    ("bloom", "- 2 + odd_y", "- 1 + odd_y"),
    ("chromatic_aberration", "-dx * scale", "dx * scale"),
    ("chromatic_aberration", "color.y, blue", "blue, color.y"),
    ("chromatic_aberration", "upper * (1.0f - ty)", "upper * ty"),
    ("tonemap", "6.25f", "6.2f"),
    ("tonemap", "offset, green = color.y - offset", "offset, green = color.y"),
    ("tonemap", "peak - new_peak", "peak"),
    ("sobel", "2.0f * (t[1][2]", "1.0f * (t[1][2]"),
    ("sobel", "t[2][0] - t[0][0]", "t[2][0] - t[1][0]"),
    ("sobel", "3.0f - 2.0f * s", "3.0f - s"),
    ("sharpen", "fminf(minimum, 2.0f - maximum)", "minimum"),
    ("sharpen", "h * weight + e", "b * weight + e"),
    ("sharpen", "fmaxf(1.0f, e)", "1.0f"),
    ("atrous", "1.0f / 4.0f : 1.0f / 16.0f", "1.0f / 4.0f : 1.0f / 15.0f"),
    ("atrous", "i <= 2; ++i", "i < 2; ++i"),
    ("atrous", "1 << pass.index", "2 * int(pass.index) + 1"),
    ("atrous", "sigma_color / float(step)", "sigma_color"),
    ("atrous", "max(i * i + j * j, 1)", "max(abs(i) + abs(j), 1)"),
    ("atrous", "color.z / albedo.z", "color.z / albedo.y"),
    ("svgf", "1.0f / 4.0f : 1.0f / 16.0f", "1.0f / 4.0f : 1.0f / 15.0f"),
    ("svgf", "k < 7; ++k", "k < 6; ++k"),
    (
        "svgf",
        "k % 2 ? across : 1.0f - across",
        "k % 2 ? 1.0f - across : across",
    ),
    ("svgf", "depth_share = 0.05f", "depth_share = 0.5f"),
    ("svgf", "normal_chord2 = 0.2f", "normal_chord2 = 2.0f"),
    ("svgf", "k < 9; ++k) add(", "k < 8; ++k) add("),
    ("svgf", "tap.w * weight)", "tap.w)"),
    ("svgf", "(short_history / frames)", "1.0f"),
    ("svgf", "history.moments.z * share + 1.0f", "history.moments.z * share"),
    ("svgf", "0.25f, 0.5f, 0.25f", "0.25f, 0.25f, 0.5f"),
    ("motion_blur", "float(reach)) / length", "2.0f * float(reach)) / length"),
    ("motion_blur", "part * at.y + k / part", "at.y + k / part"),
    ("motion_blur", "at.x - 1, at.y - 1, 3", "at.x - 1, at.y - 1, 2"),
    (
        "motion_blur",
        "const int side = reach / part",
        "const int side = reach / part - 1",
    ),
    ("motion_blur", "cone(distance, tap_way)", "cone(distance, way)"),
    ("motion_blur", "in_front(tap_depth, depth", "in_front(depth, tap_depth"),
    ("motion_blur", "0.95f * way", "0.9f * way"),
    ("motion_blur", "float total = 1.0f / way", "float total = 1.0f"),
    ("motion_blur", "0.00583715f", "0.00583f"),
    ("optical_flow", "steps = 5", "steps = 4"),
    ("optical_flow", "2.0f * coarser.x", "coarser.x"),
    ("optical_flow", "upper * (1.0f - down)", "upper * down"),
    (
        "optical_flow",
        "(xx - yy) * (xx - yy) + 4.0f",
        "(xx - yy) * (xx - yy) + 2.0f",
    ),
    ("optical_flow", "0.25f, 0.5f, 0.25f", "0.25f, 0.25f, 0.5f"),
    ("optical_flow", "? 11.0f", "? 12.0f"),
    ("optical_flow", "% 55", "% 54"),
    ("taa", "other < depth", "other > depth"),
    ("taa", "float(at.y) + motion.y", "float(at.y) - motion.y"),
    ("taa", "int(left) + 2, row", "int(left) + 1, row"),
    ("taa", "1.5f * t - 2.5f", "1.5f * t - 2.4f"),
    (
        "taa",
        "k < 9; ++k) {\n        float4 away",
        "k < 8; ++k) {\n        float4 away",
    ),
    ("taa", "fabsf(away.z) / ", "0.0f * "),
    (
        "taa",
        "parameters.anti_flicker * now.x",
        "parameters.anti_flicker * clipped.x",
    ),
    ("vignette", ">> 22", ">> 21"),
    ("vignette", "unsigned(pass.frame)", "1u"),
    ("vignette", "dimmed.z + grain", "dimmed.z"),
];

#[test]
fn a_broken_kernel_is_found_out() {
    let mut units = Vec::new();
    let mut labels = Vec::new();
    for (name, from, to) in MUTATIONS {
        let effect = catalogue().by_name(name).expect("an effect");
        assert!(effect.code.contains(from), "{name}.cu has no {from:?}");
        units.push(Unit {
            effect,
            code: effect.code.replace(from, to),
        });
        labels.push(format!("{name}: {to}"));
    }
    for effect in catalogue().effects() {
        // The last row and the last column are left out.
        for extent in [
            "at.y + 1 < int(pass.destination.extent.y)",
            "at.x + 1 < int(pass.destination.extent.x)",
        ] {
            let guard = format!("if (!covers(pass.destination, at) || !({extent})) return;");
            let code = effect
                .code
                .replace("if (!covers(pass.destination, at)) return;", &guard);
            assert_ne!(code, effect.code);
            units.push(Unit { effect, code });
            labels.push(format!("{}: {extent}", effect.name));
        }
    }
    let program = Program::compile(&units);
    let mut unnoticed = Vec::new();
    for (unit, label) in labels.iter().enumerate() {
        let effect = units[unit].effect;
        let jobs = jobs(effect, unit);
        let found = comparisons(effect, &jobs, &program.run(&jobs));
        if found.iter().all(Comparison::passes) {
            unnoticed.push(label.as_str());
        }
    }
    assert!(unnoticed.is_empty(), "not noticed: {unnoticed:#?}");
}
