//! A chain that ends in the screen image, on CUDA: the slots' screen images, and the two kernels that write them.

use std::sync::Arc;

use ash::vk;

use crate::cuda::{CudaBuffer, CudaContext, CudaStream, Function, Module, PinnedBuffer, Stamps, launch};
use crate::interop::{SharedFormat, SharedImage, SharedImageDescription};
use crate::kernels::{Buffer, Image, ScreenKernel, SrgbTable};
use crate::overlay::{Atlas, DrawList};
use crate::timing::{GpuWork, ToolRange};
use crate::vulkan::Device;

use super::cuda_chain::image_of;
use super::{Error, Job};

/// What the last passes need. All chains run on one stream, in the order of their frames: so there is one list and one atlas on the
/// device, and the images of a slot are written when its last frame has retired.
pub(super) struct CudaScreens {
    images: Vec<SharedImage>,
    list: Mirror<DrawList>,
    atlas: Mirror<Atlas>,
    table: CudaBuffer,
    encode: Function,
    overlay: Function,
    extent: [u32; 2],
    context: Arc<CudaContext>,
}

/// Something of the host's, as it is on the device.
struct Mirror<T> {
    /// What it was filled with last.
    held: Option<Arc<T>>,
    buffer: Option<CudaBuffer>,
    /// Those it grew out of: frames under way may read them, and to free one waits for the device. They are half as large each.
    outgrown: Vec<CudaBuffer>,
    /// What each slot uploads from: its last frame has retired when it does so again.
    staging: Vec<Option<PinnedBuffer>>,
}

/// Lists and atlases are about as long; they grow seldom from there.
const LEAST_BYTES: usize = 1 << 18;
/// Threads of a block.
const ENCODE_BLOCK: [u32; 2] = [32, 8];
const TILE: [u32; 2] = [16, 16];
/// Texels that a thread of `encode.cu` writes.
const TEXELS_A_THREAD: u32 = 4;

impl CudaScreens {
    /// Loads the kernels; [`CudaScreens::retarget`] makes the images.
    ///
    /// # Errors
    /// The driver refused.
    pub fn new(context: &Arc<CudaContext>) -> Result<Self, Error> {
        let function = |name: &str| {
            let kernel = ScreenKernel::named(name);
            Module::load(context, kernel.ptx, &format!("screen/{name}"))?.function(name)
        };
        let bytes = SrgbTable::get().bytes();
        let table = CudaBuffer::new(context, bytes.len() as u64)?;
        table.upload(bytes)?;
        Ok(Self {
            images: Vec::new(),
            list: Mirror::empty(),
            atlas: Mirror::empty(),
            table,
            encode: function(ScreenKernel::ENCODE)?,
            overlay: function(ScreenKernel::OVERLAY)?,
            extent: [0; 2],
            context: Arc::clone(context),
        })
    }

    /// Frees the images. The stream is idle.
    pub fn clear(&mut self) {
        self.images.clear();
    }

    /// Makes the images of a new extent.
    ///
    /// # Errors
    /// What cannot be shared; no memory.
    pub fn retarget(&mut self, device: &Arc<Device>, extent: [u32; 2], slots: usize) -> Result<(), Error> {
        let [width, height] = extent;
        let description = SharedImageDescription::new(
            SharedFormat::Rgba8Unorm,
            vk::Extent2D { width, height },
            vk::ImageUsageFlags::STORAGE | vk::ImageUsageFlags::TRANSFER_SRC,
        );
        self.images = (0..slots)
            .map(|slot| SharedImage::new(device, &self.context, description, &format!("screen of slot {slot}")))
            .collect::<Result<_, _>>()?;
        self.extent = extent;
        // The stream is idle.
        self.list.retarget(slots);
        self.atlas.retarget(slots);
        Ok(())
    }

    /// Vulkan's handle of a slot's image.
    pub fn image(&self, slot: usize) -> vk::Image {
        self.images[slot].vulkan.raw
    }

    fn view(&self, slot: usize) -> Image {
        image_of(self.images[slot].views(), self.extent)
    }

