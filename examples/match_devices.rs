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

use handover::anyhow;
use handover::anyhow::{Context as _, ensure};
use handover::cuda::Driver;
use handover::interop::{DeviceMatch, Error, VisibleDevices, open_descriptors, uuid_text};
use handover::proof::{Verdict, conclude, expect_descriptors, look};
use handover::vulkan::{DeviceRequest, Instance, InstanceRequest};

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
    // Loading the drivers opens descriptors that stay open for the life of the process: they are not ours to count.
    if let Err(reason) = look() {
        return Ok(Verdict::Skip(reason));
    }
    let descriptors = open_descriptors()?;

    let (_driver, instance, visible) = look().map_err(anyhow::Error::msg)?;
    for device in &visible.vulkan {
        println!("Vulkan {}  {}  {}", device.index, uuid_text(&device.uuid), device.name);
    }
    for device in &visible.cuda {
        println!(
            "CUDA   {}  {}  {}",
            device.ordinal,
            uuid_text(&device.uuid),
            device.name
        );
    }

    // The pair. A CUDA device that Vulkan does not list, as in a container without graphics, is no fault of ours.
    let gpu = match choose(&visible, None) {
        Ok(gpu) => gpu,
        Err(reason) => return Ok(Verdict::Skip(reason.to_string().replace('\n', " "))),
    };
    let (uuid, twin) = (uuid_text(&gpu.vulkan.uuid), uuid_text(&gpu.cuda.uuid));
    ensure!(uuid == twin, "expected one UUID on both sides, saw {uuid} and {twin}");
    let pair = format!("Vulkan {} is CUDA {}, {uuid}", gpu.vulkan.index, gpu.cuda.ordinal);
    println!("the pair: {pair}");

    // A UUID that no GPU has, though it is one bit from one that is there.
    let mut invented = gpu.uuid();
    invented[15] ^= 1;
    let invented = uuid_text(&invented);
    refused(
        &visible,
        &format!("GPU-{invented}"),
        &["no GPU matches", &invented, &twin],
    )?;

    // A CUDA device that is like the twin in all but the UUID: neither its name nor its ordinal makes it the pair.
    let mut stranger = gpu.cuda.clone();
    stranger.uuid[15] ^= 1;
    let parts = ["no visible CUDA device has its UUID", &uuid_text(&stranger.uuid)];
    let strange = VisibleDevices {
        vulkan: visible.vulkan.clone(),
        cuda: vec![stranger.clone()],
    };
    refused(&strange, &uuid, &parts)?;

    // CUDA reads CUDA_VISIBLE_DEVICES once, when it starts: so each value needs a process of its own.
    for hidden in ["", "GPU-00000000-0000-0000-0000-000000000000"] {
        let seen = ask_child(&uuid, hidden)?;
        let mut parts = vec![
            "CUDA devices: none visible".into(),
            "no visible CUDA device has its UUID".into(),
        ];
        parts.extend(visible.vulkan.iter().map(|device| uuid_text(&device.uuid)));
        for part in parts {
            ensure!(
                seen.contains(&part),
                "CUDA_VISIBLE_DEVICES={hidden:?}: expected {part:?} in what the child sees, saw:\n{seen}"
            );
        }
    }
    let seen = ask_child(&uuid, &format!("GPU-{uuid}"))?;
    let expected = format!("pair {uuid} ordinal 0 of 1");
    ensure!(
        seen.contains(&expected),
        "with only the pair's GPU visible: expected {expected:?}, saw:\n{seen}"
    );

    instance.check_validation()?;
    drop(instance);
    expect_descriptors(descriptors, "with the instance gone")?;
    Ok(Verdict::Pass(format!(
        "{} Vulkan and {} CUDA devices; {}: {pair}; 2 false pairs refused; 3 children saw what CUDA_VISIBLE_DEVICES left \
         them; {descriptors} descriptors before and after",
        visible.vulkan.len(),
        visible.cuda.len(),
        gpu.vulkan.name
    )))
}

/// The library's choice of a GPU to share memory and semaphores on.
fn choose(visible: &VisibleDevices, wanted: Option<&str>) -> Result<DeviceMatch, Error> {
    let request = DeviceRequest {
        export: true,
        ..DeviceRequest::default()
    };
    DeviceMatch::find(visible.clone(), wanted, &request)
}

/// The choice must be refused, with all of Vulkan's list and the `parts` in the message.
fn refused(visible: &VisibleDevices, wanted: &str, parts: &[&str]) -> anyhow::Result<()> {
    let text = match choose(visible, Some(wanted)) {
        Err(Error::NoMatch(text)) => text,
        Err(error) => return Err(error).context("expected Error::NoMatch"),
        Ok(gpu) => anyhow::bail!("expected a refusal, saw the choice of {}", gpu.vulkan.name),
    };
    let listed = visible.vulkan.iter().map(|device| uuid_text(&device.uuid));
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
    let visible = VisibleDevices {
        vulkan: Instance::new(&InstanceRequest::default())?.physical_devices()?,
        cuda: Driver::load().map(|driver| driver.devices).unwrap_or_default(),
    };
    let seen = match choose(&visible, Some(wanted)) {
        Ok(DeviceMatch { cuda, .. }) => {
            let (uuid, count) = (uuid_text(&cuda.uuid), visible.cuda.len());
            format!("pair {uuid} ordinal {} of {count}", cuda.ordinal)
        }
        Err(error) => error.to_string(),
    };
    // Not `println!`, which a test harness captures.
    writeln!(std::io::stdout(), "{ANSWER}\n{seen}")?;
    Ok(())
}
