//! The kernels of effects, loaded into a CUDA context.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::cuda::{CudaContext, CudaStream, Function, Module, launch};
use crate::kernels::{Binary, Effect, EffectId, Pass};

use super::Error;

/// Loads effects once each, from any thread: what a frame needs was best loaded before by another.
pub struct KernelLoader {
    loaded: Mutex<HashMap<EffectId, Arc<LoadedEffect>>>,
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
        let module = match &effect.binary {
            Some(Binary::Ptx(ptx)) => Module::load(&self.context, ptx, &effect.name)?,
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
        // Two threads may have loaded it at once: one of the two stays.
        let mut all = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(all.entry(effect.id).or_insert(loaded)))
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
