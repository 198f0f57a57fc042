//! Semaphores of Vulkan's that OpenGL waits for and signals too (`GL_EXT_semaphore_fd`, `GL_NV_timeline_semaphore`).

use std::rc::Rc;
use std::sync::Arc;

use ash::vk;
use cudarc::driver::{CudaContext, CudaStream};
use glow::HasContext;

use crate::interop::handle::Offered;
use crate::interop::{Armed, Idle, SharedBinarySemaphore, TimelineHandle};
use crate::vulkan::Device;

use super::{Context, Error, functions};

/// The layout that a texture is in when OpenGL takes or gives it: Vulkan's names for what OpenGL, which has no layouts, is told
/// (`GL_EXT_external_objects`, table 4.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextureLayout {
    /// `GL_LAYOUT_GENERAL_EXT`: the only one that CUDA knows.
    General,
    /// `GL_LAYOUT_COLOR_ATTACHMENT_EXT`.
    ColorAttachment,
    /// `GL_LAYOUT_SHADER_READ_ONLY_EXT`.
    ShaderReadOnly,
    /// `GL_LAYOUT_TRANSFER_SRC_EXT`.
    TransferSource,
    /// `GL_LAYOUT_TRANSFER_DST_EXT`.
    TransferDestination,
}

impl TextureLayout {
    fn opengl(self) -> u32 {
        match self {
            Self::General => 0x958D,
            Self::ColorAttachment => 0x958E,
            Self::ShaderReadOnly => 0x9591,
            Self::TransferSource => 0x9592,
            Self::TransferDestination => 0x9593,
        }
    }
}

/// A semaphore object of OpenGL's.
struct Semaphore {
    raw: u32,
    context: Rc<Context>,
}

impl Semaphore {
    /// Makes what goes before it in the context wait for nothing, and what follows wait for the semaphore; then the textures
    /// are in their layouts.
    fn wait(&self, textures: &[(glow::Texture, TextureLayout)]) -> Result<(), Error> {
        let (names, layouts) = names_and_layouts(textures);
        let count = names.len() as u32;
        // SAFETY: G1, G2; as many layouts as textures; no buffers.
        unsafe {
            let wait = self.context.semaphore()?.wait;
            wait(self.raw, 0, std::ptr::null(), count, names.as_ptr(), layouts.as_ptr());
        }
        self.context.check(|| "make OpenGL wait for a semaphore".into())
    }

    /// Signals it when everything before in the context is done, with the textures in their layouts. It is flushed, or it would
    /// stay in OpenGL's command buffer.
    fn signal(&self, textures: &[(glow::Texture, TextureLayout)]) -> Result<(), Error> {
        let (names, layouts) = names_and_layouts(textures);
        let count = names.len() as u32;
        // SAFETY: G1, G2; as many layouts as textures; no buffers.
        unsafe {
            let signal = self.context.semaphore()?.signal;
            signal(self.raw, 0, std::ptr::null(), count, names.as_ptr(), layouts.as_ptr());
            self.context.gl()?.flush();
        }
        self.context.check(|| "make OpenGL signal a semaphore".into())
    }
}

fn names_and_layouts(textures: &[(glow::Texture, TextureLayout)]) -> (Vec<u32>, Vec<u32>) {
    textures
        .iter()
        .map(|(texture, layout)| (texture.0.get(), layout.opengl()))
        .unzip()
}

impl Drop for Semaphore {
    fn drop(&mut self) {
        if let Ok(functions) = self.context.semaphore() {
            // SAFETY: G1, G2.
            unsafe { (functions.delete)(1, &raw const self.raw) };
        }
    }
}

