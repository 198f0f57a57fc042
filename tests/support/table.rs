//! A capture's `frames.csv`, as tests read it.

use std::path::Path;

use handover::kernels::catalogue;

/// A `frames.csv`.
pub struct Table {
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub fn read(path: &Path) -> Self {
        let mut reader = csv::Reader::from_path(path).unwrap();
        let header = reader.headers().unwrap().iter().map(str::to_owned).collect();
        let rows = reader
            .records()
            .map(|row| row.unwrap().iter().map(str::to_owned).collect())
            .collect();
        Self { header, rows }
    }

    /// The host never waited for the frame it was making, as pipelined frames never do.
    pub fn check_waits(&self) {
        let frames = numbers(&self.column("frame"));
        for (frame, waited_for) in frames.iter().zip(self.column("waited_for_frame")) {
            assert!(
                waited_for == "NA" || waited_for.parse::<u64>().unwrap() < *frame,
                "frame {frame} waited for {waited_for}"
            );
        }
    }

    /// The values of a column.
    pub fn column(&self, name: &str) -> Vec<&str> {
        let index = self.header.iter().position(|column| column == name);
        let index = index.unwrap_or_else(|| panic!("no column {name} in {:?}", self.header));
        self.rows.iter().map(|row| row[index].as_str()).collect()
    }

    /// What holds in every capture: the README's columns, frames one after the other, and `NA` where an effect did not
    /// run.
    pub fn check(&self, active: &[&str]) {
        assert_eq!(self.header, columns_of_the_readme());
        let frames: Vec<u64> = numbers(&self.column("frame"));
        assert!(!frames.is_empty(), "no rows");
        let first = frames[0];
        assert_eq!(frames, (first..first + frames.len() as u64).collect::<Vec<_>>());
        for effect in catalogue().effects() {
            let runs = active.contains(&effect.name.as_str());
            for value in self.column(&format!("{}_ms", effect.name)) {
                assert_eq!(value != "NA", runs, "{}: {value}", effect.name);
                assert!(!runs || value.parse::<f64>().unwrap() > 0.0, "{}: {value}", effect.name);
            }
        }
    }
}

/// The values as numbers.
pub fn numbers(values: &[&str]) -> Vec<u64> {
    values.iter().map(|value| value.parse().unwrap()).collect()
}

fn columns_of_the_readme() -> Vec<String> {
    let readme = include_str!("../../README.md");
    let (_, rest) = readme.split_once("<!-- columns -->").unwrap();
    let (table, _) = rest.split_once("<!-- /columns -->").unwrap();
    table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .flat_map(|(name, _)| match name.strip_prefix("EFFECT") {
            Some(suffix) => catalogue()
                .effects()
                .iter()
                .map(|effect| format!("{}{suffix}", effect.name))
                .collect(),
            None => vec![name.to_owned()],
        })
        .collect()
}
