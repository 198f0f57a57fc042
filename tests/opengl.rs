//! OpenGL without a window, on whatever OpenGL the machine has: what needs no CUDA.
#![cfg(all(target_os = "linux", feature = "gl"))]

use ash::vk::{Extent2D, Offset2D, Rect2D};
use glow::HasContext;
use handover::interop::SharedFormat;
use handover::interop::gl::{Buffer, Context, Error, Texture};
use handover::proof::Canvas;

const SIDE: u32 = 32;
const SQUARE: Extent2D = Extent2D {
    width: SIDE,
    height: SIDE,
};

const VERTEX_SHADER: &str = "#version 450 core
layout(location = 0) in vec4 corner;
out vec2 place;
void main() { gl_Position = vec4(corner.xy, 0.0, 1.0); place = corner.zw; }";

const FRAGMENT_SHADER: &str = "#version 450 core
layout(binding = 0) uniform sampler2D texels;
in vec2 place;
out vec4 color;
void main() { color = texture(texels, place); }";

#[test]
fn what_is_drawn_without_a_window_is_read_back_texel_by_texel() {
    let opengl = Context::headless(None).unwrap();
    let gl = opengl.gl().unwrap();
    let texel = |x: u32, y: u32| [x as u8, y as u8, (x ^ y) as u8, 255];
    let bytes: Vec<u8> = (0..64).flat_map(|index| texel(index % 8, index / 8)).collect();
    let texels = Texture::new(&opengl, SharedFormat::Rgba8Unorm, Extent2D { width: 8, height: 8 }).unwrap();
    // A triangle strip's square as two triangles, over the whole viewport: x, y, u, v.
    let corners: [[f32; 4]; 6] = [
        [-1.0, -1.0, 0.0, 0.0],
        [1.0, -1.0, 1.0, 0.0],
        [-1.0, 1.0, 0.0, 1.0],
        [-1.0, 1.0, 0.0, 1.0],
        [1.0, -1.0, 1.0, 0.0],
        [1.0, 1.0, 1.0, 1.0],
    ];
    let buffer = Buffer::new(&opengl, size_of_val(&corners)).unwrap();
    let data = glow::PixelUnpackData::Slice(Some(&bytes));
    // SAFETY: the context is current; as many bytes as the objects have.
    unsafe {
        gl.texture_sub_image_2d(texels.raw, 0, 0, 0, 8, 8, glow::RGBA, glow::UNSIGNED_BYTE, data);
        gl.named_buffer_sub_data_u8_slice(buffer.raw, 0, bytemuck::cast_slice(&corners));
    }
    let target = Texture::new(&opengl, SharedFormat::Rgba8Unorm, SQUARE).unwrap();
    let canvas = Canvas::new(&opengl, VERTEX_SHADER, FRAGMENT_SHADER).unwrap();
    canvas.take_vertices(buffer.raw).unwrap();
    let place = Rect2D {
        offset: Offset2D { x: 4, y: 12 },
        extent: texels.extent(),
    };
    canvas
        .draw(texels.raw, target.raw, place, Some([9, 8, 7, 6]), 6)
        .unwrap();
    let pixels = canvas.read(SQUARE).unwrap();
    for (index, found) in (0..).zip(pixels.chunks_exact(4)) {
        let (x, y): (u32, u32) = (index % SIDE, index / SIDE);
        let inside = (4..12).contains(&x) && (12..20).contains(&y);
        let expected = if inside { texel(x - 4, y - 12) } else { [9, 8, 7, 6] };
        assert_eq!(found, expected, "pixel ({x}, {y})");
    }
    opengl.check_messages().unwrap();
}

#[test]
fn what_the_debug_output_says_is_an_error_once() {
    let opengl = Context::headless(None).unwrap();
    // SAFETY: the context is current. No such buffer target exists: that is the error.
    unsafe { opengl.gl().unwrap().bind_buffer(0xDEAD, None) };
    let error = opengl.check_messages().unwrap_err().to_string();
    assert!(error.contains("GL_INVALID_ENUM"), "{error}");
    opengl.check_messages().unwrap();
}

#[test]
fn a_gpu_that_opengl_does_not_have_is_refused_with_the_list() {
    let any = Context::headless(None).unwrap();
    let Err(error) = Context::headless(Some(&[0xA5; 16])) else {
        panic!("there is no such GPU");
    };
    let text = error.to_string();
    assert!(text.contains("a5a5a5a5-a5a5-a5a5-a5a5-a5a5a5a5a5a5"), "{text}");
    assert!(text.contains(any.renderer()), "{text}");
}

#[test]
fn the_uuid_of_a_context_finds_its_device_again() {
    let any = Context::headless(None).unwrap();
    // Mesa's software has no GL_EXT_memory_object in some versions, and then no UUID.
    for uuid in any.uuids() {
        assert!(Context::headless(Some(uuid)).unwrap().uuids().contains(uuid));
    }
}

#[test]
fn sizes_that_no_object_has_are_refused_with_the_limits_and_change_nothing() {
    let opengl = Context::headless(None).unwrap();
    let mut buffer = Buffer::new(&opengl, 64).unwrap();
    for size in [0, 1 << 31, usize::MAX] {
        let error = buffer.resize(size).unwrap_err();
        assert!(matches!(error, Error::Range { .. }), "{error}");
        assert!(error.to_string().contains("from 1 to 2147483647"), "{error}");
    }
    assert_eq!(buffer.size(), 64);
    buffer.resize(4096).unwrap();
    assert_eq!(buffer.size(), 4096);

    let mut texture = Texture::with_levels(&opengl, SharedFormat::Rgba16Float, SQUARE, 6).unwrap();
    for (width, height) in [(0, 4), (4, 0), (1 << 30, 4), (u32::MAX, 4)] {
        let error = texture.resize(Extent2D { width, height }).unwrap_err();
        assert!(matches!(error, Error::Range { .. }), "{error}");
    }
    assert_eq!(texture.extent(), SQUARE);
    let name = texture.raw;
    let error = texture.resize(Extent2D { width: 16, height: 8 }).unwrap_err();
    assert!(error.to_string().contains("from 1 to 5 levels"), "{error}");
    assert_eq!((texture.extent(), texture.raw), (SQUARE, name));
    opengl.check_messages().unwrap();
}

#[test]
fn every_shared_format_has_a_texture_of_its_channels() {
    let opengl = Context::headless(None).unwrap();
    let gl = opengl.gl().unwrap();
    for format in SharedFormat::ALL {
        let texture = Texture::new(&opengl, format, SQUARE).unwrap();
        let bits = |parameter| {
            // SAFETY: the context is current, and made the texture.
            unsafe { gl.get_texture_level_parameter_i32(texture.raw, 0, parameter) }
        };
        let channels = [
            glow::TEXTURE_RED_SIZE,
            glow::TEXTURE_GREEN_SIZE,
            glow::TEXTURE_BLUE_SIZE,
            glow::TEXTURE_ALPHA_SIZE,
        ];
        let bits: i32 = channels.into_iter().map(bits).sum();
        assert_eq!(bits as usize, 8 * format.texel_bytes(), "{format:?}");
    }
    opengl.check_messages().unwrap();
}
