//! The plan of a view's chain: of what can run here and over this scene.

use crate::kernels::{Chain, Plan};
use crate::renderer::Renderer;

use super::live::LiveKernels;

/// The chain's launches over the renderer's scene. What cannot run over it is named.
pub(crate) fn plan_of(chain: &Chain, live: &LiveKernels, renderer: &Renderer) -> Plan {
    name_what_cannot_run(chain, live, renderer);
    plan_again(chain, live, renderer)
}

/// The same, of a chain that was planned before.
pub(crate) fn plan_again(chain: &Chain, live: &LiveKernels, renderer: &Renderer) -> Plan {
    let chain = chain.only(|effect| live.can_run(effect));
    chain.plan_fused(renderer.given(), &|members| live.fused(members))
}

fn name_what_cannot_run(chain: &Chain, live: &LiveKernels, renderer: &Renderer) {
    for effect in chain.active() {
        let effect = &chain.catalogue().effects()[effect];
        if !live.can_run(effect) {
            tracing::warn!(
                "{} does not run: it has no reference on the CPU, and this needs CUDA",
                effect.name
            );
        }
    }
    let chain = &chain.only(|effect| live.can_run(effect));
    let (given, transforms) = (renderer.given(), renderer.transforms());
    for effect in chain.active() {
        let effect = &chain.catalogue().effects()[effect];
        if let (true, Err(reason)) = (effect.transforms(), &transforms) {
            tracing::warn!("{} does not run: the effect {reason}", effect.name);
        }
        if !given.guides && !effect.guides.is_empty() {
            let (name, guides, scene) = (&effect.name, &effect.guides, renderer.scene_name());
            tracing::warn!("{name} does not run: it reads {guides:?}, which the scene {scene} does not write");
        }
    }
}
