//! A CUDA kernel that a Vulkan queue runs, between its other commands (`VK_NVX_binary_import`).

use std::ffi::{CString, c_void};
use std::sync::Arc;

use ash::{nvx, vk};

use super::{Device, Error, ResultExt};

/// `VkCuFunctionNVX` with its module.
pub struct QueueKernel {
    function: vk::CuFunctionNVX,
    module: vk::CuModuleNVX,
    binary_import: nvx::binary_import::Device,
    image_view_handle: nvx::image_view_handle::Device,
    device: Arc<Device>,
}

impl QueueKernel {
    /// Loads the kernel `entry` of a cubin for this very GPU, as [`link`](crate::cuda::link) makes it.
    ///
    /// # Errors
    /// [`Error::Missing`] when the device was created without
    /// [`kernels_in_queue`](super::DeviceRequest::kernels_in_queue); a failed call.
    pub fn new(device: &Arc<Device>, cubin: &[u8], entry: &str) -> Result<Self, Error> {
        if !device.has_kernels_in_queue {
            return Err(Error::Missing {
                device: device.physical.name.clone(),
                missing: vec!["kernels in its queue: it was created without `kernels_in_queue`".into()],
            });
        }
        let what = || format!("load the kernel `{entry}` into Vulkan");
        let instance = &device.instance.raw;
        let mut kernel = Self {
            function: vk::CuFunctionNVX::null(),
            module: vk::CuModuleNVX::null(),
            binary_import: nvx::binary_import::Device::new(instance, &device.raw),
            image_view_handle: nvx::image_view_handle::Device::new(instance, &device.raw),
            device: Arc::clone(device),
        };
        let (functions, raw) = (kernel.binary_import.fp(), device.raw.handle());
        let module = vk::CuModuleCreateInfoNVX {
            data_size: cubin.len(),
            p_data: cubin.as_ptr().cast(),
            ..Default::default()
        };
        let name = CString::new(entry).unwrap_or_default();
        // SAFETY: V3; the extension is enabled; Vulkan keeps neither the cubin nor the name.
        unsafe {
            (functions.create_cu_module_nvx)(raw, &raw const module, std::ptr::null(), &raw mut kernel.module)
                .result()
                .during(what)?;
            let function = vk::CuFunctionCreateInfoNVX {
                module: kernel.module,
                p_name: name.as_ptr(),
                ..Default::default()
            };
            (functions.create_cu_function_nvx)(raw, &raw const function, std::ptr::null(), &raw mut kernel.function)
                .result()
                .during(what)?;
        }
        Ok(kernel)
    }

    /// A storage image's view as the `cudaSurfaceObject_t` that kernels take (`VK_NVX_image_view_handle`). The image must be in
    /// GENERAL while they use it.
    pub fn surface_of(&self, view: vk::ImageView) -> u64 {
        let info = vk::ImageViewHandleInfoNVX::default()
            .image_view(view)
            .descriptor_type(vk::DescriptorType::STORAGE_IMAGE);
        let functions = self.image_view_handle.fp();
        // SAFETY: V3; the extension is enabled, and the view is of a storage image.
        unsafe { (functions.get_image_view_handle_nvx)(self.device.raw.handle(), &raw const info) }.into()
    }

    /// Records a launch over a grid that covers `extent` threads with blocks of `block`, with its arguments as bytes. It has no
    /// pipeline stage of its own: barriers around it name ALL_COMMANDS.
    ///
    /// # Safety
    /// The command buffer is recording. The arguments are those of the kernel, one slice a parameter, each with the
    /// parameter's size and layout; what they name lives as long as the command buffer may run.
    pub unsafe fn launch(&self, commands: vk::CommandBuffer, extent: [u32; 2], block: [u32; 2], arguments: &[&[u8]]) {
        let parameters: Vec<*const c_void> = arguments.iter().map(|bytes| bytes.as_ptr().cast()).collect();
        let launch = vk::CuLaunchInfoNVX {
            function: self.function,
            grid_dim_x: extent[0].div_ceil(block[0]),
            grid_dim_y: extent[1].div_ceil(block[1]),
            grid_dim_z: 1,
            block_dim_x: block[0],
            block_dim_y: block[1],
            block_dim_z: 1,
            param_count: parameters.len(),
            p_params: parameters.as_ptr(),
            ..Default::default()
        };
        // SAFETY: V3; the parameters are copied by the call; that they are the kernel's is the caller's promise.
        unsafe { (self.binary_import.fp().cmd_cu_launch_kernel_nvx)(commands, &raw const launch) };
    }
}

impl Drop for QueueKernel {
    fn drop(&mut self) {
        let (functions, raw) = (self.binary_import.fp(), self.device.raw.handle());
        // SAFETY: V1, V2; null handles are ignored.
        unsafe {
            (functions.destroy_cu_function_nvx)(raw, self.function, std::ptr::null());
            (functions.destroy_cu_module_nvx)(raw, self.module, std::ptr::null());
        }
    }
}
