//! The scene `none`: a gradient with the frame's tag, to test the hand-over and to measure it alone.

use std::sync::Arc;

use ash::vk;

use super::{Scene, SceneFrame, SceneTargets};
use crate::shaders;
use crate::vulkan::barrier::Barriers;
use crate::vulkan::{self, ComputePipeline, DescriptorSets, Device, PipelineLayout, ShaderModule};

/// What `none` writes at a texel of a frame: x, y and the frame's number modulo 2048 as 2048ths, and 1. Half floats
/// hold all of these exactly, and one minus them too.
pub fn texel(x: u32, y: u32, frame: u64) -> [f32; 4] {
    let part = |value: u64| (value % 2048) as f32 / 2048.0;
    [part(x.into()), part(y.into()), part(frame), 1.0]
}

/// The scene.
pub struct NoScene {
    sets: Option<DescriptorSets>,
    colors: Vec<vk::Image>,
    extent: vk::Extent2D,
    pipeline: ComputePipeline,
    layout: PipelineLayout,
    device: Arc<Device>,
}

impl NoScene {
    /// Its name on the command line.
    pub const NAME: &'static str = "none";

    /// Creates it without targets.
    ///
    /// # Errors
    /// A failed call.
    pub fn new(device: &Arc<Device>) -> Result<Self, vulkan::Error> {
        let stage = vk::ShaderStageFlags::COMPUTE;
        let bindings = [(vk::DescriptorType::STORAGE_IMAGE, stage)];
        let layout = PipelineLayout::new(device, &bindings, stage, size_of::<u32>() as u32, Self::NAME)?;
        let module = ShaderModule::new(device, Self::NAME, shaders::NONE)?;
        Ok(Self {
            sets: None,
            colors: Vec::new(),
            extent: vk::Extent2D::default(),
            pipeline: ComputePipeline::new(device, &layout, &module, c"main", Self::NAME)?,
            layout,
            device: Arc::clone(device),
        })
    }
}

impl Scene for NoScene {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn writes_guides(&self) -> bool {
        false
    }

    fn needs_graphics(&self) -> bool {
        false
    }

    fn retarget(&mut self, slots: &[SceneTargets], extent: vk::Extent2D) -> Result<(), vulkan::Error> {
        let sets = DescriptorSets::new(&self.device, &self.layout, slots.len(), Self::NAME)?;
        for (slot, targets) in slots.iter().enumerate() {
            let (view, layout) = (targets.color.view, vk::ImageLayout::GENERAL);
            sets.write_image(slot, 0, view, layout, vk::Sampler::null());
        }
        self.sets = Some(sets);
        self.colors = slots.iter().map(|targets| targets.color.image).collect();
        self.extent = extent;
        Ok(())
    }

    fn record(&mut self, commands: vk::CommandBuffer, slot: usize, frame: &SceneFrame) {
        let sets = self.sets.as_ref().expect("retarget came before the first frame");
        Barriers::new()
            .discard_for_compute(self.colors[slot])
            .record(&self.device, commands);
        self.layout.push(commands, &((frame.frame % 2048) as u32));
        self.pipeline
            .dispatch(commands, &self.layout, sets.sets[slot], self.extent);
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::scene::testing::{Bench, TestTargets, frame};

    #[test]
    fn every_texel_is_what_the_function_says() {
        let bench = Bench::new();
        for (width, height) in [(77, 45), (2051, 3), (1, 2050)] {
            let slots = [0, 1].map(|_| TestTargets::new(&bench, width, height));
            let mut scene = NoScene::new(&bench.device).unwrap();
            let targets = [slots[0].scene_targets(), slots[1].scene_targets()];
            scene.retarget(&targets, slots[0].extent).unwrap();
            for (slot, number) in [(0, 1), (1, 2), (0, 2049 + 2048)] {
                let picture = slots[slot].render(&bench, &mut scene, slot, &frame(number, 0.0));
                for y in 0..height {
                    for x in 0..width {
                        assert_eq!(picture.color[picture.at(x, y)], texel(x, y, number), "{x}, {y}");
                    }
                }
            }
        }
        bench.assert_valid();
    }

    #[test]
    fn values_and_their_complements_are_exact_in_half_floats() {
        for value in 0..2048 {
            for exact in texel(value, value, u64::from(value))
                .into_iter()
                .flat_map(|v| [v, 1.0 - v])
            {
                assert_eq!(f16::from_f32(exact).to_f32(), exact);
            }
        }
        assert_eq!(texel(2049, 2048, 4095), [1.0 / 2048.0, 0.0, 2047.0 / 2048.0, 1.0]);
    }
}
