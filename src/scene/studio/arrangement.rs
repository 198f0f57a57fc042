//! What stands in the studio and how it moves: a pure function of time.

use std::f32::consts::TAU;

use glam::{EulerRot, Mat4, Quat, Vec3, Vec4};

use super::shapes::Shape;

/// How a surface varies; the numbers are those of `shaders/studio`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Pattern {
    /// Not at all.
    Plain = 0,
    /// Gilded lines.
    Gilded = 1,
    /// Dark and light squares.
    Chequered = 2,
    /// Fine grain, as of a turned metal.
    Brushed = 3,
    /// Dark grooves.
    Fluted = 4,
}

/// What a surface is made of.
#[derive(Debug, Clone, Copy)]
pub struct Material {
    /// Linear, 0 to 1.
    pub base_color: Vec3,
    /// 0: paint, stone, glass; 1: metal.
    pub metallic: f32,
    /// Perceptual, 0 to 1.
    pub roughness: f32,
    /// Radiance given off; well over 1 for lamps.
    pub emission: Vec3,
    /// How it varies.
    pub pattern: Pattern,
    /// Repeats of the pattern over the surface.
    pub pattern_scale: f32,
}

const fn matte(base_color: Vec3, roughness: f32) -> Material {
    Material {
        base_color,
        metallic: 0.0,
        roughness,
        emission: Vec3::ZERO,
        pattern: Pattern::Plain,
        pattern_scale: 0.0,
    }
}

const fn metal(base_color: Vec3, roughness: f32) -> Material {
    Material {
        metallic: 1.0,
        ..matte(base_color, roughness)
    }
}

const fn lamp(emission: Vec3) -> Material {
    Material {
        emission,
        ..matte(Vec3::splat(0.04), 0.5)
    }
}

impl Material {
    const fn with(self, pattern: Pattern, pattern_scale: f32) -> Self {
        Self {
            pattern,
            pattern_scale,
            ..self
        }
    }
}

const GOLD: Vec3 = Vec3::new(1.0, 0.72, 0.32);
const COPPER: Vec3 = Vec3::new(0.95, 0.56, 0.42);
const STEEL: Vec3 = Vec3::new(0.80, 0.81, 0.83);
const STONE: Vec3 = Vec3::new(0.115, 0.12, 0.14);
const PORCELAIN: Vec3 = Vec3::new(0.86, 0.84, 0.80);
const AMBER: Vec3 = Vec3::new(11.0, 4.2, 0.9);
const CYAN: Vec3 = Vec3::new(0.6, 5.6, 9.0);
const MAGENTA: Vec3 = Vec3::new(10.0, 0.7, 4.4);

/// Something that is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Object {
    /// Its mesh.
    pub shape: Shape,
    /// Mesh space to world space.
    pub model: Mat4,
    /// Its surface.
    pub material: Material,
}

impl Object {
    /// Lamps let the key light through: their own light would hide their shadow.
    pub fn casts_shadow(&self) -> bool {
        self.shape != Shape::Floor && self.material.emission == Vec3::ZERO
    }
}

/// A glowing thing, as the shader lights surfaces with it.
#[derive(Debug, Clone, Copy)]
pub enum Lamp {
    /// A tube from end to end; an orb where the ends are equal.
    Segment {
        /// World space.
        ends: [Vec3; 2],
        /// Metres.
        tube_radius: f32,
        /// Radiant intensity.
        color: Vec3,
    },
    /// A ring.
    Ring {
        /// World space.
        center: Vec3,
        /// Unit length.
        axis: Vec3,
        /// Metres, to the middle of the tube.
        ring_radius: f32,
        /// Metres.
        tube_radius: f32,
        /// Radiant intensity.
        color: Vec3,
    },
}

/// Heights and places of the pedestals: x, height, z.
const PEDESTALS: [Vec3; 3] = [
    Vec3::new(-2.15, 0.85, 0.55),
    Vec3::new(2.3, 0.62, 0.35),
    Vec3::new(0.9, 1.25, -2.5),
];
const TUBES: [(Vec3, f32, Vec3); 2] = [
    (Vec3::new(-2.75, 0.0, -2.0), 3.1, CYAN),
    (Vec3::new(3.25, 0.0, -1.35), 2.5, MAGENTA),
];
const TUBE_RADIUS: f32 = 0.028;
const ORB_RADIUS: f32 = 0.075;
const ORBS: usize = 3;
const BEADS: usize = 48;
/// The middle of the trefoil and of the rings around it.
const HEART: Vec3 = Vec3::new(0.0, 1.72, 0.0);
const RING_RADIUS: f32 = 1.38;

fn ring_turn(time: f32) -> Quat {
    Quat::from_rotation_y(0.23 * time) * Quat::from_rotation_z(0.36 + 0.1 * (0.5 * time).sin())
}

