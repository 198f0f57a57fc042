//! Work of a stream that is recorded once and launched many times, as one call.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, sys};

use super::{Error, ResultExt};

/// A stream between the begin and the end of its recording: what is enqueued meanwhile is not run but kept.
///
/// A recording that is dropped without its end leaves the stream as it was.
pub struct Capture {
    is_open: bool,
    stream: Arc<CudaStream>,
}

/// `CUgraphNode`: one thing that was enqueued. It lives as long as its graph.
#[derive(Debug, Clone, Copy)]
pub struct GraphNode(sys::CUgraphNode);

/// A kernel's launch in a graph, whose arguments can be changed.
pub struct KernelNode {
    node: GraphNode,
    /// With the arguments that it was recorded with, which the graph holds.
    launch: sys::CUDA_KERNEL_NODE_PARAMS,
}

/// `CUgraphExec`, ready to be launched, with the `CUgraph` that its nodes are of.
pub struct Graph {
    exec: sys::CUgraphExec,
    raw: sys::CUgraph,
    context: Arc<CudaContext>,
}

impl Capture {
    /// Begins. Other threads may go on using the context meanwhile.
    ///
    /// # Errors
    /// The driver refused.
    pub fn begin(stream: &Arc<CudaStream>) -> Result<Self, Error> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: C1, C4.
        unsafe { sys::cuStreamBeginCapture_v2(stream.cu_stream(), mode) }
            .during(|| "begin to record a stream's work")?;
        Ok(Self {
            is_open: true,
            stream: Arc::clone(stream),
        })
    }

    /// What was enqueued last.
    ///
    /// # Errors
    /// Nothing was, or it ended the recording.
    pub fn last(&self) -> Result<GraphNode, Error> {
        let what = || "find what a stream's recording did last";
        let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        let (mut nodes, mut count) = (std::ptr::null(), 0);
        // SAFETY: C1, C3, C4; id and graph are not asked for.
        unsafe {
            sys::cuStreamGetCaptureInfo_v2(
                self.stream.cu_stream(),
                &raw mut status,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                &raw mut nodes,
                &raw mut count,
            )
        }
        .during(what)?;
        if count == 0 {
            sys::CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED.during(what)?;
        }
        // SAFETY: the driver's array holds `count` nodes until the stream is used again.
        Ok(GraphNode(unsafe { *nodes.add(count - 1) }))
    }

    /// Ends, with what was recorded ready to be launched.
    ///
    /// # Errors
    /// Something cannot be recorded; no memory.
    pub fn end(mut self) -> Result<Graph, Error> {
        self.is_open = false;
        let what = || "record a stream's work";
        let mut raw = std::ptr::null_mut();
        // SAFETY: C1, C4; the recording was begun.
        unsafe { sys::cuStreamEndCapture(self.stream.cu_stream(), &raw mut raw) }.during(what)?;
        let mut graph = Graph {
            exec: std::ptr::null_mut(),
            raw,
            context: Arc::clone(self.stream.context()),
        };
        // SAFETY: C1, C3, C4; a failure drops `graph`, which frees what there is.
        unsafe { sys::cuGraphInstantiateWithFlags(&raw mut graph.exec, raw, 0) }.during(what)?;
        Ok(graph)
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        if self.is_open {
            let mut raw = std::ptr::null_mut();
            // SAFETY: C1, C4; the recording was begun, and what there is of it is freed at once.
            unsafe {
                let _ = sys::cuStreamEndCapture(self.stream.cu_stream(), &raw mut raw);
                if !raw.is_null() {
                    let _ = sys::cuGraphDestroy(raw);
                }
            }
        }
    }
}

impl Graph {
    /// The launch behind a node of this graph.
    ///
    /// # Errors
    /// The node is no kernel.
    pub fn kernel(&self, node: GraphNode) -> Result<KernelNode, Error> {
        let mut launch = std::mem::MaybeUninit::zeroed();
        // SAFETY: C3, C4; the node is of this graph; null is a value of every field.
        let launch = unsafe {
            sys::cuGraphKernelNodeGetParams_v2(node.0, launch.as_mut_ptr()).during(|| "find a recorded kernel")?;
            launch.assume_init()
        };
        Ok(KernelNode { node, launch })
    }

    /// Gives the kernel other arguments from the next launch on.
    ///
    /// # Safety
    /// The node is of this graph, and the arguments are as [`launch`](super::launch) asks for.
    ///
    /// # Errors
    /// The driver refused.
    pub unsafe fn set_arguments<const N: usize>(
        &self,
        kernel: &KernelNode,
        arguments: [&[u8]; N],
    ) -> Result<(), Error> {
        let mut pointers = arguments.map(|bytes| bytes.as_ptr().cast_mut().cast::<c_void>());
        let launch = sys::CUDA_KERNEL_NODE_PARAMS {
            kernelParams: pointers.as_mut_ptr(),
            ..kernel.launch
        };
        // SAFETY: C3, C4: the driver copies the arguments before it returns; the rest is the caller's promise.
        unsafe { sys::cuGraphExecKernelNodeSetParams_v2(self.exec, kernel.node.0, &raw const launch) }
            .during(|| "give a recorded kernel its arguments")
    }

    /// Enqueues all of it.
    ///
    /// # Errors
    /// The driver refused, or an earlier kernel on the context failed.
    pub fn launch(&self, stream: &CudaStream) -> Result<(), Error> {
        // SAFETY: C1, C4.
        unsafe { sys::cuGraphLaunch(self.exec, stream.cu_stream()) }.during(|| "launch a recorded chain")
    }

    pub(crate) fn raw(&self) -> sys::CUgraphExec {
        self.exec
    }
}

impl GraphNode {
    pub(crate) fn raw(self) -> sys::CUgraphNode {
        self.0
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_err() {
            return;
        }
        // SAFETY: C1, C2; each is destroyed once, where it was made.
        unsafe {
            if !self.exec.is_null() {
                let _ = sys::cuGraphExecDestroy(self.exec);
            }
            let _ = sys::cuGraphDestroy(self.raw);
        }
    }
}
