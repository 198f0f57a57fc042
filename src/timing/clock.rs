//! Whether two clocks are one: bounds on their offset from the order in which things must have happened.

/// One round: a stamp of clock A, then one of clock B, then one of clock A again, each ordered after the one before by a
/// semaphore. Nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    /// Clock A, before.
    pub before: u64,
    /// Clock B, between.
    pub between: u64,
    /// Clock A, after.
    pub after: u64,
}

/// How clock B's stamps become clock A's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "relation")]
pub enum ClockRelation {
    /// An offset of zero is consistent with every round: the clocks are taken as one.
    Shared {
        /// Nanoseconds between the lowest and the highest offset that the rounds allow.
        width_ns: i64,
    },
    /// Zero is excluded: stamps are shifted by the centre of what the rounds allow.
    Corrected {
        /// Added to clock B's stamps, nanoseconds.
        offset_ns: i64,
        /// As above.
        width_ns: i64,
    },
    /// No offset fits all rounds (the clocks run at different speeds), or there was no round.
    Unrelated,
}

impl ClockRelation {
    /// Intersects the offsets that each round allows: `before ≤ between + offset ≤ after`.
    pub fn from_rounds(rounds: &[Round]) -> Self {
        let difference = |a: u64, b: u64| a.wrapping_sub(b).cast_signed();
        let lowest = rounds.iter().map(|round| difference(round.before, round.between)).max();
        let highest = rounds.iter().map(|round| difference(round.after, round.between)).min();
        let (Some(lowest), Some(highest)) = (lowest, highest) else {
            return Self::Unrelated;
        };
        let width_ns = highest.saturating_sub(lowest);
        if width_ns < 0 {
            Self::Unrelated
        } else if lowest <= 0 && 0 <= highest {
            Self::Shared { width_ns }
        } else {
            Self::Corrected {
                offset_ns: lowest + width_ns / 2,
                width_ns,
            }
        }
    }

    /// A stamp of clock B on clock A; `None` when the clocks are unrelated.
    pub fn convert(self, between: u64) -> Option<u64> {
        match self {
            Self::Shared { .. } => Some(between),
            Self::Corrected { offset_ns, .. } => Some(between.wrapping_add_signed(offset_ns)),
            Self::Unrelated => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(offset: i64, drift: i64) -> Vec<Round> {
        (0..40i64)
            .map(|round| {
                let start = 1_000_000_000 + round * 400_000;
                let between = (start + 150_000 + round * 37 - offset - drift * round).cast_unsigned();
                Round {
                    before: start.cast_unsigned(),
                    between,
                    after: (start + 310_000).cast_unsigned(),
                }
            })
            .collect()
    }

    #[test]
    fn one_clock_is_seen_as_one() {
        assert!(matches!(
            ClockRelation::from_rounds(&rounds(0, 0)),
            ClockRelation::Shared { .. }
        ));
    }

    #[test]
    fn an_offset_is_corrected_within_its_width() {
        let offset = -123_456_789_000;
        let relation = ClockRelation::from_rounds(&rounds(offset, 0));
        let ClockRelation::Corrected { offset_ns, width_ns } = relation else {
            panic!("{relation:?}")
        };
        assert!((offset_ns - offset).abs() <= width_ns, "{offset_ns} ± {width_ns}");
        assert_eq!(
            relation.convert(200_000_000_000),
            Some((200_000_000_000 + offset_ns).cast_unsigned())
        );
    }

    #[test]
    fn clocks_of_different_speed_and_no_rounds_are_unrelated() {
        assert_eq!(
            ClockRelation::from_rounds(&rounds(5_000_000, 50_000)),
            ClockRelation::Unrelated
        );
        assert_eq!(ClockRelation::from_rounds(&[]), ClockRelation::Unrelated);
        assert_eq!(ClockRelation::Unrelated.convert(1), None);
    }
}
