//! One parameter of an effect, and its value inside the bytes a kernel is given.

use super::nearest::did_you_mean;

/// How a parameter is stored. Every type is four bytes long, so the n-th parameter stands at byte 4n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ParameterType {
    /// `float`
    F32,
    /// `unsigned`
    U32,
    /// `int`
    I32,
}

/// Where the parameter of that index stands in the parameter struct, bytes.
pub(crate) const fn offset(index: usize) -> usize {
    4 * index
}

/// A number a user can turn.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The member of the kernel's parameter struct.
    pub name: String,
    /// Unit for display, empty for a plain number.
    pub unit: String,
    /// Smallest accepted value, inclusive.
    pub minimum: f64,
    /// Largest accepted value, inclusive.
    pub maximum: f64,
    /// Value at start.
    pub default: f64,
    /// What one press of a key adds; of a logarithmic parameter, as a part of its value.
    pub step: f64,
    /// Whether equal ratios count as equal steps.
    #[serde(default)]
    pub logarithmic: bool,
    /// How the kernel declares it.
    #[serde(rename = "type")]
    pub parameter_type: ParameterType,
}

/// A value that a parameter does not take, or a parameter that an effect has not.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParameterError {
    /// No parameter of that name.
    #[error("{effect} has no parameter {name:?}{}; it has {}", did_you_mean(name, .known), list(.known))]
    Unknown {
        /// The effect's name.
        effect: String,
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// Outside the range, or not a number.
    #[error("{name} = {value} is outside {minimum} to {maximum}{}", spaced(.unit))]
    OutOfRange {
        /// The parameter's name.
        name: String,
        /// The value asked for.
        value: f64,
        /// Smallest accepted value.
        minimum: f64,
        /// Largest accepted value.
        maximum: f64,
        /// The parameter's unit.
        unit: String,
    },
    /// A fraction for an integer.
    #[error("{name} = {value} is not a whole number; it takes {minimum} to {maximum}{}", spaced(.unit))]
    NotWhole {
        /// The parameter's name.
        name: String,
        /// The value asked for.
        value: f64,
        /// Smallest accepted value.
        minimum: f64,
        /// Largest accepted value.
        maximum: f64,
        /// The parameter's unit.
        unit: String,
    },
}

