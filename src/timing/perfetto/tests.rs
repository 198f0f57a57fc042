//! What a trace holds, read back as messages.

use prost::Message;

use super::flow::Arrow;
use super::proto::{TYPE_COUNTER, TYPE_INSTANT, TYPE_SLICE_BEGIN, TYPE_SLICE_END, Trace, TrackEvent};
use super::*;
use crate::timing::{FrameSpans, Interval, KernelSpan};
use crate::vulkan::Calibration;

fn info() -> TraceInfo {
    TraceInfo {
        application: "handover".to_owned(),
        process_id: 41,
        thread_id: 42,
        scene_queue: "queue 0".to_owned(),
        present_queue: Some("queue 1".to_owned()),
        processor: "cuda".to_owned(),
        effects: vec![
            TracedEffect {
                name: "sobel".to_owned(),
                kernels: vec!["sobel".to_owned()],
            },
            TracedEffect {
                name: "bloom".to_owned(),
                kernels: vec!["bloom: bright".to_owned(), "bloom: down".to_owned()],
            },
        ],
        ..TraceInfo::default()
    }
}

fn interval(start_ns: u64, end_ns: u64) -> Interval {
    Interval { start_ns, end_ns }
}

/// The host's clock is 1,000 ahead of the device's.
const CALIBRATION: Calibration = Calibration {
    device_ns: 0,
    host_ns: 1_000,
    deviation_ns: 7,
};

/// A frame that began at `at` on the device's clock.
fn record(frame: u64, at: u64, waited_for: Option<u64>) -> FrameRecord {
    FrameRecord {
        frame,
        waited_for_frame: waited_for,
        spans: FrameSpans {
            host: vec![
                (HostWork::WaitForSlot, interval(at + 1_000, at + 1_010)),
                (HostWork::SubmitScene, interval(at + 1_010, at + 1_020)),
                (HostWork::EnqueueChain, interval(at + 1_020, at + 1_030)),
                (HostWork::SubmitPresent, interval(at + 1_030, at + 1_040)),
            ],
            scene: Some(interval(at + 40, at + 50)),
            chain: Some(interval(at + 60, at + 80)),
            kernels: vec![KernelSpan {
                effect: 1,
                pass: 1,
                fused: None,
                interval: interval(at + 60, at + 70),
                bytes: 4_000,
            }],
            present: Some(interval(at + 85, at + 90)),
            overlay: None,
            in_flight: 1,
            memory_used: Some(1 << 30),
            calibration: Some(CALIBRATION),
        },
        ..FrameRecord::default()
    }
}

/// Packets of a trace, with the names of its events by number.
struct Read {
    trace: Trace,
    names: Vec<String>,
}

fn read(info: &TraceInfo, records: &[FrameRecord]) -> Read {
    let (mut writer, mut bytes) = TraceWriter::new(info);
    records.iter().for_each(|record| bytes.extend(writer.frame(record)));
    bytes.extend(writer.finish());
    let trace = Trace::decode(bytes.as_slice()).unwrap();
    let interned = trace.packet[0].interned_data.clone().unwrap();
    let names = interned
        .event_names
        .into_iter()
        .map(|entry| entry.name.unwrap())
        .collect();
    Read { trace, names }
}

