//! The self-test of the kernels: each against its reference on the CPU.

use half::f16;

use crate::kernels::reference::{self, FrameParameters, HostImages, HostScratch, MappedImage};
use crate::kernels::{
    BrokenPixels, Chain, Effect, FrameExtents, Mismatch, Plan, TestGuides, catalogue, compare, random_image,
};
use crate::live::Fuse;

use super::fused_test;
use super::kernel_once::Once;
use super::options::SelftestOptions;
use super::selftest::Outcome::{self, Failed, Passed, Skipped};
use super::setup::Machine;
use super::usage;

/// The extents of what is shown. The largest, with both sides odd, is run with broken pixels alone.
const EXTENTS: [[u32; 2]; 4] = [[1, 1], [17, 31], [1280, 720], LARGEST];
pub(super) const LARGEST: [u32; 2] = [3841, 2161];

/// Frames of an effect that keeps something from one to the next.
pub(super) const FRAMES: u64 = 3;

/// One frame to be made by both.
pub(super) struct Given {
    pub color: Vec<[f16; 4]>,
    pub guides: TestGuides,
    pub frame: FrameParameters,
}

/// The effects of these names (all, if there are none), each alone, at its lowest, default and highest parameters, over random
/// images with broken pixels; then, with `--fuse auto`, chains whose neighbours are one launch.
pub(super) fn run(machine: &Machine, options: &SelftestOptions) -> anyhow::Result<Outcome> {
    let SelftestOptions {
        kernels: names, fuse, ..
    } = options;
    let extents = match options.without_largest {
        true => &EXTENTS[..EXTENTS.len() - 1],
        false => &EXTENTS,
    };
    let mut effects = Vec::new();
    for name in names {
        effects.push(catalogue().by_name(name).map_err(usage)?);
    }
    if effects.is_empty() {
        effects.extend(catalogue().effects());
    }
    let Some(mut once) = Once::new(machine)? else {
        return Ok(Skipped(
            "the host runs the references themselves: there is nothing to compare".into(),
        ));
    };
    let (mut untested, mut failures) = (Vec::new(), Vec::new());
    effects.retain(|effect| {
        let Some(reason) = once.refuses(effect) else {
            return true;
        };
        let text = format!("{:<21} is not tested: {reason}", effect.name);
        // Everything else must run.
        let of_whom = if effect.transforms() {
            &mut untested
        } else {
            &mut failures
        };
        of_whom.push(text);
        false
    });
    let mut worst = vec![0; effects.len()];
    let mut runs = 0;
    for &display in extents {
        for broken in [BrokenPixels::Absent, BrokenPixels::Present] {
            if display == LARGEST && broken == BrokenPixels::Absent {
                continue;
            }
            for upscales in [false, true] {
                let extents = FrameExtents {
                    scene: if upscales { display.map(two_thirds) } else { display },
                    display,
                };
                let chosen = |effect: &Effect| effect.upscales == upscales;
                if !effects.iter().any(|effect| chosen(effect)) {
                    continue;
                }
                let given: Vec<Given> = (0..FRAMES).map(|frame| given(frame, extents, broken)).collect();
                for (effect, worst) in effects.iter().zip(&mut worst).filter(|(effect, _)| chosen(effect)) {
                    let mut before = None;
                    for (setting, plan) in plans_of(effect)? {
                        let frames = if plan.states.is_empty() { 1 } else { given.len() };
                        let outcome = compare_frames(&mut once, effect, &plan, &given[..frames], extents)?;
                        runs += frames;
                        // What was made with the parameters before is there still.
                        if let Some(before) = before.replace(plan.clone()).filter(|_| effect.once().next().is_some()) {
                            let channels = changed_channels(&mut once, [&before, &plan], &given[0], extents)?;
                            runs += 1;
                            if channels > 0 {
                                let [width, height] = display;
                                failures.push(format!(
                                    "{} ({setting} parameters after others, {width}x{height}, broken pixels {broken:?}): {channels} \
                                     channels are not those of a chain that began with them",
                                    effect.name
                                ));
                            }
                        }
                        *worst = outcome.worst_ulps.max(*worst);
                        if outcome.not_as_cuda > 0 {
                            let ([width, height], count) = (display, outcome.not_as_cuda);
                            failures.push(format!(
                                "{} ({setting} parameters, {width}x{height}, broken pixels {broken:?}): {count} channels are not \
                                 what CUDA writes",
                                effect.name
                            ));
                        }
                        if let Some((frame, count, mismatch)) = outcome.failure {
                            let [width, height] = display;
                            failures.push(format!(
                                "{} ({setting} parameters, {width}x{height}, broken pixels {broken:?}, frame {frame}): \
                                 {count} channels differ; {mismatch}",
                                effect.name
                            ));
                        }
                    }
                }
            }
        }
    }
    let mut lines: Vec<String> = effects
        .iter()
        .zip(worst)
        .map(|(effect, worst)| {
            format!(
                "{:<21} at most {worst} ulps off; allowed {}",
                effect.name,
                allowed(effect)
            )
        })
        .collect();
    if *fuse == Fuse::Auto {
        let capability = machine
            .cuda
            .as_ref()
            .map_or((7, 5), |(_, cuda)| cuda.compute_capability);
        let mut fused = fused_test::run(&mut once, capability, names, extents)?;
        lines.append(&mut fused.lines);
        failures.append(&mut fused.failures);
    }
    let has_failed = !failures.is_empty();
    lines.append(&mut untested);
    lines.append(&mut failures);
    let text = format!("{runs} comparisons with the references\n{}", lines.join("\n"));
    Ok(if has_failed { Failed(text) } else { Passed(text) })
}

