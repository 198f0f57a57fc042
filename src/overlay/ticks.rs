//! Axes: where their ticks are, and how times read.

/// The step between ticks, 1, 2 or 5 times a power of ten, so that from 0 to `length` there are at most `most` steps. 0 for a length
/// that is not above 0.
pub fn step(length: f64, most: usize) -> f64 {
    if !(length > 0.0 && length.is_finite()) {
        return 0.0;
    }
    let least = length / most.max(1) as f64;
    let power = 10_f64.powf(least.log10().floor());
    // The last one for what rounding makes of the logarithm.
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    steps
        .into_iter()
        .find(|step| *step >= least * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

/// A number of milliseconds, with as many decimals as its ticks need.
pub fn tick_label(value_ms: f64, step_ms: f64) -> String {
    let decimals = (-step_ms.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{value_ms:.decimals$}")
}

/// Milliseconds with three significant digits or a microsecond, whichever is coarser: `12.3`, `1.23`, `0.012`.
pub fn milliseconds(value_ms: f64) -> String {
    match value_ms.abs() {
        value if value >= 99.95 => format!("{value_ms:.0}"),
        value if value >= 9.995 => format!("{value_ms:.1}"),
        value if value >= 0.9995 => format!("{value_ms:.2}"),
        _ => format!("{value_ms:.3}"),
    }
}

/// Bytes a second as decimal gigabytes a second, as vendors give a memory's bandwidth.
pub fn gigabytes_a_second(bytes_a_second: f64) -> String {
    let value = bytes_a_second * 1e-9;
    if value >= 99.95 {
        format!("{value:.0} GB/s")
    } else {
        format!("{value:.1} GB/s")
    }
}

/// Bytes in the binary unit that gives one to four digits.
pub fn memory(bytes: u64) -> String {
    const MIB: f64 = 1024.0 * 1024.0;
    let mebibytes = bytes as f64 / MIB;
    if mebibytes >= 10_000.0 {
        format!("{:.1} GiB", mebibytes / 1024.0)
    } else {
        format!("{mebibytes:.0} MiB")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_few() {
        for (length, most, expected) in [
            (16.7, 4, 5.0),
            (4.0, 4, 1.0),
            (4.1, 4, 2.0),
            (0.45, 5, 0.1),
            (0.3, 3, 0.1),
            (1000.0, 1, 1000.0),
            (7.0, 1, 10.0),
        ] {
            let found = step(length, most);
            assert!(
                (found - expected).abs() < 1e-9 * expected,
                "{length} in {most}: {found}"
            );
        }
        for length in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(step(length, 4), 0.0);
        }
    }

    #[test]
    fn numbers_have_the_decimals_that_say_something() {
        assert_eq!(tick_label(0.3, 0.1), "0.3");
        assert_eq!(tick_label(15.0, 5.0), "15");
        assert_eq!(tick_label(0.02, 0.02), "0.02");
        let shown = [1234.5, 99.96, 12.34, 9.996, 1.234, 0.9996, 0.0123].map(milliseconds);
        assert_eq!(shown, ["1234", "100", "12.3", "10.0", "1.23", "1.00", "0.012"]);
        assert_eq!(gigabytes_a_second(3.9e12), "3900 GB/s");
        assert_eq!(gigabytes_a_second(12.34e9), "12.3 GB/s");
        assert_eq!(memory(412 << 20), "412 MiB");
        assert_eq!(memory(141 << 30), "141.0 GiB");
    }
}
