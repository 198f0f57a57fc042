//! A running view: the state that keys change, one frame after the other, captures and the summary at the end.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use ash::vk;

use crate::app::{Action, Flow, Input, Session};
use crate::kernels::Plan;
use crate::renderer::{Rendered, Renderer, View};
use crate::scene::{self, CameraControl, SceneFrame};
use crate::timing::table::summary_table;
use crate::timing::{Capture, History};
use crate::whole_file;

use super::capture::{Recording, effect_names};
use super::live::LiveKernels;
use super::live_plan::{plan_again, plan_of};
use super::output::print;
use super::overlay::ViewOverlay;
use super::presets::Presets;
use super::setup::Machine;
use super::start;
use super::steering::steer;
use super::tuning::Tuning;

/// Captures that F2 starts, and pictures that keys take, are numbered after this name.
const BASE_NAME: &str = "handover";

/// How long a view lasts, and what it leaves behind.
#[derive(Debug, Default)]
pub(crate) struct Keep {
    /// Ends after so many frames.
    pub frames: Option<u64>,
    /// Seconds that pass with each frame; `None`: the clock's.
    pub time_step: Option<f32>,
    /// A picture of the last frame.
    pub screenshot: Option<PathBuf>,
    /// The chain as it is at the end.
    pub preset: Option<PathBuf>,
}

/// The view. Fields in drop order.
pub(crate) struct ViewSession {
    renderer: Renderer,
    machine: Machine,
    live: LiveKernels,
    tuning: Tuning,
    plan: Arc<Plan>,
    camera: CameraControl,
    time: f32,
    last_frame_at: Option<Instant>,
    is_paused: bool,
    steps: u32,
    keep: Keep,
    capture: Option<Recording>,
    history: History,
    overlay: ViewOverlay,
}

impl ViewSession {
    pub fn new(
        renderer: Renderer,
        machine: Machine,
        (live, tuning): (LiveKernels, Tuning),
        keep: Keep,
        capture: Option<Recording>,
        mut overlay: ViewOverlay,
    ) -> Self {
        let plan = Arc::new(plan_of(tuning.chain(), &live, &renderer));
        overlay.set_notice(live.notice());
        let history = History::new(&effect_names(tuning.chain().catalogue()));
        Self {
            renderer,
            machine,
            live,
            tuning,
            plan,
            camera: CameraControl::new(),
            time: 0.0,
            last_frame_at: None,
            is_paused: false,
            steps: 0,
            keep,
            capture,
            history,
            overlay,
        }
    }

    /// How the frames are made, in a line.
    pub fn describe(&mut self) -> String {
        let vk::Extent2D { width, height } = self.renderer.extent();
        let settings = self.renderer.settings();
        let in_flight = settings.frames_in_flight;
        let whole = self.machine.in_queue.then_some("one submission a frame");
        let schedule = whole.unwrap_or(settings.schedule.name());
        let scene = self.renderer.scene_extent();
        let drawn_at = if scene.width == width && scene.height == height {
            String::new()
        } else {
            format!(" drawn at {}x{}", scene.width, scene.height)
        };
        format!(
            "{} | {} | {} | scene {}, {width}x{height}{drawn_at} | {schedule}, {in_flight} in flight",
            self.machine.device.physical.name,
            self.renderer.processor().description(),
            self.renderer.presenter().description(),
            self.renderer.scene_name(),
        )
    }

    /// Seconds that pass with this frame.
    fn time_delta(&mut self) -> f32 {
        let elapsed = self
            .last_frame_at
            .replace(Instant::now())
            .map_or(0.0, |last| last.elapsed().as_secs_f32());
        let step = self.keep.time_step.unwrap_or(elapsed);
        if !self.is_paused {
            return step;
        }
        if self.steps == 0 {
            return 0.0;
        }
        self.steps -= 1;
        // A paused scene moves by single steps, of a display's frame where no step was given.
        self.keep.time_step.unwrap_or(1.0 / 60.0)
    }

    /// Gives retired frames to the history and to the capture.
    fn keep_records(&mut self) {
        self.renderer.hand_records(|record| {
            self.history.push(&record);
            if let Some(capture) = &mut self.capture {
                capture.push(&record);
            }
            start::frame_retired();
            self.overlay.push(record)
        });
    }

    /// What the overlay is headed by: the line at start in fewer words.
    fn overlay_title(machine: &Machine, renderer: &mut Renderer) -> String {
        let vk::Extent2D { width, height } = renderer.extent();
        let (name, processor) = (&machine.device.physical.name, renderer.processor().name());
        // What is in parentheses, as of a driver in software, is too long for a heading.
        let name = name.split(" (").next().unwrap_or(name);
        format!(
            "{name}, kernels on {processor}, {}, {width}x{height}",
            renderer.scene_name()
        )
    }

