//! The presenter that shows frames in a window through a Vulkan swapchain.

use std::sync::Arc;
use std::time::Duration;

use ash::vk;

use super::capability::{COPIED_FORMAT, choose_format, copied_format};
use super::{Acquired, Error, Presented, Presenter, Screen, VSync};
use crate::vulkan::barrier::{self, Barriers};
use crate::vulkan::{
    self, BinarySemaphore, Device, Queue, Surface, SwapchainAcquire, SwapchainDescription, SwapchainPresent,
};

/// How long an acquire waits. A hidden window may never give an image; the window must answer its user all the same.
/// Longer than a frame of any display in use.
const ACQUIRE_LIMIT: Duration = Duration::from_millis(100);

/// What one slot needs to acquire with.
struct Slot {
    /// Signalled when the acquired image may be written.
    image_acquired: BinarySemaphore,
    /// The image that was acquired and not presented yet.
    acquired: Option<u32>,
}

/// Presents through `VkSwapchainKHR`.
pub struct Swapchain {
    /// `None` only after a rebuild that failed.
    swapchain: Option<vulkan::Swapchain>,
    slots: Vec<Slot>,
    /// Zero while the window is minimized; the swapchain then keeps its last extent.
    extent: vk::Extent2D,
    /// The last image came as suboptimal.
    suboptimal: bool,
    /// A swapchain just made for this extent was suboptimal too, as some drivers' always are: rebuilding does not help.
    tolerates_suboptimal: bool,
    /// Frames reach its images by plain copies: these then have the screen image's format.
    copies: bool,
    vsync: VSync,
    surface: Arc<Surface>,
    device: Arc<Device>,
}

impl Swapchain {
    /// Makes the swapchain for a window of the given extent, `slots` frames in flight. Ask
    /// [`can_present`](super::can_present) first; the device was made with
    /// [`DeviceRequest::swapchain`](crate::vulkan::DeviceRequest::swapchain).
    ///
    /// # Errors
    /// No memory, or a lost surface.
    pub fn new(
        device: &Arc<Device>,
        surface: Surface,
        vsync: VSync,
        window: vk::Extent2D,
        slots: usize,
    ) -> Result<Self, Error> {
        let mut presenter = Self {
            swapchain: None,
            slots: Vec::new(),
            extent: vk::Extent2D::default(),
            suboptimal: false,
            tolerates_suboptimal: false,
            copies: false,
            vsync,
            surface: Arc::new(surface),
            device: Arc::clone(device),
        };
        presenter.rebuild(window, slots)?;
        Ok(presenter)
    }

    /// What a swapchain for this window would be made of now; `None` while nothing can be shown.
    fn describe(&self, window: vk::Extent2D, slots: usize) -> Result<Option<SwapchainDescription>, Error> {
        let physical = &self.device.physical;
        let capabilities = self.surface.capabilities(physical)?;
        let extent = fit_extent(&capabilities, window);
        if extent.width == 0 || extent.height == 0 {
            return Ok(None);
        }
        let offered = self.surface.formats(physical)?;
        let chosen = if self.copies {
            copied_format(&offered)
        } else {
            choose_format(&offered)
        };
        let format = chosen.ok_or_else(|| Error::Window {
            what: "choose a format for the window",
            reason: format!("{} offers no 8-bit UNORM format", physical.name),
        })?;
        Ok(Some(SwapchainDescription {
            extent,
            format,
            present_mode: self.vsync.present_mode(&self.surface.present_modes(physical)?),
            min_image_count: image_count(&capabilities, slots),
            pre_transform: capabilities.current_transform,
            composite_alpha: composite_alpha(capabilities.supported_composite_alpha),
        }))
    }

    /// Waits for the acquires that no submission waited for, so that their semaphores are unsignalled again.
    fn drain(&mut self) -> Result<(), vulkan::Error> {
        let waits: Vec<_> = self
            .slots
            .iter_mut()
            .filter_map(|slot| {
                slot.acquired
                    .take()
                    .map(|_| slot.image_acquired.submit_info(barrier::IMAGE_ACQUIRED))
            })
            .collect();
        if waits.is_empty() {
            return Ok(());
        }
        self.device.submit_waits(self.device.present_queue, &waits)?;
        self.device.wait_idle()
    }

