//! The chain a user makes of the effects: which run, in what order, with what values.

use super::catalogue::{Catalogue, UnknownEffect};
use super::effect::Effect;
use super::parameter::ParameterError;
use super::plan::{Given, Plan};
use super::table::{Table, TableError, TableFormat};
use std::path::Path;
use std::sync::Arc;

/// Which effects run, in what order, with what values. Effects are named by their catalogue index.
#[derive(Clone, Debug)]
pub struct Chain {
    catalogue: Arc<Catalogue>,
    /// Every catalogue index once.
    order: Vec<usize>,
    /// By catalogue index.
    enabled: Vec<bool>,
    solo: Option<usize>,
    bypass: bool,
    /// Parameter structs, by catalogue index.
    parameters: Vec<Vec<u8>>,
    /// By catalogue index, of the effects that have one.
    tables: Vec<Option<Arc<Table>>>,
    revision: u64,
}

/// A setting that cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettingError {
    /// Not of the form `effect.parameter`.
    #[error("{0:?} is no setting: expected EFFECT.PARAMETER, such as bloom.intensity")]
    Form(String),
    /// No such effect.
    #[error(transparent)]
    Effect(#[from] UnknownEffect),
    /// No such parameter, or a value it does not take.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A file for a setting that takes none.
    #[error("{0} takes no file")]
    NoFile(String),
    /// A file that cannot be used.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl Chain {
    /// All effects in catalogue order, none enabled, every parameter at its default.
    pub fn new(catalogue: &Arc<Catalogue>) -> Self {
        let effects = catalogue.effects();
        Self {
            catalogue: Arc::clone(catalogue),
            order: catalogue.order().to_vec(),
            enabled: vec![false; effects.len()],
            solo: None,
            bypass: false,
            parameters: effects.iter().map(|effect| effect.default_parameters()).collect(),
            tables: effects.iter().map(|effect| own_table(effect)).collect(),
            revision: 0,
        }
    }

    /// These effects enabled, in this order; the others stand disabled where the catalogue has them, before the first enabled
    /// one that the catalogue has later. A name given twice counts once, where it comes first.
    pub fn with_enabled(catalogue: &Arc<Catalogue>, names: &[&str]) -> Result<Self, UnknownEffect> {
        let mut chain = Self::new(catalogue);
        let mut order = Vec::new();
        for name in names {
            let effect = catalogue.index_of(name)?;
            if !std::mem::replace(&mut chain.enabled[effect], true) {
                order.push(effect);
            }
        }
        let rank = |effect: usize| catalogue.order().iter().position(|other| *other == effect);
        for effect in catalogue
            .order()
            .iter()
            .copied()
            .filter(|effect| !chain.enabled[*effect])
        {
            let after = |other: &usize| chain.enabled[*other] && rank(*other) > rank(effect);
            let place = order.iter().position(after).unwrap_or(order.len());
            order.insert(place, effect);
        }
        chain.order = order;
        Ok(chain)
    }

    /// Takes a catalogue that was made of this one by [`Catalogue::with`]. What is on and in what order stays; so do the values of
    /// parameters that the effect still has, where they are in range. New parameters have their defaults, and new effects are
    /// off, before the first that the catalogue has later.
    pub fn adopt(&mut self, catalogue: Arc<Catalogue>) {
        for (index, effect) in catalogue.effects().iter().enumerate() {
            let mut parameters = effect.default_parameters();
            let Some(before) = self.catalogue.effects().get(index) else {
                let rank = |effect: usize| catalogue.order().iter().position(|other| *other == effect);
                let after = |other: &usize| rank(*other) > rank(index);
                let place = self.order.iter().position(after).unwrap_or(self.order.len());
                self.order.insert(place, index);
                self.enabled.push(false);
                self.parameters.push(parameters);
                self.tables.push(own_table(effect));
                continue;
            };
            if before.id == effect.id {
                continue;
            }
            for parameter in &before.parameters {
                let value = before.get(&self.parameters[index], &parameter.name);
                // One that is gone, or has another range, has its default.
                let _ = value.and_then(|value| effect.set(&mut parameters, &parameter.name, value));
            }
            self.parameters[index] = parameters;
            if before.table() != effect.table() {
                self.tables[index] = own_table(effect);
            }
        }
        self.catalogue = catalogue;
        self.revision += 1;
    }

    /// This chain without the effects that cannot run: they are off.
    pub fn only(&self, can_run: impl Fn(&Effect) -> bool) -> Self {
        let mut chain = self.clone();
        for (index, effect) in self.catalogue.effects().iter().enumerate() {
            if !can_run(effect) {
                chain.enabled[index] = false;
                chain.bypass |= chain.solo == Some(index);
            }
        }
        chain
    }

    /// The effects this chain is made of.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// Every catalogue index, in the order they run when enabled.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Grows with each change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Enables or disables an effect. It ends a solo and a bypass, so that what was pressed is seen.
    pub fn toggle(&mut self, effect: usize) {
        self.enabled[effect] = !self.enabled[effect];
        (self.solo, self.bypass) = (None, false);
        self.revision += 1;
    }

    /// Runs this effect alone, whether it is enabled or not; again, and the others are back. It ends a bypass.
    pub fn solo(&mut self, effect: usize) {
        self.solo = if self.solo == Some(effect) { None } else { Some(effect) };
        self.bypass = false;
        self.revision += 1;
    }

    /// The effect that runs alone, if one does.
    pub fn soloed(&self) -> Option<usize> {
        self.solo
    }

    /// Runs nothing; again, and the chain is back.
    pub fn toggle_bypass(&mut self) {
        self.bypass = !self.bypass;
        self.revision += 1;
    }

    /// Whether everything is bypassed.
    pub fn is_bypassed(&self) -> bool {
        self.bypass
    }

    /// Whether the effect is switched on, whatever solo and bypass say.
    pub fn is_enabled(&self, effect: usize) -> bool {
        self.enabled[effect]
    }

    /// The names of the effects that are switched on, in their order.
    pub fn enabled_names(&self) -> Vec<&str> {
        let enabled = self.order.iter().filter(|effect| self.enabled[**effect]);
        enabled
            .map(|effect| self.catalogue.effects()[*effect].name.as_str())
            .collect()
    }

    /// The effects that run, solo and bypass considered, in their order.
    pub fn active(&self) -> Vec<usize> {
        match (self.bypass, self.solo) {
            (true, _) => Vec::new(),
            (false, Some(effect)) => vec![effect],
            (false, None) => self
                .order
                .iter()
                .copied()
                .filter(|effect| self.enabled[*effect])
                .collect(),
        }
    }

    /// Moves an effect to another place of the order; places beyond the end mean the end.
    pub fn move_to(&mut self, effect: usize, place: usize) {
        self.order.retain(|other| *other != effect);
        self.order.insert(place.min(self.order.len()), effect);
        self.revision += 1;
    }

    /// Moves an effect past so many others that are shown to users, later or (negative) earlier, as far as there are any; one
    /// that is enabled past enabled ones only, so that a press is seen. Tells whether it moved.
    pub fn move_by(&mut self, effect: usize, by: i32) -> bool {
        let counts = |other: usize| {
            let is_visible = !self.catalogue.effects()[other].hidden;
            other == effect || is_visible && (self.enabled[other] || !self.enabled[effect])
        };
        let places: Vec<usize> = (0..self.order.len())
            .filter(|place| counts(self.order[*place]))
            .collect();
        let Some(from) = places.iter().position(|place| self.order[*place] == effect) else {
            return false;
        };
        let to = from.saturating_add_signed(by as isize).min(places.len() - 1);
        if to != from {
            self.move_to(effect, places[to]);
        }
        to != from
    }

    /// The parameter struct of an effect, as its kernels are given it.
    pub fn parameters(&self, effect: usize) -> &[u8] {
        &self.parameters[effect]
    }

    /// Sets `effect.parameter`, such as `bloom.intensity`.
    pub fn set(&mut self, setting: &str, value: f64) -> Result<(), SettingError> {
        let (effect, name) = self.locate(setting)?;
        self.catalogue.effects()[effect].set(&mut self.parameters[effect], name, value)?;
        self.revision += 1;
        Ok(())
    }

    /// Reads `effect.parameter`.
    pub fn get(&self, setting: &str) -> Result<f64, SettingError> {
        let (effect, name) = self.locate(setting)?;
        Ok(self.catalogue.effects()[effect].get(&self.parameters[effect], name)?)
    }

    /// Becomes another chain, as one change.
    pub fn replace(&mut self, other: Self) {
        let revision = self.revision + 1;
        *self = Self { revision, ..other };
    }

    /// Whether `effect.name` is an effect's table, which [`Self::set_file`] fills.
    pub fn takes_file(&self, setting: &str) -> bool {
        self.locate_table(setting).is_ok()
    }

    /// Reads the table `effect.name` from a file, such as `lut.file`.
    ///
    /// # Errors
    /// No such table, or a file that holds none; nothing is changed then.
    pub fn set_file(&mut self, setting: &str, path: &Path) -> Result<(), SettingError> {
        let (effect, format) = self.locate_table(setting)?;
        self.set_table(effect, Arc::new(Table::read(format, path)?));
        Ok(())
    }

    /// The file that `effect.name` was read from; `None` as long as it is the program's own.
    ///
    /// # Errors
    /// No such table.
    pub fn file(&self, setting: &str) -> Result<Option<&Path>, SettingError> {
        let (effect, _) = self.locate_table(setting)?;
        Ok(self.tables[effect].as_ref().and_then(|table| table.path()))
    }

    /// Gives an effect another table, laid out as the effect's [`TableFormat`] says. Effects without one have no use for it.
    pub fn set_table(&mut self, effect: usize, table: Arc<Table>) {
        if let Some(place) = &mut self.tables[effect] {
            *place = table;
            self.revision += 1;
        }
    }

    /// An effect's table, if it has one.
    pub fn table(&self, effect: usize) -> Option<&Arc<Table>> {
        self.tables[effect].as_ref()
    }

    /// The launches of this chain, over a scene that has guides and is as large as it is shown.
    pub fn plan(&self) -> Plan {
        self.plan_over(Given {
            guides: true,
            scaled: false,
            transforms: true,
        })
    }

    /// The launches of this chain over such a scene.
    pub fn plan_over(&self, given: Given) -> Plan {
        Plan::new(self, given)
    }

    fn locate_table(&self, setting: &str) -> Result<(usize, TableFormat), SettingError> {
        let (effect, name) = self.locate(setting)?;
        let table = self.catalogue.effects()[effect].table();
        let (_, format) = table
            .filter(|(known, _)| *known == name)
            .ok_or_else(|| SettingError::NoFile(setting.to_owned()))?;
        Ok((effect, format))
    }

    fn locate<'a>(&self, setting: &'a str) -> Result<(usize, &'a str), SettingError> {
        let (effect, name) = setting
            .split_once('.')
            .ok_or_else(|| SettingError::Form(setting.to_owned()))?;
        Ok((self.catalogue.index_of(effect)?, name))
    }
}

