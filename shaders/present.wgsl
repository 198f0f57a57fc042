// The present pass: the processed image (linear light, RGBA16F) becomes the 8-bit screen image, sRGB-encoded.

@group(0) @binding(0) var processed: texture_2d<f32>;
@group(0) @binding(1) var screen: texture_storage_2d<rgba8unorm, write>;
// See SrgbTable: an entry is of eight halves, 16 bits: its lower byte is theirs, its upper byte is how many of them have it.
@group(0) @binding(2) var<storage, read> table: array<u32>;

// As floats: the bits of the least half that the table has, of 1, from which on all is white, and of infinity: what has larger bits
// is NaN or negative, and black.
const FIRST: u32 = 0x38800000u;
const ONE: u32 = 0x3f800000u;
const INFINITY: u32 = 0x7f800000u;

// The byte of a half, by integers alone: devices round powers differently.
fn srgb_byte(light: f32) -> u32 {
    let bits = bitcast<u32>(light);
    if bits > INFINITY || bits < FIRST {
        return 0u;
    }
    if bits >= ONE {
        return 255u;
    }
    // A float has 13 bits more than the half that it was.
    let half = (bits - FIRST) >> 13u;
    let entry = (table[half / 16u] >> ((half & 8u) * 2u)) & 0xffffu;
    return (entry & 255u) + select(0u, 1u, half % 8u >= (entry >> 8u));
}

@compute @workgroup_size(16, 16)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let extent = textureDimensions(screen);
    if any(id.xy >= extent) {
        return;
    }
    let light = textureLoad(processed, id.xy, 0);
    let bytes = vec3u(srgb_byte(light.r), srgb_byte(light.g), srgb_byte(light.b));
    textureStore(screen, id.xy, vec4f(vec3f(bytes) / 255.0, 1.0));
}
