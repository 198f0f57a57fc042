//! The first argument of every kernel, byte for byte as `kernels/handover.cuh` declares it.

use bytemuck::{Pod, Zeroable};

/// One image as a kernel sees it. All zero where a pass has no such image.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Image {
    /// A `cudaSurfaceObject_t` (`CUsurfObject`): reads and writes of exact texels.
    pub surface: u64,
    /// A `cudaTextureObject_t` (`CUtexObject`): linear filter, clamp to edge, normalized coordinates, element read mode.
    pub texture: u64,
    /// Width and height, texels.
    pub extent: [u32; 2],
}

/// Memory as a kernel sees it. All zero where a pass has no such buffer.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Buffer {
    /// A `CUdeviceptr`, aligned to at least 256 bytes.
    pub bytes: u64,
    /// Its length, bytes.
    pub size: u64,
}

/// What a launch is given besides the effect's own parameters. 304 bytes, aligned to 8.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Pass {
    /// The image the pass reads.
    pub source: Image,
    /// The second image the pass reads; zero when it has one input.
    pub second: Image,
    /// The third.
    pub third: Image,
    /// The image the pass writes, never one it reads.
    pub destination: Image,
    /// Guide: R32F, metres.
    pub depth: Image,
    /// Guide: RGBA16F, world space.
    pub normal: Image,
    /// Guide: RGBA8, linear.
    pub albedo: Image,
    /// Guide: RG16F, texels from this frame to the previous one.
    pub motion: Image,
    /// What the pass names in `buffers`, in that order.
    pub buffers: [Buffer; 4],
    /// Pointer position, texels of what is shown.
    pub pointer: [f32; 2],
    /// The same in the frame before.
    pub previous_pointer: [f32; 2],
    /// How far the scene's projection was moved, texels of the scene: at most half of one.
    pub jitter: [f32; 2],
    /// Frame number, from 1.
    pub frame: u64,
    /// Time since the start, s.
    pub time: f32,
    /// Time since the previous frame, s.
    pub time_delta: f32,
    /// Frames that the effect has kept its images and buffers for; 0 in its first, when the previous ones hold nothing.
    pub kept_frames: u32,
    /// The pass's own `index`.
    pub index: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{LAYOUT_PTX, catalogue};
    use std::mem::{offset_of, size_of};

    /// Size, then offsets, as the CUDA compiler put them into `kernels/layout.ptx`.
    fn compiled_layout(name: &str) -> Vec<usize> {
        let marker = format!("{name}_layout[");
        let line = LAYOUT_PTX
            .lines()
            .find(|line| line.contains(&format!(" {marker}")))
            .expect("a table in layout.ptx");
        let (_, values) = line.split_once('{').expect("an initializer");
        let bytes: Vec<u8> = values
            .trim_end_matches("};")
            .split(',')
            .map(|byte| byte.trim().parse().expect("a byte"))
            .collect();
        bytes
            .chunks(8)
            .map(|word| usize::from_le_bytes(word.try_into().expect("eight bytes")))
            .collect()
    }

    #[test]
    fn image_is_laid_out_as_the_cuda_compiler_lays_it_out() {
        let ours = vec![
            size_of::<Image>(),
            offset_of!(Image, surface),
            offset_of!(Image, texture),
            offset_of!(Image, extent),
        ];
        assert_eq!(compiled_layout("image"), ours);
    }

    #[test]
    fn buffer_is_laid_out_as_the_cuda_compiler_lays_it_out() {
        let ours = vec![size_of::<Buffer>(), offset_of!(Buffer, bytes), offset_of!(Buffer, size)];
        assert_eq!(compiled_layout("buffer"), ours);
    }

    #[test]
    fn pass_is_laid_out_as_the_cuda_compiler_lays_it_out() {
        let ours = vec![
            size_of::<Pass>(),
            offset_of!(Pass, source),
            offset_of!(Pass, second),
            offset_of!(Pass, third),
            offset_of!(Pass, destination),
            offset_of!(Pass, depth),
            offset_of!(Pass, normal),
            offset_of!(Pass, albedo),
            offset_of!(Pass, motion),
            offset_of!(Pass, buffers),
            offset_of!(Pass, pointer),
            offset_of!(Pass, previous_pointer),
            offset_of!(Pass, jitter),
            offset_of!(Pass, frame),
            offset_of!(Pass, time),
            offset_of!(Pass, time_delta),
            offset_of!(Pass, kept_frames),
            offset_of!(Pass, index),
        ];
        assert_eq!(compiled_layout("pass"), ours);
    }

    #[test]
    fn every_parameter_is_where_the_cuda_compiler_puts_it() {
        for effect in catalogue()
            .effects()
            .iter()
            .filter(|effect| !effect.parameters.is_empty())
        {
            let mut ours = vec![effect.default_parameters().len()];
            ours.extend((0..effect.parameters.len()).map(crate::kernels::parameter::offset));
            assert_eq!(compiled_layout(&effect.name), ours, "{}", effect.name);
        }
    }
}
