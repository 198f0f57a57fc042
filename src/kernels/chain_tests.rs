//! Tests of chains.

use super::*;
use crate::kernels::catalogue;

#[test]
fn enabled_effects_run_in_the_order_given() {
    let chain = Chain::with_enabled(catalogue(), &["tonemap", "exposure", "tonemap"]).expect("known");
    assert_eq!(chain.enabled_names(), ["tonemap", "exposure"]);
    assert_eq!(chain.order().len(), catalogue().effects().len());
    assert!(Chain::with_enabled(catalogue(), &["tone_map"]).is_err());
}

#[test]
fn what_is_off_stands_where_the_catalogue_has_it() {
    let chain = Chain::with_enabled(catalogue(), &["bloom", "tonemap", "vignette"]).expect("known");
    assert_eq!(chain.order(), Chain::new(catalogue()).order());
    let at = |name: &str| catalogue().index_of(name).expect(name);
    let chain = Chain::with_enabled(catalogue(), &["vignette", "bloom"]).expect("known");
    let place = |name: &str| chain.order().iter().position(|effect| *effect == at(name)).expect(name);
    // Both before the first enabled one that the catalogue has later.
    assert!(place("gaussian") < place("vignette") && place("tonemap") < place("vignette"));
    assert!(place("vignette") < place("bloom") && place("bloom") < place("copy"));
}

#[test]
fn a_catalogue_is_taken_over_with_what_still_holds() {
    let mut chain = Chain::with_enabled(catalogue(), &["bloom", "vignette"]).expect("known");
    chain.set("bloom.intensity", 2.0).expect("in range");
    chain.set("bloom.threshold", 3.0).expect("in range");
    let (order, enabled) = (chain.order().to_vec(), chain.active());
    let mut bloom = Effect::clone(catalogue().by_name("bloom").expect("known"));
    bloom.id = super::super::EffectId::next();
    // The order of the parameters is another, one has a smaller range, one is gone, and one is new.
    bloom.parameters.reverse();
    bloom.parameters.retain(|parameter| parameter.name != "knee");
    for parameter in &mut bloom.parameters {
        match parameter.name.as_str() {
            "threshold" => parameter.maximum = 2.0,
            "scatter" => parameter.name = "spread".into(),
            _ => {}
        }
    }
    let (next, index) = catalogue().with(bloom).expect("goes with the others");
    let revision = chain.revision();
    chain.adopt(Arc::new(next));
    assert_eq!(chain.revision(), revision + 1);
    assert_eq!((chain.order(), chain.active()), (order.as_slice(), enabled));
    let values = ["intensity", "threshold", "spread", "limit"].map(|name| chain.get(&format!("bloom.{name}")));
    assert_eq!(values[0], Ok(2.0));
    assert_eq!(values[1..], [Ok(1.0), Ok(f64::from(0.7_f32)), Ok(64.0)]);
    assert!(chain.get("bloom.knee").is_err());
    assert_eq!(chain.parameters(index).len(), 16);
    // A new effect is off, and stands by its stage.
    let edge = Effect {
        // The first of its stage.
        name: "aa".into(),
        key: None,
        stage: crate::kernels::Stage::Denoise,
        id: super::super::EffectId::next(),
        ..Effect::clone(catalogue().by_name("sharpen").expect("known"))
    };
    let (next, edge) = chain.catalogue().with(edge).expect("goes with the others");
    chain.adopt(Arc::new(next));
    assert_eq!((chain.order()[0], chain.is_enabled(edge)), (edge, false));
    chain.toggle(edge);
    assert_eq!(chain.enabled_names(), ["aa", "bloom", "vignette"]);
    assert_eq!(
        chain.only(|effect| effect.name != "aa").enabled_names(),
        ["bloom", "vignette"]
    );
    chain.solo(edge);
    assert!(chain.only(|effect| effect.name != "aa").active().is_empty());
}

