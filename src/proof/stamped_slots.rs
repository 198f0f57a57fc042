//! Frames that carry a stamp from Vulkan to CUDA and back: what the examples of semaphores put in order.

use std::time::Duration;

use anyhow::ensure;

use super::{Pair, ROUND_TRIP_LIMIT};
use crate::cuda::{Function, launch};
use crate::interop::{SharedBuffer, SharedMemory};
use crate::vulkan::barrier::{acquire_buffer_from_external, release_buffer_to_external, transfer_to_host};
use crate::vulkan::transfer::{copy_buffer, fill};
use crate::vulkan::{Buffer, BufferMemory, CommandPool, Queue, Timeline, TimelineWait, vk};

/// A slot of the shared buffer: what Vulkan wrote, CUDA's answer, what CUDA saw, and a word unused.
const SLOT_BYTES: u64 = 16;

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

/// Slots of a buffer that both APIs see, one a frame in flight. Vulkan writes a frame's stamp, a kernel checks and answers it,
/// Vulkan copies both to where the host reads, and the host checks them.
///
/// Nothing here orders Vulkan and CUDA: the semaphores that do are the caller's, and what it proves. If one fails to, the
/// stamps are not those expected.
pub struct StampedSlots<'a> {
    /// Signalled with the write of frame N, for the host. Vulkan's validation layer does not see CUDA's signals, so only
    /// timelines that were never exported tell it that a command buffer may be used again: this one and `retired`.
    drawn: Timeline,
    /// Signalled when the answer to frame N is where the host reads.
    retired: Timeline,
    shared: SharedBuffer,
    slots: Vec<Slot>,
    read_queue: Queue,
    kernel: Function,
    pair: &'a Pair,
}

/// What a frame in flight has to itself.
struct Slot {
    write: CommandPool,
    read: CommandPool,
    read_back: Buffer,
}

impl<'a> StampedSlots<'a> {
    /// `count` slots, written on the scene queue, answered on the pair's stream, and read on `read_queue`.
    ///
    /// # Errors
    /// No memory, no compiler, or what cannot be shared.
    pub fn new(pair: &'a Pair, count: u64, read_queue: Queue) -> anyhow::Result<Self> {
        let device = &pair.device;
        let [kernel] = pair.kernels("reply.cu", KERNEL, ["reply"])?;
        let (source, target) = (vk::BufferUsageFlags::TRANSFER_SRC, vk::BufferUsageFlags::TRANSFER_DST);
        let bytes = count * SLOT_BYTES;
        let memory = SharedMemory::new(device, &pair.context, bytes, source | target, "slots")?;
        let slot = |_| {
            Ok(Slot {
                write: CommandPool::new(device, device.scene_queue, "write")?,
                read: CommandPool::new(device, read_queue, "read")?,
                read_back: Buffer::new(device, SLOT_BYTES, target, BufferMemory::ReadBack, "read back")?,
            })
        };
        Ok(Self {
            drawn: Timeline::new(device, "drawn", false)?,
            retired: Timeline::new(device, "retired", false)?,
            shared: memory.buffer(0, bytes, "slots")?,
            slots: (0..count).map(slot).collect::<anyhow::Result<_>>()?,
            read_queue,
            kernel,
            pair,
        })
    }

    /// Vulkan writes the frame's stamp, gives the slot to the other API, and signals. The frame before in the slot has retired.
    ///
    /// # Errors
    /// A failed call.
    pub fn write(&self, frame: u64, signal: vk::SemaphoreSubmitInfo<'_>) -> anyhow::Result<()> {
        let (device, queue) = (&self.pair.device, self.pair.device.scene_queue);
        let (slot, offset) = self.slot(frame);
        let commands = slot.write.begin()?;
        fill(device, commands, self.shared.raw, offset..offset + 4, stamp(frame));
        // It did not have to be acquired first: nothing in it is to be kept.
        let range = offset..offset + SLOT_BYTES;
        release_buffer_to_external(device, commands, self.shared.raw, range, queue.family);
        slot.write.end()?;
        Ok(device.submit(queue, commands, &[], &[signal, self.drawn.at(frame)])?)
    }

