//! The name that was meant, for messages about one that is not there.

/// The known name that is closest, if it is close: less than half of it is another.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (edit_distance(name, candidate), candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= candidate.chars().count() / 2)
        .map(|(_, candidate)| candidate)
}

/// ` (did you mean "bloom"?)`, or nothing.
pub(crate) fn did_you_mean<T: AsRef<str>>(name: &str, known: &[T]) -> String {
    nearest(name, known.iter().map(AsRef::as_ref))
        .map_or_else(String::new, |nearest| format!(" (did you mean {nearest:?}?)"))
}

/// Levenshtein's distance: insertions, deletions and replacements that turn one text into the other.
fn edit_distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_understood_and_another_word_is_not() {
        let known = ["bloom", "gaussian", "sobel"];
        assert_eq!(nearest("blom", known), Some("bloom"));
        assert_eq!(nearest("gausian", known), Some("gaussian"));
        assert_eq!(nearest("vignette", known), None);
        assert_eq!(did_you_mean("sobl", &known), " (did you mean \"sobel\"?)");
        assert_eq!(did_you_mean::<&str>("sobl", &[]), "");
    }
}
