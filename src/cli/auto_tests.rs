//! What is measured for which options, and what is picked, of made figures.

use clap::Parser;

use super::super::Cli;
use super::*;

fn options(arguments: &str) -> ViewOptions {
    let cli = Cli::try_parse_from(["handover"].into_iter().chain(arguments.split_whitespace()));
    cli.expect("options of the view").view
}

fn texts(arguments: &str) -> Vec<String> {
    let options = options(arguments);
    ways(&options).iter().map(|way| way.text(None)).collect()
}

const CUDA: Way = Way {
    processor: ProcessorChoice::Cuda,
    schedule: Schedule::CopyBack,
};
const IN_QUEUE: Way = Way {
    processor: ProcessorChoice::InQueue,
    schedule: Schedule::Pipelined,
};
const HOST: Way = Way {
    processor: ProcessorChoice::Host,
    schedule: Schedule::Serial,
};

fn figures_of(frame_us: f64, latency_ms: Option<f64>) -> Figures {
    Figures {
        frames: 100,
        frame_us,
        latency_ms,
    }
}

#[test]
fn both_options_together_measure_every_processor_under_every_schedule() {
    let all = [
        "cuda, serial",
        "cuda, pipelined",
        "cuda, copy-back",
        "in-queue",
        "host, serial",
        "host, pipelined",
        "host, copy-back",
    ];
    assert_eq!(texts("--processor auto --schedule auto"), all);
    assert_eq!(
        texts("--processor auto"),
        ["cuda, pipelined", "in-queue", "host, pipelined"]
    );
    // Without a word of who runs the chain, the one that would.
    assert_eq!(
        texts("--schedule auto"),
        ["auto, serial", "auto, pipelined", "auto, copy-back"]
    );
    assert_eq!(texts("--processor host --schedule auto")[0], "host, serial");
}

#[test]
fn what_contradicts_other_options_is_not_measured() {
    let reason = |arguments: &str, way| obstacle(&options(arguments), way);
    assert_eq!(reason("--processor auto", IN_QUEUE), None);
    assert_eq!(reason("--processor auto --schedule auto", IN_QUEUE), None);
    let named = reason("--processor auto --schedule serial", IN_QUEUE).expect("it has no schedule");
    assert!(named.contains("--schedule"), "{named}");
    assert_eq!(reason("--processor auto --schedule serial", HOST), None);
    let withheld = reason("--processor auto --withhold-processed 5", IN_QUEUE).expect("it signals nothing");
    assert!(withheld.contains("--withhold-processed"), "{withheld}");
}

#[test]
fn the_best_by_latency_need_not_be_the_best_by_throughput() {
    let measured = [
        (CUDA, figures_of(120.0, Some(0.4))),
        (IN_QUEUE, figures_of(40.0, Some(0.12))),
        (HOST, figures_of(900.0, Some(0.9))),
    ];
    for prefer in [Prefer::Latency, Prefer::Throughput] {
        assert_eq!(best(&measured, prefer).expect("three").0, IN_QUEUE);
    }
    // Many frames in flight: more a second, each later.
    let measured = [
        (HOST, figures_of(500.0, Some(0.5))),
        (CUDA, figures_of(120.0, Some(0.96))),
    ];
    assert_eq!(best(&measured, Prefer::Latency).expect("two").0, HOST);
    assert_eq!(best(&measured, Prefer::Throughput).expect("two").0, CUDA);
    // Of equals the first; what is not known is no best; of nothing nothing.
    let measured = [
        (CUDA, figures_of(120.0, None)),
        (IN_QUEUE, figures_of(120.0, Some(3.0))),
        (HOST, figures_of(120.0, Some(3.0))),
    ];
    assert_eq!(best(&measured, Prefer::Throughput).expect("three").0, CUDA);
    assert_eq!(best(&measured, Prefer::Latency).expect("three").0, IN_QUEUE);
    assert_eq!(best(&[], Prefer::Latency), None);
}

#[test]
fn a_run_s_figures_are_its_mean_time_and_its_median_latency() {
    let record = |latency_ms| FrameRecord {
        latency_ms,
        ..FrameRecord::default()
    };
    let records = [Some(1.0), None, Some(9.0), Some(2.0)].map(record);
    let summed = summary(Duration::from_millis(2), &records);
    assert_eq!(
        (summed.frames, summed.frame_us, summed.latency_ms),
        (4, 500.0, Some(2.0))
    );
    assert_eq!(summed.to_string(), "500.0 µs a frame, p50 latency 2.000 ms, 4 frames");
    assert_eq!(summary(Duration::from_millis(2), &[record(None)]).latency_ms, None);
}

#[test]
fn without_auto_nothing_is_measured_and_defaults_stay() {
    let wishes = Wishes::new(&options("")).expect("the default chain");
    let way = |arguments: &str| decided(&options(arguments), &wishes);
    let default = Way {
        processor: ProcessorChoice::Auto,
        schedule: Schedule::Pipelined,
    };
    assert_eq!(way("").expect("the default"), default);
    assert_eq!(way("--processor in-queue").expect("named"), IN_QUEUE);
    assert_eq!(way("--processor host --schedule serial").expect("named"), HOST);
    let refused = way("--prefer latency").expect_err("there is nothing to pick");
    assert!(refused.to_string().contains("--processor auto"), "{refused}");
}
