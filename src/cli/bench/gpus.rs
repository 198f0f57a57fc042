//! `handover bench --gpus`: one instance of the program for each GPU, each alone and all at the same time.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command as Program, Stdio};

use anyhow::Context;
use ash::vk;
use fastrand::Rng;

use crate::bench::gpus::{GpuResults, text};
use crate::bench::{Case, LeftOut, Round};
use crate::cuda::Driver;
use crate::interop::VisibleDevices;
use crate::report::NewFile;
use crate::vulkan::{Instance, InstanceRequest, PhysicalDevice};

use super::super::output::print;
use super::super::usage;
use super::axes::Axes;
use super::instance::{Answer, Command, INSTANCE, Ready};
use super::measure::by_size;
use super::options::BenchOptions;

/// Every GPU that there is.
const ALL: &str = "all";

/// Measures, prints and writes.
///
/// # Errors
/// A GPU that there is not; an instance failed.
pub fn run(options: &BenchOptions, wanted: &[String]) -> anyhow::Result<()> {
    let axes = Axes::of(options)?;
    let gpus = gpus(wanted)?;
    if let [only] = &gpus[..] {
        tracing::info!(
            "{} is the only GPU here: it is measured alone, since nothing runs beside it",
            only.name
        );
    }
    let mut instances = gpus
        .iter()
        .map(OpenInstance::start)
        .collect::<anyhow::Result<Vec<_>>>()?;
    let ready = instances
        .iter_mut()
        .map(OpenInstance::ready)
        .collect::<anyhow::Result<Vec<_>>>()?;
    let (cases, left_out) = common(&ready);
    if cases.is_empty() {
        let reasons = left_out
            .iter()
            .map(|left_out| format!("\n  {}: {}", left_out.case, left_out.reason));
        return Err(usage(format!(
            "the GPUs have no case in common{}",
            reasons.collect::<String>()
        )));
    }
    // Each round is one of each alone and one of all.
    let parts = if gpus.len() > 1 { gpus.len() + 1 } else { 1 };
    let slowest = ready.iter().map(|ready| ready.of_each).max().unwrap_or_default();
    let frames = axes.frames(slowest * parts as u32);
    let seconds = slowest.as_secs_f64() * parts as f64 * (frames.0 + frames.1) as f64 * f64::from(axes.rounds);
    tracing::info!(
        "{} instances, {} cases, {} rounds of {} frames each: about {} s",
        gpus.len(),
        cases.len(),
        axes.rounds,
        frames.0,
        seconds.ceil()
    );
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..=u64::from(u32::MAX)));
    let machines = ready.iter().map(|ready| ready.machine.clone()).collect();
    let mut results = GpuResults::new(machines, cases, frames, seed);
    results.left_out = left_out;
    rounds(&mut instances, &ready, axes.rounds, &mut results)?;
    if let Some(path) = &options.json {
        let file = NewFile::create(path).map_err(usage)?;
        let path = file.write(&results.to_json()?).map_err(usage)?;
        tracing::info!("results: {}", path.display());
    }
    print(text(&results).trim_end())
}

/// The GPUs by what was asked for; one may be named twice, for two instances on it.
fn gpus(wanted: &[String]) -> anyhow::Result<Vec<PhysicalDevice>> {
    let instance = Instance::new(&InstanceRequest {
        surface_extensions: Vec::new(),
        validate: false,
        validate_if_present: false,
    })?;
    let visible = VisibleDevices {
        vulkan: instance.physical_devices()?,
        cuda: Driver::load().map(|driver| driver.devices).unwrap_or_default(),
    };
    let choose = |wanted: Option<&str>| visible.choose(wanted, false, |device| device.missing(&[]), |_| true);
    let mut gpus = Vec::new();
    for wanted in wanted {
        if wanted != ALL {
            gpus.push(choose(Some(wanted)).map_err(usage)?);
            continue;
        }
        let is_gpu = |device: &&PhysicalDevice| {
            device.device_type != vk::PhysicalDeviceType::CPU && device.missing(&[]).is_empty()
        };
        let mut all: Vec<PhysicalDevice> = Vec::new();
        for device in visible.vulkan.iter().filter(is_gpu) {
            // A loader may list a GPU of two drivers twice.
            if !all.iter().any(|other| other.uuid == device.uuid) {
                all.push(device.clone());
            }
        }
        if all.is_empty() {
            all.push(choose(None)?);
        }
        gpus.extend(all);
    }
    Ok(gpus)
}

