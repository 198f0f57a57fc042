//! The chain on the CPU: the same slots and timelines, waited for and signalled by a thread; mapped memory.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ash::vk;

use crate::frame::{FrameNumber, Timelines};
use crate::interop::DedicatedImage;
use crate::kernels::reference::{self, FrameParameters, HostImages, HostScratch, MappedImage};
use crate::scene::Target;
use crate::timing::ClockRelation;
use crate::vulkan::barrier::ChainOwner;
use crate::vulkan::{Device, ImageDescription, TimelineWait, host_ns};

use super::{ChainTimes, Error, Job, Processor, SLOT_IMAGES, SlotImages};

/// Runs chains on all cores. Fields in drop order: the thread ends before the images that it maps go.
pub struct HostProcessor {
    worker: Worker,
    images: Vec<DedicatedImage>,
    extent: vk::Extent2D,
    mapped: Vec<MappedSlot>,
    device: Arc<Device>,
}

/// The images of a slot that the chain reads and writes, mapped.
#[derive(Debug, Clone, Copy)]
struct MappedSlot {
    color: Mapped,
    processed: Mapped,
}

/// A mapped image: the address of its first texel, and the bytes from row to row.
#[derive(Debug, Clone, Copy)]
struct Mapped {
    start: *mut u8,
    row_pitch: usize,
}

// SAFETY: the memory stays mapped until `HostProcessor::images` drops or is replaced, both after the thread was idle; who
// may touch it is decided by the timelines (the thread between `rendered` and `processed`, Vulkan otherwise).
unsafe impl Send for Mapped {}

/// What is sent to the thread.
struct Work {
    job: Job,
    slot: MappedSlot,
    extent: vk::Extent2D,
}

struct Worker {
    sender: Option<Sender<Work>>,
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
        let (sender, receiver) = channel();
        let on_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("chain".into())
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
            images: Vec::new(),
            extent: vk::Extent2D::default(),
            mapped: Vec::new(),
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

    fn owner(&self) -> ChainOwner {
        ChainOwner::Host
    }

    fn is_on_gpu(&self) -> bool {
        false
    }

    fn clock(&self) -> ClockRelation {
        match self.device.calibrate() {
            Ok(Some(calibration)) => ClockRelation::Corrected {
                offset_ns: calibration.device_ns.wrapping_sub(calibration.host_ns).cast_signed(),
                width_ns: calibration.deviation_ns.cast_signed(),
            },
            _ => ClockRelation::Unrelated,
        }
    }

    fn retarget(&mut self, extent: vk::Extent2D, slots: usize) -> Result<Vec<SlotImages>, Error> {
        self.mapped.clear();
        self.images.clear();
        self.extent = extent;
        *lock(&self.worker.shared.times) = vec![ChainTimes::default(); slots];
        let mut targets = Vec::with_capacity(slots);
        for slot in 0..slots {
            let mut of_slot = [Target {
                image: vk::Image::null(),
                view: vk::ImageView::null(),
            }; SLOT_IMAGES.len()];
            let mut addresses = Vec::with_capacity(SLOT_IMAGES.len());
            for (target, (name, format, usage)) in of_slot.iter_mut().zip(SLOT_IMAGES) {
                let format = format.vulkan();
                let description = ImageDescription {
                    extent,
                    format,
                    usage,
                    tiling: vk::ImageTiling::LINEAR,
                };
                let image = DedicatedImage::host_visible(&self.device, description, &format!("{name} of slot {slot}"))?;
                let (start, row_pitch) = image.map()?;
                addresses.push(Mapped { start, row_pitch });
                *target = Target {
                    image: image.raw,
                    view: image.view,
                };
                self.images.push(image);
            }
            self.mapped.push(MappedSlot {
                color: addresses[0],
                processed: addresses[SLOT_IMAGES.len() - 1],
            });
            targets.push(SlotImages::from_targets(of_slot));
        }
        Ok(targets)
    }

    fn enqueue(&mut self, job: Job) -> Result<(), Error> {
        if let Some(error) = self.failure() {
            return Err(error);
        }
        let work = Work {
            slot: self.mapped[job.slot],
            extent: self.extent,
            job,
        };
        let sent = self
            .worker
            .sender
            .as_ref()
            .is_some_and(|sender| sender.send(work).is_ok());
        if sent {
            Ok(())
        } else {
            Err(Error::Stopped {
                reason: "it takes no more frames".into(),
            })
        }
    }

    fn times(&mut self, slot: usize) -> ChainTimes {
        lock(&self.worker.shared.times)[slot].clone()
    }

    fn withhold_from(&mut self, frame: FrameNumber) {
        self.worker.shared.withheld_from.store(frame.value(), Ordering::Relaxed);
    }

    fn failure(&mut self) -> Option<Error> {
        lock(&self.worker.shared.failure)
            .clone()
            .map(|reason| Error::Stopped { reason })
    }
}

/// How often the thread looks whether it is to stop while it waits for a frame.
const STOP_CHECK: Duration = Duration::from_millis(100);

impl Shared {
    /// The thread: frame after frame, until there are no more or it is told to stop.
    fn run(&self, work: &Receiver<Work>) {
        let mut scratch = HostScratch::default();
        while let Ok(work) = work.recv() {
            match self.process(&work, &mut scratch) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    *lock(&self.failure) = Some(error.to_string());
                    return;
                }
            }
        }
    }

    /// One frame. `false`: told to stop.
    fn process(&self, work: &Work, scratch: &mut HostScratch) -> Result<bool, Error> {
        let Work { job, slot, extent } = work;
        while self.timelines.rendered.wait(job.frame.value(), STOP_CHECK)? != TimelineWait::Reached {
            if self.stopping.load(Ordering::Relaxed) {
                return Ok(false);
            }
        }
        let start = host_ns();
        let bytes = |image: &Mapped| image.row_pitch * (extent.height as usize - 1) + extent.width as usize * 8;
        // SAFETY: `rendered` reached the frame and `processed` has not: until it does, the slot's images are ours (see
        // `Mapped`). The layouts are the images' own, and the two images have memory of their own each.
        let (color, processed) = unsafe {
            (
                std::slice::from_raw_parts(slot.color.start, bytes(&slot.color)),
                std::slice::from_raw_parts_mut(slot.processed.start, bytes(&slot.processed)),
            )
        };
        let color = MappedImage {
            bytes: color,
            pitch: slot.color.row_pitch,
        };
        let processed = (processed, slot.processed.row_pitch);
        let mut images = HostImages::new([extent.width, extent.height], color, processed, scratch).map_err(stopped)?;
        let parameters = FrameParameters {
            frame: job.frame.value(),
            time: job.time,
            time_delta: job.time_delta,
            pointer: job.pointer,
        };
        let effects = reference::run(&job.plan, &mut images, &parameters).map_err(stopped)?;
        let end = host_ns();
        let calibration = self.device.calibrate()?;
        lock(&self.times)[job.slot] = ChainTimes {
            start_ns: calibration.map(|calibration| calibration.device_from_host(start)),
            end_ns: calibration.map(|calibration| calibration.device_from_host(end)),
            chain_ms: Some((end - start) as f64 * 1e-6),
            effects: effects
                .into_iter()
                .map(|(effect, time)| (effect, Some(time.as_secs_f64() * 1e3)))
                .collect(),
        };
        if job.frame.value() < self.withheld_from.load(Ordering::Relaxed) {
            self.timelines.processed.signal(job.frame.value())?;
        }
        Ok(true)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        drop(self.sender.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the host's chain thread panicked");
        }
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
