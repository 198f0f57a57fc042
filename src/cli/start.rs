//! What the program does until its first frame is there, and when: for `-v`, and for `handover bench start`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// A part of the start, in milliseconds since the program's first instruction of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Step {
    /// What is done.
    pub name: String,
    /// When it began.
    pub from_ms: f64,
    /// When it was done.
    pub until_ms: f64,
}

/// A process starts once, so what it did is kept for all of it.
static STEPS: Mutex<Vec<Step>> = Mutex::new(Vec::new());
static BEGAN: OnceLock<Instant> = OnceLock::new();
static IS_OVER: AtomicBool = AtomicBool::new(false);
static IS_TOLD: AtomicBool = AtomicBool::new(false);

/// The program began.
pub(super) fn began() {
    BEGAN.get_or_init(Instant::now);
}

/// The steps are printed on standard output when the first frame is there.
pub(super) fn tell() {
    IS_TOLD.store(true, Ordering::Relaxed);
}

fn now_ms() -> f64 {
    BEGAN.get_or_init(Instant::now).elapsed().as_secs_f64() * 1e3
}

/// Does a part of the start, on whatever thread, and keeps when.
pub(super) fn step<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let from_ms = now_ms();
    let done = work();
    keep(name, from_ms);
    done
}

fn keep(name: &str, from_ms: f64) {
    let step = Step {
        name: name.to_owned(),
        from_ms,
        until_ms: now_ms(),
    };
    STEPS.lock().unwrap_or_else(PoisonError::into_inner).push(step);
}

/// A frame retired: with the first, the start is over. Costs nothing afterwards.
pub(super) fn frame_retired() {
    if IS_OVER.load(Ordering::Relaxed) || IS_OVER.swap(true, Ordering::Relaxed) {
        return;
    }
    let mut steps = STEPS.lock().unwrap_or_else(PoisonError::into_inner);
    steps.sort_by(|one, other| one.from_ms.total_cmp(&other.from_ms));
    let last = steps.iter().map(|step| step.until_ms).fold(0.0, f64::max);
    steps.push(Step {
        name: "first frame".into(),
        from_ms: last,
        until_ms: now_ms(),
    });
    tracing::debug!("{}", text(&steps));
    if IS_TOLD.load(Ordering::Relaxed) {
        let line = serde_json::to_string(&*steps).unwrap_or_default();
        // The reader is the bench, which sees the end of the output if it does not come.
        let _ = super::output::print(line);
    }
}

fn text(steps: &[Step]) -> String {
    let parts = steps
        .iter()
        .map(|step| format!("{} {:.0} to {:.0}", step.name, step.from_ms, step.until_ms));
    let end = steps.last().map_or(f64::NAN, |step| step.until_ms);
    format!(
        "the first frame after {end:.0} ms: {}",
        parts.collect::<Vec<_>>().join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_lasts_as_long_as_its_work_and_the_line_names_all() {
        let from = now_ms();
        let four = step("sleep", || {
            std::thread::sleep(std::time::Duration::from_millis(3));
            4
        });
        assert_eq!(four, 4);
        let steps = STEPS.lock().unwrap();
        let slept = steps.iter().find(|step| step.name == "sleep").unwrap();
        assert!(slept.from_ms >= from && slept.until_ms - slept.from_ms >= 3.0);
        let line = text(&[
            Step {
                name: "device".into(),
                from_ms: 1.0,
                until_ms: 20.4,
            },
            Step {
                name: "first frame".into(),
                from_ms: 20.4,
                until_ms: 30.2,
            },
        ]);
        assert_eq!(
            line,
            "the first frame after 30 ms: device 1 to 20, first frame 20 to 30"
        );
    }
}
