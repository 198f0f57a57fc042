//! The kernels of effects, loaded into a CUDA context, or linked in it and loaded into a Vulkan device.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::cuda::{CudaContext, CudaStream, Function, Module, launch};
use crate::kernels::{Binary, Effect, EffectId, Pass, PassDescription};
use crate::vulkan::{Device, QueueFunction};

use super::Error;
use super::in_queue::link_module;

/// Loads effects once each, from any thread: what a frame needs was best loaded before by another.
pub struct KernelLoader {
    loaded: Mutex<HashMap<EffectId, Arc<LoadedEffect>>>,
    /// Held while the driver loads a module.
    loading: Mutex<()>,
    /// The thread that loads what frames may need later.
    behind: Mutex<Option<JoinHandle<()>>>,
    is_stopping: AtomicBool,
    /// In whose queues the kernels run; `None`: on streams of the context.
    device: Option<Arc<Device>>,
    context: Arc<CudaContext>,
}

/// The functions of an effect's passes, by pass; none of those that run no kernel. Kept as long as a frame may run them.
pub enum LoadedEffect {
    /// For streams.
    Cuda(Vec<Option<Function>>),
    /// For queues.
    InQueue(Vec<Option<QueueFunction>>),
}

impl KernelLoader {
    /// Loads into the context. Nothing is loaded yet.
    pub(super) fn new(context: &Arc<CudaContext>) -> Self {
        Self {
            loaded: Mutex::default(),
            loading: Mutex::default(),
            behind: Mutex::default(),
            is_stopping: AtomicBool::new(false),
            device: None,
            context: Arc::clone(context),
        }
    }

    /// Loads into the device, and links in the context, which is of the same GPU.
    pub(super) fn in_queue(context: &Arc<CudaContext>, device: &Arc<Device>) -> Self {
        Self {
            device: Some(Arc::clone(device)),
            ..Self::new(context)
        }
    }

    /// The effect's functions, loaded now if they were not before.
    ///
    /// # Errors
    /// The effect is not compiled, or the driver refused its module or has no such entry: the error names the effect.
    pub fn load(&self, effect: &Effect) -> Result<Arc<LoadedEffect>, Error> {
        if let Some(loaded) = self.find(effect.id) {
            return Ok(loaded);
        }
        let _alone = self.alone();
        // Another thread may have loaded it meanwhile.
        if let Some(loaded) = self.find(effect.id) {
            return Ok(loaded);
        }
        let loaded = Arc::new(match &self.device {
            Some(device) => {
                let module = link_module(&self.context, device, effect)?;
                LoadedEffect::InQueue(by_pass(effect, |pass| Ok(module.function(&pass.entry)?))?)
            }
            None => {
                let module = self.load_module(effect)?;
                LoadedEffect::Cuda(by_pass(effect, |pass| Ok(module.function(&pass.entry)?))?)
            }
        });
        let mut all = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(effect.id, Arc::clone(&loaded));
        Ok(loaded)
    }

    fn load_module(&self, effect: &Effect) -> Result<Arc<Module>, Error> {
        Ok(match effect.binary.as_ref().ok_or_else(|| not_compiled(effect))? {
            Binary::Ptx(ptx) => Module::load(&self.context, ptx, &effect.name)?,
            Binary::NewPtx(ptx) => Module::load(&self.context, ptx, &effect.name)?,
            Binary::Cubin(cubin) => Module::load_cubin(&self.context, cubin, &effect.name)?,
        })
    }

    /// How many effects are loaded.
    pub fn count(&self) -> usize {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// As long as this is held, nobody else loads. cuFFT loads modules too while it plans, which has not ended under a checker that
    /// follows both.
    pub(super) fn alone(&self) -> MutexGuard<'_, ()> {
        self.loading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loads these effects on a thread of its own, so that the first frame with one of them need not: the driver takes some
    /// milliseconds to compile PTX. What cannot be loaded is left to that frame, which says why.
    pub fn load_behind(self: &Arc<Self>, effects: Vec<Arc<Effect>>) {
        let loader = Arc::clone(self);
        let body = move || {
            for effect in effects {
                if loader.is_stopping.load(Ordering::Relaxed) {
                    break;
                }
                if let Err(error) = loader.load(&effect) {
                    tracing::debug!("{error}");
                }
            }
        };
        match std::thread::Builder::new().name("kernel loader".into()).spawn(body) {
            Ok(thread) => *self.behind.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread),
            Err(error) => tracing::debug!("kernels are loaded when they are needed: {error}"),
        }
    }

    /// Ends that thread, when it has loaded what it is at.
    pub(super) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        let thread = self.behind.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A panic was printed when it happened.
        let _ = thread.map(JoinHandle::join);
    }

    /// Unloads an effect that no plan will have any more, as soon as no frame runs it.
    pub fn forget(&self, effect: EffectId) {
        self.loaded
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&effect);
    }

    /// Unloads all, as soon as no frame runs them.
    pub(super) fn forget_all(&self) {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Unloads everything, or leaves it to the driver where a kernel does not end.
    pub(super) fn abandon(&self) {
        let mut all = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::forget(std::mem::take(&mut *all));
    }

    fn find(&self, effect: EffectId) -> Option<Arc<LoadedEffect>> {
        let all = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&effect).cloned()
    }
}

/// The functions of the passes that run kernels.
fn by_pass<F>(
    effect: &Effect,
    mut function: impl FnMut(&PassDescription) -> Result<F, Error>,
) -> Result<Vec<Option<F>>, Error> {
    let functions = effect.passes.iter().map(|pass| match pass.transform {
        Some(_) => Ok(None),
        None => function(pass).map(Some),
    });
    functions.collect()
}

/// Nothing of it can be loaded.
pub(super) fn not_compiled(effect: &Effect) -> Error {
    Error::Effect {
        effect: effect.name.clone(),
        reason: "is not compiled".into(),
    }
}

impl LoadedEffect {
    /// The function of a pass, for queues.
    pub(super) fn queue_function(&self, pass: usize) -> Option<&QueueFunction> {
        match self {
            Self::InQueue(functions) => functions[pass].as_ref(),
            Self::Cuda(_) => None,
        }
    }

    /// Enqueues one pass over a grid that covers `threads`.
    ///
    /// # Errors
    /// The driver refused.
    pub(super) fn launch(
        &self,
        stream: &CudaStream,
        index: usize,
        threads: [u32; 2],
        block: [u32; 2],
        arguments: (&Pass, &[u8]),
    ) -> Result<(), Error> {
        let (pass, parameters) = arguments;
        let Self::Cuda(functions) = self else {
            return Ok(());
        };
        let Some(function) = &functions[index] else {
            return Ok(());
        };
        let arguments = [bytemuck::bytes_of(pass), parameters];
        // SAFETY: `Pass` and the parameter struct are laid out as the kernel has them, which the layout tests keep; the
        // images and buffers they name are dropped when the stream has ended.
        unsafe { launch(stream, function, threads, block, &arguments) }?;
        Ok(())
    }
}
