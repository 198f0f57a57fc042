//! Reads colour tables: Adobe, Cube LUT Specification 1.0 (2013), `.cube`.
//!
//! Keywords stand before the entries, one a line: `TITLE "text"`, `LUT_3D_SIZE N` or `LUT_1D_SIZE N`, `DOMAIN_MIN r g b`,
//! `DOMAIN_MAX r g b`; `LUT_3D_INPUT_RANGE low high` and `LUT_1D_INPUT_RANGE`, which DaVinci Resolve writes, are the domain of all
//! three channels. Lines that begin with # are comments.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::ops::RangeInclusive;
use std::path::Path;

use super::table::{Table, TableError};

/// The sizes that the specification allows.
const SIZES_3D: RangeInclusive<u32> = 2..=256;
const SIZES_1D: RangeInclusive<u32> = 2..=65536;
/// The specification allows 250 bytes; what is far longer is no text of this kind, and is not read to its end.
const LONGEST_LINE: u64 = 4096;
/// Of entries and domains: what images hold at most.
const LIMIT: f32 = 65504.0;

/// What stood before the entries.
struct Head {
    size: Option<(u32, u32)>,
    minimum: [f32; 3],
    maximum: [f32; 3],
}

/// Reads a file.
///
/// # Errors
/// It cannot be read, or it breaks the specification.
pub(super) fn read(path: &Path) -> Result<Table, TableError> {
    let unread = |error: std::io::Error| TableError {
        path: path.to_path_buf(),
        line: None,
        message: format!("cannot be read as a colour table (.cube): {error}"),
    };
    let file = File::open(path).map_err(unread)?;
    let (texels, _) = parse(&mut BufReader::new(file), path)?;
    Ok(Table::new(texels, Some(path)))
}

/// The table's texels, and how many lines there were. `path` is for messages.
pub(super) fn parse(text: &mut impl BufRead, path: &Path) -> Result<(Vec<[f32; 4]>, usize), TableError> {
    let mut number = 0;
    let mut head = Head {
        size: None,
        minimum: [0.0; 3],
        maximum: [1.0; 3],
    };
    // The head's three texels are written when it is known.
    let mut texels = vec![[0.0; 4]; 3];
    let mut entries = 0;
    let mut bytes = Vec::new();
    loop {
        let error = |message: String| TableError {
            path: path.to_path_buf(),
            line: Some(number + 1),
            message,
        };
        bytes.clear();
        let length = text
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut bytes)
            .map_err(|failed| error(format!("cannot be read: {failed}")))?;
        if length as u64 == LONGEST_LINE {
            return Err(error(format!(
                "expected lines of a colour table (.cube), found one of more than {LONGEST_LINE} bytes"
            )));
        }
        if length == 0 {
            break;
        }
        let line = String::from_utf8_lossy(&bytes);
        let mut words = line.trim_start_matches('\u{feff}').split_whitespace();
        let Some(first) = words.next().filter(|word| !word.starts_with('#')) else {
            number += 1;
            continue;
        };
        if first.starts_with(|letter: char| letter.is_ascii_alphabetic()) && !is_number(first) {
            if texels.len() > 3 {
                return Err(error(format!(
                    "expected keywords before the first entry, found {first:?} after it"
                )));
            }
            head.keyword(first, words).map_err(error)?;
        } else {
            if texels.len() == 3 {
                entries = head.entries().map_err(error)?;
            }
            if texels.len() - 3 == entries {
                return Err(error(format!("expected {entries} entries, found more")));
            }
            let values = numbers::<3>([first].into_iter().chain(words));
            let [red, green, blue] = values.map_err(|found| error(format!("expected an entry, {found}")))?;
            texels.push([red, green, blue, 0.0]);
        }
        number += 1;
    }
    let end = |message: String| TableError {
        path: path.to_path_buf(),
        line: Some(number.max(1)),
        message,
    };
    let entries = head.entries().map_err(end)?;
    if texels.len() - 3 != entries {
        let found = texels.len() - 3;
        return Err(end(format!(
            "expected {entries} entries, found {found} when the file ended"
        )));
    }
    let (size, dimensions) = head.size.unwrap_or_default();
    texels[0] = [size as f32, dimensions as f32, 0.0, 0.0];
    texels[1][..3].copy_from_slice(&head.minimum);
    texels[2][..3].copy_from_slice(&head.maximum);
    Ok((texels, number))
}

