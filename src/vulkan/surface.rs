//! The surface of a window, and what a device says about it.

use std::ffi::CStr;
use std::sync::Arc;

use ash::{khr, vk};
use winit::raw_window_handle::{HasDisplayHandle, HasWindowHandle, RawDisplayHandle};
use winit::window::Window;

use super::{Error, Instance, PhysicalDevice, ResultExt};

/// `VkSurfaceKHR` of a window. It needs an instance only, so it is there before a device is chosen.
pub struct Surface {
    /// The raw handle.
    pub raw: vk::SurfaceKHR,
    functions: khr::surface::Instance,
    /// The surface reads from the window system until it is destroyed, so both outlive it.
    window: Arc<Window>,
    instance: Arc<Instance>,
}

impl Surface {
    /// The instance extensions that the surface of this window system needs: for
    /// [`InstanceRequest::surface_extensions`](super::InstanceRequest::surface_extensions).
    ///
    /// # Errors
    /// A window system that Vulkan has no surface for.
    pub fn required_extensions(display: &impl HasDisplayHandle) -> Result<Vec<&'static CStr>, Error> {
        let display = display.display_handle().map_err(no_handle)?;
        let names = ash_window::enumerate_required_extensions(display.as_raw())
            .during(|| "find the surface extension of this window system")?;
        // SAFETY: ash-window gives NUL-terminated statics.
        Ok(names.iter().map(|name| unsafe { CStr::from_ptr(*name) }).collect())
    }

    /// Creates the surface. The instance must have the [`Surface::required_extensions`].
    ///
    /// # Errors
    /// A failed call.
    pub fn new(instance: &Arc<Instance>, window: &Arc<Window>) -> Result<Self, Error> {
        let display = window.display_handle().map_err(no_handle)?.as_raw();
        let handle = window.window_handle().map_err(no_handle)?.as_raw();
        // SAFETY: V3; both handles are of `window`, which the surface keeps alive.
        let raw = unsafe { ash_window::create_surface(&instance.entry, &instance.raw, display, handle, None) }
            .during(|| "create the window's surface")?;
        Ok(Self {
            raw,
            functions: khr::surface::Instance::new(&instance.entry, &instance.raw),
            window: Arc::clone(window),
            instance: Arc::clone(instance),
        })
    }

    /// The window it is of.
    pub fn window(&self) -> &Arc<Window> {
        &self.window
    }

    /// The instance it was made from: a device can present to it only when it comes from the same one.
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// Whether the window is one of an X server.
    pub fn is_x11(&self) -> bool {
        self.window
            .display_handle()
            .is_ok_and(|display| matches!(display.as_raw(), RawDisplayHandle::Xlib(_) | RawDisplayHandle::Xcb(_)))
    }

    /// Whether queues of the family can present to it. A driver that cannot say so cannot present.
    pub fn supports(&self, physical: &PhysicalDevice, family: u32) -> bool {
        // SAFETY: the device came from `instance`, and the family is one that it listed.
        unsafe {
            self.functions
                .get_physical_device_surface_support(physical.raw, family, self.raw)
        }
        .unwrap_or(false)
    }

    /// Extents, image counts and usages that a swapchain may have now.
    ///
    /// # Errors
    /// A lost surface.
    pub fn capabilities(&self, physical: &PhysicalDevice) -> Result<vk::SurfaceCapabilitiesKHR, Error> {
        // SAFETY: the device came from `instance`.
        unsafe {
            self.functions
                .get_physical_device_surface_capabilities(physical.raw, self.raw)
        }
        .during(|| format!("ask {} for the surface's capabilities", physical.name))
    }

    /// The formats that a swapchain may have.
    ///
    /// # Errors
    /// A lost surface.
    pub fn formats(&self, physical: &PhysicalDevice) -> Result<Vec<vk::SurfaceFormatKHR>, Error> {
        // SAFETY: the device came from `instance`.
        unsafe {
            self.functions
                .get_physical_device_surface_formats(physical.raw, self.raw)
        }
        .during(|| format!("ask {} for the surface's formats", physical.name))
    }

    /// The present modes that a swapchain may have.
    ///
    /// # Errors
    /// A lost surface, or a driver without its display part (`ERROR_UNKNOWN`).
    pub fn present_modes(&self, physical: &PhysicalDevice) -> Result<Vec<vk::PresentModeKHR>, Error> {
        // SAFETY: the device came from `instance`.
        unsafe {
            self.functions
                .get_physical_device_surface_present_modes(physical.raw, self.raw)
        }
        .during(|| format!("ask {} for the surface's present modes", physical.name))
    }
}

impl Drop for Surface {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed once; swapchains keep an Arc of their surface, so none is left.
        unsafe { self.functions.destroy_surface(self.raw, None) };
    }
}

fn no_handle(error: winit::raw_window_handle::HandleError) -> Error {
    Error::NoWindowHandle {
        reason: error.to_string(),
    }
}
