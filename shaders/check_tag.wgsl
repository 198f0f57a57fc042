// Counts the texels that are not what the scene `none` wrote in a frame, or not its complement.

struct Expected {
    frame: u32, // modulo 2048
    complement: u32, // 1: one minus the value is expected, in every channel
}

struct Result {
    checked: atomic<u32>,
    mismatches: atomic<u32>,
    first: atomic<u32>, // y << 16 | x of the first mismatch, rows first
}

var<immediate> expected: Expected;

@group(0) @binding(0) var image: texture_2d<f32>;
@group(0) @binding(1) var<storage, read_write> result: Result;

var<workgroup> group_checked: atomic<u32>;
var<workgroup> group_mismatches: atomic<u32>;
var<workgroup> group_first: atomic<u32>;

@compute @workgroup_size(16, 16)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) local: u32) {
    if local == 0u {
        atomicStore(&group_checked, 0u);
        atomicStore(&group_mismatches, 0u);
        atomicStore(&group_first, 0xffffffffu);
    }
    workgroupBarrier();
    if all(id.xy < textureDimensions(image)) {
        let tag = vec4f(vec3f(vec3u(id.xy, expected.frame) % 2048u) / 2048.0, 1.0);
        let wanted = select(tag, 1.0 - tag, expected.complement == 1u);
        atomicAdd(&group_checked, 1u);
        // Written so that NaN, which equals nothing, is a mismatch.
        if !all(textureLoad(image, id.xy, 0) == wanted) {
            atomicAdd(&group_mismatches, 1u);
            atomicMin(&group_first, id.y << 16u | id.x);
        }
    }
    workgroupBarrier();
    if local == 0u {
        atomicAdd(&result.checked, atomicLoad(&group_checked));
        atomicAdd(&result.mismatches, atomicLoad(&group_mismatches));
        atomicMin(&result.first, atomicLoad(&group_first));
    }
}