fn orb(index: usize, time: f32) -> (Vec3, Vec3) {
    let part = index as f32 / ORBS as f32;
    let angle = TAU * part + (0.55 - 0.1 * part) * time + 0.9;
    let radius = 1.95 + 0.5 * part;
    let height = 0.75 + 1.1 * part + 0.22 * (0.9 * time + 2.0 * part).sin();
    let color = [AMBER, CYAN, MAGENTA][index % 3] * 2.2;
    (Vec3::new(radius * angle.sin(), height, radius * angle.cos()), color)
}

fn place(position: Vec3, rotation: Quat, scale: f32) -> Mat4 {
    Mat4::from_scale_rotation_translation(Vec3::splat(scale), rotation, position)
}

/// All objects at `time` seconds.
pub fn objects(time: f32) -> Vec<Object> {
    let mut objects = Vec::new();
    each_object(time, |object| objects.push(object));
    objects
}

/// Gives all objects at `time` seconds, one after the other. Their order and shapes never change.
pub fn each_object(time: f32, mut with: impl FnMut(Object)) {
    let mut add = |shape, model, material| with(Object { shape, model, material });

    // Large things in front first: they hide most, and what is hidden is not shaded.
    let spin = Quat::from_euler(EulerRot::YXZ, 0.45 * time, 0.25 * (0.6 * time).sin(), 0.0);
    add(Shape::Trefoil, place(HEART, spin, 0.98), metal(GOLD, 0.16));
    add(
        Shape::Plinth,
        Mat4::IDENTITY,
        matte(STONE, 0.28).with(Pattern::Gilded, 9.0),
    );
    for base in PEDESTALS {
        let model = Mat4::from_scale_rotation_translation(
            Vec3::new(1.0, base.y, 1.0),
            Quat::IDENTITY,
            Vec3::new(base.x, 0.0, base.z),
        );
        add(
            Shape::Pedestal,
            model,
            matte(STONE * 2.4, 0.35).with(Pattern::Fluted, 40.0),
        );
    }

    let [left, right, back] = PEDESTALS;
    let sphere_turn = Quat::from_rotation_y(-0.3 * time) * Quat::from_rotation_z(0.5);
    let porcelain = matte(PORCELAIN, 0.14).with(Pattern::Gilded, 22.0);
    add(
        Shape::Sphere,
        place(left + 0.52 * Vec3::Y, sphere_turn, 0.52),
        porcelain,
    );
    let ball = Vec3::new(-1.15, 0.27, 2.1);
    add(
        Shape::Sphere,
        place(ball, Quat::IDENTITY, 0.27),
        metal(STEEL, 0.24).with(Pattern::Brushed, 120.0),
    );
    let lacquer = matte(Vec3::new(0.62, 0.02, 0.03), 0.1);
    add(
        Shape::Sphere,
        place(Vec3::new(0.75, 0.2, 1.9), Quat::IDENTITY, 0.2),
        lacquer,
    );

    let tumble = Quat::from_euler(EulerRot::YXZ, 0.7 * time, 0.62, 0.5 + 0.4 * time);
    let bob = 0.72 + 0.07 * (1.1 * time).sin();
    let lapis = matte(Vec3::new(0.015, 0.05, 0.26), 0.12).with(Pattern::Gilded, 7.0);
    add(Shape::Box, place(right + bob * Vec3::Y, tumble, 0.33), lapis);
    for (index, (x, z, side)) in [(-0.35, 2.3, 0.13), (0.02, 2.5, 0.09), (-0.62, 2.75, 0.07)]
        .into_iter()
        .enumerate()
    {
        let turn = Quat::from_rotation_y(0.4 + index as f32);
        let squares = matte(Vec3::new(0.85, 0.80, 0.70), 0.3).with(Pattern::Chequered, 8.0);
        add(Shape::Box, place(Vec3::new(x, side, z), turn, side), squares);
    }

    let knot_turn = Quat::from_rotation_y(-0.5 * time) * Quat::from_rotation_x(0.4);
    add(
        Shape::Knot,
        place(back + 0.78 * Vec3::Y, knot_turn, 0.72),
        metal(STEEL, 0.12),
    );
    let gem_turn = Quat::from_euler(EulerRot::YXZ, 0.35 * time, 0.5, 0.0);
    let gem_height = 0.42 + 0.04 * (1.3 * time).sin();
    add(
        Shape::Gem,
        place(Vec3::new(1.5, gem_height, 1.75), gem_turn, 0.27),
        matte(Vec3::new(0.02, 0.30, 0.24), 0.06),
    );

    let inner = Quat::from_rotation_y(-0.4 * time) * Quat::from_rotation_x(1.15);
    add(Shape::Wire, place(HEART, inner, RING_RADIUS * 0.87), metal(STEEL, 0.2));
    for index in 0..BEADS {
        add(Shape::Bead, bead(index, time), bead_material(index));
    }
    for (foot, _, _) in TUBES {
        let model =
            Mat4::from_scale_rotation_translation(Vec3::new(0.12, 0.035, 0.12), Quat::IDENTITY, foot + 0.035 * Vec3::Y);
        add(Shape::Tube, model, metal(STEEL, 0.3));
    }

    add(
        Shape::Ring,
        place(HEART, ring_turn(time), RING_RADIUS),
        lamp(Vec3::new(12.0, 3.9, 0.6)),
    );
    for (foot, height, color) in TUBES {
        let scale = Vec3::new(TUBE_RADIUS, 0.5 * height, TUBE_RADIUS);
        let middle = foot + (0.07 + 0.5 * height) * Vec3::Y;
        add(
            Shape::Tube,
            Mat4::from_scale_rotation_translation(scale, Quat::IDENTITY, middle),
            lamp(color),
        );
    }
    for index in 0..ORBS {
        let (position, color) = orb(index, time);
        add(Shape::Bead, place(position, Quat::IDENTITY, ORB_RADIUS), lamp(color));
    }
    // The floor comes last: it is drawn by a pipeline of its own.
    add(
        Shape::Floor,
        Mat4::from_scale(Vec3::splat(40.0)),
        matte(Vec3::new(0.045, 0.049, 0.060), 0.16),
    );
}

