//! Results as plain text.

use crate::timing::statistics::{percentile, sorted};
use crate::timing::table::aligned;

use super::interval::{CONFIDENCE, Estimate, median, paired_ratio, unpaired_ratio};
use super::{CaseRounds, Results, Round, growth, memory};

/// Every case, those of the same work together, each beside the first of them; then how cost and memory grow, where that was measured.
pub fn results(results: &Results) -> String {
    let mut blocks = vec![heading(results)];
    for group in groups(results) {
        blocks.push(format!(
            "{}\n{}{}",
            group[0].case.work(),
            frame_times(&group),
            stages(&group)
        ));
    }
    let percent = 100.0 * CONFIDENCE;
    blocks.push(format!(
        "Ratios are to the first case of a block, of rounds of the same number. An interval holds the true value with at least \
         {percent} % confidence, by the order of the rounds alone; it takes 6 rounds. No difference is called whose interval \
         holds 1.\n"
    ));
    let growth = [growth::text(results), memory::text(results)];
    let is_said = |reason: &str| growth.iter().any(|text| text.contains(reason));
    let others = results.left_out.iter().filter(|other| !is_said(&other.reason));
    let others: String = others
        .map(|other| format!("left out: {}: {}\n", other.case, other.reason))
        .collect();
    blocks.extend(growth.into_iter().chain([others]).filter(|text| !text.is_empty()));
    blocks.join("\n")
}

fn heading(results: &Results) -> String {
    let Results { machine, frames, .. } = results;
    let rounds = results.cases[0].rounds.len();
    let cuda = machine.cuda_driver.as_ref();
    format!(
        "handover {}, {}, {}{}, {}, {}\n{rounds} rounds of {frames} frames after {} that are not counted, seed {}\n",
        results.handover,
        machine.gpu,
        machine.vulkan_driver,
        cuda.map(|version| format!(", CUDA {version}")).unwrap_or_default(),
        machine.cpu,
        results.date,
        results.warm_up,
        results.seed
    )
}

/// The cases of each work, in the order in which they come first.
fn groups(results: &Results) -> Vec<Vec<&CaseRounds>> {
    let mut groups: Vec<Vec<&CaseRounds>> = Vec::new();
    for case in &results.cases {
        let work = case.case.work();
        match groups.iter_mut().find(|group| group[0].case.work() == work) {
            Some(group) => group.push(case),
            None => groups.push(vec![case]),
        }
    }
    groups
}

fn frame_times(group: &[&CaseRounds]) -> String {
    let headings = [
        "µs a frame",
        "median",
        "interval",
        "lowest to highest",
        "ratio",
        "interval",
        "verdict",
    ];
    let mut rows = vec![headings.map(str::to_owned)];
    let base = group[0].frame_us();
    for (place, case) in group.iter().enumerate() {
        let times = case.frame_us();
        let ascending = sorted(&times);
        let range = [ascending[0], ascending[ascending.len() - 1]];
        let [value, interval] = estimate(median(&times), 1);
        let ratio = paired_ratio(&base, &times).filter(|_| place > 0);
        let [ratio_value, ratio_interval] = estimate(ratio, 4);
        let verdict = ratio.map_or("", |ratio| ratio.verdict().words());
        rows.push([
            case.case.way(),
            value,
            interval,
            span(range, 1),
            ratio_value,
            ratio_interval,
            verdict.to_owned(),
        ]);
    }
    aligned(&rows)
}

/// A stage: its heading, and its time in a round.
type Stage = (&'static str, fn(&Round) -> Option<f64>);

/// Medians of the stages. Nothing where none was measured.
fn stages(group: &[&CaseRounds]) -> String {
    const STAGES: [Stage; 7] = [
        ("scene", |round| round.scene_ms),
        ("to CUDA", |round| round.handover_to_cuda_ms),
        ("chain", |round| round.chain_ms),
        ("to Vulkan", |round| round.handover_to_vulkan_ms),
        ("present", |round| round.present_gpu_ms),
        ("latency", |round| round.latency_ms),
        ("host", |round| round.host_ms),
    ];
    let mut rows = vec![[""; 8].map(str::to_owned)];
    rows[0][0] = "ms, median".into();
    for (place, (name, _)) in STAGES.iter().enumerate() {
        rows[0][place + 1] = (*name).into();
    }
    let mut is_measured = false;
    for case in group {
        let mut row = [const { String::new() }; 8];
        row[0] = case.case.way();
        for (place, (_, read)) in STAGES.iter().enumerate() {
            let times: Vec<f64> = case.rounds.iter().filter_map(read).collect();
            let median = percentile(&sorted(&times), 50.0);
            is_measured |= median.is_some();
            row[place + 1] = median.map_or("NA".into(), |median| format!("{median:.4}"));
        }
        rows.push(row);
    }
    if is_measured { aligned(&rows) } else { String::new() }
}

/// What of `results` differs from `base`, case by case.
pub fn comparison(base: &Results, results: &Results) -> String {
    let mut text = format!(
        "against the bench of {}, handover {}, {} frames a round\n",
        base.date, base.handover, base.frames
    );
    for [name, here, there] in results.machine.differences(&base.machine) {
        text += &format!("not the same: {name}: {here} against {there}\n");
    }
    for (name, here, there) in [
        ("frames a round", results.frames, base.frames),
        ("frames of warm-up", results.warm_up, base.warm_up),
    ] {
        if here != there {
            text += &format!("not the same: {name}: {here} against {there}\n");
        }
    }
    let headings = ["µs a frame", "then", "now", "ratio", "interval", "verdict"];
    let mut rows = vec![headings.map(str::to_owned)];
    for case in &results.cases {
        let Some(then) = base.cases.iter().find(|other| other.case == case.case) else {
            text += &format!("not in the file: {}\n", case.case);
            continue;
        };
        let (then, now) = (then.frame_us(), case.frame_us());
        let ratio = unpaired_ratio(&then, &now);
        let [value, interval] = estimate(ratio, 4);
        let verdict = ratio.map_or("", |ratio| ratio.verdict().words());
        let median = |times: &[f64]| estimate(median(times), 1)[0].clone();
        rows.push([
            case.case.to_string(),
            median(&then),
            median(&now),
            value,
            interval,
            verdict.to_owned(),
        ]);
    }
    for then in &base.cases {
        if !results.cases.iter().any(|case| case.case == then.case) {
            text += &format!("only in the file: {}\n", then.case);
        }
    }
    text + &aligned(&rows)
        + "The intervals hold what the rounds of each bench differ in, not what two runs of a program differ in: the GPU's \
           temperature, where memory lies.\n"
}

/// A value and its interval.
fn estimate(estimate: Option<Estimate>, decimals: usize) -> [String; 2] {
    let Some(Estimate { value, interval }) = estimate else {
        return [String::new(), String::new()];
    };
    let interval = interval.map_or("NA".to_owned(), |interval| span(interval, decimals));
    [format!("{value:.decimals$}"), interval]
}

fn span([low, high]: [f64; 2], decimals: usize) -> String {
    format!("{low:.decimals$} to {high:.decimals$}")
}
