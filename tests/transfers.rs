//! What transfers write is what is read back, under the validation layer, on any Vulkan device.
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

use std::sync::Arc;

use handover::vulkan::barrier::{Barriers, transfer_to_host};
use handover::vulkan::ownership::{discard_for_copies, keep_for_copies};
use handover::vulkan::transfer::{clear, copy_buffer, fill, image_to_buffer, regions_from_buffer, regions_to_buffer};
use handover::vulkan::{
    Buffer, BufferMemory, COLOR, CommandPool, Device, DeviceRequest, Error, Image, ImageDescription, Instance,
    InstanceRequest, QueueModule, TimestampPool, surface_of, vk,
};
use vk::{BufferUsageFlags as BufferUsage, ImageUsageFlags as ImageUsage};

const EXTENT: vk::Extent2D = vk::Extent2D { width: 8, height: 4 };
const BYTES: u64 = 8 * 4 * 4;

fn device() -> Arc<Device> {
    device_for(&DeviceRequest::default())
}

fn device_for(device: &DeviceRequest) -> Arc<Device> {
    let request = InstanceRequest {
        validate: true,
        ..InstanceRequest::default()
    };
    let instance = Instance::new(&request).unwrap_or_else(|error| panic!("{error}\nscripts/test installs it"));
    let physical = instance.physical_devices().unwrap();
    let physical = physical
        .into_iter()
        .find(|physical| device.missing(physical).is_empty());
    Device::new(&instance, physical.unwrap(), device).unwrap()
}

fn buffer(device: &Arc<Device>, memory: BufferMemory) -> Buffer {
    let usage = BufferUsage::TRANSFER_SRC | BufferUsage::TRANSFER_DST;
    Buffer::new(device, BYTES, usage, memory, "test").unwrap()
}

fn image(device: &Arc<Device>) -> Image {
    let description = ImageDescription {
        extent: EXTENT,
        format: vk::Format::R32_UINT,
        usage: ImageUsage::STORAGE | ImageUsage::TRANSFER_SRC | ImageUsage::TRANSFER_DST,
    };
    Image::new(device, description, "test").unwrap()
}

/// Runs what is recorded, and gives the words of `read_back`.
fn words_after(device: &Arc<Device>, read_back: &Buffer, record: impl FnOnce(vk::CommandBuffer)) -> Vec<u32> {
    CommandPool::run_once(device, device.scene_queue, |commands| {
        record(commands);
        transfer_to_host(device, commands);
    })
    .unwrap();
    device.instance.check_validation().unwrap();
    bytemuck::pod_collect_to_vec(read_back.bytes())
}

#[test]
fn a_filled_range_is_copied_to_the_place_asked_for() {
    let device = device();
    let (source, read_back) = (
        buffer(&device, BufferMemory::Device),
        buffer(&device, BufferMemory::ReadBack),
    );
    let words = words_after(&device, &read_back, |commands| {
        fill(&device, commands, source.raw, 0..BYTES, 1);
        keep_for_copies(&device, commands, source.raw);
        fill(&device, commands, read_back.raw, 0..64, 7);
        copy_buffer(&device, commands, (source.raw, 16), (read_back.raw, 64), BYTES - 64);
    });
    assert_eq!(words, [[7; 16], [1; 16]].concat());
}

#[test]
fn a_cleared_image_is_read_back_whole() {
    let device = device();
    let (image, read_back) = (image(&device), buffer(&device, BufferMemory::ReadBack));
    let words = words_after(&device, &read_back, |commands| {
        discard_for_copies(&device, commands, (image.raw, COLOR));
        clear(
            &device,
            commands,
            (image.raw, COLOR),
            vk::ClearColorValue { uint32: [9; 4] },
        );
        // The way of an image that a kernel in the queue changes, without one.
        Barriers::new().transfer_to_kernel(image.raw).record(&device, commands);
        Barriers::new().kernel_to_transfer(image.raw).record(&device, commands);
        image_to_buffer(&device, commands, image.raw, EXTENT, read_back.raw);
    });
    assert_eq!(words, [9; 32]);
}

