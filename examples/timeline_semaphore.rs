//! The CUDA guide's interop chapter, sections 4.19.2.1.4, .8 and .9: timeline semaphores that both APIs signal and wait for.
//!
//! Proves with 1,000 frames, four of them in flight and no wait of the host for the current one, that CUDA sees exactly
//! what Vulkan wrote for frame N and Vulkan exactly what CUDA made of it; that a signal which does not come ends in a
//! bounded wait; and that either side may be told to wait before the other has been told to signal.
//!
//! ```text
//! Vulkan, scene queue    fill N ──▶ to_cuda = N      fill N+1 ──▶ to_cuda = N+1
//!                                       │                             │
//! CUDA, stream                          └▶ kernel N ─▶ to_vulkan = N  └▶ kernel N+1 ─▶ to_vulkan = N+1
//!                                                          │                               │
//! Vulkan, present queue                                    └▶ copy N ─▶ retired = N        └▶ copy N+1 ─▶ retired = N+1
//!                                                                           │
//! host                                                                      └▶ checks N, and fills its slot with N+4
//! ```
//!
//! One timeline a producer, and each value is a frame number. With one for both directions, frame N+1's `to_cuda` would
//! pass the value of N's `to_vulkan` while that is still to come, and values may only grow.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{bail, ensure};
use ash::vk;
use handover::cuda::{Function, launch};
use handover::interop::{SharedBuffer, SharedMemory, SharedTimeline, open_descriptors};
use handover::proof::{Pair, Verdict, conclude};
use handover::vulkan::{Buffer, BufferMemory, CommandPool, Timeline, TimelineWait, barrier};

const FRAMES: u64 = 1000;
/// Frames in flight. Slot `frame % SLOTS` is filled anew once the frame before in it has retired.
const SLOTS: u64 = 4;
/// A slot of the shared buffer: what Vulkan wrote, CUDA's answer, what CUDA saw, and a word unused.
const SLOT_BYTES: u64 = 16;
/// Far above any frame's time, so that only a signal that never comes passes it.
const LIMIT: Duration = Duration::from_secs(10);
/// For the signal that is withheld.
const WITHHELD: Duration = Duration::from_millis(500);

const KERNEL: &str = r#"
extern "C" __global__ void reply(unsigned* slot, unsigned expected) {
    unsigned seen = slot[0];
    slot[1] = seen == expected ? 3 * seen + 1 : 0;
    slot[2] = seen;
}"#;

/// What Vulkan writes for a frame: no two near frames share many bits of it.
fn stamp(frame: u64) -> u32 {
    (frame as u32).wrapping_mul(2_654_435_761)
}

/// What the kernel answers when it has seen exactly that.
fn reply_to(stamp: u32) -> u32 {
    stamp.wrapping_mul(3).wrapping_add(1)
}

fn main() -> ExitCode {
    conclude("timeline_semaphore", run)
}

/// Runs the example.
///
/// # Errors
/// A frame's value that is not the one expected, or a wait that ended otherwise than it should.
pub fn run() -> anyhow::Result<Verdict> {
    let pair = match Pair::open()? {
        Ok(pair) => pair,
        Err(reason) => return Ok(Verdict::Skip(reason)),
    };
    let [kernel] = pair.kernels("timeline_semaphore.cu", KERNEL, ["reply"])?;

    // The drivers open descriptors of their own the first time that something is shared: a few frames make them do so.
    Bridge::new(&pair, &kernel)?.run(SLOTS)?;
    let before = open_descriptors()?;
    let figures = Bridge::new(&pair, &kernel)?.run(FRAMES)?;
    let after = open_descriptors()?;
    ensure!(after == before, "expected {before} open descriptors, saw {after}");
    pair.finish()?;
    Ok(Verdict::Pass(format!(
        "{figures}; {before} descriptors before and after"
    )))
}

/// What frames need. Fields in drop order: CUDA's side of a timeline before Vulkan's.
struct Bridge<'a> {
    cuda_to_cuda: SharedTimeline,
    cuda_to_vulkan: SharedTimeline,
    /// Signalled by Vulkan when frame N is written.
    to_cuda: Timeline,
    /// Signalled by CUDA when frame N is answered.
    to_vulkan: Timeline,
    /// Signalled with `to_cuda`, for the host. Vulkan's validation layer does not see CUDA's signals, so only timelines
    /// that were never exported tell it that a command buffer may be used again: this one and `retired`.
    drawn: Timeline,
    /// Signalled by Vulkan when the answer to frame N is in the slot's `read_back`.
    retired: Timeline,
    shared: SharedBuffer,
    slots: Vec<Slot>,
    kernel: &'a Function,
    pair: &'a Pair,
}

