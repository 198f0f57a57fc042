//! Traces, read back with the message classes of Perfetto's own Python package by `scripts/check-trace`.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

#[path = "support/program.rs"]
#[allow(dead_code, reason = "tests look at different parts of what a run leaves")]
mod program;

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use handover::timing::{
    Capture, FrameRecord, FrameSpans, HostWork, Interval, KernelSpan, Sheet, TraceInfo, TracedEffect,
};
use handover::vulkan::Calibration;
use program::Program;

/// Nanoseconds from one frame to the next.
const PERIOD: f64 = 1e6;
/// Frames in flight.
const SLOTS: u64 = 4;
/// The device's clock when the host's is at 0.
const DEVICE_ORIGIN: f64 = 7e9;
/// The device's clock is so much faster.
const DRIFT: f64 = 10e-6;
/// The host's clock when the capture begins.
const BEGIN: f64 = 50e9;

fn check(dir: &Path, options: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/check-trace");
    Command::new(script).args(options).arg(dir).output().unwrap()
}

/// What the check prints about a trace with which all is well.
fn passes(dir: &Path, options: &[&str]) -> String {
    let output = check(dir, options);
    let (stdout, stderr) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    assert!(output.status.success(), "{stdout}{stderr}");
    stdout
}

/// What the check says is wrong.
fn fails(dir: &Path) -> String {
    let output = check(dir, &[]);
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

fn info() -> TraceInfo {
    TraceInfo {
        application: "handover".to_owned(),
        process_id: 41,
        thread_id: 41,
        scene_queue: "queue family 0".to_owned(),
        present_queue: None,
        processor: "cuda on a GPU".to_owned(),
        effects: vec![
            TracedEffect {
                name: "bloom".to_owned(),
                kernels: vec!["bloom: bright".to_owned(), "bloom: down".to_owned()],
            },
            TracedEffect {
                name: "sobel".to_owned(),
                kernels: vec!["sobel".to_owned()],
            },
        ],
        ..TraceInfo::default()
    }
}

/// Frames as a renderer with one queue makes them: the present of a frame comes between the scenes of later ones, and so do
/// their submissions on the host. Stamps jitter, and the clocks drift apart between calibrations.
struct Frames {
    random: fastrand::Rng,
    count: u64,
    calibration: Calibration,
}

impl Frames {
    fn new(count: u64) -> Self {
        let mut frames = Self {
            random: fastrand::Rng::with_seed(5),
            count,
            calibration: Calibration {
                device_ns: 0,
                host_ns: 0,
                deviation_ns: 1_000,
            },
        };
        frames.calibrate(BEGIN - 3e8);
        frames
    }

    /// As each second: the two readings are up to a microsecond apart.
    fn calibrate(&mut self, host_ns: f64) {
        self.calibration.host_ns = host_ns as u64;
        self.calibration.device_ns = (device_ns(host_ns) + 1e3 * self.random.f64()) as u64;
    }

    /// A time of the host's clock, in frames since the begin, with a jitter of a two-thousandth.
    fn at(&mut self, frames: f64) -> f64 {
        BEGIN + (frames + self.random.f64() / 2e3) * PERIOD
    }

    fn record(&mut self, frame: u64) -> FrameRecord {
        let n = (frame - 1) as f64;
        if self.at(n + 4.0) - self.calibration.host_ns as f64 > 1e9 {
            let now = self.at(n + 4.0);
            self.calibrate(now);
        }
        let waited_for = (frame > SLOTS).then(|| frame - SLOTS);
        let host = self.host(n, frame);
        let [scene, present] = [(n + 0.3, n + 0.7), (n + 4.05, n + 4.15)].map(|part| self.on_device(part));
        // Stamps of one stream: each kernel ends where the next begins.
        let stamps = [0.85, 1.1, 1.3, 1.55].map(|part| device_ns(self.at(n + part)) as u64);
        let chain = Interval::new(stamps[0] - 2_000, stamps[3] + 2_000);
        let kernels = [(0, 0), (0, 1), (1, 0)].into_iter().zip(stamps.windows(2));
        let kernels: Vec<_> = kernels
            .map(|((effect, pass), ends)| KernelSpan {
                effect,
                pass,
                fused: None,
                interval: Interval::new(ends[0], ends[1]),
                bytes: 2 * 8 * 1280 * 720,
            })
            .collect();
        let of_effect = |effect| {
            let spans = kernels.iter().filter(|kernel| kernel.effect == effect);
            Some(spans.map(|kernel| kernel.interval.milliseconds()).sum())
        };
        // Shown in every other frame, within the present; the table counts it apart.
        let within = (present.start_ns + 1_000, present.end_ns - 1_000);
        let overlay = frame.is_multiple_of(2).then(|| Interval::new(within.0, within.1));
        let overlay_ms = overlay.map(Interval::milliseconds);
        FrameRecord {
            frame,
            start: Duration::from_nanos((n * PERIOD) as u64),
            waited_for_frame: waited_for,
            scene_ms: Some(scene.milliseconds()),
            chain_ms: Some(chain.milliseconds()),
            present_gpu_ms: Some(present.milliseconds() - overlay_ms.unwrap_or(0.0)),
            overlay_ms,
            kernels_ms: vec![of_effect(0), of_effect(1)],
            spans: FrameSpans {
                host,
                scene: Some(scene),
                chain: Some(chain),
                kernels,
                present: Some(present),
                overlay,
                in_flight: frame.min(SLOTS) as usize,
                memory_used: Some(200 << 20),
                calibration: Some(self.calibration),
            },
            ..FrameRecord::default()
        }
    }

    fn host(&mut self, n: f64, frame: u64) -> Vec<(HostWork, Interval)> {
        use HostWork as Work;
        let mut host = Vec::new();
        // Woken 20 µs after the present pass's end, and after the work that this thread did in between.
        let begin = [0.0, 0.17, 0.18, 0.19, 0.21, 0.24, 0.265].map(|part| self.at(n + part));
        let works = [
            Work::WaitForSlot,
            Work::Retire,
            Work::Acquire,
            Work::RecordScene,
            Work::SubmitScene,
            Work::EnqueueChain,
        ];
        host.extend(
            works
                .into_iter()
                .zip(begin.windows(2))
                .map(|(work, ends)| (work, whole(ends))),
        );
        let present = [1.27, 1.28, 1.29, 1.298].map(|part| self.at(n + part));
        let works = [Work::RecordPresent, Work::SubmitPresent, Work::Present];
        host.extend(
            works
                .into_iter()
                .zip(present.windows(2))
                .map(|(work, ends)| (work, whole(ends))),
        );
        if frame + SLOTS > self.count {
            let wait = [4.0, 4.17].map(|part| self.at(n + part));
            host.push((Work::WaitForFrame, whole(&wait)));
        }
        host
    }

    fn on_device(&mut self, (from, to): (f64, f64)) -> Interval {
        let [from, to] = [from, to].map(|part| device_ns(self.at(part)) as u64);
        Interval::new(from, to)
    }
}

fn device_ns(host_ns: f64) -> f64 {
    DEVICE_ORIGIN + host_ns * (1.0 + DRIFT)
}

fn whole(ends: &[f64]) -> Interval {
    Interval::new(ends[0] as u64, ends[1] as u64)
}

/// Writes a capture of so many frames, each of which `adjust` may change.
fn capture(dir: &Path, count: u64, adjust: impl Fn(&mut FrameRecord)) {
    let sheet = Sheet::of_this_process("Vulkan", &["bloom", "sobel"]);
    let capture = Capture::create(dir, sheet, &info()).unwrap();
    let mut frames = Frames::new(count);
    for frame in 1..=count {
        let mut record = frames.record(frame);
        adjust(&mut record);
        capture.push(&record);
    }
    assert_eq!(capture.finish().unwrap().rows, count);
}

#[test]
fn every_arrow_of_ten_thousand_frames_is_causal() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    capture(&dir, 10_000, |_| {});
    let said = passes(&dir, &[]);
    for words in [
        "10000 scene, 10000 chain, 10000 present of",
        "10000 scene to chain:",
        "10000 chain to present:",
        "9996 present to wait for slot:",
        "4 present to wait for frame:",
        "9996 scene to wait for slot:",
        "4 scene to wait for frame:",
        "10000 submit scene to scene:",
        "10000 enqueue chain to chain:",
        "10000 submit present to present:",
        "40000 of GB/s bloom",
        "20000 of GB/s sobel",
        "10000 of frames in flight",
    ] {
        assert!(said.contains(words), "no `{words}` in\n{said}");
    }
}

