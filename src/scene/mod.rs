//! What Vulkan draws before the hand-over: each scene writes `color` (linear light), most also the guides.

mod camera;
mod check;
mod control;
mod mesh;
pub mod none;
mod studio;
#[cfg(test)]
mod testing;

use std::sync::Arc;

use ash::vk;

use crate::vulkan::{self, Device};

pub use camera::Camera;
pub use check::{TagCheck, TagResult};
pub use control::{CameraControl, CameraMove};
pub use studio::Studio;

/// Names of all scenes, the default first.
pub const NAMES: [&str; 2] = [Studio::NAME, none::NoScene::NAME];

/// Why a scene could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No scene has this name.
    #[error("no scene is called `{name}`; there are: {}", NAMES.join(", "))]
    UnknownName {
        /// What was asked for.
        name: String,
    },
    /// Vulkan failed.
    #[error(transparent)]
    Vulkan(#[from] vulkan::Error),
}

/// Makes a scene by its name. It has no targets yet.
///
/// # Errors
/// [`Error::UnknownName`] with the names there are, or Vulkan's.
pub fn create(name: &str, device: &Arc<Device>) -> Result<Box<dyn Scene>, Error> {
    match name {
        Studio::NAME => Ok(Box::new(Studio::new(device)?)),
        none::NoScene::NAME => Ok(Box::new(none::NoScene::new(device)?)),
        _ => Err(Error::UnknownName { name: name.to_owned() }),
    }
}

/// One image that a scene writes.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The image.
    pub image: vk::Image,
    /// A view of all of it.
    pub view: vk::ImageView,
}

/// The images of one slot. All have the frame's extent; the scene finds them without contents.
#[derive(Debug, Clone, Copy)]
pub struct SceneTargets {
    /// RGBA16F, linear light, alpha 1.
    pub color: Target,
    /// R32F: distance from the camera along its view direction, metres; the far plane where nothing is.
    pub depth: Target,
    /// RGBA16F: world-space unit normal in xyz, 0 where nothing is; w 0.
    pub normal: Target,
    /// RGBA8: base colour, linear, without light; white where nothing is, so that light can be divided by it; alpha 1.
    pub albedo: Target,
    /// RG16F: where this texel's surface was in the frame recorded before, minus where it is, in texels; 0 in the first
    /// frame of an extent.
    pub motion: Target,
}

impl SceneTargets {
    /// Formats of `color` and the guides, in the order of the fields.
    pub const FORMATS: [vk::Format; 5] = [
        vk::Format::R16G16B16A16_SFLOAT,
        vk::Format::R32_SFLOAT,
        vk::Format::R16G16B16A16_SFLOAT,
        vk::Format::R8G8B8A8_UNORM,
        vk::Format::R16G16_SFLOAT,
    ];

    /// The targets in the order of the fields.
    pub fn all(&self) -> [Target; 5] {
        [self.color, self.depth, self.normal, self.albedo, self.motion]
    }
}

/// What changes from frame to frame. The same values give the same picture (motion: after the same frame before).
#[derive(Debug, Clone, Copy)]
pub struct SceneFrame {
    /// The frame's number, from 1.
    pub frame: u64,
    /// Seconds since the scene began.
    pub time: f32,
    /// Seconds since the frame before.
    pub time_delta: f32,
    /// Where it is seen from.
    pub camera: Camera,
    /// How far the picture is moved on the grid of texels, in texels, right and down: for anti-aliasing over frames. `motion` is
    /// without it.
    pub jitter: [f32; 2],
}

/// Something that draws frames.
pub trait Scene {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// Whether it writes the guides as well as `color`.
    fn writes_guides(&self) -> bool;

    /// Whether its commands need a queue that draws. Where it only computes, a processor in the queue runs on one that only computes,
    /// too: there the GPU does not go back and forth between its engines.
    fn needs_graphics(&self) -> bool {
        true
    }

    /// New targets, one a slot, of a new extent. The GPU is idle.
    ///
    /// # Errors
    /// No memory, or a failed call.
    fn retarget(&mut self, slots: &[SceneTargets], extent: vk::Extent2D) -> Result<(), vulkan::Error>;

    /// Records the frame: discards the old contents of the slot's targets, leaves them written in GENERAL (`color` alone
    /// where [`Scene::writes_guides`] is false).
    fn record(&mut self, commands: vk::CommandBuffer, slot: usize, frame: &SceneFrame);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenes_are_made_by_name_and_an_unknown_name_is_told_the_others() {
        let bench = testing::Bench::new();
        for name in NAMES {
            assert_eq!(create(name, &bench.device).unwrap().name(), name);
        }
        let message = create("stage", &bench.device).err().unwrap().to_string();
        assert_eq!(message, "no scene is called `stage`; there are: studio, none");
    }
}
