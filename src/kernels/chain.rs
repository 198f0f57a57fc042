//! The chain a user makes of the effects: which run, in what order, with what values.

use super::catalogue::{Catalogue, UnknownEffect};
use super::effect::Effect;
use super::parameter::ParameterError;
use super::plan::{FusedKernels, Given, Plan};
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
        Plan::new(self, given, &|_| None)
    }

    /// The launches of this chain over such a scene. Neighbours of which each makes a texel of one, and for which there is a kernel,
    /// are one launch.
    pub fn plan_fused(&self, given: Given, kernels: &FusedKernels) -> Plan {
        Plan::new(self, given, kernels)
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
#[path = "chain_tests.rs"]
mod tests;
