//! Each effect on the CPU, written from its definition and not from its kernel: the oracle of the tests, and what runs
//! the chain where there is no CUDA.

mod aces;
mod aces_approximation;
mod agx;
mod albedo_view;
mod ascii;
mod atrous;
mod auto_exposure;
mod bilateral;
mod bloom;
mod blue_noise_mask;
mod box_blur;
mod canny;
mod chromatic_aberration;
mod colors;
mod crt;
mod depth_of_field;
mod depth_view;
mod dither;
mod dual_filter;
mod easu;
mod enlarge;
mod exposure;
mod false_colour;
mod fft_bloom;
mod film_grain;
mod fluid;
mod fxaa;
mod gaussian;
mod grey;
mod halftone;
mod histogram;
mod host_images;
mod host_memory;
mod kuwahara;
mod lut;
mod median;
mod motion_blur;
mod motion_view;
mod nlm;
mod normal_view;
mod optical_flow;
mod outline;
mod panel;
mod pixelate;
mod rcas;
mod reaction_diffusion;
mod reinhard;
mod rounded;
mod run;
mod sharpen;
mod sobel;
mod srgb;
mod svgf;
mod taa;
mod template;
#[cfg(test)]
mod test_images;
#[cfg(test)]
mod test_picture;
mod tonemap;
mod transform;
mod turbo;
mod unsharp;
mod vignette;
mod waveform;
mod zebra;

pub use host_images::{HostGuides, HostImageError, HostImages, MappedImage};
pub use host_memory::HostScratch;
pub use run::{RanAt, RunError, run};

/// What a frame gives every launch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FrameParameters {
    /// Frame number, from 1.
    pub frame: u64,
    /// Time since the start, s.
    pub time: f32,
    /// Time since the previous frame, s.
    pub time_delta: f32,
    /// Pointer position, texels of what is shown.
    pub pointer: [f32; 2],
    /// The same in the frame before.
    pub previous_pointer: [f32; 2],
    /// How far the scene's projection was moved, texels of the scene.
    pub jitter: [f32; 2],
}

/// An RGBA texel in float.
pub type Texel = [f32; 4];

/// A whole image in float.
#[derive(Clone, Copy, Debug)]
pub struct FloatImage<'a> {
    /// Row after row, no padding.
    pub texels: &'a [Texel],
    /// Width and height, texels.
    pub extent: [u32; 2],
}

impl<'a> FloatImage<'a> {
    /// No image.
    pub const NONE: Self = Self {
        texels: &[],
        extent: [0; 2],
    };

    /// A texel; positions outside are clamped to the edge.
    pub fn at(&self, x: i64, y: i64) -> Texel {
        self.row(y)[x.clamp(0, i64::from(self.extent[0]) - 1) as usize]
    }

    /// A row; rows outside are clamped to the edge.
    pub fn row(&self, y: i64) -> &'a [Texel] {
        let [width, height] = self.extent.map(|length| length as usize);
        let y = y.clamp(0, height as i64 - 1) as usize;
        &self.texels[y * width..(y + 1) * width]
    }
}

/// One launch as a reference sees it. Images that a pass has not are [`FloatImage::NONE`].
#[derive(Clone, Copy, Debug)]
pub struct ReferencePass<'a> {
    /// What it reads.
    pub source: FloatImage<'a>,
    /// What it reads besides, if anything.
    pub second: Option<FloatImage<'a>>,
    /// And the third.
    pub third: Option<FloatImage<'a>>,
    /// The extent of what it writes, texels; of a pass without a destination, its threads.
    pub extent: [u32; 2],
    /// The effect's parameter struct.
    pub parameters: &'a [u8],
    /// What the frame gives.
    pub frame: FrameParameters,
    /// The scene's guides, those that the plan reads.
    pub guides: Guides<'a>,
    /// The pass's buffers, and its table; those that it has not are empty. Aligned to 8 bytes, a table to 4.
    pub buffers: [&'a [u8]; 4],
    /// As `Pass::kept_frames`.
    pub kept_frames: u32,
    /// The pass's own.
    pub index: u32,
}

/// The scene's guides as a reference sees them.
#[derive(Clone, Copy, Debug)]
pub struct Guides<'a> {
    /// x: metres.
    pub depth: FloatImage<'a>,
    /// xyz: world space.
    pub normal: FloatImage<'a>,
    /// rgba: linear, 0 to 1.
    pub albedo: FloatImage<'a>,
    /// xy: texels from this frame to the previous one.
    pub motion: FloatImage<'a>,
}

impl Guides<'_> {
    /// No guides.
    pub const NONE: Self = Self {
        depth: FloatImage::NONE,
        normal: FloatImage::NONE,
        albedo: FloatImage::NONE,
        motion: FloatImage::NONE,
    };
}

