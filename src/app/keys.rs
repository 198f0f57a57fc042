//! The key table: what the window listens to, what `--help` prints and what the README shows are all made from it.

use winit::keyboard::{Key as Logical, KeyCode, NamedKey, PhysicalKey};

use super::Action;
use super::pointer::Motion;

/// A key of the table.
enum Key {
    /// 1 to 9, by the key's place: with Shift, or on a French layout, it types something else.
    Digit,
    /// 0, in the same way.
    Zero,
    /// A key by its place on the keyboard.
    Place(KeyCode, &'static str),
    /// A letter as the layout types it. The place is taken on layouts without Latin letters.
    Letter(char, KeyCode),
    /// A sign as the layout types it, with Shift or without.
    Sign(char),
    /// A key that types nothing, as the layout has it.
    Named(NamedKey, &'static str),
}

/// What Shift must be.
#[derive(PartialEq)]
enum Shift {
    Up,
    Down,
    /// Either: Shift changes how fast, not what.
    Any,
}

/// What a row does.
enum Does {
    Act(Action),
    /// The action of the digit's place, from 0.
    Numbered(fn(usize) -> Action),
    /// The action of so many steps; of ten times as many with Shift.
    Stepped(fn(i32) -> Action, i32),
    Hold(Motion),
}

/// A row of the table. `keys` are alternatives.
struct Row {
    keys: &'static [Key],
    shift: Shift,
    does: Does,
    /// Goes on while the key is held down.
    repeats: bool,
    help: &'static str,
}

const fn act(keys: &'static [Key], action: Action, help: &'static str) -> Row {
    Row {
        keys,
        shift: Shift::Up,
        does: Does::Act(action),
        repeats: false,
        help,
    }
}

const fn shifted(row: Row) -> Row {
    Row {
        shift: Shift::Down,
        ..row
    }
}

const fn repeated(row: Row) -> Row {
    Row { repeats: true, ..row }
}

const fn stepped(keys: &'static [Key], action: fn(i32) -> Action, steps: i32, help: &'static str) -> Row {
    Row {
        keys,
        shift: Shift::Any,
        does: Does::Stepped(action, steps),
        repeats: true,
        help,
    }
}

const fn hold(keys: &'static [Key], motion: Motion, help: &'static str) -> Row {
    Row {
        keys,
        shift: Shift::Any,
        does: Does::Hold(motion),
        repeats: true,
        help,
    }
}

const fn numbered(shift: Shift, action: fn(usize) -> Action, help: &'static str) -> Row {
    Row {
        keys: &[Key::Digit],
        shift,
        does: Does::Numbered(action),
        repeats: false,
        help,
    }
}

/// The first row that matches counts: movement stands before the letters that some layout has on one of its keys.
#[rustfmt::skip]
const KEYS: &[Row] = &[
    numbered(Shift::Up, Action::ToggleEffect, "switch an effect on or off"),
    numbered(Shift::Down, Action::SoloEffect, "this effect alone; again: all as before"),
    act(&[Key::Zero, Key::Letter('b', KeyCode::KeyB)], Action::BypassAll, "no effects; again: all as before"),
    act(&[Key::Named(NamedKey::F2, "F2")], Action::ToggleCapture, "start or end a capture of timings"),
    act(&[Key::Named(NamedKey::F12, "F12"), Key::Letter('p', KeyCode::KeyP)], Action::Screenshot, "write a picture of the frame"),
    act(&[Key::Letter('i', KeyCode::KeyI)], Action::ToggleOverlay, "show or hide the overlay: what frames cost"),
    act(&[Key::Named(NamedKey::Tab, "Tab")], Action::HideAll, "hide all that is over the picture; again: show it"),
    act(&[Key::Letter('n', KeyCode::KeyN)], Action::SwitchScene(1), "next scene"),
    shifted(act(&[Key::Letter('n', KeyCode::KeyN)], Action::SwitchScene(-1), "scene before")),
    act(&[Key::Named(NamedKey::Space, "Space")], Action::Pause, "pause or go on"),
    repeated(act(&[Key::Sign('.')], Action::StepFrame, "one frame further while paused")),
    hold(&[Key::Place(KeyCode::KeyW, "W"), Key::Place(KeyCode::ArrowUp, "↑")], Motion::Forward, "move forward (Shift: faster)"),
    hold(&[Key::Place(KeyCode::KeyS, "S"), Key::Place(KeyCode::ArrowDown, "↓")], Motion::Back, "move back"),
    hold(&[Key::Place(KeyCode::KeyA, "A"), Key::Place(KeyCode::ArrowLeft, "←")], Motion::Left, "move left"),
    hold(&[Key::Place(KeyCode::KeyD, "D"), Key::Place(KeyCode::ArrowRight, "→")], Motion::Right, "move right"),
    hold(&[Key::Place(KeyCode::KeyE, "E"), Key::Place(KeyCode::PageUp, "Page Up")], Motion::Up, "move up"),
    hold(&[Key::Place(KeyCode::KeyC, "C"), Key::Place(KeyCode::PageDown, "Page Down")], Motion::Down, "move down"),
    repeated(act(&[Key::Letter('j', KeyCode::KeyJ)], Action::ChooseEffect(1), "choose the next effect of the chain")),
    repeated(act(&[Key::Letter('k', KeyCode::KeyK)], Action::ChooseEffect(-1), "choose the effect before")),
    act(&[Key::Named(NamedKey::Enter, "Enter")], Action::ToggleChosen, "switch the chosen effect on or off"),
    shifted(act(&[Key::Letter('j', KeyCode::KeyJ)], Action::MoveChosen(1), "the chosen effect later in the chain")),
    shifted(act(&[Key::Letter('k', KeyCode::KeyK)], Action::MoveChosen(-1), "the chosen effect earlier in the chain")),
    repeated(act(&[Key::Sign(']')], Action::ChooseParameter(1), "choose the next parameter of the effects that are on")),
    repeated(act(&[Key::Sign('[')], Action::ChooseParameter(-1), "choose the parameter before")),
    stepped(&[Key::Sign('='), Key::Sign('+')], Action::ChangeParameter, 1, "more of the chosen parameter (Shift: ten steps)"),
    stepped(&[Key::Sign('-'), Key::Sign('_')], Action::ChangeParameter, -1, "less of the chosen parameter (Shift: ten steps)"),
    act(&[Key::Named(NamedKey::Backspace, "Backspace")], Action::ResetParameter, "the chosen parameter's default"),
    act(&[Key::Letter('l', KeyCode::KeyL)], Action::SwitchPreset(1), "next preset"),
    shifted(act(&[Key::Letter('l', KeyCode::KeyL)], Action::SwitchPreset(-1), "preset before")),
    act(&[Key::Named(NamedKey::F5, "F5")], Action::SavePreset, "write the chain as a preset"),
    act(&[Key::Letter('r', KeyCode::KeyR)], Action::ResetCamera, "camera back to its start"),
    act(&[Key::Named(NamedKey::F11, "F11")], Action::ToggleFullscreen, "full screen or window"),
    act(&[Key::Named(NamedKey::F1, "F1"), Key::Letter('h', KeyCode::KeyH)], Action::Help, "print these keys to the log"),
    act(&[Key::Named(NamedKey::Escape, "Esc"), Key::Letter('q', KeyCode::KeyQ)], Action::Quit, "quit"),
];

/// What the pointer does, for the same tables. `pointer.rs` does it.
const POINTER: &[(&str, &str)] = &[
    ("left drag", "orbit"),
    ("middle drag, Shift+left drag", "pan"),
    ("wheel", "nearer or farther"),
];

/// A key press, as the window got it.
pub(super) struct Press<'a> {
    pub physical: PhysicalKey,
    pub logical: &'a Logical,
    pub shift: bool,
    /// Sent again because the key is held down.
    pub repeat: bool,
}

/// What a key stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Once, now.
    Act(Action),
    /// As long as the key is down.
    Hold(Motion),
}