/// A binary semaphore that Vulkan, CUDA and OpenGL share: any of them signals an [`Idle`] one, any waits for an [`Armed`] one.
///
/// ```no_run
/// use handover::interop::gl::{BinarySemaphore, Context};
/// use handover::proof::Pair;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??;
///     let opengl = Context::headless(Some(&pair.cuda.uuid))?;
///     let semaphore = BinarySemaphore::new(&pair.device, &pair.context, &opengl, "to OpenGL")?;
///     let semaphore = semaphore.signal_by_cuda(&pair.stream)?;
///     let semaphore = semaphore.wait_by_opengl(&[])?;
///     // What OpenGL is told here happens after what the stream was given before.
///     let semaphore = semaphore.signal_by_opengl(&[])?;
///     semaphore.wait_by_cuda(&pair.stream)?;
///     Ok(pair.finish()?)
/// }
/// ```
///
/// Waiting for what nobody was made to signal does not compile:
///
/// ```compile_fail,E0599
/// use handover::interop::Idle;
/// use handover::interop::gl::BinarySemaphore;
///
/// fn wait_first(semaphore: BinarySemaphore<Idle>) {
///     semaphore.wait_by_opengl(&[]);
/// }
/// ```
pub struct BinarySemaphore<State> {
    // OpenGL's side goes first.
    opengl: Semaphore,
    shared: SharedBinarySemaphore<State>,
}

impl BinarySemaphore<Idle> {
    /// Creates it in Vulkan and imports it into the CUDA and the OpenGL context of the same GPU.
    ///
    /// # Errors
    /// The OpenGL context lacks `GL_EXT_semaphore_fd`; the call that failed; nothing is left open.
    pub fn new(device: &Arc<Device>, cuda: &Arc<CudaContext>, opengl: &Rc<Context>, name: &str) -> Result<Self, Error> {
        let functions = opengl.semaphore()?;
        let shared = SharedBinarySemaphore::new(device, cuda, name)?;
        let fd = Offered::new(shared.export()?.0);
        let mut raw = 0;
        // SAFETY: G1.
        unsafe { (functions.generate)(1, &raw mut raw) };
        let semaphore = Semaphore {
            raw,
            context: Rc::clone(opengl),
        };
        // SAFETY: G1, G2; the descriptor is a binary semaphore.
        unsafe { (functions.import_fd)(raw, functions::HANDLE_TYPE_OPAQUE_FD, fd.raw()) };
        opengl.check(|| format!("import the binary semaphore `{name}` into OpenGL"))?;
        fd.taken();
        Ok(Self {
            opengl: semaphore,
            shared,
        })
    }

    /// Vulkan signals it: the half of a submission that must now be submitted.
    pub fn signal_by_vulkan(self) -> (vk::SemaphoreSubmitInfo<'static>, BinarySemaphore<Armed>) {
        let (info, shared) = self.shared.signal_by_vulkan();
        let opengl = self.opengl;
        (info, BinarySemaphore { opengl, shared })
    }

    /// Makes the stream signal it.
    ///
    /// # Errors
    /// The driver refused.
    pub fn signal_by_cuda(self, stream: &CudaStream) -> Result<BinarySemaphore<Armed>, Error> {
        let opengl = self.opengl;
        let shared = self.shared.signal_by_cuda(stream)?;
        Ok(BinarySemaphore { opengl, shared })
    }

    /// Makes OpenGL signal it after all that it was told, and gives the textures away in their layouts.
    ///
    /// # Errors
    /// OpenGL refused.
    pub fn signal_by_opengl(
        self,
        textures: &[(glow::Texture, TextureLayout)],
    ) -> Result<BinarySemaphore<Armed>, Error> {
        self.opengl.signal(textures)?;
        let (opengl, shared) = (self.opengl, self.shared.signalled_elsewhere());
        Ok(BinarySemaphore { opengl, shared })
    }
}

impl BinarySemaphore<Armed> {
    /// Vulkan waits for it: the half of a submission that must now be submitted.
    pub fn wait_by_vulkan(self) -> (vk::SemaphoreSubmitInfo<'static>, BinarySemaphore<Idle>) {
        let (info, shared) = self.shared.wait_by_vulkan();
        let opengl = self.opengl;
        (info, BinarySemaphore { opengl, shared })
    }

