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
use std::time::Duration;

use anyhow::ensure;
use ash::vk;
use handover::cuda::{Function, launch};
use handover::interop::{Idle, SharedBinarySemaphore, SharedBuffer, SharedMemory, open_descriptors};
use handover::proof::{Pair, Verdict, conclude};
use handover::vulkan::{Buffer, BufferMemory, CommandPool, Timeline, TimelineWait, barrier};

const ROUNDS: u64 = 1000;
/// Rounds in flight. Slot `round % SLOTS` is used anew once the round before in it has retired.
const SLOTS: u64 = 4;
/// A slot of the shared buffer: what Vulkan wrote, CUDA's answer, what CUDA saw, and a word unused.
const SLOT_BYTES: u64 = 16;
/// Far above any round's time, so that only a signal that never comes passes it.
const LIMIT: Duration = Duration::from_secs(10);

const KERNEL: &str = r#"
extern "C" __global__ void reply(unsigned* slot, unsigned expected) {
    unsigned seen = slot[0];
    slot[1] = seen == expected ? 3 * seen + 1 : 0;
    slot[2] = seen;
}"#;

/// What Vulkan writes for a round: no two near rounds share many bits of it.
fn stamp(round: u64) -> u32 {
    (round as u32).wrapping_mul(2_654_435_761)
}

/// What the kernel answers when it has seen exactly that.
fn reply_to(stamp: u32) -> u32 {
    stamp.wrapping_mul(3).wrapping_add(1)
}

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
    let [kernel] = pair.kernels("binary_semaphore.cu", KERNEL, ["reply"])?;

    // The drivers open descriptors of their own the first time that something is shared: a few rounds make them do so.
    Bridge::new(&pair, &kernel)?.run(SLOTS)?;
    let before = open_descriptors()?;
    Bridge::new(&pair, &kernel)?.run(ROUNDS)?;
    let after = open_descriptors()?;
    ensure!(after == before, "expected {before} open descriptors, saw {after}");
    pair.finish()?;
    Ok(Verdict::Pass(format!(
        "{ROUNDS} rounds over one pair of binary semaphores, {SLOTS} in flight, each seen exactly on both sides; {before} \
         descriptors before and after"
    )))
}

/// What rounds need besides the two semaphores. Fields in drop order.
struct Bridge<'a> {
    /// Signalled by Vulkan when round N is written. For the host: Vulkan's validation layer does not see CUDA's signals,
    /// so only timelines that were never exported tell it that a command buffer may be used again.
    drawn: Timeline,
    /// Signalled by Vulkan when the answer to round N is in the slot's `read_back`.
    retired: Timeline,
    shared: SharedBuffer,
    slots: Vec<Slot>,
    kernel: &'a Function,
    pair: &'a Pair,
}

/// What a round in flight has to itself.
struct Slot {
    write: CommandPool,
    read: CommandPool,
    read_back: Buffer,
}

impl<'a> Bridge<'a> {
    fn new(pair: &'a Pair, kernel: &'a Function) -> anyhow::Result<Self> {
        let (device, context, queue) = (&pair.device, &pair.context, pair.device.scene_queue);
        let (source, target) = (vk::BufferUsageFlags::TRANSFER_SRC, vk::BufferUsageFlags::TRANSFER_DST);
        let memory = SharedMemory::new(device, context, SLOTS * SLOT_BYTES, source | target, "slots")?;
        let slot = |_| {
            Ok(Slot {
                write: CommandPool::new(device, queue, "write")?,
                read: CommandPool::new(device, queue, "read")?,
                read_back: Buffer::new(device, SLOT_BYTES, target, BufferMemory::ReadBack, "read back")?,
            })
        };
        Ok(Self {
            drawn: Timeline::new(device, "drawn", false)?,
            retired: Timeline::new(device, "retired", false)?,
            shared: memory.buffer(0, SLOTS * SLOT_BYTES, "slots")?,
            slots: (0..SLOTS).map(slot).collect::<anyhow::Result<_>>()?,
            kernel,
            pair,
        })
    }

