//! The chain of a running view, as keys change it: what is on, in what order, with what values.

use std::sync::Arc;
use std::time::Instant;

use crate::app::Action;
use crate::kernels::{Catalogue, Chain, Effect, Parameter};
use crate::overlay::{Chosen, ChosenParameter};

use super::presets::Presets;

/// The chain, and which of its effects and parameters keys change. These are kept by name: what the names stand for can change
/// while the view runs.
pub(crate) struct Tuning {
    chain: Chain,
    presets: Presets,
    /// The effect that is chosen.
    effect: Option<String>,
    /// The parameter of it that is chosen.
    parameter: Option<String>,
    /// When it was last chosen or changed.
    touched_at: Option<Instant>,
}

impl Tuning {
    /// Nothing chosen yet.
    pub fn new(chain: Chain, presets: Presets) -> Self {
        Self {
            chain,
            presets,
            effect: None,
            parameter: None,
            touched_at: None,
        }
    }

    /// The chain as it is now.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Takes effects over that were made while the view runs, and switches some of them on.
    pub fn adopt(&mut self, catalogue: Arc<Catalogue>, switch_on: &[String]) {
        self.chain.adopt(catalogue);
        for name in switch_on {
            if let Ok(effect) = self.chain.catalogue().index_of(name)
                && !self.chain.is_enabled(effect)
            {
                self.chain.toggle(effect);
            }
        }
        if !switch_on.is_empty() {
            self.say_effects();
        }
    }

    /// Does what concerns effects, and says in the log what came of it. The chain's revision tells whether it changed.
    pub fn act(&mut self, action: Action) {
        match action {
            Action::ToggleEffect(place) => self.switch(place, Chain::toggle),
            Action::SoloEffect(place) => self.switch(place, Chain::solo),
            Action::BypassAll => {
                self.chain.toggle_bypass();
                self.say_effects();
            }
            Action::ChooseEffect(by) => self.choose_effect(by),
            Action::ToggleChosen => self.toggle_chosen(),
            Action::MoveChosen(by) => self.move_chosen(by),
            Action::ChooseParameter(by) => self.choose_parameter(by),
            Action::ChangeParameter(steps) => {
                self.change(|parameter, value| parameter.stepped(value, steps));
            }
            Action::ResetParameter => self.change(|parameter, _| parameter.default),
            Action::SwitchPreset(by) => self.switch_preset(by),
            Action::SavePreset => self.save_preset(),
            // The view's and the window's.
            Action::ToggleCapture
            | Action::SwitchScene(_)
            | Action::ToggleOverlay
            | Action::HideAll
            | Action::Screenshot
            | Action::ToggleFullscreen
            | Action::Pause
            | Action::StepFrame
            | Action::ResetCamera
            | Action::Help
            | Action::Quit => {}
        }
    }

    /// The effects that run, in their order.
    pub fn effects_text(&self) -> String {
        let names: Vec<_> = self
            .chain
            .active()
            .into_iter()
            .map(|effect| self.effect_of(effect).name.as_str())
            .collect();
        if names.is_empty() {
            "none".into()
        } else {
            names.join(", ")
        }
    }

    /// What is chosen, for a title: `bloom.intensity = 0.5 (0 to 4)`, or the effect alone.
    pub fn chosen_text(&self) -> Option<String> {
        let effect = self.chosen()?;
        Some(match self.chosen_parameter(effect) {
            Some(parameter) => self.parameter_text(effect, parameter),
            None => self.effect_text(effect),
        })
    }

    /// When something was last chosen or changed.
    pub fn touched_at(&self) -> Option<Instant> {
        self.touched_at
    }

    /// What the overlay shows of the chosen effect.
    pub fn panel(&self) -> Option<Chosen> {
        let index = self.chosen()?;
        let effect = self.effect_of(index);
        let running = self.chain.active();
        let parameters = effect.parameters.iter().map(|parameter| {
            let value = self.value(index, parameter);
            ChosenParameter {
                name: parameter.name.clone(),
                value: parameter.text(value),
                range: parameter.range_text(),
                fraction: parameter.fraction(value) as f32,
                is_chosen: self.parameter.as_deref() == Some(parameter.name.as_str()),
            }
        });
        Some(Chosen {
            effect: effect.name.clone(),
            title: effect.title.clone(),
            place: running.iter().position(|other| *other == index).map(|place| place + 1),
            count: running.len(),
            parameters: parameters.collect(),
        })
    }

