//! For tests: a device with the validation layer, targets, and texels read back to the host.

use std::sync::Arc;

use ash::vk;
use half::f16;

use super::{Camera, Scene, SceneFrame, SceneTargets, Target};
use crate::vulkan::{
    Buffer, BufferMemory, CommandPool, Device, DeviceRequest, Image, ImageDescription, Instance, InstanceRequest,
};

/// A device, with the validation layer counting.
pub struct Bench {
    pub device: Arc<Device>,
}

impl Bench {
    /// The first device that will do. Without one the test fails and says what to install.
    pub fn new() -> Self {
        let instance = Instance::new(&InstanceRequest {
            validate: true,
            ..InstanceRequest::default()
        });
        let instance = instance.unwrap_or_else(|error| {
            panic!("{error}\nscripts/test installs a software driver and the validation layer")
        });
        let physical = instance
            .physical_devices()
            .unwrap_or_else(|error| panic!("{error}\nscripts/test installs a software driver"));
        let physical = physical.into_iter().find(|physical| physical.missing(&[]).is_empty());
        let physical = physical.expect("no Vulkan device here will do: scripts/test installs a software driver");
        let device = Device::new(&instance, physical, &DeviceRequest::default()).unwrap();
        Self { device }
    }

    /// Fails on a message of the layer.
    pub fn assert_valid(&self) {
        let log = self.device.instance.validation.as_ref().unwrap();
        assert_eq!(log.counts().errors, 0, "{}", log.first_error().unwrap_or_default());
    }

    /// Records after a barrier that makes visible all that ran before, submits and waits.
    pub fn run(&self, record: impl FnOnce(vk::CommandBuffer)) {
        let everything = [vk::MemoryBarrier2::default()
            .src_stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
            .src_access_mask(vk::AccessFlags2::MEMORY_WRITE)
            .dst_stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
            .dst_access_mask(vk::AccessFlags2::MEMORY_READ | vk::AccessFlags2::MEMORY_WRITE)];
        let dependency = vk::DependencyInfo::default().memory_barriers(&everything);
        CommandPool::run_once(&self.device, self.device.scene_queue, |commands| {
            // SAFETY: `run_once` gives a command buffer that is recording.
            unsafe { self.device.raw.cmd_pipeline_barrier2(commands, &dependency) };
            record(commands);
        })
        .unwrap();
    }
}

/// The images of one slot.
pub struct TestTargets {
    images: Vec<Image>,
    pub extent: vk::Extent2D,
}

impl TestTargets {
    pub fn new(bench: &Bench, width: u32, height: u32) -> Self {
        let extent = vk::Extent2D { width, height };
        let usage = vk::ImageUsageFlags::STORAGE
            | vk::ImageUsageFlags::SAMPLED
            | vk::ImageUsageFlags::COLOR_ATTACHMENT
            | vk::ImageUsageFlags::TRANSFER_SRC
            | vk::ImageUsageFlags::TRANSFER_DST;
        let image = |format| {
            let description = ImageDescription { extent, format, usage };
            Image::new(&bench.device, description, "test target").unwrap()
        };
        Self {
            images: SceneTargets::FORMATS.map(image).into(),
            extent,
        }
    }

    pub fn scene_targets(&self) -> SceneTargets {
        let target = |index: usize| Target {
            image: self.images[index].raw,
            view: self.images[index].view,
        };
        SceneTargets {
            color: target(0),
            depth: target(1),
            normal: target(2),
            albedo: target(3),
            motion: target(4),
        }
    }

    /// Draws a frame and reads it back.
    pub fn render(&self, bench: &Bench, scene: &mut dyn Scene, slot: usize, frame: &SceneFrame) -> Picture {
        bench.run(|commands| scene.record(commands, slot, frame));
        self.read(bench, scene.writes_guides())
    }

    /// Replaces the contents of `color`, which is in GENERAL.
    pub fn write_color(&self, bench: &Bench, texels: &[[f32; 4]]) {
        let halves: Vec<f16> = texels.iter().flatten().map(|value| f16::from_f32(*value)).collect();
        let usage = vk::BufferUsageFlags::TRANSFER_SRC;
        let staging = Buffer::with_data(&bench.device, bytemuck::cast_slice(&halves), usage, "texels").unwrap();
        let (region, layout) = ([whole(self.extent)], vk::ImageLayout::GENERAL);
        bench.run(|commands| {
            // SAFETY: buffer and image live until `run` returns, which waits; the queue was idle before.
            unsafe {
                let raw = &bench.device.raw;
                raw.cmd_copy_buffer_to_image(commands, staging.raw, self.images[0].raw, layout, &region);
            }
        });
    }

