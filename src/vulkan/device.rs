//! The logical device: queues, extension functions, the allocator of everything that is not shared.

use std::ffi::{CStr, CString};
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::{ext, khr, nvx, vk};
use gpu_allocator::vulkan::{Allocator, AllocatorCreateDesc};
use smallvec::SmallVec;

use super::calibration::HostDomain;
use super::pipeline_cache::PipelineCache;
use super::queue_module::KernelFunctions;
use super::{Error, Instance, PhysicalDevice, QueueFamily, ResultExt};

/// What a [`Device`] is asked for.
#[derive(Debug, Default)]
pub struct DeviceRequest {
    /// Memory and semaphores will be exported as file descriptors.
    pub export: bool,
    /// A swapchain will be made.
    pub swapchain: bool,
    /// CUDA kernels will be launched inside command buffers (`VK_NVX_binary_import`, `VK_NVX_image_view_handle`). They take buffers
    /// by their addresses.
    pub kernels_in_queue: bool,
    /// Buffers will be asked for their addresses (`bufferDeviceAddress`).
    pub buffer_addresses: bool,
    /// The folder where compiled pipelines are kept from one start to the next; `None`: they are not.
    pub pipelines_in: Option<PathBuf>,
}

impl DeviceRequest {
    /// The device extensions that the request needs.
    pub fn extensions(&self) -> Vec<&'static CStr> {
        let mut names = Vec::new();
        if self.export {
            names.extend([khr::external_memory_fd::NAME, khr::external_semaphore_fd::NAME]);
        }
        if self.swapchain {
            names.push(khr::swapchain::NAME);
        }
        if self.kernels_in_queue {
            names.extend([nvx::binary_import::NAME, nvx::image_view_handle::NAME]);
        }
        names
    }

    /// Everything that a device lacks for the request; empty when it will do.
    pub fn missing(&self, physical: &PhysicalDevice) -> Vec<String> {
        let mut missing = physical.missing(&self.extensions());
        if self.needs_addresses() && !physical.has_buffer_addresses {
            missing.push("the feature bufferDeviceAddress".into());
        }
        missing
    }

    fn needs_addresses(&self) -> bool {
        self.kernels_in_queue || self.buffer_addresses
    }
}

/// A queue and the family it is of.
#[derive(Debug, Clone, Copy)]
pub struct Queue {
    /// The raw handle. Handover submits from one thread only, as Vulkan's external synchronization asks.
    pub raw: vk::Queue,
    /// `queueFamilyIndex`.
    pub family: u32,
    /// Its timestamps have this many valid bits.
    pub timestamp_valid_bits: u32,
}

/// `VkDevice` with its queues and functions.
pub struct Device {
    allocator: ManuallyDrop<Mutex<Allocator>>,
    pub(super) pipeline_cache: PipelineCache,
    /// The raw handle and its core functions.
    pub raw: ash::Device,
    /// What the device is.
    pub physical: PhysicalDevice,
    /// Draws the scene.
    pub scene_queue: Queue,
    /// Takes the processed image to the screen. Without a swapchain a queue of a compute family, which overlaps best
    /// with scenes; with one a second queue of the scene's family, since it blits; where there is neither, the scene's.
    pub present_queue: Queue,
    /// A queue of a family that only transfers, where there is one: what a copy needs it takes from no other work.
    pub transfer_queue: Option<Queue>,
    /// `vkGetMemoryFdKHR`; present when the request said `export`.
    pub external_memory_fd: Option<khr::external_memory_fd::Device>,
    /// `vkGetSemaphoreFdKHR`; present when the request said `export`.
    pub external_semaphore_fd: Option<khr::external_semaphore_fd::Device>,
    /// Present when the request said `kernels_in_queue`.
    pub(super) kernels_in_queue: Option<KernelFunctions>,
    /// `vkGetCalibratedTimestampsEXT` where the device has it, and the host's clock it knows. (Every driver with the KHR
    /// spelling has this one too.)
    pub(super) calibrated_timestamps: Option<(ext::calibrated_timestamps::Device, HostDomain)>,
    pub(super) has_memory_budget: bool,
    names: Option<ext::debug_utils::Device>,
    /// The instance outlives the device.
    pub instance: Arc<Instance>,
}

