//! Tests of what is made of kernel files. They need NVRTC, and no GPU.

use super::*;
use crate::cuda::Nvrtc;

/// Whether there is an NVRTC; says that the test is skipped where there is none, which `scripts/test` does not allow.
fn has_nvrtc() -> bool {
    let is_there = Nvrtc::get().is_some();
    assert!(
        is_there || std::env::var_os("HANDOVER_NEED_NVRTC").is_none(),
        "{}",
        CompileError::NoCompiler
    );
    if !is_there {
        println!("skipped: {}", CompileError::NoCompiler);
    }
    is_there
}

const GOOD: &str = r#"/*---
title = "Edge glow"
stage = "look"

[[parameters]]
name = "amount"
unit = ""
minimum = 0.0
maximum = 1.0
default = 0.5
step = 0.05
type = "f32"

[[parameters]]
name = "count"
unit = "px"
minimum = 1
maximum = 8
default = 2
step = 1
type = "u32"

[[passes]]
entry = "edge_glow"
source = "input"
destination = "output"
---*/
#include "handover.cuh"

struct EdgeGlowParameters {
    float amount;
    unsigned count;
};

extern "C" __global__ void edge_glow(const __grid_constant__ Pass pass,
                                     const __grid_constant__ EdgeGlowParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    store(pass.destination, at, load(pass.source, at.x, at.y) * parameters.amount);
}
"#;

fn made(text: &str) -> Result<Built, Problem> {
    build(Path::new("my/edge_glow.cu"), text, (7, 5))
}

/// What is said of the good file with one part replaced.
fn message(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    made(&GOOD.replacen(from, to, 1)).expect_err("is refused").to_string()
}

#[test]
fn a_good_file_becomes_an_effect_with_machine_code() {
    if !has_nvrtc() {
        return;
    }
    let built = made(GOOD).expect("is good");
    assert_eq!(
        (built.effect.name.as_str(), built.effect.parameters.len()),
        ("edge_glow", 2)
    );
    assert!(matches!(&built.effect.binary, Some(Binary::Cubin(cubin)) if cubin.starts_with(b"\x7fELF")));
    assert!(built.warnings.is_empty(), "{:?}", built.warnings);
    // The block has a default.
    assert_eq!(built.effect.passes[0].block, [32, 8]);
    let built = made(&GOOD.replace("int2 at", "int unused; int2 at")).expect("is good");
    let warnings: Vec<String> = built.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].starts_with("my/edge_glow.cu:37:9: "), "{warnings:?}");
}

#[test]
fn every_kernel_of_the_program_passes_the_checks() {
    if !has_nvrtc() {
        return;
    }
    for effect in crate::kernels::catalogue().effects() {
        let path = PathBuf::from(format!("kernels/{}.cu", effect.name));
        build(&path, &effect.code, (7, 5)).unwrap_or_else(|problem| panic!("{problem}"));
    }
}

#[test]
fn the_compiler_s_errors_have_their_place() {
    if !has_nvrtc() {
        return;
    }
    let undefined = message("parameters.amount);", "parameters.amount * missing);");
    assert_eq!(
        undefined,
        "my/edge_glow.cu:39:85: error: identifier \"missing\" is undefined"
    );
    assert!(
        message("#include \"handover.cuh\"", "#include \"other.cuh\"")
            .contains("cannot open source file \"other.cuh\"")
    );
    // What is left open does not swallow the checks, nor is it blamed on them.
    for (from, to) in [
        ("at.y) * parameters.amount);\n}", "at.y) * parameters.amount);\n"),
        ("    float amount;", "    float amount; /*"),
    ] {
        let said = message(from, to);
        assert!(
            said.starts_with("my/edge_glow.cu:") && !said.contains("handover check"),
            "{said}"
        );
    }
}

#[test]
fn entries_that_are_not_what_the_front_matter_says_are_told() {
    if !has_nvrtc() {
        return;
    }
    let expected = "expected\n  extern \"C\" __global__ void edge_glow(const __grid_constant__ Pass pass, const __grid_constant__ \
                    EdgeGlowParameters parameters)";
    for (from, to) in [
        // No entry of the name.
        ("void edge_glow(", "void edge_glows("),
        // Another signature.
        (
            "const __grid_constant__ EdgeGlowParameters parameters)",
            "float amount, const __grid_constant__ EdgeGlowParameters parameters)",
        ),
        // Not under its name.
        ("extern \"C\" __global__ void edge_glow", "__global__ void edge_glow"),
    ] {
        let said = message(from, to);
        assert!(said.contains(expected), "{to}: {said}");
        assert!(said.starts_with("my/edge_glow.cu: "), "{said}");
    }
}

/// The good file as a function of a texel.
fn pointwise() -> String {
    let start = GOOD.find("extern").expect("there");
    let function = "HANDOVER_INLINE float4 glow(float4 color, int2 at, const Pass& pass, const EdgeGlowParameters& parameters) {\n    \
                    return color * parameters.amount;\n}\n\nHANDOVER_POINTWISE(edge_glow, glow, EdgeGlowParameters)\n";
    format!("{}{function}", &GOOD[..start]).replace("\"output\"\n", "\"output\"\npointwise = true\n")
}

