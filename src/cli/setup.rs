//! From options to a renderer: which GPU, who runs the chain, where frames go, each with its reason.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use ash::vk;
use etcetera::BaseStrategy;
use winit::window::Window;

use crate::cuda::{CudaDevice, Driver, Unavailable};
use crate::frame::Timelines;
use crate::interop::{self, VisibleDevices};
use crate::present::{Offscreen, Presenter, Software, Swapchain, VSync, can_present};
use crate::process::{CudaProcessor, HostProcessor, InQueueProcessor, Processor};
use crate::renderer::{Parts, Renderer, Settings};
use crate::scene;
use crate::vulkan::{self, Device, DeviceRequest, Instance, InstanceRequest, PhysicalDevice, Surface};

use super::early_context::EarlyContext;
use super::options::{PresentChoice, ProcessorChoice};
use super::{start, usage};

/// What a [`Machine`] is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// Who runs the chain.
    pub processor: ProcessorChoice,
    /// Where frames go.
    pub present: PresentChoice,
    /// The GPU that the user named.
    pub gpu: Option<String>,
    /// The validation layer must be on.
    pub validate: bool,
    /// The validation layer is on where it is installed.
    pub validate_if_present: bool,
}

impl Request {
    /// The best GPU, no window, no validation.
    pub fn offscreen(processor: ProcessorChoice) -> Self {
        Self {
            processor,
            present: PresentChoice::Offscreen,
            gpu: None,
            validate: false,
            validate_if_present: cfg!(debug_assertions),
        }
    }
}

/// The GPU with its CUDA twin, opened for what is asked of it.
pub struct Machine {
    /// The Vulkan device.
    pub device: Arc<Device>,
    /// The CUDA driver and the device of the same GPU, when CUDA runs the chain.
    pub cuda: Option<(Driver, CudaDevice)>,
    /// Of that device, until a processor has it.
    context: Mutex<Option<EarlyContext>>,
    /// Kernels run inside the Vulkan queue: CUDA links them, and runs what cannot be run there.
    pub in_queue: bool,
    /// Why CUDA does not run the chain, when nobody asked for the host.
    pub without_cuda: Option<String>,
    /// The window's surface, when the device can present to it.
    pub surface: Option<Surface>,
    /// Why there is a window and no swapchain, when nobody asked for that.
    pub without_swapchain: Option<String>,
}

impl Machine {
    /// Chooses and opens a GPU. `window` is what will be presented to, if anything.
    ///
    /// # Errors
    /// No usable GPU, or not the one asked for; each with the lists of what there is.
    pub fn open(request: &Request, window: Option<&Arc<Window>>) -> anyhow::Result<Self> {
        let wants_surface = matches!(request.present, PresentChoice::Auto | PresentChoice::Swapchain);
        let window = window.filter(|_| wants_surface);
        let instance_request = InstanceRequest {
            surface_extensions: window
                .map(Surface::required_extensions)
                .transpose()?
                .unwrap_or_default(),
            validate: request.validate,
            validate_if_present: request.validate_if_present,
        };
        let (driver, instance) = start_both(request.processor != ProcessorChoice::Host, &instance_request);
        let (driver, no_driver) = match driver {
            Some(Ok(driver)) => (Some(driver), None),
            Some(Err(reason)) if request.processor == ProcessorChoice::Cuda => return Err(reason.into()),
            Some(Err(reason)) if request.processor == ProcessorChoice::InQueue => return Err(not_in_queue(reason)),
            Some(Err(reason)) => (None, Some(reason)),
            None => (None, None),
        };
        let (instance, devices) = instance?;
        let surface = window.map(|window| Surface::new(&instance, window)).transpose()?;
        let need_swapchain = request.present == PresentChoice::Swapchain;
        let cannot_present = |device: &PhysicalDevice| -> Option<String> {
            let family = device.graphics_family()?.index;
            can_present(surface.as_ref()?, device, family).err()
        };
        let in_queue = request.processor == ProcessorChoice::InQueue;
        let need_cuda = in_queue || request.processor == ProcessorChoice::Cuda;
        let sharing = DeviceRequest {
            export: true,
            kernels_in_queue: in_queue,
            ..DeviceRequest::default()
        };
        let obstacles = |device: &PhysicalDevice| {
            let mut obstacles = if need_cuda {
                sharing.missing(device)
            } else {
                device.missing(&[])
            };
            obstacles.extend(cannot_present(device).filter(|_| need_swapchain));
            obstacles
        };
        let visible = VisibleDevices {
            vulkan: devices,
            cuda: driver.as_ref().map(|driver| driver.devices.clone()).unwrap_or_default(),
        };
        let presents = |device: &PhysicalDevice| cannot_present(device).is_none();
        let physical = visible
            .choose(request.gpu.as_deref(), need_cuda, obstacles, presents)
            .map_err(|error| match request.gpu {
                Some(_) if matches!(error, interop::Error::NoMatch(_)) => usage(error),
                _ if in_queue => not_in_queue(error),
                _ => error.into(),
            })?;

        let (lacks, twin) = (sharing.missing(&physical), visible.twin(&physical));
        let shares = |twin: &&CudaDevice| twin.timeline_interop && lacks.is_empty();
        let cuda = driver.zip(twin.filter(shares).cloned());
        let without_cuda = match &cuda {
            None if request.processor != ProcessorChoice::Host => {
                Some(why_no_cuda(&physical.name, twin, no_driver.as_ref(), &lacks))
            }
            _ => None,
        };
        let without_swapchain = surface.as_ref().and_then(|_| cannot_present(&physical));
        let surface = surface.filter(|_| without_swapchain.is_none());
        let device_request = DeviceRequest {
            export: cuda.is_some(),
            swapchain: surface.is_some(),
            kernels_in_queue: in_queue,
            pipelines_in: pipelines_folder(),
            ..DeviceRequest::default()
        };
        let context = cuda.as_ref().map(|(driver, cuda)| EarlyContext::open(driver, cuda));
        let device = start::step("Vulkan device", || Device::new(&instance, physical, &device_request))?;
        Ok(Self {
            device,
            cuda,
            context: Mutex::new(context),
            in_queue,
            without_cuda,
            surface,
            without_swapchain,
        })
    }

