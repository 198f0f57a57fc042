//! `--processor auto` and `--schedule auto`: each way that the machine has, measured for half a second at the start of a view.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk;
use clap::ValueEnum;

use crate::kernels::Plan;
use crate::live::Fuse;
use crate::renderer::{Renderer, Schedule, Settings, View};
use crate::timing::statistics::{percentile, sorted};
use crate::timing::{FrameRecord, Instrument};

use super::fused_kernels::FusedKernels;
use super::live::LiveKernels;
use super::options::{PresentChoice, ProcessorChoice, ViewOptions};
use super::presets::Presets;
use super::setup::{Machine, Request};
use super::ways::{Prefer, ViewProcessor, ViewSchedule};
use super::wishes::Wishes;
use super::{usage, view};

/// How long each way is measured, and before that warmed up: a GPU's clock rises within that.
const MEASURED: Duration = Duration::from_millis(500);
const WARM_UP: Duration = Duration::from_millis(150);

/// How a view's frames are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    /// Who runs the chain.
    pub processor: ProcessorChoice,
    /// The order of submissions; in the queue there is but one.
    pub schedule: Schedule,
}

impl Way {
    /// In words; `open` is the machine that was opened for it, which says what became of [`ProcessorChoice::Auto`].
    fn text(&self, open: Option<&Machine>) -> String {
        let asked = self.processor.to_possible_value();
        let asked = asked.map_or(String::new(), |value| value.get_name().to_owned());
        let name = open.map_or(asked, |machine| machine.processor_name().to_owned());
        match self.processor {
            ProcessorChoice::InQueue => name,
            _ => format!("{name}, {}", self.schedule.name()),
        }
    }
}

/// What a way took.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Figures {
    frames: u64,
    /// Mean time of a frame, microseconds.
    frame_us: f64,
    /// Median from a frame's start on the host to its retirement; `None` where it cannot be measured.
    latency_ms: Option<f64>,
}

impl fmt::Display for Figures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let latency = self
            .latency_ms
            .map_or("not known".into(), |latency| format!("{latency:.3} ms"));
        let Self { frames, frame_us, .. } = self;
        write!(
            formatter,
            "{frame_us:.1} µs a frame, p50 latency {latency}, {frames} frames"
        )
    }
}

/// The way that was asked for, measured where that was.
///
/// # Errors
/// Options that say nothing here; none of the ways can be: the last one's error, of which least is asked.
pub(super) fn decided(options: &ViewOptions, wishes: &Wishes) -> anyhow::Result<Way> {
    if !asks(options) {
        if options.prefer.is_some() {
            return Err(usage(
                "--prefer: it says what auto picks by, and nothing is to be picked: use it with --processor auto, --schedule auto or both",
            ));
        }
        return Ok(Way {
            processor: options
                .processor
                .and_then(ViewProcessor::fixed)
                .unwrap_or(ProcessorChoice::Auto),
            schedule: options
                .schedule
                .and_then(ViewSchedule::fixed)
                .unwrap_or(Schedule::Pipelined),
        });
    }
    let prefer = options.prefer.unwrap_or_default();
    let mut measured: Vec<(Way, Figures)> = Vec::new();
    let mut failure = None;
    let mut machine: Option<(ProcessorChoice, Machine)> = None;
    for way in ways(options) {
        let figures = obstacle(options, way)
            .map_or(Ok(()), |reason| Err(anyhow::anyhow!(reason)))
            .and_then(|()| machine_for(&mut machine, way.processor, options))
            .and_then(|machine| figures(machine, options, wishes, way));
        let figures = figures.and_then(|figures| match (prefer, figures.latency_ms) {
            (Prefer::Latency, None) => anyhow::bail!(
                "its latency is not known: its queue takes no timestamps, or their clock is not the host's"
            ),
            _ => Ok(figures),
        });
        let open = machine.as_ref().map(|(_, machine)| machine);
        match figures {
            Ok(figures) => {
                tracing::info!("auto: {}: {figures}", way.text(open));
                measured.push((way, figures));
            }
            Err(error) => {
                let text = format!("{error:#}");
                let reason = text.lines().next().unwrap_or_default();
                tracing::info!("auto: {} is left out: {reason}", way.text(None));
                failure = Some(error);
            }
        }
    }
    match best(&measured, prefer) {
        Some((way, figures)) => {
            let open = machine.as_ref().filter(|(processor, _)| *processor == way.processor);
            let text = way.text(open.map(|(_, machine)| machine));
            tracing::info!("auto: by {}: {text}, with {figures}", prefer.name());
            Ok(*way)
        }
        None => Err(failure.unwrap_or_else(|| anyhow::anyhow!("there is no way to measure"))),
    }
}

/// Whether something is to be measured.
fn asks(options: &ViewOptions) -> bool {
    options.processor == Some(ViewProcessor::Auto) || options.schedule == Some(ViewSchedule::Auto)
}

/// What is measured: those of each processor together, the host's last, since it is there on every machine.
fn ways(options: &ViewOptions) -> Vec<Way> {
    let processors = match options.processor {
        Some(ViewProcessor::Auto) => vec![ProcessorChoice::Cuda, ProcessorChoice::InQueue, ProcessorChoice::Host],
        other => vec![other.and_then(ViewProcessor::fixed).unwrap_or(ProcessorChoice::Auto)],
    };
    let schedules = match options.schedule {
        Some(ViewSchedule::Auto) => vec![Schedule::Serial, Schedule::Pipelined, Schedule::CopyBack],
        other => vec![other.and_then(ViewSchedule::fixed).unwrap_or(Schedule::Pipelined)],
    };
    let of = |processor: ProcessorChoice| {
        let schedules = match processor {
            ProcessorChoice::InQueue => &[Schedule::Pipelined][..],
            _ => &schedules,
        };
        let ways = schedules.iter().map(move |schedule| Way {
            processor,
            schedule: *schedule,
        });
        ways.collect::<Vec<_>>()
    };
    processors.into_iter().flat_map(of).collect()
}

