//! Images that stay in CUDA: the chain's scratch images, and the self-test's.

use std::mem::MaybeUninit;
use std::sync::Arc;

use cudarc::driver::{CudaContext, sys};

use super::{Error, ImageViews, ResultExt};

/// An RGBA16F CUDA array with its surface and texture objects.
pub struct CudaImage {
    /// Surface and texture.
    pub views: ImageViews,
    /// Texels across and down.
    pub extent: [u32; 2],
    // Dropped after `views`, which refer to it.
    array: Array,
}

struct Array {
    raw: sys::CUarray,
    context: Arc<CudaContext>,
}

/// Bytes of an RGBA16F texel.
const TEXEL_BYTES: usize = 8;
/// `CUDA_ARRAY3D_SURFACE_LDST`.
const SURFACE_LDST: u32 = 0x02;

impl CudaImage {
    /// Allocates it, without defined contents.
    ///
    /// # Errors
    /// No memory, or the extent is over the device's limits.
    pub fn new(context: &Arc<CudaContext>, extent: [u32; 2]) -> Result<Self, Error> {
        let what = || format!("allocate a {}x{} RGBA16F CUDA array", extent[0], extent[1]);
        context.bind_to_thread().during(what)?;
        let description = sys::CUDA_ARRAY3D_DESCRIPTOR {
            Width: extent[0] as usize,
            Height: extent[1] as usize,
            Depth: 0,
            Format: sys::CUarray_format::CU_AD_FORMAT_HALF,
            NumChannels: 4,
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
        Ok(Self { views, extent, array })
    }

    /// Copies RGBA16F texels (rows packed, 8 bytes a texel) in. Blocks.
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
        self.extent[0] as usize * self.extent[1] as usize * TEXEL_BYTES
    }

    fn copy(&self, direction: Direction) -> Result<(), Error> {
        use sys::CUmemorytype::{CU_MEMORYTYPE_ARRAY as ARRAY, CU_MEMORYTYPE_HOST as HOST};
        let row = self.extent[0] as usize * TEXEL_BYTES;
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
