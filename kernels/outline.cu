/*---
title = "Outline"
summary = "Lines of even width where the depth jumps or surfaces meet at an angle, drawn over the picture."
source = "distances by jump flooding, 1+JFA: Rong and Tan, Jump Flooding in GPU with Applications to Voronoi Diagram and Distance Transform, I3D 2006; edges as in Saito and Takahashi, Comprehensible Rendering of 3-D Shapes, SIGGRAPH 1990: second differences of depth, first ones of the normal"
stage = "look"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504; depths that are NaN or below a micrometre are a micrometre"
guides = ["depth", "normal"]

[tolerance]
ulps = 1
why = "edges and distances are decided on sums, products, quotients and whole numbers, which are the same everywhere"

[[parameters]]
name = "width"
unit = "texels"
minimum = 1.0
maximum = 60.0
default = 3.0
step = 0.5
type = "f32"

[[parameters]]
name = "depth"
unit = "of the depth, the least jump"
minimum = 0.005
maximum = 1.0
default = 0.05
step = 0.005
logarithmic = true
type = "f32"

[[parameters]]
name = "normal"
unit = "1 - cosine of the least angle"
minimum = 0.01
maximum = 2.0
default = 0.3
step = 0.01
logarithmic = true
type = "f32"

[[parameters]]
name = "ink"
unit = "light"
minimum = 0.0
maximum = 4.0
default = 0.0
step = 0.05
type = "f32"

[[parameters]]
name = "strength"
unit = ""
minimum = 0.0
maximum = 1.0
default = 1.0
step = 0.05
type = "f32"

# The nearest edge texel as far as it is known, of each texel.
[[buffers]]
name = "even"
bytes_per_texel = 4

[[buffers]]
name = "odd"
bytes_per_texel = 4

[[passes]]
entry = "outline_edges"
source = "input"
buffers = ["odd"]
block = [32, 8]

[[passes]]
entry = "outline_flood"
source = "input"
buffers = ["odd", "even"]
index = 1
block = [32, 8]

[[passes]]
entry = "outline_flood"
source = "input"
buffers = ["even", "odd"]
index = 32
block = [32, 8]

[[passes]]
entry = "outline_flood"
source = "input"
buffers = ["odd", "even"]
index = 16
block = [32, 8]

[[passes]]
entry = "outline_flood"
source = "input"
buffers = ["even", "odd"]
index = 8
block = [32, 8]

[[passes]]
entry = "outline_flood"
source = "input"
buffers = ["odd", "even"]
index = 4
block = [32, 8]

[[passes]]
entry = "outline_flood"
source = "input"
buffers = ["even", "odd"]
index = 2
block = [32, 8]

[[passes]]
entry = "outline_flood"
source = "input"
buffers = ["odd", "even"]
index = 1
block = [32, 8]

[[passes]]
entry = "outline_draw"
source = "input"
destination = "output"
buffers = ["even"]
block = [32, 8]
---*/
#include "handover.cuh"

struct OutlineParameters {
    float width;
    float depth;
    float normal;
    float ink;
    float strength;
};

// An edge texel: x in the lower half, y in the upper.
constexpr unsigned no_edge = 0xffffffffu;

HANDOVER_INLINE unsigned place(const Pass& pass, int x, int y) { return unsigned(y) * pass.source.extent.x + unsigned(x); }

HANDOVER_INLINE float disparity(const Pass& pass, int x, int y) { return 1.0f / fmaxf(load_depth(pass, x, y), 1e-6f); }

// Over a plane, one over the depth is linear in the picture, so its second differences are 0 however steep the plane. They are
// positive on the near side of a jump, which alone is an edge. At the picture's border nothing jumps.
HANDOVER_INLINE bool jumps(const Pass& pass, int2 at, float threshold) {
    float here = disparity(pass, at.x, at.y), least = threshold * here;
    float across = 2.0f * here - (disparity(pass, at.x - 1, at.y) + disparity(pass, at.x + 1, at.y));
    float along = 2.0f * here - (disparity(pass, at.x, at.y - 1) + disparity(pass, at.x, at.y + 1));
    bool is_inner_x = at.x > 0 && at.x + 1 < int(pass.source.extent.x);
    bool is_inner_y = at.y > 0 && at.y + 1 < int(pass.source.extent.y);
    return (is_inner_x && across > least) || (is_inner_y && along > least);
}

