//! The CUDA guide's interop chapter, section 4.19.2.1.2: which Vulkan device and which CUDA device are the same GPU.
//!
//! Proves that the pair is found by UUID and by nothing else, that `CUDA_VISIBLE_DEVICES` changes CUDA's list and not
//! Vulkan's, and that without a pair the choice is refused, with both lists in the message.
//!
//! ```text
//! Vulkan  0 ── deviceUUID ──┐                    CUDA  0 ── cuDeviceGetUuid ──┐
//!         1 ── deviceUUID ──┼── equal? a pair ────────────────────────────────┤
//!         2 ── deviceUUID ──┘                          1 ── cuDeviceGetUuid ──┘
//!
//! child, CUDA_VISIBLE_DEVICES=""            Vulkan's list as before, CUDA's empty: refused
//! child, CUDA_VISIBLE_DEVICES=GPU-invented  the same
//! child, CUDA_VISIBLE_DEVICES=GPU-the pair  CUDA's list has the one, as ordinal 0: the pair as before
//! ```

use std::io::Write as _;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, ensure};
use handover::cuda::{CudaDevice, Driver};
use handover::interop::{Candidate, Error, choose_device, open_descriptors, uuid_text};
use handover::proof::{Verdict, conclude};
use handover::vulkan::{DeviceRequest, Instance, InstanceRequest, PhysicalDevice};

/// Set for the child, to the UUID of the pair: it says what it sees of it, and nothing else.
pub const CHILD: &str = "HANDOVER_MATCH_DEVICES_CHILD";
/// What the child says begins after this line. Before it may be what a host program prints.
const ANSWER: &str = "what the child sees:";

/// The example as a program.
pub fn main() -> ExitCode {
    conclude("match_devices", run)
}

/// Runs the example.
///
/// # Errors
/// A pair where there must be none, or none where there must be one.
pub fn run() -> anyhow::Result<Verdict> {
    if let Ok(wanted) = std::env::var(CHILD) {
        answer(&wanted)?;
        // The child is this program once more: it must not go on to do what the parent does.
        std::process::exit(0);
    }
    // CUDA first: without it there is nothing to match. The reason is the first line, the others say what to do.
    let driver = match Driver::load() {
        Ok(driver) => driver,
        Err(reason) => return Ok(Verdict::Skip(first_line(&reason.to_string()))),
    };
    // Loading a driver opens descriptors that stay open for the life of the process: they are not ours to count.
    match Instance::new(&InstanceRequest::default()).and_then(|instance| instance.physical_devices()) {
        Ok(_) => {}
        Err(reason) => return Ok(Verdict::Skip(first_line(&reason.to_string()))),
    }
    let descriptors = open_descriptors()?;

    let instance = Instance::new(&InstanceRequest {
        validate_if_present: true,
        ..InstanceRequest::default()
    })?;
    let vulkan = instance.physical_devices()?;
    for device in &vulkan {
        println!("Vulkan {}  {}  {}", device.index, uuid_text(&device.uuid), device.name);
    }
    for device in &driver.devices {
        println!(
            "CUDA   {}  {}  {}",
            device.ordinal,
            uuid_text(&device.uuid),
            device.name
        );
    }

    // The pair. A CUDA device that Vulkan does not list, as in a container without graphics, is no fault of ours.
    let (pair, twin) = match choose(&vulkan, &driver.devices, None) {
        Ok(Candidate {
            vulkan,
            cuda: Some(cuda),
            ..
        }) => (vulkan, cuda),
        Ok(_) => anyhow::bail!("expected a CUDA device with the choice, since it was needed; there is none"),
        Err(reason) => return Ok(Verdict::Skip(reason.to_string().replace('\n', " "))),
    };
    ensure!(
        pair.uuid == twin.uuid,
        "expected one UUID on both sides, saw {} and {}",
        uuid_text(&pair.uuid),
        uuid_text(&twin.uuid)
    );
    let uuid = uuid_text(&pair.uuid);
    println!("the pair: Vulkan {} is CUDA {}, {uuid}", pair.index, twin.ordinal);

    // A UUID that no GPU has, though it is one bit from one that is there.
    let mut invented = pair.uuid;
    invented[15] ^= 1;
    let invented = uuid_text(&invented);
    refused(
        choose(&vulkan, &driver.devices, Some(&format!("GPU-{invented}"))),
        &vulkan,
        &["no GPU matches", &invented, &uuid_text(&twin.uuid)],
    )?;

    // A CUDA device that is like the twin in all but the UUID: neither its name nor its ordinal makes it the pair.
    let mut stranger = twin.clone();
    stranger.uuid[15] ^= 1;
    refused(
        choose(&vulkan, std::slice::from_ref(&stranger), Some(&uuid)),
        &vulkan,
        &["no visible CUDA device has its UUID", &uuid_text(&stranger.uuid)],
    )?;

    // CUDA reads CUDA_VISIBLE_DEVICES once, when it starts: so each value needs a process of its own.
    for hidden in ["", "GPU-00000000-0000-0000-0000-000000000000"] {
        let seen = ask_child(&uuid, hidden)?;
        for part in [
            "CUDA devices: none visible",
            "no visible CUDA device has its UUID",
            &uuid,
        ] {
            ensure!(
                seen.contains(part),
                "CUDA_VISIBLE_DEVICES={hidden:?}: expected {part:?} in what the child sees, saw:\n{seen}"
            );
        }
        for device in &vulkan {
            let listed = uuid_text(&device.uuid);
            ensure!(
                seen.contains(&listed),
                "CUDA_VISIBLE_DEVICES={hidden:?}: expected Vulkan's {listed} in the child's list, saw:\n{seen}"
            );
        }
    }
    let seen = ask_child(&uuid, &format!("GPU-{uuid}"))?;
    let expected = format!("pair {uuid} ordinal 0 of 1");
    ensure!(
        seen.contains(&expected),
        "with only the pair's GPU visible: expected {expected:?}, saw:\n{seen}"
    );

    if let Some(log) = &instance.validation {
        let first = log.first_error().unwrap_or_default();
        ensure!(
            log.counts().errors == 0,
            "expected no validation error, the first is: {first}"
        );
    }
    drop(instance);
    let left = open_descriptors()?;
    ensure!(
        left == descriptors,
        "expected {descriptors} open descriptors, saw {left}"
    );
    Ok(Verdict::Pass(format!(
        "{} Vulkan and {} CUDA devices; {} is Vulkan {} and CUDA {} ({uuid}); 2 false pairs refused; 3 children saw what \
         CUDA_VISIBLE_DEVICES left them; {left} descriptors before and after",
        vulkan.len(),
        driver.devices.len(),
        pair.name,
        pair.index,
        twin.ordinal
    )))
}

