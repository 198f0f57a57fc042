//! `frames.csv` as bytes: pure functions from records to text.

use std::time::Duration;

use csv::Writer;

use crate::timing::columns::{COLUMNS, Cell, effect_cell, effect_column};
use crate::timing::record::FrameRecord;

/// What all rows of one `frames.csv` have in common.
#[derive(Debug, Clone, Default)]
pub struct Sheet {
    /// Name of the program.
    pub application: String,
    /// Identifier of its process.
    pub process_id: u32,
    /// What presents the frames, for instance `Vulkan`.
    pub present_runtime: String,
    /// Names of the effects, in the order of [`FrameRecord::kernels_ms`]; one column each.
    pub effects: Vec<String>,
    /// When the capture's first frame began, since the renderer was made: zero of `CPUStartTimeInMs`.
    pub origin: Duration,
}

impl Sheet {
    /// A sheet of this process. The origin is set by the first frame.
    pub fn of_this_process(present_runtime: &str, effects: &[impl AsRef<str>]) -> Sheet {
        let application = std::env::current_exe()
            .ok()
            .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
            .unwrap_or_else(|| env!("CARGO_PKG_NAME").to_owned());
        Sheet {
            application,
            process_id: std::process::id(),
            present_runtime: present_runtime.to_owned(),
            effects: effects.iter().map(|effect| effect.as_ref().to_owned()).collect(),
            origin: Duration::ZERO,
        }
    }

    /// The names of all columns, in order.
    pub fn names(&self) -> Vec<String> {
        let fixed = COLUMNS.iter().map(|column| column.name.to_owned());
        fixed
            .chain(self.effects.iter().map(|effect| effect_column(effect)))
            .collect()
    }

    /// The first line.
    pub fn header(&self) -> Vec<u8> {
        lines([self.names()])
    }

    /// One line a record.
    pub fn rows(&self, records: &[FrameRecord]) -> Vec<u8> {
        lines(records.iter().map(|record| {
            let fixed = COLUMNS.iter().map(|column| text((column.read)(record, self)));
            fixed
                .chain((0..self.effects.len()).map(|index| text(effect_cell(record, index))))
                .collect()
        }))
    }
}

fn text(cell: Cell<'_>) -> String {
    match cell {
        Cell::Text(words) => words.to_owned(),
        Cell::Number(number) => number.to_string(),
        Cell::Milliseconds(value) => format!("{value:.6}"),
        Cell::Fused(fused) => Vec::from_iter(fused.iter().map(|fused| fused.label)).join(" "),
        Cell::NotAvailable => "NA".to_owned(),
    }
}

fn lines(rows: impl IntoIterator<Item = Vec<String>>) -> Vec<u8> {
    let mut writer = Writer::from_writer(Vec::new());
    for row in rows {
        writer
            .write_record(&row)
            .expect("every row has the columns of the sheet, and memory takes all bytes");
    }
    writer.into_inner().expect("memory takes all bytes")
}

#[cfg(test)]
#[path = "frames_csv_tests.rs"]
mod tests;
