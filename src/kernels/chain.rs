//! The chain a user makes of the effects: which run, in what order, with what values.

use super::catalogue::{Catalogue, UnknownEffect};
use super::parameter::ParameterError;
use super::plan::{Plan, Provided};
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
            order: (0..effects.len()).collect(),
            enabled: vec![false; effects.len()],
            solo: None,
            bypass: false,
            parameters: effects.iter().map(|effect| effect.default_parameters()).collect(),
            tables: effects
                .iter()
                .map(|effect| Some(Arc::clone(Table::of_program(effect.table()?.1))))
                .collect(),
            revision: 0,
        }
    }

    /// These effects enabled, in this order; the others follow in catalogue order, disabled. A name given twice counts
    /// once, where it comes first.
    pub fn with_enabled(catalogue: &Arc<Catalogue>, names: &[&str]) -> Result<Self, UnknownEffect> {
        let mut chain = Self::new(catalogue);
        let mut order = Vec::new();
        for name in names {
            let effect = catalogue.index_of(name)?;
            if !std::mem::replace(&mut chain.enabled[effect], true) {
                order.push(effect);
            }
        }
        let enabled = &chain.enabled;
        order.extend((0..enabled.len()).filter(|effect| !enabled[*effect]));
        chain.order = order;
        Ok(chain)
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

    /// The launches of this chain, over a scene that has guides.
    pub fn plan(&self) -> Plan {
        Plan::new(self, Provided::ALL)
    }

    /// The launches of this chain over a scene without guides: effects that need them are left out.
    pub fn plan_without_guides(&self) -> Plan {
        Plan::new(
            self,
            Provided {
                guides: false,
                ..Provided::ALL
            },
        )
    }

    /// The launches of this chain without the effects that need what is not there.
    pub fn plan_with(&self, provided: Provided) -> Plan {
        Plan::new(self, provided)
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