/// Frames whose chain runs in the queue: one submission, and one signal, at its end.
#[test]
fn frames_that_are_submitted_whole_have_no_arrow_within() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    capture(&dir, 1_000, |record| {
        use HostWork as Work;
        let host = &mut record.spans.host;
        host.retain(|(work, _)| !matches!(work, Work::RecordPresent | Work::SubmitPresent | Work::Present));
        for (work, _) in host {
            *work = match *work {
                Work::SubmitScene => Work::RecordChain,
                Work::EnqueueChain => Work::SubmitFrame,
                other => other,
            };
        }
    });
    let said = passes(&dir, &[]);
    for words in [
        "1000 scene, 1000 chain, 1000 present of",
        "996 present to wait for slot:",
        "4 present to wait for frame:",
        "1000 submit frame to scene:",
    ] {
        assert!(said.contains(words), "no `{words}` in\n{said}");
    }
    for words in ["scene to chain:", "chain to present:", "scene to wait", "to present:"] {
        assert!(!said.contains(words), "`{words}` in\n{said}");
    }
}

/// The check is one: each of these is found.
#[test]
fn what_is_wrong_with_a_trace_is_found() {
    let place = tempfile::tempdir().unwrap();
    let wrong = |name: &str, adjust: fn(&mut FrameRecord)| {
        let dir = place.path().join(name);
        capture(&dir, 40, adjust);
        fails(&dir)
    };
    let said = wrong("chain before scene", |record| {
        if record.frame == 7 {
            let chain = record.spans.chain.as_mut().unwrap();
            chain.start_ns -= 400_000;
            record.chain_ms = Some(chain.milliseconds());
        }
    });
    assert!(
        said.contains("the arrow from `scene` of frame 7 to `chain` of frame 7 ends"),
        "{said}"
    );
    let said = wrong("woken before retired", |record| {
        if record.frame == 9 {
            record.spans.host[0].1.end_ns -= 100_000;
        }
    });
    assert!(
        said.contains("the arrow from `present` of frame 5 to `woken`"),
        "{said}"
    );
    let said = wrong("other kernel times", |record| {
        if record.frame == 11 {
            record.kernels_ms[1] = record.kernels_ms[1].map(|time| time + 0.002);
        }
    });
    assert!(said.contains("kernels of `sobel` in frame 11"), "{said}");
    let said = wrong("no scene", |record| {
        if record.frame == 12 {
            record.spans.scene = None;
        }
    });
    assert!(said.contains("frame 12: no `scene`"), "{said}");

    // In the files.
    let dir = place.path().join("run");
    capture(&dir, 40, |_| {});
    passes(&dir, &[]);
    let table = fs::read_to_string(dir.join("frames.csv")).unwrap();
    let lines: Vec<_> = table.lines().collect();
    fs::write(dir.join("frames.csv"), lines[..40].join("\n")).unwrap();
    let said = fails(&dir);
    assert!(said.contains("frames [40] are not in the table"), "{said}");
    fs::write(dir.join("frames.csv"), table).unwrap();
    let trace = OpenOptions::new().write(true).open(dir.join("trace.pftrace")).unwrap();
    trace.set_len(trace.metadata().unwrap().len() - 1).unwrap();
    let said = fails(&dir);
    assert!(said.contains("does not end with a whole packet"), "{said}");
}

