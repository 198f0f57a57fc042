//! What a bench renders, and how.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::live::Fuse;
use crate::renderer::Schedule;
use crate::timing::Instrument;

/// The processor whose frames are one submission each: its schedule says nothing.
pub const IN_QUEUE: &str = "in-queue";

/// Fixed work, which is what is drawn and processed, and a way to do it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// The scene's name.
    pub scene: String,
    /// Texels across.
    pub width: u32,
    /// Texels down.
    pub height: u32,
    /// The effects that are on, in their order.
    pub chain: Vec<String>,
    /// Who runs the chain: `cuda`, `in-queue` or `host`.
    pub processor: String,
    /// The order of submissions; pipelined where there is but one.
    pub schedule: Schedule,
    /// How many frames are under way at a time.
    pub frames_in_flight: usize,
    /// How much is measured.
    pub instrument: Instrument,
    /// Whether neighbours run as one kernel, where CUDA runs them.
    #[serde(default)]
    pub fuse: Fuse,
}

/// Extents that have a name on the command line.
pub const NAMED_SIZES: [(&str, [u32; 2]); 6] = [
    ("720p", [1280, 720]),
    ("1080p", [1920, 1080]),
    ("1440p", [2560, 1440]),
    ("4k", [3840, 2160]),
    ("8k", [7680, 4320]),
    ("16k", [16_384, 16_384]),
];

impl Case {
    /// Texels of a frame.
    pub fn pixels(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    /// The name of its extent, else width and height.
    pub fn size_text(&self) -> String {
        let extent = [self.width, self.height];
        let named = NAMED_SIZES.iter().find(|(_, other)| *other == extent);
        named.map_or_else(
            || format!("{}x{}", self.width, self.height),
            |(name, _)| (*name).to_owned(),
        )
    }

    /// The same case at another extent, to find what differs in that alone.
    pub(super) fn at(&self, [width, height]: [u32; 2]) -> Self {
        Self {
            width,
            height,
            ..self.clone()
        }
    }

    /// The work alone: cases of the same work can be compared.
    pub fn work(&self) -> String {
        let Self {
            scene, width, height, ..
        } = self;
        format!("{scene}, {width}x{height}, {}", chain_text(&self.chain))
    }

    /// The way alone.
    pub fn way(&self) -> String {
        let lowercase = |value: &dyn fmt::Debug| format!("{value:?}").to_lowercase();
        let order = match self.processor.as_str() {
            IN_QUEUE => String::new(),
            _ => format!(", {}", self.schedule.name()),
        };
        let unfused = match self.fuse {
            Fuse::Auto => "",
            Fuse::Off => ", unfused",
        };
        format!(
            "{}{order}, {} in flight, instrument {}{unfused}",
            self.processor,
            self.frames_in_flight,
            lowercase(&self.instrument)
        )
    }
}

impl fmt::Display for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}; {}", self.work(), self.way())
    }
}

/// The effects of a chain, as the command line takes them.
pub fn chain_text(chain: &[String]) -> String {
    if chain.is_empty() {
        "none".into()
    } else {
        chain.join("+")
    }
}
