//! Chains to test fused kernels with: between them every pointwise effect, in runs of two to six.

use std::sync::Arc;

use super::{Catalogue, Chain, SettingError};

/// With buffers, guides, something kept, bits instead of light, and stencils between.
pub const TEST_CHAINS: &[&[&str]] = &[
    &["exposure", "tonemap", "lut", "vignette", "film_grain", "dither_bayer"],
    &[
        "auto_exposure",
        "aces",
        "lut",
        "film_grain",
        "dither_blue_noise",
        "zebra",
    ],
    &["dither_blue_noise", "dither_bayer", "agx", "vignette"],
    &["depth_view", "zebra", "exposure", "normal_view", "vignette"],
    &["motion_view", "luminance", "albedo_view", "false_colour"],
    &["reinhard", "complement", "aces_approximation", "copy", "template"],
    &[
        "vignette",
        "auto_exposure",
        "tonemap",
        "gaussian",
        "exposure",
        "luminance",
    ],
    &["lut", "exposure"],
];

/// Chains of which no effect decides by a threshold: what one is off, the next does not make much of.
pub const SMOOTH_CHAINS: &[&[&str]] = &[
    &["exposure", "tonemap", "vignette"],
    &["auto_exposure", "reinhard", "luminance"],
    &["agx", "vignette"],
];

/// Where the parameters of a test's effects are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestSetting {
    /// All as low as they go.
    Lowest,
    /// All as they are by default.
    Default,
    /// All as high as they go.
    Highest,
}

impl TestSetting {
    /// All.
    pub const ALL: [Self; 3] = [Self::Lowest, Self::Default, Self::Highest];

    /// The chain of these effects, in their order.
    ///
    /// # Errors
    /// An effect that there is not.
    pub fn chain(self, catalogue: &Arc<Catalogue>, names: &[&str]) -> Result<Chain, SettingError> {
        let mut chain = Chain::with_enabled(catalogue, names)?;
        for name in names {
            for parameter in &catalogue.by_name(name)?.parameters {
                let value = match self {
                    Self::Lowest => parameter.minimum,
                    Self::Default => parameter.default,
                    Self::Highest => parameter.maximum,
                };
                chain.set(&format!("{name}.{}", parameter.name), value)?;
            }
        }
        Ok(chain)
    }
}
