//! Checks on the GPU that every texel of an image is the scene `none`'s of a given frame: a stale or torn frame counts.

use std::sync::Arc;

use ash::vk;
use bytemuck::{Pod, Zeroable};

use crate::shaders;
use crate::vulkan::barrier::transfer_to_host;
use crate::vulkan::{
    self, Buffer, BufferMemory, ComputePipeline, DescriptorSets, Device, PipelineLayout, ShaderModule,
};

/// What a check found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TagResult {
    /// Texels looked at since the last reset.
    pub checked: u32,
    /// Texels with another value than expected.
    pub mismatches: u32,
    /// The first of them, row by row: x and y.
    pub first: Option<(u32, u32)>,
}

/// The push constants of `check_tag.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Expected {
    frame: u32,
    complement: u32,
}

/// The buffer of `check_tag.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Counters {
    checked: u32,
    mismatches: u32,
    first: u32,
}

impl Counters {
    const NO_MISMATCH: u32 = u32::MAX;
}

/// The check, with an image and a result for each slot.
pub struct TagCheck {
    results: Vec<Buffer>,
    extents: Vec<vk::Extent2D>,
    sets: DescriptorSets,
    pipeline: ComputePipeline,
    layout: PipelineLayout,
    device: Arc<Device>,
}

impl TagCheck {
    const NAME: &'static str = "check tag";

    /// Creates it for a number of slots, without images, all results reset.
    ///
    /// # Errors
    /// No memory, or a failed call.
    pub fn new(device: &Arc<Device>, slots: usize) -> Result<Self, vulkan::Error> {
        let stage = vk::ShaderStageFlags::COMPUTE;
        let bindings = [
            (vk::DescriptorType::SAMPLED_IMAGE, stage),
            (vk::DescriptorType::STORAGE_BUFFER, stage),
        ];
        let layout = PipelineLayout::new(device, &bindings, stage, size_of::<Expected>() as u32, Self::NAME)?;
        let module = ShaderModule::new(device, Self::NAME, shaders::CHECK_TAG)?;
        let pipeline = ComputePipeline::new(device, &layout, &module, c"main", Self::NAME)?;
        let sets = DescriptorSets::new(device, &layout, slots, Self::NAME)?;
        let results = (0..slots)
            .map(|slot| {
                let (size, usage) = (size_of::<Counters>() as u64, vk::BufferUsageFlags::STORAGE_BUFFER);
                let buffer = Buffer::new(device, size, usage, BufferMemory::ReadBack, "tag result")?;
                sets.write_buffer(slot, 1, buffer.raw);
                Ok(buffer)
            })
            .collect::<Result<_, vulkan::Error>>()?;
        let mut check = Self {
            results,
            extents: vec![vk::Extent2D::default(); slots],
            sets,
            pipeline,
            layout,
            device: Arc::clone(device),
        };
        (0..slots).for_each(|slot| check.reset(slot));
        Ok(check)
    }

    /// Gives a slot its image, RGBA16F with SAMPLED usage and at most 65536 texels across and down. The GPU must not be
    /// using the slot.
    pub fn set_image(&mut self, slot: usize, view: vk::ImageView, extent: vk::Extent2D) {
        let layout = vk::ImageLayout::GENERAL;
        self.sets.write_image(slot, 0, view, layout, vk::Sampler::null());
        self.extents[slot] = extent;
    }

    /// Records the check of a slot's image against a frame of `none`, or against one minus its values where
    /// `complement` says so. The image is in GENERAL, and what wrote it is visible to compute shaders.
    pub fn record(&self, commands: vk::CommandBuffer, slot: usize, frame: u64, complement: bool) {
        let expected = Expected {
            frame: (frame % 2048) as u32,
            complement: complement.into(),
        };
        self.layout.push(commands, &expected);
        self.pipeline
            .dispatch(commands, &self.layout, self.sets.sets[slot], self.extents[slot]);
        transfer_to_host(&self.device, commands);
    }

    /// What a slot's checks since its last reset found. The GPU must have finished them.
    pub fn read(&self, slot: usize) -> TagResult {
        let counters: &Counters = bytemuck::from_bytes(self.results[slot].bytes());
        TagResult {
            checked: counters.checked,
            mismatches: counters.mismatches,
            first: (counters.first != Counters::NO_MISMATCH).then_some((counters.first & 0xffff, counters.first >> 16)),
        }
    }

