//! How fast the host's memory is: a copy on all cores, timed.

use std::time::Instant;

use rayon::prelude::*;

/// Bytes copied: more than most hosts' caches hold, few enough to take some milliseconds.
const BYTES: usize = 32 << 20;

/// What a core copies at a time.
const PART: usize = 1 << 20;

/// Copies timed, after one that is not: the first touch of a page has the system find it.
const COPIES: usize = 3;

/// Bytes a second that a copy on all cores moves, those read and those written counted both: the fastest of a few.
pub(super) fn copy_bandwidth() -> Option<f64> {
    let (from, mut to) = (vec![1_u8; BYTES], vec![0_u8; BYTES]);
    let mut copy = || {
        let started = Instant::now();
        to.par_chunks_mut(PART)
            .zip(from.par_chunks(PART))
            .for_each(|(to, from)| to.copy_from_slice(from));
        std::hint::black_box(&mut to);
        started.elapsed().as_secs_f64()
    };
    copy();
    let fastest = (0..COPIES).map(|_| copy()).filter(|time| *time > 0.0).reduce(f64::min);
    fastest.map(|seconds| 2.0 * BYTES as f64 / seconds)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_copy_takes_time_and_moves_no_more_than_any_memory_can() {
        let bandwidth = super::copy_bandwidth().expect("a copy takes time");
        // From far below one module of DDR4 to above the caches of any host.
        assert!((1e8..1e14).contains(&bandwidth), "{bandwidth} bytes a second");
    }
}
