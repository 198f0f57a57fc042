//! The chain on the CPU: the same slots and timelines, waited for and signalled by a thread; texels in mapped buffers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ash::vk;
use smallvec::SmallVec;

use crate::frame::{FrameNumber, Timelines};
use crate::kernels::reference::{self, HostImages, HostScratch, MappedImage, RanAt};
use crate::kernels::{FrameExtents, Launch, Plan};
use crate::scene::Target;
use crate::timing::clock::Round;
use crate::timing::{ClockProof, GpuWork, Interval, ProvenBy, ToolRange};
use crate::vulkan::barrier::{Barriers, host_to_transfer, transfer_to_host};
use crate::vulkan::transfer::{copy_from_buffer, copy_to_buffer};
use crate::vulkan::{self, Device, Image, ImageDescription, TimelineWait, host_ns};

use super::host_screen::{HostScreen, ScreenTexels};
use super::host_texels::{TEXEL_BYTES, Texels};
use super::{
    ChainTimes, Error, Job, KernelLoader, KernelTime, PROCESSED, Processor, SLOT_IMAGES, SlotImages, extent_of,
};

/// Runs chains on all cores. Fields in drop order: the thread ends before what it reads and writes goes.
pub struct HostProcessor {
    worker: Worker,
    slots: Vec<Slot>,
    extents: FrameExtents,
    /// Chains end in screen images.
    ends_in_screen: bool,
    clock: ClockProof,
    device: Arc<Device>,
}

/// Frames that a renderer may have under way.
const MOST_IN_FLIGHT: usize = 8;

/// The images of a slot, and their twins in host memory.
struct Slot {
    images: Vec<Image>,
    texels: Arc<Texels>,
    /// Where chains end in it.
    screen: Option<HostScreen>,
}

/// What is sent to the thread.
struct Work {
    job: Job,
    texels: Arc<Texels>,
    screen: Option<Arc<ScreenTexels>>,
    extents: FrameExtents,
}

struct Worker {
    sender: Option<SyncSender<Work>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread and its owner both touch.
struct Shared {
    timelines: Arc<Timelines>,
    device: Arc<Device>,
    stopping: AtomicBool,
    withheld_from: AtomicU64,
    times: Mutex<Vec<ChainTimes>>,
    failure: Mutex<Option<String>>,
}

impl HostProcessor {
    /// Starts the thread.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn new(device: &Arc<Device>, timelines: &Arc<Timelines>) -> Result<Self, Error> {
        let shared = Arc::new(Shared {
            timelines: Arc::clone(timelines),
            device: Arc::clone(device),
            stopping: AtomicBool::new(false),
            withheld_from: AtomicU64::new(u64::MAX),
            times: Mutex::new(Vec::new()),
            failure: Mutex::new(None),
        });
        // Room for every frame, so that sending neither waits nor allocates.
        let (sender, receiver) = sync_channel(MOST_IN_FLIGHT);
        let on_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name(GpuWork::Chain.label().into())
            .spawn(move || on_thread.run(&receiver))
            .map_err(|error| Error::Stopped {
                reason: error.to_string(),
            })?;
        Ok(Self {
            worker: Worker {
                sender: Some(sender),
                shared,
                thread: Some(thread),
            },
            slots: Vec::new(),
            extents: FrameExtents::same([0; 2]),
            ends_in_screen: false,
            clock: clock_of_host(device)?,
            device: Arc::clone(device),
        })
    }
}

