//! The CUDA guide's interop chapter, sections 4.19.2.1.4 and .9: binary semaphores that both APIs signal and wait for.
//!
//! Proves with 1,000 rounds over one pair of semaphores, several rounds in flight and no wait of the host for the current
//! one, that CUDA sees exactly what Vulkan wrote for round N and Vulkan exactly what CUDA made of it.
//!
//! ```text
//! Vulkan, queue   fill N ─▶ signal A                           wait B ─▶ copy N ─▶ retired = N   fill N+1 ─▶ signal A …
//!                              │                                 ▲                    │
//! CUDA, stream                 └▶ wait A ─▶ kernel N ─▶ signal B ┘                    │
//!                                                                                     │
//! host                                                                                └▶ checks N, reuses its slot for N+4
//! ```
//!
//! A binary semaphore has no values, so its rules are stricter than a timeline's:
//!
//! * Each signal has one wait, and each wait one signal. `SharedBinarySemaphore` has this in its type: `Idle` can only be
//!   signalled, `Armed` only waited for. The documentation of its file has the programs that break it and do not compile.
//! * The signal is submitted before its wait is. The order of the host's calls below is therefore the order of the arrows:
//!   unlike with timelines no other will do, and the types allow no other.
//! * It is signalled again only when the GPU has done its last wait. Here one queue sees to that: what it does for N+1, A's
//!   signal too, comes after its copy of N, so after B's signal, so after CUDA's wait for A.
//! * The host can neither signal it nor read it. When a side fails, nobody can let the other one go: where that must be
//!   possible, timelines are the choice, as in `timeline_semaphore`.

use std::process::ExitCode;

use handover::anyhow;
use handover::interop::{Idle, SharedBinarySemaphore};
use handover::proof::{Pair, StampedSlots, Verdict, conclude};

const ROUNDS: u64 = 1000;
/// Rounds in flight. Slot `round % SLOTS` is used anew once the round before in it has retired.
const SLOTS: u64 = 4;

fn main() -> ExitCode {
    conclude("binary_semaphore", run)
}

/// Runs the example.
///
/// # Errors
/// A round's value that is not the one expected, or a round that does not end.
pub fn run() -> anyhow::Result<Verdict> {
    let pair = match Pair::open()? {
        Ok(pair) => pair,
        Err(reason) => return Ok(Verdict::Skip(reason)),
    };
    let ((), descriptors) = pair.leaves_nothing(|| rounds(&pair))?;
    pair.finish()?;
    Ok(Verdict::Pass(format!(
        "{ROUNDS} rounds over one pair of binary semaphores, {SLOTS} in flight, each seen exactly on both sides; \
         {descriptors} descriptors before and after"
    )))
}

/// All rounds, and then rest. The semaphores come back idle each round: a round that left one armed, or waited for one twice,
/// would not compile.
fn rounds(pair: &Pair) -> anyhow::Result<()> {
    let (device, context) = (&pair.device, &pair.context);
    let mut to_cuda = SharedBinarySemaphore::new(device, context, "to_cuda")?;
    let mut to_vulkan = SharedBinarySemaphore::new(device, context, "to_vulkan")?;
    let slots = StampedSlots::new(pair, SLOTS, device.scene_queue)?;
    for number in 1..=ROUNDS {
        slots.reuse(number)?;
        (to_cuda, to_vulkan) = round(pair, &slots, number, to_cuda, to_vulkan)?;
    }
    slots.check_last(ROUNDS)?;
    // The last copy came after all that CUDA did, so neither side uses anything that is dropped here.
    pair.finish()
}

/// One round: Vulkan writes and signals A; CUDA waits for A, answers, and signals B; Vulkan waits for B and copies.
fn round(
    pair: &Pair,
    slots: &StampedSlots<'_>,
    number: u64,
    to_cuda: SharedBinarySemaphore<Idle>,
    to_vulkan: SharedBinarySemaphore<Idle>,
) -> anyhow::Result<(SharedBinarySemaphore<Idle>, SharedBinarySemaphore<Idle>)> {
    let (signal, to_cuda) = to_cuda.signal_by_vulkan();
    slots.write(number, signal)?;

    let to_cuda = to_cuda.wait_by_cuda(&pair.stream)?;
    slots.answer(number)?;
    let to_vulkan = to_vulkan.signal_by_cuda(&pair.stream)?;

    // Only now can Vulkan be told to wait: the signal has been submitted.
    let (wait, to_vulkan) = to_vulkan.wait_by_vulkan();
    slots.read(number, wait)?;
    Ok((to_cuda, to_vulkan))
}
