//! What is recorded for a plan's launches, in order, and where a barrier is needed.
//!
//! Commands of one queue may overlap unless a barrier stands between them. A barrier is needed before what reads or writes
//! anything that was written since the last one, and before what writes anything that was read since.

use std::collections::HashSet;

use crate::kernels::{BufferId, ImageId, Launch, Plan};

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::process) enum Work {
    /// The buffer, an index into [`Plan::buffers`], is set to zero.
    Zero(usize),
    /// The launch of that number.
    Launch(usize),
}

/// One command of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::process) struct Step {
    /// A barrier comes before it.
    pub needs_barrier: bool,
    /// What is done.
    pub work: Work,
}

/// What a command touches. Each of these is memory of its own in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Touched {
    Image(ImageId),
    Buffer(BufferId),
}

/// What one command reads and writes.
#[derive(Debug, Default)]
struct Access {
    reads: Vec<Touched>,
    writes: Vec<Touched>,
}

impl Access {
    fn of_zero(buffer: usize) -> Self {
        Self {
            reads: Vec::new(),
            writes: vec![Touched::Buffer(BufferId::Scratch(buffer))],
        }
    }

    fn of_launch(launch: &Launch) -> Self {
        let mut access = Self::default();
        access
            .reads
            .extend(launch.sources.iter().flatten().copied().map(Touched::Image));
        access.writes.extend(launch.destination.map(Touched::Image));
        for buffer in launch.buffers.iter().flatten() {
            // A pass does not say which of its buffers it writes; a table is never written.
            let touched = match buffer {
                BufferId::Table(_) => &mut access.reads,
                BufferId::Scratch(_) | BufferId::Kept(_) | BufferId::Made(_) => &mut access.writes,
            };
            touched.push(Touched::Buffer(*buffer));
        }
        access
    }
}

/// What was read and written since the last barrier.
#[derive(Debug, Default)]
struct Since {
    read: HashSet<Touched>,
    written: HashSet<Touched>,
}

impl Since {
    fn is_hazard(&self, access: &Access) -> bool {
        let touches_written = |touched: &Touched| self.written.contains(touched);
        access.reads.iter().chain(&access.writes).any(touches_written)
            || access.writes.iter().any(|touched| self.read.contains(touched))
    }
}

/// The commands of a plan's chain. Before the first one a barrier was recorded that is after everything.
pub(in crate::process) fn steps(plan: &Plan) -> Vec<Step> {
    let mut since = Since::default();
    let mut steps = Vec::new();
    let mut push = |work, access: Access| {
        let needs_barrier = since.is_hazard(&access);
        if needs_barrier {
            since = Since::default();
        }
        since.read.extend(access.reads);
        since.written.extend(access.writes);
        steps.push(Step { needs_barrier, work });
    };
    for (number, launch) in plan.launches.iter().enumerate() {
        for buffer in &launch.zeroes {
            push(Work::Zero(*buffer), Access::of_zero(*buffer));
        }
        push(Work::Launch(number), Access::of_launch(launch));
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Chain, Given, catalogue};

    fn access(plan: &Plan, step: &Step) -> Access {
        match step.work {
            Work::Zero(buffer) => Access::of_zero(buffer),
            Work::Launch(number) => Access::of_launch(&plan.launches[number]),
        }
    }

    fn conflict(first: &Access, second: &Access) -> bool {
        let among = |all: &[Touched], some: &[Touched]| all.iter().any(|touched| some.contains(touched));
        among(&first.writes, &second.reads)
            || among(&first.writes, &second.writes)
            || among(&first.reads, &second.writes)
    }

    fn plan(names: &[&str]) -> Plan {
        Chain::with_enabled(catalogue(), names).expect("effects").plan()
    }

    fn every_plan() -> Vec<Plan> {
        let names: Vec<&str> = catalogue()
            .effects()
            .iter()
            .map(|effect| effect.name.as_str())
            .collect();
        let mut plans: Vec<Plan> = names.iter().map(|name| plan(&[*name])).collect();
        let all = Chain::with_enabled(catalogue(), &names).expect("effects");
        for scaled in [false, true] {
            plans.push(all.plan_over(Given {
                guides: true,
                scaled,
                transforms: true,
            }));
        }
        plans
    }

    /// The rule itself, pair by pair: where two steps touch the same memory and one writes it, a barrier stands between them;
    /// and every barrier stands between such two, with no other barrier between them.
    #[test]
    fn a_barrier_stands_between_every_two_that_conflict_and_nowhere_else() {
        for plan in every_plan() {
            let steps = steps(&plan);
            let all: Vec<Access> = steps.iter().map(|step| access(&plan, step)).collect();
            let mut barriers = 0;
            for later in 0..steps.len() {
                let last_barrier = (0..later).rev().find(|step| steps[*step].needs_barrier);
                let since = last_barrier.unwrap_or(0);
                let conflicts = |earlier: &usize| conflict(&all[*earlier], &all[later]);
                assert_eq!(steps[later].needs_barrier, (since..later).any(|step| conflicts(&step)));
                for earlier in (0..later).filter(conflicts) {
                    assert!(
                        steps[earlier + 1..=later].iter().any(|step| step.needs_barrier),
                        "{:?} and {:?} have no barrier between them",
                        steps[earlier],
                        steps[later]
                    );
                }
                barriers += usize::from(steps[later].needs_barrier);
            }
            assert!(barriers < steps.len(), "nothing comes before the first");
        }
    }

    #[test]
    fn every_launch_is_there_once_and_its_buffers_are_zero_before_it() {
        for plan in every_plan() {
            let steps = steps(&plan);
            let launches: Vec<usize> = steps
                .iter()
                .filter_map(|step| match step.work {
                    Work::Launch(number) => Some(number),
                    Work::Zero(_) => None,
                })
                .collect();
            assert_eq!(launches, (0..plan.launches.len()).collect::<Vec<_>>());
            for (number, launch) in plan.launches.iter().enumerate() {
                let at = |work| steps.iter().position(|step| step.work == work);
                for buffer in &launch.zeroes {
                    assert!(at(Work::Zero(*buffer)) < at(Work::Launch(number)));
                }
            }
        }
    }

    #[test]
    fn a_chain_of_one_launch_has_no_barrier_of_its_own_and_two_in_a_row_have_one() {
        let needs =
            |names: &[&str]| -> Vec<bool> { steps(&plan(names)).iter().map(|step| step.needs_barrier).collect() };
        assert_eq!(needs(&[]), [false]);
        assert_eq!(needs(&["tonemap"]), [false]);
        assert_eq!(needs(&["tonemap", "vignette"]), [false, true]);
    }

    /// The buffer of `histogram` is set to zero beside whatever ran before, so that one barrier does for both.
    #[test]
    fn a_buffer_is_zeroed_without_a_barrier_of_its_own() {
        let plan = plan(&["tonemap", "histogram"]);
        let steps = steps(&plan);
        let zero = steps.iter().find(|step| matches!(step.work, Work::Zero(_)));
        assert_eq!(zero.map(|step| step.needs_barrier), Some(false), "{steps:?}");
    }
}
