//! The self-test of live kernels: files are saved while frames run, good and broken ones by turns.
//!
//! Frames come at the pace of a display, since that is what a hitch is measured against: a frame of a free-running loop is shorter
//! than what any thread is interrupted for.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use ash::vk;

use crate::cuda::{Nvrtc, memory_taken};
use crate::interop::open_descriptors;
use crate::kernels::{Chain, Plan};
use crate::live::Fuse;
use crate::process::KernelLoader;
use crate::renderer::{Renderer, Settings, View};
use crate::timing::statistics::{percentile, sorted};
use crate::whole_file;

use super::live::{Changes, LiveKernels, UserFiles};
use super::live_plan::plan_of;
use super::selftest::Outcome::{self, Failed, Passed, Skipped};
use super::selftest::settings;
use super::setup::Machine;

/// From one frame to the next: a display of 120 Hz.
const PACE: Duration = Duration::from_nanos(8_333_333);
/// From a save to the first frame with the new kernel, at most.
const LATENCY_LIMIT: Duration = Duration::from_millis(300);
/// A save that nothing comes of is lost.
const PATIENCE: Duration = Duration::from_secs(10);
/// Frames before, and after: two seconds.
const QUIET_FRAMES: usize = 240;
/// Saves before memory is looked at for the first time: allocators keep what they had once.
const WARM_UP: u32 = 8;
/// GPU memory may be another process's, and drivers allocate by blocks of this many bytes.
const MEMORY_SLACK: u64 = 8 << 20;
/// A frame may take so many times the median, as long as kernels are compiled beside it.
const HITCH: f64 = 2.0;

/// The kernel of a save: it writes its number, as a shade of red, so that the picture tells which one ran.
fn code(number: u32, is_broken: bool) -> String {
    let shade = f64::from(shade(number)) / 255.0;
    let missing = if is_broken { "missing + " } else { "" };
    format!(
        "/*---\ntitle = \"Shade {number}\"\nstage = \"inspect\"\n\n[[passes]]\nentry = \"shade\"\nsource = \"input\"\n\
         destination = \"output\"\n---*/\n#include \"handover.cuh\"\n\n\
         extern \"C\" __global__ void shade(const __grid_constant__ Pass pass, const __grid_constant__ NoParameters parameters) {{\n    \
         int2 at = thread_texel();\n    if (!covers(pass.destination, at)) return;\n    \
         store(pass.destination, at, make_float4({missing}{shade:.6}f, 0.0f, 0.0f, 1.0f));\n}}\n"
    )
}

/// Neighbours differ by far more than the display's encoding rounds.
fn shade(number: u32) -> u32 {
    32 + number * 59 % 192
}

/// What is taken at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Taken {
    memory: u64,
    descriptors: usize,
    effects: usize,
    threads: usize,
}

/// The frames, with the times between them.
struct Stage {
    renderer: Renderer,
    live: LiveKernels,
    chain: Chain,
    plan: Arc<Plan>,
    loader: Arc<KernelLoader>,
    next_at: Instant,
    begun_at: Option<Instant>,
    /// Milliseconds from one frame's begin to the next.
    frame_ms: Vec<f64>,
    retired: u64,
}

impl Stage {
    /// One frame at its time, and what came of files before it.
    fn frame(&mut self) -> anyhow::Result<Changes> {
        std::thread::sleep(self.next_at.saturating_duration_since(Instant::now()));
        self.next_at = (self.next_at + PACE).max(Instant::now());
        let changes = self.live.poll();
        if let Some(catalogue) = &changes.catalogue {
            self.chain.adopt(Arc::clone(catalogue));
            self.plan = Arc::new(plan_of(&self.chain, &self.live, &self.renderer));
            self.live.unload(&changes);
        }
        let now = Instant::now();
        self.frame_ms
            .extend(self.begun_at.map(|begun| (now - begun).as_secs_f64() * 1e3));
        self.begun_at = Some(now);
        self.renderer.render_frame(&View::first(&self.plan))?;
        for record in self.renderer.take_records() {
            self.retired = record.frame;
        }
        Ok(changes)
    }

