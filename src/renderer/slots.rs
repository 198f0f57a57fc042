//! What slots are made of, and the queues that they are made for.

use std::sync::Arc;

use super::record::TIMESTAMPS;
use super::{Error, Settings, Slot};
use crate::scene::Scene;
use crate::timing::Instrument;
use crate::vulkan::{self, CommandPool, Device, Queue, TimestampPool};

/// What slots keep, for frames whose scene and present are recorded for these queues.
pub(super) fn slots(
    device: &Arc<Device>,
    [scene_queue, present_queue]: [Queue; 2],
    only_copies: bool,
    in_queue: bool,
    settings: &Settings,
) -> Result<Vec<Slot>, Error> {
    let slot = |slot| {
        let pool = |queue, part| CommandPool::new(device, queue, &format!("{part} of slot {slot}"));
        let name = format!("timestamps of slot {slot}");
        Ok(Slot {
            scene_commands: pool(scene_queue, "scene")?,
            present_commands: pool(present_queue, "present")?,
            timestamps: match settings.instrument {
                Instrument::Off => None,
                // The queue is all there is, so it is spared the copy where it can be.
                _ if in_queue && device.answers_queries_at_once() => {
                    TimestampPool::asked(device, present_queue, TIMESTAMPS, &name)?
                }
                _ => timestamps(device, [scene_queue, present_queue], only_copies, &name)?,
            },
            in_flight: None,
        })
    };
    (0..settings.frames_in_flight).map(slot).collect()
}

/// The queue that does all of a frame.
pub(super) fn whole_frame_queue(device: &Device, scene: &dyn Scene) -> Queue {
    if scene.needs_graphics() {
        device.scene_queue
    } else {
        device.present_queue
    }
}

/// The timestamps of a slot, which scene and present take on their queues. Of two queues those of the fewest valid bits hold for both;
/// where the present's can take none and only copies, the scene's are taken alone.
fn timestamps(
    device: &Arc<Device>,
    [scene_queue, present_queue]: [Queue; 2],
    only_copies: bool,
    name: &str,
) -> Result<Option<TimestampPool>, vulkan::Error> {
    let queues = [scene_queue, present_queue].into_iter();
    let queues = queues.filter(|queue| queue.timestamp_valid_bits > 0 || !only_copies);
    let queue = queues.min_by_key(|queue| queue.timestamp_valid_bits);
    let queue = queue.unwrap_or(scene_queue);
    if only_copies {
        TimestampPool::asked(device, queue, TIMESTAMPS, name)
    } else {
        TimestampPool::new(device, queue, TIMESTAMPS, name)
    }
}
