// Light that comes from around: the backdrop, lamps that the camera does not see, and what matte surfaces get of it.

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
    let left = softbox(direction, LEFT_LAMP, vec3f(0.5, 0.0, 0.866), vec2f(0.22, 0.75), blur);
    let right = softbox(direction, RIGHT_LAMP, vec3f(0.380, 0.0, -0.925), vec2f(0.35, 0.5), blur);
    let behind = softbox(direction, vec3f(0.0, 0.447, -0.894), vec3f(-1.0, 0.0, 0.0), vec2f(1.1, 0.08), blur);
    light += spread * (overhead * vec3f(2.6, 2.7, 3.0) + left * vec3f(2.2, 3.4, 4.6) + right * vec3f(5.0, 4.0, 3.0)
        + behind * vec3f(3.2, 2.2, 1.8));
    return light;
}

// What reaches a matte surface from that environment: a sum of a few lobes, cheaper than any integral of it.
fn irradiance(normal: vec3f) -> vec3f {
    let around = mix(vec3f(0.030, 0.030, 0.036), vec3f(0.075, 0.085, 0.110), 0.5 * normal.y + 0.5);
    let overhead = vec3f(0.26, 0.27, 0.30) * max(normal.y, 0.0);
    let left = vec3f(0.16, 0.25, 0.34) * max(dot(normal, LEFT_LAMP), 0.0);
    let right = vec3f(0.36, 0.29, 0.22) * max(dot(normal, RIGHT_LAMP), 0.0);
    return around + overhead + left + right;
}
