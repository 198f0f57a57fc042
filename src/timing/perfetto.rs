//! `trace.pftrace` as bytes: from records to Perfetto's protobuf format, which <https://ui.perfetto.dev> opens.
//!
//! A trace has a track for the frame thread, for each Vulkan queue and for the processor, counters beside them, and an arrow
//! for every timeline value from its signal to the wait that it ends. Times are on the device's clock; a snapshot relates it
//! to the host's. Nothing here reads a clock or writes a file.
//!
//! An arrow's two ends carry the times of the signal and of the wait's end. Perfetto draws an arrow from the slice that
//! begins first, and a host wait may begin before the work it waits for: so its end is an instant within it.

use std::sync::Arc;

use super::record::FrameRecord;
use super::spans::{GpuWork, HostWork, KernelSpan};

mod block;
mod flow;
mod frame;
mod host_clock;
mod names;
mod proto;
mod track;
mod tracks;

use block::Block;
use flow::Unanswered;
use host_clock::HostClock;
use names::Names;
use proto::{SEQ_INCREMENTAL_STATE_CLEARED, TracePacket, TracePacketDefaults};
use track::Track;

/// What all frames of a trace have in common.
#[derive(Debug, Clone, Default)]
pub struct TraceInfo {
    /// Name of the program.
    pub application: String,
    /// Identifier of its process.
    pub process_id: u32,
    /// Identifier of the thread that makes the frames.
    pub thread_id: u32,
    /// What presents the frames, for instance `Vulkan`.
    pub present_runtime: String,
    /// Name of the queue that draws scenes.
    pub scene_queue: String,
    /// Name of the queue that presents, if it is another one.
    pub present_queue: Option<String>,
    /// Who runs the chain.
    pub processor: String,
    /// How the chain's clock and the device's are related.
    pub clock: String,
    /// By catalogue index.
    pub effects: Vec<TracedEffect>,
}

/// An effect and its kernels, as they are named.
#[derive(Debug, Clone, Default)]
pub struct TracedEffect {
    /// Its name.
    pub name: String,
    /// What its kernels are called, in the order they run.
    pub kernels: Vec<String>,
}

impl TraceInfo {
    /// What a kernel is called.
    fn kernel(&self, span: &KernelSpan) -> &str {
        let of_effect = || Some(self.effects.get(span.effect)?.kernels.get(span.pass)?.as_str());
        span.fused.or_else(of_effect).unwrap_or(UNKNOWN_KERNEL)
    }
}

/// The device's clock: the first of the numbers that a writer may give to a clock of its own.
const DEVICE_CLOCK: u32 = 64;

const SCENE: &str = GpuWork::Scene.label();
const CHAIN: &str = GpuWork::Chain.label();
const PRESENT: &str = GpuWork::Present.label();
const OVERLAY: &str = GpuWork::Overlay.label();
const UNKNOWN_KERNEL: &str = "kernel";
const BEGIN: &str = "capture begins";
const END: &str = "capture ends";
/// Within a host wait: where it ends.
const WOKEN: &str = "woken";
/// A frame that no frame of the capture waited for: it retired, and then a frame was given up before it began.
const NOT_WAITED_FOR: &str = "not waited for";

/// Turns records, in the order of frames, into the bytes of a trace.
#[derive(Debug)]
pub struct TraceWriter {
    info: TraceInfo,
    names: Arc<Names>,
    clock: HostClock,
    thread: Track,
    scene: Track,
    /// `None` where the scene's queue presents.
    present: Option<Track>,
    chain: Track,
    unanswered: Unanswered,
    /// What has a track for its bandwidth: effects, and launches of several, by name.
    described: Vec<String>,
    /// The latest time written, once the snapshot of the clocks is.
    latest_ns: Option<u64>,
    memory_used: Option<u64>,
}

impl TraceWriter {
    /// A writer, and the bytes that a trace begins with.
    pub fn new(info: &TraceInfo) -> (Self, Vec<u8>) {
        let fixed = [
            SCENE,
            CHAIN,
            PRESENT,
            OVERLAY,
            UNKNOWN_KERNEL,
            BEGIN,
            END,
            WOKEN,
            NOT_WAITED_FOR,
        ];
        let work = HostWork::ALL.iter().map(|work| work.label());
        let kernels = info.effects.iter().flat_map(|effect| effect.kernels.iter().cloned());
        let names = Arc::new(Names::new(
            fixed.into_iter().chain(work).map(str::to_owned).chain(kernels),
        ));
        let mut block = Block::new(&names);
        block.packet(TracePacket {
            sequence_flags: Some(SEQ_INCREMENTAL_STATE_CLEARED),
            first_packet_on_sequence: Some(true),
            trace_packet_defaults: Some(TracePacketDefaults {
                timestamp_clock_id: Some(DEVICE_CLOCK),
            }),
            interned_data: Some(names.interned()),
            ..TracePacket::default()
        });
        tracks::describe(&mut block, info);
        let header = block.encode();
        let writer = Self {
            info: info.clone(),
            names,
            clock: HostClock::default(),
            thread: Track::new(tracks::FRAME_THREAD),
            scene: Track::new(tracks::SCENE),
            present: info.present_queue.as_ref().map(|_| Track::new(tracks::PRESENT)),
            chain: Track::new(tracks::CHAIN),
            unanswered: Unanswered::default(),
            described: Vec::new(),
            latest_ns: None,
            memory_used: None,
        };
        (writer, header)
    }

    /// The bytes of a frame: whole packets, of which none needs one that comes later.
    ///
    /// An arrow to a host wait is there from the signal's side; the record of the frame that waited brings its end. Only a
    /// trace that was cut short lacks any.
    pub fn frame(&mut self, record: &FrameRecord) -> Vec<u8> {
        let mut block = Block::new(&self.names);
        self.write_frame(&mut block, record);
        block.encode()
    }

    /// The bytes that a trace ends with.
    pub fn finish(mut self) -> Vec<u8> {
        let mut block = Block::new(&self.names);
        self.end_unanswered(&mut block, u64::MAX);
        if let Some(latest_ns) = self.latest_ns {
            block.instant(tracks::PROCESS, END, latest_ns, Vec::new(), Vec::new());
        }
        block.encode()
    }
}

#[cfg(test)]
mod tests;
