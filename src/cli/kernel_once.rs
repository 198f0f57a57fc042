//! Who runs the kernels that the self-test compares with their references: a CUDA stream, or a Vulkan queue beside it.

use half::f16;

use crate::cuda::find_cufft;
use crate::kernels::reference::FrameParameters;
use crate::kernels::{Effect, FrameExtents, Plan, TestGuides};
use crate::process::{CudaOnce, QueueOnce};

use super::setup::Machine;

/// Runs plans a frame at a time.
pub(super) struct Once {
    cuda: CudaOnce,
    /// Where kernels run in the queue; then CUDA runs them too, and both must write the same.
    queue: Option<QueueOnce>,
}

/// What a frame's chain wrote.
pub(super) struct Written {
    pub texels: Vec<[f16; 4]>,
    /// Channels whose bits are not those that CUDA wrote; none where CUDA wrote them.
    pub not_as_cuda: usize,
}

impl Once {
    /// `None` where there is no CUDA to run or link kernels.
    ///
    /// # Errors
    /// The driver refused.
    pub fn new(machine: &Machine) -> anyhow::Result<Option<Self>> {
        let Some((driver, cuda)) = &machine.cuda else {
            return Ok(None);
        };
        Ok(Some(Self {
            cuda: CudaOnce::new(driver, cuda)?,
            queue: match machine.in_queue {
                true => Some(QueueOnce::new(driver, cuda, &machine.device)?),
                false => None,
            },
        }))
    }

    /// Why an effect cannot be run here, if so.
    pub fn refuses(&self, effect: &Effect) -> Option<String> {
        match &self.queue {
            Some(queue) => queue.load(effect).err().map(|error| error.to_string()),
            None if effect.transforms() => find_cufft().err().map(|error| format!("it {error}")),
            None => None,
        }
    }

    /// One frame: see [`CudaOnce::run`].
    ///
    /// # Errors
    /// No memory, or a kernel failed.
    pub fn run(
        &mut self,
        plan: &Plan,
        color: &[[f16; 4]],
        guides: &TestGuides,
        extents: FrameExtents,
        frame: &FrameParameters,
    ) -> anyhow::Result<Written> {
        let by_cuda = self.cuda.run(plan, color, guides, extents, frame)?;
        let Some(queue) = &mut self.queue else {
            return Ok(Written {
                texels: by_cuda,
                not_as_cuda: 0,
            });
        };
        let texels = queue.run(plan, color, guides, extents, frame)?;
        let channels = texels.as_flattened().iter().zip(by_cuda.as_flattened());
        Ok(Written {
            not_as_cuda: channels
                .filter(|(ours, theirs)| ours.to_bits() != theirs.to_bits())
                .count(),
            texels,
        })
    }

    /// The next frame is the first: nothing that effects kept is left.
    pub fn forget(&mut self) {
        self.cuda.forget();
        if let Some(queue) = &mut self.queue {
            queue.forget();
        }
    }
}
