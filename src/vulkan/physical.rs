//! A physical device, described: identity, queue families, extensions, and what of Handover's needs it lacks.

use std::ffi::CStr;

use ash::vk;

use super::pipeline_cache::CacheKey;
use super::{Error, Instance, ResultExt};

/// A queue family of a physical device.
#[derive(Debug, Clone, Copy)]
pub struct QueueFamily {
    /// `queueFamilyIndex`.
    pub index: u32,
    /// What its queues can do.
    pub flags: vk::QueueFlags,
    /// How many queues it has.
    pub count: u32,
    /// Valid bits of its timestamps; 0: none can be written.
    pub timestamp_valid_bits: u32,
}

/// By what Windows knows a GPU until the next start: `VkPhysicalDeviceIDProperties::deviceLUID` and `deviceNodeMask`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Luid {
    /// The locally unique identifier, in the bytes of Windows' `LUID`.
    pub bytes: [u8; 8],
    /// The bit of this GPU among those of a linked adapter.
    pub node_mask: u32,
}

impl Luid {
    fn of(id: &vk::PhysicalDeviceIDProperties<'_>) -> Option<Self> {
        (id.device_luid_valid == vk::TRUE).then_some(Self {
            bytes: id.device_luid,
            node_mask: id.device_node_mask,
        })
    }
}

/// `VkPhysicalDevice` and what it says of itself.
#[derive(Debug, Clone)]
pub struct PhysicalDevice {
    /// The raw handle.
    pub raw: vk::PhysicalDevice,
    /// Its place in the loader's list, from 0: what `--gpu` takes.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// Integrated, discrete, software (`CPU`)…
    pub device_type: vk::PhysicalDeviceType,
    /// The Vulkan version it supports.
    pub api_version: u32,
    /// `VkPhysicalDeviceIDProperties::deviceUUID`; equal to CUDA's `cuDeviceGetUuid` for the same GPU.
    pub uuid: [u8; 16],
    /// Its LUID; `None` where `deviceLUIDValid` is false, as it is with drivers on Linux.
    pub luid: Option<Luid>,
    /// The driver's name and its own version text.
    pub driver: String,
    /// Which driver it is, for what one driver alone does differently.
    pub driver_id: vk::DriverId,
    /// What its compiled pipelines are kept under.
    pub(super) pipeline_cache_key: CacheKey,
    /// Its limits.
    pub limits: vk::PhysicalDeviceLimits,
    /// Its queue families.
    pub queue_families: Vec<QueueFamily>,
    /// Names of its device extensions.
    pub extensions: Vec<String>,
    /// Memory types and heaps.
    pub memory: vk::PhysicalDeviceMemoryProperties,
    /// Buffers have addresses (`bufferDeviceAddress`).
    pub has_buffer_addresses: bool,
    missing_features: Vec<String>,
}

impl PhysicalDevice {
    pub(super) fn describe(instance: &Instance, index: usize, raw: vk::PhysicalDevice) -> Result<Self, Error> {
        let functions = &instance.raw;
        let mut id = vk::PhysicalDeviceIDProperties::default();
        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        let mut properties = vk::PhysicalDeviceProperties2::default()
            .push_next(&mut id)
            .push_next(&mut driver);
        // SAFETY: V3; `raw` came from this instance.
        unsafe { functions.get_physical_device_properties2(raw, &mut properties) };
        let properties = properties.properties;
        // SAFETY: as above.
        let families = unsafe { functions.get_physical_device_queue_family_properties(raw) };
        // SAFETY: as above.
        let extensions = unsafe { functions.enumerate_device_extension_properties(raw) }
            .during(|| "list the device's extensions")?;
        // SAFETY: as above.
        let memory = unsafe { functions.get_physical_device_memory_properties(raw) };
        Ok(Self {
            raw,
            index,
            name: text(properties.device_name_as_c_str()),
            device_type: properties.device_type,
            api_version: properties.api_version,
            uuid: id.device_uuid,
            luid: Luid::of(&id),
            driver: format!(
                "{} {}",
                text(driver.driver_name_as_c_str()),
                text(driver.driver_info_as_c_str())
            ),
            driver_id: driver.driver_id,
            pipeline_cache_key: CacheKey {
                vendor: properties.vendor_id,
                device: properties.device_id,
                driver_version: properties.driver_version,
                uuid: properties.pipeline_cache_uuid,
            },
            limits: properties.limits,
            queue_families: families
                .iter()
                .zip(0..)
                .map(|(family, index)| QueueFamily {
                    index,
                    flags: family.queue_flags,
                    count: family.queue_count,
                    timestamp_valid_bits: family.timestamp_valid_bits,
                })
                .collect(),
            extensions: extensions
                .iter()
                .map(|extension| text(extension.extension_name_as_c_str()))
                .collect(),
            memory,
            has_buffer_addresses: has_buffer_addresses(instance, raw, properties.api_version),
            missing_features: missing_features(instance, raw, properties.api_version),
        })
    }

