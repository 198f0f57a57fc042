//! Functions of extensions that glow does not know, loaded by name: `GL_EXT_memory_object(_fd)`, `GL_EXT_semaphore(_fd)` and
//! `GL_NV_timeline_semaphore`; and the part of libcuda that knows OpenGL.

use std::ffi::{c_int, c_uint, c_void};

use cudarc::driver::sys;

use super::Error;

// `GL_EXT_external_objects` and `GL_EXT_external_objects_fd`.
pub(super) const DEDICATED_MEMORY_OBJECT: c_uint = 0x9581;
pub(super) const HANDLE_TYPE_OPAQUE_FD: c_uint = 0x9586;
pub(super) const NUM_DEVICE_UUIDS: c_uint = 0x9596;
const DEVICE_UUID: c_uint = 0x9597;
// `GL_NV_timeline_semaphore`.
pub(super) const TIMELINE_SEMAPHORE_VALUE: c_uint = 0x9595;
pub(super) const SEMAPHORE_TYPE: c_uint = 0x95B3;
pub(super) const SEMAPHORE_TYPE_TIMELINE: c_int = 0x95B5;

/// Declares a table of functions: the field, its OpenGL name, its type. All of a table are there, or it is not.
macro_rules! table {
    ($(#[$doc:meta])* $table:ident { $($field:ident: $name:literal fn($($argument:ty),*);)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub(super) struct $table {
            $(pub $field: unsafe extern "system" fn($($argument),*),)*
        }

        impl $table {
            /// `None` when a function is missing.
            ///
            /// # Safety
            /// `load` gives what the current context has under a name.
            pub unsafe fn load(load: &mut dyn FnMut(&str) -> *const c_void) -> Option<Self> {
                Some(Self {
                    $($field: {
                        let address = load($name);
                        if address.is_null() {
                            return None;
                        }
                        // SAFETY: the function of this name has this signature, by its extension's specification.
                        unsafe {
                            std::mem::transmute::<*const c_void, unsafe extern "system" fn($($argument),*)>(address)
                        }
                    },)*
                })
            }
        }
    };
}

table! {
    /// `GL_EXT_memory_object` and `GL_EXT_memory_object_fd`.
    MemoryFunctions {
        get_unsigned_byte_indexed: "glGetUnsignedBytei_vEXT" fn(c_uint, c_uint, *mut u8);
        create_memory_objects: "glCreateMemoryObjectsEXT" fn(c_int, *mut c_uint);
        delete_memory_objects: "glDeleteMemoryObjectsEXT" fn(c_int, *const c_uint);
        memory_object_parameter: "glMemoryObjectParameterivEXT" fn(c_uint, c_uint, *const c_int);
        import_memory_fd: "glImportMemoryFdEXT" fn(c_uint, u64, c_uint, c_int);
        texture_storage_2d: "glTextureStorageMem2DEXT" fn(c_uint, c_int, c_uint, c_int, c_int, c_uint, u64);
        texture_storage_3d: "glTextureStorageMem3DEXT" fn(c_uint, c_int, c_uint, c_int, c_int, c_int, c_uint, u64);
        buffer_storage: "glNamedBufferStorageMemEXT" fn(c_uint, isize, c_uint, u64);
    }
}

table! {
    /// `GL_EXT_semaphore` and `GL_EXT_semaphore_fd`.
    SemaphoreFunctions {
        generate: "glGenSemaphoresEXT" fn(c_int, *mut c_uint);
        delete: "glDeleteSemaphoresEXT" fn(c_int, *const c_uint);
        parameter_u64: "glSemaphoreParameterui64vEXT" fn(c_uint, c_uint, *const u64);
        import_fd: "glImportSemaphoreFdEXT" fn(c_uint, c_uint, c_int);
        wait: "glWaitSemaphoreEXT" fn(c_uint, c_uint, *const c_uint, c_uint, *const c_uint, *const c_uint);
        signal: "glSignalSemaphoreEXT" fn(c_uint, c_uint, *const c_uint, c_uint, *const c_uint, *const c_uint);
    }
}

table! {
    /// `GL_NV_timeline_semaphore`.
    TimelineFunctions {
        create: "glCreateSemaphoresNV" fn(c_int, *mut c_uint);
        parameter: "glSemaphoreParameterivNV" fn(c_uint, c_uint, *const c_int);
    }
}

/// What a context has of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Functions {
    pub memory: Option<MemoryFunctions>,
    pub semaphore: Option<SemaphoreFunctions>,
    pub timeline: Option<TimelineFunctions>,
}

impl Functions {
    /// Loads them. A context may give addresses for functions that it does not have, so its list of extensions decides.
    ///
    /// # Safety
    /// As for the tables' `load`.
    pub unsafe fn load(has: impl Fn(&str) -> bool, load: &mut dyn FnMut(&str) -> *const c_void) -> Self {
        let memory = has("GL_EXT_memory_object") && has("GL_EXT_memory_object_fd");
        let semaphore = has("GL_EXT_semaphore") && has("GL_EXT_semaphore_fd");
        let timeline = semaphore && has("GL_NV_timeline_semaphore");
        // SAFETY: the caller's promise.
        unsafe {
            Self {
                memory: memory.then(|| MemoryFunctions::load(load)).flatten(),
                semaphore: semaphore.then(|| SemaphoreFunctions::load(load)).flatten(),
                timeline: timeline.then(|| TimelineFunctions::load(load)).flatten(),
            }
        }
    }
}

impl MemoryFunctions {
    /// The UUID of one of the context's devices.
    ///
    /// # Safety
    /// The context is current and has such a device.
    pub unsafe fn device_uuid(&self, index: u32) -> [u8; 16] {
        let mut uuid = [0; 16];
        // SAFETY: the caller's promise; `GL_UUID_SIZE_EXT` is 16.
        unsafe { (self.get_unsigned_byte_indexed)(DEVICE_UUID, index, uuid.as_mut_ptr()) };
        uuid
    }
}

/// Which of the GPUs of a context are asked for: `CU_GL_DEVICE_LIST_ALL`.
pub(super) const DEVICE_LIST_ALL: c_uint = 1;

/// `cuGLGetDevices_v2`: count, ordinals, capacity, list.
pub(super) type GetDevices = unsafe extern "C" fn(*mut c_uint, *mut sys::CUdevice, c_uint, c_uint) -> sys::CUresult;
/// `cuGraphicsGLRegisterBuffer`: resource, buffer, flags.
pub(super) type RegisterBuffer = unsafe extern "C" fn(*mut sys::CUgraphicsResource, c_uint, c_uint) -> sys::CUresult;
/// `cuGraphicsGLRegisterImage`: resource, texture, target, flags.
pub(super) type RegisterImage =
    unsafe extern "C" fn(*mut sys::CUgraphicsResource, c_uint, c_uint, c_uint) -> sys::CUresult;

/// A function of libcuda that cudarc does not declare.
///
/// # Safety
/// libcuda is loaded (C4), and `Function` is the type of the function of this name.
pub(super) unsafe fn of_cuda<Function: Copy>(name: &'static str) -> Result<Function, Error> {
    // SAFETY: the caller's promise.
    unsafe { sys::culib().get::<Function>(name.as_bytes()) }
        .map(|function| *function)
        .map_err(|_| Error::NoSymbol(name))
}
