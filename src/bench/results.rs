//! The rounds of a bench's cases, and the file that holds them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Case;

/// What says that a file is a bench's.
const FORMAT: &str = "handover bench";
/// More rounds say nothing more.
pub const MOST_ROUNDS: usize = 100;
/// Raised when the meaning of a field changes.
const FORMAT_VERSION: u32 = 1;

/// All of a bench.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    format: String,
    format_version: u32,
    /// The program's version.
    pub handover: String,
    /// When it began, RFC 3339, UTC.
    pub date: String,
    /// Where it ran.
    pub machine: MachineFacts,
    /// Frames of a round.
    pub frames: u64,
    /// Frames before each round that are not measured.
    pub warm_up: u64,
    /// From which the order was drawn.
    pub seed: u64,
    /// Indices of cases, in the order in which their rounds ran.
    pub order: Vec<usize>,
    /// The cases.
    pub cases: Vec<CaseRounds>,
    /// Those that cannot be here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// A case that was asked for and cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The case.
    #[serde(flatten)]
    pub case: Case,
    /// What it exceeds: the memory, or a limit of the device.
    pub reason: String,
}

/// What a renderer takes of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryTaken {
    /// Bytes, after its first frames.
    pub bytes: u64,
    /// Who counted them.
    pub counted_by: CountedBy,
}

/// Who counts memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CountedBy {
    /// `cuMemGetInfo`: the GPU's memory, of all that runs on it.
    Cuda,
    /// `VK_EXT_memory_budget`: the GPU's memory, of the process.
    Vulkan,
    /// What the renderer asked its driver for, where that does not count: of any kind of memory, in blocks of up to 256 MiB.
    Allocator,
}

/// What a bench's times depend on besides the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// The GPU's name.
    pub gpu: String,
    /// Its UUID.
    pub uuid: String,
    /// Name and version of its Vulkan driver.
    pub vulkan_driver: String,
    /// The CUDA version of its CUDA driver; `None` where CUDA did not run.
    pub cuda_driver: Option<String>,
    /// The processor's name.
    pub cpu: String,
    /// Threads that it runs at a time.
    pub cpu_threads: usize,
    /// `release` or `debug`.
    pub build: String,
}

impl MachineFacts {
    /// What is not the same: name, here, there.
    pub fn differences(&self, other: &Self) -> Vec<[String; 3]> {
        let described = |facts: &Self| {
            [
                ("GPU", facts.gpu.clone()),
                ("UUID", facts.uuid.clone()),
                ("Vulkan driver", facts.vulkan_driver.clone()),
                ("CUDA driver", facts.cuda_driver.clone().unwrap_or("none".into())),
                ("CPU", format!("{}, {} threads", facts.cpu, facts.cpu_threads)),
                ("build", facts.build.clone()),
            ]
        };
        let pairs = described(self).into_iter().zip(described(other));
        pairs
            .filter(|((_, here), (_, there))| here != there)
            .map(|((name, here), (_, there))| [name.to_owned(), here, there])
            .collect()
    }
}

/// A case with its rounds in the order of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseRounds {
    /// The case.
    #[serde(flatten)]
    pub case: Case,
    /// What its renderer takes of the GPU's memory, where that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryTaken>,
    /// Its rounds.
    pub rounds: Vec<Round>,
}

impl CaseRounds {
    /// The frame time of each round, microseconds.
    pub fn frame_us(&self) -> Vec<f64> {
        self.rounds.iter().map(|round| round.frame_us).collect()
    }
}

/// What a round measured. All but the first are the medians of its frames; `None` was not measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// The round's time on the host's clock by its frames, microseconds.
    pub frame_us: f64,
    /// The scene, milliseconds.
    pub scene_ms: Option<f64>,
    /// The hand-over from Vulkan to CUDA, milliseconds.
    pub handover_to_cuda_ms: Option<f64>,
    /// The kernel chain, milliseconds.
    pub chain_ms: Option<f64>,
    /// The hand-over from CUDA to Vulkan, milliseconds.
    pub handover_to_vulkan_ms: Option<f64>,
    /// The present pass, milliseconds.
    pub present_gpu_ms: Option<f64>,
    /// From the frame's start on the host to its retirement, milliseconds.
    pub latency_ms: Option<f64>,
    /// What the host did for a frame besides waiting.
    #[serde(default)]
    pub host_ms: Option<f64>,
}

/// Why a file's results cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The system does not let it be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// Not JSON, or not to its end.
    #[error("{}: {reason}: the file is not one that `handover bench --json` wrote, or not all of it", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A version that this program does not know.
    #[error("{}: format version {version}: this program reads version {FORMAT_VERSION}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
    },
}

impl Results {
    /// Of this program, without a round.
    pub fn new(machine: MachineFacts, cases: &[Case], frames: u64, warm_up: u64, seed: u64) -> Self {
        Self {
            format: FORMAT.into(),
            format_version: FORMAT_VERSION,
            handover: env!("CARGO_PKG_VERSION").into(),
            date: humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string(),
            machine,
            frames,
            warm_up,
            seed,
            order: Vec::new(),
            cases: cases
                .iter()
                .map(|case| CaseRounds {
                    case: case.clone(),
                    memory: None,
                    rounds: Vec::new(),
                })
                .collect(),
            left_out: Vec::new(),
        }
    }

    /// Keeps a round of the case of that index.
    pub fn push(&mut self, case: usize, round: Round) {
        self.order.push(case);
        self.cases[case].rounds.push(round);
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, is none of a bench's, is damaged, or of another version.
    pub fn read(path: &Path) -> Result<Self, ResultsError> {
        let text = std::fs::read_to_string(path).map_err(|source| ResultsError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let damaged = |reason: String| ResultsError::Damaged {
            path: path.to_owned(),
            reason,
        };
        let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if value["format"] != FORMAT {
            return Err(damaged(format!("its \"format\" is not \"{FORMAT}\"")));
        }
        match value["format_version"].as_u64() {
            Some(version) if version == u64::from(FORMAT_VERSION) => {}
            Some(version) => {
                return Err(ResultsError::Version {
                    path: path.to_owned(),
                    version,
                });
            }
            None => return Err(damaged("its \"format_version\" is no number".into())),
        }
        let results: Self = serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?;
        match results.flaw() {
            Some(flaw) => Err(damaged(flaw)),
            None => Ok(results),
        }
    }

    /// What cannot be in a bench's results.
    fn flaw(&self) -> Option<String> {
        if self.cases.is_empty() {
            return Some("it has no cases".into());
        }
        for (index, CaseRounds { case, rounds, .. }) in self.cases.iter().enumerate() {
            if self.cases[..index].iter().any(|other| other.case == *case) {
                return Some(format!("`{case}` is there twice"));
            }
            if rounds.len() != self.cases[0].rounds.len() || rounds.len() > MOST_ROUNDS {
                return Some(format!("the cases have not all as many rounds, up to {MOST_ROUNDS}"));
            }
            if rounds.is_empty() || rounds.len() != self.order.iter().filter(|ran| **ran == index).count() {
                return Some(format!("the rounds of `{case}` are not those of its \"order\""));
            }
            if rounds.iter().any(|round| round.frame_us <= 0.0) {
                return Some(format!("`{case}` has a frame time that is not above 0"));
            }
        }
        let unknown = self.order.iter().find(|case| **case >= self.cases.len());
        unknown.map(|case| format!("its \"order\" names case {case}, which is not there"))
    }

    /// As it is written.
    ///
    /// # Errors
    /// None that results have; the caller need not rely on it.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}
