//! The device's clock and the host's, read together.

use ash::vk;
use rustix::time::ClockId;

use super::{Device, Error, ResultExt};

/// One instant on two clocks: Vulkan's DEVICE domain and the host's CLOCK_MONOTONIC_RAW.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calibration {
    /// Nanoseconds of the device's clock.
    pub device_ns: u64,
    /// Nanoseconds of CLOCK_MONOTONIC_RAW.
    pub host_ns: u64,
    /// How far apart the two readings may be, nanoseconds.
    pub deviation_ns: u64,
}

impl Calibration {
    /// An instant of the device's clock on the host's. Good near the calibration: the clocks drift apart.
    pub fn host_from_device(&self, device_ns: u64) -> u64 {
        self.host_ns.wrapping_add(device_ns.wrapping_sub(self.device_ns))
    }

    /// An instant of the host's clock on the device's.
    pub fn device_from_host(&self, host_ns: u64) -> u64 {
        self.device_ns.wrapping_add(host_ns.wrapping_sub(self.host_ns))
    }
}

/// Nanoseconds of CLOCK_MONOTONIC_RAW: CLOCK_MONOTONIC, the clock of `std::time::Instant`, is bent towards the time of day as it
/// runs, by up to 500 parts in a million.
pub fn host_ns() -> u64 {
    read(ClockId::MonotonicRaw)
}

fn read(clock: ClockId) -> u64 {
    let now = rustix::time::clock_gettime(clock);
    // Both count from boot: never negative.
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// An instant of CLOCK_MONOTONIC, not long ago, on CLOCK_MONOTONIC_RAW, and how far off it may be.
fn raw_from_monotonic(monotonic_ns: u64) -> (u64, u64) {
    let before = read(ClockId::MonotonicRaw);
    let monotonic = read(ClockId::Monotonic);
    let after = read(ClockId::MonotonicRaw);
    let ago = monotonic.saturating_sub(monotonic_ns);
    (before + (after - before) / 2 - ago, (after - before).div_ceil(2))
}

/// Which of the host's clocks a device reads together with its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostDomain {
    /// CLOCK_MONOTONIC_RAW.
    Raw,
    /// CLOCK_MONOTONIC, as Mesa's software does.
    Monotonic,
}

impl HostDomain {
    /// The best of what a device has.
    pub fn of(domains: &[vk::TimeDomainEXT]) -> Option<Self> {
        let has = |domain| domains.contains(&domain);
        if !has(vk::TimeDomainEXT::DEVICE) {
            None
        } else if has(vk::TimeDomainEXT::CLOCK_MONOTONIC_RAW) {
            Some(Self::Raw)
        } else {
            has(vk::TimeDomainEXT::CLOCK_MONOTONIC).then_some(Self::Monotonic)
        }
    }
}

impl Device {
    /// Reads both clocks; `None` when the device cannot.
    ///
    /// # Errors
    /// A failed call.
    pub fn calibrate(&self) -> Result<Option<Calibration>, Error> {
        let Some((functions, host)) = &self.calibrated_timestamps else {
            return Ok(None);
        };
        let host_domain = match host {
            HostDomain::Raw => vk::TimeDomainEXT::CLOCK_MONOTONIC_RAW,
            HostDomain::Monotonic => vk::TimeDomainEXT::CLOCK_MONOTONIC,
        };
        let domain = |time_domain| vk::CalibratedTimestampInfoEXT::default().time_domain(time_domain);
        let infos = [domain(vk::TimeDomainEXT::DEVICE), domain(host_domain)];
        let (mut stamps, mut deviation_ns) = ([0; 2], 0);
        // Frames do it now and then: not by ash's function, which allocates.
        // SAFETY: V3; both domains were found when the device was made, and there is a place for each stamp.
        unsafe {
            let read = functions.fp().get_calibrated_timestamps_ext;
            read(
                self.raw.handle(),
                2,
                infos.as_ptr(),
                stamps.as_mut_ptr(),
                &raw mut deviation_ns,
            )
            .result()
        }
        .during(|| "read the calibrated timestamps")?;
        let (host_ns, more_ns) = match host {
            HostDomain::Raw => (stamps[1], 0),
            HostDomain::Monotonic => raw_from_monotonic(stamps[1]),
        };
        Ok(Some(Calibration {
            device_ns: self.physical.nanoseconds(stamps[0]),
            host_ns,
            deviation_ns: deviation_ns + more_ns,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_are_inverse_even_when_the_host_clock_is_ahead() {
        let calibration = Calibration {
            device_ns: 1_000,
            host_ns: 5_000_000_000,
            deviation_ns: 10,
        };
        assert_eq!(calibration.host_from_device(1_500), 5_000_000_500);
        assert_eq!(calibration.host_from_device(400), 4_999_999_400);
        assert_eq!(calibration.device_from_host(5_000_000_500), 1_500);
    }

    #[test]
    fn the_host_clock_runs_as_fast_as_the_clock_of_instant() {
        let (instant, ns) = (std::time::Instant::now(), host_ns());
        std::thread::sleep(std::time::Duration::from_millis(5));
        let (by_instant, by_ns) = (instant.elapsed().as_nanos() as u64, host_ns() - ns);
        assert!(by_instant.abs_diff(by_ns) < 1_000_000, "{by_instant} and {by_ns}");
    }

    #[test]
    fn an_instant_of_the_bent_clock_is_found_on_the_raw_one() {
        for _ in 0..100 {
            let before = host_ns();
            let monotonic = read(ClockId::Monotonic);
            let after = host_ns();
            let (raw, uncertain) = raw_from_monotonic(monotonic);
            assert!(
                before - uncertain <= raw && raw <= after + uncertain,
                "{before} {raw} {after} {uncertain}"
            );
        }
    }

    #[test]
    fn the_raw_clock_is_taken_where_a_device_reads_it() {
        use vk::TimeDomainEXT as Domain;
        let all = [Domain::DEVICE, Domain::CLOCK_MONOTONIC, Domain::CLOCK_MONOTONIC_RAW];
        assert_eq!(HostDomain::of(&all), Some(HostDomain::Raw));
        assert_eq!(HostDomain::of(&all[..2]), Some(HostDomain::Monotonic));
        assert_eq!(HostDomain::of(&all[..1]), None);
        assert_eq!(HostDomain::of(&all[1..]), None);
    }
}
