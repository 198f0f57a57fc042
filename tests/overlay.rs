//! The overlay's pass on a Vulkan device, against what egui tessellated; the validation layer watches.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

#[path = "support/rasterizer.rs"]
mod rasterizer;

use std::path::Path;
use std::sync::Arc;

use ash::vk;
use egui::epaint::{ClippedPrimitive, Mesh, Primitive};
use egui::{Align2, Color32, FontId, Rect, Shape, Stroke, pos2, vec2};
use handover::overlay::{Atlas, DrawList, Facts, Overlay};
use handover::present::OverlayPass;
use handover::timing::{ClockProof, ClockRelation, FrameRecord, FrameSpans, HostWork, Interval, KernelSpan, ProvenBy};
use handover::vulkan::barrier::{Barriers, transfer_to_host};
use handover::vulkan::transfer::{copy_from_buffer, copy_to_buffer};
use handover::vulkan::{
    Buffer, BufferMemory, Calibration, CommandPool, Device, DeviceRequest, Image, ImageDescription, Instance,
    InstanceRequest,
};
use image::{Rgba, RgbaImage};
use rasterizer::{reference, tessellated};

/// A device, and the pass with one slot.
struct Bench {
    pass: OverlayPass,
    device: Arc<Device>,
}

impl Bench {
    fn new() -> Self {
        let request = InstanceRequest {
            validate: true,
            validate_if_present: true,
            ..InstanceRequest::default()
        };
        let instance = Instance::new(&request).unwrap();
        let physical = instance.physical_devices().unwrap().remove(0);
        let device = Device::new(&instance, physical, &DeviceRequest::default()).unwrap();
        Self {
            pass: OverlayPass::new(&device, 1).unwrap(),
            device,
        }
    }

    /// The list drawn over `under`, each time anew; the last one is given back.
    fn draw(&mut self, under: &RgbaImage, lists: &[&Arc<DrawList>]) -> RgbaImage {
        let device = &self.device;
        let (width, height) = under.dimensions();
        let description = ImageDescription {
            extent: vk::Extent2D { width, height },
            format: vk::Format::R8G8B8A8_UNORM,
            usage: vk::ImageUsageFlags::STORAGE | vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST,
        };
        let screen = Image::new(device, description, "screen").unwrap();
        let buffer = |usage, memory| Buffer::new(device, under.len() as u64, usage, memory, "texels").unwrap();
        let mut from = buffer(vk::BufferUsageFlags::TRANSFER_SRC, BufferMemory::Upload);
        from.bytes_mut().copy_from_slice(under);
        let to = buffer(vk::BufferUsageFlags::TRANSFER_DST, BufferMemory::ReadBack);
        for list in lists {
            CommandPool::run_once(device, device.present_queue, |commands| {
                Barriers::new()
                    .discard_for_transfer(screen.raw)
                    .record(device, commands);
                copy_from_buffer(device, commands, from.raw, &screen);
                Barriers::new().transfer_to_compute(screen.raw).record(device, commands);
                self.pass.record(commands, 0, &screen, list).unwrap();
                Barriers::new().screen_to_transfer(screen.raw).record(device, commands);
                copy_to_buffer(device, commands, &screen, &to);
                transfer_to_host(device, commands);
            })
            .unwrap();
        }
        self.device.instance.check_validation().unwrap();
        RgbaImage::from_raw(width, height, to.bytes().to_vec()).unwrap()
    }
}

/// A picture with a different colour in every texel, more or less.
fn picture(width: u32, height: u32) -> RgbaImage {
    RgbaImage::from_fn(width, height, |x, y| {
        Rgba([(x * 7) as u8, (y * 5) as u8, (x ^ y) as u8, 255])
    })
}

