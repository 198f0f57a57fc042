//! The one table that defines every column of `frames.csv`: its name, unit, meaning and source.
//!
//! PresentMon's columns come first, under PresentMon's names, but only those that mean the same here. The names are
//! the ones its console application writes by default (`WriteCsvHeader<FrameMetrics>` in `PresentMon/CsvOutput.cpp` of
//! GameTechDev/PresentMon, 2.5), and the meanings those of its `README-ConsoleApplication.md`, "CSV columns". Left out,
//! and not filled with `NA`, are those that nothing here measures (when a frame reached the display, input latency,
//! animation error) and those that only Windows has (PresentMode, SwapChainAddress, SyncInterval, PresentFlags).

use crate::timing::frames_csv::Sheet;
use crate::timing::record::{FrameRecord, FusedTime, milliseconds};

/// One column of `frames.csv`.
#[derive(Debug)]
pub struct Column {
    /// The header's word, and the label wherever the value is shown.
    pub name: &'static str,
    /// The values' unit.
    pub unit: Unit,
    /// What is measured, from where to where.
    pub definition: &'static str,
    /// How the value relates to PresentMon's metric of the same name. `None`: the column is Handover's own.
    pub present_mon: Option<&'static str>,
    /// Reads the value. The sheet gives what is the same for all rows.
    pub read: for<'a> fn(&'a FrameRecord, &'a Sheet) -> Cell<'a>,
}

/// What a column's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Words.
    Text,
    /// A whole number that counts or names something.
    Number,
    /// Milliseconds, with six decimals: a nanosecond.
    Milliseconds,
}

impl Unit {
    /// The word in the table of the README.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Text => "text",
            Unit::Number => "number",
            Unit::Milliseconds => "ms",
        }
    }
}

