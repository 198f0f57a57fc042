// The scene `none`: every texel tells its place and its frame, in values that half floats hold exactly.

var<immediate> frame: u32; // modulo 2048

@group(0) @binding(0) var color: texture_storage_2d<rgba16float, write>;

@compute @workgroup_size(16, 16)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if any(id.xy >= textureDimensions(color)) {
        return;
    }
    let tag = vec3u(id.xy, frame) % 2048u;
    textureStore(color, id.xy, vec4f(vec3f(tag) / 2048.0, 1.0));
}
