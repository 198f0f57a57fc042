// The studio: surfaces lit by a key light with a shadow, glowing tubes, rings and orbs, and a procedural environment.

struct Light {
    // A segment from `a` to `b` (an orb where they are equal), or a ring around `a` with the axis `b`.
    a: vec3f,
    tube_radius: f32,
    b: vec3f,
    ring_radius: f32, // 0 for a segment
    color: vec3f,
    padding: f32,
}

struct Frame {
    view_projection: mat4x4f,
    previous_view_projection: mat4x4f,
    key_view_projection: mat4x4f,
    eye: vec3f,
    far: f32,
    forward: vec3f,
    shadow_texel: f32,
    // The picture's half width and half height at a distance of 1.
    right: vec3f,
    width: f32,
    up: vec3f,
    height: f32,
    key_direction: vec3f,
    padding: f32,
    lights: array<Light, 6>,
    // Centre and radius of balls that stand for the large objects where they shade their surroundings.
    occluders: array<vec4f, 6>,
}

struct Instance {
    model: mat4x4f,
    previous_model: mat4x4f,
    base_color: vec3f,
    metallic: f32,
    emission: vec3f,
    roughness: f32,
    pattern: u32,
    pattern_scale: f32,
}

@group(0) @binding(0) var<uniform> frame: Frame;
@group(0) @binding(1) var<storage, read> instances: array<Instance>;
@group(0) @binding(2) var shadow_map: texture_depth_2d;
@group(0) @binding(3) var shadow_sampler: sampler_comparison;
@group(0) @binding(4) var mirror: texture_2d<f32>;
@group(0) @binding(5) var mirror_sampler: sampler;

const PI = 3.14159265;
const KEY_COLOR = vec3f(2.75, 2.5, 2.15);
// Bloom of a larger value would only be noise; half floats end at 65504.
const BRIGHTEST = vec3f(200.0);

struct VertexOutput {
    @builtin(position) clip: vec4f,
    @location(0) world: vec3f,
    @location(1) normal: vec3f,
    @location(2) uv: vec2f,
    @location(3) previous_clip: vec4f,
    @location(4) @interpolate(flat) instance: u32,
}

@vertex
fn vertex_surface(
    @location(0) position: vec3f,
    @location(1) normal: vec3f,
    @location(2) uv: vec2f,
    @builtin(instance_index) index: u32,
) -> VertexOutput {
    let model = instances[index].model;
    let world = model * vec4f(position, 1.0);
    // The cofactor matrix: right for scales that differ by axis.
    let turned = normal.x * cross(model[1].xyz, model[2].xyz) + normal.y * cross(model[2].xyz, model[0].xyz)
        + normal.z * cross(model[0].xyz, model[1].xyz);
    let previous = instances[index].previous_model * vec4f(position, 1.0);
    return VertexOutput(
        frame.view_projection * world, world.xyz, turned, uv, frame.previous_view_projection * previous, index);
}

@vertex
fn vertex_shadow(
    @location(0) position: vec3f,
    @builtin(instance_index) index: u32,
) -> @builtin(position) vec4f {
    return frame.key_view_projection * (instances[index].model * vec4f(position, 1.0));
}

@vertex
fn vertex_backdrop(@builtin(vertex_index) index: u32) -> @builtin(position) vec4f {
    let corner = vec2f(f32(index & 1u), f32(index >> 1u)) * 4.0 - 1.0;
    return vec4f(corner, 0.0, 1.0); // the far plane: depth is reversed
}

// ---- environment --------------------------------------------------------------------------------------------------

// What is seen where nothing is: a lit studio wall that darkens upwards.
fn backdrop(direction: vec3f) -> vec3f {
    let height = direction.y;
    let glow = vec3f(0.15, 0.088, 0.070) * exp(-8.0 * max(height, 0.0));
    let wall = mix(vec3f(0.030, 0.052, 0.088), vec3f(0.004, 0.006, 0.014), smoothstep(0.0, 0.6, height));
    // A lamp behind the arrangement, turned to the wall.
    let spot = vec3f(0.050, 0.100, 0.155) * exp(-7.0 * (1.0 - dot(direction, vec3f(-0.345, 0.140, -0.928))));
    return wall + spot + glow * (0.8 + 0.4 * direction.x);
}

