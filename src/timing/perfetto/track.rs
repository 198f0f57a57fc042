//! A track on which one thing happens at a time.

use std::collections::VecDeque;

use crate::timing::Interval;

/// More slices than the frames in flight can put between a slice and one that was written before it: 8 frames of 10.
const REMEMBERED: usize = 128;

/// Where slices were put on a track.
///
/// Perfetto pairs a slice's end with the innermost slice that is open, in the order of times and, at one time, of the file.
/// Records come in the order of frames, whose parts interleave, so a slice may come after one that is later in time.
#[derive(Debug)]
pub(super) struct Track {
    /// Perfetto's identifier of the track.
    pub uuid: u64,
    /// In the order of time, none overlapping another; those without length need no place.
    placed: VecDeque<Interval>,
}

impl Track {
    pub fn new(uuid: u64) -> Self {
        Self {
            uuid,
            placed: VecDeque::new(),
        }
    }

    /// The part of an interval that overlaps nothing on the track. It lacks something only when clocks or stamps are inexact,
    /// and it ends a nanosecond early where it would end when a slice begins that the file has already.
    pub fn place(&mut self, wanted: Interval) -> Interval {
        let mut start_ns = wanted.start_ns;
        let mut next_ns = None;
        let mut index = 0;
        if wanted.start_ns == wanted.end_ns {
            return wanted;
        }
        for placed in &self.placed {
            if placed.start_ns > start_ns {
                next_ns = Some(placed.start_ns);
                break;
            }
            start_ns = start_ns.max(placed.end_ns).min(wanted.end_ns);
            index += 1;
        }
        let before_next = next_ns.map_or(wanted.end_ns, |next| wanted.end_ns.min(next - 1));
        let interval = Interval {
            start_ns,
            end_ns: before_next.max(start_ns),
        };
        if interval.start_ns < interval.end_ns {
            self.placed.insert(index, interval);
        }
        if self.placed.len() > REMEMBERED {
            self.placed.pop_front();
        }
        interval
    }
}

/// Puts parts that follow one another into a whole, without gaps filled or order changed.
pub(super) fn nest(whole: Interval, parts: impl Iterator<Item = Interval>) -> impl Iterator<Item = Interval> {
    let mut reached = whole.start_ns;
    parts.map(move |part| {
        let start_ns = part.start_ns.clamp(reached, whole.end_ns);
        let end_ns = part.end_ns.clamp(start_ns, whole.end_ns);
        reached = end_ns;
        Interval { start_ns, end_ns }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(start_ns: u64, end_ns: u64) -> Interval {
        Interval { start_ns, end_ns }
    }

    #[test]
    fn what_overlaps_nothing_stays_as_it_is() {
        let mut track = Track::new(1);
        for wanted in [
            interval(10, 20),
            interval(20, 30),
            interval(35, 40),
            interval(31, 33),
            interval(50, 50),
        ] {
            assert_eq!(track.place(wanted), wanted);
        }
    }

    #[test]
    fn an_overlap_is_taken_from_the_slice_that_comes_later_in_the_file() {
        let mut track = Track::new(1);
        assert_eq!(track.place(interval(100, 200)), interval(100, 200));
        assert_eq!(track.place(interval(190, 300)), interval(200, 300), "its start");
        assert_eq!(track.place(interval(50, 120)), interval(50, 99), "its end");
        assert_eq!(
            track.place(interval(20, 50)),
            interval(20, 49),
            "an end where the file has a start"
        );
        assert_eq!(track.place(interval(110, 150)), interval(150, 150), "all of it");
        assert_eq!(track.place(interval(150, 310)), interval(300, 310));
    }

    #[test]
    fn parts_stay_in_their_whole_and_behind_one_another() {
        let parts = [interval(5, 12), interval(11, 18), interval(18, 25), interval(30, 31)];
        let nested: Vec<_> = nest(interval(10, 20), parts.into_iter()).collect();
        assert_eq!(
            nested,
            [interval(10, 12), interval(12, 18), interval(18, 20), interval(20, 20)]
        );
    }
}