/// The cases that all have, and those that one has not.
fn common(ready: &[Ready]) -> (Vec<Case>, Vec<LeftOut>) {
    let (first, others) = ready.split_first().expect("there is an instance");
    let has = |ready: &Ready, case: &Case| ready.cases.contains(case);
    let (cases, some): (Vec<Case>, Vec<Case>) = first
        .cases
        .iter()
        .cloned()
        .partition(|case| others.iter().all(|ready| has(ready, case)));
    let mut left_out: Vec<LeftOut> = Vec::new();
    for of_one in ready.iter().flat_map(|ready| &ready.left_out) {
        if !left_out.iter().any(|other| other.case == of_one.case) {
            left_out.push(of_one.clone());
        }
    }
    // Another processor: a GPU beside has it, and this one not.
    let also = others
        .iter()
        .flat_map(|ready| &ready.cases)
        .filter(|case| !has(first, case));
    for case in some.iter().chain(also) {
        if !left_out.iter().any(|other| other.case == *case) {
            left_out.push(LeftOut {
                case: case.clone(),
                reason: "not every GPU has this processor".into(),
            });
        }
    }
    (cases, left_out)
}

/// All rounds: by size, each a case alone on each and on all, in an order drawn anew.
fn rounds(
    instances: &mut [OpenInstance],
    ready: &[Ready],
    rounds: u32,
    results: &mut GpuResults,
) -> anyhow::Result<()> {
    let mut rng = Rng::with_seed(results.seed);
    let cases: Vec<Case> = results.cases.iter().map(|case| case.case.clone()).collect();
    let all: Vec<usize> = (0..instances.len()).collect();
    let mut parts: Vec<Vec<usize>> = all.iter().map(|one| vec![*one]).collect();
    parts.extend((all.len() > 1).then_some(all));
    for group in by_size(&cases) {
        for _ in 0..rounds {
            let mut order: Vec<(usize, &Vec<usize>)> = group
                .iter()
                .flat_map(|case| parts.iter().map(|part| (*case, part)))
                .collect();
            rng.shuffle(&mut order);
            for (case, part) in order {
                let measured = round(instances, ready, &cases[case], part, (results.frames, results.warm_up))?;
                for (instance, round) in part.iter().zip(measured) {
                    let kept = &mut results.cases[case];
                    // One alone is a part of one, also where all are one.
                    let of_part = if part.len() > 1 {
                        &mut kept.together
                    } else {
                        &mut kept.alone
                    };
                    of_part[*instance].push(round);
                }
            }
        }
    }
    Ok(())
}

/// One round of those instances at the same time: all are at work before the first is measured, and until the last was.
fn round(
    instances: &mut [OpenInstance],
    ready: &[Ready],
    case: &Case,
    part: &[usize],
    (frames, warm_up): (u64, u64),
) -> anyhow::Result<Vec<Round>> {
    for place in part {
        let of_instance = ready[*place].cases.iter().position(|other| other == case);
        instances[*place].tell(Command::Round {
            case: of_instance.expect("all have it"),
            frames,
            warm_up,
        })?;
    }
    for place in part {
        let answer = instances[*place].answer()?;
        anyhow::ensure!(
            answer == Answer::Warm,
            "an instance said {answer:?} in the place of that it is warm"
        );
    }
    for place in part {
        instances[*place].tell(Command::Go)?;
    }
    let mut measured = Vec::new();
    for place in part {
        match instances[*place].answer()? {
            Answer::Measured(round) => measured.push(round),
            answer => anyhow::bail!("an instance said {answer:?} in the place of what it measured"),
        }
    }
    for place in part {
        instances[*place].tell(Command::Stop)?;
    }
    Ok(measured)
}

