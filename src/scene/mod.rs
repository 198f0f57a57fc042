//! What Vulkan draws before the hand-over: each scene writes `color` (linear light), most also the guides.

use ash::vk;

use crate::vulkan;

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
    /// RGBA8: base colour, linear, without light; alpha 1.
    pub albedo: Target,
    /// RG16F: where this texel's surface was in the last frame, minus where it is, in texels.
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

/// What changes from frame to frame. The same values give the same picture.
#[derive(Debug, Clone, Copy)]
pub struct SceneFrame {
    /// The frame's number, from 1.
    pub frame: u64,
    /// Seconds since the scene began.
    pub time: f32,
    /// Seconds since the frame before.
    pub time_delta: f32,
}

/// Something that draws frames.
pub trait Scene {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// Whether it writes the guides as well as `color`.
    fn writes_guides(&self) -> bool;

    /// New targets, one a slot, of a new extent. The GPU is idle.
    ///
    /// # Errors
    /// No memory, or a failed call.
    fn retarget(&mut self, slots: &[SceneTargets], extent: vk::Extent2D) -> Result<(), vulkan::Error>;

    /// Records the frame: discards the old contents of the slot's targets, leaves them written in GENERAL.
    fn record(&mut self, commands: vk::CommandBuffer, slot: usize, frame: &SceneFrame);
}
