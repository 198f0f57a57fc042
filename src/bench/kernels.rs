//! How long effects took by themselves, and what bounds them: the file of `handover bench kernels`, and its text.

use serde::{Deserialize, Serialize};

use super::MachineFacts;
use super::interval::median;
use crate::kernels::Arithmetic;
use crate::timing::statistics::sorted;
use crate::timing::table::aligned;

/// All of a bench of kernels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelResults {
    /// What says that a file is one of these.
    pub format: String,
    /// Raised when the meaning of a field changes.
    pub format_version: u32,
    /// The program's version.
    pub handover: String,
    /// When it began, RFC 3339, UTC.
    pub date: String,
    /// Where it ran.
    pub machine: MachineFacts,
    /// What the device can do at most.
    pub limits: Limits,
    /// From which the order was drawn.
    pub seed: u64,
    /// By extent, then in the order of the chain.
    pub effects: Vec<EffectTimes>,
}

impl KernelResults {
    /// Of this program, without a time.
    pub fn new(machine: MachineFacts, limits: Limits, seed: u64) -> Self {
        Self {
            format: "handover bench kernels".into(),
            format_version: 1,
            handover: env!("CARGO_PKG_VERSION").into(),
            date: humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string(),
            machine,
            limits,
            seed,
            effects: Vec::new(),
        }
    }
}

/// What the device can do at most, as measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes a second that a large copy within its memory moves, read and written.
    pub copy_bandwidth: f64,
    /// See [`ArithmeticRates::operations`](crate::cuda::ArithmeticRates::operations).
    pub operations: f64,
    /// See [`ArithmeticRates::special`](crate::cuda::ArithmeticRates::special).
    pub special: f64,
}

/// What keeps an effect from being faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// What it must read and write.
    Bytes,
    /// Its additions and multiplications.
    Operations,
    /// Its exponentials, roots and the like.
    Special,
}

impl Bound {
    fn words(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Operations => "arithmetic",
            Self::Special => "special functions",
        }
    }
}

/// The times of one effect, alone, at one extent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectTimes {
    /// Its name.
    pub effect: String,
    /// Extent of what is shown, texels.
    pub extent: [u32; 2],
    /// Bytes a second that the driver's copy of as many bytes as an image of that extent moves, read and written.
    pub copy_bandwidth: f64,
    /// The fewest bytes that a frame must move.
    pub least_bytes: u64,
    /// What its front matter says of its arithmetic, for a texel.
    pub arithmetic: Arithmetic,
    /// Mean time of a frame in each round, microseconds.
    pub rounds_us: Vec<f64>,
    /// Its launches, each with an event before and after: their names and microseconds.
    pub launches_us: Vec<(String, f64)>,
}

impl EffectTimes {
    /// The median of the rounds, microseconds.
    pub fn median_us(&self) -> f64 {
        median(&self.rounds_us).map_or(f64::NAN, |estimate| estimate.value)
    }

    /// What bounds it on such a device, and the shortest time that this leaves it, microseconds.
    pub fn bound(&self, limits: &Limits) -> (Bound, f64) {
        let texels: f64 = self.extent.iter().map(|length| f64::from(*length)).product();
        let seconds = [
            (Bound::Bytes, self.least_bytes as f64 / self.copy_bandwidth),
            (
                Bound::Operations,
                texels * self.arithmetic.operations / limits.operations,
            ),
            (Bound::Special, texels * self.arithmetic.special / limits.special),
        ];
        let (bound, seconds) = seconds
            .into_iter()
            .max_by(|one, other| one.1.total_cmp(&other.1))
            .expect("there are three");
        (bound, seconds * 1e6)
    }
}

