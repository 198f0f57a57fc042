//! The tracks of a trace, in the order in which they are shown.

use super::TraceInfo;
use super::block::Block;
use super::proto::{
    CounterDescriptor, EXPLICIT, ProcessDescriptor, ThreadDescriptor, TrackDescriptor, UNIT_COUNT, UNIT_SIZE_BYTES,
    UNIT_TIME_NS,
};

/// Identifiers of tracks. Those of one trace differ; that is all they need.
pub(super) const PROCESS: u64 = 1;
pub(super) const FRAME_THREAD: u64 = 2;
pub(super) const SCENE: u64 = 3;
pub(super) const CHAIN: u64 = 4;
pub(super) const PRESENT: u64 = 5;
pub(super) const IN_FLIGHT: u64 = 6;
pub(super) const MEMORY: u64 = 7;
pub(super) const HOST_CLOCK: u64 = 8;
/// The first; the others follow in the order in which they were first seen.
const BANDWIDTH: u64 = 1000;

/// The track of the bandwidth of an effect, or of a launch of several.
pub(super) fn bandwidth(place: usize) -> u64 {
    BANDWIDTH + place as u64
}

/// Describes all tracks but those of bandwidths.
pub(super) fn describe(block: &mut Block, info: &TraceInfo) {
    let pid = Some(info.process_id.cast_signed());
    block.track(TrackDescriptor {
        uuid: Some(PROCESS),
        process: Some(ProcessDescriptor {
            pid,
            process_name: Some(info.application.clone()),
        }),
        child_ordering: Some(EXPLICIT),
        ..TrackDescriptor::default()
    });
    block.track(TrackDescriptor {
        uuid: Some(FRAME_THREAD),
        parent_uuid: Some(PROCESS),
        thread: Some(ThreadDescriptor {
            pid,
            tid: Some(info.thread_id.into()),
            thread_name: Some("frame thread".to_owned()),
        }),
        ..TrackDescriptor::default()
    });
    let (scene_queue, processor) = (&info.scene_queue, &info.processor);
    match &info.present_queue {
        Some(present_queue) => {
            block.track(child(SCENE, &format!("scene ({scene_queue})")));
            block.track(child(CHAIN, &format!("chain ({processor})")));
            block.track(child(PRESENT, &format!("present ({present_queue})")));
        }
        None => {
            block.track(child(SCENE, &format!("scene and present ({scene_queue})")));
            block.track(child(CHAIN, &format!("chain ({processor})")));
        }
    }
    block.track(counter(IN_FLIGHT, "frames in flight", UNIT_COUNT));
    block.track(counter(MEMORY, "GPU memory, bytes", UNIT_SIZE_BYTES));
    let drift = "host clock against device clock, ns drift since the start";
    block.track(counter(HOST_CLOCK, drift, UNIT_TIME_NS));
}

/// Describes the track of such a bandwidth.
pub(super) fn describe_bandwidth(block: &mut Block, place: usize, name: &str) {
    block.track(TrackDescriptor {
        counter: Some(CounterDescriptor {
            unit: None,
            unit_name: Some("GB/s".to_owned()),
        }),
        ..child(bandwidth(place), &format!("GB/s {name}"))
    });
}

fn counter(uuid: u64, name: &str, unit: u32) -> TrackDescriptor {
    TrackDescriptor {
        counter: Some(CounterDescriptor {
            unit: Some(unit),
            unit_name: None,
        }),
        ..child(uuid, name)
    }
}

/// A track of the process. Identifiers grow in the order of the tracks.
fn child(uuid: u64, name: &str) -> TrackDescriptor {
    TrackDescriptor {
        uuid: Some(uuid),
        parent_uuid: Some(PROCESS),
        name: Some(name.to_owned()),
        sibling_order_rank: i32::try_from(uuid).ok(),
        ..TrackDescriptor::default()
    }
}