impl Processor for HostProcessor {
    fn name(&self) -> &'static str {
        "host"
    }

    fn description(&self) -> String {
        format!("host, {} threads", rayon::current_num_threads())
    }

    fn is_on_gpu(&self) -> bool {
        false
    }

    fn clock(&self) -> ClockProof {
        self.clock
    }

    fn prove_clock(&mut self) -> Result<ClockProof, Error> {
        clock_of_host(&self.device)
    }

    fn copy_bandwidth(&mut self) -> Result<Option<f64>, Error> {
        Ok(super::host_bandwidth::copy_bandwidth())
    }

    fn retarget(&mut self, extents: FrameExtents, slots: usize) -> Result<Vec<SlotImages>, Error> {
        self.slots.clear();
        self.extents = extents;
        *lock(&self.worker.shared.times) = vec![ChainTimes::default(); slots];
        for slot in 0..slots {
            let images = SLOT_IMAGES.iter().enumerate().map(|(place, (name, format, usage))| {
                let format = format.vulkan();
                let description = ImageDescription {
                    extent: extent_of(place, extents),
                    format,
                    usage: *usage,
                };
                Image::new(&self.device, description, &format!("{name} of slot {slot}"))
            });
            let images = images.collect::<Result<_, vulkan::Error>>()?;
            let screen = || HostScreen::new(&self.device, extents.display, slot);
            let screen = self.ends_in_screen.then(screen).transpose()?;
            let texels = Texels::new(&self.device, extents, slot, screen.is_some())?;
            self.slots.push(Slot {
                images,
                texels: Arc::new(texels),
                screen,
            });
        }
        let target = |image: &Image| Target {
            image: image.raw,
            view: image.view,
        };
        Ok(self
            .slots
            .iter()
            .map(|slot| SlotImages::from_targets(std::array::from_fn(|index| target(&slot.images[index]))))
            .collect())
    }

    fn record_release(&self, commands: vk::CommandBuffer, slot: usize, written: &[Target], _family: u32, plan: &Plan) {
        let Slot { images, texels, .. } = &self.slots[slot];
        // `color` and the guides that the chain reads, of those that the scene wrote.
        let guides = plan.guides.iter().map(|guide| *guide as usize);
        let guides = guides.filter(|guide| guide + 1 < written.len());
        let guides = guides.map(|guide| (&images[guide + 1], &texels.guides[guide]));
        let copies: SmallVec<[_; 5]> = [(&images[0], &texels.color)].into_iter().chain(guides).collect();
        copies
            .iter()
            .fold(Barriers::new(), |barriers, (image, _)| {
                barriers.scene_to_transfer(image.raw)
            })
            .record(&self.device, commands);
        for (image, buffer) in copies {
            copy_to_buffer(&self.device, commands, image, buffer);
        }
        transfer_to_host(&self.device, commands);
    }

    fn record_acquire(&self, commands: vk::CommandBuffer, slot: usize, _family: u32) {
        let Slot { images, texels, .. } = &self.slots[slot];
        let image = &images[PROCESSED];
        host_to_transfer(&self.device, commands);
        Barriers::new()
            .discard_for_transfer(image.raw)
            .record(&self.device, commands);
        copy_from_buffer(&self.device, commands, texels.processed_raw, image);
        Barriers::new()
            .transfer_to_compute(image.raw)
            .record(&self.device, commands);
    }

    fn end_in_screen(&mut self) -> Result<(), Error> {
        self.ends_in_screen = true;
        Ok(())
    }

    fn screen(&self, slot: usize) -> Option<vk::Image> {
        self.slots[slot].screen.as_ref().map(|screen| screen.image.raw)
    }

    fn record_acquire_screen(&self, commands: vk::CommandBuffer, slot: usize, _family: u32) {
        if let Some(screen) = &self.slots[slot].screen {
            screen.record_acquire(&self.device, commands);
        }
    }

    fn enqueue(&mut self, job: Job) -> Result<(), Error> {
        if let Some(error) = self.failure() {
            return Err(error);
        }
        let Slot { texels, screen, .. } = &self.slots[job.slot];
        let work = Work {
            texels: Arc::clone(texels),
            screen: screen.as_ref().map(|screen| Arc::clone(&screen.texels)),
            extents: self.extents,
            job,
        };
        let sender = self.worker.sender.as_ref();
        let sent = sender.and_then(|sender| sender.send(work).ok());
        sent.ok_or_else(|| Error::Stopped {
            reason: "it takes no more frames".into(),
        })
    }

    fn times(&mut self, slot: usize, times: &mut ChainTimes) {
        // The worker is done with the slot's: it writes new ones for its next frame.
        std::mem::swap(&mut lock(&self.worker.shared.times)[slot], times);
    }

    fn kernel_loader(&self) -> Option<Arc<KernelLoader>> {
        None
    }

    fn withhold_from(&mut self, frame: FrameNumber) {
        self.worker.shared.withheld_from.store(frame.value(), Ordering::Relaxed);
    }

    fn stop(&mut self) {
        self.worker.stop();
    }

    fn failure(&mut self) -> Option<Error> {
        lock(&self.worker.shared.failure)
            .clone()
            .map(|reason| Error::Stopped { reason })
    }
}

/// The chain's clock is the host's, and that the device reads together with its own.
fn clock_of_host(device: &Device) -> Result<ClockProof, Error> {
    let Some(calibration) = device.calibrate()? else {
        return Ok(ClockProof::NONE);
    };
    let (between, uncertain) = (calibration.host_ns, calibration.deviation_ns);
    let round = Round {
        before: calibration.device_ns.saturating_sub(uncertain),
        between,
        after: calibration.device_ns.saturating_add(uncertain),
    };
    Ok(ClockProof::from_rounds(ProvenBy::HostClock, &[round]))
}

