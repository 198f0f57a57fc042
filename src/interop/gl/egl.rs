//! OpenGL contexts without a window or a display server, by EGL's device platform.

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use khronos_egl as egl;

use super::Error;

type Egl = egl::DynamicInstance<egl::EGL1_5>;

/// `EGL_PLATFORM_DEVICE_EXT`.
const PLATFORM_DEVICE: egl::Enum = 0x313F;
/// More devices than a machine has GPUs and software.
const MOST_DEVICES: usize = 64;

/// An OpenGL 4.6 core context with debug output, and no surface.
pub(super) struct EglContext {
    raw: egl::Context,
    display: egl::Display,
    egl: Rc<Egl>,
}

/// Loads EGL and opens a context on each of its devices that has OpenGL 4.6, one at a time; `choose` keeps one.
///
/// # Errors
/// No EGL, or no devices in it.
pub(super) fn first_device<T>(mut choose: impl FnMut(EglContext) -> Option<T>) -> Result<Option<T>, Error> {
    // SAFETY: loading the system's EGL runs its initializers, which is what we want of it.
    let egl = unsafe { Egl::load_required() }
        .map(Rc::new)
        .map_err(|error| Error::Egl(format!("libEGL.so.1 with EGL 1.5 does not load: {error}")))?;
    let devices = devices(&egl)?;
    let contexts = devices.into_iter().filter_map(|device| EglContext::new(&egl, device));
    Ok(contexts.map(&mut choose).find_map(|kept| kept))
}

fn devices(egl: &Egl) -> Result<Vec<*mut c_void>, Error> {
    let has = |name| {
        let list = egl.query_string(None, egl::EXTENSIONS);
        list.is_ok_and(|list| list.to_string_lossy().split(' ').any(|word| word == name))
    };
    let query = egl.get_proc_address("eglQueryDevicesEXT");
    let Some(query) = query.filter(|_| has("EGL_EXT_platform_device")) else {
        return Err(Error::Egl("EGL has no EGL_EXT_platform_device".into()));
    };
    // SAFETY: the function of this name has this signature, by EGL_EXT_device_enumeration.
    let query: extern "system" fn(c_int, *mut *mut c_void, *mut c_int) -> egl::Boolean =
        unsafe { std::mem::transmute(query) };
    let mut devices = vec![std::ptr::null_mut(); MOST_DEVICES];
    let mut count = 0;
    if query(MOST_DEVICES as c_int, devices.as_mut_ptr(), &raw mut count) == egl::FALSE || count == 0 {
        return Err(Error::Egl("EGL names no device".into()));
    }
    devices.truncate(count.unsigned_abs() as usize);
    Ok(devices)
}

impl EglContext {
    /// `None`: the device has no such context.
    fn new(egl: &Rc<Egl>, device: *mut c_void) -> Option<Self> {
        // SAFETY: the device is EGL's.
        let display = unsafe { egl.get_platform_display(PLATFORM_DEVICE, device, &[egl::ATTRIB_NONE]) }.ok()?;
        egl.initialize(display).ok()?;
        // The display is not terminated: EGL gives the same one to everyone who asks for the device, in this process.
        egl.bind_api(egl::OPENGL_API).ok()?;
        let wanted = [
            egl::SURFACE_TYPE,
            egl::PBUFFER_BIT,
            egl::RENDERABLE_TYPE,
            egl::OPENGL_BIT,
            egl::NONE,
        ];
        let config = egl.choose_first_config(display, &wanted).ok()??;
        let version = [
            egl::CONTEXT_MAJOR_VERSION,
            4,
            egl::CONTEXT_MINOR_VERSION,
            5,
            egl::CONTEXT_OPENGL_PROFILE_MASK,
            egl::CONTEXT_OPENGL_CORE_PROFILE_BIT,
            egl::CONTEXT_OPENGL_DEBUG,
            egl::TRUE as egl::Int,
            egl::NONE,
        ];
        let raw = egl.create_context(display, config, None, &version).ok()?;
        let context = Self {
            raw,
            display,
            egl: Rc::clone(egl),
        };
        context.make_current().ok().map(|()| context)
    }

    /// Makes it current on this thread, unless it is.
    pub fn make_current(&self) -> Result<(), Error> {
        if self.egl.get_current_context() == Some(self.raw) {
            return Ok(());
        }
        self.egl
            .make_current(self.display, None, None, Some(self.raw))
            .map_err(|error| Error::Egl(format!("the context cannot be made current: {error}")))
    }

    /// The address of an OpenGL function.
    pub fn load(&self, name: &str) -> *const c_void {
        self.egl
            .get_proc_address(name)
            .map_or(std::ptr::null(), |function| function as *const c_void)
    }
}

impl Drop for EglContext {
    fn drop(&mut self) {
        // Errors leave a context behind, which is all that could be done about them.
        if self.egl.get_current_context() == Some(self.raw) {
            let _ = self.egl.make_current(self.display, None, None, None);
        }
        let _ = self.egl.destroy_context(self.display, self.raw);
    }
}