    /// The first family that can draw and compute.
    pub fn graphics_family(&self) -> Option<QueueFamily> {
        let both = vk::QueueFlags::GRAPHICS | vk::QueueFlags::COMPUTE;
        self.queue_families
            .iter()
            .copied()
            .find(|family| family.flags.contains(both))
    }

    /// The first family that computes and does not draw, where there is one.
    pub fn compute_family(&self) -> Option<QueueFamily> {
        let computes_only = |flags: vk::QueueFlags| {
            flags.contains(vk::QueueFlags::COMPUTE) && !flags.contains(vk::QueueFlags::GRAPHICS)
        };
        self.queue_families
            .iter()
            .copied()
            .find(|family| computes_only(family.flags))
    }

    /// The first family that only transfers, where there is one: the GPU's copy engine.
    pub fn transfer_family(&self) -> Option<QueueFamily> {
        use vk::QueueFlags as Flags;
        let other = Flags::GRAPHICS
            | Flags::COMPUTE
            | Flags::VIDEO_DECODE_KHR
            | Flags::VIDEO_ENCODE_KHR
            | Flags::OPTICAL_FLOW_NV;
        self.queue_families
            .iter()
            .copied()
            .find(|family| family.flags.contains(Flags::TRANSFER) && !family.flags.intersects(other))
    }

    /// Whether it has the device extension.
    pub fn has_extension(&self, name: &CStr) -> bool {
        self.extensions
            .iter()
            .any(|extension| extension.as_bytes() == name.to_bytes())
    }

    /// Everything of Handover's needs that this device lacks, all at once; empty when it will do.
    pub fn missing(&self, extensions: &[&CStr]) -> Vec<String> {
        let mut missing = self.missing_features.clone();
        if self.graphics_family().is_none() {
            missing.push("a queue family with graphics and compute".into());
        }
        if self.limits.max_color_attachments < 5 {
            let has = self.limits.max_color_attachments;
            missing.push(format!(
                "five colour attachments at a time (it has {has}): colour and the four guides"
            ));
        }
        for name in extensions.iter().filter(|name| !self.has_extension(name)) {
            missing.push(format!("the extension {}", name.to_string_lossy()));
        }
        missing
    }

    /// The first memory type among `type_bits` that has all of `flags`.
    pub fn memory_type(&self, type_bits: u32, flags: vk::MemoryPropertyFlags) -> Option<u32> {
        self.memory
            .memory_types_as_slice()
            .iter()
            .zip(0..)
            .find(|(kind, index)| type_bits & (1 << index) != 0 && kind.property_flags.contains(flags))
            .map(|(_, index)| index)
    }

    /// Bytes of the GPU's own memory.
    pub fn local_memory(&self) -> u64 {
        let heaps = self.memory.memory_heaps_as_slice().iter();
        let local = heaps.filter(|heap| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL));
        local.map(|heap| heap.size).sum()
    }

    /// Ticks of the device's clock as nanoseconds: exact to a nanosecond even for the large values of an epoch clock, which
    /// f64 would round.
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        // 32 bits after the point: the period has 24 significant bits, so nothing of it is lost from 2⁻⁸ ns on.
        let period = (f64::from(self.limits.timestamp_period) * 2f64.powi(32)) as u128;
        ((u128::from(ticks) * period) >> 32) as u64
    }

    /// The UUID as CUDA's tools print it.
    pub fn uuid_text(&self) -> String {
        crate::interop::uuid_text(&self.uuid)
    }
}

fn missing_features(instance: &Instance, raw: vk::PhysicalDevice, api_version: u32) -> Vec<String> {
    if api_version < vk::API_VERSION_1_3 {
        let (major, minor) = (vk::api_version_major(api_version), vk::api_version_minor(api_version));
        return vec![format!("Vulkan 1.3 (it has {major}.{minor}): update its driver")];
    }
    let mut vulkan12 = vk::PhysicalDeviceVulkan12Features::default();
    let mut vulkan13 = vk::PhysicalDeviceVulkan13Features::default();
    let mut features = vk::PhysicalDeviceFeatures2::default()
        .push_next(&mut vulkan12)
        .push_next(&mut vulkan13);
    // SAFETY: V3; `raw` came from this instance.
    unsafe { instance.raw.get_physical_device_features2(raw, &mut features) };
    [
        ("timelineSemaphore", vulkan12.timeline_semaphore),
        ("hostQueryReset", vulkan12.host_query_reset),
        ("synchronization2", vulkan13.synchronization2),
        ("dynamicRendering", vulkan13.dynamic_rendering),
    ]
    .into_iter()
    .filter(|(_, present)| *present == vk::FALSE)
    .map(|(name, _)| format!("the feature {name}"))
    .collect()
}

