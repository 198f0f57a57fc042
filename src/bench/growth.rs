//! Cost against pixels: what frames of the same work take, made in the same way, from the smallest extent to the largest.

use crate::timing::statistics::sorted;
use crate::timing::table::aligned;

use super::interval::{Estimate, median, unpaired_ratio};
use super::{Case, CaseRounds, Results};

/// From so many pixels on, which are those of 1080p, a frame's fixed costs (hand-overs, launches) are small beside what each pixel
/// costs.
pub const LARGE: u64 = 1920 * 1080;

/// How cost grows between two neighbouring extents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// By a larger factor than pixels.
    Faster,
    /// By their factor, as far as the rounds can tell.
    AsPixels,
    /// By a smaller one.
    Slower,
    /// There is no interval.
    TooFewRounds,
}

impl Verdict {
    /// Of an exponent: cost is proportional to pixels to the power of it.
    pub fn of(exponent: &Estimate) -> Self {
        match exponent.interval {
            None => Self::TooFewRounds,
            Some([low, _]) if low > 1.0 => Self::Faster,
            Some([_, high]) if high < 1.0 => Self::Slower,
            Some(_) => Self::AsPixels,
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Faster => "faster than pixels",
            Self::AsPixels => "as pixels",
            Self::Slower => "slower than pixels",
            Self::TooFewRounds => "too few rounds",
        }
    }
}

/// The cases of one work and one way, by pixels.
pub struct Series<'a> {
    /// What is the same in all, in words.
    pub name: String,
    /// From the smallest to the largest.
    pub cases: Vec<&'a CaseRounds>,
    /// Extents that were left out, and why.
    pub left_out: Vec<(String, &'a str)>,
}

/// What there is of two extents or more.
pub fn series(results: &Results) -> Vec<Series<'_>> {
    let same = |case: &Case| case.at([0; 2]);
    let mut kinds: Vec<Case> = Vec::new();
    for case in &results.cases {
        if !kinds.contains(&same(&case.case)) {
            kinds.push(same(&case.case));
        }
    }
    let of_kind = |kind: &Case| {
        let mut cases: Vec<&CaseRounds> = results.cases.iter().filter(|case| same(&case.case) == *kind).collect();
        cases.sort_by_key(|case| case.case.pixels());
        let left_out = results.left_out.iter().filter(|other| same(&other.case) == *kind);
        Series {
            name: format!("{}, {}; {}", kind.scene, super::chain_text(&kind.chain), kind.way()),
            cases,
            left_out: left_out
                .map(|other| (other.case.size_text(), other.reason.as_str()))
                .collect(),
        }
    };
    let all = kinds.iter().map(of_kind);
    all.filter(|series| series.cases.len() + series.left_out.len() > 1)
        .collect()
}

/// By which power of pixels cost grows from one case to a larger one, with the interval of their rounds. `None` where they have as many
/// pixels.
pub fn exponent(small: &CaseRounds, large: &CaseRounds) -> Option<Estimate> {
    let pixels = (large.case.pixels() as f64 / small.case.pixels() as f64).ln();
    // Extents are measured one after the other: their rounds are no pairs.
    let ratio = unpaired_ratio(&small.frame_us(), &large.frame_us()).filter(|_| pixels > 0.0)?;
    let of = |ratio: f64| ratio.ln() / pixels;
    Some(Estimate {
        value: of(ratio.value),
        interval: ratio.interval.map(|ends| ends.map(of)),
    })
}

/// A table for each work and way of which there are several extents, and what they show; nothing where there is none.
pub fn text(results: &Results) -> String {
    let all = series(results);
    if all.is_empty() {
        return String::new();
    }
    let mut blocks: Vec<String> = all.iter().map(table).collect();
    blocks.push(
        "Cost is proportional to pixels to the power of what is under growth, from the extent above to that one; its interval is that of \
         the rounds' ratios, which are no pairs. No verdict below 1080p, where frames cost much that no pixel does.\n"
            .into(),
    );
    blocks.join("\n")
}

fn table(series: &Series<'_>) -> String {
    let headings = [
        "cost against pixels",
        "megapixels",
        "µs a frame",
        "lowest to highest",
        "ns a pixel",
        "growth",
        "interval",
        "verdict",
    ];
    let mut rows = vec![headings.map(str::to_owned)];
    let mut verdicts = Vec::new();
    for (place, case) in series.cases.iter().enumerate() {
        let (times, pixels) = (case.frame_us(), case.case.pixels());
        let ascending = sorted(&times);
        let frame_us = median(&times).map_or(f64::NAN, |estimate| estimate.value);
        let before = place.checked_sub(1).map(|before| series.cases[before]);
        let growth = before.and_then(|before| exponent(before, case));
        let is_judged = before.is_some_and(|before| before.case.pixels() >= LARGE);
        let verdict = growth.as_ref().filter(|_| is_judged).map(Verdict::of);
        verdicts.extend(verdict);
        rows.push([
            case.case.size_text(),
            format!("{:.2}", pixels as f64 * 1e-6),
            format!("{frame_us:.1}"),
            format!("{:.1} to {:.1}", ascending[0], ascending[ascending.len() - 1]),
            format!("{:.4}", frame_us * 1e3 / pixels as f64),
            growth.map_or_else(String::new, |growth| format!("{:.3}", growth.value)),
            growth.map_or_else(String::new, |growth| {
                let ends = growth.interval.map(|[low, high]| format!("{low:.3} to {high:.3}"));
                ends.unwrap_or("NA".into())
            }),
            verdict.map_or("", Verdict::words).to_owned(),
        ]);
    }
    for (size, _) in &series.left_out {
        let mut row = [const { String::new() }; 8];
        row[0].clone_from(size);
        row[2] = "left out".into();
        rows.push(row);
    }
    let reasons = series
        .left_out
        .iter()
        .map(|(size, reason)| format!("{size} is left out: {reason}\n"));
    format!(
        "{}\n{}{}{}",
        series.name,
        aligned(&rows),
        reasons.collect::<String>(),
        summary(&verdicts)
    )
}

/// What the steps above 1080p show together.
fn summary(verdicts: &[Verdict]) -> String {
    let all = verdicts.len();
    if all == 0 {
        return String::new();
    }
    if verdicts.contains(&Verdict::TooFewRounds) {
        return "How cost grows above 1080p cannot be told from so few rounds.\n".into();
    }
    match verdicts.iter().filter(|verdict| **verdict == Verdict::Faster).count() {
        0 => format!("Above 1080p cost grows no faster than pixels, in {all} of {all} steps.\n"),
        faster => format!("Above 1080p cost grows faster than pixels in {faster} of {all} steps.\n"),
    }
}

#[cfg(test)]
#[path = "growth_tests.rs"]
pub(super) mod tests;
