//! How exact an effect is.

/// How far a processor's result may be from the CPU reference. A channel passes if any of the three bounds holds.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// Steps between neighbouring halves.
    #[serde(default)]
    pub ulps: u32,
    /// Largest difference.
    #[serde(default)]
    pub absolute: f32,
    /// Largest difference as a share of the expected value.
    #[serde(default)]
    pub relative: f32,
    /// Why it is not zero, or why it is.
    pub why: String,
}

impl Tolerance {
    /// For a chain of effects of which none decides by a threshold: twice what all of them may be off together, since each can make
    /// somewhat more of what the one before was off.
    pub fn of_chain<'a>(effects: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self {
            why: "twice the sum of the effects'".into(),
            ..Self::default()
        };
        for tolerance in effects {
            sum.ulps += 2 * tolerance.ulps;
            sum.absolute += 2.0 * tolerance.absolute;
            sum.relative += 2.0 * tolerance.relative;
        }
        sum
    }
}
