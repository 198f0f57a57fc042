//! How a frame's chain gets onto the stream: launch by launch, or as a graph where the slot's last frame was alike.

use crate::kernels::Image;
use crate::timing::{GpuWork, ToolRange};

use super::cuda::{CudaProcessor, STAMPS};
use super::cuda_chain::image_of;
use super::cuda_graph::{Likeness, Recording};
use super::launch_pass::FrameViews;
use super::{Error, Job, KernelTime, PROCESSED};
use crate::cuda::{Event, ResultExt};

impl CudaProcessor {
    /// Enqueues the chain. The first frame of its kind in a slot goes launch by launch; the second is recorded meanwhile, for those
    /// that follow: what changes with every frame, as while a parameter is moved, is never recorded.
    pub(super) fn enqueue_chain(&mut self, job: &Job) -> Result<(), Error> {
        self.context.bind_to_thread().during(|| "bind the CUDA context")?;
        let loaded = self.chain.prepare(&job.plan, self.extents)?;
        let likeness = self.likeness(job);
        let slot = &mut self.slots[job.slot];
        slot.is_stamped = job.instrument.has_parts();
        slot.launches.clear();
        if slot.likeness != likeness || likeness.is_none() {
            // Before what it ran is unloaded.
            slot.graph = None;
        }
        let is_again = likeness.is_some() && slot.likeness == likeness;
        slot.likeness = likeness;
        slot.loaded = Some(loaded);
        for stamp in 0..STAMPS {
            self.clear_stamp(job.slot * STAMPS + stamp);
        }
        match (is_again, &self.slots[job.slot].graph) {
            (false, _) => self.enqueue_each(job, None)?,
            (true, None) => self.record(job)?,
            (true, Some(_)) => self.replay(job)?,
        }
        self.chain.end_frame();
        Ok(())
    }

    /// What makes this frame like another; `None` where it does not go into a graph: the overlay's list is as long as it happens to be,
    /// cuFFT enqueues what it thinks right, and what is not signalled is a test's.
    fn likeness(&self, job: &Job) -> Option<Likeness> {
        let is_fixed = job.overlay.is_none() && !self.is_withheld(job) && self.semaphores.is_some();
        let mut launches = job.plan.launches.iter();
        let has_transforms = launches.any(|launch| launch.description().transform.is_some());
        (is_fixed && !has_transforms).then_some(Likeness {
            plan: job.plan.id,
            instrument: job.instrument,
            has_guides: job.has_guides,
            runs_all: self.chain.runs_all(&job.plan),
        })
    }

    fn is_withheld(&self, job: &Job) -> bool {
        self.withheld_from.is_some_and(|withheld| job.frame >= withheld)
    }

    fn record(&mut self, job: &Job) -> Result<(), Error> {
        let mut recording = Recording::begin(&self.stream)?;
        self.enqueue_each(job, Some(&mut recording))?;
        let loaded = self.slots[job.slot].loaded.clone().unwrap_or_default();
        let graph = self.slots[job.slot].graph.insert(recording.end(loaded)?);
        graph.launch(&self.stream)
    }

    /// Launches the slot's graph with the arguments of this frame.
    fn replay(&mut self, job: &Job) -> Result<(), Error> {
        let (views, frame) = (self.views(job), job.frame_parameters());
        let slot = &mut self.slots[job.slot];
        let (Some(graph), Some(semaphores)) = (&slot.graph, &self.semaphores) else {
            return Ok(());
        };
        for (number, kernel) in graph.kernels() {
            let item = &job.plan.launches[number];
            let pass = self.chain.pass(item, &views, &frame);
            // SAFETY: as for a launch by itself: the same kernel's, laid out as it has them, and what they name lives as long.
            unsafe { graph.set_arguments(kernel, [bytemuck::bytes_of(&pass), &item.parameters]) }?;
        }
        if job.instrument.has_kernels() {
            let untimed = |item| KernelTime::untimed(item, job.plan.least_bytes(item, self.extents));
            let ran = job.plan.launches.iter().enumerate();
            let ran = ran.filter(|(number, _)| self.chain.runs(&job.plan, *number));
            slot.launches.extend(ran.map(|(_, item)| untimed(item)));
        }
        graph.set_frame(semaphores, job.frame.value())?;
        let _range = ToolRange::new(GpuWork::Chain.label());
        graph.launch(&self.stream)
    }

