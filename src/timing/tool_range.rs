//! A stretch of a thread's time with a label, as profilers show it: NVTX for Nsight Systems and Nsight Graphics, and Tracy with
//! the feature `tracy`.

use std::marker::PhantomData;
use std::sync::LazyLock;

/// An open range of this thread; it ends when it is dropped. Ranges nest.
#[must_use = "it ends when it is dropped"]
pub struct ToolRange {
    #[cfg(feature = "tracy")]
    zone: Option<tracy_client::Span>,
    /// NVTX ends the range that the same thread opened last.
    of_thread: PhantomData<*const ()>,
}

impl ToolRange {
    /// Opens it.
    pub fn new(label: &str) -> Self {
        push(label);
        Self {
            #[cfg(feature = "tracy")]
            zone: Some(zone(label)),
            of_thread: PhantomData,
        }
    }

    /// Ends it, and opens another one in its place.
    pub fn next(&mut self, label: &str) {
        pop();
        push(label);
        #[cfg(feature = "tracy")]
        {
            // Closed before the next is opened: zones nest.
            drop(self.zone.take());
            self.zone = Some(zone(label));
        }
    }
}

impl Drop for ToolRange {
    fn drop(&mut self) {
        pop();
    }
}

/// A frame ends here and the next begins, for tools that count frames.
pub fn mark_frame() {
    #[cfg(feature = "tracy")]
    TRACY.frame_mark();
}

fn push(label: &str) {
    if *IS_WATCHED {
        nvtx::range_push!("{label}");
    }
}

fn pop() {
    if *IS_WATCHED {
        nvtx::range_pop!();
    }
}

/// A tool may listen to NVTX: it is named in the variable from which NVTX loads it, or it is in the process from the start. Where
/// there is none, ranges cost nothing.
static IS_WATCHED: LazyLock<bool> = LazyLock::new(|| {
    let variables = ["NVTX_INJECTION64_PATH", "LD_PRELOAD"];
    variables
        .into_iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
});

#[cfg(feature = "tracy")]
static TRACY: LazyLock<tracy_client::Client> = LazyLock::new(tracy_client::Client::start);

#[cfg(feature = "tracy")]
fn zone(label: &str) -> tracy_client::Span {
    // No call stack: the label says where it is.
    TRACY.clone().span_alloc(Some(label), "", file!(), line!(), 0)
}