/// The library's choice, for a program that cannot do without CUDA and shows nothing on a screen.
fn choose(vulkan: &[PhysicalDevice], cuda: &[CudaDevice], wanted: Option<&str>) -> Result<Candidate, Error> {
    let extensions = DeviceRequest {
        export: true,
        ..DeviceRequest::default()
    }
    .extensions();
    choose_device(
        vulkan,
        cuda,
        wanted,
        true,
        |device| device.missing(&extensions),
        |_| true,
    )
}

/// The choice must have been refused, with all of Vulkan's list and the `parts` in the message.
fn refused(choice: Result<Candidate, Error>, vulkan: &[PhysicalDevice], parts: &[&str]) -> anyhow::Result<()> {
    let text = match choice {
        Err(Error::NoMatch(text)) => text,
        Err(error) => return Err(error).context("expected Error::NoMatch"),
        Ok(chosen) => anyhow::bail!("expected a refusal, saw the choice of {}", chosen.vulkan.name),
    };
    let listed = vulkan.iter().map(|device| uuid_text(&device.uuid));
    for part in listed.chain(parts.iter().map(|part| (*part).to_owned())) {
        ensure!(text.contains(&part), "expected {part:?} in the refusal, saw:\n{text}");
    }
    Ok(())
}

/// Starts this program again with CUDA's list cut down, and gives what that process sees of the pair.
fn ask_child(uuid: &str, visible: &str) -> anyhow::Result<String> {
    let output = Command::new(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .env(CHILD, uuid)
        .env("CUDA_VISIBLE_DEVICES", visible)
        .output()
        .context("start this program as its own child")?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.split_once(ANSWER) {
        Some((_, answer)) if output.status.success() => Ok(answer.trim().to_owned()),
        _ => anyhow::bail!(
            "CUDA_VISIBLE_DEVICES={visible:?}: expected an answer of the child, saw {} and:\n{text}{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ),
    }
}

/// The child's part: what is there, and whether the choice of the pair stands.
fn answer(wanted: &str) -> anyhow::Result<()> {
    let cuda = Driver::load().map(|driver| driver.devices).unwrap_or_default();
    let vulkan = Instance::new(&InstanceRequest::default())?.physical_devices()?;
    let seen = match choose(&vulkan, &cuda, Some(wanted)) {
        Ok(Candidate { cuda: Some(twin), .. }) => {
            let uuid = uuid_text(&twin.uuid);
            format!("pair {uuid} ordinal {} of {}", twin.ordinal, cuda.len())
        }
        Ok(_) => "a choice without CUDA".into(),
        Err(error) => error.to_string(),
    };
    // Not `println!`, which a test harness captures.
    writeln!(std::io::stdout(), "{ANSWER}\n{seen}")?;
    Ok(())
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
