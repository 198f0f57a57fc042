//! Tests of presets as texts.

use proptest::prelude::*;

use super::*;
use crate::kernels::catalogue;

fn read(text: &str) -> Result<Preset, PresetError> {
    Preset::read("look.toml", text, &Chain::new(catalogue()))
}

/// What a preset keeps of a chain.
fn kept(chain: &Chain) -> (Vec<String>, Vec<usize>, Vec<Vec<u8>>) {
    let all = chain.catalogue().effects();
    let names = chain.enabled_names().iter().map(|name| (*name).to_owned()).collect();
    let visible = |index: &usize| !all[*index].hidden;
    let order = chain.order().iter().copied().filter(visible).collect();
    (
        names,
        order,
        (0..all.len()).map(|index| chain.parameters(index).to_vec()).collect(),
    )
}

/// A change that keys can make.
#[derive(Clone, Debug)]
enum Change {
    Toggle(prop::sample::Index),
    Move(prop::sample::Index, i32),
    Press(prop::sample::Index, prop::sample::Index, i32),
    /// To a place within the range, 0 to 1.
    Set(prop::sample::Index, prop::sample::Index, f64),
}

fn change() -> impl Strategy<Value = Change> {
    let any_index = any::<prop::sample::Index>;
    prop_oneof![
        any_index().prop_map(Change::Toggle),
        (any_index(), -20..20).prop_map(|(effect, by)| Change::Move(effect, by)),
        (any_index(), any_index(), -30..30).prop_map(|(effect, parameter, by)| Change::Press(effect, parameter, by)),
        (any_index(), any_index(), 0.0..=1.0).prop_map(|(effect, parameter, at)| Change::Set(effect, parameter, at)),
    ]
}