#[test]
fn an_enabled_effect_moves_past_enabled_ones() {
    let at = |name: &str| catalogue().index_of(name).expect(name);
    let mut chain = Chain::with_enabled(catalogue(), &["bloom", "tonemap", "vignette"]).expect("known");
    assert!(chain.move_by(at("bloom"), 1));
    assert_eq!(chain.enabled_names(), ["tonemap", "bloom", "vignette"]);
    assert!(chain.move_by(at("bloom"), -1));
    assert!(!chain.move_by(at("bloom"), -1));
    assert_eq!(chain.enabled_names(), ["bloom", "tonemap", "vignette"]);
    assert!(chain.move_by(at("bloom"), 9));
    assert_eq!(chain.enabled_names(), ["tonemap", "vignette", "bloom"]);
    // One that is off moves past its neighbour.
    let place = |chain: &Chain| chain.order().iter().position(|effect| *effect == at("sobel"));
    let before = place(&chain);
    assert!(chain.move_by(at("sobel"), -1));
    assert_eq!(place(&chain).map(|place| place + 1), before);
    let mut all = chain.order().to_vec();
    all.sort_unstable();
    assert_eq!(all, Vec::from_iter(0..all.len()));
}

#[test]
fn solo_twice_and_bypass_twice_restore() {
    let mut chain = Chain::with_enabled(catalogue(), &["exposure", "bloom"]).expect("known");
    let before = chain.active();
    chain.solo(4);
    assert_eq!(chain.active(), [4]);
    chain.toggle_bypass();
    assert!(chain.active().is_empty());
    chain.toggle_bypass();
    chain.solo(4);
    assert_eq!(chain.active(), before);
    chain.toggle_bypass();
    chain.toggle(before[0]);
    assert_eq!(chain.active(), before[1..]);
}

#[test]
fn a_table_is_read_from_its_file_and_a_bad_one_changes_nothing() {
    let mut chain = Chain::with_enabled(catalogue(), &["lut"]).expect("known");
    let own = chain.plan().tables[0].clone();
    assert_eq!(chain.file("lut.file"), Ok(None));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/lut.cube");
    chain.set_file("lut.file", &path).expect("is a table");
    assert_eq!(
        (chain.revision(), chain.file("lut.file")),
        (1, Ok(Some(path.as_path())))
    );
    let read = chain.plan().tables[0].clone();
    assert!(read != own && read.bytes().len() == 16 * (3 + 343));
    assert!(matches!(
        chain.set_file("lut.file", Path::new("Cargo.toml")),
        Err(SettingError::Table(_))
    ));
    let refused = chain.set_file("lut.intensity", &path).expect_err("is a number");
    assert_eq!(refused.to_string(), "lut.intensity takes no file");
    assert!(chain.takes_file("lut.file") && !chain.takes_file("bloom.file"));
    assert_eq!((chain.revision(), chain.plan().tables[0].clone()), (1, read));
}

#[test]
fn every_change_raises_the_revision_and_an_error_does_not() {
    let mut chain = Chain::new(catalogue());
    let mut last = chain.revision();
    let changes: [fn(&mut Chain); 5] = [
        |chain| chain.toggle(0),
        |chain| chain.solo(1),
        |chain| chain.toggle_bypass(),
        |chain| chain.set("bloom.intensity", 1.5).expect("in range"),
        |chain| chain.move_to(0, 3),
    ];
    for change in changes {
        change(&mut chain);
        assert!(chain.revision() > last);
        last = chain.revision();
    }
    assert_eq!(chain.get("bloom.intensity"), Ok(1.5));
    assert!(chain.set("bloom.intensity", -1.0).is_err());
    assert!(chain.set("bloom", 1.0).is_err());
    assert!(chain.set("bloom.glow", 1.0).is_err());
    assert_eq!((chain.revision(), chain.get("bloom.intensity")), (last, Ok(1.5)));
}
