// Draws the overlay's shapes over the screen image: a workgroup a tile of 16x16 texels that has any.
//
// A compute shader, because the screen image belongs to a queue that may not be able to draw. kernels/screen/overlay.cu and
// DrawList::draw_over compute the same bytes: each sum and each product is rounded by itself (the build sees to it), in the same
// order, and nothing is divided.

// Where things are in `words`, in fours. See DrawList.
struct Layout {
    references: u32,
    tiles: u32,
    tile_count: u32,
    atlas_width: u32,
}

var<immediate> parts: Layout;

@group(0) @binding(0) var screen: texture_storage_2d<rgba8unorm, read_write>;
@group(0) @binding(1) var<storage, read> words: array<vec4u>;
@group(0) @binding(2) var<storage, read> atlas: array<u32>; // RGBA8, premultiplied

// A texel that is covered: what of the atlas it shows, times which colour; both premultiplied and sRGB-encoded, in steps of a byte.
struct Covered {
    uv: vec2f,
    color: vec4f,
}

// One over the square of 255: a product of two bytes becomes 0 to 1.
const OF_BYTES: f32 = 1.53787005e-5;

fn bytes(word: u32) -> vec4f {
    return vec4f(vec4u(word, word >> 8u, word >> 16u, word >> 24u) & vec4u(255u));
}

// Twice the area of a, b, p: positive where they run clockwise on the screen. Computed from the same end whichever way
// the edge runs, so that two triangles that share it get the same number with opposite signs.
fn edge(a: vec2f, b: vec2f, p: vec2f) -> f32 {
    let swapped = a.x > b.x || (a.x == b.x && a.y > b.y);
    let origin = select(a, b, swapped);
    let along = select(b, a, swapped) - origin;
    let to = p - origin;
    let area = along.x * to.y - along.y * to.x;
    return select(area, -area, swapped);
}

// A texel whose centre is on an edge belongs to the triangle right of or below it.
fn covers(area: f32, a: vec2f, b: vec2f) -> bool {
    let along = b - a;
    return area > 0.0 || (area == 0.0 && (along.y < 0.0 || (along.y == 0.0 && along.x > 0.0)));
}

// A triangle's four fours: corners a and b, corner c, their texture coordinates, their colours and one over twice the area.
fn triangle(at: u32, p: vec2f, covered: ptr<function, Covered>) -> bool {
    let ab = bitcast<vec4f>(words[at]);
    let c_uv = bitcast<vec4f>(words[at + 1u]);
    let a = ab.xy;
    let b = ab.zw;
    let c = c_uv.xy;
    let of_c = edge(a, b, p);
    let of_a = edge(b, c, p);
    let of_b = edge(c, a, p);
    let area = of_a + of_b + of_c;
    if !covers(of_c, a, b) || !covers(of_a, b, c) || !covers(of_b, c, a) || area <= 0.0 {
        return false;
    }
    let uv = bitcast<vec4f>(words[at + 2u]);
    let colors = words[at + 3u];
    // Devices divide differently; a step of Newton's method from the host's quotient has the one of these very sums.
    let near = bitcast<f32>(colors.w);
    let inverse = near * (2.0 - area * near);
    let weights = clamp(vec3f(of_a, of_b, of_c) * inverse, vec3f(0.0), vec3f(1.0));
    (*covered).uv = weights.x * uv.xy + weights.y * uv.zw + weights.z * c_uv.zw;
    (*covered).color = weights.x * bytes(colors.x) + weights.y * bytes(colors.y) + weights.z * bytes(colors.z);
    return true;
}

@compute @workgroup_size(16, 16)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_id) local: vec3u,
) {
    let tile_index = group.x + group.y * groups.x;
    if tile_index >= parts.tile_count {
        return;
    }
    // Column, row, first reference, how many.
    let tile = words[parts.tiles + tile_index];
    let texel = tile.xy * 16u + local.xy;
    if any(texel >= textureDimensions(screen)) {
        return;
    }
    let p = vec2f(texel) + 0.5;
    var over = vec4f(0.0);
    var is_covered = false;
    for (var reference = tile.z; reference < tile.z + tile.w; reference++) {
        let shape = words[parts.references + reference / 4u][reference % 4u];
        // Its bounds, where its triangle is (0: it is a rectangle), and a rectangle's colour.
        let head = words[shape];
        let low = vec2u(head.x & 0xffffu, head.x >> 16u);
        let high = vec2u(head.y & 0xffffu, head.y >> 16u);
        if any(texel < low) || any(texel >= high) {
            continue;
        }
        var covered: Covered;
        if head.z == 0u {
            let uv = bitcast<vec4f>(words[shape + 1u]);
            covered = Covered(uv.xy + uv.zw * p, bytes(head.w));
        } else if !triangle(head.z, p, &covered) {
            continue;
        }
        let uv = vec2u(covered.uv);
        let color = bytes(atlas[uv.y * parts.atlas_width + uv.x]) * covered.color * OF_BYTES;
        over = color + over * (1.0 - color.a);
        is_covered = true;
    }
    // What nothing covers is not even read: it stays the very same.
    if is_covered {
        // The very byte, however the device made a float of it.
        let under = floor(textureLoad(screen, texel).rgb * 255.0 + 0.5);
        let blended = floor(over.rgb * 255.0 + under * (1.0 - over.a) + 0.5);
        textureStore(screen, texel, vec4f(min(blended, vec3f(255.0)) / 255.0, 1.0));
    }
}
