//! The kernels of a catalogue, loaded into a CUDA context.

use std::sync::Arc;

use crate::cuda::{CudaContext, CudaStream, Function, Module, launch};
use crate::kernels::{Catalogue, Launch, Pass};

use super::Error;

/// The functions of all effects, by catalogue index and pass.
pub(super) struct Kernels {
    pub functions: Vec<Vec<(Function, [u32; 2])>>,
}

impl Kernels {
    /// Loads every effect of the catalogue that comes with PTX.
    ///
    /// # Errors
    /// The driver refused a module or has no such entry: the error names the effect.
    pub fn load(context: &Arc<CudaContext>, catalogue: &'static Catalogue) -> Result<Self, Error> {
        let functions = catalogue.effects().iter().map(|effect| {
            let ptx = effect.ptx.ok_or_else(|| Error::Effect {
                effect: effect.name.clone(),
                reason: "has no PTX: run scripts/compile-kernels".into(),
            })?;
            let module = Module::load(context, ptx, &effect.name)?;
            effect
                .passes
                .iter()
                .map(|pass| Ok((module.function(&pass.entry)?, pass.block)))
                .collect()
        });
        Ok(Self {
            functions: functions.collect::<Result<_, Error>>()?,
        })
    }

    /// Enqueues one launch over the whole of its destination.
    ///
    /// # Errors
    /// The driver refused.
    pub fn launch(&self, stream: &CudaStream, item: &Launch, pass: &Pass) -> Result<(), Error> {
        let (function, block) = &self.functions[item.effect][item.pass];
        let arguments = [bytemuck::bytes_of(pass), &item.parameters];
        // SAFETY: `Pass` and the parameter struct are laid out as the kernel has them, which the layout tests keep; the
        // images they name are dropped when the stream has ended.
        unsafe { launch(stream, function, pass.destination.extent, *block, &arguments) }?;
        Ok(())
    }
}