fn spaced(unit: &str) -> String {
    if unit.is_empty() {
        String::new()
    } else {
        format!(" {unit}")
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

/// The multiple of the step that a value misses by a float's rounding, if it does.
fn on_grid(value: f64, step: f64) -> f64 {
    let nearest = rounded((value / step).round() * step);
    if (nearest - value).abs() < step * 1e-4 {
        nearest
    } else {
        rounded(value)
    }
}

/// To six digits: a float holds no more for certain, and what a key makes is to be read.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

impl Parameter {
    /// The four bytes of a value, if it is within range.
    pub fn encode(&self, value: f64) -> Result<[u8; 4], ParameterError> {
        // The range is compared as the kernel stores it: 0.01 as a float is a little less than 0.01.
        let inside = match self.parameter_type {
            ParameterType::F32 => (self.minimum as f32..=self.maximum as f32).contains(&(value as f32)),
            ParameterType::U32 | ParameterType::I32 => (self.minimum..=self.maximum).contains(&value),
        };
        let (name, unit) = (self.name.clone(), self.unit.clone());
        let (minimum, maximum) = (self.minimum, self.maximum);
        if !inside {
            return Err(ParameterError::OutOfRange {
                name,
                value,
                minimum,
                maximum,
                unit,
            });
        }
        if self.parameter_type != ParameterType::F32 && value.fract() != 0.0 {
            return Err(ParameterError::NotWhole {
                name,
                value,
                minimum,
                maximum,
                unit,
            });
        }
        Ok(match self.parameter_type {
            ParameterType::F32 => (value as f32).to_ne_bytes(),
            ParameterType::U32 => (value as u32).to_ne_bytes(),
            ParameterType::I32 => (value as i32).to_ne_bytes(),
        })
    }

    /// The value so many presses of a key away, within the range: a press adds a step, or multiplies by 1 + step where the
    /// parameter is logarithmic. A whole number changes by at least 1.
    pub fn stepped(&self, value: f64, presses: i32) -> f64 {
        let is_whole = self.parameter_type != ParameterType::F32;
        let away = if self.logarithmic {
            rounded(value * (1.0 + self.step).powi(presses))
        } else {
            on_grid(value + self.step * f64::from(presses), self.step)
        };
        let away = match is_whole {
            true if presses > 0 => away.round().max(value + 1.0),
            true if presses < 0 => away.round().min(value - 1.0),
            _ => away,
        };
        away.clamp(self.minimum, self.maximum)
    }

    /// Where a value stands within the range, 0 to 1; of a logarithmic parameter, by ratios.
    pub fn fraction(&self, value: f64) -> f64 {
        let along = |value: f64| if self.logarithmic { value.ln() } else { value };
        let (from, to) = (along(self.minimum), along(self.maximum));
        ((along(value) - from) / (to - from)).clamp(0.0, 1.0)
    }

    /// A value as people write it: the shortest number that is the same to a kernel.
    pub fn text(&self, value: f64) -> String {
        match self.parameter_type {
            ParameterType::F32 => (value as f32).to_string(),
            ParameterType::U32 | ParameterType::I32 => value.to_string(),
        }
    }

    /// `0 to 4`, with the unit where there is one.
    pub fn range_text(&self) -> String {
        let (from, to) = (self.text(self.minimum), self.text(self.maximum));
        format!("{from} to {to}{}", spaced(&self.unit))
    }

    /// The value of four bytes.
    pub fn decode(&self, bytes: [u8; 4]) -> f64 {
        match self.parameter_type {
            ParameterType::F32 => f64::from(f32::from_ne_bytes(bytes)),
            ParameterType::U32 => f64::from(u32::from_ne_bytes(bytes)),
            ParameterType::I32 => f64::from(i32::from_ne_bytes(bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn radius() -> Parameter {
        Parameter {
            name: "radius".into(),
            unit: "px".into(),
            minimum: 1.0,
            maximum: 64.0,
            default: 8.0,
            step: 1.0,
            logarithmic: false,
            parameter_type: ParameterType::U32,
        }
    }

    #[test]
    fn a_value_out_of_range_names_range_and_unit() {
        let message = radius().encode(65.0).expect_err("too large").to_string();
        assert_eq!(message, "radius = 65 is outside 1 to 64 px");
        assert!(radius().encode(f64::NAN).is_err());
    }

    #[test]
    fn an_integer_takes_no_fraction() {
        let message = radius().encode(2.5).expect_err("a fraction").to_string();
        assert_eq!(message, "radius = 2.5 is not a whole number; it takes 1 to 64 px");
    }

    #[test]
    fn presses_add_steps_and_stop_at_the_range() {
        let mut amount = radius();
        (amount.minimum, amount.maximum, amount.step) = (0.0, 4.0, 0.05);
        amount.parameter_type = ParameterType::F32;
        let press =
            |value: f64, presses| amount.decode(amount.encode(amount.stepped(value, presses)).expect("in range"));
        let mut value = 0.3;
        for expected in ["0.35", "0.4", "0.45", "0.5", "0.55"] {
            value = press(value, 1);
            assert_eq!(amount.text(value), expected);
        }
        assert_eq!(amount.text(press(value, 10)), "1.05");
        assert_eq!((press(3.9, 10), press(0.2, -10)), (4.0, 0.0));
        // A value beside the grid stays beside it.
        assert_eq!(amount.text(press(0.33, 1)), "0.38");
        // No step is lost between presses there and back.
        assert_eq!((0..40).fold(0.5, |value, _| press(value, 1)), 2.5);
        assert_eq!((0..40).fold(2.5, |value, _| press(value, -1)), 0.5);
    }

    #[test]
    fn presses_of_a_logarithmic_parameter_multiply() {
        let mut sigma = radius();
        (sigma.minimum, sigma.maximum, sigma.step, sigma.logarithmic) = (0.5, 32.0, 0.1, true);
        sigma.parameter_type = ParameterType::F32;
        assert_eq!(sigma.stepped(2.0, 1), 2.2);
        assert_eq!(sigma.stepped(2.0, 10), 5.18748);
        assert_eq!(sigma.stepped(2.2, -1), 2.0);
        assert_eq!((sigma.stepped(31.0, 1), sigma.stepped(0.51, -1)), (32.0, 0.5));
        assert!((sigma.fraction(4.0) - 0.5).abs() < 1e-12);
        // Whole numbers do not stand still.
        let mut count = radius();
        (count.step, count.logarithmic) = (0.1, true);
        assert_eq!((count.stepped(2.0, 1), count.stepped(2.0, -1)), (3.0, 1.0));
        assert_eq!(count.stepped(40.0, 1), 44.0);
    }

    #[test]
    fn what_was_read_can_be_set_again() {
        let mut softness = radius();
        (softness.minimum, softness.maximum, softness.parameter_type) = (0.01, 0.95, ParameterType::F32);
        for value in [0.01, 0.95, 0.3] {
            let bytes = softness.encode(value).expect("in range");
            assert_eq!(softness.encode(softness.decode(bytes)), Ok(bytes));
        }
    }
}