/// Text, soft and hard edges, gradients, clip rectangles, translucent shapes over one another, and some beyond the screen.
fn shapes(painter: &egui::Painter) {
    let stroke = |width: f32, color| Stroke::new(width, color);
    painter.rect_filled(
        Rect::from_min_max(pos2(4.0, 3.0), pos2(70.0, 40.0)),
        3.0,
        Color32::from_rgba_unmultiplied(20, 30, 40, 150),
    );
    painter.text(
        pos2(6.0, 5.0),
        Align2::LEFT_TOP,
        "p99 16.7 ms",
        FontId::monospace(9.0),
        Color32::WHITE,
    );
    let vermillion = Color32::from_rgb(213, 94, 0);
    painter.text(
        pos2(8.3, 22.7),
        Align2::LEFT_TOP,
        "Überlagerung",
        FontId::proportional(8.0),
        vermillion,
    );
    painter.circle_filled(pos2(60.0, 30.0), 7.0, Color32::from_rgba_unmultiplied(0, 158, 115, 200));
    painter.line_segment([pos2(2.0, 44.0), pos2(77.0, 20.0)], stroke(1.5, Color32::YELLOW));
    let points = vec![
        pos2(2.0, 40.0),
        pos2(20.0, 30.0),
        pos2(30.0, 44.0),
        pos2(75.0, 10.0),
        pos2(90.0, 60.0),
    ];
    painter.add(Shape::line(points, stroke(2.0, Color32::LIGHT_BLUE)));
    let clipped = painter.with_clip_rect(Rect::from_min_max(pos2(30.0, 8.0), pos2(52.5, 33.0)));
    clipped.circle_filled(
        pos2(40.0, 20.0),
        18.0,
        Color32::from_rgba_unmultiplied(204, 121, 167, 90),
    );
    let mut hard = Mesh::default();
    hard.add_colored_rect(
        Rect::from_min_max(pos2(-5.0, 36.0), pos2(30.0, 60.0)),
        Color32::from_rgba_unmultiplied(255, 255, 255, 64),
    );
    painter.add(Shape::mesh(hard));
}

#[test]
fn the_pass_draws_what_egui_tessellated_and_touches_nothing_else() {
    let mut bench = Bench::new();
    for scale in [1.0, 1.5, 2.0] {
        let under = picture((80.0 * scale) as u32, (48.0 * scale) as u32);
        let (primitives, atlas) = tessellated(scale, vec2(80.0, 48.0), shapes);
        let extent = vk::Extent2D {
            width: under.width(),
            height: under.height(),
        };
        let list = Arc::new(DrawList::new(&primitives, scale, extent, &atlas));
        let drawn = bench.draw(&under, &[&list]);
        let mut on_cpu = under.clone();
        list.draw_over(&mut on_cpu, [extent.width, extent.height]);
        assert!(drawn == on_cpu, "scale {scale}: the CPU draws other bytes");
        let expected = reference(&under, &primitives, scale, &atlas);
        let (mut changed, mut worst) = (0, 0.0_f64);
        for ((drawn, expected), under) in drawn.pixels().zip(&expected).zip(under.pixels()) {
            for (drawn, expected) in drawn.0.iter().zip(expected) {
                worst = worst.max((f64::from(*drawn) - expected * 255.0).abs());
            }
            let is_untouched = expected.map(|value| (value * 255.0).round() as u8) == under.0;
            changed += usize::from(drawn != under);
            // Bit for bit, where no triangle is.
            assert!(
                !is_untouched || drawn == under,
                "scale {scale}: {under:?} became {drawn:?}"
            );
        }
        // Half a step of 8 bits by rounding; the rest by single precision and the nearest texel in place of a linear one.
        assert!(worst < 1.0, "scale {scale}: off by {worst} of 255");
        assert!(changed > expected.len() / 3, "scale {scale}: {changed} texels changed");
    }
}

