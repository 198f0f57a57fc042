//! Every example can be broken: the table of planted faults fits the examples, what must not compile does not, what must fail
//! at run time compiles, and docs/interop.md has the table. `gpu-bundle/run-faults` then shows on a GPU that each fails.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

mod compiler;
mod fault;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use compiler::Compiler;
use fault::{CaughtBy, Fault, examples, faults};
use rayon::prelude::*;

#[test]
fn every_example_has_a_fault_and_every_fault_its_place() {
    let faults = faults();
    let broken: BTreeSet<_> = faults.iter().map(|fault| fault.example.clone()).collect();
    assert_eq!(broken, examples());
    let names: BTreeSet<_> = faults.iter().map(|fault| &fault.name).collect();
    assert_eq!(names.len(), faults.len(), "two faults have one name");
    for fault in &faults {
        fault.planted();
        // scripts/run-faults has them as lines with tabs.
        for cell in [&fault.wrong, &fault.expect] {
            assert!(
                !cell.is_empty() && !cell.contains(['\t', '\n', '|']),
                "{}: {cell:?}",
                fault.name
            );
        }
    }
}

#[test]
fn faults_at_run_time_compile_and_the_others_do_not() {
    let compiler = Compiler::new();
    let folder = tempfile::tempdir().unwrap();
    // Those of the library need a library of their own: `scripts/gpu-bundle --faults` makes it.
    let faults: Vec<_> = faults().into_iter().filter(|fault| fault.file.is_none()).collect();
    let mut modules = String::new();
    for fault in &faults {
        fs::write(folder.path().join(format!("{}.rs", fault.name)), fault.planted()).unwrap();
        if fault.caught_by != CaughtBy::Compiler {
            writeln!(modules, "mod {};", fault.name).unwrap();
        }
    }
    let all = folder.path().join("main.rs");
    fs::write(&all, modules + "fn main() {}\n").unwrap();

    let not_compiling = faults.par_iter().filter(|fault| fault.caught_by == CaughtBy::Compiler);
    let (compiled, wrong): (_, Vec<String>) = rayon::join(
        || compiler.check(&all),
        || {
            not_compiling
                .filter_map(|fault| {
                    let output = compiler.check(&folder.path().join(format!("{}.rs", fault.name)));
                    let said = String::from_utf8_lossy(&output.stderr);
                    let errors = said.lines().filter(|line| line.starts_with("error[")).count();
                    let as_expected = !output.status.success() && errors == 1 && said.contains(&fault.expect);
                    (!as_expected).then(|| {
                        format!(
                            "{}: expected {:?} alone, the compiler said:\n{said}",
                            fault.name, fault.expect
                        )
                    })
                })
                .collect()
        },
    );
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_documentation_has_the_table() {
    let (_, rest) = include_str!("../../docs/interop.md")
        .split_once("<!-- faults -->\n")
        .unwrap();
    let (table, _) = rest.split_once("<!-- /faults -->").unwrap();
    let mut rows = table.lines().skip(2);
    for Fault {
        example,
        wrong,
        caught_by,
        expect,
        name,
        ..
    } in &faults()
    {
        let row = rows.next().unwrap_or_default();
        let expected = format!("| `{example}` | {wrong} | {} | ", caught_by.text());
        let Some((said, caught)) = row.strip_prefix(&expected).and_then(|rest| rest.rsplit_once(" | ")) else {
            panic!("{name}: the row must begin with {expected:?}, and is:\n{row}")
        };
        assert!(said.contains(expect), "{name}: {said:?} does not have {expect:?}");
        assert_eq!(caught, "yes |", "{name}");
    }
    assert_eq!(rows.next(), None, "a row without a fault");
}
