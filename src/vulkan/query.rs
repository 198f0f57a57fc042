//! Timestamp queries: written by a queue, read when their slot retires, so that reading never stalls.

use std::sync::Arc;

use ash::vk;

use super::{Device, Error, Queue, ResultExt};

/// `VkQueryPool` of timestamps.
pub struct TimestampPool {
    raw: vk::QueryPool,
    count: u32,
    valid_bits: u32,
    nanoseconds_per_tick: f64,
    device: Arc<Device>,
}

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
        // SAFETY: V3.
        let raw = unsafe { device.raw.create_query_pool(&create_info, None) }.during(|| "create a timestamp pool")?;
        device.name(raw, name);
        let pool = Self {
            raw,
            count,
            valid_bits: queue.timestamp_valid_bits,
            nanoseconds_per_tick: f64::from(device.physical.limits.timestamp_period),
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

    /// Records a timestamp that is taken when everything recorded before it in the queue has finished.
    pub fn write(&self, commands: vk::CommandBuffer, index: u32) {
        // ALL_COMMANDS and not TOP_OF_PIPE: the latter does not wait for what it is to measure.
        let stage = vk::PipelineStageFlags2::ALL_COMMANDS;
        // SAFETY: V1; the caller's command buffer is recording, and `index` was reset with its slot.
        unsafe { self.device.raw.cmd_write_timestamp2(commands, stage, self.raw, index) };
    }

    /// The timestamps in nanoseconds of the device's clock; `None` for one that was not written.
    ///
    /// # Errors
    /// A lost device.
    pub fn read(&self) -> Result<Vec<Option<u64>>, Error> {
        let mut data = vec![[0u64; 2]; self.count as usize];
        let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WITH_AVAILABILITY;
        // SAFETY: V1; the slice has `count` elements of value and availability.
        match unsafe { self.device.raw.get_query_pool_results(self.raw, 0, &mut data, flags) } {
            Ok(()) | Err(vk::Result::NOT_READY) => {}
            Err(result) => {
                return Err(Error::Call {
                    what: "read timestamps".into(),
                    result,
                });
            }
        }
        let mask = u64::MAX >> (64 - self.valid_bits);
        Ok(data
            .iter()
            .map(|[ticks, available]| (*available != 0).then(|| self.nanoseconds(ticks & mask)))
            .collect())
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
