//! The kernels of effects, loaded into a CUDA context, or linked in it and loaded into a Vulkan device.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard};
use std::thread::{self, JoinHandle};

use crate::cuda::{CudaContext, CudaStream, Function, Module, launch};
use crate::kernels::{Binary, Effect, EffectId, Pass, PassDescription};
use crate::vulkan::{Device, QueueFunction};

use super::Error;
use super::in_queue::link_module;

/// Loads effects once each, from any thread: what a frame needs was best loaded before by another.
pub struct KernelLoader {
    effects: Mutex<HashMap<EffectId, Arc<Loading>>>,
    /// Read while the driver loads a module: several threads may.
    loading: RwLock<()>,
    /// The threads that load what frames may need later.
    behind: Mutex<Vec<JoinHandle<()>>>,
    is_stopping: AtomicBool,
    /// In whose queues the kernels run; `None`: on streams of the context.
    device: Option<Arc<Device>>,
    context: Arc<CudaContext>,
}

/// An effect, as soon as it is loaded; locked by the thread that loads it.
type Loading = Mutex<Option<Arc<LoadedEffect>>>;

/// Threads that load at a time at most: the driver's compiler takes one CPU core each, and memory.
const LOADING_THREADS: usize = 8;

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
            effects: Mutex::default(),
            loading: RwLock::default(),
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
        let loading = Arc::clone(self.effects().entry(effect.id).or_default());
        // Another thread may be loading it.
        let mut loading = loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = &*loading {
            return Ok(Arc::clone(loaded));
        }
        let _not_alone = self.loading.read().unwrap_or_else(PoisonError::into_inner);
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
        *loading = Some(Arc::clone(&loaded));
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
        let is_loaded = |loading: &&Arc<Loading>| loading.try_lock().is_ok_and(|loaded| loaded.is_some());
        self.effects().values().filter(is_loaded).count()
    }

    /// As long as this is held, nobody else loads. cuFFT loads modules too while it plans, which has not ended under a checker that
    /// follows both.
    pub(super) fn alone(&self) -> RwLockWriteGuard<'_, ()> {
        self.loading.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn effects(&self) -> MutexGuard<'_, HashMap<EffectId, Arc<Loading>>> {
        self.effects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loads these effects, the first ones first, on threads of their own, so that the first frame with one of them need not: the driver
    /// takes some milliseconds to compile PTX, or seconds where it never saw it. What cannot be loaded is left to that frame, which
    /// says why.
    pub fn load_behind(self: &Arc<Self>, effects: Vec<Arc<Effect>>) {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let (effects, next) = (Arc::new(effects), Arc::new(AtomicUsize::new(0)));
        for _ in 0..threads.min(LOADING_THREADS).min(effects.len()) {
            let (loader, effects, next) = (Arc::clone(self), Arc::clone(&effects), Arc::clone(&next));
            let body = move || {
                while let Some(effect) = effects.get(next.fetch_add(1, Ordering::Relaxed))
                    && !loader.is_stopping.load(Ordering::Relaxed)
                {
                    if let Err(error) = loader.load(effect) {
                        tracing::debug!("{error}");
                    }
                }
            };
            match thread::Builder::new().name("kernel loader".into()).spawn(body) {
                Ok(thread) => self.behind.lock().unwrap_or_else(PoisonError::into_inner).push(thread),
                Err(error) => tracing::debug!("kernels are loaded when they are needed: {error}"),
            }
        }
    }

    /// Ends those threads, when they have loaded what they are at.
    pub(super) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        let threads = std::mem::take(&mut *self.behind.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A panic was printed when it happened.
            let _ = thread.join();
        }
    }

    /// Unloads an effect that no plan will have any more, as soon as no frame runs it.
    pub fn forget(&self, effect: EffectId) {
        self.effects().remove(&effect);
    }

    /// Unloads all, as soon as no frame runs them.
    pub(super) fn forget_all(&self) {
        self.effects().clear();
    }

    /// Unloads everything, or leaves it to the driver where a kernel does not end.
    pub(super) fn abandon(&self) {
        std::mem::forget(std::mem::take(&mut *self.effects()));
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
