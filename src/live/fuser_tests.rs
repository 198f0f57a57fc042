//! Tests of fused kernels as they are compiled. They need NVRTC, and no GPU.

use std::fs;
use std::path::Path;

use super::*;
use crate::cuda::Nvrtc;
use crate::kernels::{Binary, catalogue};
use crate::live::build;

const OLDEST: (i32, i32) = (7, 5);

/// Whether there is an NVRTC; says that the test is skipped where there is none, which `scripts/test` does not allow.
fn has_nvrtc() -> bool {
    let is_there = Nvrtc::get().is_some();
    assert!(is_there || std::env::var_os("HANDOVER_NEED_NVRTC").is_none());
    if !is_there {
        println!("skipped: {}", CompileError::NoCompiler);
    }
    is_there
}

fn own(name: &str) -> Member {
    let of = Arc::clone(catalogue().by_name(name).expect("an effect"));
    Member {
        pass: of.passes.len() - 1,
        of,
    }
}

/// A file of a user's that multiplies by what a file beside it defines.
fn of_user(folder: &Path, name: &str, factor: f32) -> Member {
    let shared = format!(
        "#ifndef SHARED\n#define SHARED\n#define FACTOR {factor:?}f\n__device__ inline float scaled(float value) \
         {{ return value * FACTOR; }}\n#endif\n"
    );
    fs::write(folder.join("shared.cuh"), shared).expect("written");
    let code = format!(
        "/*---\ntitle = \"T\"\nstage = \"look\"\n[[passes]]\nentry = \"{name}\"\nsource = \"input\"\ndestination = \"output\"\n\
         pointwise = true\n---*/\n#include \"handover.cuh\"\n#include \"shared.cuh\"\n\
         HANDOVER_INLINE float4 own(float4 color, int2 at, const Pass& pass, const NoParameters& parameters) {{\n    \
         return make_float4(scaled(color.x), FACTOR, color.z, color.w);\n}}\nHANDOVER_POINTWISE({name}, own, NoParameters)\n"
    );
    let path = folder.join(format!("{name}.cu"));
    let built = build(&path, &code, OLDEST).unwrap_or_else(|problem| panic!("{problem}"));
    Member {
        of: Arc::new(built.effect),
        pass: 0,
    }
}

#[test]
fn every_pointwise_effect_of_the_program_goes_with_the_others() {
    if !has_nvrtc() {
        return;
    }
    let all = catalogue().effects().iter();
    let pointwise = all.filter(|effect| effect.passes.last().is_some_and(|pass| pass.pointwise));
    let names: Vec<&str> = pointwise.map(|effect| effect.name.as_str()).collect();
    assert!(names.len() > 15, "{names:?}");
    // What keeps something comes first; at most four buffers.
    let (first, others): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| *name == "auto_exposure");
    let members: Vec<Member> = first.into_iter().chain(others).map(own).collect();
    let effect = fuse(&members, OLDEST).unwrap_or_else(|error| panic!("{error}"));
    assert!(matches!(&effect.binary, Some(Binary::Cubin(cubin)) if cubin.starts_with(b"\x7fELF")));
    assert!(effect.passes[0].pointwise && effect.guides.len() == 4);
}

#[test]
fn the_program_s_own_runs_take_no_compiler() {
    let effect = fuse(&[own("tonemap"), own("vignette")], (99, 9)).expect("is there");
    assert!(matches!(effect.binary, Some(Binary::Ptx(_))));
    assert_eq!(
        (effect.name.as_str(), effect.passes[0].label.as_str()),
        ("tonemap+vignette", "tonemap+vignette")
    );
}

#[test]
fn files_of_users_may_have_the_same_names_in_them() {
    if !has_nvrtc() {
        return;
    }
    let folders = [
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    ];
    let [one, other] = [("one", 2.0, 0), ("other", 3.0, 1)].map(|(name, factor, folder)| {
        let folder: &tempfile::TempDir = &folders[folder];
        of_user(folder.path(), name, factor)
    });
    let effect = fuse(&[one, own("exposure"), other], OLDEST).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(effect.name, "one+exposure+other");
}

#[test]
fn a_kernel_is_made_once_and_what_cannot_be_made_is_not_tried_again() {
    if !has_nvrtc() {
        return;
    }
    let target = Target {
        capability: OLDEST,
        loader: None,
    };
    let fuser = Fuser::start(target).expect("a thread");
    let good = [own("tonemap"), own("exposure")];
    let mut broken = catalogue().by_name("vignette").expect("an effect").as_ref().clone();
    broken.id = EffectId::next();
    broken.code = broken.code.replace("HANDOVER_POINTWISE", "MISSING");
    let broken = Member {
        of: Arc::new(broken),
        pass: 0,
    };
    let bad = [own("tonemap"), broken.clone()];
    assert!(fuser.find(&bad).is_none() && fuser.find(&good).is_none());
    let began = Instant::now();
    while !fuser.take_news() {
        assert!(began.elapsed() < Duration::from_secs(120), "nothing was made");
        std::thread::sleep(Duration::from_millis(5));
    }
    let found = fuser.find(&good).expect("made");
    assert!(Arc::ptr_eq(&found, &fuser.find(&good).expect("made")));
    assert!(fuser.find(&bad).is_none() && !fuser.take_news());
    // With its effects it goes.
    fuser.forget(broken.of.id);
    assert_eq!(fuser.shared.made().len(), 1);
    fuser.forget(good[0].of.id);
    assert!(fuser.shared.made().is_empty());
}
