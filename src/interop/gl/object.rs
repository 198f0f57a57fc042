//! Buffers and textures of OpenGL's own, which CUDA can borrow once they are registered.

use std::rc::Rc;
use std::sync::Arc;

use ash::vk;
use cudarc::driver::{CudaContext, sys};
use glow::HasContext;

use crate::cuda::{ImageViews, ResultExt};
use crate::interop::SharedFormat;

use super::functions::{RegisterBuffer, RegisterImage, of_cuda};
use super::{Context, Error};

/// What can be registered with CUDA: [`Buffer`] and [`Texture`].
pub trait Resource: sealed::Resource {}

impl Resource for Buffer {}
impl Resource for Texture {}

pub(super) mod sealed {
    use std::sync::Arc;

    use cudarc::driver::CudaContext;

    use super::{Context, Error, sys};

    pub trait Resource {
        /// What a mapping gives.
        type Mapped;

        /// For messages.
        fn text(&self) -> String;
        fn context(&self) -> &Context;
        /// Registers it; `writes`: kernels store to it. `flags` are `CU_GRAPHICS_REGISTER_FLAGS_…`.
        fn register(&self, flags: u32, writes: bool) -> Result<sys::CUgraphicsResource, Error>;
        /// Asks for the contents; with which views, surface and texture.
        ///
        /// # Safety
        /// `raw` is its registration, and mapped; the context is bound to this thread.
        unsafe fn mapped(
            &self,
            context: &Arc<CudaContext>,
            raw: sys::CUgraphicsResource,
            views: (bool, bool),
        ) -> Result<Self::Mapped, Error>;
    }
}

/// A buffer object with a mutable data store.
///
/// ```no_run
/// use handover::interop::gl::{Buffer, Context};
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let opengl = Context::headless(None)?;
///     let mut vertices = Buffer::new(&opengl, 4096)?;
///     vertices.resize(8192)?;
///     assert!(vertices.resize(0).is_err());
///     assert_eq!(vertices.size(), 8192);
///     Ok(())
/// }
/// ```
pub struct Buffer {
    /// Its name.
    pub raw: glow::Buffer,
    size: usize,
    context: Rc<Context>,
}

/// A 2-D texture object with an immutable store.
///
/// ```no_run
/// use handover::interop::SharedFormat;
/// use handover::interop::gl::{Context, Texture};
/// use handover::vulkan::vk::Extent2D;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let opengl = Context::headless(None)?;
///     let extent = |width, height| Extent2D { width, height };
///     let mut texture = Texture::new(&opengl, SharedFormat::Rgba16Float, extent(640, 360))?;
///     texture.resize(extent(1280, 720))?;
///     assert_eq!(texture.extent(), extent(1280, 720));
///     Ok(())
/// }
/// ```
pub struct Texture {
    /// Its name. [`Texture::resize`] gives it another one.
    pub raw: glow::Texture,
    format: SharedFormat,
    extent: vk::Extent2D,
    levels: u32,
    context: Rc<Context>,
}

impl Buffer {
    /// Creates a buffer of `size` bytes, from 1 to 2³¹ - 1, whose contents are undefined.
    ///
    /// # Errors
    /// [`Error::Range`]; no memory.
    pub fn new(context: &Rc<Context>, size: usize) -> Result<Self, Error> {
        // SAFETY: G1.
        let raw = unsafe { context.gl()?.create_named_buffer() };
        let raw = raw.map_err(|message| refused(format!("create a buffer of {size} bytes"), message))?;
        let mut buffer = Self {
            raw,
            size: 0,
            context: Rc::clone(context),
        };
        buffer.resize(size)?;
        Ok(buffer)
    }

    /// Gives it a new data store of `size` bytes, whose contents are undefined.
    ///
    /// # Errors
    /// As for [`Buffer::new`]; it then keeps the store that it has, or none.
    pub fn resize(&mut self, size: usize) -> Result<(), Error> {
        let what = || format!("make a buffer of {size} bytes");
        let bytes = i32::try_from(size).ok().filter(|bytes| *bytes > 0);
        let Some(bytes) = bytes else {
            let reason = format!("a size must be from 1 to {}", i32::MAX);
            return Err(Error::Range { what: what(), reason });
        };
        // SAFETY: G1, G2.
        unsafe {
            self.context
                .gl()?
                .named_buffer_data_size(self.raw, bytes, glow::DYNAMIC_DRAW)
        };
        self.context.check(what)?;
        self.size = size;
        Ok(())
    }