// A rectangular lamp seen in a direction: 1 inside, fading over `blur`.
fn softbox(direction: vec3f, center: vec3f, right: vec3f, half_size: vec2f, blur: f32) -> f32 {
    let facing = dot(direction, center);
    let up = cross(center, right);
    let at = abs(vec2f(dot(direction, right), dot(direction, up))) / max(facing, 1e-3) - half_size;
    let inside = 1.0 - smoothstep(vec2f(-blur), vec2f(blur), at);
    return select(0.0, inside.x * inside.y, facing > 0.0);
}

// What surfaces reflect: the backdrop, the floor, and lamps that the camera does not see.
fn environment(direction: vec3f, roughness: f32) -> vec3f {
    let blur = 0.04 + 0.9 * roughness * roughness;
    let soft = 0.03 + 0.5 * roughness;
    let above = smoothstep(-soft, soft, direction.y);
    var light = mix(vec3f(0.028, 0.028, 0.034), backdrop(vec3f(direction.x, abs(direction.y), direction.z)), above);
    // A lamp's light spreads over a rougher surface's wider lobe.
    let spread = 1.0 / (1.0 + 6.0 * roughness * roughness);
    let overhead = softbox(direction, vec3f(0.0, 1.0, 0.0), vec3f(1.0, 0.0, 0.0), vec2f(0.9, 0.45), blur);
    let left = softbox(direction, vec3f(-0.832, 0.277, 0.480), vec3f(0.5, 0.0, 0.866), vec2f(0.22, 0.75), blur);
    let right = softbox(direction, vec3f(0.870, 0.340, 0.357), vec3f(0.380, 0.0, -0.925), vec2f(0.35, 0.5), blur);
    let behind = softbox(direction, vec3f(0.0, 0.447, -0.894), vec3f(-1.0, 0.0, 0.0), vec2f(1.1, 0.08), blur);
    light += spread * (overhead * vec3f(2.6, 2.7, 3.0) + left * vec3f(2.2, 3.4, 4.6) + right * vec3f(5.0, 4.0, 3.0)
        + behind * vec3f(3.2, 2.2, 1.8));
    return light;
}

// ---- shading ------------------------------------------------------------------------------------------------------

struct Surface {
    position: vec3f,
    normal: vec3f,
    view: vec3f,
    albedo: vec3f,
    metallic: f32,
    roughness: f32,
}

// The part of an area lamp that matters most to a mirror ray: Karis, "Real Shading in Unreal Engine 4" (2013).
fn nearest_on_light(light: Light, p: vec3f, reflected: vec3f) -> vec3f {
    if light.ring_radius > 0.0 {
        let height = dot(p - light.a, light.b);
        let slope = dot(reflected, light.b);
        let along = max(-height * slope / max(slope * slope, 1e-4), 0.0);
        let toward = p + reflected * min(along, 8.0) - light.a;
        let flat_toward = toward - light.b * dot(toward, light.b);
        return light.a + light.ring_radius * flat_toward / max(length(flat_toward), 1e-4);
    }
    let segment = light.b - light.a;
    let start = light.a - p;
    let along_ray = dot(reflected, segment);
    let denominator = dot(segment, segment) - along_ray * along_ray;
    let t = (dot(reflected, start) * along_ray - dot(start, segment)) / max(denominator, 1e-5);
    return light.a + clamp(t, 0.0, 1.0) * segment;
}

fn closest_on_light(light: Light, p: vec3f) -> vec3f {
    if light.ring_radius > 0.0 {
        let toward = p - light.a;
        let flat_toward = toward - light.b * dot(toward, light.b);
        return light.a + light.ring_radius * flat_toward / max(length(flat_toward), 1e-4);
    }
    let segment = light.b - light.a;
    return light.a + clamp(dot(p - light.a, segment) / max(dot(segment, segment), 1e-5), 0.0, 1.0) * segment;
}

