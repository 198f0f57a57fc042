//! A slot's texels in mapped memory, for the chain on the host.

use std::sync::Mutex;

use ash::vk;

use crate::kernels::Guide;
use crate::kernels::reference::{HostGuides, MappedImage};
use crate::vulkan::Buffer;

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
