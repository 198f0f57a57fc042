//! What an example needs around it: a GPU that both APIs see, under validation, a hand-over to put in order, and a word at
//! the end.

mod allocations;
mod stamped_slots;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use ash::vk;

use crate::cuda::{CudaContext, CudaDevice, CudaStream, Driver, Function, Module, ResultExt, compile};
use crate::interop::{DeviceMatch, SharedTimeline, VisibleDevices, open_descriptors};
use crate::vulkan::barrier::transfer_to_host;
use crate::vulkan::{CommandPool, Device, DeviceRequest, Instance, InstanceRequest, Timeline, TimelineWait};

pub use allocations::{CountingAllocator, allocations};
pub use stamped_slots::StampedSlots;

#[cfg(feature = "gl")]
mod canvas;
#[cfg(feature = "gl")]
pub use canvas::Canvas;

/// How an example went.
#[derive(Debug)]
pub enum Verdict {
    /// What was proven, with figures. Exit code 0.
    Pass(String),
    /// Why it cannot run on this machine. Exit code 77, which test harnesses take for "skipped".
    Skip(String),
}

/// The exit code of a skipped example.
pub const SKIPPED: u8 = 77;

/// Far more than any hand-over of an example takes: past it a signal is missing.
pub const ROUND_TRIP_LIMIT: Duration = Duration::from_secs(10);

