//! The presenter that shows frames in a window without Vulkan's help: read back, and put there by the window system.

use std::num::NonZeroU32;
use std::sync::Arc;

use ash::vk;
use rayon::prelude::*;
use winit::window::Window;

use super::{Acquired, Error, Presented, Presenter, Screen};
use crate::vulkan::barrier;
use crate::vulkan::{self, Buffer, BufferMemory, Device, Queue};

/// What one slot's frame is read back to.
struct ReadBack {
    /// RGBA8, row after row without gaps.
    pixels: Buffer,
    /// A frame was recorded and has not been shown yet.
    pending: bool,
}

/// Shows frames through softbuffer: over VNC, X forwarding or Xvfb, on a GPU whose driver cannot present.
pub struct Software {
    surface: softbuffer::Surface<Arc<Window>, Arc<Window>>,
    /// What `surface` was last resized to.
    shown_extent: vk::Extent2D,
    slots: Vec<ReadBack>,
    /// The extent of frames: the window's when it was last rebuilt for.
    extent: vk::Extent2D,
    window: Arc<Window>,
    device: Arc<Device>,
}

impl Software {
    /// Makes the presenter for a window, `slots` frames in flight.
    ///
    /// # Errors
    /// No memory, or the window system refused.
    pub fn new(device: &Arc<Device>, window: &Arc<Window>, slots: usize) -> Result<Self, Error> {
        let context = softbuffer::Context::new(Arc::clone(window)).map_err(refused("connect to the display"))?;
        let surface =
            softbuffer::Surface::new(&context, Arc::clone(window)).map_err(refused("make a software surface"))?;
        let mut presenter = Self {
            surface,
            shown_extent: vk::Extent2D::default(),
            slots: Vec::new(),
            extent: vk::Extent2D::default(),
            window: Arc::clone(window),
            device: Arc::clone(device),
        };
        let size = window.inner_size();
        let extent = vk::Extent2D {
            width: size.width,
            height: size.height,
        };
        presenter.rebuild(extent, slots)?;
        Ok(presenter)
    }
}

impl Presenter for Software {
    fn name(&self) -> &'static str {
        "software"
    }

    fn description(&self) -> String {
        "software: frames are read back and shown by the window system".into()
    }

    fn extent(&self) -> vk::Extent2D {
        self.extent
    }

    fn acquire(&mut self, _slot: usize) -> Result<Acquired, Error> {
        let empty = self.extent.width == 0 || self.extent.height == 0;
        Ok(if empty { Acquired::NotReady } else { Acquired::Image(0) })
    }

    fn record(&mut self, commands: vk::CommandBuffer, slot: usize, _target: u32, screen: Screen) {
        let read_back = &mut self.slots[slot];
        let Screen { image, extent } = screen;
        vulkan::transfer::image_to_buffer(&self.device, commands, image, extent, read_back.pixels.raw);
        barrier::copies_to_host(&self.device, commands);
        read_back.pending = true;
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
        if !std::mem::take(&mut self.slots[slot].pending) {
            return Ok(());
        }
        // The window may have changed since the frame was made: then the frame is scaled until the next rebuild.
        let size = self.window.inner_size();
        let (Some(width), Some(height)) = (NonZeroU32::new(size.width), NonZeroU32::new(size.height)) else {
            return Ok(());
        };
        let shown = vk::Extent2D {
            width: size.width,
            height: size.height,
        };
        if shown != self.shown_extent {
            self.surface
                .resize(width, height)
                .map_err(refused("resize the software surface"))?;
            self.shown_extent = shown;
        }
        let mut target = self.surface.buffer_mut().map_err(refused("map the window's pixels"))?;
        let pixels = self.slots[slot].pixels.bytes();
        copy_scaled(pixels, self.extent, &mut target, shown);
        self.window.pre_present_notify();
        target.present().map_err(refused("show the window's pixels"))
    }

    fn rebuild(&mut self, window: vk::Extent2D, slots: usize) -> Result<(), Error> {
        self.slots.clear();
        self.extent = window;
        let size = u64::from(window.width) * u64::from(window.height) * 4;
        if size == 0 {
            return Ok(());
        }
        for slot in 0..slots {
            let name = format!("read-back {slot}");
            let usage = vk::BufferUsageFlags::TRANSFER_DST;
            self.slots.push(ReadBack {
                pixels: Buffer::new(&self.device, size, usage, BufferMemory::ReadBack, &name)?,
                pending: false,
            });
        }
        Ok(())
    }
}

fn refused(what: &'static str) -> impl Fn(softbuffer::SoftBufferError) -> Error {
    move |error| Error::Window {
        what,
        reason: error.to_string(),
    }
}

/// Writes RGBA8 pixels as softbuffer's `0x00RRGGBB`, the nearest pixel's where the extents differ.
fn copy_scaled(source: &[u8], source_extent: vk::Extent2D, target: &mut [u32], target_extent: vk::Extent2D) {
    let nearest = |at: usize, target: u32, source: u32| (at as u64 * u64::from(source) / u64::from(target)) as usize;
    let columns: Vec<usize> = (0..target_extent.width as usize)
        .map(|x| nearest(x, target_extent.width, source_extent.width))
        .collect();
    let (source, _) = source.as_chunks::<4>();
    target
        .par_chunks_exact_mut(target_extent.width as usize)
        .enumerate()
        .for_each(|(y, row)| {
            let from = nearest(y, target_extent.height, source_extent.height) * source_extent.width as usize;
            let source = &source[from..from + source_extent.width as usize];
            for (pixel, column) in row.iter_mut().zip(&columns) {
                let [red, green, blue, _] = source[*column];
                *pixel = u32::from_be_bytes([0, red, green, blue]);
            }
        });
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn extent(width: u32, height: u32) -> vk::Extent2D {
        vk::Extent2D { width, height }
    }

    #[test]
    fn channels_are_put_in_softbuffers_order() {
        let mut target = [0; 2];
        copy_scaled(&[1, 2, 3, 255, 4, 5, 6, 0], extent(2, 1), &mut target, extent(2, 1));
        assert_eq!(target, [0x0001_0203, 0x0004_0506]);
    }

    #[test]
    fn scaling_takes_the_nearest_pixel_and_stays_inside() {
        let source: Vec<u8> = (0..4).flat_map(|red| [red, 0, 0, 0]).collect();
        let mut large = [0; 15];
        copy_scaled(&source, extent(2, 2), &mut large, extent(5, 3));
        let reds: Vec<u32> = large.iter().map(|pixel| pixel >> 16).collect();
        assert_eq!(reds, [0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 2, 2, 2, 3, 3]);
        let mut small = [0; 1];
        copy_scaled(&source, extent(2, 2), &mut small, extent(1, 1));
        assert_eq!(small, [0]);
    }
}
