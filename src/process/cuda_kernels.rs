//! The kernels of effects, loaded into a CUDA context.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::cuda::{CudaContext, CudaStream, Function, Module, launch};
use crate::kernels::{Binary, Effect, EffectId, Pass};

use super::Error;

/// Loads effects once each, from any thread: what a frame needs was best loaded before by another.
pub struct KernelLoader {
    loaded: Mutex<HashMap<EffectId, Arc<LoadedEffect>>>,
    /// Held while the driver loads a module.
    loading: Mutex<()>,
    /// The thread that loads what frames may need later.
    behind: Mutex<Option<JoinHandle<()>>>,
    is_stopping: AtomicBool,
    context: Arc<CudaContext>,
}

/// The functions of an effect's passes. Kept as long as a frame may run them.
pub struct LoadedEffect {
    /// By pass; none of those that run no kernel.
    functions: Vec<Option<Function>>,
}

impl KernelLoader {
    /// Nothing is loaded yet.
    pub(super) fn new(context: &Arc<CudaContext>) -> Self {
        Self {
            loaded: Mutex::default(),
            loading: Mutex::default(),
            behind: Mutex::default(),
            is_stopping: AtomicBool::new(false),
            context: Arc::clone(context),
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
        let module = match &effect.binary {
            Some(Binary::Ptx(ptx)) => Module::load(&self.context, ptx, &effect.name)?,
            Some(Binary::NewPtx(ptx)) => Module::load(&self.context, ptx, &effect.name)?,
            Some(Binary::Cubin(cubin)) => Module::load_cubin(&self.context, cubin, &effect.name)?,
            None => {
                return Err(Error::Effect {
                    effect: effect.name.clone(),
                    reason: "is not compiled".into(),
                });
            }
        };
        let functions = effect.passes.iter().map(|pass| match pass.transform {
            Some(_) => Ok(None),
            None => module.function(&pass.entry).map(Some),
        });
        let loaded = Arc::new(LoadedEffect {
            functions: functions.collect::<Result<_, _>>()?,
        });
        let mut all = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(effect.id, Arc::clone(&loaded));
        Ok(loaded)
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

impl LoadedEffect {
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
        let Some(function) = &self.functions[index] else {
            return Ok(());
        };
        let arguments = [bytemuck::bytes_of(pass), parameters];
        // SAFETY: `Pass` and the parameter struct are laid out as the kernel has them, which the layout tests keep; the
        // images and buffers they name are dropped when the stream has ended.
        unsafe { launch(stream, function, threads, block, &arguments) }?;
        Ok(())
    }
}
