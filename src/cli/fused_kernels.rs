//! Kernels of neighbours for what is to be measured: each made once, and waited for.

use std::cell::RefCell;
use std::sync::Arc;

use crate::kernels::{Effect, Member};
use crate::live::fuse;

/// Those that were made, or could not be. All are for one GPU.
#[derive(Default)]
pub(super) struct FusedKernels {
    made: RefCell<Vec<Made>>,
}

/// A run of neighbours, and its kernel.
type Made = (Vec<Member>, Option<Arc<Effect>>);

impl FusedKernels {
    /// The kernel of these passes. `None`: it cannot be made, which is said, and the effects run one by one.
    pub fn find(&self, members: &[Member], capability: (i32, i32)) -> Option<Arc<Effect>> {
        let mut made = self.made.borrow_mut();
        if let Some((_, kernel)) = made.iter().find(|(known, _)| known == members) {
            return kernel.clone();
        }
        let kernel = fuse(members, capability).map(Arc::new);
        let kernel = kernel
            .inspect_err(|error| tracing::warn!("effects run one by one: {error}"))
            .ok();
        made.push((members.to_vec(), kernel.clone()));
        kernel
    }
}
