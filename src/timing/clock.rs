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

/// What bounds the offset between two clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProvenBy {
    /// Semaphores between stamps of both: the order is the GPU's own.
    Semaphores,
    /// The host's clock, before and after a stamp of the chain's clock, and calibrated against the device's.
    HostClock,
    /// Nothing has to be: the device stamps the chain itself.
    OneClock,
    /// Nothing could be stamped.
    Nothing,
}

/// What was found out about two clocks: the Vulkan device's and the chain's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct ClockProof {
    /// How the chain's stamps become the device's.
    #[serde(flatten)]
    pub relation: ClockRelation,
    /// How it was found.
    pub by: ProvenBy,
    /// The lowest and the highest offset that all rounds allow, to be added to the chain's stamps; nanoseconds. `None` where none
    /// does.
    pub bounds_ns: Option<[i64; 2]>,
    /// How many rounds there were.
    pub rounds: usize,
    /// The step of the device's clock: the greatest number of nanoseconds of which all differences of its stamps are multiples.
    pub device_tick_ns: Option<u64>,
    /// The step of the chain's clock.
    pub chain_tick_ns: Option<u64>,
}

impl ClockProof {
    /// There was nothing to stamp.
    pub const NONE: Self = Self {
        relation: ClockRelation::Unrelated,
        by: ProvenBy::Nothing,
        bounds_ns: None,
        rounds: 0,
        device_tick_ns: None,
        chain_tick_ns: None,
    };

    /// The chain's stamps are the device's.
    pub const OWN: Self = Self {
        relation: ClockRelation::Shared { width_ns: 0 },
        by: ProvenBy::OneClock,
        bounds_ns: Some([0, 0]),
        ..Self::NONE
    };

    /// Intersects the offsets that each round allows: `before ≤ between + offset ≤ after`.
    pub fn from_rounds(by: ProvenBy, rounds: &[Round]) -> Self {
        let difference = |a: u64, b: u64| a.wrapping_sub(b).cast_signed();
        let lowest = rounds.iter().map(|round| difference(round.before, round.between)).max();
        let highest = rounds.iter().map(|round| difference(round.after, round.between)).min();
        let bounds = lowest.zip(highest).filter(|(lowest, highest)| lowest <= highest);
        let device_stamps = rounds.iter().flat_map(|round| [round.before, round.after]);
        Self {
            relation: bounds.map_or(ClockRelation::Unrelated, |(lowest, highest)| {
                ClockRelation::within(lowest, highest)
            }),
            by,
            bounds_ns: bounds.map(|(lowest, highest)| [lowest, highest]),
            rounds: rounds.len(),
            device_tick_ns: tick(device_stamps),
            chain_tick_ns: tick(rounds.iter().map(|round| round.between)),
        }
    }

    /// How far the middle of what is possible moved from one proof to a later one, nanoseconds; it says more than noise only
    /// where it is more than half the width of either.
    pub fn drift_ns(&self, later: &Self) -> Option<i64> {
        let middle = |[lowest, highest]: [i64; 2]| lowest + (highest - lowest) / 2;
        Some(middle(later.bounds_ns?) - middle(self.bounds_ns?))
    }
}

/// The greatest common divisor of all differences; `None` without any.
fn tick(mut stamps: impl Iterator<Item = u64>) -> Option<u64> {
    let first = stamps.next()?;
    let common = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let tick = stamps.fold(0, |tick, stamp| common(tick, stamp.abs_diff(first)));
    (tick != 0).then_some(tick)
}

impl ClockRelation {
    /// What offsets between these, which are possible, say about the clocks.
    fn within(lowest: i64, highest: i64) -> Self {
        let width_ns = highest.saturating_sub(lowest);
        if lowest <= 0 && 0 <= highest {
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

    fn relation(rounds: &[Round]) -> ClockRelation {
        ClockProof::from_rounds(ProvenBy::Semaphores, rounds).relation
    }

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
        assert!(matches!(relation(&rounds(0, 0)), ClockRelation::Shared { .. }));
    }

    #[test]
    fn an_offset_is_corrected_within_its_width() {
        let offset = -123_456_789_000;
        let relation = relation(&rounds(offset, 0));
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
        assert_eq!(relation(&rounds(5_000_000, 50_000)), ClockRelation::Unrelated);
        assert_eq!(relation(&[]), ClockRelation::Unrelated);
        assert_eq!(ClockRelation::Unrelated.convert(1), None);
    }

    #[test]
    fn the_step_of_each_clock_is_found() {
        // 32 ns for the chain's clock, 8 for the device's, from any origin.
        let of = |round: u64| Round {
            before: 5 + 8 * (1_000 + 31 * round * round),
            between: 11 + 32 * (400 + 7 * round * round),
            after: 5 + 8 * (3_001 + 50 * round * round),
        };
        let proof = ClockProof::from_rounds(ProvenBy::Semaphores, &(0..9).map(of).collect::<Vec<_>>());
        assert_eq!((proof.device_tick_ns, proof.chain_tick_ns), (Some(8), Some(32 * 7)));
        let mut uneven: Vec<_> = (0..9).map(of).collect();
        uneven[4].between += 32;
        let proof = ClockProof::from_rounds(ProvenBy::Semaphores, &uneven);
        assert_eq!(proof.chain_tick_ns, Some(32));
        assert_eq!(
            ClockProof::from_rounds(ProvenBy::Semaphores, &[]),
            ClockProof {
                by: ProvenBy::Semaphores,
                ..ClockProof::NONE
            }
        );
    }

    #[test]
    fn drift_is_how_far_the_middle_moved() {
        let proof = |offset| ClockProof::from_rounds(ProvenBy::Semaphores, &rounds(offset, 0));
        let (first, later) = (proof(-1_000_000), proof(-1_000_700));
        assert_eq!(first.drift_ns(&later), Some(-700));
        assert_eq!(first.drift_ns(&ClockProof::NONE), None);
    }
}
