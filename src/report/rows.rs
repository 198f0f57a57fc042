//! `frames.csv` from bytes to times.

use std::path::Path;

use csv::{ReaderBuilder, StringRecord};

use crate::report::error::ReportError;
use crate::report::recording::{Recording, StageTimes};
use crate::timing::columns::{FUSED_COLUMN, effect_column};
use crate::timing::table::{CHAIN, STAGES};

/// The number of a frame.
const FRAME: &str = "frame";
/// When a frame began.
const START: &str = "CPUStartTimeInMs";
/// What says who wrote the table: no other program has these beside each other.
const OURS: [&str; 2] = [FRAME, "waited_for_frame"];
/// Columns that PresentMon has in every version, whatever else it was told to write.
const PRESENT_MON: [&str; 2] = ["Application", "ProcessID"];
/// From one device's clock to another's: below 0 when the relation of the clocks was off by more than the span.
const ACROSS_CLOCKS: [&str; 3] = ["handover_to_cuda_ms", "handover_to_vulkan_ms", "latency_ms"];

/// A stage and where it is in a line.
struct Source {
    column: usize,
    may_be_negative: bool,
    stage: StageTimes,
}

/// Reads the table. Its name and facts are left empty.
///
/// # Errors
///
/// All that can be wrong with its bytes.
pub fn read(path: &Path, bytes: &[u8], effects: &[&str]) -> Result<Recording, ReportError> {
    let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n').map(|last| last + 1) else {
        return Err(ReportError::NoHeader {
            path: path.to_owned(),
            bytes: bytes.len(),
        });
    };
    let mut notes = Vec::new();
    if end < bytes.len() {
        let cut = bytes.len() - end;
        notes.push(format!("the last line is not whole: its {cut} bytes are left out"));
    }
    // Lengths are checked here, where the message can name the line.
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(&bytes[..end]);
    let not_text = |error: csv::Error| ReportError::NotOurs {
        path: path.to_owned(),
        reason: match error.position() {
            Some(position) => format!("line {} is not UTF-8 text", position.line()),
            None => error.to_string(),
        },
    };
    let header = reader.headers().map_err(not_text)?.clone();
    check_header(path, &header)?;
    let position = |name: &str| header.iter().position(|column| column == name);
    let (frame_column, start_column) = (position(FRAME).unwrap_or(0), position(START).unwrap_or(0));
    let mut sources = sources(&header, effects);
    let (mut start_ms, mut last_frame) = (Vec::new(), 0.0);
    let mut first_line = None;
    for line in reader.records() {
        let line = line.map_err(not_text)?;
        check_length(path, &line, header.len())?;
        let cell = Cell {
            path,
            line: &line,
            header: &header,
        };
        let frame = cell.number(frame_column, false)?;
        if frame.is_nan() || frame <= last_frame {
            return Err(cell.wrong(frame_column, "above the frame number of the line before"));
        }
        last_frame = frame;
        let start = cell.number(start_column, false)?;
        if start.is_nan() {
            return Err(cell.wrong(start_column, "a number"));
        }
        start_ms.push(start);
        for source in &mut sources {
            let time = cell.number(source.column, source.may_be_negative)?;
            source.stage.times_ms.push(time);
        }
        first_line.get_or_insert(line);
    }
    let Some(first_line) = first_line else {
        return Err(ReportError::NoFrames { path: path.to_owned() });
    };
    let stages: Vec<_> = sources.into_iter().map(|source| source.stage).collect();
    notes.extend(stages.iter().filter_map(below_zero));
    let text = |name| first_line.get(position(name)?).map(str::to_owned);
    Ok(Recording {
        path: path.to_owned(),
        name: String::new(),
        application: text("Application").unwrap_or_default(),
        present_runtime: text("PresentRuntime").unwrap_or_default(),
        start_ms,
        stages,
        facts: Vec::new(),
        notes,
    })
}

