//! Tests of what keys do to the chain.

use super::*;
use crate::kernels::catalogue;

fn tuning(enabled: &[&str]) -> Tuning {
    let chain = Chain::with_enabled(catalogue(), enabled).expect("known");
    Tuning::new(chain, Presets::in_folder(None))
}

fn chosen_after(tuning: &mut Tuning, actions: &[Action]) -> String {
    actions.iter().for_each(|action| tuning.act(*action));
    tuning.chosen_text().unwrap_or_default()
}

#[test]
fn parameters_are_chosen_in_chain_order_and_around() {
    let mut tuning = tuning(&["vignette", "sharpen"]);
    let texts: Vec<String> = (0..4)
        .map(|_| chosen_after(&mut tuning, &[Action::ChooseParameter(1)]))
        .collect();
    let expected = [
        "vignette.darkening = 0.4 (0 to 1 of the light, at the corner)",
        "vignette.start = 0.3 (0 to 0.95 of the half diagonal)",
        "sharpen.sharpness = 0.5 (0 to 1)",
    ];
    assert_eq!(texts[..3], expected);
    assert_eq!(texts[3], expected[0]);
    assert_eq!(chosen_after(&mut tuning, &[Action::ChooseParameter(-1)]), expected[2]);
}

#[test]
fn what_is_chosen_changes_within_its_range() {
    let mut tuning = tuning(&["sharpen"]);
    let before = tuning.chain().revision();
    // Nothing is chosen yet, so nothing changes.
    tuning.act(Action::ChangeParameter(1));
    assert_eq!((tuning.chain().revision(), tuning.chosen_text()), (before, None));
    let all = [
        Action::ChooseParameter(1),
        Action::ChangeParameter(3),
        Action::ChangeParameter(-1),
    ];
    assert_eq!(chosen_after(&mut tuning, &all), "sharpen.sharpness = 0.6 (0 to 1)");
    assert_eq!(
        chosen_after(&mut tuning, &[Action::ChangeParameter(10)]),
        "sharpen.sharpness = 1 (0 to 1)"
    );
    let at_the_end = tuning.chain().revision();
    tuning.act(Action::ChangeParameter(1));
    assert_eq!(tuning.chain().revision(), at_the_end);
    assert_eq!(
        chosen_after(&mut tuning, &[Action::ResetParameter]),
        "sharpen.sharpness = 0.5 (0 to 1)"
    );
    assert!(tuning.touched_at().is_some());
}

#[test]
fn effects_are_chosen_switched_and_moved() {
    let mut tuning = tuning(&["bloom", "tonemap"]);
    let first = chosen_after(&mut tuning, &[Action::ChooseEffect(1)]);
    let visible = tuning.chain().catalogue().visible().count();
    let mut seen = vec![first.clone()];
    for _ in 1..visible {
        seen.push(chosen_after(&mut tuning, &[Action::ChooseEffect(1)]));
    }
    assert_eq!(chosen_after(&mut tuning, &[Action::ChooseEffect(1)]), first);
    // One that runs is chosen with its first parameter, and the other effects are all seen.
    assert!(
        seen.contains(&"tonemap.start_compression = 0.76 (0 to 0.95 light)".to_owned()),
        "{seen:?}"
    );
    assert!(seen.contains(&"gaussian (off, before bloom)".to_owned()), "{seen:?}");
    assert!(seen.contains(&"sharpen (off)".to_owned()), "{seen:?}");
    let sobel = seen.iter().position(|text| text.starts_with("sobel")).expect("visible");
    chosen_after(&mut tuning, &vec![Action::ChooseEffect(1); sobel]);
    assert_eq!(tuning.panel().map(|panel| panel.place), Some(None));
    assert_eq!(
        chosen_after(&mut tuning, &[Action::ToggleChosen]),
        "sobel.strength = 0.85 (0 to 1)"
    );
    assert_eq!(tuning.effects_text(), "bloom, tonemap, sobel");
    tuning.act(Action::MoveChosen(-1));
    assert_eq!(tuning.effects_text(), "bloom, sobel, tonemap");
    let panel = tuning.panel().expect("one is chosen");
    assert_eq!((panel.place, panel.count, panel.parameters.len()), (Some(2), 3, 4));
    assert!(panel.parameters[0].is_chosen && !panel.parameters[1].is_chosen);
    assert!((panel.parameters[0].fraction - 0.85).abs() < 1e-6);
    assert_eq!(
        chosen_after(&mut tuning, &[Action::ToggleChosen]),
        "sobel (off, before tonemap)"
    );
    // What is off has no parameter that keys change, and its neighbours' come next.
    let before = tuning.chain().revision();
    tuning.act(Action::ChangeParameter(1));
    assert_eq!(tuning.chain().revision(), before);
}

#[test]
fn a_key_of_an_effect_chooses_it() {
    let mut tuning = tuning(&[]);
    tuning.act(Action::ToggleEffect(2));
    assert_eq!(tuning.effects_text(), "bloom");
    assert_eq!(
        chosen_after(&mut tuning, &[Action::ChooseParameter(1)]),
        "bloom.threshold = 1 (0 to 16 light)"
    );
    tuning.act(Action::ToggleEffect(6));
    assert_eq!(
        chosen_after(&mut tuning, &[Action::ChooseParameter(-1)]),
        "sharpen.sharpness = 0.5 (0 to 1)"
    );
    // Alone, it is the only one whose parameters are chosen.
    tuning.act(Action::SoloEffect(7));
    assert_eq!(tuning.effects_text(), "vignette");
    assert!(chosen_after(&mut tuning, &[Action::ChooseParameter(1)]).starts_with("vignette.darkening"));
    let before = tuning.chain().revision();
    tuning.act(Action::ToggleEffect(8));
    assert_eq!(tuning.chain().revision(), before, "no effect is on key 9");
    tuning.act(Action::BypassAll);
    assert_eq!(tuning.effects_text(), "none");
}

#[test]
fn presets_are_gone_through_and_change_the_chain_at_once() {
    let mut tuning = tuning(&["gaussian"]);
    let before = tuning.chain().revision();
    tuning.act(Action::SwitchPreset(1));
    assert_eq!(tuning.effects_text(), "tonemap, sobel, vignette");
    assert_eq!(tuning.chain().revision(), before + 1);
    tuning.act(Action::SwitchPreset(-1));
    assert_eq!(tuning.effects_text(), "tonemap, sharpen");
    // There is no folder to save into, which the log says.
    tuning.act(Action::SavePreset);
    assert_eq!(tuning.effects_text(), "tonemap, sharpen");
}
