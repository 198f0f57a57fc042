// Draws the overlay's shapes over the screen image: a workgroup a tile of 16x16 texels that has any.
//
// A compute shader, because the screen image belongs to a queue that may not be able to draw.

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

// A texel that is covered: what of the atlas it shows, times which colour; both premultiplied and sRGB-encoded.
struct Covered {
    uv: vec2f,
    color: vec4f,
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

// A triangle's four fours: corners a and b, corner c, their texture coordinates, their colours.
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
    let weights = vec3f(of_a, of_b, of_c) / area;
    let uv = bitcast<vec4f>(words[at + 2u]);
    let colors = words[at + 3u];
    (*covered).uv = weights.x * uv.xy + weights.y * uv.zw + weights.z * c_uv.zw;
    (*covered).color = weights.x * unpack4x8unorm(colors.x)
        + weights.y * unpack4x8unorm(colors.y)
        + weights.z * unpack4x8unorm(colors.z);
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
            covered = Covered(uv.xy + uv.zw * p, unpack4x8unorm(head.w));
        } else if !triangle(head.z, p, &covered) {
            continue;
        }
        let uv = vec2u(covered.uv);
        let color = unpack4x8unorm(atlas[uv.y * parts.atlas_width + uv.x]) * covered.color;
        over = color + over * (1.0 - color.a);
        is_covered = true;
    }
    // What nothing covers is not even read: it stays the very same.
    if is_covered {
        let under = textureLoad(screen, texel);
        textureStore(screen, texel, vec4f(over.rgb + under.rgb * (1.0 - over.a), 1.0));
    }
}
