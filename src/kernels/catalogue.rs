//! All effects, in the order a chain runs them.

use super::effect::{Binary, Effect};
use super::{SOURCES, front_matter};
use std::sync::{Arc, OnceLock};

/// All effects by stage, which is the order a chain runs them in by default, and within one by name; hidden ones last.
#[derive(Clone, Debug)]
pub struct Catalogue {
    effects: Vec<Arc<Effect>>,
}

/// A name that no effect has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no effect is called {name:?}{}; there are {}", suggestion(.nearest.as_deref()), .known.join(", "))]
pub struct UnknownEffect {
    /// The name asked for.
    pub name: String,
    /// A known name that is close to it.
    pub nearest: Option<String>,
    /// The names that are shown to users.
    pub known: Vec<String>,
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!(" (did you mean {nearest:?}?)"))
}

/// Effects that do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogueError {
    /// Two effects of one name.
    #[error("two effects are called {0:?}")]
    DuplicateName(String),
    /// Two effects on one key.
    #[error("key {key:?} is given to both {first:?} and {second:?}")]
    DuplicateKey {
        /// The key.
        key: String,
        /// One effect.
        first: String,
        /// The other.
        second: String,
    },
}

/// The effects that come with the program.
pub fn catalogue() -> &'static Arc<Catalogue> {
    static CATALOGUE: OnceLock<Arc<Catalogue>> = OnceLock::new();
    CATALOGUE.get_or_init(|| {
        let effects = SOURCES.iter().map(|source| {
            let effect = front_matter::parse(source.name, source.code).expect("the embedded kernels are tested");
            Effect {
                binary: Some(Binary::Ptx(source.ptx)),
                ..effect
            }
        });
        Arc::new(Catalogue::new(effects.collect()).expect("the embedded kernels are tested"))
    })
}

impl Catalogue {
    /// Puts effects into order.
    pub fn new(mut effects: Vec<Effect>) -> Result<Self, CatalogueError> {
        effects.sort_by_key(|effect| (effect.hidden, effect.stage, effect.name.clone()));
        for (index, effect) in effects.iter().enumerate() {
            for other in &effects[..index] {
                if other.name == effect.name {
                    return Err(CatalogueError::DuplicateName(effect.name.clone()));
                }
                if let (Some(key), true) = (&effect.key, other.key == effect.key) {
                    let (first, second) = (other.name.clone(), effect.name.clone());
                    return Err(CatalogueError::DuplicateKey {
                        key: key.clone(),
                        first,
                        second,
                    });
                }
            }
        }
        Ok(Self {
            effects: effects.into_iter().map(Arc::new).collect(),
        })
    }

    /// All effects; an effect's index here is its index everywhere.
    pub fn effects(&self) -> &[Arc<Effect>] {
        &self.effects
    }

    /// The effects shown to users, with their indices.
    pub fn visible(&self) -> impl Iterator<Item = (usize, &Arc<Effect>)> {
        self.effects.iter().enumerate().filter(|(_, effect)| !effect.hidden)
    }

    /// The effects that a key toggles, by key, with their indices.
    pub fn keyed(&self) -> impl Iterator<Item = (usize, &Arc<Effect>)> {
        let mut keyed: Vec<_> = self.visible().filter(|(_, effect)| effect.key.is_some()).collect();
        // "10" stands after "9".
        keyed.sort_by_key(|(_, effect)| effect.key.as_ref().map(|key| (key.len(), key)));
        keyed.into_iter()
    }

    /// Where the effect of that name stands; hidden ones are found too.
    pub fn index_of(&self, name: &str) -> Result<usize, UnknownEffect> {
        self.effects
            .iter()
            .position(|effect| effect.name == name)
            .ok_or_else(|| self.unknown(name))
    }

    /// The effect of that name.
    pub fn by_name(&self, name: &str) -> Result<&Arc<Effect>, UnknownEffect> {
        self.index_of(name).map(|index| &self.effects[index])
    }

    fn unknown(&self, name: &str) -> UnknownEffect {
        let known: Vec<String> = self.visible().map(|(_, effect)| effect.name.clone()).collect();
        let nearest = known
            .iter()
            .map(|candidate| (edit_distance(name, candidate), candidate))
            .min()
            .filter(|(distance, candidate)| *distance <= candidate.len() / 2)
            .map(|(_, candidate)| candidate.clone());
        UnknownEffect {
            name: name.to_owned(),
            nearest,
            known,
        }
    }
}

/// Levenshtein's distance: insertions, deletions and replacements that turn one text into the other.
fn edit_distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference;

    #[test]
    fn effects_stand_in_chain_order() {
        let names: Vec<&str> = catalogue()
            .effects()
            .iter()
            .map(|effect| effect.name.as_str())
            .collect();
        let place = |name: &str| names.iter().position(|other| *other == name).expect(name);
        let stages = ["gaussian", "bloom", "exposure", "tonemap", "sharpen", "vignette"];
        assert!(
            stages.windows(2).all(|pair| place(pair[0]) < place(pair[1])),
            "{names:?}"
        );
        let hidden = ["complement", "copy", "spin"];
        assert_eq!(names[names.len() - 3..], hidden);
        let keys: Vec<&str> = catalogue().keyed().map(|(_, effect)| effect.name.as_str()).collect();
        let by_key = [
            "exposure",
            "gaussian",
            "bloom",
            "chromatic_aberration",
            "tonemap",
            "sobel",
            "sharpen",
            "vignette",
        ];
        assert_eq!(keys, by_key);
    }

    #[test]
    fn every_entry_is_in_the_ptx_and_has_a_reference() {
        for effect in catalogue().effects() {
            let Some(Binary::Ptx(ptx)) = effect.binary else {
                panic!("{}: embedded kernels have PTX", effect.name)
            };
            for pass in effect.passes.iter().filter(|pass| pass.transform.is_none()) {
                assert!(
                    ptx.contains(&format!(".visible .entry {}(", pass.entry)),
                    "{}",
                    pass.entry
                );
                assert!(reference::of(&pass.entry).is_some(), "{}", pass.entry);
            }
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest_and_the_list() {
        let error = catalogue().index_of("blom").expect_err("unknown");
        assert_eq!(error.nearest.as_deref(), Some("bloom"));
        let message = error.to_string();
        assert!(message.starts_with("no effect is called \"blom\" (did you mean \"bloom\"?); there are "));
        assert_eq!(catalogue().index_of("zzzzzzzzzzzz").expect_err("unknown").nearest, None);
    }

    #[test]
    fn names_and_keys_are_given_once() {
        let exposure = catalogue().by_name("exposure").expect("known").as_ref().clone();
        let twice = Catalogue::new(vec![exposure.clone(), exposure.clone()]);
        assert_eq!(
            twice.expect_err("refused"),
            CatalogueError::DuplicateName("exposure".into())
        );
        let same_key = Catalogue::new(vec![
            exposure.clone(),
            Effect {
                name: "other".into(),
                ..exposure
            },
        ]);
        assert!(matches!(same_key, Err(CatalogueError::DuplicateKey { .. })));
    }
}
