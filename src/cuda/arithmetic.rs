//! How many instructions a second the device does: what kernels bound by arithmetic are held against.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use super::{CudaBuffer, Error, Event, Function, Module, ResultExt, launch};

/// Instructions a second of the whole device, each counted once a thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArithmeticRates {
    /// Additions, multiplications or fused multiply-adds of floats. A fused one counts once: half of the floating-point operations a
    /// second that data sheets name.
    pub operations: f64,
    /// Reciprocals, roots, exponentials, logarithms, sines: what the special function units do (`ex2.approx` is measured).
    pub special: f64,
}

/// Instructions that a thread does in one turn of the loop in arithmetic.ptx.
const A_TURN: f64 = 32.0;
/// Turns of the loop: a launch takes about a millisecond.
const TURNS: u32 = 512;
/// Enough to fill the largest GPU some ten times.
const THREADS: u32 = 1 << 20;
const BLOCK: u32 = 256;
/// Launches timed, after one that is not: a clock that was resting gets up.
const LAUNCHES: usize = 5;

/// Measures both, each by the fastest of a few launches. Waits for the stream.
///
/// # Errors
/// The driver refused.
pub fn arithmetic_rates(context: &Arc<CudaContext>, stream: &Arc<CudaStream>) -> Result<ArithmeticRates, Error> {
    let module = Module::load(context, include_str!("arithmetic.ptx"), "arithmetic")?;
    Ok(ArithmeticRates {
        operations: rate(context, stream, &module.function("operations")?)?,
        special: rate(context, stream, &module.function("special")?)?,
    })
}

fn rate(context: &Arc<CudaContext>, stream: &Arc<CudaStream>, kernel: &Function) -> Result<f64, Error> {
    let sink = CudaBuffer::new(context, size_of::<f32>() as u64)?;
    let events = (0..LAUNCHES + 2).map(|_| Event::new(context));
    let events = events.collect::<Result<Vec<_>, _>>()?;
    events[0].record(stream)?;
    for event in &events[1..] {
        let arguments = [&sink.address().to_ne_bytes()[..], &TURNS.to_ne_bytes()];
        // SAFETY: the kernel's parameters are an address, which lives until the stream was waited for, and an unsigned integer.
        unsafe { launch(stream, kernel, [THREADS, 1], [BLOCK, 1], &arguments) }?;
        event.record(stream)?;
    }
    stream.synchronize().during(|| "measure the device's arithmetic")?;
    let times = events[1..].windows(2);
    let times = times.filter_map(|pair| pair[0].milliseconds_until(&pair[1]));
    let fastest = times.fold(f64::INFINITY, f64::min);
    Ok(f64::from(THREADS) * f64::from(TURNS) * A_TURN / fastest * 1e3)
}