// GGX with the height-correlated Smith term, and Schlick's Fresnel. `widening` is a lamp's half angle.
fn specular(s: Surface, toward: vec3f, f0: vec3f, widening: f32) -> vec3f {
    let half_vector = normalize(toward + s.view);
    let n_l = saturate(dot(s.normal, toward));
    let n_v = max(dot(s.normal, s.view), 1e-3);
    let n_h = saturate(dot(s.normal, half_vector));
    let v_h = saturate(dot(s.view, half_vector));
    let alpha = s.roughness * s.roughness;
    let wide = saturate(alpha + widening);
    let a2 = wide * wide;
    let d = n_h * n_h * (a2 - 1.0) + 1.0;
    let distribution = alpha * alpha / (PI * d * d); // with the widened lobe's energy divided out
    let masking = 0.5 / (n_l * sqrt(n_v * n_v * (1.0 - a2) + a2) + n_v * sqrt(n_l * n_l * (1.0 - a2) + a2));
    let fresnel = f0 + (1.0 - f0) * pow(1.0 - v_h, 5.0);
    return distribution * masking * n_l * fresnel;
}

fn key_shadow(position: vec3f, normal: vec3f) -> f32 {
    // Moved along the normal by what a shadow texel spans, so that a surface does not shade itself.
    let clip = frame.key_view_projection * vec4f(position + normal * 0.015, 1.0);
    let at = clip.xy * 0.5 + 0.5;
    if any(abs(clip.xy) > vec2f(0.99)) {
        return 1.0;
    }
    var lit = 0.0;
    for (var y = -1; y <= 1; y++) {
        for (var x = -1; x <= 1; x++) {
            let tap = at + vec2f(f32(x), f32(y)) * 1.6 * frame.shadow_texel;
            lit += textureSampleCompareLevel(shadow_map, shadow_sampler, tap, clip.z);
        }
    }
    return lit / 9.0;
}

// How much of the environment the large objects leave open.
fn openness(position: vec3f, normal: vec3f) -> f32 {
    var open = 1.0;
    for (var index = 0; index < 6; index++) {
        let ball = frame.occluders[index];
        let toward = ball.xyz - position;
        let distance2 = max(dot(toward, toward), 1e-4);
        let facing = max(dot(normal, toward) * inverseSqrt(distance2), 0.0);
        open *= 1.0 - saturate(facing * min(ball.w * ball.w / distance2, 1.0)) * 0.85;
    }
    return open;
}

// Karis, "Physically Based Shading on Mobile" (2014): the environment's share of the specular lobe.
fn environment_share(f0: vec3f, roughness: f32, n_v: f32) -> vec3f {
    let r = roughness * vec4f(-1.0, -0.0275, -0.572, 0.022) + vec4f(1.0, 0.0425, 1.04, -0.04);
    let a = min(r.x * r.x, exp2(-9.28 * n_v)) * r.x + r.y;
    let scale_bias = vec2f(-1.04, 1.04) * a + r.zw;
    return f0 * scale_bias.x + scale_bias.y;
}

struct Shaded {
    direct: vec3f, // lamps and the diffuse part of the environment
    share: vec3f, // what the mirror image is multiplied by
    reflected: vec3f, // the mirror direction
}

fn shade(s: Surface) -> Shaded {
    let f0 = mix(vec3f(0.04), s.albedo, s.metallic);
    let diffuse = s.albedo * (1.0 - s.metallic) / PI;
    let reflected = reflect(-s.view, s.normal);
    let n_v = max(dot(s.normal, s.view), 1e-3);
    let open = openness(s.position, s.normal);

    var light = diffuse * PI * environment(s.normal, 1.0) * open;
    let key = saturate(dot(s.normal, frame.key_direction));
    if key > 0.0 {
        let lit = KEY_COLOR * key_shadow(s.position, s.normal);
        light += lit * (diffuse * key + specular(s, frame.key_direction, f0, 0.0));
    }
    for (var index = 0; index < 6; index++) {
        let lamp = frame.lights[index];
        let near = closest_on_light(lamp, s.position) - s.position;
        let reach = max(length(near), lamp.tube_radius);
        let cosine = saturate(dot(s.normal, near / reach) + 0.1) / 1.1; // a lamp of some size sets a little later
        light += lamp.color * diffuse * cosine / (reach * reach + 0.05);

        let seen = nearest_on_light(lamp, s.position, reflected) - s.position;
        let far = max(length(seen), lamp.tube_radius);
        let shine = specular(s, seen / far, f0, min(lamp.tube_radius / far, 0.4));
        light += lamp.color * shine / (far * far + 0.05);
    }
    let share = environment_share(f0, s.roughness, n_v) * mix(1.0, open, 0.7);
    return Shaded(light, share, reflected);
}

