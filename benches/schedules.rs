//! What a frame costs under each schedule: scene `none`, an empty chain, offscreen, all interleaved in one run.
//!
//! `cargo bench --bench schedules [-- --size 1280x720 --frames 1500 --rounds 7]`

use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk;
use clap::Parser;
use handover::cli::{Machine, ProcessorChoice, Request, Size, parse_size};
use handover::kernels::{Chain, catalogue};
use handover::renderer::{Renderer, Schedule, Settings, View};
use handover::scene::{Camera, SceneFrame};
use handover::timing::Instrument;

/// Options of the bench.
#[derive(Debug, Parser)]
struct Options {
    /// Extent of the frames.
    #[arg(long, default_value = "1280x720", value_parser = parse_size)]
    size: Size,
    /// Frames a round.
    #[arg(long, default_value_t = 1500)]
    frames: u64,
    /// Rounds; each measures every case once.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Who runs the chain.
    #[arg(long, value_enum, default_value_t = ProcessorChoice::Auto)]
    processor: ProcessorChoice,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

/// A schedule with so many frames in flight.
struct Case {
    name: String,
    renderer: Renderer,
    frame_us: Vec<f64>,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let machine = Machine::open(&Request::offscreen(options.processor), None)?;
    let cases = [
        (Schedule::Serial, 1),
        (Schedule::Pipelined, 1),
        (Schedule::Pipelined, 2),
        (Schedule::Pipelined, 3),
        (Schedule::Pipelined, 4),
        (Schedule::Pipelined, 8),
    ];
    let mut cases = cases
        .into_iter()
        .map(|(schedule, frames_in_flight)| {
            let settings = Settings {
                frames_in_flight,
                schedule,
                wait_limit: Duration::from_secs(10),
                effects: catalogue().effects().len(),
                instrument: Instrument::Frame,
                check_tags: false,
                check_complement: false,
            };
            let extent = vk::Extent2D {
                width: options.size.width,
                height: options.size.height,
            };
            Ok(Case {
                name: format!("{schedule:?}, {frames_in_flight} in flight").to_lowercase(),
                renderer: machine.offscreen("none", extent, settings)?,
                frame_us: Vec::new(),
            })
        })
        .collect::<anyhow::Result<Vec<_>>>()?;

    let plan = Arc::new(Chain::new(catalogue()).plan());
    let scene = SceneFrame {
        frame: 0,
        time: 0.0,
        time_delta: 0.0,
        camera: Camera::default(),
    };
    let view = View {
        scene,
        plan,
        pointer: [0.0; 2],
    };
    // The first round warms up and is not kept.
    for round in 0..=options.rounds {
        for case in &mut cases {
            let started = Instant::now();
            for _ in 0..options.frames {
                case.renderer.render_frame(&view)?;
            }
            case.renderer.finish()?;
            let frame_us = started.elapsed().as_secs_f64() * 1e6 / options.frames as f64;
            case.renderer.take_records();
            if round > 0 {
                case.frame_us.push(frame_us);
            }
        }
    }

    println!(
        "{}, scene none, empty chain, {}x{}",
        machine.device.physical.name, options.size.width, options.size.height
    );
    println!(
        "{:<26} {:>12} {:>20} {:>10}",
        "schedule", "us a frame", "spread", "of serial"
    );
    let serial = median(&cases[0].frame_us);
    for case in &cases {
        let (lowest, highest) = case
            .frame_us
            .iter()
            .fold((f64::INFINITY, 0.0f64), |(low, high), value| {
                (low.min(*value), high.max(*value))
            });
        let median = median(&case.frame_us);
        println!(
            "{:<26} {median:>12.1} {:>20} {:>10.2}",
            case.name,
            format!("{lowest:.1} to {highest:.1}"),
            median / serial
        );
    }
    Ok(())
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
