//! Lays the overlay out with egui, on a thread of its own: that takes longer than many a frame, and must not be seen in the times
//! that the overlay shows.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use ash::vk;
use egui::{LayerId, Pos2, RawInput, Rect, ViewportId, ViewportInfo, vec2};

use super::figures::Figures;
use super::{Atlas, DrawList, Facts, Panels, paint, panels};
use crate::timing::milliseconds;

/// What is to be laid out.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub facts: Facts,
    pub panels: Panels,
    pub figures: Arc<Figures>,
    /// Times of the last frames, oldest first, milliseconds; `None` of what was not measured.
    pub frame_times: Vec<Option<f64>>,
    pub screen: vk::Extent2D,
    /// Texels a point.
    pub scale: f32,
}

/// A layout, and what it was made for.
#[derive(Debug, Clone)]
pub(super) struct LaidOut {
    pub screen: vk::Extent2D,
    pub scale: f32,
    pub list: Arc<DrawList>,
    /// What it took, milliseconds.
    pub took_ms: f64,
}

/// The thread. It ends when its jobs do.
pub(super) struct Typesetter {
    jobs: Option<Sender<Job>>,
    layouts: Receiver<LaidOut>,
    thread: Option<JoinHandle<()>>,
}

impl Typesetter {
    /// Starts the thread; `None` where the system gives none.
    pub fn start() -> Option<Self> {
        let (jobs, to_do) = channel::<Job>();
        let (done, layouts) = channel();
        let thread = std::thread::Builder::new().name("overlay".into()).spawn(move || {
            let mut desk = Desk::new();
            for job in to_do {
                // Nobody takes it when the program ends meanwhile.
                let _ = done.send(desk.lay_out(&job));
            }
        });
        let thread = thread
            .inspect_err(|error| tracing::warn!("no overlay: its thread does not start: {error}"))
            .ok()?;
        Some(Self {
            jobs: Some(jobs),
            layouts,
            thread: Some(thread),
        })
    }

    /// Hands a job over.
    pub fn begin(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // Fails only when the thread is gone, which `wait` shows.
            let _ = jobs.send(job);
        }
    }

    /// The next layout, if it is done.
    pub fn take(&self) -> Option<LaidOut> {
        self.layouts.try_recv().ok()
    }

    /// The next layout, once it is done; `None` when the thread is gone.
    pub fn wait(&self) -> Option<LaidOut> {
        self.layouts.recv().ok()
    }
}

impl Drop for Typesetter {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic was printed when it happened.
            let _ = thread.join();
        }
    }
}

/// egui, and its atlas.
struct Desk {
    context: egui::Context,
    atlas: Arc<Atlas>,
}

impl Desk {
    fn new() -> Self {
        let context = egui::Context::default();
        // The shader takes the nearest texel of the atlas, which suits text and not discs of any size.
        context.tessellation_options_mut(|options| options.prerasterized_discs = false);
        Self {
            context,
            atlas: Arc::default(),
        }
    }

    fn lay_out(&mut self, job: &Job) -> LaidOut {
        let started = Instant::now();
        let Job { screen, scale, .. } = *job;
        let size = vec2(screen.width as f32, screen.height as f32) / scale;
        let mut input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, size)),
            ..RawInput::default()
        };
        let viewport = ViewportInfo {
            native_pixels_per_point: Some(scale),
            ..ViewportInfo::default()
        };
        input.viewports.insert(ViewportId::ROOT, viewport);
        let output = self.context.run_pass(input, |context| {
            let painter = context.layer_painter(LayerId::background());
            let Panels { frames, chosen, notice } = &job.panels;
            if *frames {
                paint::panel(&painter, job);
            }
            if let Some(chosen) = chosen {
                panels::chosen(&painter, chosen);
            }
            if let Some(notice) = notice {
                panels::notice(&painter, notice);
            }
        });
        Atlas::apply(&mut self.atlas, output.textures_delta);
        let primitives = self.context.tessellate(output.shapes, output.pixels_per_point);
        let list = DrawList::new(&primitives, output.pixels_per_point, screen, &self.atlas);
        LaidOut {
            screen,
            scale,
            list: Arc::new(list),
            took_ms: milliseconds(started.elapsed()),
        }
    }
}
