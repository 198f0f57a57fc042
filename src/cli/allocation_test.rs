//! The self-test's part `allocations`: a frame like the one before asks the host for no memory.

use anyhow::Context;
use ash::vk;

use crate::proof::allocations;
use crate::renderer::{Rendered, Schedule, Settings, View};
use crate::timing::Instrument;

use super::selftest::{Outcome, plan, settings};
use super::setup::Machine;

/// Of each way to make frames, none of which is waited for longer than in software.
const FRAMES: u64 = 60;
/// Frames that are not counted: each slot's first ones record what later ones repeat, and lists grow until they are long enough.
const WARM_UP: u64 = 30;

const EXTENT: vk::Extent2D = vk::Extent2D { width: 64, height: 36 };

/// Effects of one pass, of several, with state, and with buffers.
const EFFECTS: [&str; 8] = [
    "auto_exposure",
    "tonemap",
    "gaussian",
    "sharpen",
    "bloom",
    "vignette",
    "film_grain",
    "unsharp",
];

/// Counts what `render_frame` allocates, under every schedule and with everything measured or nothing.
///
/// # Errors
/// A frame failed.
pub(super) fn run(machine: &Machine) -> anyhow::Result<Outcome> {
    let (_, counted) = allocations(|| std::hint::black_box(Box::new(1)));
    if counted != 1 {
        return Ok(Outcome::Skipped("this program does not count its allocations".into()));
    }
    let schedules: &[Schedule] = match machine.in_queue {
        true => &[Schedule::Pipelined],
        false => &[Schedule::Serial, Schedule::Pipelined, Schedule::CopyBack],
    };
    let mut ways = 0;
    for schedule in schedules {
        for instrument in [Instrument::Off, Instrument::Frame, Instrument::Full] {
            for scene in ["none", "studio"] {
                let found = count(machine, scene, *schedule, instrument)?;
                if found > 0 {
                    let schedule = schedule.name();
                    return Ok(Outcome::Failed(format!(
                        "{found} allocations in {FRAMES} frames of the scene {scene}, {schedule}, {instrument:?} measured"
                    )));
                }
                ways += 1;
            }
        }
    }
    Ok(Outcome::Passed(format!(
        "none in {FRAMES} frames each, {} effects, {ways} combinations of schedule, instrument and scene",
        EFFECTS.len()
    )))
}

fn count(machine: &Machine, scene: &str, schedule: Schedule, instrument: Instrument) -> anyhow::Result<u64> {
    let settings = Settings {
        schedule,
        instrument,
        check_tags: false,
        ..settings()
    };
    let mut renderer = machine.offscreen(scene, EXTENT, settings)?;
    let mut view = View::first(&plan(&EFFECTS)?);
    let messages = || {
        let validation = machine.device.instance.validation.as_ref();
        validation.map(|log| log.counts())
    };
    let mut counted = 0;
    for frame in 0..WARM_UP + FRAMES {
        view.scene.time = frame as f32 / 60.0;
        let messages_before = messages();
        let (rendered, mut count) = allocations(|| renderer.render_frame(&view));
        if messages() != messages_before {
            // What the validation layer says is text, which is kept.
            count = 0;
        }
        anyhow::ensure!(matches!(rendered?, Rendered::Frame(_)), "frame {frame} was not drawn");
        renderer.hand_records(Some);
        if frame >= WARM_UP {
            counted += count;
        }
    }
    renderer.finish().context("wait for the frames")?;
    Ok(counted)
}
