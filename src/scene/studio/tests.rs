//! Pictures of the studio against what geometry says they must show.

use glam::{Vec2, Vec3};

use super::uniforms::key_direction;
use super::*;
use crate::scene::Camera;
use crate::scene::testing::{Bench, Picture, TestTargets, frame};

const WIDTH: u32 = 480;
const HEIGHT: u32 = 270;
const TIME: f32 = 2.0;

fn studio(bench: &Bench, slots: &[&TestTargets]) -> Studio {
    let mut studio = Studio::new(&bench.device).unwrap();
    let targets: Vec<_> = slots.iter().map(|slot| slot.scene_targets()).collect();
    studio.retarget(&targets, slots[0].extent).unwrap();
    studio
}

/// One picture by a new studio.
fn picture(bench: &Bench, time: f32) -> Picture {
    let targets = TestTargets::new(bench, WIDTH, HEIGHT);
    let mut studio = studio(bench, &[&targets]);
    targets.render(bench, &mut studio, 0, &frame(1, time))
}

/// The ray through the middle of a texel, with a length of 1 along the view direction.
fn ray(camera: &Camera, x: u32, y: u32) -> Vec3 {
    let half = (0.5 * camera.vertical_fov).tan();
    let across = ((x as f32 + 0.5) / WIDTH as f32 * 2.0 - 1.0) * half * WIDTH as f32 / HEIGHT as f32;
    let down = ((y as f32 + 0.5) / HEIGHT as f32 * 2.0 - 1.0) * half;
    camera.forward() + across * camera.right() - down * camera.up()
}

/// Where a point is in the picture, in texels.
fn texel_of(camera: &Camera, point: Vec3) -> Vec2 {
    let clip = view_projection(camera, [WIDTH as f32, HEIGHT as f32]).project_point3(point);
    (clip.truncate() * 0.5 + 0.5) * Vec2::new(WIDTH as f32, HEIGHT as f32)
}

fn texels() -> impl Iterator<Item = (u32, u32)> {
    (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| (x, y)))
}

/// The distance along a ray of unit length to a ball, where it is hit.
fn ray_ball(origin: Vec3, direction: Vec3, center: Vec3, radius: f32) -> Option<f32> {
    let toward = center - origin;
    let middle = toward.dot(direction);
    let miss2 = toward.length_squared() - middle * middle;
    (miss2 <= radius * radius && middle > 0.0).then(|| middle - (radius * radius - miss2).sqrt())
}

/// Centres and radii of the large balls.
fn balls() -> Vec<(Vec3, f32)> {
    let balls = arrangement::objects(TIME)
        .into_iter()
        .filter(|object| object.shape == Shape::Sphere);
    balls
        .map(|ball| (ball.model.w_axis.truncate(), ball.model.x_axis.length()))
        .collect()
}

#[test]
fn depth_and_normal_of_balls_are_those_of_the_analytic_ray() {
    let bench = Bench::new();
    let picture = picture(&bench, TIME);
    let camera = frame(1, TIME).camera;
    for (center, radius) in balls() {
        let at = texel_of(&camera, center);
        let (x, y) = (at.x as u32, at.y as u32);
        let ray = ray(&camera, x, y);
        let distance = ray_ball(camera.position(), ray.normalize(), center, radius).unwrap();
        let found = picture.depth[picture.at(x, y)];
        let expected = distance / ray.length();
        assert!(
            (found - expected).abs() < 0.01 * radius,
            "{found} against {expected} at {center}"
        );

        let normal = Vec3::from_slice(&picture.normal[picture.at(x, y)]);
        let hit = camera.position() + ray.normalize() * distance;
        assert!(normal.dot((hit - center) / radius) > 0.999, "{normal} at {center}");
    }
    bench.assert_valid();
}

