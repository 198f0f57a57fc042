//! The self-test's part `schedules`: whoever makes the picture and whoever carries it, it is the same to the bit.

use std::sync::{Arc, PoisonError};

use ash::vk;
use egui::epaint::{ClippedPrimitive, Mesh, Primitive};
use egui::{Color32, Rect, pos2};
use image::RgbaImage;

use crate::kernels::Plan;
use crate::overlay::{Atlas, DrawList};
use crate::renderer::{Rendered, Schedule, Settings, View};
use crate::scene::SceneFrame;

use super::options::DEFAULT_KERNELS;
use super::screen_tags::ScreenTags;
use super::selftest::{Outcome, plan, render, settings};
use super::setup::Machine;

/// All schedules, the one to compare with first.
const SCHEDULES: [Schedule; 3] = [Schedule::Serial, Schedule::Pipelined, Schedule::CopyBack];

/// Frames of each extent, with and without an overlay.
const FRAMES: u64 = 12;

/// Every schedule's pictures of the default chain, without an overlay and with one.
///
/// # Errors
/// A frame failed.
pub(super) fn run(machine: &Machine) -> anyhow::Result<Outcome> {
    if machine.in_queue {
        return Ok(Outcome::Skipped(
            "the processor in-queue has one order only, whose pictures the part `pictures` compares".into(),
        ));
    }
    let effects: Vec<&str> = DEFAULT_KERNELS.split(',').collect();
    let plan = plan(&effects)?;
    // What a GPU draws in a moment takes the host's cores minutes.
    let large = if machine.cuda.is_some() {
        [[641, 359], [1280, 720]]
    } else {
        [[79, 45], [160, 90]]
    };
    let extents = [[[1, 1], [3, 2]], [[17, 31], [64, 5]], large].concat();
    let mut compared = 0;
    for [width, height] in extents.iter().copied() {
        let extent = vk::Extent2D { width, height };
        let mut expected: Option<[RgbaImage; 3]> = None;
        for schedule in SCHEDULES {
            let found = pictures(machine, schedule, extent, &plan)?;
            let expected = expected.get_or_insert_with(|| found.clone());
            for (what, (found, expected)) in WHAT.iter().zip(found.iter().zip(expected)) {
                let differing = found
                    .pixels()
                    .zip(expected.pixels())
                    .filter(|(one, other)| one != other);
                let differing = differing.count();
                if differing > 0 {
                    return Ok(Outcome::Failed(format!(
                        "{width}x{height} {what}: {differing} texels of {} are not those of {}",
                        schedule.name(),
                        SCHEDULES[0].name()
                    )));
                }
                compared += 1;
            }
        }
    }
    Ok(Outcome::Passed(format!(
        "{compared} pictures at {extents:?}: those of serial, pipelined and copy-back are the same to the bit"
    )))
}

/// What [`pictures`] takes.
const WHAT: [&str; 3] = ["without an overlay", "with an overlay", "with another overlay"];

fn pictures(
    machine: &Machine,
    schedule: Schedule,
    extent: vk::Extent2D,
    plan: &Arc<Plan>,
) -> anyhow::Result<[RgbaImage; 3]> {
    let settings = Settings {
        schedule,
        check_tags: false,
        ..settings()
    };
    let mut renderer = machine.offscreen("studio", extent, settings)?;
    let mut picture = |overlay: Option<Arc<DrawList>>| {
        renderer.set_overlay(overlay);
        let last = renderer.last_frame().value() + FRAMES;
        while renderer.last_frame().value() < last {
            let time = renderer.last_frame().value() as f32 / 60.0;
            let scene = SceneFrame {
                time,
                time_delta: 1.0 / 60.0,
                ..View::first(plan).scene
            };
            let rendered = renderer.render_frame(&View {
                scene,
                ..View::first(plan)
            })?;
            anyhow::ensure!(matches!(rendered, Rendered::Frame(_)), "a frame was not rendered");
        }
        Ok(renderer.read_screen()?)
    };
    // The second list is the longer one: it does not fit where the first was.
    Ok([
        picture(None)?,
        picture(Some(list(extent, 30)))?,
        picture(Some(list(extent, 6_000)))?,
    ])
}

/// Rectangles and triangles, translucent ones and gradients, all over the screen and beyond.
fn list(extent: vk::Extent2D, shapes: u32) -> Arc<DrawList> {
    let mut mesh = Mesh::default();
    let mut rng = fastrand::Rng::with_seed(7);
    let mut at = || {
        let along = |length: u32, part: f32| (part * 1.2 - 0.1) * length as f32;
        pos2(along(extent.width, rng.f32()), along(extent.height, rng.f32()))
    };
    for shape in 0..shapes {
        let color = |step: u32| {
            let byte = |factor: u32| ((shape + step) * factor % 251) as u8;
            Color32::from_rgba_unmultiplied(byte(17), byte(61), byte(97), byte(29) / 2)
        };
        let first = mesh.vertices.len() as u32;
        let [a, b, c] = [at(), at(), at()];
        let [b, c] = [b, c].map(|corner| a + (corner - a) / 8.0);
        if shape % 2 == 0 {
            mesh.add_colored_rect(Rect::from_two_pos(a, b), color(0));
        } else {
            for (corner, step) in [a, b, c].into_iter().zip([0, 50, 100]) {
                mesh.colored_vertex(corner, color(step));
            }
            mesh.add_triangle(first, first + 1, first + 2);
        }
    }
    let primitives = [ClippedPrimitive {
        clip_rect: Rect::EVERYTHING,
        primitive: Primitive::Mesh(mesh),
    }];
    Arc::new(DrawList::new(&primitives, 1.0, extent, &Arc::new(Atlas::default())))
}

/// Renders frames of the scene `none` and looks at every texel of their screen images: what is wrong with them, if anything.
///
/// # Errors
/// A frame failed.
pub(super) fn screen_fault(
    machine: &Machine,
    schedule: Schedule,
    extent: vk::Extent2D,
    frames: u64,
) -> anyhow::Result<Option<String>> {
    let (presenter, report) = ScreenTags::new(&machine.device, extent);
    let settings = Settings { schedule, ..settings() };
    let mut renderer = machine.renderer("none", Box::new(presenter), settings)?;
    render(&mut renderer, &View::first(&plan(&[])?), frames)?;
    let texels = frames * u64::from(extent.width) * u64::from(extent.height);
    if let Some(fault) = super::selftest::tag_fault(&renderer, frames, texels) {
        return Ok(Some(format!("{}: {fault}", schedule.name())));
    }
    let report = report.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(match report.mismatches.first() {
        Some((frame, texels)) => Some(format!(
            "{}: {} frames are shown stale or torn; the first, {frame}, in {texels} texels",
            schedule.name(),
            report.mismatches.len()
        )),
        None if report.frames != frames => Some(format!("{} frames were shown of {frames}", report.frames)),
        None => None,
    })
}
