//! A swapchain with its presentable images and the semaphores that belong to them: all that dies with the extent.

use std::sync::Arc;
use std::time::Duration;

use ash::{khr, vk};

use super::{BinarySemaphore, Device, Error, Queue, ResultExt, Surface};

/// What a swapchain is made of.
#[derive(Debug, Clone, Copy)]
pub struct SwapchainDescription {
    /// Texels across and down; neither is 0.
    pub extent: vk::Extent2D,
    /// Texel format and colour space.
    pub format: vk::SurfaceFormatKHR,
    /// When a presented image replaces the one shown.
    pub present_mode: vk::PresentModeKHR,
    /// At least so many images; the driver may make more.
    pub min_image_count: u32,
    /// How the images are turned on their way to the screen.
    pub pre_transform: vk::SurfaceTransformFlagsKHR,
    /// What the window system does with alpha.
    pub composite_alpha: vk::CompositeAlphaFlagsKHR,
}

/// How `vkAcquireNextImageKHR` ended, when it did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwapchainAcquire {
    /// An image; the semaphore will be signalled.
    Image {
        /// Its index among [`Swapchain::images`].
        index: u32,
        /// It can be presented, but no longer fits the surface exactly.
        suboptimal: bool,
    },
    /// No image within the limit; the semaphore is untouched.
    NotReady,
    /// The swapchain no longer fits its surface; the semaphore is untouched.
    OutOfDate,
}

/// How `vkQueuePresentKHR` ended, when it did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwapchainPresent {
    /// Shown.
    Shown,
    /// Shown, but the swapchain no longer fits the surface exactly.
    Suboptimal,
    /// Not shown; the swapchain no longer fits its surface. `present_ready` was waited for all the same.
    OutOfDate,
}

/// `VkSwapchainKHR`, its images, and a `present_ready` semaphore for each.
pub struct Swapchain {
    /// The raw handle.
    pub raw: vk::SwapchainKHR,
    /// The presentable images, owned by the swapchain; usage TRANSFER_DST.
    pub images: Vec<vk::Image>,
    /// Waited for by the present of the image with the same index. One an image and not one a slot: only when the image
    /// is acquired again is it known that its last present has finished with the semaphore.
    pub present_ready: Vec<BinarySemaphore>,
    /// What it was made of.
    pub description: SwapchainDescription,
    functions: khr::swapchain::Device,
    /// Kept alive: both are older than the swapchain and must outlive it.
    _surface: Arc<Surface>,
    _device: Arc<Device>,
}

impl Swapchain {
    /// Creates the swapchain. `old`, the surface's swapchain until now, hands over what the two can share and is then
    /// destroyed: the GPU must be idle.
    ///
    /// # Errors
    /// No memory, or a lost surface. `old` is gone even then: Vulkan retires it whether or not the new one could be made.
    pub fn new(
        device: &Arc<Device>,
        surface: &Arc<Surface>,
        description: SwapchainDescription,
        old: Option<Self>,
    ) -> Result<Self, Error> {
        let functions = khr::swapchain::Device::new(&device.instance.raw, &device.raw);
        let create_info = vk::SwapchainCreateInfoKHR::default()
            .surface(surface.raw)
            .min_image_count(description.min_image_count)
            .image_format(description.format.format)
            .image_color_space(description.format.color_space)
            .image_extent(description.extent)
            .image_array_layers(1)
            .image_usage(vk::ImageUsageFlags::TRANSFER_DST)
            .image_sharing_mode(vk::SharingMode::EXCLUSIVE)
            .pre_transform(description.pre_transform)
            .composite_alpha(description.composite_alpha)
            .present_mode(description.present_mode)
            .clipped(true)
            .old_swapchain(old.as_ref().map_or(vk::SwapchainKHR::null(), |old| old.raw));
        // SAFETY: V3; the surface outlives the swapchain (`surface`), and `old` is alive until after the call.
        let raw = unsafe { functions.create_swapchain(&create_info, None) }.during(|| {
            format!(
                "create a swapchain of {}x{} {:?}, {} images, {:?}",
                description.extent.width,
                description.extent.height,
                description.format.format,
                description.min_image_count,
                description.present_mode
            )
        })?;
        drop(old);
        let mut swapchain = Self {
            raw,
            images: Vec::new(),
            present_ready: Vec::new(),
            description,
            functions,
            _surface: Arc::clone(surface),
            _device: Arc::clone(device),
        };
        // SAFETY: `raw` was just made.
        swapchain.images = unsafe { swapchain.functions.get_swapchain_images(raw) }.during(|| "list its images")?;
        device.name(raw, "swapchain");
        for (index, image) in swapchain.images.iter().enumerate() {
            device.name(*image, &format!("swapchain image {index}"));
            let semaphore = BinarySemaphore::new(device, &format!("present_ready {index}"))?;
            swapchain.present_ready.push(semaphore);
        }
        Ok(swapchain)
    }

    /// Acquires an image. `semaphore` is unsignalled and nothing waits for it.
    ///
    /// # Errors
    /// A lost device or surface.
    pub fn acquire(&self, semaphore: &BinarySemaphore, limit: Duration) -> Result<SwapchainAcquire, Error> {
        let nanoseconds = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: V1; one thread uses the swapchain, and the semaphore is unsignalled: the caller's promise.
        let result = unsafe {
            self.functions
                .acquire_next_image(self.raw, nanoseconds, semaphore.raw, vk::Fence::null())
        };
        match result {
            Ok((index, suboptimal)) => Ok(SwapchainAcquire::Image { index, suboptimal }),
            Err(vk::Result::TIMEOUT | vk::Result::NOT_READY) => Ok(SwapchainAcquire::NotReady),
            Err(vk::Result::ERROR_OUT_OF_DATE_KHR) => Ok(SwapchainAcquire::OutOfDate),
            Err(result) => Err(Error::Call {
                what: "acquire a swapchain image".into(),
                result,
            }),
        }
    }

    /// Presents the image `index`, which was acquired and whose `present_ready` a submission signals.
    ///
    /// # Errors
    /// A lost device or surface.
    pub fn present(&self, queue: Queue, index: u32) -> Result<SwapchainPresent, Error> {
        let waits = [self.present_ready[index as usize].raw];
        let (swapchains, indices) = ([self.raw], [index]);
        let present_info = vk::PresentInfoKHR::default()
            .wait_semaphores(&waits)
            .swapchains(&swapchains)
            .image_indices(&indices);
        // SAFETY: V1, V3; one thread submits to the queue, and it is this one.
        match unsafe { self.functions.queue_present(queue.raw, &present_info) } {
            Ok(false) => Ok(SwapchainPresent::Shown),
            Ok(true) => Ok(SwapchainPresent::Suboptimal),
            Err(vk::Result::ERROR_OUT_OF_DATE_KHR) => Ok(SwapchainPresent::OutOfDate),
            Err(result) => Err(Error::Call {
                what: format!("present the swapchain image {index}"),
                result,
            }),
        }
    }
}

impl Drop for Swapchain {
    fn drop(&mut self) {
        // SAFETY: V1, V2; the images go with it.
        unsafe { self.functions.destroy_swapchain(self.raw, None) };
    }
}