/// Why a way is not what was asked for.
fn obstacle(options: &ViewOptions, way: Way) -> Option<&'static str> {
    if way.processor != ProcessorChoice::InQueue {
        return None;
    }
    if options.schedule.is_some_and(|schedule| schedule.fixed().is_some()) {
        return Some("it has one order only, and --schedule names another");
    }
    options
        .withhold_processed
        .map(|_| "it signals nothing that --withhold-processed could withhold")
}

/// The GPU, opened for that processor; the one before is closed first.
fn machine_for<'a>(
    open: &'a mut Option<(ProcessorChoice, Machine)>,
    processor: ProcessorChoice,
    options: &ViewOptions,
) -> anyhow::Result<&'a Machine> {
    if open.as_ref().is_none_or(|(other, _)| *other != processor) {
        *open = None;
        let request = Request {
            processor,
            present: PresentChoice::Offscreen,
            gpu: options.gpu.clone(),
            // The layer has times of its own.
            validate: false,
            validate_if_present: false,
        };
        let machine = Machine::open(&request, None)?;
        return Ok(&open.insert((processor, machine)).1);
    }
    let (_, machine) = open.as_ref().expect("it is open");
    Ok(machine)
}

/// Measures a way: the view's frames, without a window and without an overlay.
fn figures(machine: &Machine, options: &ViewOptions, wishes: &Wishes, way: Way) -> anyhow::Result<Figures> {
    let extent = vk::Extent2D {
        width: options.size.width,
        height: options.size.height,
    };
    machine.check_extent(extent)?;
    let asked = view::settings(options, way);
    let settings = Settings {
        // Without stamps there is no latency.
        instrument: match (asked.instrument, options.prefer) {
            (Instrument::Off, Some(Prefer::Latency)) => Instrument::Frame,
            (instrument, _) => instrument,
        },
        ..asked
    };
    let mut renderer = machine.offscreen(&options.scene, extent, settings)?;
    let plan = plan(&mut renderer, machine, options, wishes)?;
    let mut frames = Frames {
        renderer,
        view: View::first(&Arc::new(plan)),
        time_step: options.time_step.unwrap_or(view::OFFSCREEN_TIME_STEP),
    };
    // The first frame loads kernels.
    frames.run_for(Duration::ZERO)?;
    let (alone, records) = frames.run_for(Duration::ZERO)?;
    // Where a frame takes longer than the measurement it is one: with several in flight the next ones would take as often as long.
    if alone > MEASURED {
        return Ok(summary(alone, &records));
    }
    frames.run_for(WARM_UP)?;
    let (took, records) = frames.run_for(MEASURED)?;
    Ok(summary(took, &records))
}

/// The view's plan, with fused kernels made beforehand where the view has them made beside its frames.
fn plan(renderer: &mut Renderer, machine: &Machine, options: &ViewOptions, wishes: &Wishes) -> anyhow::Result<Plan> {
    let live = LiveKernels::start(&wishes.user, renderer, machine, (false, Fuse::Off));
    let chain = wishes.chain(live.catalogue(), &mut Presets::of_user(), &|name| live.awaits(name))?;
    let chain = chain.only(|effect| live.can_run(effect));
    let given = renderer.given();
    Ok(match (&machine.cuda, options.fuse) {
        (Some((_, device)), Fuse::Auto) => {
            let kernels = FusedKernels::default();
            chain.plan_fused(given, &|members| kernels.find(members, device.compute_capability))
        }
        _ => chain.plan_over(given),
    })
}

/// Frames of a scene that moves on.
struct Frames {
    renderer: Renderer,
    view: View,
    time_step: f32,
}

impl Frames {
    /// Renders for so long, one frame at least, until all have retired: how long it took, and the frames' records.
    fn run_for(&mut self, time: Duration) -> anyhow::Result<(Duration, Vec<FrameRecord>)> {
        let started = Instant::now();
        loop {
            self.renderer.render_frame(&self.view)?;
            self.view.scene.time += self.time_step;
            self.view.scene.time_delta = self.time_step;
            if started.elapsed() >= time {
                break;
            }
        }
        self.renderer.finish()?;
        Ok((started.elapsed(), self.renderer.take_records()))
    }
}

fn summary(took: Duration, records: &[FrameRecord]) -> Figures {
    let latencies: Vec<f64> = records.iter().filter_map(|record| record.latency_ms).collect();
    Figures {
        frames: records.len() as u64,
        frame_us: took.as_secs_f64() * 1e6 / records.len() as f64,
        latency_ms: percentile(&sorted(&latencies), 50.0),
    }
}

/// The first of those that are best.
fn best(measured: &[(Way, Figures)], prefer: Prefer) -> Option<&(Way, Figures)> {
    let cost = |figures: &Figures| match prefer {
        Prefer::Latency => figures.latency_ms.unwrap_or(f64::INFINITY),
        Prefer::Throughput => figures.frame_us,
    };
    measured
        .iter()
        .min_by(|(_, one), (_, other)| cost(one).total_cmp(&cost(other)))
}

#[cfg(test)]
#[path = "auto_tests.rs"]
mod tests;