/// One value of one frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// See [`Unit::Text`].
    Text(&'a str),
    /// See [`Unit::Number`].
    Number(u64),
    /// Words: the launches' labels, a space between two.
    Fused(&'a [FusedTime]),
    /// See [`Unit::Milliseconds`].
    Milliseconds(f64),
    /// This machine cannot measure it, or it did not happen in this frame. Written `NA`, as PresentMon does.
    NotAvailable,
}

fn ms<'a>(value: Option<f64>) -> Cell<'a> {
    // A value that is not a number was not measured either.
    value
        .filter(|value| value.is_finite())
        .map_or(Cell::NotAvailable, Cell::Milliseconds)
}

/// The columns of every capture, in order. [`effect_column`] follows once for each effect.
pub static COLUMNS: &[Column] = &[
    Column {
        name: "Application",
        unit: Unit::Text,
        definition: "Name of the program that made the frame.",
        present_mon: Some("same"),
        read: |_, sheet| Cell::Text(&sheet.application),
    },
    Column {
        name: "ProcessID",
        unit: Unit::Number,
        definition: "Identifier of its process.",
        present_mon: Some("same"),
        read: |_, sheet| Cell::Number(sheet.process_id.into()),
    },
    Column {
        name: "PresentRuntime",
        unit: Unit::Text,
        definition: "What presented the frame.",
        present_mon: Some("same; PresentMon knows `DXGI`, `D3D9` and `Other`"),
        read: |_, sheet| Cell::Text(&sheet.present_runtime),
    },
    Column {
        name: "CPUStartTimeInMs",
        unit: Unit::Milliseconds,
        definition: "When the host began this frame, since the capture's first frame began.",
        present_mon: Some(
            "same; PresentMon takes the end of the previous present call where a program does not tell it",
        ),
        read: |record, sheet| ms(Some(milliseconds(record.start.saturating_sub(sheet.origin)))),
    },
    Column {
        name: "MsBetweenPresents",
        unit: Unit::Milliseconds,
        definition: "The frame time: from the previous present call to this one, start to start. \
                     Without a window: from one finished frame handed over to the next.",
        present_mon: Some("same"),
        read: |record, _| ms(record.between_presents_ms),
    },
    Column {
        name: "MsInPresentAPI",
        unit: Unit::Milliseconds,
        definition: "Host: inside the present call; with `--present software`, showing the frame once it has retired.",
        present_mon: Some("same"),
        read: |record, _| ms(record.present_ms),
    },
    Column {
        name: "MsCPUBusy",
        unit: Unit::Milliseconds,
        definition: "Host: from the frame's start to its present call. On one queue that call follows the next frame's \
                     scene.",
        present_mon: Some("same; waits before the present call count as busy there too"),
        read: |record, _| ms(Some(record.until_present_ms)),
    },
    Column {
        name: "MsGPULatency",
        unit: Unit::Milliseconds,
        definition: "From the frame's start on the host to the GPU's first work for it.",
        present_mon: Some("same"),
        read: |record, _| ms(record.gpu_latency_ms),
    },
    Column {
        name: "MsGPUTime",
        unit: Unit::Milliseconds,
        definition: "From the GPU's first work for the frame to its last, `scene_ms` + `handover_to_cuda_ms` + \
                     `chain_ms` + `handover_to_vulkan_ms` + `present_gpu_ms`; the overlay is not part of it.",
        present_mon: Some("same"),
        read: |record, _| ms(record.gpu_time_ms()),
    },
    Column {
        name: "MsGPUBusy",
        unit: Unit::Milliseconds,
        definition: "How long the GPU executed work of this frame: scene, present pass, \
                     and the kernel chain where it runs on the GPU.",
        present_mon: Some("same, of this frame's work alone; PresentMon counts all work of the process"),
        read: |record, _| ms(record.gpu_busy_ms),
    },
    Column {
        name: "MsGPUWait",
        unit: Unit::Milliseconds,
        definition: "How long the GPU did not work on the frame it had begun, `MsGPUTime` - `MsGPUBusy`.",
        present_mon: Some("same, with this frame's `MsGPUBusy`"),
        read: |record, _| ms(record.gpu_wait_ms()),
    },
    Column {
        name: "frame",
        unit: Unit::Number,
        definition: "The frame's number, from 1; the value of every timeline.",
        present_mon: None,
        read: |record, _| Cell::Number(record.frame),
    },
    Column {
        name: "start_ms",
        unit: Unit::Milliseconds,
        definition: "When the host began this frame, since the renderer was made: one axis for all captures of a run.",
        present_mon: None,
        read: |record, _| ms(Some(milliseconds(record.start))),
    },
    Column {
        name: "waited_for_frame",
        unit: Unit::Number,
        definition: "The frame that `slot_wait_ms` waited for: the slot's previous one, so smaller than `frame`, except \
                     under `--schedule serial`, and with one frame in flight copied back or in-queue, where it is the frame itself. \
                     NA while the slot is fresh.",
        present_mon: None,
        read: |record, _| record.waited_for_frame.map_or(Cell::NotAvailable, Cell::Number),
    },
    Column {
        name: "slot_wait_ms",
        unit: Unit::Milliseconds,
        definition: "Host: waiting for the frame in `waited_for_frame` to retire; the host's only wait for the GPU.",
        present_mon: None,
        read: |record, _| ms(record.slot_wait_ms),
    },
    Column {
        name: "acquire_ms",
        unit: Unit::Milliseconds,
        definition: "Host: acquiring the presentable image.",
        present_mon: None,
        read: |record, _| ms(record.acquire_ms),
    },
    Column {
        name: "record_ms",
        unit: Unit::Milliseconds,
        definition: "Host: recording command buffers.",
        present_mon: None,
        read: |record, _| ms(record.record_ms),
    },
    Column {
        name: "submit_ms",
        unit: Unit::Milliseconds,
        definition: "Host: submitting the scene, enqueueing the kernel chain, submitting the present pass; or all at once.",
        present_mon: None,
        read: |record, _| ms(record.submit_ms),
    },
    Column {
        name: "scene_ms",
        unit: Unit::Milliseconds,
        definition: "GPU: the scene, first stamp to last.",
        present_mon: None,
        read: |record, _| ms(record.scene_ms),
    },
    Column {
        name: "handover_to_cuda_ms",
        unit: Unit::Milliseconds,
        definition: "Hand-over from Vulkan to CUDA: the scene's last stamp to the chain's first.",
        present_mon: None,
        read: |record, _| ms(record.handover_to_cuda_ms),
    },
    Column {
        name: "chain_ms",
        unit: Unit::Milliseconds,
        definition: "The kernel chain, first stamp to last, gaps between kernels included; under `--schedule copy-back` with the pass \
                     that makes the screen image, but without the overlay.",
        present_mon: None,
        read: |record, _| ms(record.chain_ms),
    },
    Column {
        name: "handover_to_vulkan_ms",
        unit: Unit::Milliseconds,
        definition: "Hand-over from CUDA to Vulkan: the chain's last stamp to the present's first.",
        present_mon: None,
        read: |record, _| ms(record.handover_to_vulkan_ms),
    },
    Column {
        name: "present_gpu_ms",
        unit: Unit::Milliseconds,
        definition: "GPU: the present, first stamp to last, but for the overlay: the pass that encodes and what carries its picture; \
                     under `--schedule copy-back` the latter alone, on the queue that transfers (NA where that takes no stamps).",
        present_mon: None,
        read: |record, _| ms(record.present_gpu_ms),
    },
    Column {
        name: "overlay_ms",
        unit: Unit::Milliseconds,
        definition: "GPU: drawing the overlay, within the present; under `--schedule copy-back` at the chain's end. NA while it is \
                     hidden. It is in no sum.",
        present_mon: None,
        read: |record, _| ms(record.overlay_ms),
    },
    Column {
        name: "latency_ms",
        unit: Unit::Milliseconds,
        definition: "From the frame's start on the host to the moment it retired.",
        present_mon: None,
        read: |record, _| ms(record.latency_ms),
    },
    Column {
        name: "fused",
        unit: Unit::Text,
        definition: "Launches that ran several effects at once: of each the effects' names joined by `+`, a space between two \
                     launches. NA where there was none.",
        present_mon: None,
        read: |record, _| match record.fused.as_slice() {
            [] => Cell::NotAvailable,
            fused => Cell::Fused(fused),
        },
    },
    Column {
        name: FUSED_COLUMN,
        unit: Unit::Milliseconds,
        definition: "What these launches took, together. It is in no `EFFECT_ms`: one launch's time is not divided.",
        present_mon: None,
        read: |record, _| ms(record.fused_ms()),
    },
];

/// The column of the time of launches that ran several effects at once.
pub const FUSED_COLUMN: &str = "fused_ms";

/// The column that holds an effect's own time in milliseconds: the effect's name and the unit.
pub fn effect_column(effect: &str) -> String {
    format!("{effect}_ms")
}

/// One effect's time. A record with fewer effects than the sheet did not run the others.
pub fn effect_cell<'a>(record: &FrameRecord, effect_index: usize) -> Cell<'a> {
    ms(record.kernels_ms.get(effect_index).copied().flatten())
}

/// The table of all columns in Markdown: the one in the README, between `<!-- columns -->` and `<!-- /columns -->`.
pub fn markdown_table() -> String {
    let mut table = String::from("| column | unit | what it is | PresentMon |\n|---|---|---|---|\n");
    for column in COLUMNS {
        let present_mon = column.present_mon.unwrap_or("");
        table += &format!(
            "| `{}` | {} | {} | {present_mon} |\n",
            column.name,
            column.unit.name(),
            column.definition
        );
    }
    table
        + "| `EFFECT_ms` | ms | One column an effect, named after it: the time of the kernels that it alone ran. NA where there was none. |  |\n"
}
