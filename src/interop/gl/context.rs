//! An OpenGL context, which GPU it is, and what it can share.

use std::ffi::c_void;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use cudarc::driver::sys;
use glow::HasContext;

use crate::cuda::{CudaDevice, Driver, ResultExt};
use crate::interop::uuid_text;

use super::Error;
use super::egl::{EglContext, first_device};
use super::functions::{self, Functions, GetDevices, MemoryFunctions, SemaphoreFunctions, TimelineFunctions};

/// An OpenGL context on one thread. Everything made on it keeps it alive.
///
/// CUDA guide, 4.19.1: which CUDA devices run a context, it is asked (`cuGLGetDevices`); which Vulkan device is the same GPU, the
/// UUID says.
///
/// ```no_run
/// use handover::interop::gl::Context;
/// use handover::proof::Pair;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??;
///     let opengl = Context::headless(Some(&pair.cuda.uuid))?;
///     let driver = handover::cuda::Driver::load()?;
///     println!("{}: {:?}", opengl.renderer(), opengl.cuda_devices(&driver)?);
///     opengl.check_messages()?;
///     Ok(pair.finish()?)
/// }
/// ```
pub struct Context {
    gl: glow::Context,
    functions: Functions,
    /// `GL_RENDERER`.
    renderer: String,
    /// Empty where the context does not share memory.
    uuids: Vec<[u8; 16]>,
    /// Of a context that was made here; a program's own context has debug output of its own.
    messages: Messages,
    /// Of a context that was made here.
    egl: Option<EglContext>,
}

/// What OpenGL's debug output said.
type Messages = Arc<Mutex<Vec<String>>>;

impl Context {
    /// A context without a window on the GPU of this UUID, or on the first device that has OpenGL 4.5, current on this thread.
    ///
    /// # Errors
    /// [`Error::Egl`] without EGL or its device platform, [`Error::NoMatch`] with the list of what there is.
    pub fn headless(uuid: Option<&[u8; 16]>) -> Result<Rc<Self>, Error> {
        let mut found = String::new();
        let chosen = first_device(|egl| {
            let mut load = |name: &str| egl.load(name);
            // SAFETY: the context was just made current, and the loader is its own.
            let context = unsafe { Self::load(&mut load) };
            let uuids: Vec<_> = context.uuids.iter().map(uuid_text).collect();
            found += &format!("\n    {}  {}", uuids.join(", "), context.renderer);
            let is_wanted = uuid.is_none_or(|wanted| context.uuids.contains(wanted));
            is_wanted.then_some((context, egl))
        })?;
        let (mut context, egl) = chosen.ok_or_else(|| match uuid {
            Some(uuid) => Error::NoMatch {
                wanted: uuid_text(uuid),
                found: if found.is_empty() { " none".into() } else { found },
            },
            None => Error::Egl("no device of EGL has OpenGL 4.5".into()),
        })?;
        context.egl = Some(egl);
        // SAFETY: G1: it is still current, since it was the last to be made.
        unsafe { context.collect_messages() };
        Ok(Rc::new(context))
    }

    /// The context that is current on this thread, the program's own, with the loader that it was made with.
    ///
    /// # Safety
    /// The context stays current on this thread as long as what is returned, and what is made on it, is used; `load` is its own
    /// loader.
    pub unsafe fn current(mut load: impl FnMut(&str) -> *const c_void) -> Rc<Self> {
        // SAFETY: the caller's promise.
        Rc::new(unsafe { Self::load(&mut load) })
    }

    /// # Safety
    /// The context is current on this thread, and `load` is its own loader.
    unsafe fn load(load: &mut dyn FnMut(&str) -> *const c_void) -> Self {
        // SAFETY: the caller's promise.
        let gl = unsafe { glow::Context::from_loader_function(&mut *load) };
        // SAFETY: G1, by the caller's promise.
        unsafe {
            let functions = Functions::load(|name| gl.supported_extensions().contains(name), load);
            let count = |_: &MemoryFunctions| gl.get_parameter_i32(functions::NUM_DEVICE_UUIDS).unsigned_abs();
            let uuids = functions.memory.iter().flat_map(|memory| {
                let indices = 0..count(memory);
                indices.map(|index| memory.device_uuid(index))
            });
            Self {
                renderer: gl.get_parameter_string(glow::RENDERER),
                uuids: uuids.collect(),
                functions,
                gl,
                messages: Messages::default(),
                egl: None,
            }
        }
    }

    /// Collects what debug output says against the program.
    ///
    /// # Safety
    /// The context is current.
    unsafe fn collect_messages(&mut self) {
        let messages = Arc::clone(&self.messages);
        // SAFETY: G1, by the caller's promise; the context is a debug context.
        unsafe {
            self.gl.enable(glow::DEBUG_OUTPUT);
            self.gl.enable(glow::DEBUG_OUTPUT_SYNCHRONOUS);
            let (gl, any) = (&self.gl, glow::DONT_CARE);
            gl.debug_message_control(any, any, glow::DEBUG_SEVERITY_NOTIFICATION, &[], false);
            // A driver calls every read-back slow.
            gl.debug_message_control(any, glow::DEBUG_TYPE_PERFORMANCE, any, &[], false);
            self.gl.debug_message_callback(move |_, _, _, _, message| {
                if let Ok(mut messages) = messages.lock() {
                    messages.push(message.to_owned());
                }
            });
        }
    }

