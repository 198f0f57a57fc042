//! The self-test of the kernels: each against its reference on the CPU.

use crate::kernels::reference::{self, FrameParameters, HostImages, HostScratch, MappedImage};
use crate::kernels::{BrokenPixels, Chain, Effect, Plan, catalogue, compare, random_image};
use crate::process::CudaOnce;

use super::selftest::Outcome::{self, Failed, Passed, Skipped};
use super::setup::Machine;

/// Every effect, alone, at its lowest, default and highest parameters, over random images with broken pixels.
pub(super) fn run(machine: &Machine) -> anyhow::Result<Outcome> {
    let Some((driver, cuda)) = &machine.cuda else {
        return Ok(Skipped(
            "the host runs the references themselves: there is nothing to compare".into(),
        ));
    };
    let once = CudaOnce::new(driver, cuda, catalogue())?;
    let (mut lines, mut has_failed, mut runs) = (Vec::new(), false, 0);
    for effect in catalogue().effects() {
        let mut worst = 0;
        for (setting, plan) in plans_of(effect)? {
            for extent in [[1, 1], [17, 31], [1280, 720], [1919, 1081]] {
                for broken in [BrokenPixels::Absent, BrokenPixels::Present] {
                    let image = random_image(runs, extent, broken);
                    let frame = FrameParameters {
                        frame: 7 + runs,
                        time: 1.5,
                        time_delta: 0.02,
                        pointer: [3.0, 4.0],
                    };
                    let actual = once.run(&plan, &image, extent, &frame)?;
                    let expected = reference_of(&plan, &image, extent, &frame)?;
                    let comparison = compare(&expected, &actual, extent[0], &effect.tolerance);
                    runs += 1;
                    let finite = comparison.worst.filter(|worst| worst.ulps != u32::MAX);
                    worst = worst.max(finite.map_or(0, |worst| worst.ulps));
                    if let Some(mismatch) = comparison.worst.filter(|_| !comparison.passes()) {
                        has_failed = true;
                        let [width, height] = extent;
                        lines.push(format!(
                            "{} ({setting} parameters, {width}x{height}, broken pixels {broken:?}): {} of {} channels \
                             differ; {mismatch}",
                            effect.name, comparison.failures, comparison.channels
                        ));
                    }
                }
            }
        }
        lines.push(format!(
            "{:<21} at most {worst} ulps off; allowed {}",
            effect.name,
            allowed(effect)
        ));
    }
    let text = format!("{runs} comparisons with the references\n{}", lines.join("\n"));
    Ok(if has_failed { Failed(text) } else { Passed(text) })
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
pub(crate) fn plans_of(effect: &Effect) -> anyhow::Result<Vec<(&'static str, Plan)>> {
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

fn reference_of(
    plan: &Plan,
    image: &[[half::f16; 4]],
    extent: [u32; 2],
    frame: &FrameParameters,
) -> anyhow::Result<Vec<[half::f16; 4]>> {
    let pitch = extent[0] as usize * 8;
    let mut output = vec![[half::f16::ZERO; 4]; image.len()];
    let mut scratch = HostScratch::default();
    let color = MappedImage {
        bytes: bytemuck::cast_slice(image),
        pitch,
    };
    let processed = (bytemuck::cast_slice_mut(&mut output), pitch);
    let mut images = HostImages::new(extent, color, processed, &mut scratch)?;
    reference::run(plan, &mut images, frame)?;
    Ok(output)
}
