//! How kernels reach an image: a surface object to load and store texels, a texture object to sample.

use std::mem::MaybeUninit;
use std::sync::Arc;

use cudarc::driver::{CudaContext, sys};

use super::{Error, ResultExt};

/// The surface and the texture object of one CUDA array.
pub struct ImageViews {
    /// `CUsurfObject`: unfiltered loads and stores, x in bytes.
    pub surface: sys::CUsurfObject,
    /// `CUtexObject`: bilinear, clamped, coordinates in 0..1; 8-bit texels come as 0..1.
    pub texture: sys::CUtexObject,
    context: Arc<CudaContext>,
}

/// `CU_TRSF_NORMALIZED_COORDINATES`.
const NORMALIZED_COORDINATES: u32 = 2;

impl ImageViews {
    /// Makes both objects over `array`, which must outlive them.
    ///
    /// # Errors
    /// The driver refused.
    pub(crate) fn new(context: &Arc<CudaContext>, array: sys::CUarray, what: &str) -> Result<Self, Error> {
        Self::of(context, array, what, true, true)
    }

    /// Makes those that are asked for; the others are 0.
    ///
    /// # Errors
    /// The driver refused.
    pub(crate) fn of(
        context: &Arc<CudaContext>,
        array: sys::CUarray,
        what: &str,
        surface: bool,
        texture: bool,
    ) -> Result<Self, Error> {
        context.bind_to_thread().during(|| format!("make views of {what}"))?;
        // The descriptors' enums have no 0, so they are filled in place before they count as initialized.
        let mut resource = MaybeUninit::<sys::CUDA_RESOURCE_DESC>::zeroed();
        // SAFETY: the pointer is valid for writes; after these two, all-zero is a valid value for the rest.
        let resource = unsafe {
            (&raw mut (*resource.as_mut_ptr()).resType).write(sys::CUresourcetype::CU_RESOURCE_TYPE_ARRAY);
            (&raw mut (*resource.as_mut_ptr()).res.array.hArray).write(array);
            resource.assume_init()
        };
        let mut views = Self {
            surface: 0,
            texture: 0,
            context: Arc::clone(context),
        };
        if surface {
            // SAFETY: C3, C4.
            unsafe { sys::cuSurfObjectCreate(&raw mut views.surface, &raw const resource) }
                .during(|| format!("make the surface object of {what}"))?;
        }
        if !texture {
            return Ok(views);
        }
        let mut description = MaybeUninit::<sys::CUDA_TEXTURE_DESC>::zeroed();
        let clamp = sys::CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP;
        // SAFETY: as above; the enums that are not named here have a 0.
        let description = unsafe {
            (&raw mut (*description.as_mut_ptr()).addressMode).write([clamp; 3]);
            (&raw mut (*description.as_mut_ptr()).filterMode).write(sys::CUfilter_mode::CU_TR_FILTER_MODE_LINEAR);
            (&raw mut (*description.as_mut_ptr()).flags).write(NORMALIZED_COORDINATES);
            description.assume_init()
        };
        // SAFETY: C3, C4; no resource view.
        unsafe {
            sys::cuTexObjectCreate(
                &raw mut views.texture,
                &raw const resource,
                &raw const description,
                std::ptr::null(),
            )
        }
        .during(|| format!("make the texture object of {what}"))?;
        Ok(views)
    }
}

impl Drop for ImageViews {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: C1, C2; 0 is an object that was never made.
            unsafe {
                if self.texture != 0 {
                    let _ = sys::cuTexObjectDestroy(self.texture);
                }
                if self.surface != 0 {
                    let _ = sys::cuSurfObjectDestroy(self.surface);
                }
            }
        }
    }
}