/// The times of every effect beside what its bound leaves it; with `launches`, of each of its launches too.
pub fn text(results: &KernelResults, launches: bool) -> String {
    let KernelResults { machine, limits, .. } = results;
    let cuda = machine.cuda_driver.as_deref().unwrap_or("none");
    let mut text = format!(
        "handover {}, {}, CUDA {cuda}, {}\ncopy {:.0} GB/s, arithmetic {:.1} T/s, special functions {:.2} T/s\n",
        results.handover,
        machine.gpu,
        results.date,
        limits.copy_bandwidth * 1e-9,
        limits.operations * 1e-12,
        limits.special * 1e-12
    );
    let mut extents: Vec<[u32; 2]> = results.effects.iter().map(|times| times.extent).collect();
    extents.dedup();
    for extent in extents {
        let [width, height] = extent;
        let heading = format!("{width}x{height}, µs");
        let copy = results.effects.iter().find(|times| times.extent == extent);
        let copy = copy.map_or(f64::NAN, |times| times.copy_bandwidth * 1e-9);
        text += &format!("\na copy of as many bytes as one image: {copy:.0} GB/s");
        let headings = [
            &heading,
            "median",
            "lowest to highest",
            "MB at least",
            "GB/s",
            "bound",
            "leaves µs",
            "reached",
        ];
        let mut rows = vec![headings.map(str::to_owned)];
        for times in results.effects.iter().filter(|times| times.extent == extent) {
            rows.push(row(times, limits));
            if launches && times.launches_us.len() > 1 {
                rows.extend(times.launches_us.iter().map(|(name, us)| {
                    let mut row = [const { String::new() }; 8];
                    row[0] = format!("  {name}");
                    row[1] = format!("{us:.1}");
                    row
                }));
            }
        }
        text += &format!("\n{}", aligned(&rows));
    }
    text + "\nReached: what its bound leaves an effect, of what it took; bytes are held against the copy of an image. Above 100 %: what one launch wrote was still in the cache for the \
            next.\n"
}

fn row(times: &EffectTimes, limits: &Limits) -> [String; 8] {
    let (bound, least_us) = times.bound(limits);
    let median_us = times.median_us();
    let ascending = sorted(&times.rounds_us);
    let ends = ascending.first().zip(ascending.last());
    [
        times.effect.clone(),
        format!("{median_us:.1}"),
        ends.map_or_else(String::new, |(low, high)| format!("{low:.1} to {high:.1}")),
        format!("{:.1}", times.least_bytes as f64 * 1e-6),
        format!("{:.0}", times.least_bytes as f64 * 1e-3 / median_us),
        bound.words().to_owned(),
        format!("{least_us:.1}"),
        format!("{:.0} %", 100.0 * least_us / median_us),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        copy_bandwidth: 2e12,
        operations: 1e13,
        special: 1e12,
    };

    fn times(operations: f64, special: f64) -> EffectTimes {
        EffectTimes {
            effect: "blur".into(),
            extent: [1000, 1000],
            copy_bandwidth: 1e12,
            least_bytes: 16_000_000,
            arithmetic: Arithmetic { operations, special },
            rounds_us: vec![40.0, 32.0, 50.0],
            launches_us: vec![("blur_rows".into(), 18.0), ("blur_columns".into(), 19.0)],
        }
    }

    #[test]
    fn the_bound_is_what_takes_longest() {
        // 16 MB at 1 TB/s: 16 µs. 10⁶ texels of 100 operations at 10 T/s: 10 µs, of 20 special ones at 1 T/s: 20 µs.
        assert_eq!(times(100.0, 0.0).bound(&LIMITS), (Bound::Bytes, 16.0));
        assert_eq!(times(400.0, 0.0).bound(&LIMITS), (Bound::Operations, 40.0));
        assert_eq!(times(100.0, 20.0).bound(&LIMITS), (Bound::Special, 20.0));
    }

    #[test]
    fn the_text_says_what_was_reached() {
        let machine = MachineFacts {
            gpu: "G".into(),
            uuid: String::new(),
            vulkan_driver: String::new(),
            cuda_driver: None,
            cpu: String::new(),
            cpu_threads: 1,
            build: "release".into(),
        };
        let mut results = KernelResults::new(machine, LIMITS, 1);
        results.effects.push(times(0.0, 0.0));
        let with_launches = text(&results, true);
        let line = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.trim_start().starts_with(name));
            line.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        };
        let expected = "blur 40.0 32.0 to 50.0 16.0 400 bytes 16.0 40 %";
        assert_eq!(line(&with_launches, "blur ").as_deref(), Some(expected));
        assert_eq!(
            line(&with_launches, "blur_columns").as_deref(),
            Some("blur_columns 19.0")
        );
        assert_eq!(line(&text(&results, false), "blur_columns"), None);
        let read: KernelResults =
            serde_json::from_str(&serde_json::to_string(&results).expect("writes")).expect("reads");
        assert_eq!(read, results);
    }
}
