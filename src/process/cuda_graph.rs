//! A slot's chain as a CUDA graph: recorded once while it is enqueued, then launched with each frame's arguments and values.

use std::sync::Arc;

use crate::cuda::{Capture, CudaStream, Graph, GraphNode, KernelNode};
use crate::timing::Instrument;

use super::Error;
use super::cuda::Semaphores;
use super::cuda_chain::Loaded;

/// Frames of a slot for which this is the same differ in arguments and values alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Likeness {
    pub plan: u64,
    pub instrument: Instrument,
    pub has_guides: bool,
    /// What is made once is made in it.
    pub runs_all: bool,
}

/// A chain that is being recorded. It notes the nodes that change from frame to frame, each right after it was enqueued.
pub(super) struct Recording {
    capture: Capture,
    wait: Option<GraphNode>,
    /// With the number of the launch.
    kernels: Vec<(usize, GraphNode)>,
    signal: Option<GraphNode>,
}

impl Recording {
    pub fn begin(stream: &Arc<CudaStream>) -> Result<Self, Error> {
        Ok(Self {
            capture: Capture::begin(stream)?,
            wait: None,
            kernels: Vec::new(),
            signal: None,
        })
    }

    pub fn note_wait(&mut self) -> Result<(), Error> {
        self.wait = Some(self.capture.last()?);
        Ok(())
    }

    pub fn note_kernel(&mut self, launch: usize) -> Result<(), Error> {
        self.kernels.push((launch, self.capture.last()?));
        Ok(())
    }

    pub fn note_signal(&mut self) -> Result<(), Error> {
        self.signal = Some(self.capture.last()?);
        Ok(())
    }

    /// What was recorded, which runs what is `loaded`.
    pub fn end(self, loaded: Loaded) -> Result<ChainGraph, Error> {
        let graph = self.capture.end()?;
        let kernels = self.kernels.into_iter();
        let kernels = kernels.map(|(launch, node)| Ok((launch, graph.kernel(node)?)));
        Ok(ChainGraph {
            wait: self.wait,
            kernels: kernels.collect::<Result<_, Error>>()?,
            signal: self.signal,
            graph,
            _loaded: loaded,
        })
    }
}

/// A recorded chain. Fields in drop order: the graph goes before the modules it runs.
pub(super) struct ChainGraph {
    wait: Option<GraphNode>,
    kernels: Vec<(usize, KernelNode)>,
    signal: Option<GraphNode>,
    graph: Graph,
    _loaded: Loaded,
}

impl ChainGraph {
    /// The launches whose arguments change, by their numbers.
    pub fn kernels(&self) -> impl Iterator<Item = (usize, &KernelNode)> {
        self.kernels.iter().map(|(launch, kernel)| (*launch, kernel))
    }

    /// Gives a launch its arguments.
    ///
    /// # Safety
    /// They are the kernel's, and what they name lives until the stream has ended.
    pub unsafe fn set_arguments(&self, kernel: &KernelNode, arguments: [&[u8]; 2]) -> Result<(), Error> {
        // SAFETY: the node is of this graph; the rest is the caller's promise.
        Ok(unsafe { self.graph.set_arguments(kernel, arguments) }?)
    }

    /// Makes it wait for this value of `rendered`, and signal it of `processed`.
    pub fn set_frame(&self, semaphores: &Semaphores, value: u64) -> Result<(), Error> {
        if let Some(wait) = self.wait {
            semaphores.rendered.set_wait(&self.graph, wait, value)?;
        }
        if let Some(signal) = self.signal {
            semaphores.processed.set_signal(&self.graph, signal, value)?;
        }
        Ok(())
    }

    pub fn launch(&self, stream: &CudaStream) -> Result<(), Error> {
        Ok(self.graph.launch(stream)?)
    }
}
