//! Objects of OpenGL's that CUDA may borrow: register, map, use, unmap, unregister (CUDA guide, 4.19.1.1).
//!
//! The states are types, so what the guide calls undefined does not compile: the object is out of reach while it is mapped,
//! resized only while it is not registered, and a mapping gives only what its access allows.

use std::marker::PhantomData;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, sys};

use crate::cuda::{Event, ImageViews, ResultExt};

use super::object::sealed::Resource as _;
use super::{Buffer, Error, Resource, Texture};

/// What kernels do with a mapped object: [`ReadWrite`], [`ReadOnly`] or [`WriteDiscard`].
pub trait Access {
    /// `CU_GRAPHICS_REGISTER_FLAGS_…`.
    const FLAGS: u32;
    /// Kernels may load.
    const READS: bool;
    /// Kernels may store.
    const WRITES: bool;
}

/// Kernels may load what OpenGL wrote.
pub trait Reads: Access {}
/// Kernels may store.
pub trait Writes: Access {}

/// `CU_GRAPHICS_REGISTER_FLAGS_NONE`: kernels load and store.
#[derive(Debug)]
pub enum ReadWrite {}
/// `CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY`: kernels only load, so nothing goes back to OpenGL.
#[derive(Debug)]
pub enum ReadOnly {}
/// `CU_GRAPHICS_REGISTER_FLAGS_WRITE_DISCARD`: kernels write all of it, so nothing comes from OpenGL: what was in it is undefined.
#[derive(Debug)]
pub enum WriteDiscard {}

impl Access for ReadWrite {
    const FLAGS: u32 = 0x00;
    const READS: bool = true;
    const WRITES: bool = true;
}
impl Access for ReadOnly {
    const FLAGS: u32 = 0x01;
    const READS: bool = true;
    const WRITES: bool = false;
}
impl Access for WriteDiscard {
    const FLAGS: u32 = 0x02;
    const READS: bool = false;
    const WRITES: bool = true;
}
impl Reads for ReadWrite {}
impl Writes for ReadWrite {}
impl Reads for ReadOnly {}
impl Writes for WriteDiscard {}

/// An object that is registered with CUDA for one kind of access.
///
/// Dropping or [unregistering](Registered::unregister) it waits for the kernels that use it.
///
/// ```no_run
/// use handover::interop::gl::{Buffer, Context, ReadWrite, Registered};
/// use handover::proof::Pair;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??;
///     let opengl = Context::headless(Some(&pair.cuda.uuid))?;
///     let vertices = Buffer::new(&opengl, 4096)?;
///     let mut vertices = Registered::<_, ReadWrite>::new(&pair.context, vertices)?;
///     for _frame in 0..60 {
///         let mapped = vertices.map(&pair.stream)?;
///         let address: u64 = *mapped.destination(); // an argument for `handover::cuda::launch`
///         println!("CUDA has the vertices at {address:#x}");
///         mapped.unmap()?;
///         // OpenGL draws `vertices.object().raw`.
///     }
///     // Only what is not registered can be resized.
///     let mut vertices = vertices.unregister();
///     vertices.resize(8192)?;
///     Ok(pair.finish()?)
/// }
/// ```
///
/// Nothing of a mapping survives its end, and the object is not to be had before:
///
/// ```compile_fail,E0502
/// # use handover::interop::gl::{Buffer, ReadWrite, Registered};
/// # use handover::cuda::CudaStream;
/// fn drawn_while_mapped(mut buffer: Registered<Buffer, ReadWrite>, stream: &std::sync::Arc<CudaStream>) {
///     let mapped = buffer.map(stream).unwrap();
///     let name = buffer.object().raw; // error: borrowed as mutable
///     mapped.unmap().unwrap();
/// }
/// ```
///
/// ```compile_fail,E0277
/// # use handover::interop::gl::{Buffer, ReadOnly, Registered};
/// # use handover::cuda::CudaStream;
/// fn written_though_read_only(mut buffer: Registered<Buffer, ReadOnly>, stream: &std::sync::Arc<CudaStream>) {
///     let address = buffer.map(stream).unwrap().destination(); // error: `ReadOnly: Writes` is not satisfied
/// }
/// ```
///
/// ```compile_fail,E0596
/// # use handover::interop::gl::{Buffer, ReadWrite, Registered};
/// fn resized_while_registered(mut buffer: Registered<Buffer, ReadWrite>) {
///     buffer.object().resize(64).unwrap(); // error: behind a `&` reference
/// }
/// ```
pub struct Registered<T: Resource, A: Access> {
    // CUDA's side first: it must be gone before OpenGL deletes the object.
    registration: Registration<T::Mapped>,
    object: T,
    access: PhantomData<A>,
}

/// CUDA's side of it.
struct Registration<M> {
    raw: sys::CUgraphicsResource,
    /// What earlier mappings gave: kernels use it until its event is reached.
    retired: Vec<(Event, M)>,
    context: Arc<CudaContext>,
}

impl<T: Resource, A: Access> Registered<T, A> {
    /// Registers the object with the CUDA context of the same GPU, which [`Context::cuda_devices`](super::Context::cuda_devices)
    /// names.
    ///
    /// # Errors
    /// The driver refused: the OpenGL context runs on another GPU, or CUDA does not know the format.
    pub fn new(context: &Arc<CudaContext>, object: T) -> Result<Self, Error> {
        let what = || format!("register {} with CUDA", object.text());
        context.bind_to_thread().during(what)?;
        Ok(Self {
            registration: Registration {
                raw: object.register(A::FLAGS, A::WRITES)?,
                retired: Vec::new(),
                context: Arc::clone(context),
            },
            object,
            access: PhantomData,
        })
    }