// Whether two surfaces meet at an angle; where nothing is, there is no normal.
HANDOVER_INLINE bool meet(float4 a, float4 b, float threshold) {
    bool are_surfaces = (a.x != 0.0f || a.y != 0.0f || a.z != 0.0f) && (b.x != 0.0f || b.y != 0.0f || b.z != 0.0f);
    return are_surfaces && 1.0f - (a.x * b.x + a.y * b.y + a.z * b.z) > threshold;
}

extern "C" __global__ void outline_edges(const __grid_constant__ Pass pass,
                                         const __grid_constant__ OutlineParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.source, at)) return;
    float4 normal = load_normal(pass, at.x, at.y);
    bool is_edge = jumps(pass, at, parameters.depth) ||
                   meet(normal, load_normal(pass, at.x + 1, at.y), parameters.normal) ||
                   meet(normal, load_normal(pass, at.x, at.y + 1), parameters.normal);
    unsigned self = unsigned(at.y) << 16 | unsigned(at.x);
    elements<unsigned>(pass.buffers[0])[place(pass, at.x, at.y)] = is_edge ? self : no_edge;
}

// How far from an edge texel a line reaches: from there on it fades over one texel.
HANDOVER_INLINE float reach(const OutlineParameters& parameters) { return 0.5f * (parameters.width - 1.0f); }

HANDOVER_INLINE int squared_distance(int2 at, unsigned edge) {
    int dx = at.x - int(edge & 0xffffu), dy = at.y - int(edge >> 16);
    return dx * dx + dy * dy;
}

// Takes the nearest of what nine texels know, `pass.index` apart; of equally near ones the first. Steps that are longer than
// the line reaches find nothing of use: the shorter ones add up to more.
extern "C" __global__ void outline_flood(const __grid_constant__ Pass pass,
                                         const __grid_constant__ OutlineParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.source, at)) return;
    const unsigned* known = elements<unsigned>(pass.buffers[0]);
    int step = int(pass.index);
    unsigned nearest = known[place(pass, at.x, at.y)];
    if (float(step) <= reach(parameters) + 1.0f) {
        int shortest = nearest == no_edge ? 0x7fffffff : squared_distance(at, nearest);
        for (int j = -1; j <= 1; ++j) {
            for (int i = -1; i <= 1; ++i) {
                int x = at.x + i * step, y = at.y + j * step;
                if (!covers(pass.source, make_int2(x, y)) || x < 0 || y < 0) continue;
                unsigned edge = known[place(pass, x, y)];
                if (edge == no_edge) continue;
                int distance = squared_distance(at, edge);
                if (distance < shortest) {
                    shortest = distance;
                    nearest = edge;
                }
            }
        }
    }
    elements<unsigned>(pass.buffers[1])[place(pass, at.x, at.y)] = nearest;
}

extern "C" __global__ void outline_draw(const __grid_constant__ Pass pass,
                                        const __grid_constant__ OutlineParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 color = load(pass.source, at.x, at.y);
    unsigned edge = elements<unsigned>(pass.buffers[0])[place(pass, at.x, at.y)];
    float line = 0.0f;
    if (edge != no_edge) {
        float distance = sqrtf(float(squared_distance(at, edge)));
        line = parameters.strength * clamp(reach(parameters) + 1.0f - distance, 0.0f, 1.0f);
    }
    float rest = 1.0f - line, ink = parameters.ink * line;
    store(pass.destination, at, make_float4(color.x * rest + ink, color.y * rest + ink, color.z * rest + ink, color.w));
}
