//! GPU memory against frames in flight.

use crate::timing::table::aligned;

use super::{Case, CaseRounds, CountedBy, Results};

const MEBIBYTE: f64 = 1_048_576.0;

/// The cases of one work and one way at one extent, by frames in flight.
pub struct Series<'a> {
    /// What is the same in all, in words; without the extent.
    pub name: String,
    /// The extent.
    pub size: String,
    /// Texels of a frame.
    pub pixels: u64,
    /// From the fewest frames in flight to the most; the memory of all was measured.
    pub cases: Vec<&'a CaseRounds>,
    /// Frames in flight that were left out, and why.
    pub left_out: Vec<(usize, &'a str)>,
}

impl CaseRounds {
    /// What its renderer takes, MiB.
    pub fn memory_mib(&self) -> Option<f64> {
        Some(self.memory?.bytes as f64 / MEBIBYTE)
    }
}

/// What there is of two numbers of frames in flight or more.
pub fn series(results: &Results) -> Vec<Series<'_>> {
    let same = |case: &Case| Case {
        frames_in_flight: 0,
        ..case.clone()
    };
    let mut kinds: Vec<Case> = Vec::new();
    let measured = results.cases.iter().filter(|case| case.memory.is_some());
    let asked_for = measured
        .map(|case| &case.case)
        .chain(results.left_out.iter().map(|left_out| &left_out.case));
    for case in asked_for {
        if !kinds.contains(&same(case)) {
            kinds.push(same(case));
        }
    }
    let of_kind = |kind: &Case| {
        let of_it = results
            .cases
            .iter()
            .filter(|case| same(&case.case) == *kind && case.memory.is_some());
        let mut cases: Vec<&CaseRounds> = of_it.collect();
        cases.sort_by_key(|case| case.case.frames_in_flight);
        let left_out = results.left_out.iter().filter(|other| same(&other.case) == *kind);
        Series {
            name: format!(
                "{}, {}; {}, {}",
                kind.scene,
                super::chain_text(&kind.chain),
                kind.processor,
                kind.schedule.name()
            ),
            size: kind.size_text(),
            pixels: kind.pixels(),
            cases,
            left_out: left_out
                .map(|other| (other.case.frames_in_flight, other.reason.as_str()))
                .collect(),
        }
    };
    let all = kinds.iter().map(of_kind);
    let has_several = |series: &Series<'_>| series.cases.len() + series.left_out.len() > 1;
    // Where nothing was measured, reasons alone are no table of memory.
    let is_measured = results.cases.iter().any(|case| case.memory.is_some());
    all.filter(|series| is_measured && has_several(series)).collect()
}

/// A table of all, and what was left out; nothing where no memory was measured.
pub fn text(results: &Results) -> String {
    let all = series(results);
    let Some(counted_by) = results.cases.iter().find_map(|case| case.memory) else {
        return String::new();
    };
    if all.is_empty() {
        return String::new();
    }
    let headings = [
        "memory against frames in flight",
        "extent",
        "in flight",
        "MiB",
        "MiB a frame more",
        "bytes a pixel of it",
    ];
    let mut rows = vec![headings.map(str::to_owned)];
    let mut reasons = String::new();
    for series in &all {
        let start = |in_flight: usize| [series.name.clone(), series.size.clone(), in_flight.to_string()];
        for (place, case) in series.cases.iter().enumerate() {
            let [name, size, in_flight] = start(case.case.frames_in_flight);
            let more = place
                .checked_sub(1)
                .and_then(|before| a_frame_more(series.cases[before], case));
            let text = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.1}"));
            rows.push([
                name,
                size,
                in_flight,
                text(case.memory_mib()),
                text(more),
                text(more.map(|mib| mib * MEBIBYTE / series.pixels as f64)),
            ]);
        }
        for (in_flight, reason) in &series.left_out {
            let [name, size, count] = start(*in_flight);
            reasons += &format!("{size}, {in_flight} in flight is left out: {reason}\n");
            rows.push([name, size, count, "left out".into(), String::new(), String::new()]);
        }
    }
    let counted_by = match counted_by.counted_by {
        CountedBy::Cuda => {
            "as CUDA counts it (cuMemGetInfo), which is all that is taken on the GPU, by other programs too"
        }
        CountedBy::Vulkan => "as Vulkan counts it for the process (VK_EXT_memory_budget)",
        CountedBy::Allocator => {
            "as the renderer asked for it, of any kind and in blocks of up to 256 MiB: the driver does not count (VK_EXT_memory_budget)"
        }
    };
    format!(
        "{}{reasons}Memory: what a renderer takes with its images, its kernels and what the chain keeps, {counted_by}. The chain's own \
         images and buffers are there once, whatever is in flight.\n",
        aligned(&rows)
    )
}

/// What each further frame in flight takes, MiB.
fn a_frame_more(fewer: &CaseRounds, more: &CaseRounds) -> Option<f64> {
    let frames = more.case.frames_in_flight.checked_sub(fewer.case.frames_in_flight)?;
    Some((more.memory_mib()? - fewer.memory_mib()?) / frames as f64)
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
