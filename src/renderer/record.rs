//! The command buffers of a frame, and the places of its timestamps.

use ash::vk;

use super::jitter::jitter;
use super::{Error, Renderer, View};
use crate::frame::FrameNumber;
use crate::present::OverlayPass;
use crate::scene::SceneFrame;
use crate::timing::GpuWork;
use crate::vulkan::TimestampPool;

/// Places of a slot's timestamps.
pub(super) const SCENE_START: u32 = 0;
pub(super) const SCENE_END: u32 = 1;
pub(super) const PRESENT_START: u32 = 2;
pub(super) const PRESENT_END: u32 = 3;
/// These two only where there is an overlay.
pub(super) const OVERLAY_START: u32 = 4;
pub(super) const OVERLAY_END: u32 = 5;
pub(super) const TIMESTAMPS: u32 = 6;

fn write_stamp(timestamps: Option<&TimestampPool>, commands: vk::CommandBuffer, index: u32) {
    if let Some(timestamps) = timestamps {
        timestamps.write(commands, index);
    }
}

impl Renderer {
    pub(super) fn record_scene(
        &mut self,
        slot: usize,
        frame: FrameNumber,
        view: &View,
    ) -> Result<vk::CommandBuffer, Error> {
        let commands = self.slots[slot].scene_commands.begin()?;
        self.draw(commands, slot, frame, view);
        self.slots[slot].scene_commands.end()?;
        Ok(commands)
    }

    /// Records the scene, up to where the chain may read it.
    pub(super) fn draw(&mut self, commands: vk::CommandBuffer, slot: usize, frame: FrameNumber, view: &View) {
        let timestamps = &self.slots[slot].timestamps;
        let images = &self.images[slot];
        self.device.begin_label(commands, GpuWork::Scene.label());
        write_stamp(timestamps.as_ref(), commands, SCENE_START);
        self.scene.record(
            commands,
            slot,
            &SceneFrame {
                frame: frame.value(),
                jitter: jitter(frame, &view.plan),
                ..view.scene
            },
        );
        let written = if self.scene.writes_guides() { 5 } else { 1 };
        let family = self.device.scene_queue.family;
        self.processor
            .record_release(commands, slot, &images.scene.all()[..written], family, &view.plan);
        write_stamp(timestamps.as_ref(), commands, SCENE_END);
        self.device.end_label(commands);
    }

    pub(super) fn record_present(
        &mut self,
        slot: usize,
        target: u32,
        frame: FrameNumber,
    ) -> Result<vk::CommandBuffer, Error> {
        let commands = self.slots[slot].present_commands.begin()?;
        self.show(commands, slot, target, frame)?;
        self.slots[slot].present_commands.end()?;
        Ok(commands)
    }

    /// Records everything from where the chain is done.
    pub(super) fn show(
        &mut self,
        commands: vk::CommandBuffer,
        slot: usize,
        target: u32,
        frame: FrameNumber,
    ) -> Result<(), Error> {
        if self.overlay.is_some() && self.overlay_pass.is_none() {
            self.overlay_pass = Some(OverlayPass::new(&self.device, self.slots.len())?);
        }
        let timestamps = &self.slots[slot].timestamps;
        self.device.begin_label(commands, GpuWork::Present.label());
        write_stamp(timestamps.as_ref(), commands, PRESENT_START);
        self.processor.record_acquire(commands, slot, self.present_queue.family);
        if let Some(check) = &self.tag_check {
            check.record(commands, slot, frame.value(), self.settings.check_complement);
        }
        self.present_pass.record(commands, slot);
        let screen = self.present_pass.screen(slot);
        let mut stamps = OVERLAY_START;
        if let (Some(list), Some(pass)) = (&self.overlay, &mut self.overlay_pass) {
            write_stamp(timestamps.as_ref(), commands, OVERLAY_START);
            pass.record(commands, slot, screen, list)?;
            write_stamp(timestamps.as_ref(), commands, OVERLAY_END);
            stamps = TIMESTAMPS;
        }
        self.presenter.record(commands, slot, target, screen);
        write_stamp(timestamps.as_ref(), commands, PRESENT_END);
        if let Some(timestamps) = timestamps {
            timestamps.copy(commands, stamps);
        }
        self.device.end_label(commands);
        Ok(())
    }
}