    /// OpenGL's functions, with the context current.
    ///
    /// # Errors
    /// The context cannot be made current.
    pub fn gl(&self) -> Result<&glow::Context, Error> {
        if let Some(egl) = &self.egl {
            egl.make_current()?;
        }
        Ok(&self.gl)
    }

    /// `GL_RENDERER`: the device's name.
    pub fn renderer(&self) -> &str {
        &self.renderer
    }

    /// The UUIDs of its GPUs, equal to Vulkan's `deviceUUID` and to CUDA's; empty without `GL_EXT_memory_object`.
    pub fn uuids(&self) -> &[[u8; 16]] {
        &self.uuids
    }

    /// The CUDA devices that run this context (`cuGLGetDevices`, `CU_GL_DEVICE_LIST_ALL`).
    ///
    /// # Errors
    /// The context is not one of NVIDIA's, or none of its GPUs is visible to CUDA.
    pub fn cuda_devices(&self, driver: &Driver) -> Result<Vec<CudaDevice>, Error> {
        self.gl()?;
        let mut ordinals = vec![0; driver.devices.len()];
        let mut count = 0;
        // SAFETY: G1, C4: a driver is proof that libcuda is loaded; the type is that of this function.
        let result = unsafe {
            let get: GetDevices = functions::of_cuda("cuGLGetDevices_v2")?;
            let capacity = ordinals.len() as u32;
            get(
                &raw mut count,
                ordinals.as_mut_ptr(),
                capacity,
                functions::DEVICE_LIST_ALL,
            )
        };
        result.during(|| format!("find the CUDA devices of the OpenGL context ({})", self.renderer))?;
        ordinals.truncate(count as usize);
        let is_named = |device: &&CudaDevice| ordinals.contains(&(device.ordinal as sys::CUdevice));
        Ok(driver.devices.iter().filter(is_named).cloned().collect())
    }

    /// What OpenGL's debug output holds against the program since the last look: errors, undefined behaviour, what is not portable.
    /// Nothing for a context that was not made here.
    ///
    /// # Errors
    /// [`Error::Refused`] with the messages, when there are any.
    pub fn check_messages(&self) -> Result<(), Error> {
        // Messages may come with the work that they are about.
        // SAFETY: G1.
        unsafe { self.gl()?.finish() };
        let messages = self.messages.lock().map(|mut messages| std::mem::take(&mut *messages));
        let messages = messages.unwrap_or_default();
        if messages.is_empty() {
            return Ok(());
        }
        Err(Error::Refused {
            what: format!("OpenGL ({}) has {} messages", self.renderer, messages.len()),
            message: messages.join("\n"),
        })
    }

    pub(super) fn memory(&self) -> Result<&MemoryFunctions, Error> {
        self.extension(&self.functions.memory, "GL_EXT_memory_object_fd")
    }

    pub(super) fn semaphore(&self) -> Result<&SemaphoreFunctions, Error> {
        self.extension(&self.functions.semaphore, "GL_EXT_semaphore_fd")
    }

    pub(super) fn timeline(&self) -> Result<&TimelineFunctions, Error> {
        self.extension(&self.functions.timeline, "GL_NV_timeline_semaphore")
    }

    fn extension<'a, T>(&self, functions: &'a Option<T>, extension: &'static str) -> Result<&'a T, Error> {
        self.gl()?;
        functions.as_ref().ok_or_else(|| Error::NoExtension {
            renderer: self.renderer.clone(),
            extension,
        })
    }

    /// Whether the last calls did what they should.
    ///
    /// # Errors
    /// [`Error::Refused`] with OpenGL's name of the first error.
    pub(super) fn check(&self, what: impl FnOnce() -> String) -> Result<(), Error> {
        // SAFETY: G1.
        let error = unsafe { self.gl()?.get_error() };
        let name = match error {
            glow::NO_ERROR => return Ok(()),
            glow::INVALID_ENUM => "GL_INVALID_ENUM",
            glow::INVALID_VALUE => "GL_INVALID_VALUE",
            glow::INVALID_OPERATION => "GL_INVALID_OPERATION",
            glow::OUT_OF_MEMORY => "GL_OUT_OF_MEMORY",
            glow::CONTEXT_LOST => "GL_CONTEXT_LOST",
            _ => "an OpenGL error",
        };
        let (what, message) = (what(), format!("{name} ({error:#06x})"));
        Err(Error::Refused { what, message })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // The callback goes with `gl`, before the context itself.
        if self.egl.is_some()
            && let Ok(gl) = self.gl()
        {
            // SAFETY: G1.
            unsafe { gl.disable(glow::DEBUG_OUTPUT) };
        }
    }
}
