//! All effects, in the order a chain runs them.

use super::effect::{Binary, Effect, Stage};
use super::nearest::nearest;
use super::{SOURCES, front_matter};
use std::sync::{Arc, OnceLock};

/// All effects. Those that come together stand by stage, and within one by name; hidden ones last.
#[derive(Clone, Debug)]
pub struct Catalogue {
    effects: Vec<Arc<Effect>>,
    /// Indices in the order that a chain runs them in by default.
    order: Vec<usize>,
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

/// What effects are sorted by.
fn place(effect: &Effect) -> (bool, Stage, String) {
    (effect.hidden, effect.stage, effect.name.clone())
}

impl Catalogue {
    /// Puts effects into order.
    pub fn new(mut effects: Vec<Effect>) -> Result<Self, CatalogueError> {
        effects.sort_by_key(place);
        Self::of(effects.into_iter().map(Arc::new).collect())
    }

    /// This catalogue with another effect: in the place of the one of its name, or as the last. All others keep their indices, and
    /// who counts by index goes on. Gives the effect's index too.
    ///
    /// # Errors
    /// Its key is another effect's.
    pub fn with(&self, effect: Effect) -> Result<(Self, usize), CatalogueError> {
        let mut effects = self.effects.clone();
        let index = match effects.iter().position(|other| other.name == effect.name) {
            Some(index) => {
                effects[index] = Arc::new(effect);
                index
            }
            None => {
                effects.push(Arc::new(effect));
                effects.len() - 1
            }
        };
        Ok((Self::of(effects)?, index))
    }

    fn of(effects: Vec<Arc<Effect>>) -> Result<Self, CatalogueError> {
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
        let mut order: Vec<usize> = (0..effects.len()).collect();
        order.sort_by_key(|index| place(&effects[*index]));
        Ok(Self { effects, order })
    }

    /// Indices in the order that a chain runs them in by default: by stage, and within one by name; hidden ones last.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// All effects; an effect's index here is its index everywhere.
    pub fn effects(&self) -> &[Arc<Effect>] {
        &self.effects
    }

    /// The effects shown to users, with their indices, in the default order.
    pub fn visible(&self) -> impl Iterator<Item = (usize, &Arc<Effect>)> {
        let all = self.order.iter().map(|index| (*index, &self.effects[*index]));
        all.filter(|(_, effect)| !effect.hidden)
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
        UnknownEffect {
            name: name.to_owned(),
            nearest: nearest(name, known.iter().map(String::as_str)).map(str::to_owned),
            known,
        }
    }
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
        let hidden = ["enlarge", "complement", "copy", "spin"];
        assert_eq!(names[names.len() - 4..], hidden);
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
    fn every_effect_of_the_program_says_what_it_is() {
        for effect in catalogue().effects() {
            let texts = [
                &effect.title,
                &effect.summary,
                &effect.source,
                &effect.alpha,
                &effect.broken_pixels,
            ];
            let why = &effect.tolerance.why;
            assert!(
                texts.into_iter().chain([why]).all(|text| !text.is_empty()),
                "{}",
                effect.name
            );
        }
    }

    #[test]
    fn another_effect_moves_no_index() {
        let edge = Effect {
            // The first of its stage.
            name: "aa".into(),
            key: None,
            stage: Stage::Denoise,
            ..Effect::clone(catalogue().by_name("bloom").expect("known"))
        };
        let (more, index) = catalogue().with(edge.clone()).expect("goes with the others");
        assert_eq!((index, more.effects().len()), (catalogue().effects().len(), index + 1));
        assert_eq!(more.order()[0], index);
        assert_eq!(more.effects()[..index], *catalogue().effects());
        // The same name again: another effect in its place, wherever that stands in the order then.
        let later = Effect {
            stage: Stage::Inspect,
            ..edge.clone()
        };
        let (replaced, same) = more.with(later).expect("goes with the others");
        assert_eq!((same, replaced.effects().len()), (index, more.effects().len()));
        let place = |catalogue: &Catalogue| catalogue.order().iter().position(|other| *other == index);
        assert!(place(&replaced) > place(&more));
        let taken = Effect {
            key: Some("3".into()),
            ..edge
        };
        assert!(matches!(
            catalogue().with(taken),
            Err(CatalogueError::DuplicateKey { .. })
        ));
    }

    /// The table of all effects in Markdown: the one in docs/kernels.md.
    fn table() -> String {
        let mut rows =
            String::from("| stage | effect | key | what it does | parameters | from |\n|---|---|---|---|---|---|\n");
        for index in catalogue().order() {
            let effect = &catalogue().effects()[*index];
            if effect.hidden {
                continue;
            }
            let parameters = effect.parameters.iter().map(|parameter| {
                let [minimum, maximum, default] =
                    [parameter.minimum, parameter.maximum, parameter.default].map(|value| parameter.text(value));
                let unit = if parameter.unit.is_empty() { "" } else { " " };
                let unit = format!("{unit}{}", parameter.unit);
                format!("`{}` {minimum} to {maximum}{unit}, default {default}", parameter.name)
            });
            let files = effect.table().map(|(name, _)| format!("`{name}` a `.cube` file"));
            let parameters: Vec<String> = parameters.chain(files).collect();
            let stage = format!("{:?}", effect.stage);
            let words = stage.char_indices().map(|(at, letter)| match letter {
                'A'..='Z' if at > 0 => format!(" {}", letter.to_ascii_lowercase()),
                _ => letter.to_ascii_lowercase().to_string(),
            });
            let cells = [
                words.collect(),
                format!("`{}`", effect.name),
                effect.key.clone().unwrap_or_default(),
                effect.summary.clone(),
                parameters.join("; "),
                effect.source.clone(),
            ];
            rows += &format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "));
        }
        rows
    }

    #[test]
    fn the_page_on_kernels_has_every_effect_as_it_is() {
        let page = include_str!("../../docs/kernels.md");
        let (_, rest) = page
            .split_once("<!-- effects -->\n")
            .expect("docs/kernels.md has <!-- effects -->");
        let (found, _) = rest
            .split_once("<!-- /effects -->")
            .expect("docs/kernels.md has <!-- /effects -->");
        let table = table();
        assert!(
            found == table,
            "docs/kernels.md: the table of effects is to be\n{table}"
        );
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
