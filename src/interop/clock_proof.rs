//! Whether CUDA's `%globaltimer` and Vulkan's timestamps are one clock: measured, since nobody promises it.

use std::sync::Arc;
use std::time::Duration;

use crate::cuda::{CudaContext, CudaStream, ResultExt, Stamps};
use crate::timing::clock::Round;
use crate::timing::{ClockProof, ClockRelation, ProvenBy};
use crate::vulkan::{CommandPool, Device, Timeline, TimelineWait, TimestampPool, host_ns};

use super::{Error, SharedTimeline};

/// A round costs two switches of the GPU's context, about 0.3 ms: 40 of them take some 15 ms.
const ROUNDS: u64 = 40;
const LIMIT: Duration = Duration::from_secs(2);

/// Runs rounds of Vulkan stamp → semaphore → CUDA stamp → semaphore → Vulkan stamp, and bounds the clocks' offset.
///
/// Where it is proven that they are one clock, the times of both APIs in nanoseconds can be subtracted from each other: so the time
/// of a hand-over can be told. It takes some 15 ms, with nothing else on the stream or the scene queue.
///
/// Where no offset fits all rounds, or the queue has no timestamps, the clocks are compared by way of the host's, which is coarser:
/// [`ClockProof::by`] says so.
///
/// ```no_run
/// use handover::interop::prove_clock;
/// use handover::proof::Pair;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??;
///     let proof = prove_clock(&pair.device, &pair.context, &pair.stream)?;
///     println!("{}: {proof:?}", pair.cuda.name);
///     Ok(pair.finish()?)
/// }
/// ```
///
/// # Errors
/// A failed call.
pub fn prove_clock(device: &Arc<Device>, context: &Arc<CudaContext>, stream: &CudaStream) -> Result<ClockProof, Error> {
    let proof = ClockProof::from_rounds(
        ProvenBy::Semaphores,
        &hand_over_rounds(device, context, stream, ROUNDS)?,
    );
    if proof.relation == ClockRelation::Unrelated {
        return prove_by_host(device, context, stream);
    }
    Ok(proof)
}

/// Hands over and back `count` times with nothing in between, and stamps before, between and after: what a hand-over costs without
/// a renderer. No rounds where the queue has no timestamps, or when one did not end within two seconds.
///
/// # Errors
/// A failed call.
pub fn hand_over_rounds(
    device: &Arc<Device>,
    context: &Arc<CudaContext>,
    stream: &CudaStream,
    count: u64,
) -> Result<Vec<Round>, Error> {
    let Some(mut proof) = Proof::new(device, context)? else {
        return Ok(Vec::new());
    };
    let rounds = (1..=count)
        .map(|round| proof.round(stream, round))
        .collect::<Result<Option<Vec<_>>, _>>();
    if !matches!(rounds, Ok(Some(_))) {
        proof.let_go(count)?;
    }
    Ok(rounds?.unwrap_or_default())
}

/// Rounds of the host's clock, read before a CUDA stamp is enqueued and after it is there.
fn prove_by_host(device: &Device, context: &Arc<CudaContext>, stream: &CudaStream) -> Result<ClockProof, Error> {
    let mut stamps = Stamps::new(&Stamps::kernel(context)?, 1)?;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        // Calibrated in each round: the clocks drift apart.
        let Some(calibration) = device.calibrate()? else {
            return Ok(ClockProof::NONE);
        };
        stamps.clear(0);
        let before = host_ns();
        stamps.enqueue(stream, 0)?;
        stream.synchronize().during(|| "wait for a stamp")?;
        let after = host_ns();
        let uncertain = calibration.deviation_ns;
        rounds.extend(stamps.read(0).map(|between| Round {
            before: calibration.device_from_host(before).saturating_sub(uncertain),
            between,
            after: calibration.device_from_host(after).saturating_add(uncertain),
        }));
    }
    Ok(ClockProof::from_rounds(ProvenBy::HostClock, &rounds))
}

/// What the rounds need. Fields in drop order.
struct Proof {
    cuda_to_cuda: SharedTimeline,
    cuda_to_vulkan: SharedTimeline,
    to_cuda: Timeline,
    to_vulkan: Timeline,
    finished: Timeline,
    stamps: Stamps,
    timestamps: TimestampPool,
    before: CommandPool,
    after: CommandPool,
    device: Arc<Device>,
}

impl Proof {
    /// `None`: the queue has no timestamps.
    fn new(device: &Arc<Device>, context: &Arc<CudaContext>) -> Result<Option<Self>, Error> {
        let queue = device.scene_queue;
        let Some(timestamps) = TimestampPool::new(device, queue, 2, "clock proof")? else {
            return Ok(None);
        };
        let to_cuda = Timeline::new(device, "clock proof: to CUDA", true)?;
        let to_vulkan = Timeline::new(device, "clock proof: to Vulkan", true)?;
        Ok(Some(Self {
            cuda_to_cuda: SharedTimeline::import(device, context, &to_cuda)?,
            cuda_to_vulkan: SharedTimeline::import(device, context, &to_vulkan)?,
            to_cuda,
            to_vulkan,
            finished: Timeline::new(device, "clock proof: finished", false)?,
            stamps: Stamps::new(&Stamps::kernel(context)?, 1)?,
            timestamps,
            before: CommandPool::new(device, queue, "clock proof: before")?,
            after: CommandPool::new(device, queue, "clock proof: after")?,
            device: Arc::clone(device),
        }))
    }

    /// One round; `None`: it did not end within the limit, or left no stamp.
    fn round(&mut self, stream: &CudaStream, round: u64) -> Result<Option<Round>, Error> {
        let queue = self.device.scene_queue;
        self.timestamps.reset();
        self.stamps.clear(0);
        self.timestamps.write(self.before.begin()?, 0);
        self.before.end()?;
        self.device
            .submit(queue, self.before.commands, &[], &[self.to_cuda.at(round)])?;
        self.cuda_to_cuda.wait(stream, round)?;
        self.stamps.enqueue(stream, 0)?;
        self.cuda_to_vulkan.signal(stream, round)?;
        self.timestamps.write(self.after.begin()?, 1);
        self.timestamps.copy(self.after.commands, 2);
        self.after.end()?;
        let (waits, signals) = ([self.to_vulkan.at(round)], [self.finished.at(round)]);
        self.device.submit(queue, self.after.commands, &waits, &signals)?;
        if self.finished.wait(round, LIMIT)? == TimelineWait::TimedOut {
            return Ok(None);
        }
        let (vulkan, cuda) = (self.timestamps.read(), self.stamps.read(0));
        Ok(match (vulkan.as_slice(), cuda) {
            ([Some(before), Some(after)], Some(between)) => Some(Round {
                before: *before,
                between,
                after: *after,
            }),
            _ => None,
        })
    }

    /// After a round that failed or did not end: signals in both sides' place, so that neither uses what is dropped.
    fn let_go(&self, rounds: u64) -> Result<(), Error> {
        for timeline in [&self.to_cuda, &self.to_vulkan] {
            if timeline.value()? < rounds {
                timeline.signal(rounds)?;
            }
        }
        Ok(self.device.wait_idle()?)
    }
}