/// Looks a key press up in the table.
pub(super) fn meaning(press: &Press<'_>) -> Option<Meaning> {
    let row = KEYS.iter().find(|row| row.matches(press))?;
    if press.repeat && !row.repeats {
        return None;
    }
    match row.does {
        Does::Act(action) => Some(Meaning::Act(action)),
        Does::Hold(motion) => Some(Meaning::Hold(motion)),
        Does::Stepped(action, steps) => Some(Meaning::Act(action(if press.shift { 10 * steps } else { steps }))),
        Does::Numbered(action) => digit(press.physical)?
            .checked_sub(1)
            .map(|place| Meaning::Act(action(place))),
    }
}

impl Row {
    fn matches(&self, press: &Press<'_>) -> bool {
        let shift = match self.shift {
            Shift::Up => !press.shift,
            Shift::Down => press.shift,
            Shift::Any => true,
        };
        self.keys.iter().any(|key| match key {
            // Some layouts type brackets with digits and AltGr.
            Key::Digit if matches!(typed(press.logical), Some('[' | ']')) => false,
            Key::Digit => shift && digit(press.physical).is_some_and(|digit| digit > 0),
            Key::Zero => shift && digit(press.physical) == Some(0),
            Key::Place(code, _) => shift && press.physical == PhysicalKey::Code(*code),
            Key::Named(named, _) => shift && *press.logical == Logical::Named(*named),
            Key::Sign(sign) => typed(press.logical) == Some(*sign),
            Key::Letter(letter, code) => {
                shift
                    && match typed(press.logical) {
                        Some(typed) if typed.is_ascii() => typed.eq_ignore_ascii_case(letter),
                        _ => press.physical == PhysicalKey::Code(*code),
                    }
            }
        })
    }