#[test]
fn guides_are_in_their_ranges_and_say_where_nothing_is() {
    let bench = Bench::new();
    let picture = picture(&bench, TIME);
    let camera = frame(1, TIME).camera;
    let (mut surfaces, mut away) = (0, 0);
    for (x, y) in texels() {
        let at = picture.at(x, y);
        let [nx, ny, nz, nw] = picture.normal[at];
        let (normal, depth) = (Vec3::new(nx, ny, nz), picture.depth[at]);
        assert_eq!((nw, picture.albedo[at][3]), (0.0, 255));
        if depth == Camera::FAR {
            assert_eq!(normal, Vec3::ZERO);
            continue;
        }
        surfaces += 1;
        assert!(depth > Camera::NEAR && depth < Camera::FAR, "{depth} at {x}, {y}");
        assert!((normal.length() - 1.0).abs() < 2e-3, "{normal} at {x}, {y}");
        // Interpolated normals of an outline may lean away a little; a face that is culled wrongly leans far.
        let facing = normal.dot(-ray(&camera, x, y).normalize());
        assert!(facing > -0.35, "{facing} at {x}, {y}");
        away += u32::from(facing < 0.0);
    }
    assert!(surfaces > WIDTH * HEIGHT / 2, "most of the picture shows things");
    assert!(surfaces < WIDTH * HEIGHT, "some of it shows the backdrop");
    assert!(away < surfaces / 200, "{away} of {surfaces} lean away");
    bench.assert_valid();
}

#[test]
fn color_is_finite_opaque_and_brighter_than_one_where_things_glow() {
    let bench = Bench::new();
    let picture = picture(&bench, TIME);
    let mut bright = 0;
    for color in &picture.color {
        assert!(
            color
                .iter()
                .all(|value| value.is_finite() && (0.0..=200.0).contains(value)),
            "{color:?}"
        );
        assert_eq!(color[3], 1.0);
        assert!(color[..3].iter().sum::<f32>() > 0.0, "no texel is left black");
        bright += u32::from(color[..3].iter().any(|value| *value > 5.0));
    }
    assert!(bright > 300, "{bright} texels over 5");
    let middle = picture
        .color
        .iter()
        .filter(|color| (0.02..1.0).contains(&color[1]))
        .count();
    assert!(
        middle > picture.color.len() / 2,
        "most texels are in the middle tones: {middle}"
    );
    bench.assert_valid();
}

#[test]
fn motion_of_the_floor_and_of_the_backdrop_is_the_reprojection_of_the_camera() {
    let bench = Bench::new();
    let targets = TestTargets::new(&bench, WIDTH, HEIGHT);
    let mut studio = studio(&bench, &[&targets]);
    let before = frame(1, TIME);
    let first = targets.render(&bench, &mut studio, 0, &before);
    assert!(
        first.motion.iter().flatten().all(|texels| texels.abs() < 0.01),
        "the first frame stands still"
    );

    let mut after = frame(2, TIME + 0.1);
    after.camera.yaw += 0.05;
    after.camera.pitch += 0.02;
    after.camera.target += Vec3::new(0.1, 0.05, -0.2);
    let picture = targets.render(&bench, &mut studio, 0, &after);
    let (now, then) = (&after.camera, &before.camera);
    let (mut floor, mut backdrop) = (0, 0);
    for (x, y) in texels() {
        let at = picture.at(x, y);
        let ray = ray(now, x, y);
        let point = if picture.depth[at] == Camera::FAR {
            backdrop += 1;
            then.position() + ray // the direction counts, not the place
        } else {
            let point = now.position() + ray * picture.depth[at];
            if point.y > 1e-3 {
                continue;
            }
            floor += 1;
            point
        };
        let expected = texel_of(then, point) - Vec2::new(x as f32 + 0.5, y as f32 + 0.5);
        let found = Vec2::from(picture.motion[at]);
        // Half floats have 11 bits.
        let tolerance = 0.02 + expected.abs().max_element() / 1024.0;
        assert!(
            (found - expected).abs().max_element() < tolerance,
            "{found} against {expected} at {x}, {y}"
        );
    }
    assert!(floor > 10_000 && backdrop > 10_000, "{floor} {backdrop}");
    bench.assert_valid();
}

