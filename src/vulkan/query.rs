//! Timestamp queries: written by a queue, read when their slot retires, so that reading never stalls.
//!
//! lavapipe's `vkGetQueryPoolResults` waits for the whole device, frames in flight included, and for ever when one of
//! them does not come. There the queue copies the results into a buffer, and the buffer is read.

use std::sync::Arc;

use ash::vk;

use super::barrier::transfer_to_host;
use super::{Buffer, BufferMemory, Device, Error, Queue, ResultExt};

/// `VkQueryPool` of timestamps.
pub struct TimestampPool {
    raw: vk::QueryPool,
    count: u32,
    valid_bits: u32,
    nanoseconds_per_tick: f64,
    /// Where the results are copied to, on drivers that wait for more than the queries when asked for them.
    copy: Option<Buffer>,
    device: Arc<Device>,
}

/// A result with its availability, which is 0 until the timestamp was taken.
type QueryResult = [u64; 2];

const RESULT_FLAGS: vk::QueryResultFlags = vk::QueryResultFlags::from_raw(
    vk::QueryResultFlags::TYPE_64.as_raw() | vk::QueryResultFlags::WITH_AVAILABILITY.as_raw(),
);

impl TimestampPool {
    /// Creates a pool of `count` timestamps for a queue; `None` when its family cannot write any.
    ///
    /// # Errors
    /// A failed call.
    pub fn new(device: &Arc<Device>, queue: Queue, count: u32, name: &str) -> Result<Option<Self>, Error> {
        if queue.timestamp_valid_bits == 0 {
            return Ok(None);
        }
        let create_info = vk::QueryPoolCreateInfo::default()
            .query_type(vk::QueryType::TIMESTAMP)
            .query_count(count);
        let copies = device.physical.driver_id == vk::DriverId::MESA_LLVMPIPE;
        let size = u64::from(count) * size_of::<QueryResult>() as u64;
        let usage = vk::BufferUsageFlags::TRANSFER_DST;
        let copy = copies
            .then(|| Buffer::new(device, size, usage, BufferMemory::ReadBack, name))
            .transpose()?;
        // SAFETY: V3.
        let raw = unsafe { device.raw.create_query_pool(&create_info, None) }.during(|| "create a timestamp pool")?;
        device.name(raw, name);
        let pool = Self {
            raw,
            count,
            valid_bits: queue.timestamp_valid_bits,
            nanoseconds_per_tick: f64::from(device.physical.limits.timestamp_period),
            copy,
            device: Arc::clone(device),
        };
        pool.reset();
        Ok(Some(pool))
    }

    /// Makes all timestamps unavailable. The GPU must not be using the pool.
    pub fn reset(&self) {
        // SAFETY: V1; hostQueryReset is enabled; the caller's slot has retired.
        unsafe { self.device.raw.reset_query_pool(self.raw, 0, self.count) };
    }

    /// Records a timestamp that is taken when everything recorded before it in the queue has finished. The last of the
    /// pool must be the last to be taken: what it takes to read them all follows it.
    pub fn write(&self, commands: vk::CommandBuffer, index: u32) {
        // ALL_COMMANDS and not TOP_OF_PIPE: the latter does not wait for what it is to measure.
        let stage = vk::PipelineStageFlags2::ALL_COMMANDS;
        // SAFETY: V1; the caller's command buffer is recording, and `index` was reset with its slot.
        unsafe { self.device.raw.cmd_write_timestamp2(commands, stage, self.raw, index) };
        if let (Some(copy), true) = (&self.copy, index + 1 == self.count) {
            self.record_copy(commands, copy);
        }
    }

    fn record_copy(&self, commands: vk::CommandBuffer, copy: &Buffer) {
        let stride = size_of::<QueryResult>() as u64;
        // The queue waits, and only for what it was given before.
        let flags = RESULT_FLAGS | vk::QueryResultFlags::WAIT;
        // SAFETY: V1; the caller's command buffer is recording, and the buffer has room for `count` results.
        unsafe {
            self.device
                .raw
                .cmd_copy_query_pool_results(commands, self.raw, 0, self.count, copy.raw, 0, stride, flags);
        }
        transfer_to_host(&self.device, commands);
    }

    /// The timestamps in nanoseconds of the device's clock; `None` for one that was not written. The GPU must not be
    /// using the pool.
    ///
    /// # Errors
    /// A lost device.
    pub fn read(&self) -> Result<Vec<Option<u64>>, Error> {
        let results = match &self.copy {
            Some(copy) => bytemuck::pod_collect_to_vec::<u8, QueryResult>(copy.bytes()),
            None => self.query()?,
        };
        let mask = u64::MAX >> (64 - self.valid_bits);
        Ok(results
            .iter()
            .map(|[ticks, available]| (*available != 0).then(|| self.nanoseconds(ticks & mask)))
            .collect())
    }

    fn query(&self) -> Result<Vec<QueryResult>, Error> {
        let mut results = vec![QueryResult::default(); self.count as usize];
        // SAFETY: V1; the slice has `count` elements of value and availability.
        match unsafe {
            self.device
                .raw
                .get_query_pool_results(self.raw, 0, &mut results, RESULT_FLAGS)
        } {
            Ok(()) | Err(vk::Result::NOT_READY) => Ok(results),
            Err(result) => Err(Error::Call {
                what: "read timestamps".into(),
                result,
            }),
        }
    }

    fn nanoseconds(&self, ticks: u64) -> u64 {
        if self.nanoseconds_per_tick == 1.0 {
            return ticks; // exact; f64 would round the large values of an epoch clock
        }
        (ticks as f64 * self.nanoseconds_per_tick) as u64
    }
}

impl Drop for TimestampPool {
    fn drop(&mut self) {
        // SAFETY: V1, V2.
        unsafe { self.device.raw.destroy_query_pool(self.raw, None) };
    }
}