/// The program's own table, for an effect that has one.
fn own_table(effect: &Effect) -> Option<Arc<Table>> {
    Some(Arc::clone(Table::of_program(effect.table()?.1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::catalogue;

    #[test]
    fn enabled_effects_run_in_the_order_given() {
        let chain = Chain::with_enabled(catalogue(), &["tonemap", "exposure", "tonemap"]).expect("known");
        assert_eq!(chain.enabled_names(), ["tonemap", "exposure"]);
        assert_eq!(chain.order().len(), catalogue().effects().len());
        assert!(Chain::with_enabled(catalogue(), &["tone_map"]).is_err());
    }

    #[test]
    fn what_is_off_stands_where_the_catalogue_has_it() {
        let chain = Chain::with_enabled(catalogue(), &["bloom", "tonemap", "vignette"]).expect("known");
        assert_eq!(chain.order(), Chain::new(catalogue()).order());
        let at = |name: &str| catalogue().index_of(name).expect(name);
        let chain = Chain::with_enabled(catalogue(), &["vignette", "bloom"]).expect("known");
        let place = |name: &str| chain.order().iter().position(|effect| *effect == at(name)).expect(name);
        // Both before the first enabled one that the catalogue has later.
        assert!(place("gaussian") < place("vignette") && place("tonemap") < place("vignette"));
        assert!(place("vignette") < place("bloom") && place("bloom") < place("copy"));
    }

    #[test]
    fn a_catalogue_is_taken_over_with_what_still_holds() {
        let mut chain = Chain::with_enabled(catalogue(), &["bloom", "vignette"]).expect("known");
        chain.set("bloom.intensity", 2.0).expect("in range");
        chain.set("bloom.threshold", 3.0).expect("in range");
        let (order, enabled) = (chain.order().to_vec(), chain.active());
        let mut bloom = Effect::clone(catalogue().by_name("bloom").expect("known"));
        bloom.id = super::super::EffectId::next();
        // The order of the parameters is another, one has a smaller range, one is gone, and one is new.
        bloom.parameters.reverse();
        bloom.parameters.retain(|parameter| parameter.name != "knee");
        for parameter in &mut bloom.parameters {
            match parameter.name.as_str() {
                "threshold" => parameter.maximum = 2.0,
                "scatter" => parameter.name = "spread".into(),
                _ => {}
            }
        }
        let (next, index) = catalogue().with(bloom).expect("goes with the others");
        let revision = chain.revision();
        chain.adopt(Arc::new(next));
        assert_eq!(chain.revision(), revision + 1);
        assert_eq!((chain.order(), chain.active()), (order.as_slice(), enabled));
        let values = ["intensity", "threshold", "spread", "limit"].map(|name| chain.get(&format!("bloom.{name}")));
        assert_eq!(values[0], Ok(2.0));
        assert_eq!(values[1..], [Ok(1.0), Ok(f64::from(0.7_f32)), Ok(64.0)]);
        assert!(chain.get("bloom.knee").is_err());
        assert_eq!(chain.parameters(index).len(), 16);
        // A new effect is off, and stands by its stage.
        let edge = Effect {
            // The first of its stage.
            name: "aa".into(),
            key: None,
            stage: crate::kernels::Stage::Denoise,
            id: super::super::EffectId::next(),
            ..Effect::clone(catalogue().by_name("sharpen").expect("known"))
        };
        let (next, edge) = chain.catalogue().with(edge).expect("goes with the others");
        chain.adopt(Arc::new(next));
        assert_eq!((chain.order()[0], chain.is_enabled(edge)), (edge, false));
        chain.toggle(edge);
        assert_eq!(chain.enabled_names(), ["aa", "bloom", "vignette"]);
        assert_eq!(
            chain.only(|effect| effect.name != "aa").enabled_names(),
            ["bloom", "vignette"]
        );
        chain.solo(edge);
        assert!(chain.only(|effect| effect.name != "aa").active().is_empty());
    }

    #[test]
    fn an_enabled_effect_moves_past_enabled_ones() {
        let at = |name: &str| catalogue().index_of(name).expect(name);
        let mut chain = Chain::with_enabled(catalogue(), &["bloom", "tonemap", "vignette"]).expect("known");
        assert!(chain.move_by(at("bloom"), 1));
        assert_eq!(chain.enabled_names(), ["tonemap", "bloom", "vignette"]);
        assert!(chain.move_by(at("bloom"), -1));
        assert!(!chain.move_by(at("bloom"), -1));
        assert_eq!(chain.enabled_names(), ["bloom", "tonemap", "vignette"]);
        assert!(chain.move_by(at("bloom"), 9));
        assert_eq!(chain.enabled_names(), ["tonemap", "vignette", "bloom"]);
        // One that is off moves past its neighbour.
        let place = |chain: &Chain| chain.order().iter().position(|effect| *effect == at("sobel"));
        let before = place(&chain);
        assert!(chain.move_by(at("sobel"), -1));
        assert_eq!(place(&chain).map(|place| place + 1), before);
        let mut all = chain.order().to_vec();
        all.sort_unstable();
        assert_eq!(all, Vec::from_iter(0..all.len()));
    }

    #[test]
    fn solo_twice_and_bypass_twice_restore() {
        let mut chain = Chain::with_enabled(catalogue(), &["exposure", "bloom"]).expect("known");
        let before = chain.active();
        chain.solo(4);
        assert_eq!(chain.active(), [4]);
        chain.toggle_bypass();
        assert!(chain.active().is_empty());
        chain.toggle_bypass();
        chain.solo(4);
        assert_eq!(chain.active(), before);
        chain.toggle_bypass();
        chain.toggle(before[0]);
        assert_eq!(chain.active(), before[1..]);
    }

    #[test]
    fn a_table_is_read_from_its_file_and_a_bad_one_changes_nothing() {
        let mut chain = Chain::with_enabled(catalogue(), &["lut"]).expect("known");
        let own = chain.plan().tables[0].clone();
        assert_eq!(chain.file("lut.file"), Ok(None));
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/lut.cube");
        chain.set_file("lut.file", &path).expect("is a table");
        assert_eq!(
            (chain.revision(), chain.file("lut.file")),
            (1, Ok(Some(path.as_path())))
        );
        let read = chain.plan().tables[0].clone();
        assert!(read != own && read.bytes().len() == 16 * (3 + 343));
        assert!(matches!(
            chain.set_file("lut.file", Path::new("Cargo.toml")),
            Err(SettingError::Table(_))
        ));
        let refused = chain.set_file("lut.intensity", &path).expect_err("is a number");
        assert_eq!(refused.to_string(), "lut.intensity takes no file");
        assert!(chain.takes_file("lut.file") && !chain.takes_file("bloom.file"));
        assert_eq!((chain.revision(), chain.plan().tables[0].clone()), (1, read));
    }

    #[test]
    fn every_change_raises_the_revision_and_an_error_does_not() {
        let mut chain = Chain::new(catalogue());
        let mut last = chain.revision();
        let changes: [fn(&mut Chain); 5] = [
            |chain| chain.toggle(0),
            |chain| chain.solo(1),
            |chain| chain.toggle_bypass(),
            |chain| chain.set("bloom.intensity", 1.5).expect("in range"),
            |chain| chain.move_to(0, 3),
        ];
        for change in changes {
            change(&mut chain);
            assert!(chain.revision() > last);
            last = chain.revision();
        }
        assert_eq!(chain.get("bloom.intensity"), Ok(1.5));
        assert!(chain.set("bloom.intensity", -1.0).is_err());
        assert!(chain.set("bloom", 1.0).is_err());
        assert!(chain.set("bloom.glow", 1.0).is_err());
        assert_eq!((chain.revision(), chain.get("bloom.intensity")), (last, Ok(1.5)));
    }
}