    fn frames(&mut self, count: usize) -> anyhow::Result<Vec<f64>> {
        (self.begun_at, self.next_at) = (None, Instant::now());
        self.frame_ms.clear();
        for _ in 0..=count {
            self.frame()?;
        }
        Ok(std::mem::take(&mut self.frame_ms))
    }

    /// Saves, and runs frames until something came of it: the time to the end of the first frame with the new kernel, or to the
    /// message.
    fn save(&mut self, path: &Path, text: &str, is_broken: bool) -> anyhow::Result<Duration> {
        let saved_at = Instant::now();
        whole_file::replace(path, |file| std::io::Write::write_all(file, text.as_bytes()))?;
        let mut first = None;
        while first.is_none_or(|first| self.retired < first) {
            let changes = self.frame()?;
            anyhow::ensure!(
                saved_at.elapsed() < PATIENCE,
                "nothing came of a save within {PATIENCE:?}"
            );
            if changes.has_other_problems && is_broken {
                anyhow::ensure!(changes.catalogue.is_none(), "a broken file changed the effects");
                return Ok(saved_at.elapsed());
            }
            if changes.catalogue.is_some() {
                anyhow::ensure!(!is_broken, "a broken file was taken over");
                first = Some(self.renderer.last_frame().value());
            }
        }
        Ok(saved_at.elapsed())
    }

    /// The red of the picture's middle, 0 to 1 in linear light.
    fn shown(&mut self) -> anyhow::Result<f64> {
        let picture = self.renderer.read_screen()?;
        self.renderer.take_records();
        let encoded = f64::from(picture.get_pixel(picture.width() / 2, picture.height() / 2)[0]) / 255.0;
        // IEC 61966-2-1.
        Ok(if encoded <= 0.04045 {
            encoded / 12.92
        } else {
            ((encoded + 0.055) / 1.055).powf(2.4)
        })
    }

    fn taken(&mut self, machine: &Machine) -> anyhow::Result<Taken> {
        self.renderer.finish()?;
        self.renderer.take_records();
        let (driver, device) = machine.cuda.as_ref().context("CUDA was there")?;
        Ok(Taken {
            memory: memory_taken(&driver.context(device)?)?,
            descriptors: open_descriptors()?,
            effects: self.loader.count(),
            threads: fs::read_dir("/proc/self/task").map(Iterator::count).unwrap_or_default(),
        })
    }
}

