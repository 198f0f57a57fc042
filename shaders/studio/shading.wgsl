// Light that a surface sends to the eye: key light, glowing things, and the share of the mirror image.

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
    let miss = 1.0 - v_h;
    let miss2 = miss * miss;
    let fresnel = f0 + (1.0 - f0) * miss2 * miss2 * miss;
    return distribution * masking * n_l * fresnel;
}

fn key_shadow(position: vec3f, normal: vec3f) -> f32 {
    // Moved along the normal by what a shadow texel spans, so that a surface does not shade itself.
    let clip = frame.key_view_projection * vec4f(position + normal * 0.015, 1.0);
    let at = clip.xy * 0.5 + 0.5;
    if any(abs(clip.xy) > vec2f(0.99)) {
        return 1.0;
    }
    // Four taps, each of which the sampler filters over two by two texels.
    let near = 0.55 * frame.shadow_texel;
    let far = 1.55 * frame.shadow_texel;
    let lit = textureSampleCompareLevel(shadow_map, shadow_sampler, at + vec2f(near, far), clip.z)
        + textureSampleCompareLevel(shadow_map, shadow_sampler, at + vec2f(far, -near), clip.z)
        + textureSampleCompareLevel(shadow_map, shadow_sampler, at + vec2f(-near, -far), clip.z)
        + textureSampleCompareLevel(shadow_map, shadow_sampler, at + vec2f(-far, near), clip.z);
    return 0.25 * lit;
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
fn environment_share(f0: vec3f, s: Surface) -> vec3f {
    let n_v = max(dot(s.normal, s.view), 1e-3);
    let r = s.roughness * vec4f(-1.0, -0.0275, -0.572, 0.022) + vec4f(1.0, 0.0425, 1.04, -0.04);
    let a = min(r.x * r.x, exp2(-9.28 * n_v)) * r.x + r.y;
    let scale_bias = vec2f(-1.04, 1.04) * a + r.zw;
    return f0 * scale_bias.x + scale_bias.y;
}

struct Shaded {
    direct: vec3f, // lamps and the diffuse part of the environment
    share: vec3f, // what the mirror image is multiplied by
    reflected: vec3f, // the mirror direction
}

// Key light, and the matte share of everything else.
fn shade_matte(s: Surface) -> Shaded {
    let f0 = mix(vec3f(0.04), s.albedo, s.metallic);
    let diffuse = s.albedo * (1.0 - s.metallic) / PI;
    let open = openness(s.position, s.normal);
    var light = diffuse * PI * irradiance(s.normal) * open;
    let key = saturate(dot(s.normal, frame.key_direction));
    if key > 0.0 {
        let lit = KEY_COLOR * key_shadow(s.position, s.normal);
        light += lit * (diffuse * key + specular(s, frame.key_direction, f0, 0.0));
    }
    for (var index = 0; index < 6; index++) {
        light += lamp_diffuse(frame.lights[index], s, diffuse);
    }
    return Shaded(light, environment_share(f0, s) * mix(1.0, open, 0.7), reflect(-s.view, s.normal));
}

// The highlights of the first `count` glowing things.
fn highlights(s: Surface, count: i32) -> vec3f {
    let f0 = mix(vec3f(0.04), s.albedo, s.metallic);
    let reflected = reflect(-s.view, s.normal);
    var light = vec3f(0.0);
    for (var index = 0; index < count; index++) {
        let lamp = frame.lights[index];
        let seen = nearest_on_light(lamp, s.position, reflected) - s.position;
        let far = max(length(seen), lamp.tube_radius);
        let shine = specular(s, seen / far, f0, min(lamp.tube_radius / far, 0.4));
        light += lamp.color * shine / (far * far + 0.05);
    }
    return light;
}

// For the mirror image: without shadow, occlusion and the lamps' highlights, which nobody misses in it.
fn shade_mirrored(s: Surface) -> Shaded {
    let f0 = mix(vec3f(0.04), s.albedo, s.metallic);
    let diffuse = s.albedo * (1.0 - s.metallic) / PI;
    var light = diffuse * (PI * irradiance(s.normal) + KEY_COLOR * saturate(dot(s.normal, frame.key_direction)));
    for (var index = 0; index < 6; index++) {
        light += lamp_diffuse(frame.lights[index], s, diffuse);
    }
    return Shaded(light, environment_share(f0, s), reflect(-s.view, s.normal));
}

fn lamp_diffuse(lamp: Light, s: Surface, diffuse: vec3f) -> vec3f {
    let near = closest_on_light(lamp, s.position) - s.position;
    let reach = max(length(near), lamp.tube_radius);
    let cosine = saturate(dot(s.normal, near / reach) + 0.1) / 1.1; // a lamp of some size sets a little later
    return lamp.color * diffuse * cosine / (reach * reach + 0.05);
}
