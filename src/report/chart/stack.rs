//! The GPU's stages over time, one upon the other.

use maud::{Markup, html};

use super::axes::Axes;
use super::figure;
use crate::report::recording::Recording;
use crate::timing::statistics::{percentile, sorted};

/// The stages that follow one another without a gap, from the frame's first work on the GPU to its last.
const STACKED: [&str; 5] = [
    "scene_ms",
    "handover_to_cuda_ms",
    "chain_ms",
    "handover_to_vulkan_ms",
    "present_gpu_ms",
];

/// Steps across the plot: each shows the mean of its frames.
const STEPS: usize = 240;

/// A step: when it begins, seconds, and the stages' means in ms.
type Step = (f64, [f64; STACKED.len()]);

/// One plot a capture, all with the same axes. Nothing where no frame has all of the stages.
pub fn stacked_stages(recordings: &[Recording]) -> Option<Markup> {
    let stacks: Vec<Vec<Step>> = recordings.iter().map(steps).collect();
    let sums = stacks.iter().flatten().map(|(_, means)| means.iter().sum::<f64>());
    let ascending = sorted(&sums.collect::<Vec<_>>());
    let top = percentile(&ascending, 99.0)?.max(1e-6);
    let end = stacks
        .iter()
        .filter_map(|steps| steps.last())
        .map(|step| step.0)
        .fold(1e-3, f64::max);
    let axes = Axes::new([0.0, end], [0.0, top * 1.1], 240.0, 24.0);
    let plots = html! {
        @for (recording, steps) in recordings.iter().zip(&stacks).filter(|(_, steps)| !steps.is_empty()) {
            @if recordings.len() > 1 { h3 { (recording.name) } }
            (axes.plot(
                "Stages on the GPU over time",
                ["seconds since the capture began", "ms"],
                &axes.x_ticks(),
                &html! {
                    @for stage in 0..STACKED.len() {
                        path.fill.{ "g" (stage) } d=(axes.path(band(steps, stage)) + "Z") {}
                    }
                },
            ))
        }
    };
    let title = |column: &str| {
        recordings
            .iter()
            .find_map(|recording| recording.stage(column))
            .map(|stage| stage.title.clone())
    };
    let names = STACKED
        .iter()
        .enumerate()
        .filter_map(|(index, column)| Some((format!("g{index}"), title(column)?)));
    let caption = "From a frame's first work on the GPU to its last: the stages follow one another without a gap. \
                   Each step is the mean of its frames.";
    Some(figure(
        "stack",
        "Stages on the GPU over time",
        &names.collect::<Vec<_>>(),
        caption,
        &plots,
    ))
}

/// The means of the frames that have all stages, in equal steps of frames.
fn steps(recording: &Recording) -> Vec<Step> {
    let stages: Option<Vec<_>> = STACKED.iter().map(|column| recording.stage(column)).collect();
    let Some(stages) = stages else { return Vec::new() };
    let frames = recording.start_ms.iter().enumerate().map(|(frame, start)| {
        let times: [f64; STACKED.len()] = std::array::from_fn(|stage| stages[stage].times_ms[frame]);
        (start * 1e-3, times)
    });
    let frames: Vec<Step> = frames
        .filter(|(_, times)| times.iter().all(|time| time.is_finite()))
        .collect();
    let length = frames.len().div_ceil(STEPS).max(1);
    let mean = |frames: &[Step]| {
        // A hand-over below 0 says that the clocks were further apart than the span: there is nothing to draw.
        let sum = |stage: usize| frames.iter().map(|(_, times)| times[stage].max(0.0)).sum::<f64>();
        (
            frames[0].0,
            std::array::from_fn(|stage| sum(stage) / frames.len() as f64),
        )
    };
    frames.chunks(length).map(mean).collect()
}

/// The limits of a stage: along its upper edge, and back along the lower one.
fn band(steps: &[Step], stage: usize) -> Vec<(f64, f64)> {
    let edge = |stages: usize| {
        steps
            .iter()
            .map(move |(start, means)| (*start, means[..stages].iter().sum::<f64>()))
    };
    edge(stage + 1).chain(edge(stage).rev()).collect()
}
