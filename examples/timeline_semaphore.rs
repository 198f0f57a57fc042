//! The CUDA guide's interop chapter, sections 4.19.2.1.4, .8 and .9: timeline semaphores that both APIs signal and wait for.
//!
//! Proves with 1,000 frames, four of them in flight and no wait of the host for the current one, that CUDA sees exactly
//! what Vulkan wrote for frame N and Vulkan exactly what CUDA made of it; that a signal which does not come ends in a
//! bounded wait; and that either side may be told to wait before the other has been told to signal.
//!
//! ```text
//! Vulkan, scene queue    fill N ──▶ to_cuda = N      fill N+1 ──▶ to_cuda = N+1
//!                                       │                             │
//! CUDA, stream                          └▶ kernel N ─▶ to_vulkan = N  └▶ kernel N+1 ─▶ to_vulkan = N+1
//!                                                          │                               │
//! Vulkan, present queue                                    └▶ copy N ─▶ retired = N        └▶ copy N+1 ─▶ retired = N+1
//!                                                                           │
//! host                                                                      └▶ checks N, and fills its slot with N+4
//! ```
//!
//! One timeline a producer, and each value is a frame number. With one for both directions, frame N+1's `to_cuda` would
//! pass the value of N's `to_vulkan` while that is still to come, and values may only grow.

use std::process::ExitCode;
use std::time::Duration;

use handover::anyhow;
use handover::anyhow::ensure;
use handover::interop::SharedTimeline;
use handover::proof::{Pair, StampedSlots, Verdict, conclude};
use handover::vulkan::{Timeline, TimelineWait};

const FRAMES: u64 = 1000;
/// Frames in flight. Slot `frame % SLOTS` is filled anew once the frame before in it has retired.
const SLOTS: u64 = 4;
/// For the signal that is withheld.
const WITHHELD: Duration = Duration::from_millis(500);
/// For a signal that is late.
const EARLY: Duration = Duration::from_millis(20);

fn main() -> ExitCode {
    conclude("timeline_semaphore", run)
}

/// Runs the example.
///
/// # Errors
/// A frame's value that is not the one expected, or a wait that ended otherwise than it should.
pub fn run() -> anyhow::Result<Verdict> {
    let pair = match Pair::open()? {
        Ok(pair) => pair,
        Err(reason) => return Ok(Verdict::Skip(reason)),
    };
    let (figures, descriptors) = pair.leaves_nothing(|| Bridge::new(&pair)?.run())?;
    pair.finish()?;
    Ok(Verdict::Pass(format!(
        "{figures}; {descriptors} descriptors before and after"
    )))
}

/// What frames need. Fields in drop order: CUDA's side of a timeline before Vulkan's.
struct Bridge<'a> {
    cuda_to_cuda: SharedTimeline,
    cuda_to_vulkan: SharedTimeline,
    /// Signalled by Vulkan when frame N is written.
    to_cuda: Timeline,
    /// Signalled by CUDA when frame N is answered.
    to_vulkan: Timeline,
    /// The memory that goes back and forth.
    slots: StampedSlots<'a>,
    pair: &'a Pair,
}

impl<'a> Bridge<'a> {
    fn new(pair: &'a Pair) -> anyhow::Result<Self> {
        let (device, context) = (&pair.device, &pair.context);
        let to_cuda = Timeline::new(device, "to_cuda", true)?;
        let to_vulkan = Timeline::new(device, "to_vulkan", true)?;
        Ok(Self {
            cuda_to_cuda: SharedTimeline::import(device, context, &to_cuda)?,
            cuda_to_vulkan: SharedTimeline::import(device, context, &to_vulkan)?,
            to_cuda,
            to_vulkan,
            slots: StampedSlots::new(pair, SLOTS, device.present_queue)?,
            pair,
        })
    }