fn check_header(path: &Path, header: &StringRecord) -> Result<(), ReportError> {
    let has = |name: &str| header.iter().any(|column| column == name);
    let needed = [FRAME, START]
        .into_iter()
        .chain(STAGES.iter().map(|stage| stage.column));
    let missing: Vec<String> = needed.filter(|name| !has(name)).map(str::to_owned).collect();
    let path = path.to_owned();
    if !missing.is_empty() {
        if OURS.iter().all(|name| has(name)) {
            return Err(ReportError::OtherVersion { path, columns: missing });
        }
        let lacks = format!("it lacks the columns {}", missing.join(", "));
        let reason = if PRESENT_MON.iter().all(|name| has(name)) {
            format!("it looks like PresentMon's; {lacks}")
        } else {
            lacks
        };
        return Err(ReportError::NotOurs { path, reason });
    }
    for (index, column) in header.iter().enumerate() {
        if header.iter().take(index).any(|before| before == column) {
            let column = column.to_owned();
            return Err(ReportError::ColumnTwice { path, column });
        }
    }
    Ok(())
}

fn check_length(path: &Path, line: &StringRecord, expected: usize) -> Result<(), ReportError> {
    if line.len() == expected {
        return Ok(());
    }
    Err(ReportError::LineLength {
        path: path.to_owned(),
        line: number_of(line),
        found: line.len(),
        expected,
    })
}

/// The known stages with the effects below the chain, then those that are not known.
fn sources(header: &StringRecord, effects: &[&str]) -> Vec<Source> {
    let is_effect = |name: &str| name == FUSED_COLUMN || effects.iter().any(|effect| effect_column(effect) == name);
    let source = |column: usize, title: &str, may_be_negative| Source {
        column,
        may_be_negative,
        stage: StageTimes {
            column: header[column].to_owned(),
            title: title.to_owned(),
            is_effect: is_effect(&header[column]),
            times_ms: Vec::new(),
        },
    };
    let position = |name: &str| header.iter().position(|column| column == name);
    let is_known = |name: &str| name == "start_ms" || STAGES.iter().any(|stage| stage.column == name);
    let mut sources = Vec::new();
    for (index, stage) in STAGES.iter().enumerate() {
        let across = ACROSS_CLOCKS.contains(&stage.column);
        sources.extend(position(stage.column).map(|column| source(column, stage.title, across)));
        if index == CHAIN {
            let columns = effects
                .iter()
                .filter_map(|effect| Some((position(&effect_column(effect))?, effect)));
            sources.extend(columns.map(|(column, effect)| source(column, effect, false)));
            // Captures of earlier versions have none.
            sources.extend(position(FUSED_COLUMN).map(|column| source(column, "fused launches", false)));
        }
    }
    let others = header
        .iter()
        .enumerate()
        .filter(|(_, name)| name.ends_with("_ms") && !is_known(name) && !is_effect(name));
    // Of a column that is not known, neither is whether it may be negative.
    sources.extend(others.map(|(column, name)| source(column, name, true)));
    sources
}

fn below_zero(stage: &StageTimes) -> Option<String> {
    let count = stage.times_ms.iter().filter(|time| **time < 0.0).count();
    let column = &stage.column;
    (count > 0).then(|| format!("{column}: values below 0, where the clocks were further apart than the span: {count}"))
}

/// The values of a line.
struct Cell<'a> {
    path: &'a Path,
    line: &'a StringRecord,
    header: &'a StringRecord,
}

impl Cell<'_> {
    /// A finite number, or NaN for `NA`.
    fn number(&self, column: usize, may_be_negative: bool) -> Result<f64, ReportError> {
        let value = &self.line[column];
        if value == "NA" {
            return Ok(f64::NAN);
        }
        let number: Option<f64> = value.parse().ok().filter(|number: &f64| number.is_finite());
        match number {
            Some(number) if may_be_negative || number >= 0.0 => Ok(number),
            Some(_) => Err(self.wrong(column, "0 or more")),
            None => Err(self.wrong(column, "a number or NA")),
        }
    }

    fn wrong(&self, column: usize, expected: &'static str) -> ReportError {
        ReportError::Value {
            path: self.path.to_owned(),
            line: number_of(self.line),
            column: self.header[column].to_owned(),
            value: self.line[column].to_owned(),
            expected,
        }
    }
}

fn number_of(line: &StringRecord) -> u64 {
    line.position().map_or(0, csv::Position::line)
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