// ---- patterns -----------------------------------------------------------------------------------------------------

fn hash(cell: vec2f) -> vec2f {
    let p = vec2f(dot(cell, vec2f(127.1, 311.7)), dot(cell, vec2f(269.5, 183.3)));
    return fract(sin(p) * 43758.5453);
}

// A line of half width `half_width` around 0, softened over the texel's footprint.
fn line(distance: f32, half_width: f32, footprint: f32) -> f32 {
    let soft = max(footprint, 1e-5);
    // Lines thinner than a texel fade and do not flicker.
    return (1.0 - smoothstep(half_width - soft, half_width + soft, abs(distance))) * saturate(2.0 * half_width / soft);
}

fn surface_of(in: VertexOutput) -> Surface {
    let material = instances[in.instance];
    // Only what is interpolated has derivatives: what helper invocations load from buffers is not dependable.
    let uv_width = fwidth(in.uv) * material.pattern_scale;
    let at = in.uv * material.pattern_scale;
    var s = Surface(in.world, normalize(in.normal), normalize(frame.eye - in.world), material.base_color,
        material.metallic, material.roughness);
    switch material.pattern {
        case 1u: { // gilded lines along v
            let gilt = line(fract(at.y) - 0.5, 0.07, uv_width.y);
            s.albedo = mix(s.albedo, vec3f(0.95, 0.66, 0.28), gilt);
            s.metallic = mix(s.metallic, 1.0, gilt);
            s.roughness = mix(s.roughness, 0.22, gilt);
        }
        case 2u: { // a chequerboard
            let wave = abs(fract(at * 0.5) - 0.5) - 0.25;
            let sharp = saturate(wave / max(uv_width, vec2f(1e-5)) + 0.5);
            let odd = sharp.x + sharp.y - 2.0 * sharp.x * sharp.y;
            s.albedo = mix(s.albedo, s.albedo * 0.06, odd);
        }
        case 3u: { // brushed around the axis
            let grain = hash(vec2f(floor(at.y), 1.0)).x;
            let visible = saturate(1.0 - uv_width.y);
            s.roughness += 0.16 * (grain - 0.5) * visible;
            s.albedo *= 1.0 + 0.18 * (grain - 0.5) * visible;
        }
        case 4u: { // fluted: dark grooves across u
            let groove = line(fract(at.x) - 0.5, 0.12, uv_width.x);
            s.albedo *= 1.0 - 0.75 * groove;
        }
        default: {}
    }
    // Where the normal turns fast under a texel, its highlight is as wide as the turn (Tokuyoshi and Kaplanyan 2019).
    let turn = dot(dpdx(s.normal), dpdx(s.normal)) + dot(dpdy(s.normal), dpdy(s.normal));
    let alpha = s.roughness * s.roughness;
    s.roughness = sqrt(sqrt(saturate(alpha * alpha + min(0.5 * turn, 0.18))));
    return s;
}

// Stone tiles with joints, and a brass dial inlaid around the middle.
fn floor_pattern(s: ptr<function, Surface>) -> vec2f {
    let p = (*s).position.xz;
    let footprint = fwidth(p);
    let texel = max(footprint.x, footprint.y);
    let cell = floor(p);
    let random = hash(cell);
    let joint = max(line(p.x - round(p.x), 0.006, footprint.x), line(p.y - round(p.y), 0.006, footprint.y));
    (*s).albedo *= (0.82 + 0.36 * random.x) * (1.0 - 0.8 * joint);
    (*s).roughness += 0.06 * random.y + 0.4 * joint;

    let radius = length(p);
    let turn = atan2(p.x, p.y) * 72.0 / (2.0 * PI);
    let long = select(0.0, 0.10, abs(fract(turn / 6.0 + 0.5) - 0.5) < 0.09);
    let tick = line((fract(turn + 0.5) - 0.5) * radius * 2.0 * PI / 72.0, 0.008, texel)
        * line(radius - 3.26 + 0.5 * long, 0.05 + 0.5 * long, texel);
    let brass = max(max(line(radius - 3.42, 0.022, texel), line(radius - 1.62, 0.012, texel)), tick);
    (*s).albedo = mix((*s).albedo, vec3f(0.93, 0.68, 0.35), brass);
    (*s).metallic = brass;
    (*s).roughness = mix((*s).roughness, 0.25, brass);
    return (random - 0.5) * (1.0 - joint);
}

