//! Presets: a chain as a TOML file, which says what is on, in what order, and what differs from the defaults.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Chain;
use super::nearest::did_you_mean;
use super::parameter::ParameterType;

/// A preset as its file has it.
#[derive(Clone, Debug)]
pub struct Preset {
    /// For people: what it is for.
    pub title: Option<String>,
    /// What it makes.
    pub chain: Chain,
}

/// A file that is no preset. The message names the file, the line, what is wrong there and what is expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct PresetError {
    /// The file's name.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// The keys of the file.
const KEYS: [&str; 4] = ["title", "effects", "order", "parameters"];

/// The file as it is written.
#[derive(serde::Serialize)]
struct Written<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    effects: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<&'a str, BTreeMap<&'a str, toml::Value>>,
}

/// A text with the place that a message is about.
struct Place {
    at: Range<usize>,
    message: String,
}

fn wrong<T>(at: Range<usize>, message: impl Into<String>) -> Result<T, Place> {
    Err(Place {
        at,
        message: message.into(),
    })
}

impl Preset {
    /// Reads a preset of the effects that `like` has. `file` is the name for messages.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn read(file: &str, text: &str, like: &Chain) -> Result<Self, PresetError> {
        let parsed = DeTable::parse(text).map_err(|error| Place {
            at: error.span().unwrap_or_default(),
            message: error.message().to_owned(),
        });
        parsed
            .and_then(|table| Self::from_table(table.get_ref(), like))
            .map_err(|Place { at, message }| PresetError {
                file: file.to_owned(),
                line: 1 + text[..at.start.min(text.len())].matches('\n').count(),
                message,
            })
    }

    /// The file of a chain: solo and bypass are not in it, nor parameters that have their defaults.
    pub fn write(chain: &Chain, title: Option<&str>) -> String {
        let effects = chain.enabled_names();
        let all = chain.catalogue().effects();
        let counts = |index: &usize| !all[*index].hidden || chain.is_enabled(*index);
        let order = |chain: &Chain| Vec::from_iter(chain.order().iter().copied().filter(counts));
        let by_default = Chain::with_enabled(chain.catalogue(), &effects).map(|chain| order(&chain));
        let is_default = by_default.is_ok_and(|by_default| by_default == order(chain));
        let mut parameters = BTreeMap::new();
        for (index, effect) in all.iter().enumerate() {
            let changed = effect.parameters.iter().filter_map(|parameter| {
                let value = effect.get(chain.parameters(index), &parameter.name).ok()?;
                let encoded = parameter.encode(value).ok()?;
                let is_changed = parameter.encode(parameter.default).ok()? != encoded;
                let written = match parameter.parameter_type {
                    // The shortest number, not the float's exact one.
                    ParameterType::F32 => toml::Value::Float(parameter.text(value).parse().ok()?),
                    ParameterType::U32 | ParameterType::I32 => toml::Value::Integer(value as i64),
                };
                is_changed.then_some((parameter.name.as_str(), written))
            });
            let mut changed: BTreeMap<_, _> = changed.collect();
            if let (Some((name, _)), Some(path)) = (effect.table(), chain.table(index).and_then(|table| table.path())) {
                // As it is found from any folder.
                let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
                changed.insert(name, toml::Value::String(path.display().to_string()));
            }
            if !changed.is_empty() {
                parameters.insert(effect.name.as_str(), changed);
            }
        }
        let names = |order: Vec<usize>| order.into_iter().map(|index| all[index].name.as_str()).collect();
        let written = Written {
            title,
            effects,
            order: (!is_default).then(|| names(order(chain))),
            parameters,
        };
        toml::to_string(&written).expect("tables of texts and numbers can be written")
    }

    fn from_table(table: &DeTable<'_>, like: &Chain) -> Result<Self, Place> {
        for key in table.keys() {
            if !KEYS.contains(&key.get_ref().as_ref()) {
                let (name, known) = (key.get_ref(), KEYS.join(", "));
                let meant = did_you_mean(name, &KEYS);
                return wrong(
                    key.span(),
                    format!("a preset has no key {name:?}{meant}; it has {known}"),
                );
            }
        }
        let title = table
            .get("title")
            .map(|title| text_of(title, "the title"))
            .transpose()?;
        let effects = match table.get("effects") {
            Some(effects) => names_of(effects, "effects", like)?,
            None => {
                return wrong(
                    0..0,
                    "expected effects = [ … ]: the names of those that are on, in their order",
                );
            }
        };
        let order = table
            .get("order")
            .map(|order| names_of(order, "order", like))
            .transpose()?;
        let enabled: Vec<&str> = effects.iter().map(|(name, _)| name.as_str()).collect();
        let mut chain = Chain::with_enabled(like.catalogue(), &enabled).expect("the names are known");
        if let Some(order) = order {
            let place = |name: &str| order.iter().position(|(other, _)| other == name);
            let mut places = Vec::new();
            for (name, at) in &effects {
                match place(name) {
                    Some(place) => places.push(place),
                    None => return wrong(at.clone(), format!("{name:?} is in effects and not in order")),
                }
            }
            if let Some(two) = places.windows(2).position(|two| two[0] > two[1]) {
                let ((first, _), (second, at)) = (&effects[two], &effects[two + 1]);
                let message =
                    format!("effects has {first:?} before {second:?}, and order has them the other way round");
                return wrong(at.clone(), message);
            }
            for (place, (name, _)) in order.iter().enumerate() {
                chain.move_to(chain.catalogue().index_of(name).expect("the names are known"), place);
            }
        }
        if let Some(parameters) = table.get("parameters") {
            set_all(&mut chain, parameters)?;
        }
        Ok(Self {
            title: title.map(str::to_owned),
            chain,
        })
    }
}

