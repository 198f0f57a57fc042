//! CUDA guide, OpenGL interoperability, 4.19.1.1: register, map, use, unmap, unregister.
//!
//! CUDA moves the corners of rectangles in a vertex buffer and changes every texel of a texture through a surface; OpenGL draws
//! them without a window (EGL), frame after frame, and half-way all objects are resized. Proven: every pixel of every frame is
//! what both did, and CUDA, which maps the target to read it, sees the pixels that OpenGL reads.
//!
//! ```text
//! CUDA    map ─ write all corners (write-discard)          ─ unmap ┐                  ┌ map ─ sum up (read-only) ─ unmap
//! CUDA    map ─ change texels that OpenGL uploaded (none)  ─ unmap ┴─▶ OpenGL draws ──┘
//! ```

use std::process::ExitCode;
use std::rc::Rc;

use handover::anyhow;
use handover::anyhow::{Context as _, ensure};
use handover::bytemuck;
use handover::cuda::{Driver, Function, launch};
use handover::interop::SharedFormat;
use handover::interop::gl::glow;
use handover::interop::gl::glow::HasContext;
use handover::interop::gl::{Buffer, Context, ReadOnly, ReadWrite, Registered, Texture, WriteDiscard};
use handover::proof::{Canvas, Pair, Verdict, conclude};
use handover::vulkan::vk::Extent2D;

const FRAMES: u32 = 60;
/// Sides of the target before and after the resize, powers of two so that corners are exact, with the rectangles drawn.
const SIZES: [(u32, u32); 2] = [(64, 1), (128, 3)];
/// Bytes of a rectangle: two triangles of three corners, each x, y, u, v.
const RECTANGLE_BYTES: usize = 2 * 3 * 4 * 4;
const BACKGROUND: [u8; 4] = [9, 8, 7, 6];

const KERNELS: &str = r#"
struct Frame { unsigned number, side, rectangles; };

extern "C" __global__ void move(float4 *corners, Frame frame) {
    unsigned rectangle = threadIdx.x, places = frame.side - frame.side / 4 + 1;
    if (rectangle >= frame.rectangles) return;
    unsigned x = (frame.number + 17 * rectangle) % places, y = (3 * frame.number + 5 * rectangle) % places;
    const unsigned order[6] = {0, 1, 2, 2, 1, 3};
    for (unsigned index = 0; index < 6; index++) {
        float u = order[index] & 1, v = order[index] >> 1, size = frame.side / 4;
        corners[rectangle * 6 + index] = make_float4(2 * (x + u * size) / frame.side - 1,
                                                     2 * (y + v * size) / frame.side - 1, u, v);
    }
}

extern "C" __global__ void change(cudaSurfaceObject_t texels, unsigned side) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= side || y >= side) return;
    uchar4 texel = surf2Dread<uchar4>(texels, x * 4, y);
    surf2Dwrite(make_uchar4(texel.x + 1, texel.y + 3, texel.z, 255), texels, x * 4, y);
}

extern "C" __global__ void sum_up(cudaTextureObject_t drawn, unsigned side, unsigned *sum) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= side || y >= side) return;
    float4 texel = tex2D<float4>(drawn, (x + 0.5f) / side, (y + 0.5f) / side);
    unsigned word = (unsigned)rintf(texel.x * 255) | (unsigned)rintf(texel.y * 255) << 8
                  | (unsigned)rintf(texel.z * 255) << 16 | (unsigned)rintf(texel.w * 255) << 24;
    atomicAdd(sum, word * (y * side + x + 1));
}
"#;

const VERTEX_SHADER: &str = "#version 450 core
layout(location = 0) in vec4 corner;
out vec2 place;
void main() { gl_Position = vec4(corner.xy, 0.0, 1.0); place = corner.zw; }";

const FRAGMENT_SHADER: &str = "#version 450 core
layout(binding = 0) uniform sampler2D texels;
in vec2 place;
out vec4 color;
void main() { color = texture(texels, place); }";

fn main() -> ExitCode {
    conclude("gl_register_map", run)
}

