//! The picture is the same to the bit whoever makes it: under every schedule, with and without an overlay, whatever came before.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

use std::sync::Arc;
use std::time::Duration;

use ash::vk;
use egui::epaint::{ClippedPrimitive, Mesh, Primitive};
use egui::{Color32, Rect, pos2};
use half::f16;
use handover::cli::{Machine, ProcessorChoice, Request};
use handover::kernels::{Chain, SrgbTable, catalogue};
use handover::overlay::{Atlas, DrawList};
use handover::present::PresentPass;
use handover::renderer::{Rendered, Renderer, Schedule, Settings, View};
use handover::scene::{Camera, SceneFrame};
use handover::timing::Instrument;
use handover::vulkan::barrier::{Barriers, transfer_to_host};
use handover::vulkan::transfer::{copy_from_buffer, copy_to_buffer};
use handover::vulkan::{Buffer, BufferMemory, CommandPool, Image, ImageDescription, TimestampPool};
use image::RgbaImage;

const SCHEDULES: [Schedule; 3] = [Schedule::Serial, Schedule::Pipelined, Schedule::CopyBack];

fn machine() -> Machine {
    let request = Request {
        validate: true,
        ..Request::offscreen(ProcessorChoice::Host)
    };
    Machine::open(&request, None).unwrap()
}

fn renderer(machine: &Machine, schedule: Schedule, frames_in_flight: usize) -> Renderer {
    let settings = Settings {
        render_scale: 1.0,
        frames_in_flight,
        schedule,
        wait_limit: Duration::from_secs(30),
        effects: catalogue().effects().len(),
        instrument: Instrument::Full,
        check_tags: false,
        check_complement: false,
    };
    let extent = vk::Extent2D { width: 96, height: 54 };
    machine.offscreen("studio", extent, settings).unwrap()
}

/// A translucent rectangle and a gradient over most of the picture.
fn list() -> Arc<DrawList> {
    let mut mesh = Mesh::default();
    let color = |alpha| Color32::from_rgba_unmultiplied(213, 94, 0, alpha);
    mesh.add_colored_rect(Rect::from_min_max(pos2(4.0, 3.0), pos2(60.0, 40.0)), color(150));
    for (corner, alpha) in [pos2(20.3, 1.0), pos2(90.0, 30.5), pos2(2.0, 52.0)]
        .into_iter()
        .zip([0, 90, 250])
    {
        mesh.colored_vertex(corner, color(alpha));
    }
    mesh.add_triangle(4, 5, 6);
    let primitives = [ClippedPrimitive {
        clip_rect: Rect::EVERYTHING,
        primitive: Primitive::Mesh(mesh),
    }];
    let screen = vk::Extent2D { width: 96, height: 54 };
    Arc::new(DrawList::new(&primitives, 1.0, screen, &Arc::new(Atlas::default())))
}

/// The picture after so many more frames, each a step later.
fn picture(renderer: &mut Renderer, frames: u32) -> RgbaImage {
    let chain = Chain::with_enabled(catalogue(), &["bloom", "tonemap", "film_grain", "vignette"]).unwrap();
    let plan = Arc::new(chain.plan());
    for _ in 0..frames {
        let time = renderer.last_frame().value() as f32 / 16.0;
        let scene = SceneFrame {
            frame: 0,
            time,
            time_delta: 1.0 / 16.0,
            camera: Camera::default(),
            jitter: [0.0; 2],
        };
        let view = View {
            scene,
            plan: Arc::clone(&plan),
            pointer: [0.0; 2],
        };
        assert!(matches!(renderer.render_frame(&view).unwrap(), Rendered::Frame(_)));
    }
    renderer.read_screen().unwrap()
}

