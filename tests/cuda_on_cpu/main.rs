//! The kernels' CUDA sources, compiled for the CPU, against the references, without a GPU. And the check of the check:
//! kernels broken on purpose must be found out.

mod harness;

use half::f16;
use handover::kernels::reference::{FrameParameters, HostImages, HostScratch, MappedImage, run};
use handover::kernels::{
    BrokenPixels, Chain, Comparison, Effect, FrameExtents, Parameter, ParameterType, Plan, Table, TestGuides,
    catalogue, compare, random_image,
};
use harness::{Frame, Job, Program, Unit};
use rayon::prelude::*;
use std::sync::Arc;

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
    ("template", "(color.y - grey)", "(color.x - grey)"),
    ("template", "* parameters.amount, color.w", "* parameters.amount, grey"),
    ("exposure", "exposed.x, exposed.y", "exposed.y, exposed.x"),
    ("exposure", "exposed.z, color.w", "exposed.z, exposed.w"),
    ("exposure", "int(whole)", "int(whole) + 1"),
    ("auto_exposure", "bits >> 12 & 255u", "bits >> 13 & 255u"),
    ("auto_exposure", "parameters.low * texels", "0.0f"),
    ("auto_exposure", "target < stops", "target > stops"),
    ("auto_exposure", "pass.kept_frames > 0u", "pass.kept_frames > 1u"),
    ("auto_exposure", "x += columns", "x += columns / 32"),
    ("canny", "4.0f * sigma + 0.5f", "3.0f * sigma + 0.5f"),
    (
        "canny",
        "is_falling ? m[0][0] : m[0][2]",
        "is_falling ? m[0][2] : m[0][0]",
    ),
    ("canny", "self - width + 1u", "self - width"),
    ("canny", "straight_before * (1.0f - share)", "straight_before * share"),
    ("canny", "magnitude >= parameters.high", "magnitude > 0.0f"),
    ("histogram", "int(encoded * 255.0f + 0.5f)", "int(encoded * 255.0f)"),
    ("histogram", "count(histogram, blue, 512", "count(histogram, blue, 256"),
    ("histogram", "log2f(1.0f + float(most))", "log2f(2.0f + float(most))"),
    ("waveform", "int(luma * 255.0f + 0.5f)", "int(luma * 255.0f)"),
    ("waveform", "right * columns / panel.x", "right"),
    ("waveform", "half_bright = 0.01f", "half_bright = 0.011f"),
    ("outline", "at.y + j * step", "at.y + i * step"),
    (
        "outline",
        "2.0f * here - (disparity(pass, at.x - 1",
        "here - (disparity(pass, at.x - 1",
    ),
    ("outline", "1.0f - (a.x * b.x", "1.0f - (b.x * b.x"),
    ("outline", "0.5f * (parameters.width - 1.0f)", "0.5f * parameters.width"),
    ("depth_of_field", "parameters.focus / depth", "depth / parameters.focus"),
    ("depth_of_field", "fminf(from.w, disc)", "disc"),
    ("depth_of_field", "at.x / tile + i", "at.x / tile"),
    ("depth_of_field", "middle * middle + 1.0f / 12.0f", "middle * middle"),
    ("depth_of_field", "2.0f * cover", "cover"),
    ("depth_view", "1.0f / parameters.near", "1.02f / parameters.near"),
    (
        "depth_view",
        "decoded(green), decoded(blue)",
        "decoded(blue), decoded(green)",
    ),
    (
        "normal_view",
        "shown(normal.x), shown(normal.y)",
        "shown(normal.y), shown(normal.x)",
    ),
    ("normal_view", "normal.z == 0.0f", "normal.z != 0.0f"),
    ("albedo_view", "albedo.y, albedo.z", "albedo.z, albedo.y"),
    ("albedo_view", "load(pass.source, at.x, at.y).w", "albedo.w"),
    ("motion_view", "ramp(index, 25, 11)", "ramp(index, 25, 12)"),
    ("motion_view", "atan2f(back.y, back.x)", "atan2f(back.x, back.y)"),
    ("motion_view", "0.75f * value", "0.7f * value"),
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
    ("easu", "dy * shape.y) * shape.along", "dy * shape.y) * shape.across"),
    ("easu", "bl, el, fl, gl, jl", "bl, el, fl, gl, il"),
    ("easu", "25.0f / 16.0f - 1.0f", "25.0f / 16.0f - 0.9f"),
    ("easu", "0.5f * scale_y - 0.5f", "0.5f * scale_y"),
    ("easu", "least(f.y, g.y, j.y, k.y)", "0.0f"),
    ("enlarge", "(at.x + 0.5f)", "(at.x + 0.0f)"),
    ("enlarge", "ix + 1, iy + 1", "ix, iy + 1"),
    ("tonemap", "6.25f", "6.2f"),
    ("tonemap", "offset, green = color.y - offset", "offset, green = color.y"),
    ("tonemap", "peak - new_peak", "peak"),
    ("reinhard", "parameters.white * parameters.white", "parameters.white"),
    ("reinhard", "fminf(color.y * scale, 1.0f)", "color.y * scale"),
    ("reinhard", "/ (1.0f + level)", "/ (1.0f + color.y)"),
    ("aces", "0.0245786f", "0.0246786f"),
    ("aces", "0.07600f * color.x", "0.02840f * color.x"),
    ("aces", "- 0.07367f * b", "- 0.00605f * b"),
    ("aces_approximation", "2.51f", "2.43f"),
    ("aces_approximation", "+ 0.14f), 1.0f)", "+ 0.14f), 65504.0f)"),
    ("agx", "0.0423282422610123f * color.x", "0.0784335999999992f * color.x"),
    ("agx", "4.026069f", "4.06069f"),
    ("agx", "0.9f, 0.5f, 0.8f", "0.5f, 0.9f, 0.8f"),
    ("agx", "1.35f, 1.4f", "1.35f, 1.3f"),
    ("agx", "2.2f", "2.4f"),
    ("lut", "order(green, blue);", ""),
    ("lut", "third, upper, blue.fraction", "third, upper, green.fraction"),
    (
        "lut",
        "blue.entry * size + green.entry",
        "green.entry * size + blue.entry",
    ),
    ("lut", "size - 2.0f", "size - 3.0f"),
    ("lut", "g.y + (entries", "r.y + (entries"),
    ("lut", "0.04045f", "0.1f"),
    ("lut", "(high - low)", "high"),
    ("reaction_diffusion", "kept_frames > 0", "kept_frames > 1"),
    ("reaction_diffusion", "0.2097152f", "0.2f"),
    ("reaction_diffusion", "(above.y + below.y)", "(above.y + above.y)"),
    (
        "reaction_diffusion",
        "- reaction + parameters.feed",
        "- reaction * here.y + parameters.feed",
    ),
    ("reaction_diffusion", "/ 32, at.y / 32", "/ 32, at.y / 16"),
    ("reaction_diffusion", "from_y - way_y * share", "from_y - way_x * share"),
    (
        "reaction_diffusion",
        "at.y & 1 ? 0.25f : 0.75f",
        "at.y & 1 ? 0.75f : 0.25f",
    ),
    (
        "reaction_diffusion",
        "parameters.refraction * relief.z",
        "parameters.refraction * relief.y",
    ),
    ("reaction_diffusion", "through.z * blue", "through.y * blue"),
    (
        "fluid",
        "(right - left) - (below - above)",
        "(right - left) + (below - above)",
    ),
    ("fluid", "flow.y -= swirl", "flow.y += swirl"),
    ("fluid", "below.y - corner.y, u_across", "right.y - corner.y, u_across"),
    ("fluid", "0.19f * time + 0.3f", "0.19f * time"),
    ("fluid", "stroke, x, y + 0.5f, radius", "stroke, x, y, radius"),
    (
        "fluid",
        "at.y + 1) + through_top(flow, at.x, at.y + 1))",
        "at.y) + through_top(flow, at.x, at.y))",
    ),
    ("fluid", "(y + 0.5f) - step * along", "(y + 0.5f) + step * along"),
    (
        "fluid",
        "(through_left(pass.source, at.x + 1, at.y) - here.x)",
        "(here.x - through_left(pass.source, at.x + 1, at.y))",
    ),
    (
        "fluid",
        "0.25f * ((across + along) - out)",
        "0.25f * ((across + along) + out)",
    ),
    ("fluid", "pressure_kept * here.z", "here.z"),
    (
        "fluid",
        "load_float(pass.source, at.x, at.y - 1).x);\n    u =",
        "load_float(pass.source, at.x, at.y + 1).x);\n    u =",
    ),
    ("fluid", "step * parameters.fade", "step * parameters.drag"),
    ("fluid", "phase + 2.0f / 3.0f", "phase + 1.0f / 3.0f"),
    ("fluid", "1.0f + most", "2.0f + most"),
    (
        "fft_bloom",
        "2 * place < length ? place",
        "2 * place < length ? place + 1",
    ),
    ("fft_bloom", "fminf(color.y, limit)", "color.y"),
    ("fft_bloom", "* 0.25f;\n        }", "* 0.2f;\n        }"),
    ("fft_bloom", "re * y + im * x", "re * y - im * x"),
    ("fft_bloom", "{611.0f, 549.0f, 465.0f}", "{611.0f, 549.0f, 480.0f}"),
    ("fft_bloom", "(near * near * near)", "(near * near)"),
    ("fft_bloom", "a.x * b.y + a.y * b.x", "a.x * b.y - a.y * b.x"),
    ("fft_bloom", "glare[i * plane].x * texels", "glare[0].x * texels"),
    ("fft_bloom", "min(left + 1, across - 1)", "min(left + 1, width - 1)"),
    ("fft_bloom", "light + 2 * plane", "light + plane"),
    ("sobel", "2.0f * (t[1][2]", "1.0f * (t[1][2]"),
    ("sobel", "t[2][0] - t[0][0]", "t[2][0] - t[1][0]"),
    ("sobel", "3.0f - 2.0f * s", "3.0f - s"),
    ("sharpen", "fminf(minimum, 2.0f - maximum)", "minimum"),
    ("sharpen", "h * weight + e", "b * weight + e"),
    ("sharpen", "fmaxf(1.0f, e)", "1.0f"),
    ("vignette", "1.0f - parameters.start", "1.0f"),
    ("vignette", "color.z * factor", "color.z"),
    ("vignette", "float(at.y) + 0.5f", "float(at.y)"),
    ("film_grain", ">> 22", ">> 21"),
    ("film_grain", "unsigned(pass.frame)", "1u"),
    ("film_grain", "mixed(common, green", "mixed(common, red"),
    ("film_grain", "1.0f - colour", "1.0f"),
    ("film_grain", "level * (1.0f - level)", "level"),
    ("luminance", "(grey, grey, grey", "(grey, grey, color.z"),
    (
        "luminance",
        "::luminance(color)",
        "::luminance(make_float4(color.y, color.x, color.z, color.w))",
    ),
    ("false_colour", "0.18f", "0.2f"),
    ("false_colour", "2.82956604f", "2.92956604f"),
    ("false_colour", "110.36276771f", "110.46276771f"),
    ("false_colour", "2.4f", "2.2f"),
    ("zebra", ">= parameters.level", "> parameters.level + 0.5f"),
    ("zebra", "unsigned(at.x) + unsigned(at.y)", "unsigned(at.x)"),
    ("zebra", "pass.time * parameters.speed", "parameters.speed"),
    ("pixelate", "i < end", "i + 1 < end"),
    ("pixelate", "at.x / size, at.y / size", "at.x / size, at.y / size + 1"),
    ("pixelate", "min(first + size, length)", "min(first + size, length + 1)"),
    ("halftone", "sin_15, cos_15, size", "cos_15, sin_15, size"),
    ("halftone", "0.5f * (1.0f - area)", "1.0f - area"),
    ("halftone", "y * cosine - x * sine", "y * cosine + x * sine"),
    ("halftone", "texels + 1.0f", "texels"),
    ("ascii", "tone * 16.0f", "tone * 15.0f"),
    ("ascii", "0x00003f00003f0000", "0x00003e00003f0000"),
    (
        "ascii",
        "at.y % cell * cell + at.x % cell",
        "at.x % cell * cell + at.y % cell",
    ),
    ("ascii", "x < right", "x + 1 < right"),
    ("crt", "line == 0 ? 2 : 1", "line == 0 ? 1 : 2"),
    ("crt", "float(tap) - off", "float(tap) + off"),
    ("crt", "/ 24.0f", "/ 32.0f"),
    ("crt", "at.x % 3", "at.x % 4"),
    ("kuwahara", "variance < least", "variance > least"),
    ("kuwahara", "x <= left + radius", "x < left + radius"),
    ("kuwahara", "square / 2 == 0", "square / 2 == 1"),
    ("kuwahara", "mean * mean", "mean"),
    ("dither_bayer", "unsigned(at.x ^ at.y)", "unsigned(at.x)"),
    ("dither_bayer", "2.4f", "2.2f"),
    ("dither_bayer", "(rank(at)) + 0.5f", "(rank(at))"),
    ("dither_bayer", "step < 3", "step < 1"),
    (
        "dither_blue_noise",
        "at.y % 64 * 64 + at.x % 64",
        "at.x % 64 * 64 + at.y % 64",
    ),
    ("dither_blue_noise", "* highest + threshold", "* highest + 0.5f"),
    (
        "dither_blue_noise",
        "1.055f * (sqrtf(root) * cube_root)",
        "1.055f * cube_root",
    ),
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
            let found = comparisons(effect, jobs, &program.run(jobs));
            found.iter().all(Comparison::passes)
        };
        if jobs(effect, unit).chunks(10).all(passes) {
            unnoticed.push(label.as_str());
        }
    }
    assert!(unnoticed.is_empty(), "not noticed: {unnoticed:#?}");
}
