//! Fourier transforms by cuFFT, found at run time.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cudarc::cufft::{result, sys};
use cudarc::driver::{CudaContext, CudaStream};

use super::{CudaBuffer, Error, ResultExt};

/// A transform that cannot be made or run.
#[derive(Debug, thiserror::Error)]
pub enum FftError {
    /// There is no cuFFT.
    #[error(
        "needs cuFFT, and libcufft.so (.11 of CUDA 12, .12 of CUDA 13) is not found: install it with the CUDA toolkit (Ubuntu: \
         libcufft-12-9 from NVIDIA's repository), or set LD_LIBRARY_PATH to the folder that has it"
    )]
    Missing,
    /// cuFFT refused.
    #[error("{what}: {result:?}")]
    Refused {
        /// What the call was for, with its arguments.
        what: String,
        /// What it returned.
        result: sys::cufftResult,
    },
    /// A call of the driver failed.
    #[error(transparent)]
    Driver(#[from] Error),
}

/// Looks for cuFFT, once.
///
/// # Errors
/// [`FftError::Missing`].
pub fn find_cufft() -> Result<(), FftError> {
    static FOUND: OnceLock<bool> = OnceLock::new();
    // SAFETY: loading the system's libcufft runs its initializers, which is what we want of it.
    let found = *FOUND.get_or_init(|| unsafe { sys::is_culib_present() });
    if found { Ok(()) } else { Err(FftError::Missing) }
}

/// Transforms of all planes of a real grid, or back, on one stream. Not normalized.
pub struct Fft {
    plan: sys::cufftHandle,
    is_forward: bool,
    /// Bytes of the real grid and of the spectrum.
    bytes: [u64; 2],
    context: Arc<CudaContext>,
    /// The plan's; it outlives it.
    _stream: Arc<CudaStream>,
}

impl Fft {
    /// For planes of that extent, rows without gaps, one plane behind the other; a spectrum's rows have width / 2 + 1 elements.
    ///
    /// # Errors
    /// No cuFFT; no memory; an extent that it does not take.
    pub fn new(
        context: &Arc<CudaContext>,
        stream: &Arc<CudaStream>,
        is_forward: bool,
        extent: [u32; 2],
        planes: u32,
    ) -> Result<Self, FftError> {
        find_cufft()?;
        let [width, height] = extent;
        let what = || format!("plan {planes} Fourier transforms of {width}x{height}");
        context.bind_to_thread().during(what)?;
        let kind = match is_forward {
            true => sys::cufftType::CUFFT_R2C,
            false => sys::cufftType::CUFFT_C2R,
        };
        keep(context);
        let plan = result::create().map_err(|error| refused(what(), error))?;
        let (real, spectrum) = (u64::from(width) * 4, (u64::from(width) / 2 + 1) * 8);
        // From here on the plan is destroyed with it, also where the sizes are refused.
        let made = Self {
            plan,
            is_forward,
            bytes: [real, spectrum].map(|row| row * u64::from(height) * u64::from(planes)),
            context: Arc::clone(context),
            _stream: Arc::clone(stream),
        };
        // The slowest axis first. Sizes are of 64 bits, since all planes of a large frame have over 2^31 elements; where 32-bit indices
        // are enough cuFFT takes those.
        let mut lengths = [height, width].map(i64::from);
        let none = std::ptr::null_mut();
        let batch = i64::from(planes);
        // SAFETY: C3; the plan was just created; without embeddings the grids are packed, as they are here.
        unsafe { result::make_plan_many64(plan, 2, lengths.as_mut_ptr(), none, 1, 0, none, 1, 0, kind, batch) }
            .map_err(|error| refused(what(), error))?;
        // SAFETY: the stream is of this context and lives as long as the plan; the runtime's streams are the driver's.
        unsafe { result::set_stream(plan, stream.cu_stream().cast()) }.map_err(|error| refused(what(), error))?;
        Ok(made)
    }

    /// Enqueues the transform. What is read holds nothing afterwards where that is a spectrum. On a thread that has bound the
    /// context.
    ///
    /// # Errors
    /// cuFFT refused.
    ///
    /// # Panics
    /// If the buffers are smaller than the grids.
    pub fn run(&self, from: &CudaBuffer, to: &CudaBuffer) -> Result<(), FftError> {
        let (real, spectrum) = if self.is_forward { (from, to) } else { (to, from) };
        assert!(
            real.bytes() >= self.bytes[0] && spectrum.bytes() >= self.bytes[1],
            "the grids fit into the buffers"
        );
        let (real, spectrum) = (
            real.address() as *mut sys::cufftReal,
            spectrum.address() as *mut sys::cufftComplex,
        );
        // SAFETY: C1, C2; the buffers are as long as the plan's grids, which was looked at.
        let run = unsafe {
            match self.is_forward {
                true => result::exec_r2c(self.plan, real, spectrum),
                false => result::exec_c2r(self.plan, spectrum, real),
            }
        };
        run.map_err(|error| refused("enqueue a Fourier transform".into(), error))
    }
}

/// Keeps a context until the process ends. cuFFT has a module in every context that it planned in, and lets it go at exit only: with
/// the context destroyed before, the module's memory is never freed, and cuFFT's handle of it names nothing.
fn keep(context: &Arc<CudaContext>) {
    static KEPT: Mutex<Vec<Arc<CudaContext>>> = Mutex::new(Vec::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if !kept.iter().any(|other| other.cu_ctx() == context.cu_ctx()) {
        kept.push(Arc::clone(context));
    }
}

impl FftError {
    /// Memory ran out.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Self::Missing => false,
            Self::Refused { result, .. } => *result == sys::cufftResult::CUFFT_ALLOC_FAILED,
            Self::Driver(error) => error.is_out_of_memory(),
        }
    }
}

fn refused(what: String, error: result::CufftError) -> FftError {
    FftError::Refused { what, result: error.0 }
}

impl Drop for Fft {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: C2; it is destroyed once.
            let _ = unsafe { result::destroy(self.plan) };
        }
    }
}
