//! Ways to make a view's frames, as they are asked for: one that is named, or one that is measured.

use clap::ValueEnum;

use crate::renderer::Schedule;

use super::options::ProcessorChoice;

/// Who runs a view's chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ViewProcessor {
    /// Each that the machine has is measured for half a second at the start, and the best one taken.
    Auto,
    /// CUDA kernels in this process.
    Cuda,
    /// The same kernels inside the Vulkan queue, one submission a frame: the fastest, where the GPU has VK_NVX_binary_import and
    /// VK_NVX_image_view_handle.
    InQueue,
    /// The CPU references on all cores.
    Host,
}

/// The order of a view's submissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ViewSchedule {
    /// Each is measured for half a second at the start, and the best one taken.
    Auto,
    /// The samples' way: one frame at a time, the host waits for it. The baseline to compare with.
    Serial,
    /// Several frames in flight; the host waits only for a slot's previous frame.
    Pipelined,
    /// As pipelined, but the chain ends in the picture that is shown, and the GPU's copy engine carries it: Vulkan draws and computes
    /// nothing after the chain.
    CopyBack,
}

/// What `auto` picks by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Prefer {
    /// The shortest time from a frame's start on the host to its retirement: the median.
    Latency,
    /// The most frames a second.
    #[default]
    Throughput,
}

impl ViewProcessor {
    /// The one that is named; `None`: it is to be measured.
    pub fn fixed(self) -> Option<ProcessorChoice> {
        match self {
            Self::Auto => None,
            Self::Cuda => Some(ProcessorChoice::Cuda),
            Self::InQueue => Some(ProcessorChoice::InQueue),
            Self::Host => Some(ProcessorChoice::Host),
        }
    }
}

impl ViewSchedule {
    /// The one that is named; `None`: it is to be measured.
    pub fn fixed(self) -> Option<Schedule> {
        match self {
            Self::Auto => None,
            Self::Serial => Some(Schedule::Serial),
            Self::Pipelined => Some(Schedule::Pipelined),
            Self::CopyBack => Some(Schedule::CopyBack),
        }
    }
}

impl Prefer {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Throughput => "throughput",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is asked for has the names of what it comes to.
    #[test]
    fn names_are_those_of_processors_and_schedules() {
        let name = |value: &dyn Fn() -> Option<clap::builder::PossibleValue>| {
            value().expect("none is hidden").get_name().to_owned()
        };
        for asked in ViewProcessor::value_variants() {
            let fixed = asked.fixed().unwrap_or(ProcessorChoice::Auto);
            assert_eq!(name(&|| asked.to_possible_value()), name(&|| fixed.to_possible_value()));
        }
        for asked in ViewSchedule::value_variants() {
            let fixed = asked.fixed().map_or("auto", Schedule::name);
            assert_eq!(name(&|| asked.to_possible_value()), fixed);
        }
        for prefer in Prefer::value_variants() {
            assert_eq!(name(&|| prefer.to_possible_value()), prefer.name());
        }
    }
}
