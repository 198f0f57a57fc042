//! `handover selftest`: proves the hand-over and every kernel on this machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk;

use crate::frame::FrameNumber;
use crate::interop::open_descriptors;
use crate::kernels::{Chain, Plan, catalogue};
use crate::proof::Verdict;
use crate::renderer::{Error as RenderError, Rendered, Renderer, Schedule, Settings, View};
use crate::timing::Instrument;

use super::allocation_test;
use super::examples;
use super::kernel_test;
use super::live_test;
use super::options::{PresentChoice, SelftestOptions, SelftestPart};
use super::output::print;
use super::picture_test;
use super::schedule_test;
use super::selftest_result::{self, PartResult};
use super::setup::{Machine, Request};
use super::timing_test;

/// How a part went: what was seen, or what was wrong.
pub(super) enum Outcome {
    Passed(String),
    Failed(String),
    Skipped(String),
}

use Outcome::{Failed, Passed, Skipped};

/// Runs the parts asked for and prints a table.
///
/// # Errors
/// A part failed, or the machine could not be opened.
pub fn run(options: &SelftestOptions) -> anyhow::Result<()> {
    let request = Request {
        processor: options.processor,
        present: PresentChoice::Offscreen,
        gpu: options.gpu.clone(),
        validate: options.validate,
        validate_if_present: cfg!(debug_assertions),
    };
    let machine = Machine::open(&request, None)?;
    if let Some(reason) = &machine.without_cuda {
        tracing::info!("the host runs the kernels: {reason}");
    }
    let all = [
        SelftestPart::Handover,
        SelftestPart::Kernels,
        SelftestPart::Live,
        SelftestPart::Withheld,
        SelftestPart::Schedules,
        SelftestPart::Tags,
        SelftestPart::Resizes,
        SelftestPart::Pictures,
        SelftestPart::Timing,
        SelftestPart::Allocations,
        SelftestPart::Interop,
    ];
    let parts = if options.parts.is_empty() {
        &all[..]
    } else {
        &options.parts
    };
    print(format_args!("self-test on {}", machine.device.physical.name))?;
    let mut failures = 0;
    let mut results = Vec::new();
    for part in parts {
        let started = Instant::now();
        let outcome = match part {
            SelftestPart::Handover => handover(&machine),
            SelftestPart::Kernels => kernel_test::run(&machine, options),
            SelftestPart::Live => live_test::run(&machine, options.saves),
            SelftestPart::Withheld => withheld(&machine),
            SelftestPart::Schedules => schedule_test::run(&machine),
            SelftestPart::Tags => tags(&machine, options.frames),
            SelftestPart::Resizes => resizes(&machine, options.resizes),
            SelftestPart::Pictures => picture_test::run(&machine),
            SelftestPart::Timing => timing_test::run(&machine),
            SelftestPart::Allocations => allocation_test::run(&machine),
            SelftestPart::Interop => interop(&machine),
        };
        let outcome = outcome.unwrap_or_else(|error| Failed(format!("{error:#}")));
        failures += usize::from(matches!(outcome, Failed(_)));
        let (word, text) = match &outcome {
            Passed(text) => ("PASS", text),
            Failed(text) => ("FAIL", text),
            Skipped(text) => ("SKIP", text),
        };
        let name = format!("{part:?}").to_lowercase();
        let seconds = started.elapsed().as_secs_f64();
        print(format_args!(
            "{word}  {name:<11} {seconds:>7.2} s  {}",
            text.replace('\n', "\n        ")
        ))?;
        results.push(PartResult {
            name,
            outcome: word.into(),
            text: text.clone(),
        });
    }
    selftest_result::keep(&machine.device.physical, results);
    match &machine.device.instance.validation {
        None => print("SKIP  validation            off: --validate switches it on")?,
        Some(log) => {
            let counts = log.counts();
            let word = if counts.errors == 0 { "PASS" } else { "FAIL" };
            print(format_args!(
                "{word}  validation            {} errors, {} warnings, {} known false set aside",
                counts.errors, counts.warnings, counts.set_aside
            ))?;
        }
    }
    machine.check_validation()?;
    anyhow::ensure!(failures == 0, "{failures} of {} parts failed", parts.len());
    print("all parts passed")?;
    Ok(())
}

