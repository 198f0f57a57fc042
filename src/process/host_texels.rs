//! A slot's texels in mapped memory, for the chain on the host.

use std::sync::{Arc, Mutex};

use ash::vk;

use crate::kernels::reference::{HostGuides, MappedImage};
use crate::kernels::{FrameExtents, Guide};
use crate::vulkan::{Buffer, BufferMemory, Device, Error};

/// Of an RGBA16F texel.
pub(super) const TEXEL_BYTES: u64 = 8;

/// What the chain reads and writes: mapped buffers of texels, rows without gaps. Whose turn it is, the timelines
/// say: the thread's between `rendered` and `processed`, Vulkan's otherwise.
pub(super) struct Texels {
    pub color: Buffer,
    /// In the order of [`Guide::ALL`].
    pub guides: Vec<Buffer>,
    pub processed: Mutex<Buffer>,
    /// The handle of `processed`, for recording: to take the lock for it would wait for a chain that is under way.
    pub processed_raw: vk::Buffer,
}

impl Texels {
    /// Allocates them. `is_read`: the host reads `processed` again, so its memory is to be fast to read.
    ///
    /// # Errors
    /// No memory.
    pub fn new(device: &Arc<Device>, extents: FrameExtents, slot: usize, is_read: bool) -> Result<Self, Error> {
        let texels = |[width, height]: [u32; 2]| u64::from(width) * u64::from(height);
        let buffer = |name: &str, bytes: u64, usage, memory| {
            Buffer::new(device, bytes, usage, memory, &format!("{name} texels of slot {slot}"))
        };
        let read_back = |name: &str, texel_bytes| {
            buffer(
                name,
                texels(extents.scene) * texel_bytes,
                vk::BufferUsageFlags::TRANSFER_DST,
                BufferMemory::ReadBack,
            )
        };
        let guides = Guide::ALL.map(|guide| read_back(&format!("{guide:?}"), guide.bytes() as u64));
        let memory = if is_read {
            BufferMemory::ReadBack
        } else {
            BufferMemory::Upload
        };
        let bytes = texels(extents.display) * TEXEL_BYTES;
        let processed = buffer("processed", bytes, vk::BufferUsageFlags::TRANSFER_SRC, memory)?;
        Ok(Self {
            color: read_back("color", TEXEL_BYTES)?,
            guides: guides.into_iter().collect::<Result<_, _>>()?,
            processed_raw: processed.raw,
            processed: Mutex::new(processed),
        })
    }

    /// The guides as references take them.
    pub fn host_guides(&self, width: u32) -> HostGuides<'_> {
        let image = |guide: Guide| {
            Some(MappedImage {
                bytes: self.guides[guide as usize].bytes(),
                pitch: width as usize * guide.bytes(),
            })
        };
        HostGuides {
            depth: image(Guide::Depth),
            normal: image(Guide::Normal),
            albedo: image(Guide::Albedo),
            motion: image(Guide::Motion),
        }
    }
}
