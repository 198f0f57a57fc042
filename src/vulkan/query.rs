//! Timestamp queries: written by a queue, copied by it to memory that the host reads when their slot retires.

use std::sync::Arc;

use ash::vk;
use smallvec::SmallVec;

use super::barrier::transfer_to_host;
use super::{Buffer, BufferMemory, Device, Error, Queue, ResultExt};

/// Something of each timestamp, on the stack for pools as small as a frame's parts and a usual chain need.
pub type Stamps<T> = SmallVec<[T; 32]>;

/// `VkQueryPool` of timestamps, with the memory they are read from.
///
/// The queue copies them, rather than the host asking for them: Mesa's lavapipe answers `vkGetQueryPoolResults` only when
/// the whole device is idle, which stalls every frame, and never ends when a frame hangs. [`TimestampPool::asked`] makes one for
/// drivers that answer at once, which saves the queue the copy.
pub struct TimestampPool {
    raw: vk::QueryPool,
    /// Where the queue copies them to; `None`: the driver is asked.
    values: Option<Buffer>,
    count: u32,
    valid_bits: u32,
    device: Arc<Device>,
}

impl TimestampPool {
    /// Creates a pool of `count` timestamps for a queue; `None` when its family cannot write any.
    ///
    /// # Errors
    /// A failed call.
    pub fn new(device: &Arc<Device>, queue: Queue, count: u32, name: &str) -> Result<Option<Self>, Error> {
        let (size, usage) = (u64::from(count) * 8, vk::BufferUsageFlags::TRANSFER_DST);
        let values = Buffer::new(device, size, usage, BufferMemory::ReadBack, name)?;
        Self::with_values(device, queue, count, Some(values), name)
    }

    /// The same, of which the host asks the driver once their slot has retired: they need no [`copy`](Self::copy).
    ///
    /// # Errors
    /// A failed call.
    pub fn asked(device: &Arc<Device>, queue: Queue, count: u32, name: &str) -> Result<Option<Self>, Error> {
        Self::with_values(device, queue, count, None, name)
    }

    fn with_values(
        device: &Arc<Device>,
        queue: Queue,
        count: u32,
        values: Option<Buffer>,
        name: &str,
    ) -> Result<Option<Self>, Error> {
        if queue.timestamp_valid_bits == 0 {
            return Ok(None);
        }
        let create_info = vk::QueryPoolCreateInfo::default()
            .query_type(vk::QueryType::TIMESTAMP)
            .query_count(count);
        // SAFETY: V3.
        let raw = unsafe { device.raw.create_query_pool(&create_info, None) }.during(|| "create a timestamp pool")?;
        device.name(raw, name);
        let mut pool = Self {
            raw,
            values,
            count,
            valid_bits: queue.timestamp_valid_bits,
            device: Arc::clone(device),
        };
        pool.reset();
        Ok(Some(pool))
    }

    /// Makes all timestamps unavailable. The GPU must not be using the pool.
    pub fn reset(&mut self) {
        // SAFETY: V1; hostQueryReset is enabled; the caller's slot has retired.
        unsafe { self.device.raw.reset_query_pool(self.raw, 0, self.count) };
        if let Some(values) = &mut self.values {
            values.bytes_mut().fill(0);
        }
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Records a timestamp that is taken when everything recorded before it in the queue has finished.
    pub fn write(&self, commands: vk::CommandBuffer, index: u32) {
        // ALL_COMMANDS and not TOP_OF_PIPE: the latter does not wait for what it is to measure.
        let stage = vk::PipelineStageFlags2::ALL_COMMANDS;
        // SAFETY: V1; the caller's command buffer is recording, and `index` was reset with its slot.
        unsafe { self.device.raw.cmd_write_timestamp2(commands, stage, self.raw, index) };
    }

    /// Records the copy of the first `count` timestamps to where the host reads them. They must have been written before, in
    /// this command buffer or in one that it waits for.
    pub fn copy(&self, commands: vk::CommandBuffer, count: u32) {
        let Some(values) = &self.values else { return };
        let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
        let (raw, target) = (&self.device.raw, values.raw);
        // SAFETY: V1; the caller's command buffer is recording; the buffer has 8 bytes for each query.
        unsafe { raw.cmd_copy_query_pool_results(commands, self.raw, 0, count.min(self.count), target, 0, 8, flags) };
        transfer_to_host(&self.device, commands);
    }

    /// The timestamps in nanoseconds of the device's clock; `None` where none was copied (or, of a pool that is asked, written)
    /// since the last reset. The submission that did so must have finished.
    pub fn read(&self) -> Stamps<Option<u64>> {
        let ticks: Stamps<u64> = match &self.values {
            Some(values) => values
                .bytes()
                .chunks_exact(8)
                .map(bytemuck::pod_read_unaligned)
                .collect(),
            None => self.ask(),
        };
        let first = ticks.iter().copied().find(|ticks| *ticks != 0).unwrap_or_default();
        ticks
            .into_iter()
            .map(|ticks| (ticks != 0).then(|| self.device.physical.nanoseconds(self.unwrapped(first, ticks))))
            .collect()
    }

    /// What the driver says: 0 for those that were not written.
    fn ask(&self) -> Stamps<u64> {
        let mut answers: Stamps<[u64; 2]> = smallvec::smallvec![[0; 2]; self.count as usize];
        let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WITH_AVAILABILITY;
        // SAFETY: V1; each answer has room for a value and its availability. NOT_READY says that some were not written, which
        // their availability says too.
        let _ = unsafe { self.device.raw.get_query_pool_results(self.raw, 0, &mut answers, flags) };
        answers
            .iter()
            .map(|[ticks, is_there]| ticks * is_there.min(&1))
            .collect()
    }

    /// `ticks` as a counter that does not start again from 0 after `first`, as one of few valid bits does every hour.
    fn unwrapped(&self, first: u64, ticks: u64) -> u64 {
        let mask = u64::MAX >> (64 - self.valid_bits);
        (first & mask) + (ticks.wrapping_sub(first) & mask)
    }
}

impl Drop for TimestampPool {
    fn drop(&mut self) {
        // SAFETY: V1, V2.
        unsafe { self.device.raw.destroy_query_pool(self.raw, None) };
    }
}
