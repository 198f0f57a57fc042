//! Tests of fused kernels' sources, and of those that come with the program.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

fn member(effect: &Arc<Effect>) -> Member {
    Member {
        of: Arc::clone(effect),
        pass: effect.passes.len() - 1,
    }
}

/// The runs that have PTX in the program: any neighbours, in the default order, among the effects that have a number key and end
/// with a pointwise pass. Those of the default chain are among them, and so is what number keys make of it.
fn committed_runs() -> Vec<Vec<Member>> {
    let effects: Vec<&Arc<Effect>> = catalogue()
        .visible()
        .map(|(_, effect)| effect)
        .filter(|effect| effect.key.is_some() && effect.passes.last().is_some_and(|pass| pass.pointwise))
        .collect();
    let subsets = 0..1u32 << effects.len();
    let of = |bits: u32| {
        (0..effects.len())
            .filter(move |bit| bits & (1 << bit) != 0)
            .collect::<Vec<usize>>()
    };
    let runs = subsets.map(of).filter(|run| run.len() > 1);
    // Only the first may have more passes than that one.
    let is_run = |run: &Vec<usize>| run[1..].iter().all(|effect| effects[*effect].passes.len() == 1);
    runs.filter(is_run)
        .map(|run| run.into_iter().map(|effect| member(effects[effect])).collect())
        .collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/fused")
}

/// After it `scripts/compile-kernels` makes their PTX.
#[test]
#[ignore = "writes kernels/fused"]
fn write_the_runs() {
    fs::create_dir_all(folder()).expect("made");
    for run in committed_runs() {
        let source = FusedSource::new(&run);
        fs::write(folder().join(format!("{}.cu", source.label)), source.code).expect("written");
    }
}

#[test]
fn the_program_has_the_runs_of_keyed_effects_as_they_are_written_now() {
    let folder = folder();
    let mut wanted: Vec<String> = Vec::new();
    for run in committed_runs() {
        let source = FusedSource::new(&run);
        let path = folder.join(format!("{}.cu", source.label));
        let text = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            text == source.code,
            "{} is to be as `cargo test --lib write_the_runs -- --ignored` writes it:\n{}",
            path.display(),
            source.code
        );
        assert!(matches!(source.precompiled(), Some(Binary::Ptx(ptx)) if ptx.contains(&source.entry)));
        wanted.push(source.label);
    }
    let names = fs::read_dir(&folder).expect("a folder").filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        name.strip_suffix(".cu").map(str::to_owned)
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    wanted.sort();
    assert_eq!(names, wanted);
    assert!(names.contains(&"tonemap+vignette".to_owned()));
}

#[test]
fn another_effect_of_that_name_has_no_code_of_the_program_s() {
    let own = |name: &str| member(catalogue().by_name(name).expect("an effect"));
    let edited = |name: &str| {
        let mut effect = catalogue().by_name(name).expect("an effect").as_ref().clone();
        effect.id = EffectId::next();
        member(&Arc::new(effect))
    };
    assert!(
        FusedSource::new(&[own("tonemap"), own("vignette")])
            .precompiled()
            .is_some()
    );
    assert!(
        FusedSource::new(&[own("tonemap"), edited("vignette")])
            .precompiled()
            .is_none()
    );
    assert!(
        FusedSource::new(&[own("vignette"), own("tonemap")])
            .precompiled()
            .is_none()
    );
}

#[test]
fn buffers_are_counted_on() {
    let own = |name: &str| member(catalogue().by_name(name).expect("an effect"));
    let source = FusedSource::new(&[own("auto_exposure"), own("tonemap"), own("lut")]);
    assert_eq!(source.label, "auto_exposure+tonemap+lut");
    for call in [
        "member_pass<0, 1>(pass, 0u, true)",
        "member_pass<1, 0>(pass, 0u, false)",
        "member_pass<1, 1>(pass, 0u, false)",
        "member_0::auto_exposure_apply_pointwise::apply(",
    ] {
        assert!(source.code.contains(call), "{call}\n{}", source.code);
    }
    assert_eq!(lasting("a+b").as_ptr(), lasting(&String::from("a+b")).as_ptr());
}