    fn effect_of(&self, index: usize) -> &Effect {
        &self.chain.catalogue().effects()[index]
    }

    fn value(&self, effect: usize, parameter: &Parameter) -> f64 {
        let value = self
            .effect_of(effect)
            .get(self.chain.parameters(effect), &parameter.name);
        value.unwrap_or(parameter.default)
    }

    /// The catalogue index of the chosen effect, while there is one of its name.
    fn chosen(&self) -> Option<usize> {
        self.chain.catalogue().index_of(self.effect.as_deref()?).ok()
    }

    fn chosen_parameter(&self, effect: usize) -> Option<&Parameter> {
        let name = self.parameter.as_deref()?;
        let mut parameters = self.effect_of(effect).parameters.iter();
        parameters.find(|parameter| parameter.name == name)
    }

    fn choose(&mut self, effect: usize, parameter: Option<usize>) {
        let chosen = self.effect_of(effect);
        let names = parameter.map(|index| chosen.parameters[index].name.clone());
        (self.effect, self.parameter) = (Some(chosen.name.clone()), names);
        self.touched_at = Some(Instant::now());
    }

    fn say_effects(&self) {
        tracing::info!("effects: {}", self.effects_text());
    }

    /// Switches the effect of a key, which is then the chosen one.
    fn switch(&mut self, place: usize, switch: fn(&mut Chain, usize)) {
        let keyed = self.chain.catalogue().keyed().nth(place).map(|(index, _)| index);
        let Some(effect) = keyed else {
            tracing::info!("no effect is on key {}", place + 1);
            return;
        };
        switch(&mut self.chain, effect);
        let name = self.effect_of(effect).name.clone();
        if self.effect.as_ref() != Some(&name) {
            (self.effect, self.parameter) = (Some(name), None);
        }
        self.say_effects();
    }

    fn choose_effect(&mut self, by: i32) {
        let is_visible = |effect: &usize| !self.effect_of(*effect).hidden;
        let visible: Vec<usize> = self.chain.order().iter().copied().filter(is_visible).collect();
        let now = self
            .chosen()
            .and_then(|chosen| visible.iter().position(|effect| *effect == chosen));
        let next = visible[along_ring(now, by, visible.len())];
        self.choose(next, self.first_parameter(next));
        tracing::info!("chosen: {}", self.effect_text(next));
    }

    /// The parameter that is chosen with an effect: none of one that does not run, whose change would not be seen.
    fn first_parameter(&self, effect: usize) -> Option<usize> {
        (self.chain.active().contains(&effect) && !self.effect_of(effect).parameters.is_empty()).then_some(0)
    }

    fn toggle_chosen(&mut self) {
        let Some(effect) = self.chosen_or_say() else { return };
        self.chain.toggle(effect);
        self.choose(effect, self.first_parameter(effect));
        self.say_effects();
    }

    fn move_chosen(&mut self, by: i32) {
        let Some(effect) = self.chosen_or_say() else { return };
        self.touched_at = Some(Instant::now());
        if !self.chain.move_by(effect, by) {
            let end = if by < 0 { "first" } else { "last" };
            tracing::info!("{} is the {end} already", self.effect_of(effect).name);
        } else if self.chain.is_enabled(effect) {
            self.say_effects();
        } else {
            tracing::info!("moved: {}", self.effect_text(effect));
        }
    }

    fn chosen_or_say(&self) -> Option<usize> {
        let chosen = self.chosen();
        if chosen.is_none() {
            tracing::info!("no effect is chosen: J and K choose one");
        }
        chosen
    }