    /// Gives a key to the chain; the next frame has what came of it.
    fn tune(&mut self, action: Action) {
        let before = self.tuning.chain().revision();
        self.tuning.act(action);
        self.overlay.set_chosen(self.tuning.panel(), self.tuning.touched_at());
        if self.tuning.chain().revision() != before {
            self.chain_changed();
        }
    }

    fn chain_changed(&mut self) {
        self.plan = Arc::new(plan_of(self.tuning.chain(), &self.live, &self.renderer));
        if let Some(capture) = &mut self.capture {
            capture.chain_changed(self.renderer.last_frame().value() + 1, self.tuning.chain());
        }
    }

    /// Takes over what came of kernels that were saved. The next frame runs the new ones, and frames under way keep the old.
    fn take_kernels(&mut self) {
        let changes = self.live.poll();
        if let Some(catalogue) = &changes.catalogue {
            for effect in catalogue.effects().iter().skip(self.history.effects().len()) {
                self.history.add_effect(&effect.name);
                if self.capture.is_some() {
                    tracing::warn!("the capture has no column for {}, which is newer", effect.name);
                }
            }
            self.overlay.set_effects(catalogue);
            self.tuning.adopt(Arc::clone(catalogue), &changes.switch_on);
            self.overlay.set_chosen(self.tuning.panel(), self.tuning.touched_at());
            self.chain_changed();
            self.live.unload(&changes);
        }
        if changes.has_other_problems {
            self.overlay.set_notice(self.live.notice());
        }
        if self.live.take_fused() {
            self.plan = Arc::new(plan_again(self.tuning.chain(), &self.live, &self.renderer));
        }
    }

    fn toggle_capture(&mut self) -> anyhow::Result<()> {
        match self.capture.take() {
            Some(capture) => self.end_capture(capture),
            None => {
                // Frames begun before the key are not of this capture.
                self.renderer.finish()?;
                self.keep_records();
                let folder = Capture::next_free(Path::new(BASE_NAME));
                match Recording::begin(&folder, &mut self.renderer, &self.machine, self.tuning.chain()) {
                    Ok(capture) => {
                        tracing::info!("capturing into {}", folder.display());
                        self.capture = Some(capture);
                    }
                    Err(error) => tracing::error!("no capture: {error}"),
                }
                Ok(())
            }
        }
    }

    fn end_capture(&mut self, capture: Recording) -> anyhow::Result<()> {
        self.capture = Some(capture);
        self.renderer.finish()?;
        self.keep_records();
        let proof = self.renderer.processor().prove_clock();
        if let Some(capture) = self.capture.take() {
            let written = capture.finish(proof.ok())?;
            let (rows, path, trace) = (written.rows, written.path.display(), written.trace.display());
            tracing::info!("captured {rows} frames: {path} and {trace}");
        }
        Ok(())
    }

    /// The next frame has another scene or extent.
    fn note_view(&mut self) {
        if let Some(capture) = &mut self.capture {
            capture.view_changed(&self.renderer);
        }
    }

    fn switch_scene(&mut self, by: i32) -> anyhow::Result<()> {
        let names = scene::NAMES;
        let now = names
            .iter()
            .position(|name| *name == self.renderer.scene_name())
            .unwrap_or_default();
        let next = (now as i32 + by).rem_euclid(names.len() as i32) as usize;
        self.renderer
            .set_scene(scene::create(names[next], &self.machine.device)?)?;
        self.plan = Arc::new(plan_of(self.tuning.chain(), &self.live, &self.renderer));
        self.note_view();
        tracing::info!("scene: {}", names[next]);
        Ok(())
    }

    fn save_screen(&mut self, path: &Path) -> anyhow::Result<()> {
        let picture = self.renderer.read_screen()?;
        self.keep_records();
        save_png(&picture, path)?;
        tracing::info!("picture: {}", path.display());
        Ok(())
    }
}

/// Writes the whole file or none of it.
fn save_png(picture: &image::RgbaImage, path: &Path) -> anyhow::Result<()> {
    let write = |file: &mut File| {
        let written = picture.write_to(&mut BufWriter::new(file), image::ImageFormat::Png);
        written.map_err(io::Error::other)
    };
    whole_file::replace(path, write).with_context(|| format!("write the picture {}", path.display()))
}