    /// Bytes.
    pub fn size(&self) -> usize {
        self.size
    }
}

impl Texture {
    /// Creates a texture with one level, whose contents are undefined. It is sampled unfiltered and clamped until the program
    /// says otherwise.
    ///
    /// # Errors
    /// [`Error::Range`]; no memory.
    pub fn new(context: &Rc<Context>, format: SharedFormat, extent: vk::Extent2D) -> Result<Self, Error> {
        Self::with_levels(context, format, extent, 1)
    }

    /// The same with `levels` levels, each half as wide and high as the one before, rounded down, and at least 1.
    ///
    /// # Errors
    /// As for [`Texture::new`].
    pub fn with_levels(
        context: &Rc<Context>,
        format: SharedFormat,
        extent: vk::Extent2D,
        levels: u32,
    ) -> Result<Self, Error> {
        let what = || format!("make a texture {}", text(format, extent, levels));
        check_extent(context, extent, levels, what)?;
        let texture = Self {
            raw: new_texture(context, glow::TEXTURE_2D)?,
            format,
            extent,
            levels,
            context: Rc::clone(context),
        };
        let (width, height) = (extent.width as i32, extent.height as i32);
        // SAFETY: G1, G2; the sides are in OpenGL's limits.
        unsafe {
            let gl = context.gl()?;
            gl.texture_storage_2d(texture.raw, levels as i32, format.opengl(), width, height);
        }
        context.check(what)?;
        Ok(texture)
    }

    /// Gives it a new store, whose contents are undefined, and a new name: an immutable store cannot change.
    ///
    /// # Errors
    /// As for [`Texture::new`]; it then stays as it is.
    pub fn resize(&mut self, extent: vk::Extent2D) -> Result<(), Error> {
        *self = Self::with_levels(&self.context, self.format, extent, self.levels)?;
        Ok(())
    }

    /// Texel format.
    pub fn format(&self) -> SharedFormat {
        self.format
    }

    /// Texels across and down of level 0.
    pub fn extent(&self) -> vk::Extent2D {
        self.extent
    }

    /// Levels.
    pub fn levels(&self) -> u32 {
        self.levels
    }
}

/// A texture without a store, unfiltered and clamped.
pub(super) fn new_texture(context: &Context, target: u32) -> Result<glow::Texture, Error> {
    let gl = context.gl()?;
    // SAFETY: G1; the name is new.
    unsafe {
        let raw = gl
            .create_named_texture(target)
            .map_err(|message| refused("create a texture".into(), message))?;
        for (parameter, value) in [
            (glow::TEXTURE_MIN_FILTER, glow::NEAREST),
            (glow::TEXTURE_MAG_FILTER, glow::NEAREST),
            (glow::TEXTURE_WRAP_S, glow::CLAMP_TO_EDGE),
            (glow::TEXTURE_WRAP_T, glow::CLAMP_TO_EDGE),
        ] {
            gl.texture_parameter_i32(raw, parameter, value as i32);
        }
        Ok(raw)
    }
}

fn check_extent(
    context: &Context,
    extent: vk::Extent2D,
    levels: u32,
    what: impl FnOnce() -> String,
) -> Result<(), Error> {
    // SAFETY: G1.
    let limit = unsafe { context.gl()?.get_parameter_i32(glow::MAX_TEXTURE_SIZE) }.unsigned_abs();
    let sides = 1..=limit;
    let chain = u32::BITS - extent.width.max(extent.height).leading_zeros();
    let reason = if !sides.contains(&extent.width) || !sides.contains(&extent.height) {
        format!("each side must be from 1 to {limit}")
    } else if !(1..=chain).contains(&levels) {
        format!("it can have from 1 to {chain} levels")
    } else {
        return Ok(());
    };
    Err(Error::Range { what: what(), reason })
}

