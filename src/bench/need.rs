//! What a launch needs at least, and how soon a device can have given it.

use std::array;

use serde::{Deserialize, Serialize};

use crate::kernels::{FrameExtents, Launch, Plan};

/// What the device can do at most, as measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes a second that a large copy within its memory moves, read and written.
    pub copy_bandwidth: f64,
    /// See [`ArithmeticRates::operations`](crate::cuda::ArithmeticRates::operations).
    pub operations: f64,
    /// See [`ArithmeticRates::special`](crate::cuda::ArithmeticRates::special).
    pub special: f64,
}

/// What keeps a launch from being faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// What it must read and write.
    Bytes,
    /// Its additions and multiplications.
    Operations,
    /// Its exponentials, roots and the like.
    Special,
}

impl Bound {
    /// All, in the order of the variants.
    const ALL: [Self; 3] = [Self::Bytes, Self::Operations, Self::Special];

    /// Its name for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Operations => "arithmetic",
            Self::Special => "special functions",
        }
    }
}

/// What a launch needs at least.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Need {
    /// Bytes that it must read and write.
    pub bytes: u64,
    /// See [`Arithmetic::operations`](crate::kernels::Arithmetic::operations); of all its texels together.
    pub operations: f64,
    /// See [`Arithmetic::special`](crate::kernels::Arithmetic::special); of all its texels together.
    pub special: f64,
}

impl Need {
    /// Of a plan's launch in such frames; nothing of one that runs once, in a frame before.
    pub fn of(plan: &Plan, launch: &Launch, extents: FrameExtents) -> Self {
        if launch.is_once() {
            return Self {
                bytes: 0,
                operations: 0.0,
                special: 0.0,
            };
        }
        let texels: f64 = plan.texels_of(launch, extents).map(f64::from).iter().product();
        let arithmetic = launch.description().arithmetic;
        Self {
            bytes: plan.least_bytes(launch, extents),
            operations: texels * arithmetic.operations,
            special: texels * arithmetic.special,
        }
    }

    /// What bounds it, and the shortest time that this leaves it, microseconds: a device may do all three at the same time. A special
    /// function is an instruction too: it is issued in the place of an operation, and then takes its own unit's time.
    pub fn bound(&self, limits: &Limits) -> (Bound, f64) {
        let seconds = [
            self.bytes as f64 / limits.copy_bandwidth,
            (self.operations + self.special) / limits.operations,
            self.special / limits.special,
        ];
        Bound::ALL
            .into_iter()
            .zip(seconds.map(|seconds| seconds * 1e6))
            // The first of those that take as long.
            .rev()
            .max_by(|one, other| one.1.total_cmp(&other.1))
            .expect("there are three")
    }
}

/// What bounds launches that run one after another: all that is a quarter of the time or more, that of which there is most first.
/// And the shortest time that this leaves them, microseconds.
pub fn bound(needs: &[Need], limits: &Limits) -> (Vec<Bound>, f64) {
    let launches: Vec<_> = needs.iter().map(|need| need.bound(limits)).collect();
    let of = |bound: Bound| {
        let alike = launches.iter().filter(|(other, _)| *other == bound);
        alike.map(|(_, us)| us).sum::<f64>()
    };
    let mut shares: [(Bound, f64); 3] = array::from_fn(|index| (Bound::ALL[index], of(Bound::ALL[index])));
    shares.sort_by(|one, other| other.1.total_cmp(&one.1));
    let total = shares.iter().map(|(_, us)| us).sum::<f64>();
    let most = shares.into_iter().filter(|(_, us)| 4.0 * us >= total);
    (most.map(|(bound, _)| bound).collect(), total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Chain, catalogue};

    const LIMITS: Limits = Limits {
        copy_bandwidth: 1e12,
        operations: 1e13,
        special: 1e12,
    };

    fn need(bytes: u64, operations: f64, special: f64) -> Need {
        Need {
            bytes,
            operations,
            special,
        }
    }

    #[test]
    fn the_bound_is_what_takes_longest() {
        // 16 MB at 1 TB/s: 16 µs. 10⁹ instructions at 10 T/s: 100 µs, 2·10⁷ special ones at 1 T/s: 20 µs.
        assert_eq!(need(16_000_000, 0.0, 0.0).bound(&LIMITS), (Bound::Bytes, 16.0));
        assert_eq!(need(16_000_000, 9.8e8, 2e7).bound(&LIMITS), (Bound::Operations, 100.0));
        assert_eq!(need(16_000_000, 1e8, 2e7).bound(&LIMITS), (Bound::Special, 20.0));
    }

    #[test]
    fn launches_follow_one_another() {
        let (copy, filter) = (need(16_000_000, 1e7, 0.0), need(16_000_000, 4e8, 0.0));
        assert_eq!(
            bound(&[copy, filter], &LIMITS),
            (vec![Bound::Operations, Bound::Bytes], 56.0)
        );
        // 16 of 176 µs are no bound.
        assert_eq!(
            bound(&[filter, filter, copy, filter, filter], &LIMITS),
            (vec![Bound::Operations], 176.0)
        );
    }

    #[test]
    fn a_launch_needs_what_its_pass_says_of_each_of_its_texels() {
        let extents = FrameExtents::same([30, 20]);
        let chain = Chain::with_enabled(catalogue(), &["atrous"]).expect("an effect");
        let plan = chain.plan();
        for launch in &plan.launches {
            let description = launch.description();
            let need = Need::of(&plan, launch, extents);
            assert_eq!(Some(need.bytes), description.bytes_per_texel.map(|bytes| 600 * bytes));
            assert_eq!(need.operations, 600.0 * description.arithmetic.operations);
        }
        assert!(
            plan.launches
                .iter()
                .any(|launch| launch.description().arithmetic.special > 0.0)
        );
    }
}