/// Runs it with so many saves, every second one of a broken kernel.
pub(super) fn run(machine: &Machine, saves: u32) -> anyhow::Result<Outcome> {
    let Some(nvrtc) = Nvrtc::get() else {
        return Ok(Skipped(
            "there is no NVRTC to compile kernels: install the CUDA toolkit's, or run scripts/compile-kernels".into(),
        ));
    };
    if machine.cuda.is_none() {
        return Ok(Skipped(
            "kernels that are saved run on CUDA, which does not run the chain here".into(),
        ));
    }
    let folder = tempfile::tempdir().context("make a folder for kernels")?;
    let path = folder.path().join("shade.cu");
    fs::write(&path, code(0, false))?;
    let extent = vk::Extent2D {
        width: 1280,
        height: 720,
    };
    let settings = Settings {
        check_tags: false,
        ..settings()
    };
    let mut renderer = machine.offscreen("studio", extent, settings)?;
    let user = UserFiles::new(std::slice::from_ref(&path), &[])?;
    let live = LiveKernels::start(&user, &mut renderer, machine, (false, Fuse::Off));
    let chain = Chain::with_enabled(live.catalogue(), &["shade"])?;
    let plan = Arc::new(plan_of(&chain, &live, &renderer));
    let loader = renderer.processor().kernel_loader().context("CUDA loads kernels")?;
    let mut stage = Stage {
        renderer,
        live,
        chain,
        plan,
        loader,
        next_at: Instant::now(),
        begun_at: None,
        frame_ms: Vec::new(),
        retired: 0,
    };
    let before = stage.frames(QUIET_FRAMES)?;
    let (mut during, mut latencies, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    let mut first_taken = None;
    for number in 1..=saves {
        if number == WARM_UP.min(saves) {
            first_taken = Some(stage.taken(machine)?);
        }
        let is_broken = number % 2 == 0;
        (stage.begun_at, stage.next_at) = (None, Instant::now());
        let took = stage
            .save(&path, &code(number, is_broken), is_broken)
            .with_context(|| format!("save {number}"))?;
        during.append(&mut stage.frame_ms);
        if !is_broken {
            latencies.push(took.as_secs_f64() * 1e3);
        }
        // The picture is that of the last good file, also after a broken one.
        if number <= WARM_UP || number + 2 > saves {
            let good = number - u32::from(is_broken);
            let (expected, shown) = (f64::from(shade(good)) / 255.0, stage.shown()?);
            if (expected - shown).abs() > 0.01 {
                faults.push(format!(
                    "after save {number} the picture shows {shown:.3} and not {expected:.3}"
                ));
            }
        }
    }
    let last_taken = stage.taken(machine)?;
    let after = stage.frames(QUIET_FRAMES)?;

    let median = percentile(&sorted(&before), 50.0).unwrap_or_default();
    let slowest = latencies.iter().copied().fold(0.0, f64::max);
    if slowest > LATENCY_LIMIT.as_secs_f64() * 1e3 {
        faults.push(format!(
            "a save took {slowest:.0} ms to its first frame; at most {} are allowed",
            LATENCY_LIMIT.as_millis()
        ));
    }
    let hitches = |times: &[f64]| times.iter().filter(|time| **time > HITCH * median).count();
    if hitches(&during) > hitches(&before) + hitches(&after) {
        let (count, all) = (hitches(&during), during.len());
        faults.push(format!(
            "{count} of {all} frames took more than {HITCH} times the median while files were compiled"
        ));
    }
    if let Some(first) = first_taken {
        // The driver ends threads of its own as it likes.
        let has_grown = last_taken.memory > first.memory + MEMORY_SLACK || last_taken.threads > first.threads;
        if has_grown || (last_taken.descriptors, last_taken.effects) != (first.descriptors, first.effects) {
            faults.push(format!(
                "something stays: {first:?} at first, {last_taken:?} after {saves} saves"
            ));
        }
    }
    let (major, minor) = nvrtc.version();
    let line = |name: &str, times: &[f64]| {
        let times_sorted = sorted(times);
        let at = |percent| percentile(&times_sorted, percent).unwrap_or_default();
        format!(
            "{name}: median {:.2} ms, 99th percentile {:.2}, longest {:.2}, {} of {} over {HITCH} times the median before",
            at(50.0),
            at(99.0),
            at(100.0),
            hitches(times),
            times.len()
        )
    };
    let latency = sorted(&latencies);
    let at = |percent| percentile(&latency, percent).unwrap_or_default();
    let text = format!(
        "{saves} saves, every second one broken, NVRTC {major}.{minor}; from save to the end of the first frame with the new kernel: \
         median {:.0} ms, 95th percentile {:.0}, longest {:.0}\n{}\n{}\n{}\n{} effects loaded, {} descriptors, {} threads, {:.1} MiB \
         more GPU memory taken than after {} saves",
        at(50.0),
        at(95.0),
        at(100.0),
        line("frames before", &before),
        line("frames meanwhile", &during),
        line("frames after", &after),
        last_taken.effects,
        last_taken.descriptors,
        last_taken.threads,
        first_taken.map_or(0.0, |first| (last_taken.memory as f64 - first.memory as f64)
            / f64::from(1 << 20)),
        WARM_UP.min(saves)
    );
    Ok(if faults.is_empty() {
        Passed(text)
    } else {
        Failed(format!("{}\n{text}", faults.join("\n")))
    })
}
