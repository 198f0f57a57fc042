//! How much of the GPU's memory the process uses.

use ash::vk;

use super::Device;

impl Device {
    /// Bytes of DEVICE_LOCAL memory that the process uses, by the driver's own count (`VK_EXT_memory_budget`); `None` where it
    /// does not count. It takes some microseconds.
    pub fn memory_used(&self) -> Option<u64> {
        if !self.has_memory_budget {
            return None;
        }
        let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
        let mut properties = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
        // SAFETY: V3; the device has the extension.
        unsafe {
            self.instance
                .raw
                .get_physical_device_memory_properties2(self.physical.raw, &mut properties);
        }
        let vk::PhysicalDeviceMemoryProperties {
            memory_heaps,
            memory_heap_count,
            ..
        } = properties.memory_properties;
        let heaps = memory_heaps
            .iter()
            .zip(budget.heap_usage)
            .take(memory_heap_count as usize);
        let local = heaps.filter(|(heap, _)| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL));
        Some(local.map(|(_, used)| used).sum())
    }
}