    fn choose_parameter(&mut self, by: i32) {
        let all: Vec<(usize, usize)> = self
            .chain
            .active()
            .into_iter()
            .flat_map(|effect| (0..self.effect_of(effect).parameters.len()).map(move |parameter| (effect, parameter)))
            .collect();
        if all.is_empty() {
            tracing::info!("no effect that runs has a parameter: {}", self.effects_text());
            return;
        }
        let chosen = self.chosen();
        let is_chosen = |(effect, parameter): &(usize, usize)| {
            let name = &self.effect_of(*effect).parameters[*parameter].name;
            Some(*effect) == chosen && self.parameter.as_ref() == Some(name)
        };
        let next = match all.iter().position(is_chosen) {
            Some(now) => along_ring(Some(now), by, all.len()),
            // The chosen effect's own come first.
            None => {
                let of_chosen = |(effect, _): &(usize, usize)| Some(*effect) == chosen;
                let own = if by < 0 {
                    all.iter().rposition(of_chosen)
                } else {
                    all.iter().position(of_chosen)
                };
                own.unwrap_or_else(|| along_ring(None, by, all.len()))
            }
        };
        let (effect, parameter) = all[next];
        self.choose(effect, Some(parameter));
        tracing::info!(
            "chosen: {}",
            self.parameter_text(effect, &self.effect_of(effect).parameters[parameter])
        );
    }

    fn change(&mut self, to: impl FnOnce(&Parameter, f64) -> f64) {
        let chosen = self
            .chosen()
            .and_then(|effect| Some((effect, self.chosen_parameter(effect)?.clone())));
        let Some((effect, parameter)) = chosen else {
            tracing::info!("no parameter is chosen: [ and ] choose one of the effects that are on");
            return;
        };
        self.touched_at = Some(Instant::now());
        let before = self.value(effect, &parameter);
        let value = to(&parameter, before);
        let setting = format!("{}.{}", self.effect_of(effect).name, parameter.name);
        if value == before {
            tracing::info!("{} stays", self.parameter_text(effect, &parameter));
            return;
        }
        match self.chain.set(&setting, value) {
            Ok(()) => tracing::info!("{}", self.parameter_text(effect, &parameter)),
            Err(error) => tracing::error!("{error}"),
        }
    }

    /// `bloom.intensity = 0.5 (0 to 4)`
    fn parameter_text(&self, effect: usize, parameter: &Parameter) -> String {
        let (name, value) = (&self.effect_of(effect).name, self.value(effect, parameter));
        format!(
            "{name}.{} = {} ({})",
            parameter.name,
            parameter.text(value),
            parameter.range_text()
        )
    }

    /// `bloom (on, 1 of 4)`, `sobel (off, before vignette)`
    fn effect_text(&self, effect: usize) -> String {
        let (name, running) = (&self.effect_of(effect).name, self.chain.active());
        if let Some(place) = running.iter().position(|other| *other == effect) {
            return format!("{name} (on, {} of {})", place + 1, running.len());
        }
        let order = self.chain.order();
        let after = order.iter().skip_while(|other| **other != effect).skip(1);
        let next = after.copied().find(|other| running.contains(other));
        let next = next.map_or_else(String::new, |next| format!(", before {}", self.effect_of(next).name));
        let state = if self.chain.is_enabled(effect) {
            "on, and bypassed"
        } else {
            "off"
        };
        format!("{name} ({state}{next})")
    }

    fn switch_preset(&mut self, by: i32) {
        if let Some(chain) = self.presets.switch(by, &self.chain) {
            self.chain.replace(chain);
            self.say_effects();
        }
    }

    fn save_preset(&mut self) {
        match self.presets.save_next(&self.chain) {
            Ok(path) => tracing::info!("preset: {}", path.display()),
            Err(error) => tracing::error!("no preset: {error}"),
        }
    }
}

/// So many places further on a ring; from nowhere, to its one end or the other.
pub(super) fn along_ring(from: Option<usize>, by: i32, length: usize) -> usize {
    let from = from.map_or(if by < 0 { 0 } else { -1 }, |place| place as i64);
    (from + i64::from(by)).rem_euclid(length as i64) as usize
}

#[cfg(test)]
#[path = "tuning_tests.rs"]
mod tests;