fn text_of<'a>(value: &'a Spanned<DeValue<'_>>, what: &str) -> Result<&'a str, Place> {
    match value.get_ref().as_str() {
        Some(text) => Ok(text),
        None => wrong(
            value.span(),
            format!("expected {what} as a text, found {}", value.get_ref().type_str()),
        ),
    }
}

/// Names of effects, each once.
fn names_of(list: &Spanned<DeValue<'_>>, key: &str, like: &Chain) -> Result<Vec<(String, Range<usize>)>, Place> {
    let Some(items) = list.get_ref().as_array() else {
        let found = list.get_ref().type_str();
        return wrong(
            list.span(),
            format!("expected {key} = [ … ], a list of effects, found {found}"),
        );
    };
    let mut names: Vec<(String, Range<usize>)> = Vec::new();
    for item in items.iter() {
        let name = text_of(item, "the name of an effect")?;
        if let Err(unknown) = like.catalogue().index_of(name) {
            return wrong(item.span(), unknown.to_string());
        }
        if names.iter().any(|(other, _)| other == name) {
            return wrong(item.span(), format!("{key} names {name:?} twice"));
        }
        names.push((name.to_owned(), item.span()));
    }
    Ok(names)
}

/// Sets what `[parameters.EFFECT]` names.
fn set_all(chain: &mut Chain, parameters: &Spanned<DeValue<'_>>) -> Result<(), Place> {
    let table = |value: &Spanned<DeValue<'_>>, form: &str| match value.get_ref() {
        DeValue::Table(_) => Ok(()),
        other => wrong(value.span(), format!("expected {form}, found {}", other.type_str())),
    };
    table(parameters, "[parameters.EFFECT] with PARAMETER = VALUE")?;
    for (effect, settings) in parameters.get_ref().as_table().into_iter().flat_map(DeTable::iter) {
        if let Err(unknown) = chain.catalogue().index_of(effect.get_ref()) {
            return wrong(effect.span(), unknown.to_string());
        }
        table(
            settings,
            &format!("[parameters.{}] with PARAMETER = VALUE", effect.get_ref()),
        )?;
        for (parameter, value) in settings.get_ref().as_table().into_iter().flat_map(DeTable::iter) {
            let setting = format!("{}.{}", effect.get_ref(), parameter.get_ref());
            if chain.takes_file(&setting) {
                let path = Path::new(text_of(value, "the path of a file")?);
                chain.set_file(&setting, path).map_err(|error| Place {
                    at: value.span(),
                    message: error.to_string(),
                })?;
                continue;
            }
            let Some(number) = number(value.get_ref()) else {
                let (name, found) = (parameter.get_ref(), value.get_ref().type_str());
                return wrong(value.span(), format!("expected a number for {name}, found {found}"));
            };
            chain.set(&setting, number).map_err(|error| Place {
                at: parameter.span(),
                message: error.to_string(),
            })?;
        }
    }
    Ok(())
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(whole) => i64::from_str_radix(whole.as_str(), whole.radix())
            .ok()
            .map(|whole| whole as f64),
        DeValue::Float(float) => float.as_str().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
#[path = "preset_tests.rs"]
mod tests;