// ---- outputs ------------------------------------------------------------------------------------------------------

struct Targets {
    @location(0) color: vec4f,
    @location(1) depth: f32,
    @location(2) normal: vec4f,
    @location(3) albedo: vec4f,
    @location(4) motion: vec2f,
}

// From here to where the surface was in the last frame, in texels.
fn motion(previous_clip: vec4f, here: vec2f) -> vec2f {
    let previous = (previous_clip.xy / previous_clip.w * 0.5 + 0.5) * vec2f(frame.width, frame.height);
    return previous - here;
}

fn targets(in: VertexOutput, s: Surface, normal: vec3f, color: vec3f) -> Targets {
    return Targets(vec4f(min(color, BRIGHTEST), 1.0), dot(in.world - frame.eye, frame.forward), vec4f(normal, 0.0),
        vec4f(s.albedo, 1.0), motion(in.previous_clip, in.clip.xy));
}

fn lit_object(in: VertexOutput, s: Surface) -> vec3f {
    let emission = instances[in.instance].emission;
    let shaded = shade(s);
    let rim = 0.6 + 0.4 * saturate(dot(s.normal, s.view)); // a glowing tube is brightest along its middle
    return shaded.direct + shaded.share * environment(shaded.reflected, s.roughness) + emission * rim;
}

@fragment
fn fragment_object(in: VertexOutput) -> Targets {
    let s = surface_of(in);
    return targets(in, s, s.normal, lit_object(in, s));
}

@fragment
fn fragment_mirror(in: VertexOutput) -> @location(0) vec4f {
    return vec4f(min(lit_object(in, surface_of(in)), BRIGHTEST), 1.0);
}

@fragment
fn fragment_floor(in: VertexOutput) -> Targets {
    var s = surface_of(in);
    let tilt = floor_pattern(&s);
    let shaded = shade(s);
    // Tiles are never laid quite level: each shifts its mirror image a little.
    let at = in.clip.xy / vec2f(frame.width, frame.height) + tilt * vec2f(0.004, 0.006);
    let spread = vec2f(0.0022, 0.0035) * (s.roughness / 0.2);
    var image = 0.28 * textureSampleLevel(mirror, mirror_sampler, at, 0.0);
    for (var index = 0; index < 6; index++) {
        let turn = f32(index) * PI / 3.0;
        image += 0.12 * textureSampleLevel(mirror, mirror_sampler, at + spread * vec2f(cos(turn), sin(turn)), 0.0);
    }
    let reflection = image.rgb + (1.0 - image.a) * backdrop(shaded.reflected);
    var color = shaded.direct + shaded.share * reflection;
    // Far away the floor curves up into the backdrop.
    let away = smoothstep(7.0, 24.0, length(in.world.xz));
    color = mix(color, backdrop(normalize(vec3f(-s.view.x, 0.0, -s.view.z))), away);
    return targets(in, s, vec3f(0.0, 1.0, 0.0), color);
}

@fragment
fn fragment_backdrop(@builtin(position) position: vec4f) -> Targets {
    let at = position.xy / vec2f(frame.width, frame.height) * 2.0 - 1.0;
    let ray = frame.forward + at.x * frame.right - at.y * frame.up;
    // What is infinitely far moves only by the camera's turning. White, for whoever divides the light by the albedo.
    let previous = frame.previous_view_projection * vec4f(ray, 0.0);
    return Targets(
        vec4f(backdrop(normalize(ray)), 1.0), frame.far, vec4f(0.0), vec4f(1.0), motion(previous, position.xy));
}
