//! Runs of pointwise steps that become one.

use std::collections::HashMap;
use std::sync::Arc;

use super::Launch;
use super::layout::{Step, Value};
use crate::kernels::effect::Effect;
use crate::kernels::fusion::{Member, lasting};

/// Who has the kernel of a run of neighbours, if anybody has it now.
pub type FusedKernels<'a> = dyn Fn(&[Member]) -> Option<Arc<Effect>> + 'a;

/// Buffers of a launch.
const MOST_BUFFERS: usize = 4;

/// Makes one step of neighbours that can be one and for which there is a kernel.
pub(super) fn fuse(steps: Vec<Step>, kernels: &FusedKernels) -> Vec<Step> {
    let mut uses: HashMap<Value, usize> = HashMap::new();
    for value in steps.iter().flat_map(Step::images) {
        *uses.entry(value).or_default() += 1;
    }
    let mut runs: Vec<Vec<Step>> = Vec::new();
    for step in steps {
        match runs.last_mut() {
            Some(run) if follows(run, &step, &uses) => run.push(step),
            _ => runs.push(vec![step]),
        }
    }
    let one = |run: Vec<Step>| {
        let members: Vec<Member> = run.iter().map(member).collect();
        match (run.len() > 1).then(|| kernels(&members)).flatten() {
            Some(kernel) => vec![merged(run, kernel)],
            None => run,
        }
    };
    runs.into_iter().flat_map(one).collect()
}

fn member(step: &Step) -> Member {
    Member {
        of: Arc::clone(&step.launch.of),
        pass: step.launch.pass,
    }
}

/// Whether the step can be the next of the run: it reads what the run's last writes, which nobody else does, and nothing besides.
/// What an effect keeps is counted by the launch, so only the first may keep something. Two passes of one effect may have to wait
/// for each other, by way of a buffer, and are left apart.
fn follows(run: &[Step], step: &Step, uses: &HashMap<Value, usize>) -> bool {
    let last = &run[run.len() - 1];
    let handed_on = last.destination.filter(|value| !matches!(value, Value::Kept(_)));
    let is_handed_on = handed_on.is_some_and(|value| uses[&value] == 2 && step.sources == [Some(value), None, None]);
    let buffers = run
        .iter()
        .chain([step])
        .map(|step| member(step).buffer_count())
        .sum::<usize>();
    is_handed_on
        && last.launch.description().pointwise
        && step.launch.description().pointwise
        && step.launch.state.is_none()
        && run.iter().all(|other| other.launch.effect != step.launch.effect)
        && buffers <= MOST_BUFFERS
}

/// The run as one step.
fn merged(run: Vec<Step>, kernel: Arc<Effect>) -> Step {
    let (sources, destination) = (run[0].sources, run[run.len() - 1].destination);
    let (effect, state) = (run[0].launch.effect, run[0].launch.state);
    let mut given = run.iter().flat_map(|step| step.launch.buffers).flatten();
    let launch = Launch {
        effect,
        pass: 0,
        fused: Some(lasting(&kernel.name)),
        of: kernel,
        sources: [None; 3],
        destination: None,
        buffers: std::array::from_fn(|_| given.next()),
        zeroes: run.iter().flat_map(|step| step.launch.zeroes.iter().copied()).collect(),
        state,
        parameters: run
            .iter()
            .flat_map(|step| step.launch.parameters.iter().copied())
            .collect(),
    };
    Step {
        launch,
        sources,
        destination,
    }
}
