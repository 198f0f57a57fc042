//! Reads a kernel file's front matter: the TOML between `/*---` and `---*/` at its head.

mod buffers;
mod passes;

use toml::Spanned;

use super::effect::{Effect, EffectId, Guide, Stage};
use super::parameter::{Parameter, ParameterType};
use super::tolerance::Tolerance;
use buffers::BufferText;
use passes::{PassText, Resolver};

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
    // What the effects of the program all have, and a user's own need not.
    #[serde(default)]
    summary: String,
    #[serde(default)]
    source: String,
    #[serde(default)]
    alpha: String,
    #[serde(default)]
    broken_pixels: String,
    stage: Stage,
    key: Option<String>,
    #[serde(default)]
    hidden: bool,
    #[serde(default)]
    guides: Vec<Guide>,
    #[serde(default)]
    jitter: bool,
    #[serde(default)]
    upscales: bool,
    #[serde(default)]
    tolerance: Tolerance,
    #[serde(default)]
    parameters: Vec<Spanned<Parameter>>,
    #[serde(default)]
    buffers: Vec<Spanned<BufferText>>,
    passes: Vec<Spanned<PassText>>,
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
    let line = |at: usize| block[..at].matches('\n').count() + 1;
    let text: FrontMatter = toml::from_str(block).map_err(|toml| {
        let line = toml.span().map_or(1, |span| line(span.start));
        error(format!("line {line}: {}", toml.message()))
    })?;
    let mut parameters: Vec<Parameter> = Vec::new();
    for spanned in text.parameters {
        let (line, parameter) = (line(spanned.span().start), spanned.into_inner());
        let name = &parameter.name;
        if parameters.iter().any(|other| other.name == *name) {
            return Err(error(format!("line {line}: parameter {name:?} is given twice")));
        }
        check_parameter(&parameter).map_err(|message| error(format!("line {line}: parameter {name:?}: {message}")))?;
        parameters.push(parameter);
    }
    let mut buffers = Vec::new();
    for spanned in text.buffers {
        let line = line(spanned.span().start);
        let buffer = spanned.into_inner().describe();
        buffers.push(buffer.map_err(|message| error(format!("line {line}: {message}")))?);
    }
    if buffers.iter().filter(|buffer| buffer.table.is_some()).count() > 1 {
        return Err(error("[[buffers]]: expected at most one `table`".into()));
    }
    let written: Vec<&PassText> = text.passes.iter().map(Spanned::as_ref).collect();
    let mut resolver = Resolver::new(name, &written, buffers, text.upscales);
    for (index, pass) in text.passes.iter().enumerate() {
        let last = index + 1 == text.passes.len();
        resolver.pass(pass.as_ref(), last).map_err(|message| {
            let (line, entry) = (line(pass.span().start), &pass.as_ref().entry);
            error(format!("line {line}: pass {} ({entry}): {message}", index + 1))
        })?;
    }
    let (passes, kept_images, buffers) = resolver.finish().map_err(error)?;
    Ok(Effect {
        name: name.to_owned(),
        passes,
        kept_images,
        buffers,
        title: text.title,
        summary: text.summary,
        source: text.source,
        stage: text.stage,
        key: text.key,
        hidden: text.hidden,
        alpha: text.alpha,
        broken_pixels: text.broken_pixels,
        parameters,
        guides: text.guides,
        jitter: text.jitter,
        upscales: text.upscales,
        tolerance: text.tolerance,
        code: code.to_owned(),
        folder: None,
        binary: None,
        id: EffectId::next(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::effect::{ImageShape, PassImage, TexelFormat};
    use crate::kernels::{TableFormat, Transform};

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
        let shape = ImageShape {
            divisor: 2,
            format: TexelFormat::Rgba16f,
        };
        let a = Some(PassImage::Scratch { index: 0, shape });
        assert_eq!(effect.passes[0].destination, a);
        assert_eq!(effect.passes[1].sources, [a, Some(PassImage::Input), None]);
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

    #[test]
    fn what_a_pass_needs_is_the_pass_s_own() {
        let code = GOOD.replacen("[[passes]]", "[[passes]]\noperations = 2.5\nbytes_per_texel = 6", 1);
        let effect = parse("t", &code).expect("parses");
        let needs = |pass: usize| {
            (
                effect.passes[pass].arithmetic.operations,
                effect.passes[pass].bytes_per_texel,
            )
        };
        assert_eq!([needs(0), needs(1)], [(2.5, Some(6)), (0.0, None)]);
        assert!(
            message("[[passes]]", "[[passes]]\nspecial = -1.0").contains("`special` of at least 0, found 0 and -1")
        );
    }

    #[test]
    fn pointwise_passes_are_of_images_that_are_alike() {
        let pointwise = |from: &str| GOOD.replacen(from, &format!("pointwise = true\n{from}"), 1);
        let message = |code: &str| parse("t", code).expect_err("is refused").to_string();
        // From the effect's extent to half of it.
        assert!(message(&pointwise("divisor = 2")).contains("one extent, both rgba16f"));
        let whole = pointwise("divisor = 2").replace("divisor = 2\n", "");
        let effect = parse("t", &whole.replace("block = [32, 8]\n", "")).expect("parses");
        assert_eq!(
            (effect.passes[0].pointwise, effect.passes[0].block),
            (true, crate::kernels::POINTWISE_BLOCK)
        );
        assert!(!effect.passes[1].pointwise);
        for more in ["threads = [1, 1]", "texels = [2, 1]", "repeat = 2"] {
            let code = whole.replacen("pointwise = true", &format!("pointwise = true\n{more}"), 1);
            assert!(
                message(&code).contains("neither `threads`, `texels` nor `repeat`"),
                "{more}"
            );
        }
        let floats = whole.replacen("pointwise = true", "pointwise = true\nformat = \"rgba32f\"", 1);
        assert!(message(&floats).contains("both rgba16f"));
        let larger = whole.replacen("stage =", "upscales = true\nstage =", 1);
        assert!(message(&larger).contains("of one extent"));
    }

    #[test]
    fn tables_grids_and_transforms_are_described_and_say_what_they_expect() {
        let with = |buffers: &str, pass: &str| {
            let more = format!("{buffers}[[passes]]\nentry = \"t_more\"\n{pass}\n[[passes]]");
            parse("t", &GOOD.replacen("[[passes]]", &more, 1))
        };
        let refused = |buffers: &str, pass: &str| with(buffers, pass).expect_err("is refused").to_string();
        let grids = "[[buffers]]\nname = \"g\"\ngrid = \"real\"\nplanes = 3\ndivisor = 2\n\
                     [[buffers]]\nname = \"s\"\ngrid = \"spectrum\"\nplanes = 3\ndivisor = 2\n";
        let effect = with(grids, "transform = \"r2c\"\nbuffers = [\"g\", \"s\"]").expect("parses");
        assert_eq!(effect.passes[0].transform, Some(Transform::R2c));
        assert!(effect.transforms());
        // 17x9 halved is 9x5, padded 18x10.
        let bytes = [0, 1].map(|buffer: usize| effect.buffers[buffer].size.bytes([17, 9]));
        assert_eq!(bytes, [3 * 18 * 10 * 4, 3 * 10 * 10 * 8]);

        let turned = refused(grids, "transform = \"r2c\"\nbuffers = [\"s\", \"g\"]");
        assert!(
            turned.contains("a grid of kind Real, then one of kind Spectrum"),
            "{turned}"
        );
        let other = refused(
            &grids.replacen("planes = 3", "planes = 2", 1),
            "transform = \"c2r\"\nbuffers = [\"s\", \"g\"]",
        );
        assert!(other.contains("as many planes and the same divisor"), "{other}");
        let sourced = refused(
            grids,
            "transform = \"r2c\"\nbuffers = [\"g\", \"s\"]\nsource = \"input\"",
        );
        assert!(sourced.contains("two `buffers` alone"), "{sourced}");
        assert!(refused(&grids.replacen("planes = 3", "planes = 17", 1), "").contains("1 to 16 `planes`"));
        let sized = refused(&grids.replacen("planes = 3", "bytes = 3", 1), "");
        assert!(sized.contains("a grid has its own size"), "{sized}");

        let table = "[[buffers]]\nname = \"f\"\ntable = \"cube\"\n";
        let pass = "source = \"input\"\nbuffers = [\"f\"]\nblock = [8, 8]\ndestination = \"more\"";
        assert_eq!(
            with(table, pass).expect("parses").table(),
            Some(("f", TableFormat::Cube))
        );
        let two = format!("{table}{}", table.replace("\"f\"", "\"other\""));
        assert!(refused(&two, pass).contains("at most one `table`"));
        assert!(refused(&format!("{table}keeps = true\n"), pass).contains("a table is its file's content"));
        assert!(refused(&table.replace("cube", "csv"), pass).contains("unknown variant `csv`"));
    }
}