impl Device {
    /// Creates the device.
    ///
    /// # Errors
    /// [`Error::Missing`] with all that is missing, or a failed call.
    pub fn new(
        instance: &Arc<Instance>,
        physical: PhysicalDevice,
        request: &DeviceRequest,
    ) -> Result<Arc<Self>, Error> {
        let mut extensions = request.extensions();
        let missing = request.missing(&physical);
        let Some(family) = physical.graphics_family().filter(|_| missing.is_empty()) else {
            return Err(Error::Missing {
                device: physical.name,
                missing,
            });
        };
        let host_domain = host_domain(instance, &physical);
        if host_domain.is_some() {
            extensions.push(ext::calibrated_timestamps::NAME);
        }
        let has_memory_budget = physical.has_extension(ext::memory_budget::NAME);
        if has_memory_budget {
            extensions.push(ext::memory_budget::NAME);
        }

        let names: Vec<_> = extensions.iter().map(|name| name.as_ptr()).collect();
        let (present_family, present_index) = choose_present_queue(&physical, family, request);
        let priorities = [1.0; 2];
        let mut queues = vec![
            vk::DeviceQueueCreateInfo::default()
                .queue_family_index(family.index)
                .queue_priorities(&priorities[..if present_index > 0 { 2 } else { 1 }]),
        ];
        let transfer_family = physical.transfer_family();
        let other_family = Some(present_family).filter(|other| other.index != family.index);
        for other in other_family.into_iter().chain(transfer_family) {
            let of_family = vk::DeviceQueueCreateInfo::default().queue_family_index(other.index);
            queues.push(of_family.queue_priorities(&priorities[..1]));
        }
        let mut vulkan12 = vk::PhysicalDeviceVulkan12Features::default()
            .timeline_semaphore(true)
            .host_query_reset(true)
            .buffer_device_address(request.needs_addresses());
        let mut vulkan13 = vk::PhysicalDeviceVulkan13Features::default()
            .synchronization2(true)
            .dynamic_rendering(true);
        let create_info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&names)
            .push_next(&mut vulkan12)
            .push_next(&mut vulkan13);
        // SAFETY: V3; extensions and features were checked by `missing`.
        let raw = unsafe { instance.raw.create_device(physical.raw, &create_info, None) }
            .during(|| format!("create the device {}", physical.name))?;