    /// The object, for OpenGL to use: not while it is mapped.
    pub fn object(&self) -> &T {
        &self.object
    }

    /// Ends the registration and gives the object back, to be resized or registered for another access.
    pub fn unregister(self) -> T {
        self.object
    }

    /// Lends the object to CUDA: what the stream is given from here on sees what OpenGL was told to do before.
    ///
    /// # Errors
    /// The driver refused; the object then stays OpenGL's.
    pub fn map(&mut self, stream: &Arc<CudaStream>) -> Result<Mapped<'_, T, A>, Error> {
        let what = || format!("map {}", self.object.text());
        self.object.context().gl()?;
        let registration = &mut self.registration;
        registration.context.bind_to_thread().during(what)?;
        registration.retired.retain(|(used, _)| !used.is_reached());
        // SAFETY: C1, C4; registered, and not mapped: `Mapped` borrows it.
        unsafe { sys::cuGraphicsMapResources(1, &raw mut registration.raw, stream.cu_stream()) }.during(what)?;
        // From here on `mapped` unmaps.
        let mut mapped = Mapped {
            contents: None,
            registered: self,
            stream: Arc::clone(stream),
        };
        let Registered {
            registration, object, ..
        } = &*mapped.registered;
        let kinds = (A::WRITES, A::READS);
        // SAFETY: mapped, and bound to this thread.
        mapped.contents = Some(unsafe { object.mapped(&registration.context, registration.raw, kinds)? });
        Ok(mapped)
    }
}

/// An object that CUDA has. Dropping it unmaps: what OpenGL is told to do after that sees what the stream was given before.
pub struct Mapped<'a, T: Resource, A: Access> {
    /// `None` before it was asked for, and after the end.
    contents: Option<T::Mapped>,
    registered: &'a mut Registered<T, A>,
    stream: Arc<CudaStream>,
}

impl<A: Access> Mapped<'_, Buffer, A> {
    /// The buffer's address, for kernels to load from.
    pub fn source(&self) -> &sys::CUdeviceptr
    where
        A: Reads,
    {
        self.address()
    }

    /// The buffer's address, for kernels to store to.
    pub fn destination(&self) -> &sys::CUdeviceptr
    where
        A: Writes,
    {
        self.address()
    }

    fn address(&self) -> &sys::CUdeviceptr {
        self.contents
            .as_ref()
            .expect("it is there until the end, which takes `self`")
    }
}

impl<A: Access> Mapped<'_, Texture, A> {
    /// The texture object of a level, for kernels to sample: bilinear, clamped, coordinates in 0..1.
    ///
    /// # Errors
    /// [`Error::Range`] past the last level.
    pub fn texture(&self, level: u32) -> Result<&sys::CUtexObject, Error>
    where
        A: Reads,
    {
        Ok(&self.level(level)?.texture)
    }

    /// The surface object of a level, for kernels to store to, and to load from where the access lets them.
    ///
    /// # Errors
    /// [`Error::Range`] past the last level.
    pub fn surface(&self, level: u32) -> Result<&sys::CUsurfObject, Error>
    where
        A: Writes,
    {
        Ok(&self.level(level)?.surface)
    }

    fn level(&self, level: u32) -> Result<&ImageViews, Error> {
        let levels = self.contents.as_ref().map_or(&[][..], Vec::as_slice);
        levels.get(level as usize).ok_or_else(|| Error::Range {
            what: format!("level {level} of {}", self.registered.object.text()),
            reason: format!("it has {}, counted from 0", levels.len()),
        })
    }
}

impl<T: Resource, A: Access> Mapped<'_, T, A> {
    /// Gives the object back to OpenGL.
    ///
    /// # Errors
    /// The driver refused, or an earlier kernel on the context failed.
    pub fn unmap(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        let registration = &mut self.registered.registration;
        let what = || "give a mapped object back to OpenGL";
        registration.context.bind_to_thread().during(what)?;
        self.registered.object.context().gl()?;
        if let Some(contents) = self.contents.take() {
            let used = Event::new(&registration.context)?;
            used.record(&self.stream)?;
            registration.retired.push((used, contents));
        }
        // SAFETY: C1, C4; mapped on this stream.
        let result = unsafe { sys::cuGraphicsUnmapResources(1, &raw mut registration.raw, self.stream.cu_stream()) };
        Ok(result.during(what)?)
    }
}

impl<T: Resource, A: Access> Drop for Mapped<'_, T, A> {
    fn drop(&mut self) {
        // `unmap` took the contents, and unmapped. A failure shows in the next call on the context.
        if self.contents.is_some() {
            let _ = self.end();
        }
    }
}

impl<M> Drop for Registration<M> {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_err() {
            return;
        }
        for (used, contents) in self.retired.drain(..) {
            // What fails to be waited for belongs to a context that has failed, and runs nothing any more.
            let _ = used.wait();
            drop(contents);
        }
        // SAFETY: C1, C2; not mapped: a mapping borrows its owner.
        let _ = unsafe { sys::cuGraphicsUnregisterResource(self.raw) };
    }
}