/// `nan` and `inf` are numbers to say no to, not keywords.
fn is_number(word: &str) -> bool {
    word.parse::<f32>().is_ok()
}

impl Head {
    fn keyword<'a>(&mut self, keyword: &str, words: impl Iterator<Item = &'a str>) -> Result<(), String> {
        let expected = |found: String| format!("{keyword}: {found}");
        match keyword {
            "TITLE" => {}
            "LUT_3D_SIZE" => self.size(keyword, words, 3, SIZES_3D)?,
            "LUT_1D_SIZE" => self.size(keyword, words, 1, SIZES_1D)?,
            "DOMAIN_MIN" => self.minimum = numbers(words).map_err(expected)?,
            "DOMAIN_MAX" => self.maximum = numbers(words).map_err(expected)?,
            "LUT_3D_INPUT_RANGE" | "LUT_1D_INPUT_RANGE" => {
                let [low, high] = numbers(words).map_err(expected)?;
                (self.minimum, self.maximum) = ([low; 3], [high; 3]);
            }
            _ => {
                return Err(format!(
                    "expected TITLE, LUT_3D_SIZE, LUT_1D_SIZE, DOMAIN_MIN, DOMAIN_MAX, a comment or an entry of three \
                     numbers, found {keyword:?}"
                ));
            }
        }
        Ok(())
    }

    fn size<'a>(
        &mut self,
        keyword: &str,
        mut words: impl Iterator<Item = &'a str>,
        dimensions: u32,
        valid: RangeInclusive<u32>,
    ) -> Result<(), String> {
        if self.size.is_some() {
            return Err(format!(
                "{keyword}: expected one size a file: one table, of three dimensions or of one"
            ));
        }
        let word = words.next().unwrap_or_default();
        let size = word.parse().ok().filter(|size| valid.contains(size));
        let (low, high) = valid.into_inner();
        let size = size
            .filter(|_| words.next().is_none())
            .ok_or_else(|| format!("{keyword}: expected a whole number from {low} to {high}, found {word:?}"))?;
        self.size = Some((size, dimensions));
        Ok(())
    }

    /// How many entries follow.
    fn entries(&self) -> Result<usize, String> {
        let (size, dimensions) = self
            .size
            .ok_or("expected LUT_3D_SIZE or LUT_1D_SIZE before the first entry of a colour table (.cube)")?;
        if (0..3).any(|channel| self.minimum[channel] >= self.maximum[channel]) {
            let (minimum, maximum) = (self.minimum, self.maximum);
            return Err(format!(
                "expected each of DOMAIN_MIN below that of DOMAIN_MAX, found {minimum:?} and {maximum:?}"
            ));
        }
        Ok((size as usize).pow(dimensions))
    }
}

/// So many numbers, and nothing behind them.
fn numbers<'a, const N: usize>(words: impl Iterator<Item = &'a str>) -> Result<[f32; N], String> {
    let words: Vec<&str> = words.take(N + 1).collect();
    let parse = |word: &&str| word.parse::<f32>().ok().filter(|value| value.abs() <= LIMIT);
    let values: Option<Vec<f32>> = words.iter().map(parse).collect();
    values.and_then(|values| values.try_into().ok()).ok_or_else(|| {
        // A line of something else may be long.
        let found: String = words.join(" ").chars().take(60).collect();
        format!("expected {N} numbers from -{LIMIT} to {LIMIT}, found {found:?}")
    })
}

#[cfg(test)]
#[path = "cube_tests.rs"]
mod tests;