        let queue = |family: QueueFamily, index: u32| Queue {
            // SAFETY: family and index are those that the device was created with.
            raw: unsafe { raw.get_device_queue(family.index, index) },
            family: family.index,
            timestamp_valid_bits: family.timestamp_valid_bits,
        };
        let (scene_queue, present_queue) = (queue(family, 0), queue(present_family, present_index));
        let transfer_queue = transfer_family.map(|family| queue(family, 0));
        let allocator = Allocator::new(&AllocatorCreateDesc {
            instance: instance.raw.clone(),
            device: raw.clone(),
            physical_device: physical.raw,
            debug_settings: Default::default(),
            buffer_device_address: request.needs_addresses(),
            allocation_sizes: Default::default(),
        });
        let allocator = match allocator {
            Ok(allocator) => ManuallyDrop::new(Mutex::new(allocator)),
            Err(source) => {
                // SAFETY: nothing was made from the device yet.
                unsafe { raw.destroy_device(None) };
                return Err(Error::Allocation {
                    what: "create the allocator".into(),
                    source,
                });
            }
        };
        let device = Self {
            external_memory_fd: request
                .export
                .then(|| khr::external_memory_fd::Device::new(&instance.raw, &raw)),
            external_semaphore_fd: request
                .export
                .then(|| khr::external_semaphore_fd::Device::new(&instance.raw, &raw)),
            kernels_in_queue: request
                .kernels_in_queue
                .then(|| KernelFunctions::new(&instance.raw, &raw)),
            calibrated_timestamps: host_domain
                .map(|domain| (ext::calibrated_timestamps::Device::new(&instance.raw, &raw), domain)),
            has_memory_budget,
            names: instance
                .has_debug_utils
                .then(|| ext::debug_utils::Device::new(&instance.raw, &raw)),
            allocator,
            pipeline_cache: PipelineCache::new(&raw, request.pipelines_in.as_deref(), &physical),
            raw,
            physical,
            scene_queue,
            present_queue,
            transfer_queue,
            instance: Arc::clone(instance),
        };
        device.name(device.scene_queue.raw, "scene queue");
        if device.has_present_queue() {
            device.name(device.present_queue.raw, "present queue");
        }
        if let Some(queue) = device.transfer_queue {
            device.name(queue.raw, "transfer queue");
        }
        Ok(Arc::new(device))
    }

    /// Scene and present have a queue each.
    pub fn has_present_queue(&self) -> bool {
        self.scene_queue.raw != self.present_queue.raw
    }

    /// The host may ask for results of queries whenever their slot has retired: see [`TimestampPool`](super::TimestampPool). Known of
    /// NVIDIA's driver, which reads them from memory.
    pub fn answers_queries_at_once(&self) -> bool {
        self.physical.driver_id == vk::DriverId::NVIDIA_PROPRIETARY
    }

    /// Whether an OPTIMAL image of the format can be sampled with linear filtering.
    pub fn filters_linearly(&self, format: vk::Format) -> bool {
        // SAFETY: the physical device came from this instance, which the device keeps alive.
        let properties = unsafe {
            self.instance
                .raw
                .get_physical_device_format_properties(self.physical.raw, format)
        };
        properties
            .optimal_tiling_features
            .contains(vk::FormatFeatureFlags::SAMPLED_IMAGE_FILTER_LINEAR)
    }

    /// gpu-allocator, for everything that is not shared.
    pub(super) fn allocator(&self) -> MutexGuard<'_, Allocator> {
        // A panic while allocating leaves gpu-allocator's bookkeeping whole: it changes its lists last.
        self.allocator.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names an object for the validation layer, RenderDoc and Nsight.
    pub fn name<H: vk::Handle>(&self, handle: H, name: &str) {
        let Some(names) = &self.names else { return };
        let name = CString::new(name.replace('\0', " ")).unwrap_or_default();
        let info = vk::DebugUtilsObjectNameInfoEXT::default()
            .object_handle(handle)
            .object_name(&name);
        // SAFETY: V3; the handle was made from this device. A name that could not be set costs only a name.
        let _ = unsafe { names.set_debug_utils_object_name(&info) };
    }

    /// Opens a labelled region of a command buffer.
    pub fn begin_label(&self, commands: vk::CommandBuffer, label: &str) {
        if let Some(names) = &self.names {
            // Every frame does it: on the stack.
            let mut bytes: SmallVec<[u8; 64]> = label.bytes().filter(|byte| *byte != 0).collect();
            bytes.push(0);
            let label = CStr::from_bytes_with_nul(&bytes).unwrap_or_default();
            let info = vk::DebugUtilsLabelEXT::default().label_name(label);
            // SAFETY: V3; the caller's command buffer is recording.
            unsafe { names.cmd_begin_debug_utils_label(commands, &info) };
        }
    }

    /// Closes the region that [`Device::begin_label`] opened.
    pub fn end_label(&self, commands: vk::CommandBuffer) {
        if let Some(names) = &self.names {
            // SAFETY: the caller's command buffer is recording and has an open region.
            unsafe { names.cmd_end_debug_utils_label(commands) };
        }
    }

    /// Waits until the GPU has nothing left to do. Only for set-up, resizing and teardown.
    ///
    /// # Errors
    /// A lost device.
    pub fn wait_idle(&self) -> Result<(), Error> {
        // SAFETY: one thread submits, and it is this one.
        unsafe { self.raw.device_wait_idle() }.during(|| "wait until the device is idle")
    }

    /// Submits one command buffer.
    ///
    /// # Errors
    /// A lost device, or no memory.
    pub fn submit(
        &self,
        queue: Queue,
        commands: vk::CommandBuffer,
        waits: &[vk::SemaphoreSubmitInfo<'_>],
        signals: &[vk::SemaphoreSubmitInfo<'_>],
    ) -> Result<(), Error> {
        let commands = [vk::CommandBufferSubmitInfo::default().command_buffer(commands)];
        let submit = [vk::SubmitInfo2::default()
            .wait_semaphore_infos(waits)
            .command_buffer_infos(&commands)
            .signal_semaphore_infos(signals)];
        // SAFETY: V3; one thread submits; the command buffer was ended and its slot's last use has retired.
        unsafe { self.raw.queue_submit2(queue.raw, &submit, vk::Fence::null()) }.during(|| "submit to a queue")
    }

    /// Submits waits alone: for binary semaphores that must be unsignalled again though their frame was given up.
    ///
    /// # Errors
    /// A lost device, or no memory.
    pub fn submit_waits(&self, queue: Queue, waits: &[vk::SemaphoreSubmitInfo<'_>]) -> Result<(), Error> {
        let submit = [vk::SubmitInfo2::default().wait_semaphore_infos(waits)];
        // SAFETY: V3; one thread submits.
        unsafe { self.raw.queue_submit2(queue.raw, &submit, vk::Fence::null()) }.during(|| "submit waits to a queue")
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: the allocator is dropped once, here, and before the device it allocates from; by V1 nothing made from
        // the device is left.
        unsafe {
            ManuallyDrop::drop(&mut self.allocator);
            self.pipeline_cache.end(&self.raw);
            self.raw.destroy_device(None);
        }
    }
}

/// The family of the present queue, and the queue's index in it.
fn choose_present_queue(physical: &PhysicalDevice, scene: QueueFamily, request: &DeviceRequest) -> (QueueFamily, u32) {
    match physical.compute_family().filter(|_| !request.swapchain) {
        Some(compute) => (compute, 0),
        None => (scene, scene.count.min(2) - 1),
    }
}

/// Which of the host's clocks the device reads together with its own; `None`: none.
fn host_domain(instance: &Instance, physical: &PhysicalDevice) -> Option<HostDomain> {
    if !physical.has_extension(ext::calibrated_timestamps::NAME) {
        return None;
    }
    let functions = ext::calibrated_timestamps::Instance::new(&instance.entry, &instance.raw);
    // SAFETY: the device has the extension.
    let domains = unsafe { functions.get_physical_device_calibrateable_time_domains(physical.raw) };
    HostDomain::of(&domains.unwrap_or_default())
}