impl Read {
    /// Events of a track by kind: name, time and the event.
    fn events(&self, track: u64, kind: u32) -> Vec<(&str, u64, &TrackEvent)> {
        let events = self.trace.packet.iter().filter_map(|packet| {
            let event = packet.track_event.as_ref()?;
            let interned = event.name_iid.map(|iid| self.names[iid as usize - 1].as_str());
            let name = interned.or(event.name.as_deref()).unwrap_or_default();
            Some((name, packet.timestamp?, event))
        });
        events
            .filter(|(_, _, event)| event.track_uuid == Some(track) && event.r#type == Some(kind))
            .collect()
    }

    fn track_names(&self) -> Vec<String> {
        let tracks = self
            .trace
            .packet
            .iter()
            .filter_map(|packet| packet.track_descriptor.clone());
        tracks.filter_map(|track| track.name).collect()
    }

    /// Every arrow's number of beginnings and ends.
    fn arrows(&self) -> std::collections::BTreeMap<u64, (usize, usize)> {
        let mut arrows = std::collections::BTreeMap::<u64, (usize, usize)>::new();
        for event in self
            .trace
            .packet
            .iter()
            .filter_map(|packet| packet.track_event.as_ref())
        {
            event
                .flow_ids
                .iter()
                .for_each(|id| arrows.entry(*id).or_default().0 += 1);
            event
                .terminating_flow_ids
                .iter()
                .for_each(|id| arrows.entry(*id).or_default().1 += 1);
        }
        arrows
    }
}

#[test]
fn a_frame_waits_for_what_it_needs_and_signals_what_it_has_done() {
    let read = read(&info(), &[record(1, 0, None), record(2, 95, Some(1))]);
    let only = |track, kind, place: usize| read.events(track, kind)[place];
    let (scene, rendered_ns, drawn) = only(tracks::SCENE, TYPE_SLICE_END, 0);
    assert_eq!((scene, rendered_ns), ("", 50));
    assert_eq!(drawn.flow_ids, [Arrow::Rendered.id(1), Arrow::Drawn.id(1)]);
    let (chain, begun_ns, event) = only(tracks::CHAIN, TYPE_SLICE_BEGIN, 0);
    assert_eq!((chain, begun_ns), ("chain", 60));
    assert_eq!(
        event.terminating_flow_ids,
        [Arrow::EnqueueChain.id(1), Arrow::Rendered.id(1)]
    );
    let (kernel, begun_ns, _) = only(tracks::CHAIN, TYPE_SLICE_BEGIN, 1);
    assert_eq!((kernel, begun_ns), ("bloom: down", 60));
    let (present, begun_ns, event) = only(tracks::PRESENT, TYPE_SLICE_BEGIN, 0);
    assert_eq!((present, begun_ns), ("present", 85));
    assert_eq!(
        event.terminating_flow_ids,
        [Arrow::SubmitPresent.id(1), Arrow::Processed.id(1)]
    );
    let (wait, begun_ns, _) = only(tracks::FRAME_THREAD, TYPE_SLICE_BEGIN, 4);
    assert_eq!((wait, begun_ns), ("wait for slot", 95), "on the device's clock");
    let (woken, ended_ns, event) = only(tracks::FRAME_THREAD, TYPE_INSTANT, 0);
    assert_eq!((woken, ended_ns), ("woken", 105));
    let mut ended = event.terminating_flow_ids.clone();
    ended.sort_unstable();
    assert_eq!(ended, [Arrow::Retired.id(1), Arrow::Drawn.id(1)]);
    assert!(
        read.arrows().values().all(|ends| *ends == (1, 1)),
        "{:?}",
        read.arrows()
    );
}

#[test]
fn a_bandwidth_is_there_while_its_kernel_runs() {
    let read = read(&info(), &[record(1, 0, None)]);
    assert!(read.track_names().contains(&"GB/s bloom".to_owned()));
    assert!(!read.track_names().contains(&"GB/s sobel".to_owned()), "it did not run");
    let counts = read.events(tracks::bandwidth(0), TYPE_COUNTER);
    let values: Vec<_> = counts
        .iter()
        .map(|(_, at_ns, event)| (*at_ns, event.double_counter_value.unwrap()))
        .collect();
    assert_eq!(values, [(60, 400.0), (70, 0.0)]);
}

/// A name that nobody knew when the trace began.
#[test]
fn a_launch_of_several_effects_is_a_slice_and_a_bandwidth_of_its_own() {
    let mut fused = record(1, 0, None);
    fused.spans.kernels[0].fused = Some("sobel+bloom");
    let read = read(&info(), &[fused, record(2, 95, Some(1))]);
    let slices = read.events(tracks::CHAIN, TYPE_SLICE_BEGIN);
    let kernels: Vec<&str> = slices
        .iter()
        .map(|(name, ..)| *name)
        .filter(|name| *name != "chain")
        .collect();
    assert_eq!(kernels, ["sobel+bloom", "bloom: down"]);
    let names = read.track_names();
    let rates: Vec<&String> = names.iter().filter(|name| name.starts_with("GB/s")).collect();
    assert_eq!(rates, ["GB/s sobel+bloom", "GB/s bloom"]);
    for place in 0..2 {
        assert_eq!(read.events(tracks::bandwidth(place), TYPE_COUNTER).len(), 2);
    }
}

#[test]
fn frames_that_nobody_waited_for_are_told_apart() {
    // Frame 1's slot was waited for, and then no frame began in it; frame 10 is the first that cannot have waited for 1.
    let mut records: Vec<_> = (1..=10).map(|frame| record(frame, frame * 100, None)).collect();
    let instants = |records: &[FrameRecord]| {
        let read = read(&info(), records);
        assert!(
            read.arrows().values().all(|ends| *ends == (1, 1)),
            "{:?}",
            read.arrows()
        );
        let instants = read.events(tracks::FRAME_THREAD, TYPE_INSTANT);
        instants
            .into_iter()
            .map(|(name, at_ns, _)| (name.to_owned(), at_ns))
            .collect::<Vec<_>>()
    };
    let unanswered = instants(&records);
    assert_eq!(unanswered[0], ("not waited for".to_owned(), 190));
    assert_eq!(unanswered.len(), 10);
    for (record, waited_for) in records[2..].iter_mut().zip(1..) {
        record.waited_for_frame = Some(waited_for);
    }
    let answered = instants(&records);
    assert_eq!(answered.iter().filter(|(name, _)| name == "woken").count(), 8);
    assert_eq!(answered.iter().filter(|(name, _)| name == "not waited for").count(), 2);
}

/// Its submission begins its scene, and its end is its only signal.
#[test]
fn a_frame_that_is_submitted_whole_has_no_arrow_within() {
    let mut records = [record(1, 0, None), record(2, 1_000, Some(1))];
    for (record, at) in records.iter_mut().zip([0, 1_000]) {
        record.spans.host = vec![
            (HostWork::WaitForSlot, interval(at + 1_000, at + 1_010)),
            (HostWork::RecordChain, interval(at + 1_010, at + 1_020)),
            (HostWork::SubmitFrame, interval(at + 1_020, at + 1_040)),
        ];
    }
    let read = read(&info(), &records);
    let arrows: Vec<u64> = read.arrows().into_keys().collect();
    let of = |arrow: Arrow, frame| arrow.id(frame);
    assert_eq!(
        arrows,
        [
            of(Arrow::Retired, 1),
            of(Arrow::SubmitScene, 1),
            of(Arrow::Retired, 2),
            of(Arrow::SubmitScene, 2)
        ]
    );
    let notes = |track| -> Vec<String> {
        let (_, _, event) = read.events(track, TYPE_SLICE_BEGIN)[0];
        let notes = event.debug_annotations.iter();
        notes.filter_map(|note| note.string_value.clone()).collect()
    };
    assert_eq!(notes(tracks::SCENE), [""; 0]);
    assert_eq!(notes(tracks::CHAIN), [""; 0]);
    assert_eq!(notes(tracks::PRESENT), ["retired=1"]);
    let waits = read.events(tracks::FRAME_THREAD, TYPE_SLICE_BEGIN);
    let waits = waits.iter().flat_map(|(_, _, event)| &event.debug_annotations);
    let waits: Vec<_> = waits.filter_map(|note| note.string_value.as_deref()).collect();
    assert_eq!(waits, ["retired=1"]);
}

/// The serial schedule, and the end of a run: the wait's end is in the frame's own record.
#[test]
fn a_wait_for_the_frame_itself_ends_its_own_arrows() {
    let mut serial = record(1, 0, Some(1));
    serial.spans.host.push((HostWork::WaitForFrame, interval(1_040, 1_092)));
    let read = read(&info(), &[serial]);
    let instants = read.events(tracks::FRAME_THREAD, TYPE_INSTANT);
    assert_eq!(instants.len(), 1);
    assert_eq!((instants[0].0, instants[0].1), ("woken", 92));
    assert!(
        read.arrows().values().all(|ends| *ends == (1, 1)),
        "{:?}",
        read.arrows()
    );
}

#[test]
fn without_a_calibration_the_device_is_alone() {
    let mut alone = record(1, 5_000, None);
    alone.spans.calibration = None;
    let read = read(&info(), &[alone]);
    assert!(read.events(tracks::FRAME_THREAD, TYPE_SLICE_BEGIN).is_empty());
    let slices =
        [tracks::SCENE, tracks::CHAIN, tracks::PRESENT].map(|track| read.events(track, TYPE_SLICE_BEGIN).len());
    assert_eq!(slices, [1, 2, 1]);
    assert_eq!(read.arrows().len(), 2, "rendered and processed");
    let snapshots: Vec<_> = read
        .trace
        .packet
        .iter()
        .filter_map(|packet| packet.clock_snapshot.clone())
        .collect();
    assert_eq!(snapshots.len(), 1);
    assert!(snapshots[0].clocks.iter().all(|clock| clock.timestamp == Some(5_040)));
    let (_, _, begin) = read.events(tracks::PROCESS, TYPE_INSTANT)[0];
    let texts = begin
        .debug_annotations
        .iter()
        .filter_map(|note| note.string_value.as_deref());
    assert_eq!(texts.filter(|text| text.starts_with("left out")).count(), 1);
}

#[test]
fn one_queue_is_one_track() {
    let one_queue = TraceInfo {
        present_queue: None,
        ..info()
    };
    let read = read(&one_queue, &[record(1, 0, None)]);
    let slices = read.events(tracks::SCENE, TYPE_SLICE_BEGIN);
    assert_eq!(
        slices.iter().map(|slice| slice.0).collect::<Vec<_>>(),
        ["scene", "present"]
    );
    assert!(read.track_names().contains(&"scene and present (queue 0)".to_owned()));
}

/// Two calibrations that contradict each other by 60 ns: the host's slices shrink, and none overlaps.
#[test]
fn slices_of_the_host_stay_in_order_through_calibrations() {
    let mut second = record(2, 100, None);
    second.spans.calibration = Some(Calibration {
        host_ns: 1_060,
        ..CALIBRATION
    });
    let read = read(&info(), &[record(1, 0, None), second]);
    let begins = read.events(tracks::FRAME_THREAD, TYPE_SLICE_BEGIN);
    let ends = read.events(tracks::FRAME_THREAD, TYPE_SLICE_END);
    assert_eq!((begins.len(), ends.len()), (8, 8));
    let times: Vec<_> = begins
        .iter()
        .zip(ends)
        .flat_map(|(begin, end)| [begin.1, end.1])
        .collect();
    assert!(times.is_sorted(), "{times:?}");
    let drift = read.events(tracks::HOST_CLOCK, TYPE_COUNTER);
    assert_eq!(
        drift.iter().map(|count| count.2.counter_value).collect::<Vec<_>>(),
        [Some(0), Some(60)]
    );
}

#[test]
fn a_capture_without_measurements_is_a_trace_of_tracks() {
    let read = read(&info(), &[FrameRecord::default()]);
    assert!(read.trace.packet.iter().all(|packet| packet.track_event.is_none()));
    assert_eq!(
        read.trace
            .packet
            .iter()
            .filter(|packet| packet.track_descriptor.is_some())
            .count(),
        8
    );
}