    fn live(&self) -> Result<&vulkan::Swapchain, Error> {
        self.swapchain.as_ref().ok_or_else(|| Error::Window {
            what: "use the swapchain",
            reason: "it could not be rebuilt".into(),
        })
    }
}

impl Presenter for Swapchain {
    fn name(&self) -> &'static str {
        "swapchain"
    }

    fn description(&self) -> String {
        let Some(swapchain) = &self.swapchain else {
            return "swapchain, none yet".into();
        };
        let SwapchainDescription {
            format, present_mode, ..
        } = swapchain.description;
        format!(
            "swapchain, {} images, {:?}, {present_mode:?}{}",
            swapchain.images.len(),
            format.format,
            match (self.vsync, present_mode) {
                (VSync::Off, vk::PresentModeKHR::IMMEDIATE)
                | (VSync::Mailbox, vk::PresentModeKHR::MAILBOX)
                | (VSync::On, _) => "",
                (VSync::Off, _) => " (no IMMEDIATE here)",
                (VSync::Mailbox, _) => " (no MAILBOX here)",
            }
        )
    }

    fn extent(&self) -> vk::Extent2D {
        self.extent
    }

    fn acquire(&mut self, slot: usize) -> Result<Acquired, Error> {
        if self.extent.width == 0 || self.extent.height == 0 {
            return Ok(Acquired::NotReady);
        }
        // An image that a skipped frame left behind is still ours, and its semaphore still to be waited for.
        if let Some(target) = self.slots[slot].acquired {
            return Ok(Acquired::Image(target));
        }
        let acquire = self.live()?.acquire(&self.slots[slot].image_acquired, ACQUIRE_LIMIT)?;
        Ok(match acquire {
            SwapchainAcquire::Image { index, suboptimal } => {
                self.slots[slot].acquired = Some(index);
                self.suboptimal = suboptimal;
                Acquired::Image(index)
            }
            SwapchainAcquire::NotReady => Acquired::NotReady,
            SwapchainAcquire::OutOfDate => Acquired::OutOfDate,
        })
    }

    fn copies_on(&mut self, family: u32) -> Result<(), String> {
        let physical = &self.device.physical;
        if !self.surface.supports(physical, family) {
            return Err(format!(
                "{} does not present from its queue family {family}",
                physical.name
            ));
        }
        let offered = self.surface.formats(physical).map_err(|error| error.to_string())?;
        if copied_format(&offered).is_none() {
            return Err(format!(
                "{} presents no {COPIED_FORMAT:?}, and any other format takes a blit",
                physical.name
            ));
        }
        self.copies = true;
        Ok(())
    }

    fn record(&mut self, commands: vk::CommandBuffer, _slot: usize, target: u32, screen: Screen) {
        let Some(swapchain) = &self.swapchain else { return };
        let (image, extent) = (swapchain.images[target as usize], swapchain.description.extent);
        Barriers::new()
            .swapchain_to_transfer(image)
            .record(&self.device, commands);
        if self.copies {
            // The screen image has the swapchain's extent: both are made anew together.
            vulkan::transfer::copy_image(&self.device, commands, screen.image, image, extent);
        } else {
            let source = (screen.image, screen.extent);
            vulkan::transfer::blit(&self.device, commands, source, (image, extent));
        }
        Barriers::new().to_present(image).record(&self.device, commands);
    }

    fn wait(&self, slot: usize) -> Option<vk::SemaphoreSubmitInfo<'static>> {
        Some(self.slots[slot].image_acquired.submit_info(barrier::IMAGE_ACQUIRED))
    }

    fn signal(&self, target: u32) -> Option<vk::SemaphoreSubmitInfo<'static>> {
        let semaphore = &self.swapchain.as_ref()?.present_ready[target as usize];
        Some(semaphore.submit_info(barrier::PRESENT_READY))
    }

    fn present(&mut self, queue: Queue, slot: usize, target: u32) -> Result<Presented, Error> {
        self.slots[slot].acquired = None;
        if self.vsync == VSync::On {
            // Wayland asks for the next frame only of a window that is seen. It does so at the display's pace, which
            // the other settings are there to leave.
            self.surface.window().pre_present_notify();
        }
        let presented = self.live()?.present(queue, target)?;
        self.suboptimal |= presented == SwapchainPresent::Suboptimal;
        if presented == SwapchainPresent::OutOfDate || (self.suboptimal && !self.tolerates_suboptimal) {
            return Ok(Presented::OutOfDate);
        }
        Ok(Presented::Shown)
    }

    fn retired(&mut self, _slot: usize) -> Result<(), Error> {
        Ok(())
    }

    fn rebuild(&mut self, window: vk::Extent2D, slots: usize) -> Result<(), Error> {
        self.drain()?;
        let Some(description) = self.describe(window, slots)? else {
            self.extent = vk::Extent2D::default();
            return Ok(());
        };
        self.tolerates_suboptimal = self.suboptimal && description.extent == self.extent;
        self.suboptimal = false;
        self.slots.truncate(slots);
        for slot in self.slots.len()..slots {
            self.slots.push(Slot {
                image_acquired: BinarySemaphore::new(&self.device, &format!("image_acquired {slot}"))?,
                acquired: None,
            });
        }
        let old = self.swapchain.take();
        self.swapchain = Some(vulkan::Swapchain::new(&self.device, &self.surface, description, old)?);
        self.extent = description.extent;
        Ok(())
    }
}

