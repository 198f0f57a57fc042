//! How much of the GPU's memory the process uses, and may use.

use ash::vk;
use smallvec::SmallVec;

use super::Device;

/// A heap of DEVICE_LOCAL memory.
struct LocalHeap {
    size: u64,
    /// What the process may use and uses, where the driver tells.
    budget: Option<[u64; 2]>,
}

impl Device {
    /// Bytes of DEVICE_LOCAL memory that the process uses, by the driver's own count (`VK_EXT_memory_budget`); `None` where it
    /// does not count. It takes some microseconds.
    pub fn memory_used(&self) -> Option<u64> {
        self.local_heaps()
            .iter()
            .map(|heap| heap.budget.map(|[_, used]| used))
            .sum()
    }

    /// Bytes of DEVICE_LOCAL memory that the process may still take: what is left of its budget, or, where the driver tells none,
    /// all there is.
    pub fn memory_free(&self) -> u64 {
        let free = |heap: &LocalHeap| {
            heap.budget
                .map_or(heap.size, |[budget, used]| budget.saturating_sub(used))
        };
        self.local_heaps().iter().map(free).sum()
    }

    /// Bytes of memory of any kind that images and buffers stand in which are not shared, in blocks of up to 256 MiB.
    pub fn memory_allocated(&self) -> u64 {
        self.allocator().capacity()
    }

    fn local_heaps(&self) -> SmallVec<[LocalHeap; vk::MAX_MEMORY_HEAPS]> {
        let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
        let mut properties = vk::PhysicalDeviceMemoryProperties2::default();
        if self.has_memory_budget {
            properties = properties.push_next(&mut budget);
        }
        // SAFETY: V3; the device has the extension of what is chained.
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
        let used = budget.heap_budget.iter().zip(budget.heap_usage);
        let heaps = memory_heaps.iter().zip(used).take(memory_heap_count as usize);
        heaps
            .filter(|(heap, _)| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL))
            .map(|(heap, (budget, used))| LocalHeap {
                size: heap.size,
                budget: self.has_memory_budget.then_some([*budget, used]),
            })
            .collect()
    }
}
