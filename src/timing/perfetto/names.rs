//! Names that a trace holds once and then refers to by number.

use std::collections::HashMap;

use super::proto::{DebugAnnotation, InternedData, InternedName};

/// Names of events.
#[derive(Debug)]
pub(super) struct Names {
    events: HashMap<String, u64>,
}

impl Names {
    /// Numbers the names, from 1; one that is there already keeps its number.
    pub fn new(events: impl Iterator<Item = String>) -> Self {
        let mut numbers = HashMap::new();
        for event in events {
            let next = numbers.len() as u64 + 1;
            numbers.entry(event).or_insert(next);
        }
        Self { events: numbers }
    }

    /// The number of an event's name.
    pub fn of(&self, event: &str) -> Option<u64> {
        self.events.get(event).copied()
    }

    /// All names with their numbers, those of notes included.
    pub fn interned(&self) -> InternedData {
        let name = |iid: u64, name: &str| InternedName {
            iid: Some(iid),
            name: Some(name.to_owned()),
        };
        let mut event_names: Vec<_> = self.events.iter().map(|(event, iid)| name(*iid, event)).collect();
        event_names.sort_by_key(|event| event.iid);
        InternedData {
            event_names,
            debug_annotation_names: Topic::ALL.map(|topic| name(topic.iid(), topic.label())).to_vec(),
        }
    }
}

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    /// The frame's number.
    Frame,
    /// Timelines with their values.
    WaitsFor,
    /// Timelines with their values.
    Signals,
    /// Name of the program.
    Application,
    /// What presents.
    PresentRuntime,
    /// Who runs the chain.
    Processor,
    /// How the clocks of Vulkan's device and of the chain are related.
    Clock,
    /// What the host's slices rest on.
    HostSlices,
    /// How far apart a calibration's readings may be.
    Deviation,
}

impl Topic {
    const ALL: [Self; 9] = [
        Self::Frame,
        Self::WaitsFor,
        Self::Signals,
        Self::Application,
        Self::PresentRuntime,
        Self::Processor,
        Self::Clock,
        Self::HostSlices,
        Self::Deviation,
    ];

    fn iid(self) -> u64 {
        self as u64 + 1
    }

    fn label(self) -> &'static str {
        match self {
            Self::Frame => "frame",
            Self::WaitsFor => "waits for",
            Self::Signals => "signals",
            Self::Application => "application",
            Self::PresentRuntime => "present runtime",
            Self::Processor => "processor",
            Self::Clock => "clock",
            Self::HostSlices => "host slices",
            Self::Deviation => "deviation, ns",
        }
    }

    /// A note of a number.
    pub fn number(self, number: u64) -> DebugAnnotation {
        DebugAnnotation {
            name_iid: Some(self.iid()),
            uint_value: Some(number),
            string_value: None,
        }
    }

    /// A note of words.
    pub fn text(self, text: impl Into<String>) -> DebugAnnotation {
        DebugAnnotation {
            name_iid: Some(self.iid()),
            uint_value: None,
            string_value: Some(text.into()),
        }
    }
}
