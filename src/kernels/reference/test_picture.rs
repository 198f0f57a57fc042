//! The picture of `tests/fixtures`, and what other programs make of it.

use super::Texel;
use super::test_images::apply;
use half::f16;

/// An image as halves hold it.
pub(crate) fn halves(image: &[Texel]) -> Vec<Texel> {
    image
        .iter()
        .map(|texel| texel.map(|value| f16::from_f32(value).to_f32()))
        .collect()
}

/// Applies an effect to `tests/fixtures/picture.csv` as each line of a fixture says, and compares with what is expected
/// there. `tests/fixtures/make-filters` says what the files hold. `share` bounds the
/// difference as a share of the expected value, or of 1/16 for what is darker.
/// Channels expected to be NaN are not compared.
pub(crate) fn assert_as_in_fixture(effect: &str, fixture: &str, cases: usize, share: f64) {
    let numbers = |text: &str| -> Vec<f64> {
        let fields = text.split(',').filter(|field| !field.is_empty());
        fields.map(|field| field.parse().expect("a number")).collect()
    };
    let picture: Vec<Texel> = include_str!("../../../tests/fixtures/picture.csv")
        .lines()
        .map(numbers)
        .map(|color| [color[0] as f32, color[1] as f32, color[2] as f32, 0.5])
        .collect();
    let mut lines = fixture.lines();
    let names: Vec<&str> = lines
        .next()
        .expect("names")
        .split(',')
        .filter(|name| !name.is_empty())
        .collect();
    let mut compared = 0;
    for line in lines {
        let (values, expected) = line.split_once(';').expect("settings; channels");
        let settings: Vec<(&str, f64)> = names.iter().copied().zip(numbers(values)).collect();
        let out = apply(effect, &settings, [24, 16], &picture);
        let expected = numbers(expected);
        assert_eq!(expected.len(), 3 * out.len());
        for (index, expected) in expected.into_iter().enumerate() {
            let found = f64::from(out[index / 3][index % 3]);
            let (x, y) = (index / 3 % 24, index / 72);
            assert!(
                expected.is_nan() || (found - expected).abs() <= share * expected.max(1.0 / 16.0),
                "{effect} {settings:?}, channel {} at ({x}, {y}): {found} for {expected}",
                index % 3
            );
        }
        assert!(out.iter().all(|texel| (texel[3] - 0.5).abs() < 1e-3));
        compared += 1;
    }
    assert_eq!(compared, cases);
}