pub(super) fn settings() -> Settings {
    Settings {
        render_scale: 1.0,
        frames_in_flight: 3,
        schedule: Schedule::Pipelined,
        wait_limit: Duration::from_secs(10),
        effects: catalogue().effects().len(),
        instrument: Instrument::Full,
        check_tags: true,
        check_complement: false,
    }
}

pub(super) fn plan(effects: &[&str]) -> anyhow::Result<Arc<Plan>> {
    Ok(Arc::new(Chain::with_enabled(catalogue(), effects)?.plan()))
}

pub(super) fn render(renderer: &mut Renderer, view: &View, frames: u64) -> Result<(), RenderError> {
    let mut begun = 0;
    while begun < frames {
        begun += u64::from(matches!(renderer.render_frame(view)?, Rendered::Frame(_)));
        renderer.take_records();
    }
    renderer.finish()?;
    renderer.take_records();
    Ok(())
}

/// What is wrong with the tags, if anything: texels that differ, or texels that were not looked at.
pub(super) fn tag_fault(renderer: &Renderer, frames: u64, texels: u64) -> Option<String> {
    let report = renderer.tags();
    if let Some((frame, result)) = report.mismatches.first() {
        let (count, differ) = (report.mismatches.len(), result.mismatches);
        return Some(format!(
            "{count} frames are stale or torn; the first, {frame}, in {differ} texels: {result:?}"
        ));
    }
    (report.frames != frames || report.texels != texels).then(|| {
        format!(
            "checked {} frames, {} texels instead of {frames}, {texels}",
            report.frames, report.texels
        )
    })
}

/// How frames are handed over.
const SCHEDULES: [Schedule; 2] = [Schedule::Pipelined, Schedule::CopyBack];

/// Vulkan writes a pattern, the chain complements it, Vulkan checks every texel, at several extents.
fn handover(machine: &Machine) -> anyhow::Result<Outcome> {
    const FRAMES: u64 = 50;
    let extents = [[1, 1], [17, 31], [1280, 720], [641, 359]];
    let view = View::first(&plan(&["complement"])?);
    for ([width, height], schedule) in extents
        .into_iter()
        .flat_map(|extent| SCHEDULES.map(|order| (extent, order)))
    {
        let settings = Settings {
            schedule,
            check_complement: true,
            ..settings()
        };
        let mut renderer = machine.offscreen("none", vk::Extent2D { width, height }, settings)?;
        render(&mut renderer, &view, FRAMES)?;
        let texels = FRAMES * u64::from(width) * u64::from(height);
        if let Some(fault) = tag_fault(&renderer, FRAMES, texels) {
            return Ok(Failed(format!("{width}x{height}, {}: {fault}", schedule.name())));
        }
    }
    Ok(Passed(format!(
        "a pattern complemented by the chain: {FRAMES} frames each at {extents:?}, every texel, pipelined and copied back"
    )))
}

/// From the fifth frame on nobody signals `processed`: the run must end in the bounded wait, and show nothing.
fn withheld(machine: &Machine) -> anyhow::Result<Outcome> {
    let mut outcome = Passed(String::new());
    for schedule in SCHEDULES {
        outcome = withheld_under(machine, schedule)?;
        if matches!(outcome, Failed(_)) {
            break;
        }
    }
    Ok(outcome)
}

fn withheld_under(machine: &Machine, schedule: Schedule) -> anyhow::Result<Outcome> {
    const FIRST_WITHHELD: u64 = 5;
    if machine.in_queue {
        return Ok(Skipped(
            "nothing is signalled between a frame's scene and its present: there is nothing to withhold".into(),
        ));
    }
    let limit = Duration::from_secs(1);
    let settings = Settings {
        schedule,
        wait_limit: limit,
        ..settings()
    };
    let mut renderer = machine.offscreen("none", vk::Extent2D { width: 64, height: 64 }, settings)?;
    renderer.processor().withhold_from(FrameNumber::at(FIRST_WITHHELD));
    let started = Instant::now();
    let ended = render(&mut renderer, &View::first(&plan(&[])?), 100);
    let waited = started.elapsed();
    let Err(RenderError::Overdue {
        frame,
        timeline,
        reached,
        ..
    }) = ended
    else {
        return Ok(Failed(format!("100 frames came without their signals: {ended:?}")));
    };
    let expected = (FIRST_WITHHELD, "processed", FIRST_WITHHELD - 1);
    let seen = (frame.value(), timeline, reached);
    if seen != expected || waited < limit || waited > limit * 5 {
        return Ok(Failed(format!(
            "ended with {seen:?} after {waited:?}, expected {expected:?} after {limit:?}"
        )));
    }
    Ok(Passed(format!(
        "frame {frame} ended in the bounded wait: `{timeline}` stood at {reached}"
    )))
}

