//! Plans run in a Vulkan queue over texels that the host gives: how the self-test compares kernels with their references.

use std::sync::Arc;

use ash::vk;
use half::f16;

use crate::cuda::{CudaDevice, Driver};
use crate::kernels::reference::FrameParameters;
use crate::kernels::{Effect, FrameExtents, Guide, Image, Plan, TestGuides};
use crate::vulkan::barrier::transfer_to_host;
use crate::vulkan::kernel_barrier::{Direction, copy_general, to_kernels};
use crate::vulkan::{Buffer, BufferMemory, CommandPool, Device};

use super::super::launch_pass::FrameViews;
use super::super::{Error, PROCESSED, SLOT_IMAGES};
use super::chain::{QueueChain, QueueFrame};
use super::memory::QueueImage;

/// A chain that is recorded, submitted and waited for, a frame at a time.
pub struct QueueOnce {
    chain: QueueChain,
    device: Arc<Device>,
}

/// What the host gives for an image.
struct Given {
    image: QueueImage,
    staging: Buffer,
}

impl QueueOnce {
    /// Opens the CUDA device to link in. The Vulkan device was made with
    /// [`kernels_in_queue`](crate::vulkan::DeviceRequest::kernels_in_queue).
    ///
    /// # Errors
    /// The driver refused.
    pub fn new(driver: &Driver, cuda: &CudaDevice, device: &Arc<Device>) -> Result<Self, Error> {
        Ok(Self {
            chain: QueueChain::new(&driver.context(cuda)?, device, true)?,
            device: Arc::clone(device),
        })
    }

    /// Loads the effect.
    ///
    /// # Errors
    /// It cannot run in a queue: the error says why.
    pub fn load(&self, effect: &Effect) -> Result<(), Error> {
        self.chain.load(effect).map(|_| ())
    }

    /// Runs one frame of the plan from `color` (rows packed, of the scene's extent) and gives what it wrote to `processed`.
    /// Frames of one plan follow one another: what effects keep is there in the next.
    ///
    /// # Errors
    /// No memory, or a kernel failed.
    pub fn run(
        &mut self,
        plan: &Plan,
        color: &[[f16; 4]],
        guides: &TestGuides,
        extents: FrameExtents,
        frame: &FrameParameters,
    ) -> Result<Vec<[f16; 4]>, Error> {
        let mut given = vec![self.given(0, extents.scene, bytemuck::cast_slice(color))?];
        let texels = extents.display[0] as usize * extents.display[1] as usize;
        let poison = vec![[f16::from_f32(-12345.0); 4]; texels];
        let processed = self.given(PROCESSED, extents.display, bytemuck::cast_slice(&poison))?;
        let mut views = FrameViews {
            color: given[0].image.view,
            processed: processed.image.view,
            guides: [Image::default(); 4],
        };
        for guide in &plan.guides {
            let place = *guide as usize;
            let image = self.given(place + 1, extents.scene, guides.bytes(*guide))?;
            views.guides[place] = image.image.view;
            given.push(image);
        }
        given.push(processed);
        let usage = vk::BufferUsageFlags::TRANSFER_DST;
        let bytes = texels as u64 * size_of::<[f16; 4]>() as u64;
        let output = Buffer::new(
            &self.device,
            bytes,
            usage,
            BufferMemory::ReadBack,
            "what the chain wrote",
        )?;

        let loaded = self.chain.prepare(plan, extents)?;
        let (device, chain) = (&self.device, &mut self.chain);
        CommandPool::run_once(device, device.scene_queue, |commands| {
            chain.allocator.record_fresh(commands);
            for Given { image, staging } in &given {
                let target = (image.vulkan.raw, image.view.extent);
                copy_general(device, commands, Direction::ToImage, target, staging);
            }
            to_kernels(device, commands);
            chain.record(
                &QueueFrame {
                    commands,
                    plan,
                    extents,
                    views: &views,
                    parameters: *frame,
                },
                |_| {},
            );
            to_kernels(device, commands);
            if let Some(Given { image, .. }) = given.last() {
                let source = (image.vulkan.raw, image.view.extent);
                copy_general(device, commands, Direction::ToBuffer, source, &output);
            }
            transfer_to_host(device, commands);
        })?;
        drop(loaded);
        Ok(bytemuck::pod_collect_to_vec(output.bytes()))
    }

    /// The next frame is the first: nothing that effects kept is left.
    pub fn forget(&mut self) {
        self.chain.clear();
    }

    /// An image like that of a slot, at its place among them.
    fn given(&mut self, place: usize, extent: [u32; 2], texels: &[u8]) -> Result<Given, Error> {
        let (name, format, usage) = SLOT_IMAGES[place];
        let image = self.chain.allocator.new_image(extent, format.vulkan(), usage, name)?;
        let usage = vk::BufferUsageFlags::TRANSFER_SRC;
        let memory = BufferMemory::Upload;
        let mut staging = Buffer::new(&self.device, texels.len() as u64, usage, memory, name)?;
        staging.bytes_mut().copy_from_slice(texels);
        Ok(Given { image, staging })
    }
}

const _: () = assert!(Guide::ALL.len() + 2 == SLOT_IMAGES.len());