#[test]
fn a_translucent_rectangle_is_the_blend_of_its_colour_and_each_texel_once() {
    let under = picture(64, 40);
    // Premultiplied: a quarter of the light of each texel is left.
    let color = Color32::from_rgba_premultiplied(51, 102, 153, 191);
    let rect = Rect::from_min_max(pos2(3.0, 5.0), pos2(31.0, 33.0));
    // Once as egui's rectangle, once as two triangles of a fan, whose shared edge goes through centres of texels.
    let mut square = Mesh::default();
    square.add_colored_rect(rect, color);
    let mut fan = Mesh::default();
    for corner in [
        rect.left_top(),
        rect.right_top(),
        rect.right_bottom(),
        rect.left_bottom(),
    ] {
        fan.colored_vertex(corner, color);
    }
    fan.add_triangle(0, 1, 2);
    fan.add_triangle(0, 2, 3);
    let mut bench = Bench::new();
    for mesh in [square, fan] {
        let primitives = [ClippedPrimitive {
            clip_rect: Rect::EVERYTHING,
            primitive: Primitive::Mesh(mesh),
        }];
        let extent = vk::Extent2D { width: 64, height: 40 };
        let list = Arc::new(DrawList::new(&primitives, 1.0, extent, &Arc::new(Atlas::default())));
        let drawn = bench.draw(&under, &[&list]);
        for (x, y, texel) in drawn.enumerate_pixels() {
            let under = under.get_pixel(x, y);
            if !(3..31).contains(&x) || !(5..33).contains(&y) {
                assert_eq!(texel, under, "{x}, {y}");
                continue;
            }
            for channel in 0..3 {
                let left = f64::from(under.0[channel]) * (1.0 - 191.0 / 255.0);
                let expected = f64::from(color.to_array()[channel]) + left;
                let off = (f64::from(texel.0[channel]) - expected).abs();
                assert!(off <= 0.501, "{x}, {y}: {texel:?}, {expected}");
            }
        }
    }
}

#[test]
fn lists_and_atlases_that_change_and_grow_are_drawn_as_they_are() {
    let mut bench = Bench::new();
    let under = picture(120, 60);
    let extent = vk::Extent2D { width: 120, height: 60 };
    let list = |text: &str, size: f32| {
        let (primitives, atlas) = tessellated(1.0, vec2(120.0, 60.0), |painter| {
            painter.text(
                pos2(2.0, 2.0),
                Align2::LEFT_TOP,
                text,
                FontId::monospace(size),
                Color32::WHITE,
            );
        });
        Arc::new(DrawList::new(&primitives, 1.0, extent, &atlas))
    };
    let (short, long) = (list("a", 9.0), list("many more glyphs\nof another size", 13.0));
    let empty = list("", 9.0);
    let alone = bench.draw(&under, &[&short]);
    assert!(alone != under, "a letter changes nothing");
    let other = bench.draw(&under, &[&long]);
    assert!(other != alone, "two texts look the same");
    assert!(
        bench.draw(&under, &[&long, &short]) == alone,
        "what was drawn before is seen"
    );
    assert!(
        bench.draw(&under, &[&short, &short, &long]) == other,
        "the longer list is cut off"
    );
    assert!(bench.draw(&under, &[&long, &empty]) == under, "nothing was to be drawn");
    // A list made before the window became smaller.
    let small = picture(50, 20);
    let cut = bench.draw(&small, &[&long]);
    let first = |picture: &RgbaImage| image::imageops::crop_imm(picture, 0, 0, 50, 20).to_image();
    let changed = |picture: &RgbaImage, under: &RgbaImage| -> Vec<bool> {
        picture
            .pixels()
            .zip(under.pixels())
            .map(|(one, other)| one != other)
            .collect()
    };
    assert!(
        changed(&cut, &small) == changed(&first(&other), &first(&under)),
        "another part is drawn"
    );
}