#[test]
fn motion_of_moving_objects_is_their_own() {
    let bench = Bench::new();
    let targets = TestTargets::new(&bench, WIDTH, HEIGHT);
    let mut studio = studio(&bench, &[&targets]);
    let before = frame(1, TIME);
    let after = SceneFrame {
        camera: before.camera,
        ..frame(2, TIME + 0.05)
    };
    targets.render(&bench, &mut studio, 0, &before);
    let picture = targets.render(&bench, &mut studio, 0, &after);
    let objects = arrangement::objects(after.time);
    let moving = objects
        .iter()
        .zip(arrangement::objects(before.time))
        .filter(|(object, was)| object.shape == Shape::Box && object.model != was.model);
    let (now, was) = moving.map(|(now, was)| (now.model, was.model)).next().unwrap();
    let (mut found_texels, mut largest) = (0, 0.0_f32);
    for (x, y) in texels() {
        let at = picture.at(x, y);
        let point = after.camera.position() + ray(&after.camera, x, y) * picture.depth[at];
        let inside = now.inverse().transform_point3(point).abs().max_element();
        if !(0.98..1.02).contains(&inside) {
            continue;
        }
        found_texels += 1;
        let was_at = was.transform_point3(now.inverse().transform_point3(point));
        let expected = texel_of(&before.camera, was_at) - Vec2::new(x as f32 + 0.5, y as f32 + 0.5);
        let found = Vec2::from(picture.motion[at]);
        assert!(
            (found - expected).length() < 0.03,
            "{found} against {expected} at {x}, {y}"
        );
        largest = largest.max(found.length());
    }
    assert!(found_texels > 500, "{found_texels}");
    assert!(largest > 0.5, "{largest} texels");
    bench.assert_valid();
}

/// A picture that is moved by whole texels shows the same, elsewhere: colour with its mirror image, and every guide.
#[test]
fn jitter_moves_the_picture_and_not_the_motion() {
    let bench = Bench::new();
    let targets = TestTargets::new(&bench, WIDTH, HEIGHT);
    let mut studio = studio(&bench, &[&targets]);
    let [before, after] = [frame(1, TIME), frame(2, TIME + 0.1)];
    targets.render(&bench, &mut studio, 0, &before);
    let still = targets.render(&bench, &mut studio, 0, &after);
    // Whole texels of the mirror image, too, which has half as many.
    let (right, down) = (4, 2);
    let jitter = |frame: SceneFrame, jitter| SceneFrame { jitter, ..frame };
    targets.render(&bench, &mut studio, 0, &jitter(before, [-0.25, 0.375]));
    let moved = targets.render(&bench, &mut studio, 0, &jitter(after, [right as f32, down as f32]));
    let (mut compared, mut differing, mut edges) = (0, 0, 0);
    for (x, y) in texels().filter(|(x, y)| *x >= right && *y >= down) {
        let (now, was) = (moved.at(x, y), still.at(x - right, y - down));
        compared += 1;
        // Where an outline passes a texel's middle, rounding may choose the other side.
        if (moved.depth[now] - still.depth[was]).abs() > 1e-3 * still.depth[was] {
            edges += 1;
            continue;
        }
        let motion = (Vec2::from(moved.motion[now]) - Vec2::from(still.motion[was]))
            .abs()
            .max_element();
        let color = moved.color[now].iter().zip(still.color[was]);
        let color = color
            .map(|(now, was)| (now - was).abs() / (0.05 + was))
            .fold(0.0, f32::max);
        let normal = Vec3::from_slice(&moved.normal[now]).distance(Vec3::from_slice(&still.normal[was]));
        differing += u32::from(motion > 0.02 || color > 0.02 || normal > 0.02);
    }
    assert!(edges < compared / 1000, "{edges} of {compared} show another surface");
    assert!(differing < compared / 200, "{differing} of {compared} differ");
    assert!(
        still.color[still.at(240, 135)] != moved.color[moved.at(240, 135)],
        "it moved"
    );
    bench.assert_valid();
}

