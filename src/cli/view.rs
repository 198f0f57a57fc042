//! `handover`: the scene in a window, or offscreen where there is none.

use std::path::{Path, PathBuf};

use ash::vk;

use crate::app::{self, Flow, Input, Session, WindowOptions};
use crate::kernels::{Catalogue, catalogue};
use crate::live::Fuse;
use crate::present::{Display, find_display};
use crate::renderer::{Renderer, Settings};
use crate::timing::Capture;

use super::auto::{self, Way};
use super::capture::Recording;
use super::live::LiveKernels;
use super::options::{PresentChoice, ViewOptions};
use super::output::print;
use super::overlay::ViewOverlay;
use super::presets::Presets;
use super::session::{Keep, ViewSession};
use super::setup::{Machine, Request};
use super::start;
use super::tuning::Tuning;
use super::usage;
use super::ways::ViewProcessor;
use super::wishes::Wishes;

/// Frames of an offscreen run that no number was given for: five seconds of 60 Hz.
const OFFSCREEN_FRAMES: u64 = 300;
/// The time step of an offscreen run that none was given for: nobody watches, so its pictures need not depend on the clock.
pub(super) const OFFSCREEN_TIME_STEP: f32 = 1.0 / 60.0;

/// Runs the view.
///
/// # Errors
/// What the user asked for cannot be, or the machine failed.
pub fn run(options: &ViewOptions) -> anyhow::Result<()> {
    check_in_queue(options)?;
    if options.tell_start {
        start::tell();
    }
    let mut presets = Presets::of_user();
    let wishes = Wishes::new(options)?;
    wishes.check(&mut presets)?;
    if let Some(path) = &options.screenshot {
        check_picture_path(path)?;
    }
    let preset = options
        .save_preset
        .as_ref()
        .map(|name| presets.check_new(name))
        .transpose()?;
    let display = if options.present == PresentChoice::Offscreen {
        None
    } else {
        find_display()
            .inspect_err(|reason| tracing::warn!("no display: {reason}"))
            .ok()
    };
    if display.is_none() && matches!(options.present, PresentChoice::Swapchain | PresentChoice::Software) {
        return Err(usage(
            "--present swapchain and software need a display, and neither DISPLAY nor WAYLAND_DISPLAY names one that \
             answers: use --present offscreen",
        ));
    }
    // Before there is a window, whose display would be part of what is measured.
    let way = auto::decided(options, &wishes)?;
    let keep = Keep {
        frames: options.frames,
        time_step: options.time_step,
        screenshot: options.screenshot.clone(),
        preset,
    };
    match display {
        Some(display) => in_window(display, options, way, wishes, keep),
        None => offscreen(options, way, &wishes, keep),
    }
}

/// Makes the user's kernels, and the chain of them and the program's. `makes`: the program's files are watched, and neighbours
/// become one kernel.
fn chain(
    wishes: &Wishes,
    renderer: &mut Renderer,
    machine: &Machine,
    makes: (bool, Fuse),
) -> anyhow::Result<(LiveKernels, Tuning)> {
    let live = LiveKernels::start(&wishes.user, renderer, machine, makes);
    let mut presets = Presets::of_user();
    let chain = wishes.chain(live.catalogue(), &mut presets, &|name| live.awaits(name))?;
    if let Some(loader) = renderer.processor().kernel_loader() {
        // First those that the first frame runs.
        let (active, mut effects) = (chain.active(), live.catalogue().effects().to_vec());
        let first = |id| active.iter().any(|index| live.catalogue().effects()[*index].id == id);
        effects.sort_by_key(|effect| !first(effect.id));
        loader.load_behind(effects);
    }
    Ok((live, Tuning::new(chain, presets)))
}

/// Refuses what a processor in the queue has not.
fn check_in_queue(options: &ViewOptions) -> anyhow::Result<()> {
    if options.processor != Some(ViewProcessor::InQueue) {
        return Ok(());
    }
    if options.schedule.is_some() {
        return Err(usage(
            "--schedule: the processor in-queue has one order only, a submission a frame: leave --schedule out, or use --processor \
             cuda, which has schedules",
        ));
    }
    if options.withhold_processed.is_some() {
        return Err(usage(
            "--withhold-processed: the processor in-queue signals nothing that could be withheld: use --processor cuda or host",
        ));
    }
    Ok(())
}

