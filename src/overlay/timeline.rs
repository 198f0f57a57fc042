//! The last frames on the device's clock: who worked when, and which signal let whom begin.

use crate::timing::{FrameRecord, HostWork, Interval};

/// Who works, from the top.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Track {
    /// The host's thread.
    Host,
    /// The Vulkan queue of scenes.
    Scene,
    /// The CUDA stream, or the host's cores.
    Chain,
    /// The Vulkan queue of presents.
    Present,
}

impl Track {
    /// All, from the top.
    pub const ALL: [Self; 4] = [Self::Host, Self::Scene, Self::Chain, Self::Present];
}

/// Something that a track did for a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bar {
    /// Who.
    pub track: Track,
    /// For which frame.
    pub frame: u64,
    /// When, on the device's clock.
    pub interval: Interval,
    /// It only waited.
    pub is_wait: bool,
}

/// A timeline semaphore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// The scene is drawn: the chain may begin.
    Rendered,
    /// The chain is done: the present may begin.
    Processed,
    /// The present is done: the host may reuse the slot.
    Retired,
}

/// A signal of a frame, from its producer to who waited for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrow {
    /// Which.
    pub signal: Signal,
    /// Its value.
    pub frame: u64,
    /// Where it comes from, and when.
    pub from: (Track, u64),
    /// Where it goes, and when that went on.
    pub to: (Track, u64),
}

/// Some frames, side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// All of it.
    pub interval: Interval,
    /// In no order.
    pub bars: Vec<Bar>,
    /// In no order.
    pub arrows: Vec<Arrow>,
}

impl Timeline {
    /// The timeline of frames that follow one another, oldest first. `None` where the GPU was not stamped.
    pub fn of<'a>(records: impl Iterator<Item = &'a FrameRecord> + Clone) -> Option<Self> {
        let mut bars = Vec::new();
        let mut arrows = Vec::new();
        for record in records.clone() {
            let (spans, frame) = (&record.spans, record.frame);
            let parts = [
                (Track::Scene, spans.scene),
                (Track::Chain, spans.chain),
                (Track::Present, spans.present),
            ];
            for (track, interval) in parts {
                bars.extend(interval.map(|interval| Bar {
                    track,
                    frame,
                    interval,
                    is_wait: false,
                }));
            }
            let arrow = |signal, from: (Track, Option<Interval>), to: (Track, Option<Interval>)| {
                Some(Arrow {
                    signal,
                    frame,
                    from: (from.0, from.1?.end_ns),
                    to: (to.0, to.1?.start_ns),
                })
            };
            let [scene, chain, present] = parts;
            if !spans.is_one_submission() {
                arrows.extend(arrow(Signal::Rendered, scene, chain));
                arrows.extend(arrow(Signal::Processed, chain, present));
            }
            let Some(calibration) = spans.calibration else { continue };
            for (work, interval) in &spans.host {
                let on_device = Interval::new(
                    calibration.device_from_host(interval.start_ns),
                    calibration.device_from_host(interval.end_ns),
                );
                let is_wait = matches!(work, HostWork::WaitForSlot | HostWork::WaitForFrame);
                bars.push(Bar {
                    track: Track::Host,
                    frame,
                    interval: on_device,
                    is_wait,
                });
                // The host went on when the frame that it waited for had retired.
                let waited_for = record.waited_for_frame.filter(|_| is_wait);
                let retired = waited_for.and_then(|waited_for| records.clone().find(|other| other.frame == waited_for));
                if let Some((retired, present)) = retired.and_then(|retired| Some((retired, retired.spans.present?))) {
                    arrows.push(Arrow {
                        signal: Signal::Retired,
                        frame: retired.frame,
                        from: (Track::Present, present.end_ns),
                        to: (Track::Host, on_device.end_ns),
                    });
                }
            }
        }
        let on_gpu = || bars.iter().filter(|bar| bar.track != Track::Host);
        on_gpu().next()?;
        Some(Self {
            interval: Interval::new(
                bars.iter().map(|bar| bar.interval.start_ns).min()?,
                bars.iter().map(|bar| bar.interval.end_ns).max()?,
            ),
            bars,
            arrows,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::FrameSpans;
    use crate::vulkan::Calibration;

    fn record(frame: u64, start: u64, waited_for_frame: Option<u64>) -> FrameRecord {
        FrameRecord {
            frame,
            waited_for_frame,
            spans: FrameSpans {
                // The host's clock is 1,000,000 ns ahead.
                host: vec![
                    (
                        HostWork::WaitForSlot,
                        Interval::new(1_000_000 + start, 1_000_050 + start),
                    ),
                    (
                        HostWork::SubmitScene,
                        Interval::new(1_000_050 + start, 1_000_080 + start),
                    ),
                ],
                scene: Some(Interval::new(start + 100, start + 200)),
                chain: Some(Interval::new(start + 220, start + 300)),
                present: Some(Interval::new(start + 330, start + 400)),
                calibration: Some(Calibration {
                    device_ns: 0,
                    host_ns: 1_000_000,
                    deviation_ns: 0,
                }),
                ..FrameSpans::default()
            },
            ..FrameRecord::default()
        }
    }

    #[test]
    fn arrows_go_from_who_signals_to_who_waited() {
        let records = [
            record(7, 1_000, None),
            record(8, 1_360, Some(7)),
            record(9, 9_000, Some(5)),
        ];
        let timeline = Timeline::of(records.iter()).expect("the GPU was stamped");
        assert_eq!(timeline.interval, Interval::new(1_000, 9_400));
        let arrow = |signal, frame, from, to| Arrow {
            signal,
            frame,
            from,
            to,
        };
        use Signal::{Processed, Rendered, Retired};
        let of_7: Vec<_> = timeline
            .arrows
            .iter()
            .filter(|arrow| arrow.frame == 7)
            .copied()
            .collect();
        assert_eq!(
            of_7,
            [
                arrow(Rendered, 7, (Track::Scene, 1_200), (Track::Chain, 1_220)),
                arrow(Processed, 7, (Track::Chain, 1_300), (Track::Present, 1_330)),
                // Frame 8 waited for it, until 50 ns after its own beginning.
                arrow(Retired, 7, (Track::Present, 1_400), (Track::Host, 1_410)),
            ]
        );
        // Frame 5, which frame 9 waited for, is not among the frames shown.
        assert_eq!(timeline.arrows.len(), 3 * 2 + 1);
        let waits = timeline.bars.iter().filter(|bar| bar.is_wait).count();
        assert_eq!((timeline.bars.len(), waits), (3 * 5, 3));
    }

    #[test]
    fn what_was_not_measured_is_not_drawn() {
        let mut unrelated = record(1, 0, None);
        unrelated.spans.chain = None;
        unrelated.spans.calibration = None;
        let timeline = Timeline::of([&unrelated].into_iter()).expect("the GPU was stamped");
        assert_eq!(timeline.arrows, []);
        assert_eq!(timeline.bars.len(), 2);
        assert_eq!(Timeline::of([&FrameRecord::default()].into_iter()), None);
    }
}
