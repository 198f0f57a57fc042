//! CUDA kernels that a Vulkan queue runs, between its other commands (`VK_NVX_binary_import`), and images as they take them
//! (`VK_NVX_image_view_handle`).

use std::ffi::CString;
use std::sync::Arc;

use ash::{nvx, vk};

use super::{Device, Error, ResultExt};

/// What a [`Device`] that was asked for [`kernels_in_queue`](super::DeviceRequest::kernels_in_queue) calls.
pub(super) struct KernelFunctions {
    binary_import: nvx::binary_import::Device,
    image_view_handle: nvx::image_view_handle::Device,
}

impl KernelFunctions {
    /// The device was created with both extensions.
    pub(super) fn new(instance: &ash::Instance, device: &ash::Device) -> Self {
        Self {
            binary_import: nvx::binary_import::Device::new(instance, device),
            image_view_handle: nvx::image_view_handle::Device::new(instance, device),
        }
    }

    fn of(device: &Device) -> Result<&Self, Error> {
        device.kernels_in_queue.as_ref().ok_or_else(|| Error::Missing {
            device: device.physical.name.clone(),
            missing: vec!["kernels in its queue: it was created without `kernels_in_queue`".into()],
        })
    }
}

/// `VkCuModuleNVX`: the kernels of one cubin.
pub struct QueueModule {
    raw: vk::CuModuleNVX,
    name: String,
    device: Arc<Device>,
}

/// `VkCuFunctionNVX`, kept with the module it is in.
pub struct QueueFunction {
    raw: vk::CuFunctionNVX,
    functions: nvx::binary_import::Device,
    module: Arc<QueueModule>,
}

impl QueueModule {
    /// Loads a cubin for this very GPU, as [`link`](crate::cuda::link) makes it. Any thread may.
    ///
    /// # Errors
    /// [`Error::Missing`] when the device was created without
    /// [`kernels_in_queue`](super::DeviceRequest::kernels_in_queue); the driver refused the cubin.
    pub fn load(device: &Arc<Device>, cubin: &[u8], name: &str) -> Result<Arc<Self>, Error> {
        let functions = &KernelFunctions::of(device)?.binary_import;
        let create_info = vk::CuModuleCreateInfoNVX {
            data_size: cubin.len(),
            p_data: cubin.as_ptr().cast(),
            ..Default::default()
        };
        let (mut raw, create) = (vk::CuModuleNVX::null(), functions.fp().create_cu_module_nvx);
        // SAFETY: V3; the extension is enabled; Vulkan does not keep the cubin.
        unsafe {
            create(
                device.raw.handle(),
                &raw const create_info,
                std::ptr::null(),
                &raw mut raw,
            )
        }
        .result()
        .during(|| format!("load the kernels of `{name}` into Vulkan"))?;
        Ok(Arc::new(Self {
            raw,
            name: name.into(),
            device: Arc::clone(device),
        }))
    }

    /// Looks up an entry.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn function(self: &Arc<Self>, entry: &str) -> Result<QueueFunction, Error> {
        let functions = KernelFunctions::of(&self.device)?.binary_import.clone();
        let name = CString::new(entry).unwrap_or_default();
        let create_info = vk::CuFunctionCreateInfoNVX {
            module: self.raw,
            p_name: name.as_ptr(),
            ..Default::default()
        };
        let (mut raw, create) = (vk::CuFunctionNVX::null(), functions.fp().create_cu_function_nvx);
        // SAFETY: V3; the module is alive; Vulkan does not keep the name.
        unsafe {
            create(
                self.device.raw.handle(),
                &raw const create_info,
                std::ptr::null(),
                &raw mut raw,
            )
        }
        .result()
        .during(|| format!("find the kernel `{entry}` in `{}`", self.name))?;
        Ok(QueueFunction {
            raw,
            functions,
            module: Arc::clone(self),
        })
    }
}

impl QueueFunction {
    /// Records a launch over a grid that covers `threads` with blocks of `block`, with its arguments as bytes. It has no
    /// pipeline stage of its own: barriers around it name ALL_COMMANDS (see [`kernel_barrier`](super::kernel_barrier)).
    ///
    /// # Safety
    /// The command buffer is recording. The arguments are those of the kernel, one slice a parameter, each with the
    /// parameter's size and layout; what they name, and this function, live as long as the command buffer may run.
    pub unsafe fn launch<const N: usize>(
        &self,
        commands: vk::CommandBuffer,
        threads: [u32; 2],
        block: [u32; 2],
        arguments: [&[u8]; N],
    ) {
        let parameters = arguments.map(|bytes| bytes.as_ptr().cast());
        let launch = vk::CuLaunchInfoNVX {
            function: self.raw,
            grid_dim_x: threads[0].div_ceil(block[0]),
            grid_dim_y: threads[1].div_ceil(block[1]),
            grid_dim_z: 1,
            block_dim_x: block[0],
            block_dim_y: block[1],
            block_dim_z: 1,
            param_count: parameters.len(),
            p_params: parameters.as_ptr(),
            ..Default::default()
        };
        // SAFETY: V3; the parameters are copied by the call; that they are the kernel's is the caller's promise.
        unsafe { (self.functions.fp().cmd_cu_launch_kernel_nvx)(commands, &raw const launch) };
    }
}

/// A storage image's view as the `cudaSurfaceObject_t` that kernels take. The image must be in GENERAL while they use it.
///
/// # Errors
/// [`Error::Missing`], as [`QueueModule::load`].
pub fn surface_of(device: &Device, view: vk::ImageView) -> Result<u64, Error> {
    let info = vk::ImageViewHandleInfoNVX::default()
        .image_view(view)
        .descriptor_type(vk::DescriptorType::STORAGE_IMAGE);
    handle_of(device, &info)
}

/// A sampled image's view and a sampler as the `cudaTextureObject_t` that kernels take. The image must be in GENERAL while they
/// use it; the sampler lives as long.
///
/// # Errors
/// As [`surface_of`].
pub fn texture_of(device: &Device, view: vk::ImageView, sampler: vk::Sampler) -> Result<u64, Error> {
    let info = vk::ImageViewHandleInfoNVX::default()
        .image_view(view)
        .sampler(sampler)
        .descriptor_type(vk::DescriptorType::COMBINED_IMAGE_SAMPLER);
    handle_of(device, &info)
}

fn handle_of(device: &Device, info: &vk::ImageViewHandleInfoNVX<'_>) -> Result<u64, Error> {
    let functions = KernelFunctions::of(device)?.image_view_handle.fp();
    // SAFETY: V3; the extension is enabled; the view's image has the usage of the descriptor type, as the callers' docs ask.
    Ok(unsafe { (functions.get_image_view_handle_nvx)(device.raw.handle(), info) }.into())
}

impl Drop for QueueModule {
    fn drop(&mut self) {
        if let Ok(functions) = KernelFunctions::of(&self.device) {
            let destroy = functions.binary_import.fp().destroy_cu_module_nvx;
            // SAFETY: V1, V2; its functions are gone, since each keeps the module.
            unsafe { destroy(self.device.raw.handle(), self.raw, std::ptr::null()) };
        }
    }
}

impl Drop for QueueFunction {
    fn drop(&mut self) {
        let destroy = self.functions.fp().destroy_cu_function_nvx;
        // SAFETY: V1, V2.
        unsafe { destroy(self.module.device.raw.handle(), self.raw, std::ptr::null()) };
    }
}