#[test]
fn every_schedule_gives_the_same_pictures() {
    let machine = machine();
    let list = list();
    let mut first: Option<[RgbaImage; 5]> = None;
    for schedule in SCHEDULES {
        for frames_in_flight in [1, 4] {
            let mut renderer = renderer(&machine, schedule, frames_in_flight);
            let plain = picture(&mut renderer, 6);
            renderer.set_overlay(Some(Arc::clone(&list)));
            let drawn = picture(&mut renderer, 5);
            // A list for another extent, of the same shapes: it is cut off.
            renderer.resize(vk::Extent2D { width: 51, height: 33 }).unwrap();
            let cut = picture(&mut renderer, 2);
            renderer.set_overlay(None);
            let bare = picture(&mut renderer, 5);
            renderer.resize(vk::Extent2D { width: 96, height: 54 }).unwrap();
            let last = picture(&mut renderer, 1);
            let records = renderer.take_records();
            let overlaid = records.iter().filter(|record| record.overlay_ms.is_some());
            assert_eq!((records.len(), overlaid.count()), (19, 7), "{schedule:?}");
            assert!(
                records.iter().all(|record| record.gpu_time_ms().is_some()),
                "{schedule:?}"
            );
            assert!(plain != drawn && cut != bare);
            let pictures = [plain, drawn, cut, bare, last];
            let expected = first.get_or_insert_with(|| pictures.clone());
            for (index, (picture, expected)) in pictures.iter().zip(expected).enumerate() {
                assert!(
                    picture == expected,
                    "{schedule:?}, {frames_in_flight} in flight: picture {index} is another one"
                );
            }
        }
    }
    machine.check_validation().unwrap();
}

#[test]
fn the_present_pass_has_the_byte_of_every_half() {
    let machine = machine();
    let device = &machine.device;
    let queue = device.present_queue;
    let extent = vk::Extent2D {
        width: 256,
        height: 256,
    };
    let processed = ImageDescription {
        extent,
        format: vk::Format::R16G16B16A16_SFLOAT,
        usage: vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST,
    };
    let processed = Image::new(device, processed, "processed").unwrap();
    let texels: Vec<[f16; 4]> = (0..=u16::MAX)
        .map(|bits| [bits, bits.wrapping_mul(3), !bits, 0x3c00].map(f16::from_bits))
        .collect();
    let mut expected = vec![0; texels.len() * 4];
    SrgbTable::get().encode(bytemuck::cast_slice(&texels), &mut expected);
    let buffer = |bytes, usage, memory| Buffer::new(device, bytes, usage, memory, "texels").unwrap();
    let mut from = buffer(65536 * 8, vk::BufferUsageFlags::TRANSFER_SRC, BufferMemory::Upload);
    from.bytes_mut().copy_from_slice(bytemuck::cast_slice(&texels));
    let to = buffer(65536 * 4, vk::BufferUsageFlags::TRANSFER_DST, BufferMemory::ReadBack);
    let mut pass = PresentPass::new(device, queue).unwrap();
    pass.retarget(&[processed.view], extent).unwrap();
    CommandPool::run_once(device, queue, |commands| {
        Barriers::new()
            .discard_for_transfer(processed.raw)
            .record(device, commands);
        copy_from_buffer(device, commands, from.raw, &processed);
        Barriers::new()
            .transfer_to_compute(processed.raw)
            .record(device, commands);
        pass.record(commands, 0);
        let screen = pass.screen(0);
        Barriers::new().screen_to_transfer(screen.raw).record(device, commands);
        copy_to_buffer(device, commands, screen, &to);
        transfer_to_host(device, commands);
    })
    .unwrap();
    let found = to.bytes().chunks(4).zip(expected.chunks(4)).zip(&texels);
    for ((found, expected), texel) in found {
        assert_eq!(found, expected, "{texel:?}");
    }
    machine.check_validation().unwrap();
}

#[test]
fn timestamps_of_a_queue_that_only_transfers_are_asked_for() {
    let machine = machine();
    let device = &machine.device;
    let queue = device.present_queue;
    let mut stamps = TimestampPool::asked(device, queue, 3, "stamps").unwrap().unwrap();
    for _ in 0..2 {
        assert_eq!(stamps.read().as_slice(), [None; 3]);
        CommandPool::run_once(device, queue, |commands| {
            stamps.write(commands, 0);
            stamps.write(commands, 2);
            stamps.copy(commands, 3);
        })
        .unwrap();
        let [Some(first), None, Some(last)] = stamps.read()[..] else {
            panic!("{:?}", stamps.read())
        };
        assert!(first <= last && first > 0);
        stamps.reset();
    }
    machine.check_validation().unwrap();
}
