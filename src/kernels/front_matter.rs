//! Reads a kernel file's front matter: the TOML between `/*---` and `---*/` at its head.

use super::effect::{Effect, Guide, PassDescription, PassImage, Stage, Tolerance};
use super::parameter::{Parameter, ParameterType};
use std::collections::HashMap;

/// Front matter that cannot be used. The message names the file, the place, and what is expected there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {message}")]
pub struct FrontMatterError {
    /// The kernel file's name.
    pub file: String,
    /// Where and what.
    pub message: String,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontMatter {
    title: String,
    summary: String,
    source: String,
    alpha: String,
    broken_pixels: String,
    stage: Stage,
    key: Option<String>,
    #[serde(default)]
    hidden: bool,
    #[serde(default)]
    guides: Vec<Guide>,
    tolerance: Tolerance,
    #[serde(default)]
    parameters: Vec<Parameter>,
    passes: Vec<PassText>,
}

/// A pass as it is written: images by name.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct PassText {
    entry: String,
    source: String,
    second: Option<String>,
    destination: String,
    divisor: Option<u32>,
    block: [u32; 2],
}

/// Makes an effect of a kernel file's text. `name` is the file's stem; the effect has no PTX yet.
pub fn parse(name: &str, code: &str) -> Result<Effect, FrontMatterError> {
    let error = |message: String| FrontMatterError {
        file: format!("{name}.cu"),
        message,
    };
    let block = code
        .strip_prefix("/*---")
        .and_then(|rest| rest.split_once("---*/"))
        .map(|(block, _)| block)
        .ok_or_else(|| error("line 1: expected front matter, TOML between /*--- and ---*/".into()))?;
    // The block begins after `/*---` on the file's first line, so TOML's line numbers are the file's.
    let text: FrontMatter = toml::from_str(block).map_err(|toml| {
        let line = toml
            .span()
            .map_or(1, |span| block[..span.start].matches('\n').count() + 1);
        error(format!("line {line}: {}", toml.message()))
    })?;
    for parameter in &text.parameters {
        if text
            .parameters
            .iter()
            .filter(|other| other.name == parameter.name)
            .count()
            > 1
        {
            return Err(error(format!("parameter {:?} is given twice", parameter.name)));
        }
        check_parameter(parameter).map_err(|message| error(format!("parameter {:?}: {message}", parameter.name)))?;
    }
    Ok(Effect {
        name: name.to_owned(),
        passes: resolve(name, &text.passes).map_err(error)?,
        title: text.title,
        summary: text.summary,
        source: text.source,
        stage: text.stage,
        key: text.key,
        hidden: text.hidden,
        alpha: text.alpha,
        broken_pixels: text.broken_pixels,
        parameters: text.parameters,
        guides: text.guides,
        tolerance: text.tolerance,
        code: code.to_owned(),
        ptx: None,
    })
}

fn check_parameter(parameter: &Parameter) -> Result<(), String> {
    let Parameter {
        minimum,
        maximum,
        default,
        step,
        ..
    } = *parameter;
    let (low, high) = match parameter.parameter_type {
        ParameterType::F32 => (f64::from(f32::MIN), f64::from(f32::MAX)),
        ParameterType::U32 => (0.0, f64::from(u32::MAX)),
        ParameterType::I32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
    };
    if !(low <= minimum && minimum < maximum && maximum <= high) {
        return Err(format!(
            "expected {low} <= minimum < maximum <= {high}, found {minimum} and {maximum}"
        ));
    }
    if step.is_nan() || step <= 0.0 {
        return Err(format!("expected a step above 0, found {step}"));
    }
    if parameter.logarithmic && minimum <= 0.0 {
        return Err(format!(
            "expected a minimum above 0 for a logarithmic parameter, found {minimum}"
        ));
    }
    parameter
        .encode(default)
        .map(drop)
        .map_err(|error| format!("default: {error}"))
}

