//! Whether CUDA's `%globaltimer` and Vulkan's timestamps are one clock: measured, since nobody promises it.

use std::sync::Arc;
use std::time::Duration;

use crate::cuda::{CudaContext, CudaStream, Stamps};
use crate::timing::ClockRelation;
use crate::timing::clock::Round;
use crate::vulkan::{CommandPool, Device, Timeline, TimelineWait, TimestampPool};

use super::{Error, SharedTimeline};

/// A round costs two switches of the GPU's context, about 0.3 ms: 40 of them take some 15 ms.
const ROUNDS: u64 = 40;
const LIMIT: Duration = Duration::from_secs(2);

/// Runs rounds of Vulkan stamp → semaphore → CUDA stamp → semaphore → Vulkan stamp, and bounds the clocks' offset.
///
/// [`ClockRelation::Unrelated`] also when the queue has no timestamps.
///
/// # Errors
/// A failed call.
pub fn prove_clock(
    device: &Arc<Device>,
    context: &Arc<CudaContext>,
    stream: &CudaStream,
) -> Result<ClockRelation, Error> {
    let queue = device.scene_queue;
    let Some(mut timestamps) = TimestampPool::new(device, queue, 2, "clock proof")? else {
        return Ok(ClockRelation::Unrelated);
    };
    let to_cuda = Timeline::new(device, "clock proof: to CUDA", true)?;
    let to_vulkan = Timeline::new(device, "clock proof: to Vulkan", true)?;
    let finished = Timeline::new(device, "clock proof: finished", false)?;
    let cuda_to_cuda = SharedTimeline::import(device, context, &to_cuda)?;
    let cuda_to_vulkan = SharedTimeline::import(device, context, &to_vulkan)?;
    let mut stamps = Stamps::new(context, 1)?;
    let (before, after) = (
        CommandPool::new(device, queue, "clock proof: before")?,
        CommandPool::new(device, queue, "clock proof: after")?,
    );

    let mut rounds = Vec::new();
    for round in 1..=ROUNDS {
        timestamps.reset();
        stamps.clear(0);
        timestamps.write(before.begin()?, 0);
        before.end()?;
        device.submit(queue, before.commands, &[], &[to_cuda.at(round)])?;
        cuda_to_cuda.wait(stream, round)?;
        stamps.enqueue(stream, 0)?;
        cuda_to_vulkan.signal(stream, round)?;
        timestamps.write(after.begin()?, 1);
        timestamps.copy(after.commands);
        after.end()?;
        device.submit(queue, after.commands, &[to_vulkan.at(round)], &[finished.at(round)])?;
        if finished.wait(round, LIMIT)? == TimelineWait::TimedOut {
            // What hangs here hangs in the first frame too, whose bounded wait says more; let both sides go.
            for timeline in [&to_cuda, &to_vulkan] {
                if timeline.value()? < round {
                    timeline.signal(round)?;
                }
            }
            device.wait_idle()?;
            return Ok(ClockRelation::Unrelated);
        }
        if let ([Some(before), Some(after)], Some(between)) = (timestamps.read().as_slice(), stamps.read(0)) {
            rounds.push(Round {
                before: *before,
                between,
                after: *after,
            });
        }
    }
    Ok(ClockRelation::from_rounds(&rounds))
}