/// A frame as a GPU with both clocks known would have it, at 60 Hz.
fn frame(number: u64) -> FrameRecord {
    const US: u64 = 1_000;
    let start = 5_000_000_000 + number * 16_700 * US + (number * 7919 % 13) * 60 * US;
    let at = |from: u64, to: u64| Interval::new(start + from * US, start + to * US);
    let host = |from: u64, to: u64| Interval::new(start + 1_000_000_000 + from * US, start + 1_000_000_000 + to * US);
    let kernels = [
        (2, 0, 3_500, 4_100),
        (4, 0, 4_150, 4_500),
        (6, 0, 4_520, 6_700),
        (7, 0, 6_750, 7_300),
    ];
    let mut record = FrameRecord {
        frame: number,
        between_presents_ms: Some(
            16.7 + (number * 7919 % 13) as f64 * 0.06 + f64::from(u8::from(number % 57 == 3)) * 6.0,
        ),
        waited_for_frame: number.checked_sub(2),
        chain_ms: Some(3.85),
        overlay_ms: Some(0.12),
        kernels_ms: vec![None; 10],
        kernels_bytes: vec![0; 10],
        spans: FrameSpans {
            host: vec![
                (HostWork::WaitForSlot, host(0, 700)),
                (HostWork::Acquire, host(700, 900)),
                (HostWork::RecordScene, host(900, 1_300)),
                (HostWork::SubmitScene, host(1_300, 1_400)),
                (HostWork::EnqueueChain, host(1_400, 1_500)),
                (HostWork::SubmitPresent, host(1_500, 1_700)),
            ],
            scene: Some(at(1_450, 3_300)),
            chain: Some(at(3_460, 7_310)),
            kernels: kernels
                .iter()
                .map(|(effect, pass, from, to)| KernelSpan {
                    effect: *effect,
                    pass: *pass,
                    fused: None,
                    interval: at(*from, *to),
                    bytes: 0,
                })
                .collect(),
            present: Some(at(7_480, 8_000)),
            overlay: Some(at(7_700, 7_820)),
            in_flight: 3,
            memory_used: Some(412 << 20),
            calibration: Some(Calibration {
                device_ns: 0,
                host_ns: 1_000_000_000,
                deviation_ns: 100,
            }),
        },
        ..FrameRecord::default()
    };
    for (effect, _, from, to) in kernels {
        record.kernels_ms[effect] = Some((to - from) as f64 * 1e-3);
        record.kernels_bytes[effect] = 1_500_000_000;
    }
    record
}

#[test]
fn the_whole_overlay_is_drawn_at_every_scale_inside_its_panel() {
    let mut bench = Bench::new();
    for scale in [1_u32, 2] {
        let facts = Facts {
            title: "A GPU, kernels on cuda, studio, 1280x720".into(),
            effects: "exposure gaussian bloom chromatic_aberration tonemap sobel sharpen vignette complement copy"
                .split(' ')
                .map(str::to_owned)
                .collect(),
            copy_bandwidth: Some(3.9e12),
            clock: Some(ClockProof {
                relation: ClockRelation::Shared { width_ns: 9_400 },
                by: ProvenBy::Semaphores,
                rounds: 40,
                ..ClockProof::NONE
            }),
            memory_total: 141 << 30,
        };
        let mut overlay = Overlay::new(facts);
        (1..=200).map(frame).for_each(|record| drop(overlay.push(record)));
        let under = picture(640 * scale, 620 * scale);
        let extent = vk::Extent2D {
            width: under.width(),
            height: under.height(),
        };
        let list = overlay.draw(extent, scale as f32).unwrap();
        let drawn = bench.draw(&under, &[&list]);
        let mut on_cpu = under.clone();
        list.draw_over(&mut on_cpu, [extent.width, extent.height]);
        assert!(drawn == on_cpu, "scale {scale}: the CPU draws other bytes");
        if let Some(folder) = std::env::var_os("HANDOVER_TEST_PICTURES") {
            drawn
                .save(Path::new(&folder).join(format!("overlay_{scale}.png")))
                .unwrap();
        }
        let (mut inside, mut changed) = (0, 0);
        for ((x, y, texel), under) in drawn.enumerate_pixels().zip(under.pixels()) {
            let is_inside = (10 * scale..610 * scale).contains(&x) && (10 * scale..560 * scale).contains(&y);
            if x < 10 * scale || y < 10 * scale || x >= 610 * scale || y >= 600 * scale {
                assert_eq!(texel, under, "{x}, {y} is outside of the panel");
            }
            inside += usize::from(is_inside);
            changed += usize::from(is_inside && texel != under);
        }
        assert!(
            changed > inside * 8 / 10,
            "scale {scale}: {changed} of {inside} texels of the panel"
        );
    }
}
