//! Images that stay in CUDA: the chain's scratch images, and the self-test's.

use std::mem::MaybeUninit;
use std::sync::Arc;

use cudarc::driver::{CudaContext, sys};

use super::{Error, ImageViews, ResultExt};

/// What the texels of a CUDA array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayFormat {
    /// Four halves.
    Rgba16f,
    /// Four floats.
    Rgba32f,
    /// A float.
    R32f,
    /// Four bytes; textures give 0 to 1.
    Rgba8,
    /// Two halves.
    Rg16f,
}

impl ArrayFormat {
    fn cuda(self) -> (sys::CUarray_format, u32) {
        match self {
            Self::Rgba16f => (sys::CUarray_format::CU_AD_FORMAT_HALF, 4),
            Self::Rgba32f => (sys::CUarray_format::CU_AD_FORMAT_FLOAT, 4),
            Self::R32f => (sys::CUarray_format::CU_AD_FORMAT_FLOAT, 1),
            Self::Rgba8 => (sys::CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8, 4),
            Self::Rg16f => (sys::CUarray_format::CU_AD_FORMAT_HALF, 2),
        }
    }

    fn texel_bytes(self) -> usize {
        match self {
            Self::Rgba16f => 8,
            Self::Rgba32f => 16,
            Self::R32f | Self::Rgba8 | Self::Rg16f => 4,
        }
    }
}

/// A CUDA array with its surface and texture objects.
pub struct CudaImage {
    /// Surface and texture.
    pub views: ImageViews,
    /// Texels across and down.
    pub extent: [u32; 2],
    format: ArrayFormat,
    // Dropped after `views`, which refer to it.
    array: Array,
}

struct Array {
    raw: sys::CUarray,
    context: Arc<CudaContext>,
}

/// `CUDA_ARRAY3D_SURFACE_LDST`.
const SURFACE_LDST: u32 = 0x02;

impl CudaImage {
    /// Allocates it, without defined contents.
    ///
    /// # Errors
    /// No memory, or the extent is over the device's limits.
    pub fn new(context: &Arc<CudaContext>, extent: [u32; 2], format: ArrayFormat) -> Result<Self, Error> {
        let what = || format!("allocate a {}x{} {format:?} CUDA array", extent[0], extent[1]);
        context.bind_to_thread().during(what)?;
        let description = sys::CUDA_ARRAY3D_DESCRIPTOR {
            Width: extent[0] as usize,
            Height: extent[1] as usize,
            Depth: 0,
            Format: format.cuda().0,
            NumChannels: format.cuda().1,
            Flags: SURFACE_LDST,
        };
        let mut raw = std::ptr::null_mut();
        // SAFETY: C3, C4.
        unsafe { sys::cuArray3DCreate_v2(&raw mut raw, &raw const description) }.during(what)?;
        let array = Array {
            raw,
            context: Arc::clone(context),
        };
        let views = ImageViews::new(context, raw, "a scratch image")?;
        Ok(Self {
            views,
            extent,
            format,
            array,
        })
    }

    /// Copies texels (rows packed) in. Blocks.
    ///
    /// # Errors
    /// The driver refused.
    pub fn upload(&self, texels: &[u8]) -> Result<(), Error> {
        assert_eq!(texels.len(), self.bytes(), "an upload fills the image");
        self.copy(Direction::Upload(texels.as_ptr()))
    }

    /// Copies the texels out. Blocks.
    ///
    /// # Errors
    /// The driver refused.
    pub fn download(&self) -> Result<Vec<u8>, Error> {
        let mut texels = vec![0; self.bytes()];
        self.copy(Direction::Download(texels.as_mut_ptr()))?;
        Ok(texels)
    }

    fn bytes(&self) -> usize {
        self.extent[0] as usize * self.extent[1] as usize * self.format.texel_bytes()
    }

    fn copy(&self, direction: Direction) -> Result<(), Error> {
        use sys::CUmemorytype::{CU_MEMORYTYPE_ARRAY as ARRAY, CU_MEMORYTYPE_HOST as HOST};
        let row = self.extent[0] as usize * self.format.texel_bytes();
        let mut copy = MaybeUninit::<sys::CUDA_MEMCPY2D>::zeroed();
        let at = copy.as_mut_ptr();
        // SAFETY: `at` is valid for writes; once both memory types are set, all-zero is valid for the rest. The host
        // pointers cover `bytes()` (checked by the callers), and the copy is finished when the call returns.
        unsafe {
            (&raw mut (*at).WidthInBytes).write(row);
            (&raw mut (*at).Height).write(self.extent[1] as usize);
            match direction {
                Direction::Upload(from) => {
                    (&raw mut (*at).srcMemoryType).write(HOST);
                    (&raw mut (*at).srcHost).write(from.cast());
                    (&raw mut (*at).srcPitch).write(row);
                    (&raw mut (*at).dstMemoryType).write(ARRAY);
                    (&raw mut (*at).dstArray).write(self.array.raw);
                }
                Direction::Download(to) => {
                    (&raw mut (*at).srcMemoryType).write(ARRAY);
                    (&raw mut (*at).srcArray).write(self.array.raw);
                    (&raw mut (*at).dstMemoryType).write(HOST);
                    (&raw mut (*at).dstHost).write(to.cast());
                    (&raw mut (*at).dstPitch).write(row);
                }
            }
            sys::cuMemcpy2D_v2(at)
        }
        .during(|| "copy between the host and a CUDA array")
    }
}

enum Direction {
    Upload(*const u8),
    Download(*mut u8),
}

impl Drop for Array {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: C1, C2.
            let _ = unsafe { sys::cuArrayDestroy(self.raw) };
        }
    }
}