    /// Forgets a slot's result. The GPU must not be using the slot.
    pub fn reset(&mut self, slot: usize) {
        let zero = Counters {
            checked: 0,
            mismatches: 0,
            first: Counters::NO_MISMATCH,
        };
        self.results[slot]
            .bytes_mut()
            .copy_from_slice(bytemuck::bytes_of(&zero));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;
    use crate::scene::none::{NoScene, texel};
    use crate::scene::testing::{Bench, TestTargets, frame};

    const WIDTH: u32 = 131;
    const HEIGHT: u32 = 67;
    const TEXELS: u32 = WIDTH * HEIGHT;

    /// A check of two slots that holds frame 7 in slot 0 and frame 8 in slot 1.
    fn check(bench: &Bench) -> (TagCheck, [TestTargets; 2]) {
        let slots = [0, 1].map(|_| TestTargets::new(bench, WIDTH, HEIGHT));
        let targets = [slots[0].scene_targets(), slots[1].scene_targets()];
        let mut scene = NoScene::new(&bench.device).unwrap();
        scene.retarget(&targets, slots[0].extent).unwrap();
        let mut check = TagCheck::new(&bench.device, 2).unwrap();
        for slot in 0..2 {
            check.set_image(slot, targets[slot].color.view, slots[slot].extent);
            bench.run(|commands| scene.record(commands, slot, &frame(7 + slot as u64, 0.0)));
        }
        (check, slots)
    }

    fn result(bench: &Bench, check: &mut TagCheck, slot: usize, frame: u64, complement: bool) -> TagResult {
        check.reset(slot);
        bench.run(|commands| check.record(commands, slot, frame, complement));
        check.read(slot)
    }

    #[test]
    fn the_right_frame_has_no_mismatch_and_a_stale_one_has_nothing_else() {
        let bench = Bench::new();
        let (mut check, _slots) = check(&bench);
        let clean = TagResult {
            checked: TEXELS,
            mismatches: 0,
            first: None,
        };
        let stale = TagResult {
            checked: TEXELS,
            mismatches: TEXELS,
            first: Some((0, 0)),
        };
        assert_eq!(result(&bench, &mut check, 0, 7, false), clean);
        assert_eq!(result(&bench, &mut check, 1, 8, false), clean);
        assert_eq!(result(&bench, &mut check, 0, 8, false), stale);
        assert_eq!(result(&bench, &mut check, 1, 7, false), stale);
        assert_eq!(result(&bench, &mut check, 1, 8, true).mismatches, TEXELS);
        bench.assert_valid();
    }

    #[test]
    fn one_torn_texel_is_found_where_it_is() {
        let bench = Bench::new();
        let (mut check, slots) = check(&bench);
        let place = |index: u32| (index % WIDTH, index / WIDTH);
        let mut texels: Vec<_> = (0..TEXELS)
            .map(|index| {
                let (x, y) = place(index);
                texel(x, y, 9).map(|value| 1.0 - value)
            })
            .collect();
        slots[0].write_color(&bench, &texels);
        assert_eq!(result(&bench, &mut check, 0, 9, true).mismatches, 0, "the complement");

        texels[5000][3] = f32::NAN;
        texels[7000][2] += 1.0 / 2048.0;
        slots[0].write_color(&bench, &texels);
        let torn = result(&bench, &mut check, 0, 9, true);
        assert_eq!((torn.mismatches, torn.first), (2, Some(place(5000))));
        bench.assert_valid();
    }

    #[test]
    fn results_add_up_until_they_are_reset() {
        let bench = Bench::new();
        let (mut check, _slots) = check(&bench);
        for times in 1..=3 {
            bench.run(|commands| check.record(commands, 0, 6, false));
            assert_eq!(
                (check.read(0).checked, check.read(0).mismatches),
                (times * TEXELS, times * TEXELS)
            );
        }
        check.reset(0);
        assert_eq!(check.read(0).checked, 0);
        bench.assert_valid();
    }
}