fn check_picture_path(path: &Path) -> anyhow::Result<()> {
    if path
        .extension()
        .is_none_or(|extension| !extension.eq_ignore_ascii_case("png"))
    {
        return Err(usage(format!(
            "--screenshot {}: pictures are PNG, so its name must end in .png",
            path.display()
        )));
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    if path.is_dir() || !folder.is_dir() {
        let reason = if path.is_dir() {
            "it is a folder"
        } else {
            "its folder does not exist"
        };
        return Err(usage(format!("--screenshot {}: {reason}", path.display())));
    }
    Ok(())
}

fn request(options: &ViewOptions, way: Way) -> Request {
    Request {
        processor: way.processor,
        present: options.present,
        gpu: options.gpu.clone(),
        validate: options.validate,
        validate_if_present: cfg!(debug_assertions),
    }
}

/// How the renderer makes frames.
pub(super) fn settings(options: &ViewOptions, way: Way) -> Settings {
    Settings {
        render_scale: options.render_scale,
        frames_in_flight: options.frames_in_flight.into(),
        schedule: way.schedule,
        wait_limit: options.wait_limit(),
        effects: catalogue().effects().len(),
        instrument: options.instrument,
        check_tags: false,
        check_complement: false,
    }
}

fn overlay(machine: &Machine, catalogue: &Catalogue, options: &ViewOptions) -> ViewOverlay {
    ViewOverlay::new(&machine.device.physical, catalogue, options.overlay, options.ui_scale)
}

fn extent(options: &ViewOptions) -> vk::Extent2D {
    vk::Extent2D {
        width: options.size.width,
        height: options.size.height,
    }
}

fn say_why(machine: &Machine) {
    if let Some(reason) = &machine.without_cuda {
        tracing::info!("the host runs the kernels: {reason}");
    }
    if let Some(reason) = &machine.without_swapchain {
        tracing::info!("frames are shown by software: {reason}");
    }
}

fn in_window(display: Display, options: &ViewOptions, way: Way, wishes: Wishes, keep: Keep) -> anyhow::Result<()> {
    let window_options = WindowOptions {
        title: "Handover".into(),
        extent: extent(options),
        fullscreen: options.fullscreen,
        any_thread: false,
    };
    let options = options.clone();
    app::run(display, window_options, move |window| {
        let mut machine = Machine::open(&request(&options, way), Some(&window))?;
        machine.check_extent(extent(&options))?;
        say_why(&machine);
        let slots = options.frames_in_flight.into();
        let presenter = machine.window_presenter(&window, options.vsync, slots)?;
        let mut renderer = machine.renderer(&options.scene, presenter, settings(&options, way))?;
        withhold(&mut renderer, &options);
        let (live, tuning) = chain(&wishes, &mut renderer, &machine, (true, options.fuse))?;
        let begin = |folder: &PathBuf| Recording::begin(folder, &mut renderer, &machine, tuning.chain()).map_err(usage);
        let capture = options.capture.as_ref().map(begin).transpose()?;
        let overlay = overlay(&machine, live.catalogue(), &options);
        let mut session = ViewSession::new(renderer, machine, (live, tuning), keep, capture, overlay);
        session.scaled(window.scale_factor());
        tracing::info!("{}", session.describe());
        tracing::info!(
            "keys: 1 to 8 switch effects, [ and ] choose a parameter, - and = change it, I shows the overlay, H lists all keys"
        );
        Ok(Box::new(session))
    })
}

fn offscreen(options: &ViewOptions, way: Way, wishes: &Wishes, keep: Keep) -> anyhow::Result<()> {
    let request = Request {
        present: PresentChoice::Offscreen,
        ..request(options, way)
    };
    let machine = Machine::open(&request, None)?;
    machine.check_extent(extent(options))?;
    say_why(&machine);
    let mut renderer = machine.offscreen(&options.scene, extent(options), settings(options, way))?;
    withhold(&mut renderer, options);
    let (live, tuning) = chain(wishes, &mut renderer, &machine, (false, options.fuse))?;

    // Without a display and without a word about what to keep, keep a picture and the timings.
    let default_folder =
        (options.present != PresentChoice::Offscreen && options.capture.is_none() && options.screenshot.is_none())
            .then(|| Capture::next_free(Path::new("handover")));
    let folder: Option<PathBuf> = options.capture.clone().or(default_folder.clone());
    let begin = |folder: &PathBuf| Recording::begin(folder, &mut renderer, &machine, tuning.chain()).map_err(usage);
    let capture = folder.as_ref().map(begin).transpose()?;
    let screenshot = options
        .screenshot
        .clone()
        .or(default_folder.map(|folder| folder.join("frame.png")));
    let frames = options.frames.unwrap_or(OFFSCREEN_FRAMES);
    if options.present != PresentChoice::Offscreen {
        print(format_args!("no display: {frames} frames are rendered offscreen"))?;
    }
    let picture = screenshot.clone();
    let keep = Keep {
        frames: Some(frames),
        time_step: Some(options.time_step.unwrap_or(OFFSCREEN_TIME_STEP)),
        screenshot,
        ..keep
    };
    let overlay = overlay(&machine, live.catalogue(), options);
    let mut session = ViewSession::new(renderer, machine, (live, tuning), keep, capture, overlay);
    tracing::info!("{}", session.describe());
    let ran = render_all(&mut session);
    let closed = session.closing();
    ran.and(closed)?;
    if let Some(path) = picture {
        print(format_args!("picture of the last frame: {}", path.display()))?;
    }
    Ok(())
}

fn render_all(session: &mut ViewSession) -> anyhow::Result<()> {
    while session.frame(&Input::default())? != Flow::Exit {}
    Ok(())
}

fn withhold(renderer: &mut Renderer, options: &ViewOptions) {
    if let Some(frame) = options.withhold_processed {
        renderer.processor().withhold_from(crate::frame::FrameNumber::at(frame));
    }
}
