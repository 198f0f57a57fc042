//! The command buffers of a frame, and the places of its timestamps.

use ash::vk;

use super::jitter::jitter;
use super::{Error, Renderer, View};
use crate::frame::FrameNumber;
use crate::present::OverlayPass;
use crate::scene::SceneFrame;
use crate::timing::GpuWork;
use crate::vulkan::TimestampPool;
use crate::vulkan::barrier::Barriers;

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
        let family = self.scene_queue.family;
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
        if !self.only_copies {
            self.device.begin_label(commands, GpuWork::Present.label());
        }
        write_stamp(self.present_stamps(slot), commands, PRESENT_START);
        let mut stamps = OVERLAY_START;
        if self.present_pass.is_some() {
            self.record_acquire(commands, slot, frame);
            stamps = self.record_screen(commands, slot)?;
        } else {
            let family = self.present_queue.family;
            self.processor.record_acquire_screen(commands, slot, family);
        }
        if let Some(screen) = self.screen(slot) {
            self.presenter.record(commands, slot, target, screen);
        }
        write_stamp(self.present_stamps(slot), commands, PRESENT_END);
        if let Some(timestamps) = self.present_stamps(slot) {
            timestamps.copy(commands, stamps);
        }
        if !self.only_copies {
            self.device.end_label(commands);
        }
        Ok(())
    }

    /// The slot's timestamps, where the present's queue can take any.
    fn present_stamps(&self, slot: usize) -> Option<&TimestampPool> {
        let timestamps = self.slots[slot].timestamps.as_ref();
        timestamps.filter(|_| self.present_queue.timestamp_valid_bits > 0)
    }

    fn record_acquire(&self, commands: vk::CommandBuffer, slot: usize, frame: FrameNumber) {
        self.processor.record_acquire(commands, slot, self.present_queue.family);
        if let Some(check) = &self.tag_check {
            check.record(commands, slot, frame.value(), self.settings.check_complement);
        }
    }

    /// What makes the screen image of `processed`, and leaves it to copies; gives how many timestamps there are with it.
    fn record_screen(&mut self, commands: vk::CommandBuffer, slot: usize) -> Result<u32, Error> {
        let Some(present_pass) = &self.present_pass else {
            return Ok(OVERLAY_START);
        };
        present_pass.record(commands, slot);
        let screen = present_pass.screen(slot);
        let mut stamps = OVERLAY_START;
        if let Some(list) = &self.overlay {
            let pass = match self.overlay_pass.take() {
                Some(pass) => pass,
                None => OverlayPass::new(&self.device, self.slots.len())?,
            };
            let pass = self.overlay_pass.insert(pass);
            let timestamps = self.slots[slot].timestamps.as_ref();
            write_stamp(timestamps, commands, OVERLAY_START);
            pass.record(commands, slot, screen, list)?;
            write_stamp(timestamps, commands, OVERLAY_END);
            stamps = TIMESTAMPS;
        }
        Barriers::new()
            .screen_to_transfer(screen.raw)
            .record(&self.device, commands);
        Ok(stamps)
    }
}