impl Session for ViewSession {
    fn frame(&mut self, input: &Input) -> anyhow::Result<Flow> {
        self.take_kernels();
        let height = self.renderer.extent().height;
        steer(&mut self.camera, input, height);
        let time_delta = self.time_delta();
        let camera = self
            .camera
            .advance(self.time + time_delta, self.keep.time_step.unwrap_or(time_delta));
        let machine = &self.machine;
        self.overlay
            .prepare(&mut self.renderer, |renderer| Self::overlay_title(machine, renderer))?;
        let view = View {
            scene: SceneFrame {
                frame: 0,
                time: self.time + time_delta,
                time_delta,
                camera,
                jitter: [0.0; 2],
            },
            plan: Arc::clone(&self.plan),
            pointer: input.pointer,
        };
        match self.renderer.render_frame(&view)? {
            Rendered::Frame(_) => self.time += time_delta,
            Rendered::Skipped => return Ok(Flow::Skipped),
            Rendered::OutOfDate => {
                let extent = self.renderer.extent();
                self.renderer.resize(extent)?;
            }
        }
        self.keep_records();
        let last = self.renderer.last_frame().value();
        Ok(if self.keep.frames.is_some_and(|frames| last >= frames) {
            Flow::Exit
        } else {
            Flow::Continue
        })
    }

    fn act(&mut self, action: Action) -> anyhow::Result<()> {
        match action {
            Action::ToggleCapture => self.toggle_capture()?,
            Action::SwitchScene(by) => self.switch_scene(by)?,
            Action::ToggleOverlay => self.overlay.toggle(),
            Action::HideAll => self.overlay.toggle_all(),
            Action::Screenshot => {
                let free = (1..).map(|number| PathBuf::from(format!("{BASE_NAME}-{number:04}.png")));
                let path = free.into_iter().find(|path| !path.exists()).unwrap_or_default();
                self.save_screen(&path)?;
            }
            Action::Pause => self.is_paused = !self.is_paused,
            Action::StepFrame => self.steps += u32::from(self.is_paused),
            Action::ResetCamera => self.camera.reset(),
            // The window's own.
            Action::ToggleFullscreen | Action::Help | Action::Quit => {}
            Action::ToggleEffect(_)
            | Action::SoloEffect(_)
            | Action::BypassAll
            | Action::ChooseEffect(_)
            | Action::ToggleChosen
            | Action::MoveChosen(_)
            | Action::ChooseParameter(_)
            | Action::ChangeParameter(_)
            | Action::ResetParameter
            | Action::SwitchPreset(_)
            | Action::SavePreset => self.tune(action),
        }
        Ok(())
    }

    fn resized(&mut self, extent: vk::Extent2D) -> anyhow::Result<()> {
        self.renderer.resize(extent)?;
        self.keep_records();
        self.note_view();
        Ok(())
    }

    fn scaled(&mut self, pixels_per_point: f64) {
        self.overlay.set_window_scale(pixels_per_point);
    }

    fn title(&self, frames_per_second: f64) -> String {
        let scene = self.renderer.scene_name();
        let paused = if self.is_paused { ", paused" } else { "" };
        let capturing = if self.capture.is_some() { ", capturing" } else { "" };
        let effects = self.tuning.effects_text();
        let chosen = self
            .tuning
            .chosen_text()
            .map_or_else(String::new, |chosen| format!(" | {chosen}"));
        let problem = self
            .live
            .problem_text()
            .map_or_else(String::new, |problem| format!(" | {problem}"));
        format!("Handover: {scene}, {effects}, {frames_per_second:.0} fps{paused}{capturing}{chosen}{problem}")
    }

    fn closing(&mut self) -> anyhow::Result<()> {
        let ended = self.renderer.finish();
        self.keep_records();
        // What was measured is kept and shown even when the run failed; a picture that is not the last frame is not.
        if let Some(path) = self.keep.screenshot.take().filter(|_| ended.is_ok()) {
            self.save_screen(&path)?;
        }
        if let Some(path) = self.keep.preset.take() {
            Presets::save(&path, self.tuning.chain())?;
            print(format_args!("preset: {}", path.display()))?;
        }
        if let Some(capture) = self.capture.take() {
            // Frames that did not come leave the GPU busy.
            let proof = ended.is_ok().then(|| self.renderer.processor().prove_clock());
            let written = capture.finish(proof.and_then(Result::ok))?;
            print(format_args!(
                "timings of {} frames: {}",
                written.rows,
                written.path.display()
            ))?;
            print(format_args!(
                "their trace, for https://ui.perfetto.dev: {}",
                written.trace.display()
            ))?;
        }
        print(summary_table(&self.history).trim_end())?;
        ended?;
        self.machine.check_validation()
    }
}