fn text(format: SharedFormat, vk::Extent2D { width, height }: vk::Extent2D, levels: u32) -> String {
    let levels = match levels {
        1 => String::new(),
        levels => format!(", {levels} levels"),
    };
    format!("{width}x{height} {:?}{levels}", format.vulkan())
}

fn refused(what: String, message: String) -> Error {
    Error::Refused { what, message }
}

impl sealed::Resource for Buffer {
    type Mapped = sys::CUdeviceptr;

    fn text(&self) -> String {
        format!("an OpenGL buffer of {} bytes", self.size)
    }

    fn context(&self) -> &Context {
        &self.context
    }

    fn register(&self, flags: u32, _writes: bool) -> Result<sys::CUgraphicsResource, Error> {
        self.context.gl()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: G1, G2; a CUDA context is bound (C1), so libcuda is loaded (C4); the type is that of this function.
        unsafe {
            let register: RegisterBuffer = of_cuda("cuGraphicsGLRegisterBuffer")?;
            register(&raw mut raw, self.raw.0.get(), flags)
        }
        .during(|| format!("register {} with CUDA, flags {flags:#x}", self.text()))?;
        Ok(raw)
    }

    unsafe fn mapped(
        &self,
        _context: &Arc<CudaContext>,
        raw: sys::CUgraphicsResource,
        _views: (bool, bool),
    ) -> Result<Self::Mapped, Error> {
        let what = || format!("map {}", self.text());
        let (mut address, mut size) = (0, 0);
        // SAFETY: C4; mapped, by the caller's promise.
        unsafe { sys::cuGraphicsResourceGetMappedPointer_v2(&raw mut address, &raw mut size, raw) }.during(what)?;
        if size < self.size {
            let reason = format!("CUDA sees {size} bytes of it: it was resized by others while it was registered");
            return Err(Error::Range { what: what(), reason });
        }
        Ok(address)
    }
}

/// `CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST`: kernels load and store through a surface.
const SURFACE_LDST: u32 = 0x04;

impl sealed::Resource for Texture {
    /// One a level.
    type Mapped = Vec<ImageViews>;

    fn text(&self) -> String {
        format!("an OpenGL texture {}", text(self.format, self.extent, self.levels))
    }

    fn context(&self) -> &Context {
        &self.context
    }

    fn register(&self, flags: u32, writes: bool) -> Result<sys::CUgraphicsResource, Error> {
        self.context.gl()?;
        let flags = flags | if writes { SURFACE_LDST } else { 0 };
        let mut raw = std::ptr::null_mut();
        // SAFETY: as above.
        unsafe {
            let register: RegisterImage = of_cuda("cuGraphicsGLRegisterImage")?;
            register(&raw mut raw, self.raw.0.get(), glow::TEXTURE_2D, flags)
        }
        .during(|| format!("register {} with CUDA, flags {flags:#x}", self.text()))?;
        Ok(raw)
    }

    unsafe fn mapped(
        &self,
        context: &Arc<CudaContext>,
        raw: sys::CUgraphicsResource,
        (surface, texture): (bool, bool),
    ) -> Result<Self::Mapped, Error> {
        let level_views = |level| {
            let mut array = std::ptr::null_mut();
            // SAFETY: C4; mapped, by the caller's promise; one layer.
            unsafe { sys::cuGraphicsSubResourceGetMappedArray(&raw mut array, raw, 0, level) }
                .during(|| format!("map level {level} of {}", self.text()))?;
            Ok(ImageViews::of(context, array, &self.text(), surface, texture)?)
        };
        (0..self.levels).map(level_views).collect()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Ok(gl) = self.context.gl() {
            // SAFETY: G1, G2.
            unsafe { gl.delete_buffer(self.raw) };
        }
    }
}

impl Drop for Texture {
    fn drop(&mut self) {
        if let Ok(gl) = self.context.gl() {
            // SAFETY: G1, G2.
            unsafe { gl.delete_texture(self.raw) };
        }
    }
}