    /// Makes the stream wait for it.
    ///
    /// # Errors
    /// The driver refused.
    pub fn wait_by_cuda(self, stream: &CudaStream) -> Result<BinarySemaphore<Idle>, Error> {
        let opengl = self.opengl;
        let shared = self.shared.wait_by_cuda(stream)?;
        Ok(BinarySemaphore { opengl, shared })
    }

    /// Makes what OpenGL is told from here on wait for it, and takes the textures in their layouts.
    ///
    /// # Errors
    /// OpenGL refused.
    pub fn wait_by_opengl(self, textures: &[(glow::Texture, TextureLayout)]) -> Result<BinarySemaphore<Idle>, Error> {
        self.opengl.wait(textures)?;
        let (opengl, shared) = (self.opengl, self.shared.waited_for_elsewhere());
        Ok(BinarySemaphore { opengl, shared })
    }
}

/// OpenGL's side of an exported timeline (`GL_NV_timeline_semaphore`).
///
/// ```no_run
/// use handover::interop::SharedTimeline;
/// use handover::interop::gl::{Context, ImportedTimeline};
/// use handover::proof::Pair;
/// use handover::vulkan::Timeline;
/// use std::time::Duration;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??;
///     let opengl = Context::headless(Some(&pair.cuda.uuid))?;
///     let timeline = Timeline::new(&pair.device, "drawn", true)?;
///     let drawn = ImportedTimeline::new(&opengl, SharedTimeline::export(&pair.device, &timeline)?)?;
///     drawn.signal(1, &[])?;
///     println!("{:?}", timeline.wait(1, Duration::from_secs(1))?);
///     Ok(pair.finish()?)
/// }
/// ```
pub struct ImportedTimeline(Semaphore);

impl ImportedTimeline {
    /// Imports an exported timeline.
    ///
    /// # Errors
    /// The context lacks `GL_NV_timeline_semaphore`, or refused; the handle is closed.
    pub fn new(context: &Rc<Context>, handle: TimelineHandle) -> Result<Self, Error> {
        let (timeline, functions) = (context.timeline()?, context.semaphore()?);
        let fd = Offered::new(handle.into_fd());
        let mut raw = 0;
        // SAFETY: G1.
        unsafe { (timeline.create)(1, &raw mut raw) };
        let semaphore = Semaphore {
            raw,
            context: Rc::clone(context),
        };
        // SAFETY: G1, G2; its kind is said before the import, and is the descriptor's.
        unsafe {
            let kind = functions::SEMAPHORE_TYPE_TIMELINE;
            (timeline.parameter)(raw, functions::SEMAPHORE_TYPE, &raw const kind);
            (functions.import_fd)(raw, functions::HANDLE_TYPE_OPAQUE_FD, fd.raw());
        }
        context.check(|| "import a timeline into OpenGL".into())?;
        fd.taken();
        Ok(Self(semaphore))
    }

    /// Makes what OpenGL is told from here on wait until the timeline reaches `value`, and takes the textures in their layouts.
    ///
    /// # Errors
    /// OpenGL refused.
    pub fn wait(&self, value: u64, textures: &[(glow::Texture, TextureLayout)]) -> Result<(), Error> {
        self.set(value)?;
        self.0.wait(textures)
    }

    /// Makes OpenGL signal `value` after all that it was told, and gives the textures away in their layouts.
    ///
    /// # Errors
    /// OpenGL refused.
    pub fn signal(&self, value: u64, textures: &[(glow::Texture, TextureLayout)]) -> Result<(), Error> {
        self.set(value)?;
        self.0.signal(textures)
    }

    /// The value of the next wait or signal.
    fn set(&self, value: u64) -> Result<(), Error> {
        let functions = self.0.context.semaphore()?;
        // SAFETY: G1, G2.
        unsafe { (functions.parameter_u64)(self.0.raw, functions::TIMELINE_SEMAPHORE_VALUE, &raw const value) };
        Ok(())
    }
}