/// Every texel of every frame must carry that frame's tag after the round trip.
fn tags(machine: &Machine, frames: u64) -> anyhow::Result<Outcome> {
    // Enough texels to tear on a GPU; on the host's cores enough frames in the time.
    let (width, height) = if machine.cuda.is_some() { (1280, 720) } else { (160, 90) };
    let extent = vk::Extent2D { width, height };
    for schedule in SCHEDULES {
        if let Some(fault) = schedule_test::screen_fault(machine, schedule, extent, frames)? {
            return Ok(Failed(fault));
        }
    }
    Ok(Passed(format!(
        "{frames} frames of {width}x{height}, processed and as they are shown, pipelined and copied back: 0 stale, 0 torn"
    )))
}

/// The examples of the interop library, each with its own word.
fn interop(machine: &Machine) -> anyhow::Result<Outcome> {
    if machine.cuda.is_none() {
        return Ok(Skipped("there is nothing to share without CUDA".into()));
    }
    let (mut lines, mut failed) = (Vec::new(), 0);
    for (name, run) in examples::ALL {
        let (word, text) = match run() {
            Ok(Verdict::Pass(figures)) => ("PASS", figures),
            Ok(Verdict::Skip(reason)) => ("SKIP", reason),
            Err(error) => ("FAIL", format!("{error:#}")),
        };
        failed += usize::from(word == "FAIL");
        lines.push(format!("{word}  {name:<18}  {text}"));
    }
    let text = format!(
        "{} examples, {failed} failed\n{}",
        examples::ALL.len(),
        lines.join("\n")
    );
    Ok(if failed == 0 { Passed(text) } else { Failed(text) })
}

/// Frames between resizes: images, imports and numbers are made anew, and no descriptor stays open.
fn resizes(machine: &Machine, resizes: u32) -> anyhow::Result<Outcome> {
    let mut outcome = Passed(String::new());
    for schedule in SCHEDULES {
        outcome = resizes_under(machine, schedule, resizes)?;
        if matches!(outcome, Failed(_)) {
            break;
        }
    }
    Ok(outcome)
}

/// How many descriptors are open: more than `limit` only where they stay. A driver's thread may write to its cache on disk for a moment.
fn settled_descriptors(limit: usize) -> std::io::Result<usize> {
    const PATIENCE: Duration = Duration::from_secs(2);
    let started = Instant::now();
    loop {
        let open = open_descriptors()?;
        if open <= limit || started.elapsed() > PATIENCE {
            return Ok(open);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn resizes_under(machine: &Machine, schedule: Schedule, resizes: u32) -> anyhow::Result<Outcome> {
    const FRAMES_BETWEEN: u64 = 4;
    let extent = |step: u32| vk::Extent2D {
        width: 64 + step * 7 % 193,
        height: 48 + step * 5 % 101,
    };
    let view = View::first(&plan(&[])?);
    let settings = Settings { schedule, ..settings() };
    let mut renderer = machine.offscreen("none", extent(0), settings)?;
    let (mut descriptors, mut texels) = (None, 0);
    for step in 0..=resizes {
        let vk::Extent2D { width, height } = extent(step);
        renderer.resize(extent(step))?;
        render(&mut renderer, &view, FRAMES_BETWEEN)?;
        texels += FRAMES_BETWEEN * u64::from(width) * u64::from(height);
        let open = settled_descriptors(descriptors.unwrap_or(usize::MAX))?;
        let first = descriptors.map_or(open, |first: usize| first.min(open));
        descriptors = Some(first);
        if open > first {
            return Ok(Failed(format!(
                "after {step} resizes {open} descriptors are open, {first} before"
            )));
        }
    }
    let frames = FRAMES_BETWEEN * u64::from(resizes + 1);
    if let Some(fault) = tag_fault(&renderer, frames, texels) {
        return Ok(Failed(fault));
    }
    if renderer.last_frame().value() != frames {
        return Ok(Failed(format!(
            "frame numbers did not go on: {} instead of {frames}",
            renderer.last_frame()
        )));
    }
    let open = descriptors.unwrap_or_default();
    Ok(Passed(format!(
        "{resizes} resizes, {open} descriptors open all the time, frame numbers went on to {frames}"
    )))
}
