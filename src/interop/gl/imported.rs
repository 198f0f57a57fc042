//! Memory of Vulkan's, imported into OpenGL as a texture or a buffer (`GL_EXT_memory_object_fd`).

use std::rc::Rc;

use glow::HasContext;

use crate::interop::handle::Offered;
use crate::interop::{MemoryHandle, SharedImageDescription};

use super::object::new_texture;
use super::{Context, Error, functions};

/// A memory object: OpenGL's hold on an allocation, which lives as long as any API holds it.
struct MemoryObject {
    raw: u32,
    context: Rc<Context>,
}

/// OpenGL's side of a shared image. Fields in drop order.
///
/// It holds the memory whichever API lets go first. Who may use it when, semaphores say: [`BinarySemaphore`](super::BinarySemaphore),
/// [`ImportedTimeline`](super::ImportedTimeline).
///
/// ```no_run
/// use handover::interop::gl::{Context, ImportedTexture};
/// use handover::interop::{SharedFormat, SharedImage, SharedImageDescription};
/// use handover::proof::Pair;
/// use handover::vulkan::vk::{Extent2D, ImageUsageFlags};
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??;
///     let opengl = Context::headless(Some(&pair.cuda.uuid))?;
///     let (extent, usage) = (Extent2D { width: 640, height: 360 }, ImageUsageFlags::SAMPLED | ImageUsageFlags::TRANSFER_DST);
///     let description = SharedImageDescription::new(SharedFormat::Rgba16Float, extent, usage);
///     let image = SharedImage::new(&pair.device, &pair.context, description, "shared by three")?;
///     let texture = ImportedTexture::new(&opengl, image.vulkan.export()?, &description)?;
///     println!("OpenGL's name of it is {:?}", texture.raw);
///     Ok(pair.finish()?)
/// }
/// ```
pub struct ImportedTexture {
    /// The texture: 2-D, or a 2-D array where the image has several layers. Sampled unfiltered and clamped until the program says
    /// otherwise.
    pub raw: glow::Texture,
    /// What the image was made of.
    pub description: SharedImageDescription,
    memory: MemoryObject,
}

/// OpenGL's side of a buffer in shared memory. Fields in drop order.
///
/// The memory may be Vulkan's ([`SharedMemory`](crate::interop::SharedMemory)) or CUDA's
/// ([`CudaAllocation`](crate::interop::CudaAllocation)).
///
/// ```no_run
/// use handover::interop::CudaAllocation;
/// use handover::interop::gl::{Context, ImportedBuffer};
/// use handover::proof::Pair;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??;
///     let opengl = Context::headless(Some(&pair.cuda.uuid))?;
///     let allocation = CudaAllocation::new(&pair.context, 4096)?;
///     let vertices = ImportedBuffer::new(&opengl, allocation.export()?, 0, 4096)?;
///     println!("CUDA's {:#x} is OpenGL's {:?}", allocation.address, vertices.raw);
///     Ok(pair.finish()?)
/// }
/// ```
pub struct ImportedBuffer {
    /// The buffer.
    pub raw: glow::Buffer,
    /// Bytes.
    pub size: u64,
    memory: MemoryObject,
}

impl MemoryObject {
    fn import(context: &Rc<Context>, handle: MemoryHandle, what: &str) -> Result<Self, Error> {
        let functions = context.memory()?;
        let MemoryHandle { fd, size, dedicated } = handle;
        let fd = Offered::new(fd);
        let mut raw = 0;
        // SAFETY: G1; the size and the dedicated flag are the exporter's, and said before the import, as they must be.
        unsafe {
            (functions.create_memory_objects)(1, &raw mut raw);
            let flag = i32::from(dedicated);
            (functions.memory_object_parameter)(raw, functions::DEDICATED_MEMORY_OBJECT, &raw const flag);
            (functions.import_memory_fd)(raw, size, functions::HANDLE_TYPE_OPAQUE_FD, fd.raw());
        }
        // From here `object` owns the name.
        let object = Self {
            raw,
            context: Rc::clone(context),
        };
        context.check(|| format!("import {what} into OpenGL: {size} bytes, dedicated: {dedicated}"))?;
        fd.taken();
        Ok(object)
    }
}