impl Drop for Swapchain {
    fn drop(&mut self) {
        if let Err(error) = self.drain() {
            tracing::warn!("leave the swapchain: {error}");
        }
    }
}

/// The surface's own extent where it has one (X11, Windows), else the window's within the surface's limits (Wayland).
fn fit_extent(capabilities: &vk::SurfaceCapabilitiesKHR, window: vk::Extent2D) -> vk::Extent2D {
    if capabilities.current_extent.width != u32::MAX {
        return capabilities.current_extent;
    }
    if window.width == 0 || window.height == 0 {
        return vk::Extent2D::default();
    }
    let (min, max) = (capabilities.min_image_extent, capabilities.max_image_extent);
    vk::Extent2D {
        width: window.width.max(min.width).min(max.width),
        height: window.height.max(min.height).min(max.height),
    }
}

/// An image for each frame in flight, and one over the least, so that an acquire does not wait for the display; never
/// more than the surface allows.
fn image_count(capabilities: &vk::SurfaceCapabilitiesKHR, slots: usize) -> u32 {
    let wanted = u32::try_from(slots)
        .unwrap_or(u32::MAX)
        .max(capabilities.min_image_count + 1);
    match capabilities.max_image_count {
        0 => wanted,
        max => wanted.min(max),
    }
}

/// OPAQUE where it is on offer: the screen image's alpha means nothing.
fn composite_alpha(offered: vk::CompositeAlphaFlagsKHR) -> vk::CompositeAlphaFlagsKHR {
    use vk::CompositeAlphaFlagsKHR as Alpha;
    [
        Alpha::OPAQUE,
        Alpha::INHERIT,
        Alpha::PRE_MULTIPLIED,
        Alpha::POST_MULTIPLIED,
    ]
    .into_iter()
    .find(|alpha| offered.contains(*alpha))
    .unwrap_or(Alpha::OPAQUE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(width: u32, height: u32) -> vk::Extent2D {
        vk::Extent2D { width, height }
    }

    #[test]
    fn there_is_an_image_for_each_frame_in_flight_within_the_bounds() {
        let bounded = |min, max| vk::SurfaceCapabilitiesKHR {
            min_image_count: min,
            max_image_count: max,
            ..Default::default()
        };
        assert_eq!(image_count(&bounded(2, 0), 8), 8);
        assert_eq!(image_count(&bounded(3, 0), 1), 4);
        assert_eq!(image_count(&bounded(2, 3), 8), 3);
        assert_eq!(image_count(&bounded(2, 2), 1), 2);
    }

    #[test]
    fn the_surface_decides_its_extent_where_it_has_one() {
        let own = vk::SurfaceCapabilitiesKHR {
            current_extent: extent(640, 0),
            ..Default::default()
        };
        assert_eq!(fit_extent(&own, extent(10, 10)), extent(640, 0));
        let free = vk::SurfaceCapabilitiesKHR {
            current_extent: extent(u32::MAX, u32::MAX),
            min_image_extent: extent(1, 1),
            max_image_extent: extent(100, 100),
            ..Default::default()
        };
        assert_eq!(fit_extent(&free, extent(300, 50)), extent(100, 50));
        assert_eq!(fit_extent(&free, extent(300, 0)), extent(0, 0));
    }
}