/// What a frame in flight has to itself.
struct Slot {
    write: CommandPool,
    read: CommandPool,
    read_back: Buffer,
}

impl<'a> Bridge<'a> {
    fn new(pair: &'a Pair, kernel: &'a Function) -> anyhow::Result<Self> {
        let (device, context) = (&pair.device, &pair.context);
        let to_cuda = Timeline::new(device, "to_cuda", true)?;
        let to_vulkan = Timeline::new(device, "to_vulkan", true)?;
        let (source, target) = (vk::BufferUsageFlags::TRANSFER_SRC, vk::BufferUsageFlags::TRANSFER_DST);
        let memory = SharedMemory::new(device, context, SLOTS * SLOT_BYTES, source | target, "slots")?;
        let slot = |_| {
            Ok(Slot {
                write: CommandPool::new(device, device.scene_queue, "write")?,
                read: CommandPool::new(device, device.present_queue, "read")?,
                read_back: Buffer::new(device, SLOT_BYTES, target, BufferMemory::ReadBack, "read back")?,
            })
        };
        Ok(Self {
            cuda_to_cuda: SharedTimeline::import(device, context, &to_cuda)?,
            cuda_to_vulkan: SharedTimeline::import(device, context, &to_vulkan)?,
            to_cuda,
            to_vulkan,
            drawn: Timeline::new(device, "drawn", false)?,
            retired: Timeline::new(device, "retired", false)?,
            shared: memory.buffer(0, SLOTS * SLOT_BYTES, "slots")?,
            slots: (0..SLOTS).map(slot).collect::<anyhow::Result<_>>()?,
            kernel,
            pair,
        })
    }

    /// All that is proven, and then rest: whatever went wrong, nothing is dropped that a GPU still uses.
    fn run(self, frames: u64) -> anyhow::Result<String> {
        let proven = self.prove(frames);
        if proven.is_err() {
            // Signals in both sides' place. Vulkan waits only for `to_vulkan`, so it ends first; then CUDA can.
            for timeline in [&self.to_vulkan, &self.to_cuda] {
                if timeline.value()? < frames + 3 {
                    timeline.signal(frames + 3)?;
                }
                self.pair.device.wait_idle()?;
            }
        }
        // Ends, since every wait has its signal. An error of a kernel is told with what was expected of it.
        let rested = self.pair.finish();
        let figures = proven?;
        rested?;
        Ok(figures)
    }

    fn prove(&self, frames: u64) -> anyhow::Result<String> {
        // 1. The frames. The host waits only for the one that was in the slot before.
        for frame in 1..=frames {
            if let Some(earlier) = frame.checked_sub(SLOTS).filter(|earlier| *earlier > 0) {
                self.check(earlier)?;
            }
            self.write(frame)?;
            self.answer(frame)?;
            self.read(frame)?;
        }
        for frame in frames.saturating_sub(SLOTS - 1).max(1)..=frames {
            self.check(frame)?;
        }

        // 2. A signal that is withheld: Vulkan has its part of the frame and waits; CUDA is told nothing.
        let withheld = frames + 1;
        self.write(withheld)?;
        self.read(withheld)?;
        let ended = self.retired.wait(withheld, WITHHELD)?;
        let (answered, retired) = (self.to_vulkan.value()?, self.retired.value()?);
        ensure!(
            ended == TimelineWait::TimedOut && answered == frames && retired == frames,
            "with the signal of frame {withheld} withheld: expected a wait that times out, to_vulkan and retired at {frames}; \
             saw {ended:?}, to_vulkan {answered}, retired {retired}"
        );
        // A host that gives the frame up signals in CUDA's place. What Vulkan then copies is an earlier frame's answer:
        // it is not looked at.
        self.to_vulkan.signal(withheld)?;
        self.wait(withheld)?;

        // 3. The wait of Vulkan before the signal of CUDA: submitted, and not ended until CUDA is told.
        let early = frames + 2;
        self.write(early)?;
        self.read(early)?;
        let ended = self.retired.wait(early, Duration::from_millis(20))?;
        ensure!(
            ended == TimelineWait::TimedOut,
            "before CUDA was told to answer frame {early}: expected a wait that times out, saw {ended:?}"
        );
        self.answer(early)?;
        self.check(early)?;

        // 4. The other way round: the wait of CUDA before the signal of Vulkan.
        let early = frames + 3;
        self.answer(early)?;
        self.write(early)?;
        self.read(early)?;
        self.check(early)?;
        Ok(format!(
            "{frames} frames, {SLOTS} in flight, each seen exactly on both sides; a withheld signal ended in a bounded wait \
             of {} ms with to_vulkan at {answered}; waits before their signals work on both sides",
            WITHHELD.as_millis()
        ))
    }