impl ReferencePass<'_> {
    /// The parameter of that index, as the kernel declares it: `f32`, `u32` or `i32`.
    pub fn parameter<T: bytemuck::AnyBitPattern>(&self, index: usize) -> T {
        bytemuck::pod_read_unaligned(&self.parameters[4 * index..4 * index + size_of::<T>()])
    }
}

/// Computes one row of the destination.
pub type RowFn = fn(&ReferencePass, y: u32, out: &mut [Texel]);

/// Computes a whole pass: the destination's texels, row after row (none without a destination), and its buffers, which are
/// empty in [`ReferencePass::buffers`], where a table is.
pub type WholeFn = fn(&ReferencePass, out: &mut [Texel], buffers: [&mut [u8]; 4]);

/// How a kernel's reference reads and writes. Images of floats are read and written as they are by all.
#[derive(Clone, Copy, Debug)]
pub enum Reference {
    /// The source's bits, unchanged.
    Bits,
    /// The values as they are stored.
    Stored(RowFn),
    /// Light: read by [`light`], limited by it again before it is rounded to half.
    Light(RowFn),
    /// As `Light`, for what is not done row by row, or writes buffers.
    Whole(WholeFn),
}

/// What an effect computes with: NaN and what is below 0 is 0, what is above the largest half is the largest half.
#[expect(clippy::manual_clamp, reason = "clamp hands NaN on; max and min do not")]
pub fn light(value: f32) -> f32 {
    value.max(0.0).min(65504.0)
}

/// Relative luminance of linear Rec. 709 primaries (ITU-R BT.709-6, section 3.2).
fn luminance(color: Texel) -> f32 {
    0.2126 * color[0] + 0.7152 * color[1] + 0.0722 * color[2]
}