fn two_thirds(length: u32) -> u32 {
    (2 * length).div_ceil(3)
}

pub(super) fn given(frame: u64, extents: FrameExtents, broken: BrokenPixels) -> Given {
    Given {
        color: random_image(frame, extents.scene, broken),
        guides: TestGuides::random(frame, extents.scene),
        frame: FrameParameters {
            frame: 7 + frame,
            time: 1.5 + 0.02 * frame as f32,
            time_delta: 0.02,
            pointer: [3.0 + frame as f32, 4.0],
            previous_pointer: [2.0 + frame as f32, 4.0],
            jitter: [0.25, -0.125 * frame as f32],
        },
    }
}

struct FramesCompared {
    worst_ulps: u32,
    /// Channels that are not what the same kernels wrote on CUDA.
    not_as_cuda: usize,
    /// The first frame that differs, how many of its channels, and the worst.
    failure: Option<(usize, usize, Mismatch)>,
}

/// Frame after frame, each processor from what it kept itself.
fn compare_frames(
    once: &mut Once,
    effect: &Effect,
    plan: &Plan,
    given: &[Given],
    extents: FrameExtents,
) -> anyhow::Result<FramesCompared> {
    let mut scratch = HostScratch::default();
    let mut compared = FramesCompared {
        worst_ulps: 0,
        not_as_cuda: 0,
        failure: None,
    };
    once.forget();
    for (number, given) in given.iter().enumerate() {
        let written = once.run(plan, &given.color, &given.guides, extents, &given.frame)?;
        let expected = reference_of(plan, given, extents, &mut scratch)?;
        let comparison = compare(&expected, &written.texels, extents.display[0], &effect.tolerance);
        compared.not_as_cuda += written.not_as_cuda;
        let finite = comparison.worst.filter(|worst| worst.ulps != u32::MAX);
        compared.worst_ulps = compared.worst_ulps.max(finite.map_or(0, |worst| worst.ulps));
        if let (Some(mismatch), None) = (comparison.worst.filter(|_| !comparison.passes()), &compared.failure) {
            compared.failure = Some((number, comparison.failures, mismatch));
        }
    }
    Ok(compared)
}

/// Channels of the second plan's frame behind two of the first one's that are not, bit for bit, those of its frame alone.
fn changed_channels(
    once: &mut Once,
    [before, plan]: [&Plan; 2],
    given: &Given,
    extents: FrameExtents,
) -> anyhow::Result<usize> {
    let run = |once: &mut Once, plan: &Plan| once.run(plan, &given.color, &given.guides, extents, &given.frame);
    once.forget();
    run(once, before)?;
    run(once, before)?;
    let behind = run(once, plan)?;
    once.forget();
    let alone = run(once, plan)?;
    let channels = behind.texels.as_flattened().iter().zip(alone.texels.as_flattened());
    let differ = channels.filter(|(behind, alone)| behind.to_bits() != alone.to_bits());
    Ok(differ.count())
}

fn allowed(effect: &Effect) -> String {
    let tolerance = &effect.tolerance;
    let mut parts = vec![format!("{} ulps", tolerance.ulps)];
    if tolerance.absolute > 0.0 {
        parts.push(format!("{} absolute", tolerance.absolute));
    }
    if tolerance.relative > 0.0 {
        parts.push(format!("{} relative", tolerance.relative));
    }
    parts.join(" or ")
}

/// The plans of one effect with all parameters at their lowest, default and highest.
fn plans_of(effect: &Effect) -> anyhow::Result<Vec<(&'static str, Plan)>> {
    let mut plans = Vec::new();
    for setting in ["lowest", "default", "highest"] {
        let mut chain = Chain::with_enabled(catalogue(), &[effect.name.as_str()])?;
        for parameter in &effect.parameters {
            let value = match setting {
                "lowest" => parameter.minimum,
                "highest" => parameter.maximum,
                _ => parameter.default,
            };
            chain.set(&format!("{}.{}", effect.name, parameter.name), value)?;
        }
        plans.push((setting, chain.plan()));
    }
    Ok(plans)
}

pub(super) fn reference_of(
    plan: &Plan,
    given: &Given,
    extents: FrameExtents,
    scratch: &mut HostScratch,
) -> anyhow::Result<Vec<[f16; 4]>> {
    let [width, height] = extents.display.map(|length| length as usize);
    let mut output = vec![[f16::ZERO; 4]; width * height];
    let color = MappedImage {
        bytes: bytemuck::cast_slice(&given.color),
        pitch: extents.scene[0] as usize * 8,
    };
    let processed = (bytemuck::cast_slice_mut(&mut output), width * 8);
    let mut images = HostImages::new(extents, color, processed, scratch)?.with_guides(given.guides.host());
    reference::run(plan, &mut images, &given.frame)?;
    Ok(output)
}
