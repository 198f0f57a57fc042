//! How long effects took by themselves, and what bounds them: the file of `handover bench kernels`, and its text.

use serde::{Deserialize, Serialize};

use super::MachineFacts;
use super::interval::median;
use super::need::{Bound, Limits, Need, bound};
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
            format_version: 2,
            handover: env!("CARGO_PKG_VERSION").into(),
            date: humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string(),
            machine,
            limits,
            seed,
            effects: Vec::new(),
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
    /// Mean time of a frame in each round, microseconds.
    pub rounds_us: Vec<f64>,
    /// Its launches, each with an event before and after: their names and microseconds.
    pub launches_us: Vec<(String, f64)>,
    /// What each of its launches needs.
    pub needs: Vec<Need>,
}

impl EffectTimes {
    /// The median of the rounds, microseconds.
    pub fn median_us(&self) -> f64 {
        median(&self.rounds_us).map_or(f64::NAN, |estimate| estimate.value)
    }

    /// What bounds it on such a device, and the shortest time that this leaves it, microseconds: see [`bound`].
    pub fn bound(&self, limits: &Limits) -> (Vec<Bound>, f64) {
        bound(&self.needs, &self.limits(limits))
    }

    /// Bytes are held against the copy of an image of its extent.
    fn limits(&self, limits: &Limits) -> Limits {
        Limits {
            copy_bandwidth: self.copy_bandwidth,
            ..*limits
        }
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
                rows.extend(launch_rows(times, limits));
            }
        }
        text += &format!("\n{}", aligned(&rows));
    }
    text + "\nReached: what its bound leaves an effect, of what it took: the sum of what each launch's leaves it, of bytes held against the copy \
            of an image. Above 100 %: what one launch wrote was still in the cache for the next.\n"
}

/// An effect.
fn row(times: &EffectTimes, limits: &Limits) -> [String; 8] {
    let (bound, least_us) = times.bound(limits);
    let median_us = times.median_us();
    let ascending = sorted(&times.rounds_us);
    let ends = ascending.first().zip(ascending.last());
    let range = ends.map_or_else(String::new, |(low, high)| format!("{low:.1} to {high:.1}"));
    let bytes = times.needs.iter().map(|need| need.bytes).sum();
    let name = times.effect.clone();
    cells(name, (median_us, range), bytes, (&bound, least_us))
}

/// Its launches.
fn launch_rows(times: &EffectTimes, limits: &Limits) -> impl Iterator<Item = [String; 8]> {
    let limits = times.limits(limits);
    times
        .launches_us
        .iter()
        .zip(&times.needs)
        .map(move |((name, us), need)| {
            let (bound, least_us) = need.bound(&limits);
            cells(
                format!("  {name}"),
                (*us, String::new()),
                need.bytes,
                (&[bound], least_us),
            )
        })
}

fn cells(name: String, (us, range): (f64, String), bytes: u64, (bound, least_us): (&[Bound], f64)) -> [String; 8] {
    let words: Vec<&str> = bound.iter().map(|bound| bound.words()).collect();
    [
        name,
        format!("{us:.1}"),
        range,
        format!("{:.1}", bytes as f64 * 1e-6),
        format!("{:.0}", bytes as f64 * 1e-3 / us),
        words.join(", "),
        format!("{least_us:.1}"),
        format!("{:.0} %", 100.0 * least_us / us),
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

    fn times() -> EffectTimes {
        let need = |bytes, operations| Need {
            bytes,
            operations,
            special: 0.0,
        };
        EffectTimes {
            effect: "blur".into(),
            extent: [1000, 1000],
            copy_bandwidth: 1e12,
            rounds_us: vec![40.0, 32.0, 50.0],
            launches_us: vec![("blur_rows".into(), 18.0), ("blur_columns".into(), 16.0)],
            needs: vec![need(12_000_000, 0.0), need(4_000_000, 8e7)],
        }
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
        results.effects.push(times());
        let with_launches = text(&results, true);
        let line = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.trim_start().starts_with(name));
            line.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        };
        let expected = "blur 40.0 32.0 to 50.0 16.0 400 bytes, arithmetic 20.0 50 %";
        assert_eq!(line(&with_launches, "blur ").as_deref(), Some(expected));
        assert_eq!(
            line(&with_launches, "blur_columns").as_deref(),
            Some("blur_columns 16.0 4.0 250 arithmetic 8.0 50 %")
        );
        assert_eq!(line(&text(&results, false), "blur_columns"), None);
        let read: KernelResults =
            serde_json::from_str(&serde_json::to_string(&results).expect("writes")).expect("reads");
        assert_eq!(read, results);
    }
}
