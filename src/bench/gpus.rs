//! What GPUs take from one another: the file of `handover bench --gpus`, and its text.

use serde::{Deserialize, Serialize};

use crate::timing::table::aligned;

use super::interval::{median, paired_ratio};
use super::{Case, LeftOut, MachineFacts, Round};

/// All of a bench of several GPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GpuResults {
    /// What says that a file is one of these.
    pub format: String,
    /// Raised when the meaning of a field changes.
    pub format_version: u32,
    /// The program's version.
    pub handover: String,
    /// When it began, RFC 3339, UTC.
    pub date: String,
    /// Where each instance of the program ran.
    pub instances: Vec<MachineFacts>,
    /// Frames of a round.
    pub frames: u64,
    /// Frames before each round that are not measured, at least.
    pub warm_up: u64,
    /// From which the order was drawn.
    pub seed: u64,
    /// The cases that all instances have.
    pub cases: Vec<GpuCase>,
    /// Those that one of them cannot have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// A case with its rounds on each GPU. Rounds of the same number ran one after the other, in an order drawn anew.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GpuCase {
    /// The case.
    #[serde(flatten)]
    pub case: Case,
    /// By instance, while the others did nothing.
    pub alone: Vec<Vec<Round>>,
    /// By instance, while all others rendered the same; empty where there is but one.
    pub together: Vec<Vec<Round>>,
}

impl GpuResults {
    /// Of this program, without a round.
    pub fn new(instances: Vec<MachineFacts>, cases: Vec<Case>, (frames, warm_up): (u64, u64), seed: u64) -> Self {
        let count = instances.len();
        let several = if count > 1 { count } else { 0 };
        let of_case = |case: Case| GpuCase {
            case,
            alone: vec![Vec::new(); count],
            together: vec![Vec::new(); several],
        };
        Self {
            format: "handover bench gpus".into(),
            format_version: 1,
            handover: env!("CARGO_PKG_VERSION").into(),
            date: humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string(),
            instances,
            frames,
            warm_up,
            seed,
            cases: cases.into_iter().map(of_case).collect(),
            left_out: Vec::new(),
        }
    }

    /// As it is written.
    ///
    /// # Errors
    /// None that results have; the caller need not rely on it.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// The frame times of rounds, microseconds.
fn frame_us(rounds: &[Round]) -> Vec<f64> {
    rounds.iter().map(|round| round.frame_us).collect()
}

/// Each case: the time of a frame on each GPU alone and together, and what all make together of what they make alone.
pub fn text(results: &GpuResults) -> String {
    let mut text = format!("handover {}, {}\n", results.handover, results.date);
    for (number, machine) in results.instances.iter().enumerate() {
        text += &format!(
            "instance {number}: {}, {}, {}\n",
            machine.gpu, machine.uuid, machine.vulkan_driver
        );
    }
    let rounds = results.cases.first().map_or(0, |case| case.alone[0].len());
    text += &format!(
        "{rounds} rounds of {} frames after {} that are not counted, seed {}\n",
        results.frames, results.warm_up, results.seed
    );
    for case in &results.cases {
        text += &format!("\n{}\n{}", case.case, table(case));
        text += &sum(case).unwrap_or_default();
    }
    for LeftOut { case, reason } in &results.left_out {
        text += &format!("\nleft out: {case}: {reason}\n");
    }
    if results.instances.len() > 1 {
        text += "\nTogether: while all instances render the same, which they begin before the first one is measured and end after the \
                 last. Ratios are of rounds of the same number, with the interval of their median; it takes 6 rounds.\n";
    }
    text
}

fn table(case: &GpuCase) -> String {
    let headings = ["µs a frame", "alone", "together", "ratio", "interval", "verdict"];
    let mut rows = vec![headings.map(str::to_owned)];
    for (instance, alone) in case.alone.iter().enumerate() {
        let alone = frame_us(alone);
        let together = case.together.get(instance).map(|rounds| frame_us(rounds));
        let ratio = together.as_ref().and_then(|together| paired_ratio(&alone, together));
        let of = |times: &[f64]| median(times).map_or("NA".into(), |median| format!("{:.1}", median.value));
        rows.push([
            format!("instance {instance}"),
            of(&alone),
            together.as_deref().map_or("NA".into(), of),
            ratio.map_or("NA".into(), |ratio| format!("{:.4}", ratio.value)),
            ratio
                .and_then(|ratio| ratio.interval)
                .map_or("NA".into(), |[low, high]| format!("{low:.4} to {high:.4}")),
            ratio.map_or(String::new(), |ratio| ratio.verdict().words().to_owned()),
        ]);
    }
    aligned(&rows)
}

/// Frames a second of all together, and of each alone added up.
fn sum(case: &GpuCase) -> Option<String> {
    let rate = |rounds: &[Vec<Round>]| -> Option<f64> {
        let rates = rounds.iter().map(|rounds| Some(1e6 / median(&frame_us(rounds))?.value));
        rates.sum()
    };
    let (alone, together) = (
        rate(&case.alone)?,
        rate(&case.together).filter(|_| !case.together.is_empty())?,
    );
    Some(format!(
        "all together {together:.1} frames a second, {:.1} % of the {alone:.1} that they make one at a time\n",
        100.0 * together / alone
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::growth::tests::{case, results};

    fn rounds(us: f64) -> Vec<Round> {
        [0.99, 1.0, 1.01, 0.995, 1.005, 1.002]
            .map(|share| Round {
                frame_us: us * share,
                ..Round::default()
            })
            .into()
    }

    fn of_instances(count: usize) -> GpuResults {
        let machine = results(&[(case([64, 64], 1), 1.0)]).machine;
        GpuResults::new(vec![machine; count], vec![case([64, 64], 3)], (10, 1), 7)
    }

    #[test]
    fn what_instances_take_from_each_other_is_a_ratio_of_pairs() {
        let mut results = of_instances(2);
        results.cases[0].alone = vec![rounds(100.0), rounds(100.0)];
        results.cases[0].together = vec![rounds(100.0), rounds(125.0)];
        let text = text(&results);
        let row = |number: usize| {
            let line = text
                .lines()
                .rfind(|line| line.starts_with(&format!("instance {number} ")));
            line.expect("a row").split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            row(0),
            "instance 0 100.1 100.1 1.0000 1.0000 to 1.0000 no difference seen"
        );
        assert_eq!(row(1), "instance 1 100.1 125.1 1.2500 1.2500 to 1.2500 slower");
        // 9990 and 7992 of 9990 twice.
        assert!(
            text.contains("all together 17982.0 frames a second, 90.0 % of the 19980.0"),
            "{text}"
        );
        let read: GpuResults = serde_json::from_str(&results.to_json().expect("writes")).expect("reads");
        assert_eq!((read.cases.len(), read.cases[0].together.len()), (1, 2));
    }

    #[test]
    fn one_instance_has_no_together() {
        let mut results = of_instances(1);
        results.cases[0].alone = vec![rounds(100.0)];
        assert!(results.cases[0].together.is_empty());
        let text = text(&results);
        assert!(
            text.contains("instance 0") && !text.contains("all together") && !text.contains("Together:"),
            "{text}"
        );
    }
}
