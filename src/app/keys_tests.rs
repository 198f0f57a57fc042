//! Tests of the key table.

use super::*;
use Meaning::{Act, Hold};

fn press(code: KeyCode, logical: &Logical, shift: bool) -> Option<Meaning> {
    meaning(&Press {
        physical: PhysicalKey::Code(code),
        logical,
        shift,
        repeat: false,
    })
}

fn types(text: &str) -> Logical {
    Logical::Character(text.into())
}

#[test]
fn digits_go_by_their_place_whatever_they_type() {
    assert_eq!(
        press(KeyCode::Digit1, &types("1"), false),
        Some(Act(Action::ToggleEffect(0)))
    );
    assert_eq!(
        press(KeyCode::Digit1, &types("!"), true),
        Some(Act(Action::SoloEffect(0)))
    );
    // AZERTY: the key types & without Shift and 1 with it.
    assert_eq!(
        press(KeyCode::Digit1, &types("&"), false),
        Some(Act(Action::ToggleEffect(0)))
    );
    assert_eq!(
        press(KeyCode::Digit1, &types("1"), true),
        Some(Act(Action::SoloEffect(0)))
    );
    assert_eq!(
        press(KeyCode::Digit8, &types("8"), false),
        Some(Act(Action::ToggleEffect(7)))
    );
    let end = Logical::Named(NamedKey::End);
    assert_eq!(press(KeyCode::Numpad1, &end, true), Some(Act(Action::SoloEffect(0))));
    assert_eq!(press(KeyCode::Digit0, &types("0"), false), Some(Act(Action::BypassAll)));
    assert_eq!(press(KeyCode::Digit0, &types(")"), true), None);
}

#[test]
fn letters_go_by_what_they_type() {
    // Dvorak has B on the key where QWERTY has N.
    assert_eq!(press(KeyCode::KeyN, &types("b"), false), Some(Act(Action::BypassAll)));
    assert_eq!(press(KeyCode::KeyB, &types("x"), false), None);
    // Caps Lock types B without Shift.
    assert_eq!(press(KeyCode::KeyB, &types("B"), false), Some(Act(Action::BypassAll)));
    assert_eq!(
        press(KeyCode::KeyI, &types("i"), false),
        Some(Act(Action::ToggleOverlay))
    );
    assert_eq!(
        press(KeyCode::KeyN, &types("n"), false),
        Some(Act(Action::SwitchScene(1)))
    );
    assert_eq!(
        press(KeyCode::KeyN, &types("N"), true),
        Some(Act(Action::SwitchScene(-1)))
    );
    // A layout without Latin letters: by place.
    assert_eq!(press(KeyCode::KeyB, &types("и"), false), Some(Act(Action::BypassAll)));
}

#[test]
fn movement_goes_by_place_with_shift_or_without() {
    assert_eq!(press(KeyCode::KeyW, &types("z"), false), Some(Hold(Motion::Forward)));
    assert_eq!(press(KeyCode::KeyW, &types("Z"), true), Some(Hold(Motion::Forward)));
    let up = Logical::Named(NamedKey::ArrowUp);
    assert_eq!(press(KeyCode::ArrowUp, &up, false), Some(Hold(Motion::Forward)));
}

#[test]
fn named_keys_and_signs() {
    let tab = Logical::Named(NamedKey::Tab);
    assert_eq!(press(KeyCode::Tab, &tab, false), Some(Act(Action::HideAll)));
    assert_eq!(press(KeyCode::Tab, &tab, true), None);
    let space = Logical::Named(NamedKey::Space);
    assert_eq!(press(KeyCode::Space, &space, false), Some(Act(Action::Pause)));
    assert_eq!(press(KeyCode::Period, &types("."), false), Some(Act(Action::StepFrame)));
    // AZERTY types the full stop with Shift.
    assert_eq!(press(KeyCode::Comma, &types("."), true), Some(Act(Action::StepFrame)));
    let f2 = Logical::Named(NamedKey::F2);
    assert_eq!(press(KeyCode::F2, &f2, false), Some(Act(Action::ToggleCapture)));
}

#[test]
fn effects_and_parameters_are_chosen_and_changed() {
    let letter = |code, text, shift| press(code, &types(text), shift);
    assert_eq!(letter(KeyCode::KeyJ, "j", false), Some(Act(Action::ChooseEffect(1))));
    assert_eq!(letter(KeyCode::KeyK, "K", true), Some(Act(Action::MoveChosen(-1))));
    assert_eq!(letter(KeyCode::KeyL, "l", false), Some(Act(Action::SwitchPreset(1))));
    assert_eq!(
        letter(KeyCode::BracketRight, "]", false),
        Some(Act(Action::ChooseParameter(1)))
    );
    // A German layout types brackets with AltGr, and plus and equals on two keys.
    assert_eq!(
        letter(KeyCode::Digit8, "[", false),
        Some(Act(Action::ChooseParameter(-1)))
    );
    for (code, text, shift, steps) in [
        (KeyCode::Equal, "=", false, 1),
        (KeyCode::Equal, "+", true, 10),
        (KeyCode::BracketRight, "+", false, 1),
        (KeyCode::NumpadAdd, "+", true, 10),
        (KeyCode::Minus, "-", false, -1),
        (KeyCode::Minus, "_", true, -10),
    ] {
        assert_eq!(
            letter(code, text, shift),
            Some(Act(Action::ChangeParameter(steps))),
            "{text}"
        );
    }
    let enter = Logical::Named(NamedKey::Enter);
    assert_eq!(press(KeyCode::Enter, &enter, false), Some(Act(Action::ToggleChosen)));
    // Dvorak has J where QWERTY has C, which moves down.
    assert_eq!(letter(KeyCode::KeyC, "j", false), Some(Hold(Motion::Down)));
}

#[test]
fn a_held_key_acts_once_unless_it_steps() {
    let held = |code, logical: &Logical| {
        meaning(&Press {
            physical: PhysicalKey::Code(code),
            logical,
            shift: false,
            repeat: true,
        })
    };
    assert_eq!(held(KeyCode::Digit1, &types("1")), None);
    assert_eq!(held(KeyCode::Period, &types(".")), Some(Act(Action::StepFrame)));
}

#[test]
fn no_two_rows_answer_to_the_same_key() {
    for (index, row) in KEYS.iter().enumerate() {
        for other in &KEYS[index + 1..] {
            let both = row.label();
            let shared = both
                .split(", ")
                .find(|label| other.label().split(", ").any(|one| one == *label));
            assert_eq!(shared, None, "`{}` and `{}`", row.help, other.help);
        }
    }
}

#[test]
fn the_readme_has_the_table() {
    let readme = include_str!("../../README.md");
    let table = readme
        .split_once("<!-- keys -->\n")
        .and_then(|(_, rest)| rest.split_once("<!-- /keys -->"))
        .map(|(table, _)| table)
        .expect("README.md has the markers <!-- keys --> and <!-- /keys -->");
    assert_eq!(
        table,
        markdown_table(),
        "put this between the markers:\n{}",
        markdown_table()
    );
}
