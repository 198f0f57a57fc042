//! The self-test of fused kernels: chains whose neighbours are one launch give the bits of the same chains without.

use std::sync::Arc;

use half::f16;

use crate::kernels::{
    BrokenPixels, FrameExtents, Given as GivenScene, Plan, SMOOTH_CHAINS, TEST_CHAINS, TestSetting, Tolerance,
    catalogue, compare,
};
use crate::live::fuse;

use super::kernel_once::{Once, Written};
use super::kernel_test::{FRAMES, Given, LARGEST, given, reference_of};

/// What was found: lines for people, and those that tell of faults.
#[derive(Default)]
pub(super) struct Found {
    pub lines: Vec<String>,
    pub failures: Vec<String>,
}

const GIVEN: GivenScene = GivenScene {
    guides: true,
    scaled: false,
    transforms: true,
};

/// A chain both ways.
struct Case {
    names: &'static [&'static str],
    setting: TestSetting,
    plain: Plan,
    fused: Plan,
}

/// Runs every test chain fused and unfused on CUDA, frame after frame, and some against the references. `names`: of all chains only
/// those with one of these effects, if there are any.
///
/// # Errors
/// No memory, or a kernel failed.
pub(super) fn run(
    once: &mut Once,
    capability: (i32, i32),
    names: &[String],
    extents: &[[u32; 2]],
) -> anyhow::Result<Found> {
    let mut found = Found::default();
    let (mut runs, mut references, mut launches) = (0, 0, [0, 0]);
    let cases = cases(capability, names, &mut found)?;
    for case in &cases {
        launches[0] += case.plain.launches.len();
        launches[1] += case.fused.launches.len();
    }
    for &extent in extents {
        for broken in [BrokenPixels::Absent, BrokenPixels::Present] {
            if extent == LARGEST && broken == BrokenPixels::Absent {
                continue;
            }
            let extents = FrameExtents::same(extent);
            let frames: Vec<Given> = (0..FRAMES).map(|frame| given(frame, extents, broken)).collect();
            let is_chosen = |case: &&Case| extent != LARGEST || case.setting == TestSetting::Default;
            for case in cases.iter().filter(is_chosen) {
                let plain = last_of(once, &case.plain, &frames, extents)?.texels;
                let Written {
                    texels: fused,
                    not_as_cuda,
                } = last_of(once, &case.fused, &frames, extents)?;
                runs += 1;
                let Case { names, setting, .. } = case;
                let place = format!(
                    "{} ({setting:?} parameters, {extent:?}, broken pixels {broken:?})",
                    names.join("+")
                );
                if not_as_cuda > 0 {
                    found
                        .failures
                        .push(format!("{place}: {not_as_cuda} channels are not what CUDA writes"));
                }
                let bits = |texel: &[f16; 4]| texel.map(f16::to_bits);
                let differ = plain
                    .iter()
                    .zip(&fused)
                    .position(|(plain, fused)| bits(plain) != bits(fused));
                if let Some(texel) = differ {
                    let (x, y) = (texel % extent[0] as usize, texel / extent[0] as usize);
                    let (plain, fused) = (plain[texel], fused[texel]);
                    found
                        .failures
                        .push(format!("{place}: {fused:?} at ({x}, {y}), unfused {plain:?}"));
                }
                if *setting == TestSetting::Default && SMOOTH_CHAINS.contains(names) {
                    references += 1;
                    let expected = reference_of_last(&case.plain, &frames, extents)?;
                    let effects = names.iter().filter_map(|name| catalogue().by_name(name).ok());
                    let tolerance = Tolerance::of_chain(effects.map(|effect| &effect.tolerance));
                    let comparison = compare(&expected, &fused, extent[0], &tolerance);
                    if let (false, Some(worst)) = (comparison.passes(), comparison.worst) {
                        let count = comparison.failures;
                        found.failures.push(format!(
                            "{place}: {count} channels differ from the reference's; {worst}"
                        ));
                    }
                }
            }
        }
    }
    found.lines.push(format!(
        "fused: {} chains, {} launches instead of {}: {runs} comparisons with the unfused chains, bit for bit, {references} with \
         the references",
        cases.len(),
        launches[1],
        launches[0]
    ));
    Ok(found)
}

/// The chains; those of which a kernel cannot be made are told as untested where there is no compiler, else as failures.
fn cases(capability: (i32, i32), names: &[String], found: &mut Found) -> anyhow::Result<Vec<Case>> {
    let mut cases = Vec::new();
    let is_asked_for =
        |chain: &&&[&str]| names.is_empty() || chain.iter().any(|name| names.iter().any(|other| other == name));
    for chain in TEST_CHAINS.iter().chain(SMOOTH_CHAINS).filter(is_asked_for) {
        let kernels = std::cell::RefCell::new(Vec::new());
        let problem = std::cell::RefCell::new(None);
        for setting in TestSetting::ALL {
            let settled = setting.chain(catalogue(), chain)?;
            let fused = settled.plan_fused(GIVEN, &|members| {
                let mut kernels = kernels.borrow_mut();
                if let Some((_, kernel)) = kernels.iter().find(|(made, _)| made == members) {
                    return Some(Arc::clone(kernel));
                }
                match fuse(members, capability) {
                    Ok(kernel) => {
                        let kernel = Arc::new(kernel);
                        kernels.push((members.to_vec(), Arc::clone(&kernel)));
                        Some(kernel)
                    }
                    Err(error) => {
                        *problem.borrow_mut() = Some(error);
                        None
                    }
                }
            });
            cases.push(Case {
                names: chain,
                setting,
                plain: settled.plan_over(GIVEN),
                fused,
            });
        }
        match problem.into_inner() {
            None => {}
            Some(error @ crate::cuda::CompileError::NoCompiler) => {
                cases.retain(|case| case.names != *chain);
                found
                    .lines
                    .push(format!("{} is not tested as one: {error}", chain.join("+")));
            }
            Some(error) => found.failures.push(format!("{}: {error}", chain.join("+"))),
        }
    }
    Ok(cases)
}

/// What the last frame becomes.
fn last_of(once: &mut Once, plan: &Plan, frames: &[Given], extents: FrameExtents) -> anyhow::Result<Written> {
    once.forget();
    let mut last = Written {
        texels: Vec::new(),
        not_as_cuda: 0,
    };
    for Given { color, guides, frame } in needed(plan, frames) {
        let not_as_cuda = last.not_as_cuda;
        last = once.run(plan, color, guides, extents, frame)?;
        last.not_as_cuda += not_as_cuda;
    }
    Ok(last)
}

fn reference_of_last(plan: &Plan, frames: &[Given], extents: FrameExtents) -> anyhow::Result<Vec<[f16; 4]>> {
    let mut scratch = crate::kernels::reference::HostScratch::default();
    let mut last = Vec::new();
    for given in needed(plan, frames) {
        last = reference_of(plan, given, extents, &mut scratch)?;
    }
    Ok(last)
}

/// Nothing is kept: one frame does.
fn needed<'a>(plan: &Plan, frames: &'a [Given]) -> &'a [Given] {
    if plan.states.is_empty() { &frames[..1] } else { frames }
}
