//! The device's clock and the host's, read together.

use ash::vk;

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
    let now = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicRaw);
    // It counts from boot: never negative.
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Device {
    /// Reads both clocks; `None` when the device cannot.
    ///
    /// # Errors
    /// A failed call.
    pub fn calibrate(&self) -> Result<Option<Calibration>, Error> {
        let Some(functions) = &self.calibrated_timestamps else {
            return Ok(None);
        };
        let domain = |time_domain| vk::CalibratedTimestampInfoEXT::default().time_domain(time_domain);
        let infos = [
            domain(vk::TimeDomainEXT::DEVICE),
            domain(vk::TimeDomainEXT::CLOCK_MONOTONIC_RAW),
        ];
        // SAFETY: V3; both domains were found when the device was made.
        let (stamps, deviation_ns) =
            unsafe { functions.get_calibrated_timestamps(&infos) }.during(|| "read the calibrated timestamps")?;
        Ok(Some(Calibration {
            device_ns: self.physical.nanoseconds(stamps[0]),
            host_ns: stamps[1],
            deviation_ns,
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
}