    /// Enqueues one thing after the other; into a graph where one is recorded.
    fn enqueue_each(&mut self, job: &Job, mut recording: Option<&mut Recording>) -> Result<(), Error> {
        let extents = self.extents;
        let (views, frame) = (self.views(job), job.frame_parameters());
        let stamp = job.slot * STAMPS;
        let (is_stamped, is_timed) = (job.instrument.has_parts(), job.instrument.has_kernels());
        if let Some(semaphores) = &self.semaphores {
            semaphores.rendered.wait(&self.stream, job.frame.value())?;
            recording.as_deref_mut().map(Recording::note_wait).transpose()?;
        }
        let is_recorded = recording.is_some();
        if is_stamped {
            self.stamp(stamp)?;
        }
        if is_timed {
            self.record_event(job.slot, 0, is_recorded)?;
        }
        let chain = ToolRange::new(GpuWork::Chain.label());
        for (number, item) in job.plan.launches.iter().enumerate() {
            if !self.chain.runs(&job.plan, number) {
                continue;
            }
            let range = ToolRange::new(item.label());
            self.chain.launch(&job.plan, number, extents, &views, &frame)?;
            recording
                .as_deref_mut()
                .map(|recording| recording.note_kernel(number))
                .transpose()?;
            drop(range);
            if is_timed {
                let bytes = job.plan.least_bytes(item, extents);
                let launches = &mut self.slots[job.slot].launches;
                launches.push(KernelTime::untimed(item, bytes));
                let count = launches.len();
                self.record_event(job.slot, count, is_recorded)?;
            }
        }
        if let Some(screens) = &mut self.screens {
            let stamps = self.stamps.as_ref().filter(|_| is_stamped);
            let stamps = stamps.map(|stamps| (stamps, stamp + 2));
            let slot = &mut self.slots[job.slot];
            slot.has_overlay = screens.enqueue(&self.stream, job, views.processed, stamps)?;
        }
        drop(chain);
        if is_stamped {
            self.stamp(stamp + 1)?;
        }
        if let Some(semaphores) = self.semaphores.as_ref().filter(|_| !self.is_withheld(job)) {
            semaphores.processed.signal(&self.stream, job.frame.value())?;
            recording.map(Recording::note_signal).transpose()?;
        }
        Ok(())
    }

    fn clear_stamp(&mut self, index: usize) {
        if let Some(stamps) = &mut self.stamps {
            stamps.clear(index);
        }
    }

    fn stamp(&self, index: usize) -> Result<(), Error> {
        if let Some(stamps) = &self.stamps {
            stamps.enqueue(&self.stream, index)?;
        }
        Ok(())
    }

    /// Records the slot's event of this number, which is the next to be made or was made before.
    fn record_event(&mut self, slot: usize, number: usize, is_in_graph: bool) -> Result<(), Error> {
        let events = &mut self.slots[slot].events;
        if events.len() == number {
            events.push(Event::new(&self.context)?);
        }
        match is_in_graph {
            true => events[number].record_in_graph(&self.stream)?,
            false => events[number].record(&self.stream)?,
        }
        Ok(())
    }

    fn views(&self, job: &Job) -> FrameViews {
        let slot = &self.slots[job.slot];
        let extent = |index: usize| match index {
            PROCESSED => self.extents.display,
            _ => self.extents.scene,
        };
        let shared = |index: usize| image_of(slot.images[index].views(), extent(index));
        FrameViews {
            color: shared(0),
            processed: shared(PROCESSED),
            guides: match job.has_guides {
                true => [shared(1), shared(2), shared(3), shared(4)],
                false => [Image::default(); 4],
            },
        }
    }
}