    /// All rounds, and then rest. The semaphores come back idle each round: a round that left one armed, or waited for
    /// one twice, would not compile.
    fn run(self, rounds: u64) -> anyhow::Result<()> {
        let (device, context) = (&self.pair.device, &self.pair.context);
        let mut to_cuda = SharedBinarySemaphore::new(device, context, "to_cuda")?;
        let mut to_vulkan = SharedBinarySemaphore::new(device, context, "to_vulkan")?;
        for round in 1..=rounds {
            if let Some(earlier) = round.checked_sub(SLOTS).filter(|earlier| *earlier > 0) {
                self.check(earlier)?;
            }
            (to_cuda, to_vulkan) = self.round(round, to_cuda, to_vulkan)?;
        }
        for round in rounds.saturating_sub(SLOTS - 1).max(1)..=rounds {
            self.check(round)?;
        }
        // The last copy came after all that CUDA did, so neither side uses anything that is dropped here.
        self.pair.finish()
    }

    /// One round: Vulkan writes and signals A; CUDA waits for A, answers, and signals B; Vulkan waits for B and copies.
    fn round(
        &self,
        round: u64,
        to_cuda: SharedBinarySemaphore<Idle>,
        to_vulkan: SharedBinarySemaphore<Idle>,
    ) -> anyhow::Result<(SharedBinarySemaphore<Idle>, SharedBinarySemaphore<Idle>)> {
        let (device, stream, queue) = (&self.pair.device, &self.pair.stream, self.pair.device.scene_queue);
        let (slot, offset) = self.slot(round);
        let range = || offset..offset + SLOT_BYTES;

        // Vulkan writes the round's stamp. The slot goes to the queues of another API, which are a family of their own to
        // Vulkan. It does not have to be acquired first: nothing in it is to be kept.
        let commands = slot.write.begin()?;
        // SAFETY: `commands` is recording; the range is the slot's; the buffer lives until `run` has come to rest.
        unsafe {
            device
                .raw
                .cmd_fill_buffer(commands, self.shared.raw, offset, 4, stamp(round));
        }
        barrier::release_buffer_to_external(device, commands, self.shared.raw, range(), queue.family);
        slot.write.end()?;
        let (signal, to_cuda) = to_cuda.signal_by_vulkan();
        device.submit(queue, commands, &[], &[signal, self.drawn.at(round)])?;

        // CUDA answers.
        let to_cuda = to_cuda.wait_by_cuda(stream)?;
        let address: u64 = self.shared.address + offset;
        let (address, expected) = (address.to_ne_bytes(), stamp(round).to_ne_bytes());
        // SAFETY: the kernel's parameters are an address and 32 bits; the buffer lives until `run` has come to rest.
        unsafe { launch(stream, self.kernel, [1, 1], [1, 1], &[&address, &expected]) }?;
        let to_vulkan = to_vulkan.signal_by_cuda(stream)?;

        // Vulkan copies the answer to where the host reads. Only now can it be told to wait: the signal has been
        // submitted.
        let commands = slot.read.begin()?;
        barrier::acquire_buffer_from_external(device, commands, self.shared.raw, range(), queue.family);
        let region = [vk::BufferCopy::default().src_offset(offset).size(SLOT_BYTES)];
        // SAFETY: `commands` is recording; the range is the slot's; both buffers live until `run` has come to rest.
        unsafe {
            device
                .raw
                .cmd_copy_buffer(commands, self.shared.raw, slot.read_back.raw, &region);
        }
        barrier::transfer_to_host(device, commands);
        slot.read.end()?;
        let (wait, to_vulkan) = to_vulkan.wait_by_vulkan();
        device.submit(queue, commands, &[wait], &[self.retired.at(round)])?;
        Ok((to_cuda, to_vulkan))
    }

    /// Waits until the round has retired, and looks at what came back for it.
    fn check(&self, round: u64) -> anyhow::Result<()> {
        let ended = Timeline::wait_all(&[&self.retired, &self.drawn], round, LIMIT)?;
        ensure!(
            ended == TimelineWait::Reached,
            "expected round {round} to end within {LIMIT:?}, saw that it did not"
        );
        let words: &[u32] = bytemuck::cast_slice(self.slot(round).0.read_back.bytes());
        let written = stamp(round);
        let expected = [written, reply_to(written), written];
        ensure!(
            words.get(..3) == Some(&expected),
            "round {round}: expected {expected:08x?} (written, answered, seen by CUDA), saw {words:08x?}"
        );
        Ok(())
    }

    /// The slot of a round, and where its bytes begin in the shared buffer.
    fn slot(&self, round: u64) -> (&Slot, u64) {
        let index = round % SLOTS;
        (&self.slots[index as usize], index * SLOT_BYTES)
    }
}
