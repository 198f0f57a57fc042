// The fragment shaders, and what they write: colour and the guides.

struct Targets {
    @location(0) color: vec4f,
    @location(1) depth: f32,
    @location(2) normal: vec4f,
    @location(3) albedo: vec4f,
    @location(4) motion: vec2f,
}

// From here to where the surface was in the last frame, in texels, whatever the pictures' jitters.
fn motion(previous_clip: vec4f, here: vec2f) -> vec2f {
    let previous = (previous_clip.xy / previous_clip.w * 0.5 + 0.5) * vec2f(frame.width, frame.height);
    return previous - (here - frame.jitter);
}

fn targets(in: VertexOutput, s: Surface, normal: vec3f, color: vec3f) -> Targets {
    return Targets(vec4f(min(color, BRIGHTEST), 1.0), dot(in.world - frame.eye, frame.forward), vec4f(normal, 0.0),
        vec4f(s.albedo, 1.0), motion(in.previous_clip, in.clip.xy));
}

fn radiance(in: VertexOutput, s: Surface, shaded: Shaded) -> vec3f {
    let emission = instances[in.instance].emission;
    let rim = 0.6 + 0.4 * saturate(dot(s.normal, s.view)); // a glowing tube is brightest along its middle
    return shaded.direct + shaded.share * environment(shaded.reflected, s.roughness) + emission * rim;
}

@fragment
fn fragment_object(in: VertexOutput) -> Targets {
    let s = surface_of(in);
    var shaded = shade_matte(s);
    shaded.direct += highlights(s, 6);
    return targets(in, s, s.normal, radiance(in, s, shaded));
}

@fragment
fn fragment_mirror(in: VertexOutput) -> @location(0) vec4f {
    let s = surface_of(in);
    return vec4f(min(radiance(in, s, shade_mirrored(s)), BRIGHTEST), 1.0);
}

fn mirror_at(at: vec2f) -> vec4f {
    return textureSampleLevel(mirror, mirror_sampler, at, 0.0);
}

@fragment
fn fragment_floor(in: VertexOutput) -> Targets {
    var s = surface_of(in);
    let tilt = floor_pattern(&s);
    let shaded = shade_matte(s);
    // Tiles are never laid quite level: each shifts its mirror image a little.
    let at = in.clip.xy / vec2f(frame.width, frame.height) + tilt * vec2f(0.004, 0.006);
    // The rougher, the more blurred; along the view more than across it, as on a wet road.
    let spread = vec2f(0.0016, 0.0042) * (s.roughness / 0.2);
    let image = 0.25 * (mirror_at(at + spread * vec2f(0.35, 1.0)) + mirror_at(at + spread * vec2f(1.0, -0.35))
        + mirror_at(at + spread * vec2f(-0.35, -1.0)) + mirror_at(at + spread * vec2f(-1.0, 0.35)));
    let reflection = image.rgb + (1.0 - image.a) * backdrop(shaded.reflected);
    // The stone under the polish is rougher: around their mirror images it spreads the light of ring and tubes.
    let stone = Surface(s.position, s.normal, s.view, s.albedo, 0.0, 0.24);
    var color = shaded.direct + shaded.share * reflection + highlights(stone, 3);
    // Far away the floor curves up into the backdrop.
    let away = smoothstep(7.0, 24.0, length(in.world.xz));
    color = mix(color, backdrop(normalize(vec3f(-s.view.x, 0.0, -s.view.z))), away);
    return targets(in, s, vec3f(0.0, 1.0, 0.0), color);
}

@fragment
fn fragment_backdrop(@builtin(position) position: vec4f) -> Targets {
    let at = (position.xy - frame.jitter) / vec2f(frame.width, frame.height) * 2.0 - 1.0;
    let ray = frame.forward + at.x * frame.right - at.y * frame.up;
    // What is infinitely far moves only by the camera's turning. White, for whoever divides the light by the albedo.
    let previous = frame.previous_view_projection * vec4f(ray, 0.0);
    return Targets(
        vec4f(backdrop(normalize(ray)), 1.0), frame.far, vec4f(0.0), vec4f(1.0), motion(previous, position.xy));
}
