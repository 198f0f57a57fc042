//! Command pools, and one-shot command buffers for set-up.

use std::sync::Arc;

use ash::vk;

use super::{Device, Error, Queue, ResultExt};

/// `VkCommandPool` with the one command buffer that is recorded anew each time its slot comes round.
pub struct CommandPool {
    /// The raw pool.
    pub raw: vk::CommandPool,
    /// Its command buffer.
    pub commands: vk::CommandBuffer,
    device: Arc<Device>,
}

impl CommandPool {
    /// Creates the pool for a queue's family.
    ///
    /// # Errors
    /// A failed call.
    pub fn new(device: &Arc<Device>, queue: Queue, name: &str) -> Result<Self, Error> {
        let create_info = vk::CommandPoolCreateInfo::default()
            .queue_family_index(queue.family)
            .flags(vk::CommandPoolCreateFlags::TRANSIENT);
        // SAFETY: V3.
        let raw = unsafe { device.raw.create_command_pool(&create_info, None) }.during(|| "create a command pool")?;
        let mut pool = Self {
            raw,
            commands: vk::CommandBuffer::null(),
            device: Arc::clone(device),
        };
        let allocate_info = vk::CommandBufferAllocateInfo::default()
            .command_pool(raw)
            .level(vk::CommandBufferLevel::PRIMARY)
            .command_buffer_count(1);
        // SAFETY: V3; freed with the pool.
        let buffers =
            unsafe { device.raw.allocate_command_buffers(&allocate_info) }.during(|| "allocate a command buffer")?;
        pool.commands = buffers[0];
        device.name(raw, name);
        device.name(pool.commands, name);
        Ok(pool)
    }

    /// Resets the pool and starts recording. The GPU must have finished what was recorded before.
    ///
    /// # Errors
    /// No memory.
    pub fn begin(&self) -> Result<vk::CommandBuffer, Error> {
        let begin_info = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: the caller's promise: the last submission of this buffer has finished.
        unsafe {
            self.device
                .raw
                .reset_command_pool(self.raw, vk::CommandPoolResetFlags::empty())
                .during(|| "reset a command pool")?;
            self.device
                .raw
                .begin_command_buffer(self.commands, &begin_info)
                .during(|| "begin a command buffer")?;
        }
        Ok(self.commands)
    }

    /// Ends the recording that [`CommandPool::begin`] started.
    ///
    /// # Errors
    /// No memory.
    pub fn end(&self) -> Result<(), Error> {
        // SAFETY: the buffer is recording since `begin`.
        unsafe { self.device.raw.end_command_buffer(self.commands) }.during(|| "end a command buffer")
    }

    /// Records, submits and waits: for set-up and read-back, never in a frame.
    ///
    /// # Errors
    /// A failed call.
    pub fn run_once(device: &Arc<Device>, queue: Queue, record: impl FnOnce(vk::CommandBuffer)) -> Result<(), Error> {
        let pool = Self::new(device, queue, "one-shot")?;
        record(pool.begin()?);
        pool.end()?;
        device.submit(queue, pool.commands, &[], &[])?;
        // SAFETY: one thread submits, and it is this one.
        unsafe { device.raw.queue_wait_idle(queue.raw) }.during(|| "wait for a one-shot submission")
    }
}

impl Drop for CommandPool {
    fn drop(&mut self) {
        // SAFETY: V1, V2; frees the command buffer too.
        unsafe { self.device.raw.destroy_command_pool(self.raw, None) };
    }
}