impl ImportedTexture {
    /// Imports an image's memory as a texture of what it was made of.
    ///
    /// # Errors
    /// The context lacks `GL_EXT_memory_object_fd`, or refused; the handle is closed.
    pub fn new(
        context: &Rc<Context>,
        handle: MemoryHandle,
        description: &SharedImageDescription,
    ) -> Result<Self, Error> {
        let text = format!("the shared image ({})", description.text());
        let memory = MemoryObject::import(context, handle, &text)?;
        let is_array = description.array_layers > 1;
        let target = if is_array {
            glow::TEXTURE_2D_ARRAY
        } else {
            glow::TEXTURE_2D
        };
        let texture = Self {
            raw: new_texture(context, target)?,
            description: *description,
            memory,
        };
        let (levels, format) = (description.made_levels() as i32, description.format.opengl());
        let (width, height) = (description.extent.width as i32, description.extent.height as i32);
        let (functions, name, memory) = (context.memory()?, texture.raw.0.get(), texture.memory.raw);
        // SAFETY: G1, G2; format, extent, levels and layers are the image's own; it lies at the allocation's start.
        unsafe {
            if is_array {
                let layers = description.array_layers as i32;
                (functions.texture_storage_3d)(name, levels, format, width, height, layers, memory, 0);
            } else {
                (functions.texture_storage_2d)(name, levels, format, width, height, memory, 0);
            }
        }
        context.check(|| format!("make an OpenGL texture of {text}"))?;
        Ok(texture)
    }
}

impl ImportedBuffer {
    /// Imports the part of an allocation that begins at `offset` and has `size` bytes.
    ///
    /// # Errors
    /// [`Error::Range`] for a part that does not lie in the allocation; the context lacks `GL_EXT_memory_object_fd`, or refused;
    /// the handle is closed.
    pub fn new(context: &Rc<Context>, handle: MemoryHandle, offset: u64, size: u64) -> Result<Self, Error> {
        let allocation = handle.size();
        let text = format!("a buffer of {size} bytes at offset {offset} of an allocation of {allocation} bytes");
        let end = offset.checked_add(size);
        let bytes = isize::try_from(size).ok().filter(|bytes| *bytes > 0);
        let (Some(bytes), Some(_)) = (bytes, end.filter(|end| *end <= allocation)) else {
            let reason = "it must have bytes, and end in the allocation".into();
            return Err(Error::Range { what: text, reason });
        };
        let memory = MemoryObject::import(context, handle, &text)?;
        // SAFETY: G1.
        let raw = unsafe { context.gl()?.create_named_buffer() }.map_err(|message| Error::Refused {
            what: format!("create {text}"),
            message,
        })?;
        let buffer = Self { raw, size, memory };
        // SAFETY: G1, G2; the part lies in the allocation.
        unsafe { (context.memory()?.buffer_storage)(raw.0.get(), bytes, buffer.memory.raw, offset) };
        context.check(|| format!("make an OpenGL buffer of {text}"))?;
        Ok(buffer)
    }
}

impl Drop for MemoryObject {
    fn drop(&mut self) {
        if let Ok(functions) = self.context.memory() {
            // SAFETY: G1, G2.
            unsafe { (functions.delete_memory_objects)(1, &raw const self.raw) };
        }
    }
}

impl Drop for ImportedTexture {
    fn drop(&mut self) {
        if let Ok(gl) = self.memory.context.gl() {
            // SAFETY: G1, G2.
            unsafe { gl.delete_texture(self.raw) };
        }
    }
}

impl Drop for ImportedBuffer {
    fn drop(&mut self) {
        if let Ok(gl) = self.memory.context.gl() {
            // SAFETY: G1, G2.
            unsafe { gl.delete_buffer(self.raw) };
        }
    }
}
