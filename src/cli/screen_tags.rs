//! A presenter that shows nothing, and looks on the host at every texel of every screen image.

use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;
use half::f16;
use rayon::prelude::*;

use crate::kernels::SrgbTable;
use crate::present::{Acquired, Error, Presented, Presenter, Screen};
use crate::scene::none::texel;
use crate::vulkan::barrier::copies_to_host;
use crate::vulkan::transfer::image_to_buffer;
use crate::vulkan::{Buffer, BufferMemory, Device, Queue};

/// What was found of the frames of the scene `none` that went through a chain which changes nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct ScreenReport {
    /// Frames looked at.
    pub frames: u64,
    /// Frames with texels that are not those of that frame, and how many of them.
    pub mismatches: Vec<(u64, usize)>,
}

/// A slot's picture, read back.
struct ReadBack {
    pixels: Buffer,
    /// The frame that was recorded into it and not looked at yet.
    frame: Option<u64>,
}

/// Reads every frame back by the queue that presents. Frames come in the order of their numbers, which begin at 1.
pub(super) struct ScreenTags {
    extent: vk::Extent2D,
    slots: Vec<ReadBack>,
    last_frame: u64,
    report: Arc<Mutex<ScreenReport>>,
    device: Arc<Device>,
}

impl ScreenTags {
    /// A presenter of frames of an extent, and where it says what it finds.
    pub fn new(device: &Arc<Device>, extent: vk::Extent2D) -> (Self, Arc<Mutex<ScreenReport>>) {
        let report = Arc::new(Mutex::new(ScreenReport::default()));
        let tags = Self {
            extent,
            slots: Vec::new(),
            last_frame: 0,
            report: Arc::clone(&report),
            device: Arc::clone(device),
        };
        (tags, report)
    }
}

/// Texels that are not the frame's: its tag, encoded.
fn mismatches(pixels: &[u8], width: u32, frame: u64) -> usize {
    let encoded = |x: u32, y: u32| {
        let [red, green, blue, _] = texel(x, y, frame).map(|light| SrgbTable::get().byte(f16::from_f32(light)));
        [red, green, blue, u8::MAX]
    };
    let first_row: Vec<[u8; 4]> = (0..width).map(|x| encoded(x, 0)).collect();
    let rows = pixels.par_chunks_exact(width as usize * 4).enumerate();
    rows.map(|(y, row)| {
        let [_, green, ..] = encoded(0, y as u32);
        let (texels, _) = row.as_chunks::<4>();
        let differs = |(found, [red, _, blue, alpha]): (&[u8; 4], &[u8; 4])| *found != [*red, green, *blue, *alpha];
        texels.iter().zip(&first_row).filter(|pair| differs(*pair)).count()
    })
    .sum()
}

impl Presenter for ScreenTags {
    fn name(&self) -> &'static str {
        "screen tags"
    }

    fn description(&self) -> String {
        "every screen image is read back".into()
    }

    fn has_present_call(&self) -> bool {
        false
    }

    fn extent(&self) -> vk::Extent2D {
        self.extent
    }

    fn acquire(&mut self, _slot: usize) -> Result<Acquired, Error> {
        Ok(Acquired::Image(0))
    }

    fn record(&mut self, commands: vk::CommandBuffer, slot: usize, _target: u32, screen: Screen) {
        self.last_frame += 1;
        let slot = &mut self.slots[slot];
        image_to_buffer(&self.device, commands, screen.image, screen.extent, slot.pixels.raw);
        copies_to_host(&self.device, commands);
        slot.frame = Some(self.last_frame);
    }

    fn wait(&self, _slot: usize) -> Option<vk::SemaphoreSubmitInfo<'static>> {
        None
    }

    fn signal(&self, _target: u32) -> Option<vk::SemaphoreSubmitInfo<'static>> {
        None
    }

    fn present(&mut self, _queue: Queue, _slot: usize, _target: u32) -> Result<Presented, Error> {
        Ok(Presented::Shown)
    }

    fn retired(&mut self, slot: usize) -> Result<(), Error> {
        let slot = &mut self.slots[slot];
        let Some(frame) = slot.frame.take() else { return Ok(()) };
        let count = mismatches(slot.pixels.bytes(), self.extent.width, frame);
        // A panic elsewhere leaves a count behind.
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report.frames += 1;
        if count != 0 {
            report.mismatches.push((frame, count));
        }
        Ok(())
    }

    fn rebuild(&mut self, window: vk::Extent2D, slots: usize) -> Result<(), Error> {
        self.extent = window;
        let bytes = u64::from(window.width) * u64::from(window.height) * 4;
        let slot = |slot| {
            let (usage, memory) = (vk::BufferUsageFlags::TRANSFER_DST, BufferMemory::ReadBack);
            let pixels = Buffer::new(&self.device, bytes, usage, memory, &format!("screen tags {slot}"))?;
            Ok(ReadBack { pixels, frame: None })
        };
        self.slots = (0..slots).map(slot).collect::<Result<_, Error>>()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_texel_that_is_not_the_frames_is_counted() {
        let (width, height) = (37_u32, 21_u32);
        let of_frame = |frame: u64| -> Vec<u8> {
            let places = (0..width * height).map(|index| texel(index % width, index / width, frame));
            let bytes = places.flat_map(|[red, green, blue, _]| {
                let byte = |light: f32| SrgbTable::get().byte(f16::from_f32(light));
                [byte(red), byte(green), byte(blue), 255]
            });
            bytes.collect()
        };
        let mut pixels = of_frame(40);
        assert_eq!(mismatches(&pixels, width, 40), 0);
        assert_eq!(mismatches(&pixels, width, 41), 37 * 21);
        pixels[(5 * 37 + 9) * 4 + 1] ^= 1;
        pixels[(20 * 37 + 36) * 4 + 3] = 0;
        assert_eq!(mismatches(&pixels, width, 40), 2);
    }
}
