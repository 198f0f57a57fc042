//! The CUDA driver: found or not, and why; its devices.

use std::sync::Arc;

use cudarc::driver::{CudaContext, result, sys};

use super::{Error, ResultExt};

/// Why there is no CUDA here. Each says what to do.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Unavailable {
    /// libcuda is not there.
    #[error(
        "no CUDA driver library (libcuda.so.1)\n  install the NVIDIA driver; in a container, add the capability `compute` \
         (NVIDIA_DRIVER_CAPABILITIES) so that the library is mounted"
    )]
    NoLibrary,
    /// libcuda is older than what Handover calls.
    #[error("the CUDA driver library lacks {}\n  update the NVIDIA driver (525 or newer)", .0.join(", "))]
    TooOld(Vec<&'static str>),
    /// `cuInit` failed.
    #[error(
        "the CUDA driver does not start: {0}\n  the kernel module may be missing or of another version than libcuda: \
         compare /proc/driver/nvidia/version with nvidia-smi"
    )]
    Init(String),
    /// No device is visible.
    #[error("the CUDA driver sees no device{0}")]
    NoDevice(String),
}

/// Every driver function that is called, by us or by the part of cudarc that we use.
const SYMBOLS: &[&str] = &[
    "cuArray3DCreate_v2",
    "cuArrayDestroy",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuDestroyExternalMemory",
    "cuDestroyExternalSemaphore",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceGetUuid_v2",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDeviceTotalMem_v2",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventElapsedTime",
    "cuEventQuery",
    "cuEventRecord",
    "cuEventRecordWithFlags",
    "cuEventSynchronize",
    "cuExternalMemoryGetMappedBuffer",
    "cuExternalMemoryGetMappedMipmappedArray",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuGraphExecExternalSemaphoresSignalNodeSetParams",
    "cuGraphExecExternalSemaphoresWaitNodeSetParams",
    "cuGraphExecKernelNodeSetParams_v2",
    "cuGraphInstantiateWithFlags",
    "cuGraphKernelNodeGetParams_v2",
    "cuGraphLaunch",
    "cuGraphicsMapResources",
    "cuGraphicsResourceGetMappedPointer_v2",
    "cuGraphicsSubResourceGetMappedArray",
    "cuGraphicsUnmapResources",
    "cuGraphicsUnregisterResource",
    "cuImportExternalMemory",
    "cuImportExternalSemaphore",
    "cuInit",
    "cuLaunchKernel",
    "cuLinkAddData_v2",
    "cuLinkComplete",
    "cuLinkCreate_v2",
    "cuLinkDestroy",
    "cuMemAddressFree",
    "cuMemAddressReserve",
    "cuMemAlloc_v2",
    "cuMemCreate",
    "cuMemExportToShareableHandle",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuMemGetAllocationGranularity",
    "cuMemGetInfo_v2",
    "cuMemHostAlloc",
    "cuMemHostGetDevicePointer_v2",
    "cuMemMap",
    "cuMemRelease",
    "cuMemSetAccess",
    "cuMemUnmap",
    "cuMemcpy2D_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyHtoD_v2",
    "cuMemcpyPeerAsync",
    "cuMemsetD8Async",
    "cuMipmappedArrayDestroy",
    "cuMipmappedArrayGetLevel",
    "cuModuleGetFunction",
    "cuModuleLoadDataEx",
    "cuModuleUnload",
    "cuSignalExternalSemaphoresAsync",
    "cuStreamBeginCapture_v2",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamEndCapture",
    "cuStreamGetCaptureInfo_v2",
    "cuStreamQuery",
    "cuStreamSynchronize",
    "cuSurfObjectCreate",
    "cuSurfObjectDestroy",
    "cuTexObjectCreate",
    "cuTexObjectDestroy",
    "cuWaitExternalSemaphoresAsync",
];

/// A CUDA device as the driver describes it.
#[derive(Debug, Clone, serde::Serialize)]
pub struct CudaDevice {
    /// Its number among the visible devices.
    pub ordinal: usize,
    /// Its name.
    pub name: String,
    /// Equal to Vulkan's `deviceUUID` of the same GPU.
    pub uuid: [u8; 16],
    /// Major and minor compute capability.
    pub compute_capability: (i32, i32),
    /// `CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED`.
    pub timeline_interop: bool,
    /// Bytes of device memory.
    pub memory: usize,
    /// Texels that an image may have across and down: arrays with a surface and a texture object, the shared ones of mip levels.
    pub largest_image: [u32; 2],
}