/// Hermite's smooth step from 0 to 1, for `t` limited to [0, 1].
fn smoothstep(t: f32) -> f32 {
    let t = t.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// The reference of a kernel, by its `extern "C"` name.
pub fn of(entry: &str) -> Option<Reference> {
    Some(match entry {
        "copy" | "spin" => Reference::Bits,
        "complement" => Reference::Stored(complement),
        "easu" => Reference::Light(easu::row),
        "enlarge" => Reference::Light(enlarge::row),
        "exposure" => Reference::Light(exposure::row),
        "auto_exposure_count" => Reference::Whole(auto_exposure::count),
        "auto_exposure_gather" => Reference::Whole(auto_exposure::gather),
        "auto_exposure_adapt" => Reference::Whole(auto_exposure::adapt),
        "auto_exposure_apply" => Reference::Light(auto_exposure::apply),
        "canny_tone" => Reference::Whole(canny::tone),
        "canny_rows" => Reference::Whole(canny::rows),
        "canny_columns" => Reference::Whole(canny::columns),
        "canny_suppress" => Reference::Whole(canny::suppress),
        "canny_label" | "canny_merge" | "canny_flatten" => Reference::Whole(canny::no_labels),
        "canny_hysteresis" => Reference::Whole(canny::hysteresis),
        "canny_draw" => Reference::Light(canny::draw),
        "histogram_count" => Reference::Whole(histogram::count),
        "histogram_gather" => Reference::Whole(histogram::gather),
        "histogram_draw" => Reference::Light(histogram::draw),
        "waveform_count" => Reference::Whole(waveform::count),
        "waveform_draw" => Reference::Light(waveform::draw),
        "outline_edges" => Reference::Whole(outline::edges),
        "outline_flood" => Reference::Whole(outline::flood),
        "outline_draw" => Reference::Light(outline::draw),
        "depth_of_field_near" => Reference::Light(depth_of_field::near),
        "depth_of_field_far" => Reference::Light(depth_of_field::far),
        "depth_of_field_reach" => Reference::Light(depth_of_field::reach),
        "depth_of_field_spread" => Reference::Light(depth_of_field::spread),
        "depth_of_field_gather" => Reference::Light(depth_of_field::gather),
        "depth_of_field_composite" => Reference::Light(depth_of_field::composite),
        "depth_view" => Reference::Light(depth_view::row),
        "normal_view" => Reference::Light(normal_view::row),
        "albedo_view" => Reference::Light(albedo_view::row),
        "motion_view" => Reference::Light(motion_view::row),
        "gaussian_rows" => Reference::Light(gaussian::rows),
        "gaussian_columns" => Reference::Light(gaussian::columns),
        "bilateral" => Reference::Light(bilateral::row),
        "nlm" => Reference::Light(nlm::row),
        "box_rows" => Reference::Light(box_blur::rows),
        "box_columns" => Reference::Light(box_blur::columns),
        "dual_filter_down" => Reference::Light(dual_filter::down),
        "dual_filter_up" => Reference::Light(dual_filter::up),
        "fxaa" => Reference::Light(fxaa::row),
        "median" => Reference::Light(median::row),
        "rcas" => Reference::Light(rcas::row),
        "unsharp_rows" => Reference::Light(unsharp::rows),
        "unsharp_combine" => Reference::Light(unsharp::combine),
        "bloom_bright" => Reference::Light(bloom::bright),
        "bloom_down" => Reference::Light(bloom::down),
        "bloom_up" => Reference::Light(bloom::up),
        "bloom_small" => Reference::Whole(bloom::small),
        "bloom_composite" => Reference::Light(bloom::composite),
        "chromatic_aberration" => Reference::Light(chromatic_aberration::row),
        "reinhard" => Reference::Light(reinhard::row),
        "aces" => Reference::Light(aces::row),
        "aces_approximation" => Reference::Light(aces_approximation::row),
        "agx" => Reference::Light(agx::row),
        "template_saturation" => Reference::Light(template::row),
        "tonemap" => Reference::Light(tonemap::row),
        "lut" => Reference::Light(lut::row),
        "reaction_diffusion_sow" => Reference::Light(reaction_diffusion::sow),
        "reaction_diffusion_step" => Reference::Light(reaction_diffusion::step),
        "reaction_diffusion_relief" => Reference::Light(reaction_diffusion::relief),
        "reaction_diffusion_composite" => Reference::Light(reaction_diffusion::composite),
        "fft_bloom_bright" => Reference::Whole(fft_bloom::bright),
        "fft_bloom_glare" => Reference::Whole(fft_bloom::glare),
        "fft_bloom_multiply" => Reference::Whole(fft_bloom::multiply),
        "fft_bloom_composite" => Reference::Light(fft_bloom::composite),
        "fluid_curl" => Reference::Light(fluid::curl),
        "fluid_force" => Reference::Light(fluid::force),
        "fluid_advect" => Reference::Light(fluid::advect),
        "fluid_divergence" => Reference::Light(fluid::divergence),
        "fluid_pressure" => Reference::Light(fluid::pressure),
        "fluid_project" => Reference::Light(fluid::project),
        "fluid_dye" => Reference::Light(fluid::dye),
        "fluid_composite" => Reference::Light(fluid::composite),
        "sobel" => Reference::Light(sobel::row),
        "sharpen" => Reference::Light(sharpen::row),
        "atrous_demodulate" => Reference::Whole(atrous::demodulate),
        "atrous_filter" => Reference::Whole(atrous::filter),
        "atrous_finish" => Reference::Light(atrous::finish),
        "motion_blur_part" => Reference::Light(motion_blur::part),
        "motion_blur_tile" => Reference::Light(motion_blur::tile),
        "motion_blur_neighborhood" => Reference::Light(motion_blur::neighborhood),
        "motion_blur_reconstruct" => Reference::Light(motion_blur::reconstruct),
        "optical_flow_brightness" => Reference::Light(optical_flow::brightness),
        "optical_flow_reduce" => Reference::Light(optical_flow::reduce),
        "optical_flow_gradient" => Reference::Light(optical_flow::gradient),
        "optical_flow_coarsest" | "optical_flow_finer" => Reference::Light(optical_flow::track),
        "optical_flow_show" => Reference::Light(optical_flow::show),
        "svgf_accumulate" => Reference::Whole(svgf::accumulate),
        "svgf_estimate" => Reference::Whole(svgf::estimate),
        "svgf_filter" => Reference::Whole(svgf::filter),
        "svgf_finish" => Reference::Light(svgf::finish),
        "taa_resolve" => Reference::Whole(taa::resolve),
        "vignette" => Reference::Light(vignette::row),
        "luminance" => Reference::Light(grey::row),
        "false_colour" => Reference::Light(false_colour::row),
        "zebra" => Reference::Light(zebra::row),
        "pixelate_rows" => Reference::Light(pixelate::rows),
        "pixelate_columns" => Reference::Light(pixelate::columns),
        "pixelate_show" => Reference::Light(pixelate::show),
        "halftone" => Reference::Light(halftone::row),
        "ascii_cells" => Reference::Light(ascii::cells),
        "ascii_letters" => Reference::Light(ascii::letters),
        "crt" => Reference::Light(crt::row),
        "kuwahara" => Reference::Light(kuwahara::row),
        "film_grain" => Reference::Light(film_grain::row),
        "dither_bayer" => Reference::Light(dither::bayer_row),
        "dither_blue_noise" => Reference::Light(dither::blue_noise_row),
        _ => return None,
    })
}

fn complement(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    for (out, source) in out.iter_mut().zip(pass.source.row(i64::from(y))) {
        *out = source.map(|value| 1.0 - value);
    }
}