/// An instance that was started; it ends with this.
struct OpenInstance {
    gpu: String,
    child: Child,
    /// Closed first: the instance ends when there are no more commands.
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl OpenInstance {
    /// Starts this program again, with the same options. What it has to say goes to standard error, as the bench's own.
    fn start(gpu: &PhysicalDevice) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("find this program")?;
        let mut child = Program::new(&program)
            .args(std::env::args_os().skip(1))
            .env(INSTANCE, gpu.uuid_text())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("start {} for {}", program.display(), gpu.name))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        Ok(Self {
            gpu: format!("{} ({})", gpu.name, gpu.uuid_text()),
            child,
            input,
            output: BufReader::new(output.context("an instance without output")?).lines(),
        })
    }

    fn ready(&mut self) -> anyhow::Result<Ready> {
        match self.answer()? {
            Answer::Ready(ready) => Ok(ready),
            answer => anyhow::bail!("the instance on {} began with {answer:?}", self.gpu),
        }
    }

    fn tell(&mut self, command: Command) -> anyhow::Result<()> {
        let what = || format!("tell the instance on {} {command:?}", self.gpu);
        let line = serde_json::to_string(&command)? + "\n";
        let input = self.input.as_mut().context("an instance without input")?;
        input.write_all(line.as_bytes()).with_context(what)?;
        input.flush().with_context(what)
    }

    fn answer(&mut self) -> anyhow::Result<Answer> {
        match self.output.next().transpose()? {
            Some(line) => serde_json::from_str(&line)
                .with_context(|| format!("the instance on {} said `{line}`, which is no answer", self.gpu)),
            // Its reason is on standard error.
            None => match self.child.wait()?.code() {
                Some(2) => Err(usage(format!("the instance on {} refused the options", self.gpu))),
                Some(code) => anyhow::bail!("the instance on {} failed, with exit code {code}", self.gpu),
                None => anyhow::bail!("the instance on {} was killed", self.gpu),
            },
        }
    }
}

impl Drop for OpenInstance {
    fn drop(&mut self) {
        drop(self.input.take());
        // One that was told nothing more ends by itself, also in the midst of a round.
        if let Err(error) = self.child.wait() {
            tracing::warn!("the instance on {} did not end: {error}", self.gpu);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bench::MachineFacts;
    use crate::live::Fuse;
    use crate::renderer::Schedule;
    use crate::timing::Instrument;

    fn case(processor: &str, frames_in_flight: usize) -> Case {
        Case {
            scene: "none".into(),
            width: 64,
            height: 48,
            chain: Vec::new(),
            processor: processor.into(),
            schedule: Schedule::Pipelined,
            frames_in_flight,
            instrument: Instrument::Off,
            fuse: Fuse::Auto,
        }
    }

    fn ready(cases: Vec<Case>, left_out: Vec<LeftOut>) -> Ready {
        let machine = MachineFacts {
            gpu: String::new(),
            uuid: String::new(),
            vulkan_driver: String::new(),
            cuda_driver: None,
            cpu: String::new(),
            cpu_threads: 1,
            build: "release".into(),
        };
        Ready {
            machine,
            cases,
            left_out,
            of_each: Duration::from_millis(1),
        }
    }

    #[test]
    fn cases_are_those_that_every_gpu_has() {
        let no_memory = LeftOut {
            case: case("cuda", 8),
            reason: "no memory".into(),
        };
        let both = [
            ready(vec![case("cuda", 1), case("cuda", 8), case("in-queue", 1)], Vec::new()),
            ready(vec![case("cuda", 1), case("host", 1)], vec![no_memory.clone()]),
        ];
        let (cases, left_out) = common(&both);
        assert_eq!(cases, [case("cuda", 1)]);
        assert_eq!(left_out[0], no_memory);
        let others: Vec<&Case> = left_out[1..].iter().map(|left_out| &left_out.case).collect();
        assert_eq!(others, [&case("in-queue", 1), &case("host", 1)]);
        assert_eq!(common(&both[..1]).0.len(), 3);
    }

    #[test]
    fn what_is_said_between_instances_is_a_line() {
        let commands = [
            Command::Round {
                case: 3,
                frames: 5,
                warm_up: 0,
            },
            Command::Go,
            Command::Stop,
        ];
        for command in commands {
            let line = serde_json::to_string(&command).expect("writes");
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<Command>(&line).expect("reads"), command);
        }
        let answer = Answer::Ready(ready(vec![case("host", 1)], Vec::new()));
        let line = serde_json::to_string(&answer).expect("writes");
        assert_eq!(serde_json::from_str::<Answer>(&line).expect("reads"), answer);
    }
}
