//! The kernels' CUDA sources, compiled for the CPU, against the references, without a GPU. And the check of the check:
//! kernels broken on purpose must be found out.

mod harness;

use half::f16;
use handover::kernels::reference::{FrameParameters, HostImages, HostScratch, MappedImage, run};
use handover::kernels::{
    BrokenPixels, Chain, Comparison, Effect, Parameter, ParameterType, catalogue, compare, random_image,
};
use harness::{Job, Program, Unit};

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
        for extent in EXTENTS {
            for broken in [BrokenPixels::Absent, BrokenPixels::Present] {
                let frame = jobs.len() as u32 + 1;
                let color = random_image(u64::from(frame), extent, broken);
                jobs.push(Job {
                    unit,
                    plan: chain.plan(),
                    extent,
                    color,
                    frame,
                });
            }
        }
    }
    jobs
}

fn reference(job: &Job) -> Vec<[f16; 4]> {
    let mut processed = vec![[f16::ZERO; 4]; job.color.len()];
    let pitch = job.extent[0] as usize * 8;
    let mut scratch = HostScratch::default();
    let color = MappedImage {
        bytes: bytemuck::cast_slice(&job.color),
        pitch,
    };
    let out = (bytemuck::cast_slice_mut(&mut processed), pitch);
    let mut images = HostImages::new(job.extent, color, out, &mut scratch).expect("images fit");
    let frame = FrameParameters {
        frame: u64::from(job.frame),
        ..Default::default()
    };
    run(&job.plan, &mut images, &frame).expect("has a reference");
    processed
}

/// Compares each job's image with the reference's.
fn comparisons(effect: &Effect, jobs: &[Job], images: &[Vec<[f16; 4]>]) -> Vec<Comparison> {
    let compare_one =
        |(job, image): (&Job, &Vec<[f16; 4]>)| compare(&reference(job), image, job.extent[0], &effect.tolerance);
    jobs.iter().zip(images).map(compare_one).collect()
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
        let comparisons = comparisons(effect, &jobs, &program.run(catalogue(), &jobs));
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
            let [width, height] = job.extent;
            failures.push(format!(
                "{} {settings}{width}x{height} frame {}: {} channels, {worst}",
                effect.name, job.frame, comparison.failures
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
    ("box", "i <= radius; ++i", "i < radius; ++i"),
    ("box", "make_int2(0, 1)", "make_int2(1, 0)"),
    ("box", "float(2 * radius + 1)", "float(2 * radius + 2)"),
    ("dual_filter", "i == 1 || i == 2", "i == 1 || i == 3"),
    ("dual_filter", "1.0f, 3.0f, 1.0f, 3.0f", "3.0f, 1.0f, 1.0f, 3.0f"),
    ("dual_filter", "odd_x ? 3 - i : i", "i"),
    ("dual_filter", "2.0f * halves[i]", "1.9f * halves[i]"),
    ("fxaa", "k < 11", "k < 10"),
    ("fxaa", "8.5f, 10.5f", "8.0f, 10.5f"),
    ("fxaa", "horizontal >= vertical", "horizontal < vertical"),
    ("fxaa", "0.25f * fmaxf", "0.3f * fmaxf"),
    ("fxaa", "middle - edge_luma < 0.0f", "middle - edge_luma > 0.0f"),
    ("fxaa", "(2.0f * cross + corners)", "(cross + 2.0f * corners)"),
    ("median", "k % 3 - 1", "k % 3"),
    ("median", "middle(middle(a, b, c)", "middle(largest(a, b, c)"),
    ("median", "t[7].z, t[8].z), t[4].w", "t[7].z, t[8].z), t[3].w"),
    ("rcas", "-0.1875f", "-0.2f"),
    ("rcas", "4.0f * lobe + 1.0f", "4.1f * lobe + 1.0f"),
    ("rcas", "fminf(smallest, center)", "smallest"),
    (
        "rcas",
        "0.25f * (above + left + right + below)",
        "0.25f * (above + left + right + left)",
    ),
    ("rcas", "channel_lobe(b.z, d.z, e.z", "channel_lobe(b.y, d.y, e.y"),
    ("rcas", "brightest > 1.0f", "brightest > 2.0f"),
    ("unsharp", "difference < 0.0f ? -excess", "difference < 0.0f ? excess"),
    ("unsharp", "- parameters.threshold", "- 0.5f * parameters.threshold"),
    ("unsharp", "make_int2(0, 1)", "make_int2(1, 0)"),
    ("unsharp", "fminf(color.y, 1.0f)", "color.y"),
    ("unsharp", "fmaxf(1.0f, value)", "1.0f"),
    ("bilateral", "i <= radius", "i < radius"),
    ("bilateral", "green * green + blue * blue", "green * green + blue"),
    ("bilateral", "i * i + j * j", "i * i"),
    ("nlm", "dx <= reach", "dx < reach"),
    ("nlm", "0.244201342f", "0.264201342f"),
    ("nlm", "at.y + dy + j)", "at.y + dy)"),
    ("nlm", "x > search + patch", "x > search"),
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
        // Most faults show at once.
        let passes = |jobs: &[Job]| {
            let found = comparisons(effect, jobs, &program.run(catalogue(), jobs));
            found.iter().all(Comparison::passes)
        };
        if jobs(effect, unit).chunks(10).all(passes) {
            unnoticed.push(label.as_str());
        }
    }
    assert!(unnoticed.is_empty(), "not noticed: {unnoticed:#?}");
}
