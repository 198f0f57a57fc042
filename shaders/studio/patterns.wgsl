// How surfaces vary: inlays, squares, grain and grooves, all softened over a texel's footprint.

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
        case 4u: { // fluted: dark grooves across u, on walls only
            let wall = 1.0 - smoothstep(0.2, 0.5, abs(s.normal.y));
            let groove = wall * line(fract(at.x) - 0.5, 0.12, uv_width.x);
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
    var brass = max(line(radius - 3.42, 0.022, texel), line(radius - 1.62, 0.012, texel));
    if radius > 3.0 && radius < 3.4 {
        let turn = atan2(p.x, p.y) * 72.0 / (2.0 * PI);
        let long = select(0.0, 0.10, abs(fract(turn / 6.0 + 0.5) - 0.5) < 0.09);
        let tick = line((fract(turn + 0.5) - 0.5) * radius * 2.0 * PI / 72.0, 0.008, texel)
            * line(radius - 3.26 + 0.5 * long, 0.05 + 0.5 * long, texel);
        brass = max(brass, tick);
    }
    (*s).albedo = mix((*s).albedo, vec3f(0.93, 0.68, 0.35), brass);
    (*s).metallic = brass;
    (*s).roughness = mix((*s).roughness, 0.25, brass);
    return (random - 0.5) * (1.0 - joint);
}