#[test]
fn regions_lie_where_they_say() {
    let device = device();
    let mut upload = buffer(&device, BufferMemory::Upload);
    let (image, read_back) = (image(&device), buffer(&device, BufferMemory::ReadBack));
    let numbers: Vec<u32> = (0..32).collect();
    upload.bytes_mut().copy_from_slice(bytemuck::cast_slice(&numbers));
    // Two halves, one above the other, which change places on the way back.
    let half = |row: i32, offset| {
        let layers = vk::ImageSubresourceLayers::default().aspect_mask(vk::ImageAspectFlags::COLOR);
        vk::BufferImageCopy::default()
            .buffer_offset(offset)
            .image_subresource(layers.layer_count(1))
            .image_offset(vk::Offset3D::default().y(row))
            .image_extent(vk::Extent3D::default().width(8).height(2).depth(1))
    };
    let words = words_after(&device, &read_back, |commands| {
        discard_for_copies(&device, commands, (image.raw, COLOR));
        regions_from_buffer(&device, commands, upload.raw, image.raw, &[half(0, 0), half(2, 64)]);
        Barriers::new().transfer_to_kernel(image.raw).record(&device, commands);
        Barriers::new().kernel_to_transfer(image.raw).record(&device, commands);
        regions_to_buffer(&device, commands, image.raw, read_back.raw, &[half(0, 64), half(2, 0)]);
    });
    assert_eq!(words, [&numbers[16..], &numbers[..16]].concat());
}

#[test]
fn a_kernel_in_the_queue_of_a_device_without_them_is_refused() {
    let device = device();
    let refusals = [
        QueueModule::load(&device, &[], "nothing").err(),
        surface_of(&device, image(&device).view).err(),
    ];
    for refusal in refusals {
        let Some(Error::Missing { missing, .. }) = refusal else {
            panic!("a device that was created without kernels in its queue took one: {refusal:?}");
        };
        assert!(missing[0].contains("kernels_in_queue"), "{missing:?}");
    }
}

#[test]
fn kernels_in_the_queue_take_both_extensions_and_addresses() {
    let request = DeviceRequest {
        kernels_in_queue: true,
        ..DeviceRequest::default()
    };
    let device = device();
    let missing = request.missing(&device.physical).join(", ");
    for extension in ["VK_NVX_binary_import", "VK_NVX_image_view_handle"] {
        let has = device.physical.extensions.iter().any(|name| name == extension);
        assert_eq!(missing.contains(extension), !has, "{missing}");
    }
    assert!(!missing.contains("bufferDeviceAddress") || !device.physical.has_buffer_addresses);
}

/// Each buffer has an address of its own, aligned as kernels expect, and holds what was filled in there.
#[test]
fn buffers_have_addresses_of_their_own() {
    let device = device_for(&DeviceRequest {
        buffer_addresses: true,
        ..DeviceRequest::default()
    });
    let usage = BufferUsage::STORAGE_BUFFER | BufferUsage::SHADER_DEVICE_ADDRESS | BufferUsage::TRANSFER_DST;
    let buffers = [4, 100, 1000, BYTES].map(|size| {
        let usage = usage | BufferUsage::TRANSFER_SRC;
        Buffer::new(&device, size, usage, BufferMemory::Device, "addressed").unwrap()
    });
    let mut ranges: Vec<_> = buffers
        .iter()
        .map(|buffer| [buffer.address(), buffer.address() + buffer.size])
        .collect();
    ranges.sort_unstable();
    assert!(
        ranges.iter().all(|[from, _]| *from != 0 && from % 256 == 0),
        "{ranges:?}"
    );
    assert!(ranges.windows(2).all(|pair| pair[0][1] <= pair[1][0]), "{ranges:?}");

    let read_back = buffer(&device, BufferMemory::ReadBack);
    let [.., last] = &buffers;
    let words = words_after(&device, &read_back, |commands| {
        fill(&device, commands, last.raw, 0..BYTES, 7);
        keep_for_copies(&device, commands, last.raw);
        copy_buffer(&device, commands, (last.raw, 0), (read_back.raw, 0), BYTES);
    });
    assert_eq!(words, [7; BYTES as usize / 4]);
}

/// Timestamps that the driver is asked for are those that were written, in their order, and no others.
#[test]
fn timestamps_are_there_once_they_are_written() {
    let device = device();
    let Some(mut stamps) = TimestampPool::asked(&device, device.scene_queue, 4, "test").unwrap() else {
        return; // its queues have none
    };
    assert_eq!(stamps.read().as_slice(), [None; 4]);
    for _ in 0..2 {
        CommandPool::run_once(&device, device.scene_queue, |commands| {
            stamps.write(commands, 0);
            stamps.write(commands, 2);
        })
        .unwrap();
        let read = stamps.read();
        let (Some(first), Some(third)) = (read[0], read[2]) else {
            panic!("not all that were written: {read:?}");
        };
        assert!(first <= third, "{read:?}");
        assert_eq!((read[1], read[3]), (None, None));
        stamps.reset();
        assert_eq!(stamps.read().as_slice(), [None; 4]);
    }
    device.instance.check_validation().unwrap();
}