/// All of the example.
///
/// # Errors
/// A pixel that is not what it must be, or a call that failed.
pub fn run() -> anyhow::Result<Verdict> {
    let pair = match Pair::open()? {
        Ok(pair) => pair,
        Err(reason) => return Ok(Verdict::Skip(reason)),
    };
    let opengl = match Context::headless(Some(&pair.cuda.uuid)) {
        Ok(opengl) => opengl,
        Err(error) => return Ok(Verdict::Skip(error.to_string().replace('\n', " "))),
    };
    // The CUDA device comes from the OpenGL context, and is the one of the same UUID.
    let devices = opengl.cuda_devices(&Driver::load()?)?;
    let is_ours = devices.first().is_some_and(|device| device.uuid == pair.cuda.uuid);
    ensure!(is_ours, "cuGLGetDevices names {devices:?}, not {:?}", pair.cuda);

    let kernels = pair.kernels("gl_register_map", KERNELS, ["move", "change", "sum_up"])?;
    let (pixels, descriptors) = pair.leaves_nothing(|| animate(&pair, &opengl, &kernels))?;
    pair.finish()?;
    Ok(Verdict::Pass(format!(
        "{} frames by OpenGL on {}, half of them after a resize, {pixels} pixels right and the same for CUDA; {descriptors} descriptors \
         open before and after",
        SIZES.len() as u32 * FRAMES,
        opengl.renderer()
    )))
}

fn square(side: u32) -> Extent2D {
    Extent2D {
        width: side,
        height: side,
    }
}

/// All frames at both sizes; how many pixels were right.
fn animate(pair: &Pair, opengl: &Rc<Context>, kernels: &[Function; 3]) -> anyhow::Result<u32> {
    let corners = Buffer::new(opengl, RECTANGLE_BYTES)?;
    let texels = Texture::new(opengl, SharedFormat::Rgba8Unorm, square(1))?;
    let target = Texture::new(opengl, SharedFormat::Rgba8Unorm, square(1))?;
    let mut objects = (corners, texels, target);
    for (side, rectangles) in SIZES {
        // Only what is not registered can be resized: `frames` gives back what it registered.
        objects.0.resize(rectangles as usize * RECTANGLE_BYTES)?;
        objects.1.resize(square(side / 4))?;
        objects.2.resize(square(side))?;
        let frames = frames(pair, opengl, kernels, (side, rectangles), objects);
        objects = frames.with_context(|| format!("with sides of {side}"))?;
    }
    opengl.check_messages()?;
    Ok(FRAMES * SIZES.map(|(side, _)| side * side).iter().sum::<u32>())
}