    fn read(&self, bench: &Bench, guides: bool) -> Picture {
        let bytes = |index: usize| {
            if index > 0 && !guides {
                return Vec::new();
            }
            read_image(bench, &self.images[index])
        };
        let halves = |bytes: Vec<u8>| -> Vec<f32> {
            let halves: Vec<f16> = bytemuck::pod_collect_to_vec(&bytes);
            halves.into_iter().map(f32::from).collect()
        };
        let quads = |values: Vec<f32>| values.chunks_exact(4).map(|v| [v[0], v[1], v[2], v[3]]).collect();
        Picture {
            width: self.extent.width,
            color: quads(halves(bytes(0))),
            depth: bytemuck::pod_collect_to_vec(&bytes(1)),
            normal: quads(halves(bytes(2))),
            albedo: bytemuck::pod_collect_to_vec(&bytes(3)),
            motion: halves(bytes(4)).chunks_exact(2).map(|v| [v[0], v[1]]).collect(),
        }
    }
}

/// Copies an image that is in GENERAL.
fn read_image(bench: &Bench, image: &Image) -> Vec<u8> {
    let (device, extent) = (&bench.device, image.description.extent);
    let texel_bytes = match image.description.format {
        vk::Format::R16G16B16A16_SFLOAT => 8,
        _ => 4,
    };
    let size = u64::from(extent.width) * u64::from(extent.height) * texel_bytes;
    let usage = vk::BufferUsageFlags::TRANSFER_DST;
    let buffer = Buffer::new(device, size, usage, BufferMemory::ReadBack, "read back").unwrap();
    let region = [whole(extent)];
    bench.run(|commands| {
        // SAFETY: image and buffer live until `run` returns, which waits; the queue was idle before.
        unsafe {
            device
                .raw
                .cmd_copy_image_to_buffer(commands, image.raw, vk::ImageLayout::GENERAL, buffer.raw, &region);
        }
        crate::vulkan::barrier::transfer_to_host(device, commands);
    });
    buffer.bytes().to_vec()
}

fn whole(extent: vk::Extent2D) -> vk::BufferImageCopy {
    vk::BufferImageCopy::default()
        .image_subresource(vk::ImageSubresourceLayers {
            aspect_mask: vk::ImageAspectFlags::COLOR,
            mip_level: 0,
            base_array_layer: 0,
            layer_count: 1,
        })
        .image_extent(extent.into())
}

/// A frame on the host, texels row by row.
#[derive(Clone, PartialEq)]
pub struct Picture {
    pub width: u32,
    pub color: Vec<[f32; 4]>,
    pub depth: Vec<f32>,
    pub normal: Vec<[f32; 4]>,
    pub albedo: Vec<[u8; 4]>,
    pub motion: Vec<[f32; 2]>,
}

impl Picture {
    pub fn at(&self, x: u32, y: u32) -> usize {
        (y * self.width + x) as usize
    }

    /// Writes `color` for the eye: exposed, tone mapped (Narkowicz's fit of ACES) and encoded.
    pub fn save(&self, path: &std::path::Path, exposure: f32) {
        let encode = |[r, g, b, _]: [f32; 4]| {
            [r, g, b].map(|v| {
                let v = v * exposure;
                let mapped = (v * (2.51 * v + 0.03)) / (v * (2.43 * v + 0.59) + 0.14);
                (mapped.clamp(0.0, 1.0).powf(1.0 / 2.2) * 255.0 + 0.5) as u8
            })
        };
        let bytes: Vec<u8> = self.color.iter().copied().flat_map(encode).collect();
        let height = self.color.len() as u32 / self.width;
        image::save_buffer(path, &bytes, self.width, height, image::ColorType::Rgb8).unwrap();
    }
}

/// A frame at a time, seen by the automatic camera.
pub fn frame(number: u64, time: f32) -> SceneFrame {
    SceneFrame {
        frame: number,
        time,
        time_delta: 1.0 / 60.0,
        camera: Camera::orbit(time),
        jitter: [0.0; 2],
    }
}