/// The program itself: its table and its trace tell the same of each frame.
#[test]
fn a_capture_of_the_program_has_a_trace_that_passes() {
    for schedule in ["pipelined --frames-in-flight 3", "serial", "copy-back --overlay"] {
        let arguments = format!(
            "--present offscreen --size 160x90 --frames 60 --kernels bloom,sobel --capture run --schedule {schedule}"
        );
        let ended = Program::start(&arguments, |_, _| {}).end();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let said = passes(&ended.folder.path().join("run"), &[]);
        assert!(said.contains("60 scene,") && said.contains("60 present"), "{said}");
    }
}

#[test]
fn a_killed_program_leaves_a_trace_that_reads() {
    let running = Program::start(
        "--present offscreen --size 64x64 --scene none --frames 1000000 --kernels none --capture run",
        |_, _| {},
    );
    let dir = running.folder.path().join("run");
    let limit = Instant::now() + Duration::from_secs(60);
    while fs::metadata(dir.join("trace.pftrace")).map_or(0, |file| file.len()) < 50_000 {
        assert!(Instant::now() < limit, "no trace: {}", running.stderr());
        std::thread::sleep(Duration::from_millis(10));
    }
    let folder = running.kill();
    let said = passes(&folder.path().join("run"), &["--cut-short"]);
    assert!(said.contains(" scene,"), "{said}");
}
