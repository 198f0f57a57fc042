//! The self-test of what is shown: the same picture, bit for bit, whether kernels run inside the Vulkan queue or frames are handed
//! to CUDA.

use std::sync::Arc;

use ash::vk;

use crate::kernels::{Chain, catalogue};
use crate::present::Offscreen;
use crate::renderer::{Rendered, Renderer, Settings, View};
use crate::scene::{Camera, SceneFrame};

use super::options::DEFAULT_KERNELS;
use super::selftest::Outcome::{self, Failed, Passed, Skipped};
use super::selftest::settings;
use super::setup::Machine;

/// Frames of a chain before its picture is compared: what effects keep has come and gone by then.
const FRAMES: u32 = 6;
const EXTENT: vk::Extent2D = vk::Extent2D {
    width: 1280,
    height: 720,
};
/// The scene is drawn as large as it is shown, and smaller.
const SCALES: [f32; 2] = [1.0, 0.75];
const TIME_STEP: f32 = 1.0 / 60.0;

/// Two renderers that are given the same frames.
struct Both {
    in_queue: Renderer,
    by_cuda: Renderer,
    time: f32,
}

impl Both {
    fn new(machine: &Machine, render_scale: f32) -> anyhow::Result<Self> {
        let settings = Settings {
            render_scale,
            check_tags: false,
            ..settings()
        };
        let presenter = || Box::new(Offscreen::new(EXTENT));
        Ok(Self {
            in_queue: machine.renderer("studio", presenter(), settings.clone())?,
            by_cuda: machine.renderer_by_cuda("studio", presenter(), settings)?,
            time: 0.0,
        })
    }

    /// Has both make frames of the chain, and says what differs.
    fn compare(&mut self, chain: &Chain, frames: u32) -> anyhow::Result<Option<String>> {
        let plan = Arc::new(chain.plan_over(self.in_queue.given()));
        let has_transforms = plan
            .launches
            .iter()
            .any(|launch| launch.description().transform.is_some());
        for _ in 0..frames {
            self.time += TIME_STEP;
            let view = View {
                scene: SceneFrame {
                    frame: 0,
                    time: self.time,
                    time_delta: TIME_STEP,
                    camera: Camera::default(),
                    jitter: [0.0; 2],
                },
                plan: Arc::clone(&plan),
                pointer: [400.0 + self.time * 60.0, 300.0],
            };
            for renderer in [&mut self.in_queue, &mut self.by_cuda] {
                let rendered = renderer.render_frame(&view)?;
                anyhow::ensure!(matches!(rendered, Rendered::Frame(_)), "no frame but {rendered:?}");
                renderer.take_records();
            }
        }
        let (name, wanted) = (
            self.in_queue.processor().name(),
            if has_transforms { "cuda" } else { "in-queue" },
        );
        if name != wanted {
            return Ok(Some(format!("{name} ran it and not {wanted}")));
        }
        let pictures = [self.in_queue.read_screen()?, self.by_cuda.read_screen()?];
        self.in_queue.take_records();
        self.by_cuda.take_records();
        let [ours, theirs] = &pictures;
        let differing: Vec<(u32, u32)> = ours
            .enumerate_pixels()
            .filter(|(x, y, pixel)| **pixel != *theirs.get_pixel(*x, *y))
            .map(|(x, y, _)| (x, y))
            .collect();
        Ok(differing.first().map(|(x, y)| {
            format!(
                "{} texels differ; the first, {x}, {y}, is {:?} and not {:?}",
                differing.len(),
                ours.get_pixel(*x, *y).0,
                theirs.get_pixel(*x, *y).0
            )
        }))
    }
}

/// The chains: the default, every effect that people see alone, and all of them at once, with and without those that fall back.
fn chains() -> anyhow::Result<Vec<(String, Chain)>> {
    let visible: Vec<&str> = catalogue().visible().map(|(_, effect)| effect.name.as_str()).collect();
    let transforms = |name: &&str| catalogue().by_name(name).is_ok_and(|effect| effect.transforms());
    let without_transforms = visible.iter().copied().filter(|name| !transforms(name)).collect();
    let alone = visible.iter().map(|name| ((*name).to_owned(), vec![*name]));
    let named = [
        ("the default chain".to_owned(), DEFAULT_KERNELS.split(',').collect()),
        ("all without transforms".to_owned(), without_transforms),
        ("all".to_owned(), visible.clone()),
    ];
    let chains = named.into_iter().chain(alone);
    let chains = chains.map(|(name, effects)| Ok((name, Chain::with_enabled(catalogue(), &effects)?)));
    chains.collect()
}

/// Compares the pictures of all chains.
///
/// # Errors
/// A frame failed.
pub(super) fn run(machine: &Machine) -> anyhow::Result<Outcome> {
    if !machine.in_queue {
        return Ok(Skipped(
            "it compares kernels inside the Vulkan queue with the same on CUDA: --processor in-queue runs it".into(),
        ));
    }
    let (chains, nothing) = (chains()?, Chain::new(catalogue()));
    let mut faults = Vec::new();
    for scale in SCALES {
        let mut both = Both::new(machine, scale)?;
        for (name, chain) in &chains {
            // A frame without effects between two chains: both then begin with nothing kept.
            for (name, chain, frames) in [("none", &nothing, 1), (name.as_str(), chain, FRAMES)] {
                if let Some(fault) = both.compare(chain, frames)? {
                    faults.push(format!("{name}, scene drawn at {scale}: {fault}"));
                }
            }
        }
    }
    let text = format!(
        "{} chains, scenes drawn at {SCALES:?} of {}x{}, {FRAMES} frames each",
        chains.len(),
        EXTENT.width,
        EXTENT.height
    );
    Ok(if faults.is_empty() {
        Passed(format!(
            "{text}: the same picture, bit for bit, in the queue and by CUDA"
        ))
    } else {
        Failed(format!("{text}\n{}", faults.join("\n")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visible_effect_is_compared_alone_and_with_all_others() {
        let chains = chains().expect("effects of the catalogue");
        let visible = catalogue().visible().count();
        assert_eq!(chains.len(), visible + 3);
        let enabled = |name: &str| {
            let found = chains.iter().find(|(other, _)| other == name);
            found.map(|(_, chain)| chain.enabled_names().len())
        };
        assert_eq!(enabled("all"), Some(visible));
        assert_eq!(enabled("tonemap"), Some(1));
        assert!(enabled("all without transforms") < enabled("all"));
    }
}
