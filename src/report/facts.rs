//! What `capture.json` says about a capture, as a flat list.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde_json::Value;

/// Name of the file beside the table.
pub const FACTS_FILE: &str = "capture.json";

/// Key and value of everything in the upper levels of a JSON file; empty when there is no such file.
///
/// # Errors
///
/// A note that says why the file was left out: a report does not need it.
pub fn read(path: &Path) -> Result<Vec<(String, String)>, String> {
    let left_out = |reason: String| format!("{} is left out: {reason}", path.display());
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(left_out(error.to_string())),
    };
    let value: Value = serde_json::from_str(&text).map_err(|error| left_out(error.to_string()))?;
    let mut facts = Vec::new();
    list("", &value, LEVELS, &mut facts);
    Ok(facts)
}

/// `device.driver.version` is shown, and what is deeper is not.
const LEVELS: usize = 3;

fn list(key: &str, value: &Value, levels: usize, facts: &mut Vec<(String, String)>) {
    match value {
        Value::Object(entries) if levels > 0 => {
            for (name, value) in entries {
                let key = if key.is_empty() {
                    name.clone()
                } else {
                    format!("{key}.{name}")
                };
                list(&key, value, levels - 1, facts);
            }
        }
        Value::Object(_) => {}
        Value::Array(items) => {
            let words: Option<Vec<String>> = items.iter().map(word).collect();
            if let Some(words) = words {
                facts.push((key.to_owned(), words.join(", ")));
            }
        }
        value => facts.extend(word(value).map(|word| (key.to_owned(), word))),
    }
}

/// A value that is a word, and not a structure.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Null => Some("NA".to_owned()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upper_levels_become_a_flat_list() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FACTS_FILE);
        assert_eq!(read(&path), Ok(Vec::new()));
        let text = r#"{"extent": {"width": 64, "height": 36}, "kernels": ["bloom", "tonemap"], "validation": false,
            "cuda": null, "deep": {"er": {"est": {"of": "all"}, "still": 1}}, "spans": [{"name": "x"}]}"#;
        fs::write(&path, text).unwrap();
        let facts = read(&path).unwrap();
        let mut lines: Vec<_> = facts.iter().map(|(key, value)| format!("{key}={value}")).collect();
        lines.sort();
        assert_eq!(
            lines,
            [
                "cuda=NA",
                "deep.er.still=1",
                "extent.height=36",
                "extent.width=64",
                "kernels=bloom, tonemap",
                "validation=false"
            ]
        );
        fs::write(&path, "{\"extent\": ").unwrap();
        let note = read(&path).unwrap_err();
        assert!(note.contains("capture.json is left out: EOF"), "{note}");
    }
}