    /// The processor that the machine was opened for.
    ///
    /// # Errors
    /// A kernel did not load, or a timeline could not be shared.
    pub fn processor(&self, timelines: &Arc<Timelines>) -> anyhow::Result<Box<dyn Processor>> {
        let processor: Box<dyn Processor> = match &self.cuda {
            Some((driver, cuda)) if self.in_queue => Box::new(InQueueProcessor::new(driver, cuda, &self.device)?),
            Some((driver, cuda)) => Box::new(CudaProcessor::new(driver, cuda, &self.device, timelines)?),
            None => Box::new(HostProcessor::new(&self.device, timelines)?),
        };
        // It keeps the context now; a later processor begins with a new one, without what a kernel that failed left behind.
        drop(self.context.lock().unwrap_or_else(PoisonError::into_inner).take());
        Ok(processor)
    }

    /// Who runs the plans that the processor cannot, where there is somebody.
    ///
    /// # Errors
    /// As [`Machine::processor`].
    pub fn standby(&self, timelines: &Arc<Timelines>) -> anyhow::Result<Option<Box<dyn Processor>>> {
        Ok(match &self.cuda {
            Some((driver, cuda)) if self.in_queue => {
                Some(Box::new(CudaProcessor::new(driver, cuda, &self.device, timelines)?))
            }
            _ => None,
        })
    }