#[test]
fn balls_throw_their_shadow_where_the_key_light_cannot_reach() {
    let bench = Bench::new();
    let targets = TestTargets::new(&bench, WIDTH, HEIGHT);
    let mut studio = studio(&bench, &[&targets]);
    let shadowed = targets.render(&bench, &mut studio, 0, &frame(1, TIME));
    for batch in &mut studio.batches {
        batch.casts_shadow = false;
    }
    let open = targets.render(&bench, &mut studio, 0, &frame(1, TIME));
    let camera = frame(1, TIME).camera;
    let brightness = |picture: &Picture, at: usize| picture.color[at][..3].iter().sum::<f32>();
    let (mut dark, mut lit) = (0, 0);
    for (x, y) in texels() {
        let at = shadowed.at(x, y);
        let point = camera.position() + ray(&camera, x, y) * shadowed.depth[at];
        if shadowed.depth[at] == Camera::FAR || point.y > 1e-3 {
            continue;
        }
        let behind = |scale: f32| {
            let hit = |(center, radius): (Vec3, f32)| ray_ball(point, key_direction(), center, scale * radius);
            balls().into_iter().any(|ball| hit(ball).is_some())
        };
        // The floor also mirrors what is in the shadow.
        let mirrored = ray(&camera, x, y).normalize() * Vec3::new(1.0, -1.0, 1.0);
        let (middle, reach) = (Vec3::new(0.0, 1.2, 0.0), 4.2);
        let meets_anything =
            |direction| point.distance(middle) < reach || ray_ball(point, direction, middle, reach).is_some();
        let change = brightness(&open, at) - brightness(&shadowed, at);
        assert!(change > -1e-2, "a shadow never brightens: {change} at {x}, {y}");
        if behind(0.85) {
            dark += 1;
            assert!(change > 0.02, "in a ball's shadow: {change} at {x}, {y}");
        } else if !meets_anything(key_direction()) && !meets_anything(mirrored) {
            lit += 1;
            assert!(change.abs() < 1e-3, "nothing stands in the way: {change} at {x}, {y}");
        }
    }
    assert!(dark > 200 && lit > 1000, "{dark} {lit}");
    bench.assert_valid();
}

#[test]
fn the_same_time_gives_the_same_bytes_in_any_slot_and_after_any_other() {
    let bench = Bench::new();
    let slots = [0, 1].map(|_| TestTargets::new(&bench, WIDTH, HEIGHT));
    let mut studio = studio(&bench, &[&slots[0], &slots[1]]);
    let first = slots[0].render(&bench, &mut studio, 0, &frame(1, TIME));
    let later = slots[1].render(&bench, &mut studio, 1, &frame(2, TIME + 1.0));
    assert!(first.color != later.color, "things move");
    slots[0].render(&bench, &mut studio, 0, &frame(3, TIME));
    // Motion is against the frame before, which now is the same.
    let again = slots[1].render(&bench, &mut studio, 1, &frame(4, TIME));
    assert!(first == again, "the same bytes");
    bench.assert_valid();
}

#[test]
fn a_new_extent_starts_anew() {
    let bench = Bench::new();
    let targets = TestTargets::new(&bench, WIDTH, HEIGHT);
    let mut studio = studio(&bench, &[&targets]);
    targets.render(&bench, &mut studio, 0, &frame(1, TIME));
    for (width, height) in [(101, 67), (1, 1)] {
        let targets = TestTargets::new(&bench, width, height);
        studio.retarget(&[targets.scene_targets()], targets.extent).unwrap();
        let picture = targets.render(&bench, &mut studio, 0, &frame(2, TIME + 3.0));
        assert!(picture.motion.iter().flatten().all(|texels| texels.abs() < 0.01));
        assert!(picture.color.iter().flatten().all(|value| value.is_finite()));
    }
    bench.assert_valid();
}

/// For whoever changes the looks: `cargo test a_picture_for_the_eye -- --nocapture` says where the picture is.
#[test]
fn a_picture_for_the_eye() {
    let bench = Bench::new();
    let targets = TestTargets::new(&bench, 1280, 720);
    let mut studio = studio(&bench, &[&targets]);
    let picture = targets.render(&bench, &mut studio, 0, &frame(1, TIME));
    let start = std::time::Instant::now();
    bench.run(|commands| studio.record(commands, 0, &frame(2, TIME)));
    let path = std::env::temp_dir().join("handover-studio.png");
    picture.save(&path, 1.0);
    println!("{} (a frame took {:.0?})", path.display(), start.elapsed());
    bench.assert_valid();
}