/// Proof that libcuda is loaded, complete and initialized.
#[derive(Debug, Clone)]
pub struct Driver {
    /// The CUDA version that the driver supports, as 1000 × major + 10 × minor.
    pub version: i32,
    /// The visible devices; never empty.
    pub devices: Vec<CudaDevice>,
}

impl Driver {
    /// Finds and starts the driver without ever panicking.
    ///
    /// # Errors
    /// Why there is none.
    pub fn load() -> Result<Self, Unavailable> {
        // SAFETY: loading the system's libcuda runs its initializers, which is what we want of it.
        if !unsafe { sys::is_culib_present() } {
            return Err(Unavailable::NoLibrary);
        }
        // SAFETY: the library is present; only the symbols' presence is looked at, none is called.
        let missing: Vec<_> = unsafe {
            let library = sys::culib();
            let has = |name: &str| library.get::<unsafe extern "C" fn()>(name.as_bytes()).is_ok();
            SYMBOLS.iter().copied().filter(|name| !has(name)).collect()
        };
        if !missing.is_empty() {
            return Err(Unavailable::TooOld(missing));
        }
        // Until `cuInit` has succeeded, no error text may be formatted by cudarc: that calls into the driver.
        if let Err(error) = result::init() {
            return Err(match error.0 {
                sys::CUresult::CUDA_ERROR_NO_DEVICE => Unavailable::NoDevice(visible_devices_hint()),
                result => Unavailable::Init(format!("{result:?}")),
            });
        }
        let mut version = 0;
        // SAFETY: C4.
        let _ = unsafe { sys::cuDriverGetVersion(&raw mut version) };
        let devices = devices().map_err(|error| Unavailable::Init(error.to_string()))?;
        if devices.is_empty() {
            return Err(Unavailable::NoDevice(visible_devices_hint()));
        }
        Ok(Self { version, devices })
    }

    /// The primary context of a device, bound to this thread.
    ///
    /// # Errors
    /// The driver refused.
    pub fn context(&self, device: &CudaDevice) -> Result<Arc<CudaContext>, Error> {
        let context = CudaContext::new(device.ordinal)
            .during(|| format!("open the context of CUDA device {} ({})", device.ordinal, device.name))?;
        // SAFETY: no CudaSlice is shared between streams: all sharing goes through our own semaphores.
        unsafe { context.disable_event_tracking() };
        Ok(context)
    }
}

/// Has the driver load kernels when they are first launched, as it does by itself from CUDA 12.2 on (`CUDA_MODULE_LOADING`), unless the
/// user says otherwise. To be called before [`Driver::load`].
///
/// # Safety
/// No other thread may read or write the environment meanwhile: call it before any is started.
pub unsafe fn load_lazily() {
    const NAME: &str = "CUDA_MODULE_LOADING";
    if std::env::var_os(NAME).is_none() {
        // SAFETY: the caller's promise.
        unsafe { std::env::set_var(NAME, "LAZY") };
    }
}

fn visible_devices_hint() -> String {
    match std::env::var("CUDA_VISIBLE_DEVICES") {
        Ok(value) => format!("\n  CUDA_VISIBLE_DEVICES is {value:?}: it hides devices"),
        Err(_) => String::new(),
    }
}

fn devices() -> Result<Vec<CudaDevice>, Error> {
    let count = result::device::get_count().during(|| "count the CUDA devices")?;
    (0..count).map(describe).collect()
}

fn describe(ordinal: i32) -> Result<CudaDevice, Error> {
    let what = || format!("describe CUDA device {ordinal}");
    let device = result::device::get(ordinal).during(what)?;
    let attribute = |attribute| {
        // SAFETY: `device` came from the driver.
        unsafe { result::device::get_attribute(device, attribute) }.during(what)
    };
    use sys::CUdevice_attribute as Attribute;
    let uuid = result::device::get_uuid(device).during(what)?;
    let least_of = |attributes: [Attribute; 3]| -> Result<u32, Error> {
        let limits = attributes.map(attribute).into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(limits.into_iter().min().map_or(0, i32::unsigned_abs))
    };
    Ok(CudaDevice {
        ordinal: ordinal as usize,
        name: result::device::get_name(device).during(what)?,
        uuid: uuid.bytes.map(|byte| byte as u8),
        compute_capability: (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        timeline_interop: attribute(Attribute::CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED)? != 0,
        // SAFETY: `device` came from the driver.
        memory: unsafe { result::device::total_mem(device) }.during(what)?,
        largest_image: [
            least_of([
                Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH,
                Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH,
                Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH,
            ])?,
            least_of([
                Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT,
                Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT,
                Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT,
            ])?,
        ],
    })
}