    /// Enqueues CUDA's check and answer.
    ///
    /// # Errors
    /// The driver refused.
    pub fn answer(&self, frame: u64) -> anyhow::Result<()> {
        let address: u64 = self.shared.address + self.slot(frame).1;
        let (address, expected) = (address.to_ne_bytes(), stamp(frame).to_ne_bytes());
        let arguments = [&address[..], &expected];
        // SAFETY: the kernel's parameters are an address and 32 bits; the slots live until both sides have finished.
        Ok(unsafe { launch(&self.pair.stream, &self.kernel, [1, 1], [1, 1], &arguments) }?)
    }

    /// Vulkan waits, takes the slot back, and copies it to where the host reads; then the frame has retired.
    ///
    /// # Errors
    /// A failed call.
    pub fn read(&self, frame: u64, wait: vk::SemaphoreSubmitInfo<'_>) -> anyhow::Result<()> {
        let (device, queue) = (&self.pair.device, self.read_queue);
        let (slot, offset) = self.slot(frame);
        let commands = slot.read.begin()?;
        let range = offset..offset + SLOT_BYTES;
        acquire_buffer_from_external(device, commands, self.shared.raw, range, queue.family);
        let (source, target) = ((self.shared.raw, offset), (slot.read_back.raw, 0));
        copy_buffer(device, commands, source, target, SLOT_BYTES);
        transfer_to_host(device, commands);
        slot.read.end()?;
        Ok(device.submit(queue, commands, &[wait], &[self.retired.at(frame)])?)
    }

    /// Waits until the frame has retired, and looks at what came back for it.
    ///
    /// # Errors
    /// It is not what it must be, or it did not retire within [`ROUND_TRIP_LIMIT`].
    pub fn check(&self, frame: u64) -> anyhow::Result<()> {
        let ended = self.wait(frame, ROUND_TRIP_LIMIT)?;
        let reached = self.retired.value()?;
        ensure!(
            ended == TimelineWait::Reached,
            "expected frame {frame} to retire within {ROUND_TRIP_LIMIT:?}; saw `retired` at {reached}"
        );
        let words: &[u32] = bytemuck::cast_slice(self.slot(frame).0.read_back.bytes());
        let written = stamp(frame);
        let expected = [written, reply_to(written), written];
        ensure!(
            words.get(..3) == Some(&expected),
            "frame {frame}: expected {expected:08x?} (written, answered, seen by CUDA), saw {words:08x?}"
        );
        Ok(())
    }

    /// Checks the frame that was in the slot of `frame` before, if there was one: the only wait of the host.
    ///
    /// # Errors
    /// As [`StampedSlots::check`].
    pub fn reuse(&self, frame: u64) -> anyhow::Result<()> {
        match frame.checked_sub(self.slots.len() as u64) {
            Some(earlier) if earlier > 0 => self.check(earlier),
            _ => Ok(()),
        }
    }

    /// Checks the frames up to `last` that are still in their slots.
    ///
    /// # Errors
    /// As [`StampedSlots::check`].
    pub fn check_last(&self, last: u64) -> anyhow::Result<()> {
        let first = last.saturating_sub(self.slots.len() as u64 - 1).max(1);
        (first..=last).try_for_each(|frame| self.check(frame))
    }

    /// Waits until the frame has retired, or until `limit` has passed.
    ///
    /// # Errors
    /// A lost device.
    pub fn wait(&self, frame: u64, limit: Duration) -> anyhow::Result<TimelineWait> {
        Ok(Timeline::wait_all(&[&self.retired, &self.drawn], frame, limit)?)
    }

    /// The last frame that has retired.
    ///
    /// # Errors
    /// A lost device.
    pub fn retired(&self) -> anyhow::Result<u64> {
        Ok(self.retired.value()?)
    }

    /// The slot of a frame, and where its bytes begin in the shared buffer.
    fn slot(&self, frame: u64) -> (&Slot, u64) {
        let index = frame % self.slots.len() as u64;
        (&self.slots[index as usize], index * SLOT_BYTES)
    }
}