    /// The name of its processor on the command line.
    pub fn processor_name(&self) -> &'static str {
        match &self.cuda {
            Some(_) if self.in_queue => "in-queue",
            Some(_) => "cuda",
            None => "host",
        }
    }

    /// The renderer of an offscreen run.
    ///
    /// # Errors
    /// As [`Machine::renderer`].
    pub fn offscreen(&self, scene: &str, extent: vk::Extent2D, settings: Settings) -> anyhow::Result<Renderer> {
        self.renderer(scene, Box::new(Offscreen::new(extent)), settings)
    }

    /// A renderer that shows frames with `presenter`.
    ///
    /// # Errors
    /// An unknown scene, what cannot be shared, or no memory.
    pub fn renderer(&self, scene: &str, presenter: Box<dyn Presenter>, settings: Settings) -> anyhow::Result<Renderer> {
        let processors = |timelines: &_| Ok((self.processor(timelines)?, self.standby(timelines)?));
        self.renderer_with(scene, presenter, settings, processors)
    }

    /// The same, whose chain CUDA runs though kernels could run in the queue: to compare.
    ///
    /// # Errors
    /// As [`Machine::renderer`]; there is no CUDA.
    pub fn renderer_by_cuda(
        &self,
        scene: &str,
        presenter: Box<dyn Presenter>,
        settings: Settings,
    ) -> anyhow::Result<Renderer> {
        let (driver, cuda) = self.cuda.as_ref().context("there is no CUDA to run kernels")?;
        let processors = |timelines: &_| -> anyhow::Result<Processors> {
            Ok((
                Box::new(CudaProcessor::new(driver, cuda, &self.device, timelines)?),
                None,
            ))
        };
        self.renderer_with(scene, presenter, settings, processors)
    }

    fn renderer_with(
        &self,
        scene: &str,
        presenter: Box<dyn Presenter>,
        settings: Settings,
        processors: impl FnOnce(&Arc<Timelines>) -> anyhow::Result<Processors>,
    ) -> anyhow::Result<Renderer> {
        let timelines = Arc::new(Timelines::new(&self.device, self.cuda.is_some())?);
        // Before the processor: meanwhile its context opens.
        let scene = start::step("scene", || scene::create(scene, &self.device)).map_err(|error| match error {
            scene::Error::UnknownName { .. } => usage(error),
            error => error.into(),
        })?;
        let (processor, standby) = start::step("processor", || processors(&timelines))?;
        let parts = Parts {
            device: Arc::clone(&self.device),
            timelines,
            scene,
            processor,
            standby,
            presenter,
        };
        Ok(start::step("renderer", || Renderer::new(parts, settings))?)
    }

    /// The presenter of a window: a swapchain where the device can present, else software.
    ///
    /// # Errors
    /// No memory, or the window system refused.
    pub fn window_presenter(
        &mut self,
        window: &Arc<Window>,
        vsync: VSync,
        slots: usize,
    ) -> anyhow::Result<Box<dyn Presenter>> {
        let size = window.inner_size();
        let extent = vk::Extent2D {
            width: size.width,
            height: size.height,
        };
        Ok(match self.surface.take() {
            Some(surface) => Box::new(Swapchain::new(&self.device, surface, vsync, extent, slots)?),
            None => Box::new(Software::new(&self.device, window, slots)?),
        })
    }

    /// Refuses frames larger than the GPU's images, Vulkan's or CUDA's.
    ///
    /// # Errors
    /// They are.
    pub fn check_extent(&self, extent: vk::Extent2D) -> anyhow::Result<()> {
        let limit = self.device.physical.limits.max_image_dimension2_d;
        if extent.width > limit || extent.height > limit {
            let (name, vk::Extent2D { width, height }) = (&self.device.physical.name, extent);
            return Err(usage(format!(
                "{width}x{height}: {name} has images of up to {limit}x{limit}"
            )));
        }
        let Some((_, CudaDevice { largest_image, .. })) = &self.cuda else {
            return Ok(());
        };
        let [across, down] = *largest_image;
        if extent.width > across || extent.height > down {
            let vk::Extent2D { width, height } = extent;
            return Err(usage(format!(
                "{width}x{height}: CUDA has images of up to {across}x{down} here"
            )));
        }
        Ok(())
    }

    /// Ends a run.
    ///
    /// # Errors
    /// The validation layer counted errors.
    pub fn check_validation(&self) -> anyhow::Result<()> {
        Ok(self.device.instance.check_validation()?)
    }
}

/// Starts CUDA, if it is wanted, beside Vulkan: each takes a good part of the whole start.
#[expect(clippy::type_complexity, reason = "two results that part at once")]
fn start_both(
    wants_cuda: bool,
    request: &InstanceRequest,
) -> (
    Option<Result<Driver, Unavailable>>,
    Result<(Arc<Instance>, Vec<PhysicalDevice>), vulkan::Error>,
) {
    std::thread::scope(|scope| {
        let driver = wants_cuda.then(|| scope.spawn(|| start::step("CUDA driver", Driver::load)));
        let instance = start::step("Vulkan instance", || {
            let instance = Instance::new(request)?;
            let devices = instance.physical_devices()?;
            Ok((instance, devices))
        });
        let driver = driver.map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        (driver, instance)
    })
}

/// Where compiled pipelines are kept, by the XDG base directory specification: `$XDG_CACHE_HOME/handover`. `None` without a home.
fn pipelines_folder() -> Option<PathBuf> {
    let base = etcetera::choose_base_strategy().ok();
    base.map(|base| base.cache_dir().join("handover"))
}

/// Who runs the chain, and who stands by.
type Processors = (Box<dyn Processor>, Option<Box<dyn Processor>>);

/// What `in-queue` needs, and what there is besides.
fn not_in_queue(reason: impl std::fmt::Display) -> anyhow::Error {
    anyhow::anyhow!(
        "--processor in-queue cannot be: {reason}\n  it takes a device with the extensions VK_NVX_binary_import and \
         VK_NVX_image_view_handle, and a CUDA driver to link kernels, as NVIDIA's drivers have: use --processor cuda, which hands \
         frames over, host, which runs everywhere, or auto"
    )
}

fn why_no_cuda(name: &str, twin: Option<&CudaDevice>, no_driver: Option<&Unavailable>, lacks: &[String]) -> String {
    if let Some(reason) = no_driver {
        return reason.to_string();
    }
    match twin {
        None => format!("no visible CUDA device has the UUID of {name}"),
        Some(twin) if !twin.timeline_interop => format!("{} does not share timeline semaphores", twin.name),
        Some(_) => format!("{name} lacks {}", lacks.join(", ")),
    }
}
