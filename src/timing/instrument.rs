//! How much is measured of every frame.

/// How much of a frame is stamped. What it costs is what `handover bench` shows with the three side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Instrument {
    /// The host's frame times alone: nothing is stamped on the GPU.
    Off,
    /// Besides: what the host does for a frame, and the frame's parts on the GPU: scene, hand-overs, chain, present pass.
    Frame,
    /// Besides: every kernel of the chain, and memory.
    Full,
}

impl Instrument {
    /// The frame's parts are stamped.
    pub fn has_parts(self) -> bool {
        self >= Self::Frame
    }

    /// The kernels are timed.
    pub fn has_kernels(self) -> bool {
        self >= Self::Full
    }
}