    /// Vulkan writes the frame's stamp and signals `to_cuda`. The frame before in the slot has retired.
    fn write(&self, frame: u64) -> anyhow::Result<()> {
        let (device, queue) = (&self.pair.device, self.pair.device.scene_queue);
        let (slot, offset) = self.slot(frame);
        let commands = slot.write.begin()?;
        // SAFETY: `commands` is recording; the range is the slot's; the buffer lives until `run` has come to rest.
        unsafe {
            device
                .raw
                .cmd_fill_buffer(commands, self.shared.raw, offset, 4, stamp(frame));
        }
        // The slot goes to the queues of another API, which are a family of their own to Vulkan. It did not have to be
        // acquired first: nothing in it is to be kept.
        let range = offset..offset + SLOT_BYTES;
        barrier::release_buffer_to_external(device, commands, self.shared.raw, range, queue.family);
        slot.write.end()?;
        let signals = [self.to_cuda.at(frame), self.drawn.at(frame)];
        Ok(device.submit(queue, commands, &[], &signals)?)
    }

    /// CUDA waits for the frame, answers it and signals `to_vulkan`.
    fn answer(&self, frame: u64) -> anyhow::Result<()> {
        let stream = &self.pair.stream;
        self.cuda_to_cuda.wait(stream, frame)?;
        let address: u64 = self.shared.address + self.slot(frame).1;
        let (address, expected) = (address.to_ne_bytes(), stamp(frame).to_ne_bytes());
        // SAFETY: the kernel's parameters are an address and 32 bits; the buffer lives until `run` has come to rest.
        unsafe { launch(stream, self.kernel, [1, 1], [1, 1], &[&address, &expected]) }?;
        Ok(self.cuda_to_vulkan.signal(stream, frame)?)
    }

    /// Vulkan waits for the answer, copies it to where the host reads, and signals `retired`.
    fn read(&self, frame: u64) -> anyhow::Result<()> {
        let (device, queue) = (&self.pair.device, self.pair.device.present_queue);
        let (slot, offset) = self.slot(frame);
        let commands = slot.read.begin()?;
        let range = offset..offset + SLOT_BYTES;
        barrier::acquire_buffer_from_external(device, commands, self.shared.raw, range, queue.family);
        let region = [vk::BufferCopy::default().src_offset(offset).size(SLOT_BYTES)];
        // SAFETY: `commands` is recording; the range is the slot's; both buffers live until `run` has come to rest.
        unsafe {
            device
                .raw
                .cmd_copy_buffer(commands, self.shared.raw, slot.read_back.raw, &region);
        }
        barrier::transfer_to_host(device, commands);
        slot.read.end()?;
        let (waits, signals) = ([self.to_vulkan.at(frame)], [self.retired.at(frame)]);
        Ok(device.submit(queue, commands, &waits, &signals)?)
    }

    /// Waits until the frame has retired, and looks at what came back for it.
    fn check(&self, frame: u64) -> anyhow::Result<()> {
        self.wait(frame)?;
        let words: &[u32] = bytemuck::cast_slice(self.slot(frame).0.read_back.bytes());
        let written = stamp(frame);
        let expected = [written, reply_to(written), written];
        ensure!(
            words.get(..3) == Some(&expected),
            "frame {frame}: expected {expected:08x?} (written, answered, seen by CUDA), saw {words:08x?}"
        );
        Ok(())
    }

    fn wait(&self, frame: u64) -> anyhow::Result<()> {
        if Timeline::wait_all(&[&self.retired, &self.drawn], frame, LIMIT)? == TimelineWait::TimedOut {
            let [to_cuda, to_vulkan, retired] = [&self.to_cuda, &self.to_vulkan, &self.retired].map(Timeline::value);
            bail!(
                "expected frame {frame} to retire within {LIMIT:?}; saw to_cuda at {}, to_vulkan at {}, retired at {}",
                to_cuda?,
                to_vulkan?,
                retired?
            );
        }
        Ok(())
    }

    /// The slot of a frame, and where its bytes begin in the shared buffer.
    fn slot(&self, frame: u64) -> (&Slot, u64) {
        let index = frame % SLOTS;
        (&self.slots[index as usize], index * SLOT_BYTES)
    }
}