    fn label(&self) -> String {
        let shift = if self.shift == Shift::Down { "Shift+" } else { "" };
        let labels: Vec<_> = self
            .keys
            .iter()
            .map(|key| match key {
                Key::Digit => format!("{shift}1 … {shift}9"),
                Key::Zero => format!("{shift}0"),
                Key::Place(_, label) | Key::Named(_, label) => format!("{shift}{label}"),
                Key::Letter(sign, _) | Key::Sign(sign) => format!("{shift}{}", sign.to_ascii_uppercase()),
            })
            .collect();
        labels.join(", ")
    }
}

/// The one character that the key types.
fn typed(logical: &Logical) -> Option<char> {
    let Logical::Character(text) = logical else { return None };
    let mut characters = text.chars();
    characters.next().filter(|_| characters.next().is_none())
}

/// The digit of a key, of the row above the letters or the pad.
fn digit(physical: PhysicalKey) -> Option<usize> {
    use KeyCode as Code;
    const DIGITS: [[Code; 2]; 10] = [
        [Code::Digit0, Code::Numpad0],
        [Code::Digit1, Code::Numpad1],
        [Code::Digit2, Code::Numpad2],
        [Code::Digit3, Code::Numpad3],
        [Code::Digit4, Code::Numpad4],
        [Code::Digit5, Code::Numpad5],
        [Code::Digit6, Code::Numpad6],
        [Code::Digit7, Code::Numpad7],
        [Code::Digit8, Code::Numpad8],
        [Code::Digit9, Code::Numpad9],
    ];
    let PhysicalKey::Code(code) = physical else { return None };
    DIGITS.iter().position(|keys| keys.contains(&code))
}

fn rows() -> impl Iterator<Item = (String, &'static str)> {
    let pointer = POINTER.iter().map(|(label, help)| ((*label).to_owned(), *help));
    KEYS.iter().map(|row| (row.label(), row.help)).chain(pointer)
}

/// The table for `--help` and the log: a line a row, in two columns.
pub fn text_table() -> String {
    let width = rows().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    rows()
        .map(|(label, help)| format!("  {label:width$}  {help}\n"))
        .collect()
}

/// The table for the README.
pub fn markdown_table() -> String {
    let lines = rows().map(|(label, help)| format!("| {label} | {help} |\n"));
    ["| key | what it does |\n".to_owned(), "|---|---|\n".to_owned()]
        .into_iter()
        .chain(lines)
        .collect()
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
