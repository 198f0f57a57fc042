// The present pass: the processed image (linear light, RGBA16F) becomes the 8-bit screen image, sRGB-encoded.

@group(0) @binding(0) var processed: texture_2d<f32>;
@group(0) @binding(1) var screen: texture_storage_2d<rgba8unorm, write>;

// IEC 61966-2-1: the transfer function of sRGB, on [0, 1].
fn srgb_encode(linear: vec3f) -> vec3f {
    let low = linear * 12.92;
    let high = 1.055 * pow(linear, vec3f(1.0 / 2.4)) - 0.055;
    return select(high, low, linear <= vec3f(0.0031308));
}

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let extent = textureDimensions(screen);
    if any(id.xy >= extent) {
        return;
    }
    let color = textureLoad(processed, id.xy, 0).rgb;
    // NaN shows black: clamp's result for it is undefined, a comparison's is not.
    let finite = select(vec3f(0.0), clamp(color, vec3f(0.0), vec3f(1.0)), color == color);
    textureStore(screen, id.xy, vec4f(srgb_encode(finite), 1.0));
}