    /// All that is proven, and then rest: whatever went wrong, nothing is dropped that a GPU still uses.
    fn run(self) -> anyhow::Result<String> {
        let proven = self.prove();
        if proven.is_err() {
            // Signals in both sides' place. Vulkan waits only for `to_vulkan`, so it ends first; then CUDA can.
            for timeline in [&self.to_vulkan, &self.to_cuda] {
                if timeline.value()? < FRAMES + 3 {
                    timeline.signal(FRAMES + 3)?;
                }
                self.pair.device.wait_idle()?;
            }
        }
        // Ends, since every wait has its signal. An error of a kernel is told with what was expected of it.
        let rested = self.pair.finish();
        let figures = proven?;
        rested?;
        Ok(figures)
    }

    fn prove(&self) -> anyhow::Result<String> {
        // 1. The frames. The host waits only for the one that was in the slot before.
        for frame in 1..=FRAMES {
            self.slots.reuse(frame)?;
            self.write(frame)?;
            self.answer(frame)?;
            self.read(frame)?;
        }
        self.slots.check_last(FRAMES)?;

        // 2. A signal that is withheld: Vulkan has its part of the frame and waits; CUDA is told nothing.
        let withheld = FRAMES + 1;
        self.write(withheld)?;
        self.read(withheld)?;
        let ended = self.slots.wait(withheld, WITHHELD)?;
        let (answered, retired) = (self.to_vulkan.value()?, self.slots.retired()?);
        ensure!(
            ended == TimelineWait::TimedOut && answered == FRAMES && retired == FRAMES,
            "with the signal of frame {withheld} withheld: expected a wait that times out, to_vulkan and retired at {FRAMES}; \
             saw {ended:?}, to_vulkan {answered}, retired {retired}"
        );
        // A host that gives the frame up signals in CUDA's place. What Vulkan then copies is an earlier frame's answer:
        // it is not looked at.
        self.to_vulkan.signal(withheld)?;
        let ended = self.slots.wait(withheld, Duration::from_secs(10))?;
        ensure!(
            ended == TimelineWait::Reached,
            "frame {withheld} was given up: expected it to retire, saw to_cuda at {}, to_vulkan at {}",
            self.to_cuda.value()?,
            self.to_vulkan.value()?
        );

        // 3. The wait of Vulkan before the signal of CUDA: submitted, and not ended until CUDA is told.
        let early = FRAMES + 2;
        self.write(early)?;
        self.read(early)?;
        let ended = self.slots.wait(early, EARLY)?;
        ensure!(
            ended == TimelineWait::TimedOut,
            "before CUDA was told to answer frame {early}: expected a wait that times out, saw {ended:?}"
        );
        self.answer(early)?;
        self.slots.check(early)?;

        // 4. The other way round: the wait of CUDA before the signal of Vulkan.
        let early = FRAMES + 3;
        self.answer(early)?;
        self.write(early)?;
        self.read(early)?;
        self.slots.check(early)?;
        Ok(format!(
            "{FRAMES} frames, {SLOTS} in flight, each seen exactly on both sides; a withheld signal ended in a bounded wait \
             of {} ms with to_vulkan at {answered}; waits before their signals work on both sides",
            WITHHELD.as_millis()
        ))
    }

    /// Vulkan writes the frame's stamp and signals `to_cuda`.
    fn write(&self, frame: u64) -> anyhow::Result<()> {
        self.slots.write(frame, self.to_cuda.at(frame))
    }

    /// CUDA waits for the frame, answers it and signals `to_vulkan`.
    fn answer(&self, frame: u64) -> anyhow::Result<()> {
        let stream = &self.pair.stream;
        self.cuda_to_cuda.wait(stream, frame)?;
        self.slots.answer(frame)?;
        Ok(self.cuda_to_vulkan.signal(stream, frame)?)
    }

    /// Vulkan waits for the answer, and copies it to where the host reads.
    fn read(&self, frame: u64) -> anyhow::Result<()> {
        self.slots.read(frame, self.to_vulkan.at(frame))
    }
}