/// How often the thread looks whether it is to stop while it waits for a frame.
const STOP_CHECK: Duration = Duration::from_millis(100);

impl Shared {
    /// The thread: frame after frame, until there are no more or it is told to stop.
    fn run(&self, work: &Receiver<Work>) {
        let mut scratch = HostScratch::default();
        while let Ok(work) = work.recv() {
            // Unwind safe: nothing of a frame that panicked is looked at but the failure.
            let frame = std::panic::AssertUnwindSafe(|| self.process(&work, &mut scratch));
            let failure = match std::panic::catch_unwind(frame) {
                Ok(Ok(true)) => continue,
                Ok(Ok(false)) => return,
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("it panicked in frame {}", work.job.frame),
            };
            *lock(&self.failure) = Some(failure);
            return;
        }
    }

    /// One frame. `false`: told to stop.
    fn process(&self, work: &Work, scratch: &mut HostScratch) -> Result<bool, Error> {
        let Work {
            job,
            texels,
            screen,
            extents,
        } = work;
        loop {
            if self.stopping.load(Ordering::Relaxed) {
                return Ok(false);
            }
            if self.timelines.rendered.wait(job.frame.value(), STOP_CHECK)? == TimelineWait::Reached {
                break;
            }
        }
        let range = ToolRange::new(GpuWork::Chain.label());
        let start = host_ns();
        let pitch = |[width, _]: [u32; 2]| (u64::from(width) * TEXEL_BYTES) as usize;
        let color = MappedImage {
            bytes: texels.color.bytes(),
            pitch: pitch(extents.scene),
        };
        let mut processed = lock(&texels.processed);
        let output = (processed.bytes_mut(), pitch(extents.display));
        let mut images = HostImages::new(*extents, color, output, scratch).map_err(stopped)?;
        if job.has_guides {
            images = images.with_guides(texels.host_guides(extents.scene[0]));
        }
        let ran = reference::run(&job.plan, &mut images, &job.frame_parameters()).map_err(stopped)?;
        let screen = screen.as_ref();
        let overlay = screen.and_then(|screen| screen.fill(processed.bytes(), job.overlay.as_ref()));
        let end = host_ns();
        drop(range);
        lock(&self.times)[job.slot] = self.chain_times(job, *extents, ([start, end], overlay), &ran)?;
        if job.frame.value() < self.withheld_from.load(Ordering::Relaxed) {
            self.timelines.processed.signal(job.frame.value())?;
        }
        Ok(true)
    }

    /// What of a frame is to be kept, on the device's clock, from when chain and overlay ran.
    fn chain_times(
        &self,
        job: &Job,
        extents: FrameExtents,
        (chain, overlay): ([u64; 2], Option<[u64; 2]>),
        ran: &[RanAt],
    ) -> Result<ChainTimes, Error> {
        if !job.instrument.has_parts() {
            return Ok(ChainTimes::default());
        }
        let calibration = self.device.calibrate()?;
        let on_device = |instants: [u64; 2]| {
            let [start, end] = instants.map(|instant| Some(calibration?.device_from_host(instant)));
            Some(Interval::new(start?, end?))
        };
        let milliseconds = |[start, end]: [u64; 2]| (end - start) as f64 * 1e-6;
        let kernel_time = |(launch, ran): (&Launch, &RanAt)| {
            Some(KernelTime {
                since_start_ns: (*ran)?.map(|instant| instant.as_secs_f64() * 1e9),
                ..KernelTime::untimed(launch, job.plan.least_bytes(launch, extents))
            })
        };
        let timed = if job.instrument.has_kernels() { ran } else { &[] };
        Ok(ChainTimes {
            interval: on_device(chain),
            chain_ms: Some(milliseconds(chain)),
            kernels: job.plan.launches.iter().zip(timed).filter_map(kernel_time).collect(),
            overlay: overlay.and_then(on_device),
            overlay_ms: overlay.map(milliseconds),
        })
    }
}

impl Worker {
    /// Ends the thread: at once while it waits, else when it has done its frame.
    fn stop(&mut self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        drop(self.sender.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the host's chain thread panicked");
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
    }
}

fn stopped(error: impl std::error::Error) -> Error {
    Error::Stopped {
        reason: error.to_string(),
    }
}

/// A panic of the thread leaves plain values behind: they may be read.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
