//! Tests of compiling while running, for which no GPU is needed but NVRTC is: `scripts/compile-kernels` fetches it.

use std::fs;

use super::*;

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

const GOOD: &str = "extern \"C\" __global__ void good(float *out) { out[threadIdx.x] = 1.0f; }\n";

fn source(text: &str) -> Source<'_> {
    Source {
        name: "dir/good.cu",
        text,
        options: &["--std=c++17"],
        ..Source::default()
    }
}

#[test]
fn machine_code_is_made_for_known_gpus_and_ptx_for_newer_ones() {
    if !has_nvrtc() {
        return;
    }
    for capability in [(7, 5), (9, 0)] {
        let made = compile_for(&source(GOOD), capability).expect("compiles");
        let Binary::Cubin(cubin) = &made.binary else {
            panic!("{:?}", made.binary)
        };
        assert_eq!(&cubin[..4], b"\x7fELF");
        assert!(made.ptx.contains(".visible .entry good("), "{}", made.ptx);
        assert_eq!(made.warnings, []);
    }
    let made = compile_for(&source(GOOD), (99, 0)).expect("compiles");
    assert!(matches!(&made.binary, Binary::Ptx(ptx) if ptx.contains(".visible .entry good(")));
    let error = compile_for(&source(GOOD), (1, 0)).expect_err("too old").to_string();
    assert!(error.contains("and this one is sm_10"), "{error}");
}

#[test]
fn errors_have_file_line_and_column() {
    if !has_nvrtc() {
        return;
    }
    let text = "extern \"C\" __global__ void good(float *out) {\n    int unused;\n    out[0] = missing;\n}\n";
    let error = compile_for(&source(text), (7, 5)).expect_err("an unknown name");
    assert_eq!(
        error.to_string(),
        "dir/good.cu does not compile:\ndir/good.cu:3:14: error: identifier \"missing\" is undefined"
    );
    let CompileError::Source { diagnostics, log, .. } = error else {
        panic!("{error}")
    };
    assert!(
        diagnostics
            .iter()
            .any(|one| one.severity == Severity::Warning && one.line == 2),
        "{diagnostics:?}"
    );
    assert!(log.contains("missing"), "{log}");
    let made = compile_for(&source(&text.replace("missing", "1.0f")), (7, 5)).expect("compiles");
    assert_eq!(made.warnings.len(), 1, "{:?}", made.warnings);
}

#[test]
fn headers_are_found_by_name_and_beside_the_file() {
    if !has_nvrtc() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("beside.cuh"), "#pragma once\n#define ONE 1.0f\n").expect("written");
    // The one given by name counts more than a file.
    fs::write(folder.path().join("given.cuh"), "#error not this one\n").expect("written");
    let text = "#include \"given.cuh\"\n#include \"beside.cuh\"\nextern \"C\" __global__ void good(float *out) { *out = ONE + TWO; }\n";
    let headers = [("given.cuh", "#define TWO 2.0f\n")];
    let folders = [folder.path().to_owned()];
    let with = Source {
        headers: &headers,
        include_folders: &folders,
        ..source(text)
    };
    compile_for(&with, (7, 5)).expect("compiles");
    let without = compile_for(&source(text), (7, 5)).expect_err("no headers").to_string();
    assert!(
        without.contains("dir/good.cu:1:") && without.contains("cannot open source file \"given.cuh\""),
        "{without}"
    );
    // An error in an included file is that file's.
    fs::write(
        folder.path().join("beside.cuh"),
        "\n#define ONE missing\nint broken = ;\n",
    )
    .expect("written");
    let error = compile_for(&with, (7, 5)).expect_err("a broken header").to_string();
    assert!(error.contains("beside.cuh:3"), "{error}");
}

#[test]
fn what_nvrtc_refuses_is_said() {
    if !has_nvrtc() {
        return;
    }
    let with = Source {
        options: &["--no-such-option"],
        ..source(GOOD)
    };
    let error = compile_for(&with, (7, 5)).expect_err("refused").to_string();
    assert!(
        error.starts_with("NVRTC failed while it compiled dir/good.cu: nvrtcCompileProgram: "),
        "{error}"
    );
    assert!(error.contains("no-such-option"), "{error}");
    let error = compile_for(&source("a\0b"), (7, 5)).expect_err("refused").to_string();
    assert!(error.contains("NUL byte"), "{error}");
}