#[test]
fn a_function_of_a_texel_becomes_a_kernel_and_what_is_no_such_function_is_told() {
    if !has_nvrtc() {
        return;
    }
    let built = made(&pointwise()).expect("is good");
    assert!(
        built.effect.passes[0].pointwise && built.warnings.is_empty(),
        "{:?}",
        built.warnings
    );
    assert_eq!(built.effect.folder.as_deref(), Some(Path::new("my")));
    let said = |from: &str, to: &str| {
        assert!(pointwise().contains(from), "{from}");
        made(&pointwise().replacen(from, to, 1))
            .expect_err("is refused")
            .to_string()
    };
    // The line of the macro, which is the user's.
    let line = 1 + pointwise()[..pointwise().find("HANDOVER_POINTWISE").expect("there")]
        .matches('\n')
        .count();
    for (from, to) in [
        ("float4 color, int2 at,", "float4 color,"),
        ("const EdgeGlowParameters& p", "const NoParameters& p"),
    ] {
        let said = said(from, to);
        let expected = format!(
            "my/edge_glow.cu:{line}: error: static assertion failed with \"expected float4 glow(float4 color, int2 at, const Pass& pass, \
             const EdgeGlowParameters& parameters)\""
        );
        assert!(said.contains(&expected) && !said.contains("handover.cuh"), "{said}");
    }
    // The front matter says so, and the code is a kernel of another kind, of which a thread makes one texel.
    let message = message("\"output\"\n", "\"output\"\npointwise = true\n");
    assert!(
        message.contains("HANDOVER_POINTWISE(edge_glow, FUNCTION, EdgeGlowParameters)"),
        "{message}"
    );
    assert!(said("source = \"input\"\n", "").contains("expected a source and a destination"));
}

#[test]
fn a_struct_that_is_not_the_parameters_is_told() {
    if !has_nvrtc() {
        return;
    }
    let layout = "expected\n  struct EdgeGlowParameters { float amount; unsigned count; };";
    for (from, to, what) in [
        ("    float amount;\n", "", "no member `float amount`"),
        (
            "    float amount;\n",
            "    double amount;\n",
            "no member `float amount`",
        ),
        (
            "    unsigned count;\n",
            "    int count;\n",
            "no member `unsigned count`",
        ),
        (
            "    unsigned count;\n",
            "    unsigned count;\n    float more;\n",
            "not of the 2 parameters of the front matter alone, 8 bytes",
        ),
        (
            "    float amount;\n    unsigned count;\n",
            "    unsigned count;\n    float amount;\n",
            "another order",
        ),
    ] {
        // The kernel itself uses nothing of it, so that only the check can find it.
        let text = GOOD.replace(" * parameters.amount", "").replacen(from, to, 1);
        let said = made(&text).expect_err("is refused").to_string();
        assert!(said.contains(what) && said.contains(layout), "{to}: {said}");
    }
    // Parameters that the front matter does not have.
    let start = GOOD.find("[[parameters]]").expect("there");
    let end = GOOD.find("[[passes]]").expect("there");
    let without = format!("{}{}", &GOOD[..start], &GOOD[end..]);
    let said = made(&without).expect_err("is refused").to_string();
    assert!(
        said.contains("the front matter has no parameters") && said.contains("NoParameters parameters)"),
        "{said}"
    );
}

#[test]
fn front_matter_is_told_with_its_line() {
    assert!(message("/*---", "/* ---").contains("my/edge_glow.cu:1: expected front matter"));
    assert!(message("stage = \"look\"", "stage = look").starts_with("my/edge_glow.cu:3: "));
    assert!(message("stage = \"look\"", "stage = \"lok\"").contains("unknown variant `lok`, expected one of"));
    assert!(
        message("default = 0.5", "default = 5.0")
            .contains("my/edge_glow.cu:5: parameter \"amount\": default: amount = 5 is outside 0 to 1")
    );
    assert!(
        message("entry = \"edge_glow\"", "entry = \"glow\"")
            .contains(": pass 1 (glow): expected an entry that starts with")
    );
    assert!(message("[[passes]]", "[[pass]]").contains("unknown field `pass`"));
}

#[test]
fn files_that_are_none_are_told() {
    let said = |path: &str| {
        build(Path::new(path), GOOD, (7, 5))
            .expect_err("is refused")
            .to_string()
    };
    assert!(said("my/edge-glow.cu").contains("expected a name of letters, digits and _"));
    assert!(said("my/edge.cuda").contains("ends in .cu"));
    assert!(
        read(Path::new("/dev/zero"))
            .expect_err("is refused")
            .to_string()
            .contains("CUDA C++")
    );
    assert!(
        read(Path::new("none.cu"))
            .expect_err("is refused")
            .to_string()
            .starts_with("none.cu: No such file")
    );
}