/// Beads run around the trefoil in a tilted belt, every other one higher.
fn bead(index: usize, time: f32) -> Mat4 {
    let angle = TAU * index as f32 / BEADS as f32 + 0.18 * time;
    let radius = RING_RADIUS * 1.19;
    let wave = 0.06 * (3.0 * angle + time).sin();
    let tilt = Quat::from_rotation_x(-0.32);
    let size = if index.is_multiple_of(4) { 0.05 } else { 0.03 };
    let at = Vec3::new(radius * angle.sin(), wave, radius * angle.cos());
    place(HEART + tilt * at, Quat::IDENTITY, size)
}

fn bead_material(index: usize) -> Material {
    if index.is_multiple_of(4) {
        metal(COPPER, 0.12)
    } else {
        metal(STEEL, 0.1)
    }
}

/// The lamps at `time`, in the same places as the glowing objects.
pub fn lamps(time: f32) -> [Lamp; 6] {
    let tube = |(foot, height, color): (Vec3, f32, Vec3)| Lamp::Segment {
        ends: [foot + 0.07 * Vec3::Y, foot + (0.07 + height) * Vec3::Y],
        tube_radius: TUBE_RADIUS,
        color: 0.42 * color,
    };
    let orb = |index| {
        let (position, color) = orb(index, time);
        Lamp::Segment {
            ends: [position; 2],
            tube_radius: ORB_RADIUS,
            color: 0.055 * color,
        }
    };
    let ring = Lamp::Ring {
        center: HEART,
        axis: ring_turn(time) * Vec3::Y,
        ring_radius: RING_RADIUS,
        tube_radius: 0.03,
        color: Vec3::new(2.6, 1.0, 0.25),
    };
    [ring, tube(TUBES[0]), tube(TUBES[1]), orb(0), orb(1), orb(2)]
}

/// Balls that stand for the large objects where they keep the environment's light from others: centre and radius.
pub fn occluders() -> [Vec4; 6] {
    let column = |base: Vec3| Vec3::new(base.x, 0.5 * base.y, base.z).extend(0.46);
    let [left, right, back] = PEDESTALS;
    [
        Vec4::new(0.0, 0.1, 0.0, 1.1),
        HEART.extend(0.55),
        column(left),
        column(right),
        column(back),
        (left + 0.52 * Vec3::Y).extend(0.52),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_keep_their_order_and_everything_stands_above_the_floor() {
        let first = objects(0.0);
        for step in 0..200 {
            let now = objects(step as f32 * 0.37);
            assert!(first.iter().zip(&now).all(|(a, b)| a.shape == b.shape));
            for object in now.iter().filter(|object| object.shape == Shape::Bead) {
                let center = object.model.w_axis.truncate();
                let radius = object.model.x_axis.length();
                assert!(center.y - radius > 0.0, "{center}");
            }
        }
    }

    #[test]
    fn motion_is_smooth_and_depends_on_time_alone() {
        for step in 0..300 {
            let time = step as f32 * 0.21;
            let (now, again, soon) = (objects(time), objects(time), objects(time + 0.001));
            for ((now, again), soon) in now.iter().zip(&again).zip(&soon) {
                assert_eq!(now.model, again.model);
                assert!(now.model.abs_diff_eq(soon.model, 0.01), "{now:?} {soon:?}");
            }
        }
    }

    #[test]
    fn lamps_are_where_things_glow() {
        let time = 12.5;
        let glowing: Vec<_> = objects(time)
            .into_iter()
            .filter(|object| object.material.emission.max_element() > 1.0)
            .collect();
        let lamps = lamps(time);
        assert_eq!(glowing.len(), lamps.len());
        for (object, lamp) in glowing.iter().zip(lamps) {
            let middle = match lamp {
                Lamp::Segment { ends, .. } => 0.5 * (ends[0] + ends[1]),
                Lamp::Ring { center, .. } => center,
            };
            assert!(object.model.w_axis.truncate().distance(middle) < 1e-4);
        }
    }
}