/// Runs an example, prints `PASS`, `SKIP` or `FAIL` with its name and what it says, and gives the exit code.
pub fn conclude(name: &str, run: impl FnOnce() -> anyhow::Result<Verdict>) -> ExitCode {
    match run() {
        Ok(Verdict::Pass(figures)) => {
            println!("PASS {name}: {figures}");
            ExitCode::SUCCESS
        }
        Ok(Verdict::Skip(reason)) => {
            println!("SKIP {name}: {reason}");
            ExitCode::from(SKIPPED)
        }
        Err(error) => {
            println!("FAIL {name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// One GPU, opened in both APIs. The validation layer is on where it is installed.
///
/// [`crate::interop`] shows the steps that this takes, for a program that needs them otherwise.
///
/// ```no_run
/// use handover::proof::Pair;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??; // The second: why no GPU here will do.
///     println!("{}, also known as {}", pair.device.physical.name, pair.cuda.name);
///     Ok(pair.finish()?)
/// }
/// ```
pub struct Pair {
    /// A stream of the CUDA side.
    pub stream: Arc<CudaStream>,
    /// The CUDA side, bound to this thread.
    pub context: Arc<CudaContext>,
    /// The CUDA side as its driver describes it.
    pub cuda: CudaDevice,
    /// The Vulkan side.
    pub device: Arc<Device>,
}

/// What a [`Pair`] is opened for where nothing else is said.
const EXPORT: DeviceRequest = DeviceRequest {
    export: true,
    swapchain: false,
    kernels_in_queue: false,
    buffer_addresses: false,
    pipelines_in: None,
};

impl Pair {
    /// Opens the first GPU that both APIs see and share timelines on, to share memory and semaphores; `Err` inside: why there
    /// is none, in one line.
    ///
    /// # Errors
    /// There is one, and it does not open.
    pub fn open() -> anyhow::Result<Result<Self, String>> {
        Self::open_for(&EXPORT)
    }

    /// The same for what `request` asks of the Vulkan device.
    ///
    /// # Errors
    /// As [`Pair::open`].
    pub fn open_for(request: &DeviceRequest) -> anyhow::Result<Result<Self, String>> {
        let (driver, instance, visible) = match look() {
            Ok(found) => found,
            Err(reason) => return Ok(Err(reason)),
        };
        match DeviceMatch::find(visible, None, request) {
            Ok(gpu) => Self::open_match(&driver, &instance, gpu, request).map(Ok),
            Err(reason) => Ok(Err(reason.to_string().replace('\n', " "))),
        }
    }

    /// Opens every GPU that both APIs see and share timelines on, in Vulkan's order.
    ///
    /// # Errors
    /// There is one, and it does not open.
    pub fn open_all() -> anyhow::Result<Vec<Self>> {
        let Ok((driver, instance, visible)) = look() else {
            return Ok(Vec::new());
        };
        let matches = DeviceMatch::all(&visible, &EXPORT).into_iter();
        matches
            .map(|gpu| Self::open_match(&driver, &instance, gpu, &EXPORT))
            .collect()
    }

    fn open_match(
        driver: &Driver,
        instance: &Arc<Instance>,
        gpu: DeviceMatch,
        request: &DeviceRequest,
    ) -> anyhow::Result<Self> {
        let device = Device::new(instance, gpu.vulkan, request)?;
        let context = driver.context(&gpu.cuda)?;
        Ok(Self {
            stream: context.new_stream().during(|| "create a stream")?,
            context,
            cuda: gpu.cuda,
            device,
        })
    }

    /// Compiles CUDA C++ for this GPU and finds its kernels.
    ///
    /// # Errors
    /// No compiler, or errors in the source.
    pub fn kernels<const N: usize>(
        &self,
        name: &str,
        source: &str,
        entries: [&str; N],
    ) -> anyhow::Result<[Function; N]> {
        // PTX for the oldest GPU that CUDA 13 knows loads on all newer ones.
        let ptx = compile(name, source, (7, 5), &["--std=c++17"])?;
        let module = Module::load(&self.context, &ptx, name)?;
        let functions = entries
            .iter()
            .map(|entry| module.function(entry))
            .collect::<Result<Vec<_>, _>>()?;
        functions
            .try_into()
            .map_err(|_| anyhow::anyhow!("as many functions as entries"))
    }

    /// Hands something to CUDA and back, and waits for it: Vulkan submits what `write` records, CUDA's stream waits for that
    /// before what `process` enqueues, and Vulkan's queue waits for that before what `read` records. Between the steps only
    /// timelines wait, not the host. What `read` copied for the host is there, and both sides are idle, when this returns:
    /// also after a failure, so that what they used may be dropped.
    ///
    /// # Errors
    /// A failed call, or CUDA did not hand back within [`ROUND_TRIP_LIMIT`].
    pub fn round_trip(
        &self,
        write: impl FnOnce(vk::CommandBuffer),
        process: impl FnOnce(&CudaStream) -> anyhow::Result<()>,
        read: impl FnOnce(vk::CommandBuffer),
    ) -> anyhow::Result<()> {
        let (device, queue) = (&self.device, self.device.scene_queue);
        let to_cuda = Timeline::new(device, "to CUDA", true)?;
        let to_vulkan = Timeline::new(device, "to Vulkan", true)?;
        let finished = Timeline::new(device, "finished", false)?;
        let cuda_waits = SharedTimeline::import(device, &self.context, &to_cuda)?;
        let cuda_signals = SharedTimeline::import(device, &self.context, &to_vulkan)?;
        let writing = CommandPool::new(device, queue, "write")?;
        let reading = CommandPool::new(device, queue, "read")?;
        let steps = || {
            write(writing.begin()?);
            writing.end()?;
            device.submit(queue, writing.commands, &[], &[to_cuda.at(1)])?;

            cuda_waits.wait(&self.stream, 1)?;
            process(&self.stream)?;
            cuda_signals.signal(&self.stream, 1)?;

            read(reading.begin()?);
            transfer_to_host(device, reading.commands);
            reading.end()?;
            device.submit(queue, reading.commands, &[to_vulkan.at(1)], &[finished.at(1)])?;
            if finished.wait(1, ROUND_TRIP_LIMIT)? == TimelineWait::TimedOut {
                // In CUDA's place, so that the queue can become idle.
                to_vulkan.signal(1)?;
                anyhow::bail!("CUDA did not hand back within {ROUND_TRIP_LIMIT:?}");
            }
            Ok(())
        };
        let outcome = steps();
        let idle = self.finish();
        outcome.and(idle)
    }

    /// Runs `round` twice, and holds open descriptors and the process's GPU memory against it: what a round takes it must give
    /// back. The first does not count, for drivers keep some of what they take when something is first used. Gives what the
    /// second gave, and the number of descriptors. Memory is compared where the driver counts it for a process
    /// (`VK_EXT_memory_budget`).
    ///
    /// # Errors
    /// A round's own, or what was left behind.
    pub fn leaves_nothing<T>(&self, mut round: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<(T, usize)> {
        round()?;
        let (descriptors, memory) = (open_descriptors()?, self.device.memory_used());
        let result = round()?;
        expect_descriptors(descriptors, "after a round")?;
        let after = self.device.memory_used();
        anyhow::ensure!(
            after == memory,
            "bytes of GPU memory in use: {memory:?} before a round, {after:?} after it"
        );
        Ok((result, descriptors))
    }

    /// Waits until both sides are idle, and for no message of the validation layer.
    ///
    /// # Errors
    /// The layer counted errors, or a side failed.
    pub fn finish(&self) -> anyhow::Result<()> {
        // Both are waited for, also when one failed: their objects are dropped next.
        let cuda = self.stream.synchronize().during(|| "wait for the stream");
        let vulkan = self.device.wait_idle();
        cuda?;
        vulkan?;
        Ok(self.device.instance.check_validation()?)
    }
}

/// Counts the open descriptors; `when` is for the message.
///
/// # Errors
/// There are more or fewer than `expected`.
pub fn expect_descriptors(expected: usize, when: &str) -> anyhow::Result<()> {
    let open = open_descriptors()?;
    anyhow::ensure!(
        open == expected,
        "{when}: expected {expected} open descriptors, saw {open}"
    );
    Ok(())
}

/// Compares the 32-bit words of a buffer with what each must be, by its index; gives how many there are. `place` says for the
/// message where a word is.
///
/// ```
/// use handover::proof::expect_words;
///
/// let bytes: Vec<u8> = [0u32, 3, 7].iter().flat_map(|word| word.to_ne_bytes()).collect();
/// let wrong = expect_words(&bytes, |index| 3 * index, |index| format!("row 5, word {index}")).unwrap_err();
/// assert_eq!(wrong.to_string(), "row 5, word 2: expected 0x00000006, found 0x00000007");
/// assert_eq!(expect_words(&bytes[..8], |index| 3 * index, |_| String::new()).unwrap(), 2);
/// ```
///
/// # Errors
/// The first word that differs; or there is none.
pub fn expect_words(
    bytes: &[u8],
    expected: impl Fn(u32) -> u32,
    place: impl Fn(u32) -> String,
) -> anyhow::Result<usize> {
    let words = bytes
        .chunks_exact(4)
        .map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
    for (index, found) in (0..).zip(words) {
        let expected = expected(index);
        if found != expected {
            anyhow::bail!("{}: expected {expected:#010x}, found {found:#010x}", place(index));
        }
    }
    anyhow::ensure!(bytes.len() >= 4, "there are no words to compare");
    Ok(bytes.len() / 4)
}

/// Asks both drivers what they see.
///
/// # Errors
/// Why there is nothing to see, in one line.
pub fn look() -> Result<(Driver, Arc<Instance>, VisibleDevices), String> {
    let first_line = |text: String| text.lines().next().unwrap_or_default().to_owned();
    let driver = Driver::load().map_err(|reason| first_line(reason.to_string()))?;
    let instance = Instance::new(&InstanceRequest {
        validate_if_present: true,
        ..InstanceRequest::default()
    });
    let found = instance.and_then(|instance| Ok((VisibleDevices::new(&instance, &driver)?, instance)));
    let (visible, instance) = found.map_err(|error| first_line(format!("no Vulkan device: {error}")))?;
    Ok((driver, instance, visible))
}
