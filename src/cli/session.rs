//! A running view: the state that keys change, one frame after the other, captures and the summary at the end.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use ash::vk;
use glam::Vec2;

use crate::app::{Action, Flow, HeldKeys, Input, Session};
use crate::kernels::{Chain, Plan, Provided, catalogue};
use crate::renderer::{Rendered, Renderer, View};
use crate::scene::{self, CameraControl, CameraMove, SceneFrame};
use crate::timing::table::summary_table;
use crate::timing::{Capture, History};
use crate::whole_file;

use super::capture::{Recording, effect_names};
use super::output::print;
use super::overlay::ViewOverlay;
use super::setup::Machine;

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
}

/// The view. Fields in drop order.
pub(crate) struct ViewSession {
    renderer: Renderer,
    machine: Machine,
    chain: Chain,
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
        chain: Chain,
        keep: Keep,
        capture: Option<Recording>,
        overlay: ViewOverlay,
    ) -> Self {
        let plan = Arc::new(plan_of(&chain, &renderer));
        Self {
            renderer,
            machine,
            chain,
            plan,
            camera: CameraControl::new(),
            time: 0.0,
            last_frame_at: None,
            is_paused: false,
            steps: 0,
            keep,
            capture,
            history: History::new(&effect_names()),
            overlay,
        }
    }

    /// How the frames are made, in a line.
    pub fn describe(&mut self) -> String {
        let vk::Extent2D { width, height } = self.renderer.extent();
        let settings = self.renderer.settings();
        let (in_flight, schedule) = (
            settings.frames_in_flight,
            format!("{:?}", settings.schedule).to_lowercase(),
        );
        format!(
            "{} | {} | {} | scene {}, {width}x{height} | {schedule}, {in_flight} in flight",
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
        // A paused scene moves by single steps, of a display's frame where no step was given.
        let single = self.keep.time_step.unwrap_or(1.0 / 60.0);
        if self.steps == 0 {
            return 0.0;
        }
        self.steps -= 1;
        single
    }

    fn move_camera(&mut self, input: &Input) {
        let height = self.renderer.extent().height.max(1) as f32;
        let part = |pixels: [f32; 2]| Vec2::from(pixels) / height;
        if input.drag_orbit != [0.0; 2] {
            self.camera.orbit(part(input.drag_orbit));
        }
        if input.pan != [0.0; 2] {
            self.camera.pan(part(input.pan));
        }
        if input.dolly != 0.0 {
            self.camera.dolly(input.dolly);
        }
        let HeldKeys {
            forward,
            back,
            left,
            right,
            up,
            down,
            ..
        } = input.held;
        let held = [
            (CameraMove::Forward, forward),
            (CameraMove::Back, back),
            (CameraMove::Left, left),
            (CameraMove::Right, right),
            (CameraMove::Up, up),
            (CameraMove::Down, down),
        ];
        for (direction, is_down) in held {
            self.camera.hold(direction, is_down);
        }
    }

    /// Gives retired frames to the history and to the capture.
    fn keep_records(&mut self) {
        for record in self.renderer.take_records() {
            self.history.push(&record);
            if let Some(capture) = &mut self.capture {
                capture.push(&record);
            }
            self.overlay.push(record);
        }
    }

    /// What the overlay is headed by: the line at start in fewer words.
    fn overlay_title(machine: &Machine, renderer: &mut Renderer) -> String {
        let vk::Extent2D { width, height } = renderer.extent();
        let (name, processor) = (&machine.device.physical.name, renderer.processor().name());
        // What is in parentheses, such as the compiler of a driver in software, is too long for a heading.
        let name = name.split(" (").next().unwrap_or(name);
        format!(
            "{name}, kernels on {processor}, {}, {width}x{height}",
            renderer.scene_name()
        )
    }

    fn chain_changed(&mut self) {
        self.plan = Arc::new(plan_of(&self.chain, &self.renderer));
        if let Some(capture) = &mut self.capture {
            capture.chain_changed(self.renderer.last_frame().value() + 1, &self.chain);
        }
        tracing::info!("effects: {}", self.effects_text());
    }

    fn effects_text(&self) -> String {
        let active: Vec<_> = self
            .chain
            .active()
            .into_iter()
            .map(|effect| catalogue().effects()[effect].name.as_str())
            .collect();
        if active.is_empty() {
            "none".into()
        } else {
            active.join(", ")
        }
    }

    /// The catalogue index of the effect that a key stands for.
    fn effect_at(place: usize) -> Option<usize> {
        catalogue().keyed().nth(place).map(|(index, _)| index)
    }

    fn toggle_capture(&mut self) -> anyhow::Result<()> {
        match self.capture.take() {
            Some(capture) => self.end_capture(capture),
            None => {
                // Frames begun before the key are not of this capture.
                self.renderer.finish()?;
                self.keep_records();
                let folder = Capture::next_free(Path::new(BASE_NAME));
                match Recording::begin(&folder, &mut self.renderer, &self.machine, &self.chain) {
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
        self.plan = Arc::new(plan_of(&self.chain, &self.renderer));
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

/// The chain's launches over the renderer's scene. What cannot run over it is named.
fn plan_of(chain: &Chain, renderer: &Renderer) -> Plan {
    let transforms = renderer.transforms();
    let provided = Provided {
        guides: renderer.has_guides(),
        transforms: transforms.is_ok(),
    };
    for effect in chain.active() {
        let effect = &chain.catalogue().effects()[effect];
        if let (true, Err(reason)) = (effect.transforms(), &transforms) {
            tracing::warn!("{} does not run: the effect {reason}", effect.name);
        }
        if !provided.guides && !effect.guides.is_empty() {
            let (name, guides, scene) = (&effect.name, &effect.guides, renderer.scene_name());
            tracing::warn!("{name} does not run: it reads {guides:?}, which the scene {scene} does not write");
        }
    }
    chain.plan_with(provided)
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
        self.move_camera(input);
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
            Action::ToggleEffect(place) => {
                if let Some(effect) = Self::effect_at(place) {
                    self.chain.toggle(effect);
                    self.chain_changed();
                }
            }
            Action::SoloEffect(place) => {
                if let Some(effect) = Self::effect_at(place) {
                    self.chain.solo(effect);
                    self.chain_changed();
                }
            }
            Action::BypassAll => {
                self.chain.toggle_bypass();
                self.chain_changed();
            }
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
        let effects = self.effects_text();
        format!("Handover: {scene}, {effects}, {frames_per_second:.0} fps{paused}{capturing}")
    }

    fn closing(&mut self) -> anyhow::Result<()> {
        let ended = self.renderer.finish();
        self.keep_records();
        // What was measured is kept and shown even when the run failed; a picture that is not the last frame is not.
        if let Some(path) = self.keep.screenshot.take().filter(|_| ended.is_ok()) {
            self.save_screen(&path)?;
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