/// The frames of one size.
fn frames(
    pair: &Pair,
    opengl: &Rc<Context>,
    [move_, change, sum_up]: &[Function; 3],
    (side, rectangles): (u32, u32),
    (corners, texels, target): (Buffer, Texture, Texture),
) -> anyhow::Result<(Buffer, Texture, Texture)> {
    let (gl, stream, quarter) = (opengl.gl()?, &pair.stream, side / 4);
    // OpenGL writes texels of x, y, x ^ y. CUDA adds to what is there.
    let texel = |index| {
        [
            index % quarter,
            index / quarter,
            (index % quarter) ^ (index / quarter),
            255,
        ]
    };
    let bytes: Vec<u8> = (0..quarter * quarter)
        .flat_map(|index| texel(index).map(|value| value as u8))
        .collect();
    let (data, width) = (glow::PixelUnpackData::Slice(Some(&bytes)), quarter as i32);
    let sum = Buffer::new(opengl, 4)?;
    // SAFETY: the context is current; as many bytes as the texture and the buffer have.
    unsafe {
        gl.texture_sub_image_2d(texels.raw, 0, 0, 0, width, width, glow::RGBA, glow::UNSIGNED_BYTE, data);
        gl.named_buffer_sub_data_u8_slice(sum.raw, 0, &[0; 4]);
    }
    let canvas = Canvas::new(opengl, VERTEX_SHADER, FRAGMENT_SHADER)?;
    canvas.take_vertices(corners.raw)?;

    // Each for what kernels do with it: other accesses do not compile.
    let mut corners = Registered::<_, WriteDiscard>::new(&pair.context, corners)?;
    let mut texels = Registered::<_, ReadWrite>::new(&pair.context, texels)?;
    let mut target = Registered::<_, ReadOnly>::new(&pair.context, target)?;
    let mut sum = Registered::<_, ReadWrite>::new(&pair.context, sum)?;
    let mut expected_sum = 0_u32;
    for number in 1..=FRAMES {
        let frame = [number, side, rectangles];
        let mapped = corners.map(stream)?;
        let arguments: [&[u8]; 2] = [&mapped.destination().to_ne_bytes(), bytemuck::cast_slice(&frame)];
        // SAFETY: a pointer to as many corners, and the frame; what is mapped outlives its kernels.
        unsafe { launch(stream, move_, [rectangles, 1], [32, 1], &arguments) }?;
        mapped.unmap()?;

        let mapped = texels.map(stream)?;
        let arguments: [&[u8]; 2] = [&mapped.surface(0)?.to_ne_bytes(), &quarter.to_ne_bytes()];
        // SAFETY: a surface and its side; as above.
        unsafe { launch(stream, change, [quarter; 2], [16, 8], &arguments) }?;
        mapped.unmap()?;

        let (texels, target_texture) = (texels.object().raw, target.object().raw);
        canvas.draw(
            texels,
            target_texture,
            square(side).into(),
            Some(BACKGROUND),
            6 * rectangles,
        )?;

        let (mapped, to) = (target.map(stream)?, sum.map(stream)?);
        let (drawn, to_bytes) = (mapped.texture(0)?.to_ne_bytes(), to.destination().to_ne_bytes());
        // SAFETY: a texture, its side, a pointer to a word; as above.
        unsafe {
            launch(
                stream,
                sum_up,
                [side; 2],
                [16, 8],
                &[&drawn, &side.to_ne_bytes(), &to_bytes],
            )
        }?;
        mapped.unmap()?;
        to.unmap()?;
        expected_sum = expected_sum.wrapping_add(check(&canvas.read(square(side))?, frame)?);
    }
    let mut found_sum = [0; 4];
    // SAFETY: the context is current; the buffer has as many bytes.
    unsafe {
        gl.bind_buffer(glow::COPY_READ_BUFFER, Some(sum.object().raw));
        gl.get_buffer_sub_data(glow::COPY_READ_BUFFER, 0, &mut found_sum);
    }
    let found_sum = u32::from_ne_bytes(found_sum);
    ensure!(
        found_sum == expected_sum,
        "the pixels that CUDA sees sum up to {found_sum}, not to {expected_sum}"
    );
    Ok((corners.unregister(), texels.unregister(), target.unregister()))
}

/// Compares pixels with what is to be drawn; their weighted sum, as CUDA takes it.
fn check(pixels: &[u8], [number, side, rectangles]: [u32; 3]) -> anyhow::Result<u32> {
    let (quarter, places, mut sum) = (side / 4, side - side / 4 + 1, 0_u32);
    for (index, found) in (0..).zip(bytemuck::cast_slice::<u8, [u8; 4]>(pixels)) {
        let (x, y): (u32, u32) = (index % side, index / side);
        let texel_of = |rectangle| {
            let u = x.wrapping_sub((number + 17 * rectangle) % places);
            let v = y.wrapping_sub((3 * number + 5 * rectangle) % places);
            let texel = [u.wrapping_add(number), v.wrapping_add(3 * number), u ^ v, 255];
            (u < quarter && v < quarter).then(|| texel.map(|value| value as u8))
        };
        // The last one drawn is on top.
        let expected = (0..rectangles).rev().find_map(texel_of).unwrap_or(BACKGROUND);
        ensure!(
            *found == expected,
            "frame {number}, pixel ({x}, {y}): expected {expected:?}, found {found:?}"
        );
        sum = sum.wrapping_add(u32::from_le_bytes(*found).wrapping_mul(index + 1));
    }
    Ok(sum)
}