    /// Enqueues what makes the slot's image of `processed`, with a stamp where the overlay begins; whether there is that.
    ///
    /// # Errors
    /// No memory, or the driver refused.
    pub fn enqueue(
        &mut self,
        stream: &CudaStream,
        job: &Job,
        processed: Image,
        stamp: Option<(&Stamps, usize)>,
    ) -> Result<bool, Error> {
        self.encode(stream, job.slot, processed)?;
        let Some(list) = &job.overlay else { return Ok(false) };
        let is_stamped = stamp.is_some();
        if let Some((stamps, index)) = stamp {
            stamps.enqueue(stream, index)?;
        }
        self.draw(stream, job.slot, list)?;
        Ok(is_stamped)
    }

    fn encode(&self, stream: &CudaStream, slot: usize, processed: Image) -> Result<(), Error> {
        let _range = ToolRange::new("screen");
        let [width, height] = self.extent;
        let threads = [width.div_ceil(TEXELS_A_THREAD), height];
        let (screen, table) = (self.view(slot), buffer_of(&self.table));
        let arguments = [
            bytemuck::bytes_of(&processed),
            bytemuck::bytes_of(&screen),
            bytemuck::bytes_of(&table),
        ];
        // SAFETY: `encode` takes two images and a buffer, which are laid out as the kernel has them; all live until the stream has
        // ended.
        unsafe { launch(stream, &self.encode, threads, ENCODE_BLOCK, &arguments) }?;
        Ok(())
    }

    /// Enqueues the list's drawing over the slot's image, and before it what of list and atlas is not on the device yet. The slot's
    /// last frame has retired. Never waits, but where a list is longer than any before it.
    fn draw(&mut self, stream: &CudaStream, slot: usize, list: &Arc<DrawList>) -> Result<(), Error> {
        if list.layout.tile_count == 0 {
            return Ok(());
        }
        let _range = ToolRange::new(GpuWork::Overlay.label());
        let context = &self.context;
        let words: &[u8] = bytemuck::cast_slice(list.fours.as_flattened());
        let words = self.list.hold((context, stream), slot, list, words)?;
        let texels: &[u8] = bytemuck::cast_slice(&list.atlas.texels);
        let texels = self.atlas.hold((context, stream), slot, &list.atlas, texels)?;
        let screen = self.view(slot);
        let threads = [list.layout.tile_count * TILE[0], TILE[1]];
        let arguments = [
            bytemuck::bytes_of(&screen),
            bytemuck::bytes_of(&words),
            bytemuck::bytes_of(&texels),
            bytemuck::bytes_of(&list.layout),
        ];
        // SAFETY: `overlay` takes an image, two buffers and a layout, which are laid out as the kernel has them; the list refers to
        // nothing beyond itself, and all live until the stream has ended.
        unsafe { launch(stream, &self.overlay, threads, TILE, &arguments) }?;
        Ok(())
    }
}

impl<T> Mirror<T> {
    fn empty() -> Self {
        Self {
            held: None,
            buffer: None,
            outgrown: Vec::new(),
            staging: Vec::new(),
        }
    }

    /// The stream is idle.
    fn retarget(&mut self, slots: usize) {
        self.outgrown.clear();
        self.staging.resize_with(slots, || None);
    }

    /// Where `bytes`, which are those of `what`, are on the device once the stream is here.
    fn hold(
        &mut self,
        (context, stream): (&Arc<CudaContext>, &CudaStream),
        slot: usize,
        what: &Arc<T>,
        bytes: &[u8],
    ) -> Result<Buffer, Error> {
        let size = bytes.len().next_power_of_two().max(LEAST_BYTES);
        let buffer = match self.buffer.take() {
            Some(buffer) if buffer.bytes() >= bytes.len() as u64 => buffer,
            outgrown => {
                self.outgrown.extend(outgrown);
                self.held = None;
                CudaBuffer::new(context, size as u64)?
            }
        };
        let buffer = &*self.buffer.insert(buffer);
        if !self.held.as_ref().is_some_and(|held| Arc::ptr_eq(held, what)) {
            let staging = match self.staging[slot].take() {
                Some(staging) if staging.bytes() >= bytes.len() => staging,
                _ => PinnedBuffer::new(context, size)?,
            };
            self.staging[slot].insert(staging).upload(stream, bytes, buffer)?;
            self.held = Some(Arc::clone(what));
        }
        Ok(Buffer {
            size: bytes.len() as u64,
            ..buffer_of(buffer)
        })
    }
}

fn buffer_of(buffer: &CudaBuffer) -> Buffer {
    Buffer {
        bytes: buffer.address(),
        size: buffer.bytes(),
    }
}
