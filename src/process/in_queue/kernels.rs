//! An effect's kernels as a Vulkan device takes them.

use std::sync::Arc;

use crate::cuda::{CudaContext, link};
use crate::kernels::{Binary, Effect};
use crate::vulkan::{Device, QueueModule};

use super::super::Error;
use super::super::cuda_kernels::not_compiled;

/// Links the effect's PTX for the context's GPU, which is the device's, and loads what comes of it. A cubin was made for that GPU
/// already.
pub(in crate::process) fn link_module(
    context: &Arc<CudaContext>,
    device: &Arc<Device>,
    effect: &Effect,
) -> Result<Arc<QueueModule>, Error> {
    let name = &effect.name;
    Ok(match effect.binary.as_ref().ok_or_else(|| not_compiled(effect))? {
        Binary::Ptx(ptx) => QueueModule::load(device, &link(context, ptx, name)?, name)?,
        Binary::NewPtx(ptx) => QueueModule::load(device, &link(context, ptx, name)?, name)?,
        Binary::Cubin(cubin) => QueueModule::load(device, cubin, name)?,
    })
}
