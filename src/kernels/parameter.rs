//! One parameter of an effect, and its value inside the bytes a kernel is given.

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
    /// What one press of a key adds.
    pub step: f64,
    /// Whether a slider is better logarithmic.
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
    #[error("{effect} has no parameter {name:?}; it has {}", list(.known))]
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
    fn what_was_read_can_be_set_again() {
        let mut softness = radius();
        (softness.minimum, softness.maximum, softness.parameter_type) = (0.01, 0.95, ParameterType::F32);
        for value in [0.01, 0.95, 0.3] {
            let bytes = softness.encode(value).expect("in range");
            assert_eq!(softness.encode(softness.decode(bytes)), Ok(bytes));
        }
    }
}