fn has_buffer_addresses(instance: &Instance, raw: vk::PhysicalDevice, api_version: u32) -> bool {
    if api_version < vk::API_VERSION_1_2 {
        return false;
    }
    let mut vulkan12 = vk::PhysicalDeviceVulkan12Features::default();
    let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut vulkan12);
    // SAFETY: V3; `raw` came from this instance.
    unsafe { instance.raw.get_physical_device_features2(raw, &mut features) };
    vulkan12.buffer_device_address == vk::TRUE
}

fn text(name: Result<&CStr, std::ffi::FromBytesUntilNulError>) -> String {
    name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
impl PhysicalDevice {
    /// A device that exists in a test only.
    pub(crate) fn imagined(index: usize, name: &str, device_type: vk::PhysicalDeviceType, uuid: [u8; 16]) -> Self {
        Self {
            raw: vk::PhysicalDevice::null(),
            index,
            name: name.into(),
            device_type,
            api_version: vk::API_VERSION_1_3,
            uuid,
            luid: None,
            driver: String::new(),
            driver_id: vk::DriverId::default(),
            pipeline_cache_key: bytemuck::Zeroable::zeroed(),
            limits: vk::PhysicalDeviceLimits::default(),
            queue_families: Vec::new(),
            extensions: Vec::new(),
            memory: vk::PhysicalDeviceMemoryProperties::default(),
            has_buffer_addresses: false,
            missing_features: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_luid_is_taken_only_where_the_driver_calls_it_valid() {
        let id = vk::PhysicalDeviceIDProperties::default()
            .device_luid([1, 2, 3, 4, 5, 6, 7, 8])
            .device_node_mask(2);
        assert_eq!(Luid::of(&id), None);
        let luid = Luid {
            bytes: [1, 2, 3, 4, 5, 6, 7, 8],
            node_mask: 2,
        };
        assert_eq!(Luid::of(&id.device_luid_valid(true)), Some(luid));
    }

    #[test]
    fn a_family_that_only_transfers_does_nothing_else() {
        use vk::QueueFlags as Flags;
        let mut device = PhysicalDevice::imagined(0, "a", vk::PhysicalDeviceType::OTHER, [0; 16]);
        let mut families = |flags: &[Flags]| {
            device.queue_families = flags
                .iter()
                .zip(0..)
                .map(|(flags, index)| QueueFamily {
                    index,
                    flags: *flags,
                    count: 1,
                    timestamp_valid_bits: 64,
                })
                .collect();
            device.transfer_family().map(|family| family.index)
        };
        let all = Flags::GRAPHICS | Flags::COMPUTE | Flags::TRANSFER;
        assert_eq!(families(&[all]), None);
        // As an NVIDIA GPU has them.
        let transfers = Flags::TRANSFER | Flags::SPARSE_BINDING;
        let compute = transfers | Flags::COMPUTE;
        let video = transfers | Flags::VIDEO_DECODE_KHR;
        assert_eq!(families(&[all, video, compute, transfers]), Some(3));
    }

    #[test]
    fn ticks_become_nanoseconds_without_rounding() {
        let mut device = PhysicalDevice::imagined(0, "a", vk::PhysicalDeviceType::OTHER, [0; 16]);
        device.limits.timestamp_period = 1.0;
        let epoch = 1_732_923_456_789_012_345;
        assert_eq!(device.nanoseconds(epoch), epoch);
        assert_eq!(device.nanoseconds(u64::MAX), u64::MAX);
        device.limits.timestamp_period = 52.083_332; // Intel: 19.2 MHz
        let exact = (3_600.0f64 * 19.2e6) as u64;
        assert!(
            device.nanoseconds(exact).abs_diff(3_600_000_000_000) < 100_000,
            "to the period's own precision"
        );
        device.limits.timestamp_period = 10.0; // AMD: 100 MHz
        assert_eq!(device.nanoseconds(123_456_789), 1_234_567_890);
    }
}