/// Turns image names into images: each is written by one pass, before it is read.
fn resolve(name: &str, passes: &[PassText]) -> Result<Vec<PassDescription>, String> {
    let mut scratch: HashMap<&str, PassImage> = HashMap::new();
    let mut resolved = Vec::new();
    for (index, pass) in passes.iter().enumerate() {
        let last = index + 1 == passes.len();
        let place = format!("pass {} ({})", index + 1, pass.entry);
        if !pass.entry.starts_with(name) {
            return Err(format!("{place}: expected an entry that starts with {name:?}"));
        }
        if pass.block.contains(&0) || pass.block[0].saturating_mul(pass.block[1]) > 1024 {
            return Err(format!(
                "{place}: expected a block of 1 to 1024 threads, found {:?}",
                pass.block
            ));
        }
        let read = |image: &str| match image {
            "input" => Ok(PassImage::Input),
            _ => scratch.get(image).copied().ok_or_else(|| {
                format!("{place}: reads {image:?}; expected \"input\" or an image that an earlier pass writes")
            }),
        };
        let source = read(&pass.source)?;
        let second = pass.second.as_deref().map(read).transpose()?;
        let destination = match pass.destination.as_str() {
            "input" => return Err(format!("{place}: expected a destination other than \"input\"")),
            "output" if !last => return Err(format!("{place}: only the last pass writes \"output\"")),
            "output" if pass.divisor.is_some() => {
                return Err(format!(
                    "{place}: \"output\" has the frame's extent; expected no divisor"
                ));
            }
            "output" => PassImage::Output,
            _ if last => return Err(format!("{place}: the last pass must write \"output\"")),
            image => {
                let divisor = pass.divisor.unwrap_or(1);
                if divisor == 0 {
                    return Err(format!("{place}: expected a divisor of at least 1"));
                }
                let made = PassImage::Scratch {
                    index: scratch.len(),
                    divisor,
                };
                if scratch.insert(image, made).is_some() {
                    return Err(format!(
                        "{place}: {image:?} is written twice; expected one writer an image"
                    ));
                }
                made
            }
        };
        resolved.push(PassDescription {
            entry: pass.entry.clone(),
            label: match passes.len() {
                1 => name.to_owned(),
                _ => format!("{name}: {}", pass.entry[name.len()..].trim_start_matches('_')),
            },
            source,
            second,
            destination,
            block: pass.block,
        });
    }
    if resolved.is_empty() {
        Err("expected at least one pass".into())
    } else {
        Ok(resolved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "/*---
title = \"T\"
summary = \"S\"
source = \"none\"
alpha = \"unchanged\"
broken_pixels = \"kept\"
stage = \"look\"
[tolerance]
ulps = 1
why = \"rounding\"
[[parameters]]
name = \"amount\"
unit = \"\"
minimum = 0.0
maximum = 1.0
default = 0.5
step = 0.1
type = \"f32\"
[[passes]]
entry = \"t_one\"
source = \"input\"
destination = \"a\"
divisor = 2
block = [32, 8]
[[passes]]
entry = \"t_two\"
source = \"a\"
second = \"input\"
destination = \"output\"
block = [32, 8]
---*/
";

    fn message(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from));
        parse("t", &GOOD.replacen(from, to, 1))
            .expect_err("is refused")
            .to_string()
    }

    #[test]
    fn images_are_resolved() {
        let effect = parse("t", GOOD).expect("parses");
        let a = PassImage::Scratch { index: 0, divisor: 2 };
        assert_eq!(effect.passes[0].destination, a);
        assert_eq!(
            (effect.passes[1].source, effect.passes[1].second),
            (a, Some(PassImage::Input))
        );
    }

    #[test]
    fn an_error_names_file_line_and_expectation() {
        assert_eq!(
            message("summary", "sumary").split(" unknown").next(),
            Some("t.cu: line 3:")
        );
        assert!(message("default = 0.5", "default = 2").contains("amount = 2 is outside 0 to 1"));
        assert!(message("type = \"f32\"", "type = \"f64\"").starts_with("t.cu: line 18: unknown variant `f64`"));
        assert!(message("source = \"a\"", "source = \"b\"").contains("pass 2 (t_two): reads \"b\"; expected"));
        assert!(message("\"output\"", "\"a\"").contains("must write \"output\""));
        assert!(message("destination = \"a\"", "destination = \"output\"").contains("only the last pass"));
        assert!(message("block = [32, 8]", "block = [64, 32]").contains("1 to 1024 threads"));
        assert!(message("t_one", "one").contains("starts with \"t\""));
        assert!(message("/*---", "/*").contains("expected front matter"));
    }
}