fn make(chain: &mut Chain, change: &Change) {
    let visible: Vec<usize> = chain.catalogue().visible().map(|(index, _)| index).collect();
    let mut set =
        |effect: usize, parameter: &prop::sample::Index, to: &dyn Fn(&crate::kernels::Parameter, f64) -> f64| {
            let effect = chain.catalogue().effects()[effect].clone();
            if effect.parameters.is_empty() {
                return;
            }
            let parameter = parameter.get(&effect.parameters);
            let setting = format!("{}.{}", effect.name, parameter.name);
            let value = to(parameter, chain.get(&setting).expect("known"));
            chain.set(&setting, value).expect("in range");
        };
    match change {
        Change::Press(effect, parameter, presses) => {
            set(*effect.get(&visible), parameter, &|parameter, value| {
                parameter.stepped(value, *presses)
            });
        }
        Change::Set(effect, parameter, at) => set(*effect.get(&visible), parameter, &|parameter, _| {
            let value = parameter.minimum + at * (parameter.maximum - parameter.minimum);
            if parameter.parameter_type == ParameterType::F32 {
                value
            } else {
                value.round()
            }
        }),
        Change::Toggle(effect) => chain.toggle(*effect.get(&visible)),
        Change::Move(effect, by) => {
            chain.move_by(*effect.get(&visible), *by);
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(changes in prop::collection::vec(change(), 0..40), title in prop::option::of(".*")) {
        let mut chain = Chain::new(catalogue());
        changes.iter().for_each(|change| make(&mut chain, change));
        let text = Preset::write(&chain, title.as_deref());
        let preset = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        prop_assert_eq!(kept(&preset.chain), kept(&chain));
        prop_assert_eq!(&preset.title, &title);
        // And written again it is the same.
        prop_assert_eq!(Preset::write(&preset.chain, title.as_deref()), text);
    }

    #[test]
    fn no_text_makes_it_panic(text in ".*", cut in any::<prop::sample::Index>()) {
        let _ = read(&text);
        let whole = Preset::write(&Chain::with_enabled(catalogue(), &["bloom", "sobel"]).expect("known"), Some("ü"));
        let places: Vec<usize> = whole.char_indices().map(|(at, _)| at).collect();
        let at = *cut.get(&places);
        let _ = read(&format!("{}{text}{}", &whole[..at], &whole[at..]));
    }
}

#[test]
fn only_what_differs_is_written() {
    let mut chain = Chain::with_enabled(catalogue(), &["bloom", "tonemap"]).expect("known");
    assert_eq!(Preset::write(&chain, None), "effects = [\"bloom\", \"tonemap\"]\n");
    chain.set("bloom.intensity", 0.3).expect("in range");
    chain.set("film_grain.size", 2.0).expect("in range");
    chain.solo(0);
    let expected = "title = \"Glow\"\neffects = [\"bloom\", \"tonemap\"]\n\n[parameters.bloom]\nintensity = 0.3\n\n\
                    [parameters.film_grain]\nsize = 2\n";
    assert_eq!(Preset::write(&chain, Some("Glow")), expected);
}

#[test]
fn errors_name_file_line_and_what_is_expected() {
    let message = |text: &str| read(text).expect_err("is refused").to_string();
    let all = [
        (
            "effects = [\"blom\"]",
            "look.toml:1: no effect is called \"blom\" (did you mean \"bloom\"?)",
        ),
        (
            "title = \"T\"\nefects = []",
            "look.toml:2: a preset has no key \"efects\" (did you mean \"effects\"?)",
        ),
        ("title = \"T\"", "look.toml:1: expected effects = [ … ]"),
        (
            "effects = \"bloom\"",
            "look.toml:1: expected effects = [ … ], a list of effects, found string",
        ),
        (
            "effects = [\n\"bloom\",\n\"bloom\"]",
            "look.toml:3: effects names \"bloom\" twice",
        ),
        (
            "effects = [\n1]",
            "look.toml:2: expected the name of an effect as a text, found integer",
        ),
        (
            "effects = []\n[parameters.bloom]\nitensity = 1",
            "look.toml:3: bloom has no parameter \"itensity\" (did you mean \"intensity\"?); it has",
        ),
        (
            "effects = []\n[parameters.vignette]\ndarkening = 1.5",
            "look.toml:3: darkening = 1.5 is outside 0 to 1 of the light, at the corner",
        ),
        (
            "effects = []\n[parameters.film_grain]\nsize = 1.5",
            "look.toml:3: size = 1.5 is not a whole number",
        ),
        (
            "effects = []\n[parameters.film_grain]\namount = nan",
            "look.toml:3: amount = NaN is outside 0 to 0.5",
        ),
        (
            "effects = []\n[parameters.film_grain]\namount = \"much\"",
            "look.toml:3: expected a number for amount, found string",
        ),
        (
            "effects = []\n[parameters]\nblom.x = 1",
            "look.toml:3: no effect is called \"blom\"",
        ),
        (
            "effects = []\nparameters = 3",
            "look.toml:2: expected [parameters.EFFECT] with PARAMETER = VALUE, found integer",
        ),
        (
            "effects = []\n[parameters]\nbloom = 3",
            "look.toml:3: expected [parameters.bloom] with PARAMETER = VALUE, found integer",
        ),
        (
            "effects = [\"bloom\"]\norder = []",
            "look.toml:1: \"bloom\" is in effects and not in order",
        ),
        (
            "effects = [\"bloom\", \"sobel\"]\norder = [\"sobel\", \"bloom\"]",
            "look.toml:1: effects has \"bloom\" before \"sobel\", and order has them the other way round",
        ),
        ("effects = [\"bloom\"", "look.toml:1: "),
        ("effects = []\neffects = []", "look.toml:2: duplicate key"),
    ];
    for (text, expected) in all {
        let found = message(text);
        assert!(found.starts_with(expected), "{text}\n  {found}\n  {expected}");
    }
}

#[test]
fn an_order_without_some_effects_leaves_them_behind() {
    // As of a program that knew fewer effects.
    let preset = read("effects = [\"bloom\"]\norder = [\"sobel\", \"bloom\"]").expect("a preset");
    let names: Vec<&str> = preset
        .chain
        .order()
        .iter()
        .map(|index| catalogue().effects()[*index].name.as_str())
        .collect();
    assert_eq!(names[..2], ["sobel", "bloom"]);
    assert_eq!(names.len(), catalogue().effects().len());
}

#[test]
fn a_table_s_file_is_kept_and_a_bad_one_is_named_with_its_line() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/lut.cube");
    let mut chain = Chain::with_enabled(catalogue(), &["lut"]).expect("known");
    assert!(
        !Preset::write(&chain, None).contains("parameters"),
        "the program's own table is no file"
    );
    chain.set_file("lut.file", &path).expect("a table");
    let text = Preset::write(&chain, None);
    assert!(
        text.contains(&format!("file = {:?}", path.display().to_string())),
        "{text}"
    );
    let again = read(&text).expect("reads").chain;
    assert_eq!(again.file("lut.file"), Ok(Some(path.as_path())));
    let message = |text: &str| read(text).expect_err("is refused").to_string();
    let missing = message("effects = []\n[parameters.lut]\nfile = \"none.cube\"");
    assert!(missing.starts_with("look.toml:3: none.cube: "), "{missing}");
    let number = message("effects = []\n[parameters.lut]\nfile = 1");
    assert!(
        number.contains("look.toml:3: expected the path of a file as a text, found integer"),
        "{number}"
    );
}
