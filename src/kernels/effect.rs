//! What an effect is: its description, its parameters and its passes.

use super::parameter::{Parameter, ParameterError, offset};

/// What a user toggles: one kernel file.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The file's stem: its name on the command line, in labels, in columns.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// What it does, in a sentence or two.
    pub summary: String,
    /// The paper or specification it is written from.
    pub source: String,
    /// Its place in the chain by default.
    pub stage: Stage,
    /// The key that toggles it, if it has one.
    pub key: Option<String>,
    /// Not shown to users.
    pub hidden: bool,
    /// What happens to alpha.
    pub alpha: String,
    /// What happens to NaN, infinities and negative values.
    pub broken_pixels: String,
    /// In the order of the kernel's parameter struct.
    pub parameters: Vec<Parameter>,
    /// In the order they run; the last one writes the output.
    pub passes: Vec<PassDescription>,
    /// What it needs besides the picture.
    pub guides: Vec<Guide>,
    /// How far a processor may be from the CPU reference.
    pub tolerance: Tolerance,
    /// The CUDA C++ with its front matter.
    pub code: String,
    /// PTX compiled ahead; none for a kernel given by the user.
    pub ptx: Option<&'static str>,
}

/// One launch of an effect.
#[derive(Clone, Debug, PartialEq)]
pub struct PassDescription {
    /// The kernel's `extern "C"` name.
    pub entry: String,
    /// How its launches are named, in traces and profilers: the effect's name, and which of its passes it is where it has several.
    pub label: String,
    /// What it reads.
    pub source: PassImage,
    /// What it reads besides, if anything.
    pub second: Option<PassImage>,
    /// What it writes.
    pub destination: PassImage,
    /// Threads of a block, in x and y. The grid covers the destination.
    pub block: [u32; 2],
}

/// An image as a pass names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PassImage {
    /// What the effect is given.
    Input,
    /// What the effect hands on.
    Output,
    /// An image of the effect's own, written by one of its passes.
    Scratch {
        /// Which one, counted from 0 in the order of the passes that write them.
        index: usize,
        /// The frame's extent is divided by it, rounded up.
        divisor: u32,
    },
}

/// Where an effect stands in the chain by default, in the order of a frame: what needs the scene's light before what needs
/// the display's, what looks at the picture last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Takes noise out of the scene's light.
    Denoise,
    /// Anti-aliasing over frames.
    TemporalAntiAliasing,
    /// What an open shutter sees.
    MotionBlur,
    /// What a lens blurs.
    DepthOfField,
    /// Blurs of the whole picture.
    Blur,
    /// Light that spreads.
    Bloom,
    /// How bright the picture is.
    Exposure,
    /// From the scene's light to the display's.
    ToneMap,
    /// Colours, by table.
    Grade,
    /// Edges of the picture as it is seen.
    AntiAliasing,
    /// To the display's extent.
    Upscale,
    /// Sharper.
    Sharpen,
    /// What draws the picture anew: edges, cells, dots, fluids over it.
    Look,
    /// Darker towards the corners.
    Vignette,
    /// Noise of film.
    Grain,
    /// Fewer values, evenly spread.
    Dither,
    /// Shows what is in the picture or the guides.
    Inspect,
}

/// A guide image of the scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Guide {
    /// R32F, metres.
    Depth,
    /// RGBA16F, world space.
    Normal,
    /// RGBA8, linear.
    Albedo,
    /// RG16F, pixels.
    Motion,
}

/// How far a processor's result may be from the CPU reference. A channel passes if any of the three bounds holds.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// Steps between neighbouring halves.
    #[serde(default)]
    pub ulps: u32,
    /// Largest difference.
    #[serde(default)]
    pub absolute: f32,
    /// Largest difference as a share of the expected value.
    #[serde(default)]
    pub relative: f32,
    /// Why it is not zero, or why it is.
    pub why: String,
}

impl PassDescription {
    /// Blocks in x and y that cover a destination of that extent, texels.
    pub fn grid(&self, extent: [u32; 2]) -> [u32; 2] {
        [extent[0].div_ceil(self.block[0]), extent[1].div_ceil(self.block[1])]
    }
}

impl Effect {
    /// The parameter struct with every default. Never empty: without parameters it is `NoParameters`, four bytes.
    pub fn default_parameters(&self) -> Vec<u8> {
        if self.parameters.is_empty() {
            return vec![0; 4];
        }
        let encode = |parameter: &Parameter| {
            parameter
                .encode(parameter.default)
                .expect("front matter is range-checked")
        };
        self.parameters.iter().flat_map(encode).collect()
    }

    /// Reads one parameter of a parameter struct.
    pub fn get(&self, parameters: &[u8], name: &str) -> Result<f64, ParameterError> {
        let index = self.parameter_index(name)?;
        let bytes = parameters[offset(index)..offset(index + 1)]
            .try_into()
            .expect("the range is four bytes long");
        Ok(self.parameters[index].decode(bytes))
    }

    /// Writes one parameter of a parameter struct; a value out of range is an error and changes nothing.
    pub fn set(&self, parameters: &mut [u8], name: &str, value: f64) -> Result<(), ParameterError> {
        let index = self.parameter_index(name)?;
        parameters[offset(index)..offset(index + 1)].copy_from_slice(&self.parameters[index].encode(value)?);
        Ok(())
    }

    fn parameter_index(&self, name: &str) -> Result<usize, ParameterError> {
        self.parameters
            .iter()
            .position(|parameter| parameter.name == name)
            .ok_or_else(|| ParameterError::Unknown {
                effect: self.name.clone(),
                name: name.to_owned(),
                known: self.parameters.iter().map(|parameter| parameter.name.clone()).collect(),
            })
    }
}
