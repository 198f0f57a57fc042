//! Packets on their way to bytes.

use std::sync::Arc;

use prost::Message;

use super::names::Names;
use super::proto::{
    DebugAnnotation, SEQ_NEEDS_INCREMENTAL_STATE, TYPE_COUNTER, TYPE_INSTANT, TYPE_SLICE_BEGIN, TYPE_SLICE_END, Trace,
    TracePacket, TrackDescriptor, TrackEvent,
};
use crate::timing::Interval;

/// All packets are of one writer.
const SEQUENCE: u32 = 1;

/// What is said about a slice, and the arrows at its two ends.
#[derive(Debug, Clone, Default)]
pub(super) struct Slice {
    /// Said about it.
    pub notes: Vec<DebugAnnotation>,
    /// Arrows that end at its start.
    pub answers: Vec<u64>,
    /// Arrows that begin at its start.
    pub sends: Vec<u64>,
    /// Arrows that begin at its end.
    pub signals: Vec<u64>,
}

/// Packets that are written together. A packet's place in the file counts where times are equal.
pub(super) struct Block {
    names: Arc<Names>,
    packets: Vec<TracePacket>,
}

impl Block {
    pub fn new(names: &Arc<Names>) -> Self {
        Self {
            names: Arc::clone(names),
            packets: Vec::new(),
        }
    }

    /// The bytes: a trace that can follow, and be followed by, others of the same writer.
    pub fn encode(self) -> Vec<u8> {
        Trace { packet: self.packets }.encode_to_vec()
    }

    pub fn packet(&mut self, packet: TracePacket) {
        self.packets.push(TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            sequence_flags: packet.sequence_flags.or(Some(SEQ_NEEDS_INCREMENTAL_STATE)),
            ..packet
        });
    }

    pub fn track(&mut self, track_descriptor: TrackDescriptor) {
        self.packet(TracePacket {
            track_descriptor: Some(track_descriptor),
            ..TracePacket::default()
        });
    }

    /// A slice; what `within` writes is nested in it.
    pub fn slice(&mut self, track: u64, name: &str, interval: Interval, slice: Slice, within: impl FnOnce(&mut Self)) {
        let begin = TrackEvent {
            name_iid: self.names.of(name),
            // Names that came up while it was written.
            name: self.names.of(name).is_none().then(|| name.to_owned()),
            debug_annotations: slice.notes,
            flow_ids: slice.sends,
            terminating_flow_ids: slice.answers,
            ..event(TYPE_SLICE_BEGIN, track)
        };
        self.event(interval.start_ns, begin);
        within(self);
        let end = TrackEvent {
            flow_ids: slice.signals,
            ..event(TYPE_SLICE_END, track)
        };
        self.event(interval.end_ns, end);
    }

    /// An instant, at which arrows may end.
    pub fn instant(&mut self, track: u64, name: &str, at_ns: u64, answers: Vec<u64>, notes: Vec<DebugAnnotation>) {
        let instant = TrackEvent {
            name_iid: self.names.of(name),
            debug_annotations: notes,
            terminating_flow_ids: answers,
            ..event(TYPE_INSTANT, track)
        };
        self.event(at_ns, instant);
    }

    /// A counter's value from now on.
    pub fn count(&mut self, track: u64, at_ns: u64, value: i64, notes: Vec<DebugAnnotation>) {
        let counter = TrackEvent {
            counter_value: Some(value),
            debug_annotations: notes,
            ..event(TYPE_COUNTER, track)
        };
        self.event(at_ns, counter);
    }

    /// As [`count`](Self::count), for values with fractions.
    pub fn rate(&mut self, track: u64, at_ns: u64, value: f64) {
        let counter = TrackEvent {
            double_counter_value: Some(value),
            ..event(TYPE_COUNTER, track)
        };
        self.event(at_ns, counter);
    }

    fn event(&mut self, at_ns: u64, track_event: TrackEvent) {
        self.packet(TracePacket {
            timestamp: Some(at_ns),
            track_event: Some(track_event),
            ..TracePacket::default()
        });
    }
}

fn event(kind: u32, track: u64) -> TrackEvent {
    TrackEvent {
        r#type: Some(kind),
        track_uuid: Some(track),
        ..TrackEvent::default()
    }
}
