//! Where presets are: those that come with the program, and the user's in a folder of theirs.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use etcetera::BaseStrategy;

use crate::kernels::nearest::did_you_mean;
use crate::kernels::{Chain, Preset, catalogue};
use crate::whole_file::{folder_of, unfinished};

use super::output::print;
use super::usage;

/// What comes with the program: name and text.
const SHIPPED: &[(&str, &str)] = &[
    ("comic", include_str!("../../assets/presets/comic.toml")),
    ("crisp", include_str!("../../assets/presets/crisp.toml")),
    ("dream", include_str!("../../assets/presets/dream.toml")),
    ("film", include_str!("../../assets/presets/film.toml")),
    ("neutral", include_str!("../../assets/presets/neutral.toml")),
];

/// What ends the name of a preset's file.
const ENDING: &str = "toml";

/// A preset file is a page of text at most; anything larger is another file.
const LARGEST_FILE: u64 = 1 << 20;

/// The presets that there are, and which one was loaded last.
pub(crate) struct Presets {
    /// The user's folder, which need not be there. `None` without a home.
    folder: Option<PathBuf>,
    current: Option<String>,
}

/// Where a preset is.
#[derive(Debug, Clone, PartialEq)]
enum Source {
    Shipped(&'static str),
    File(PathBuf),
}

impl Presets {
    /// Those of the user, by the XDG base directory specification: `$XDG_CONFIG_HOME/handover/presets`.
    pub fn of_user() -> Self {
        let base = etcetera::choose_base_strategy().ok();
        Self::in_folder(base.map(|base| base.config_dir().join("handover/presets")))
    }

    /// Those in a folder, beside those of the program.
    pub fn in_folder(folder: Option<PathBuf>) -> Self {
        Self { folder, current: None }
    }

    /// Loads a preset by its name, or from a file.
    ///
    /// # Errors
    /// There is none, or it is broken: the message names the file and the line.
    pub fn load(&mut self, name: &str, like: &Chain) -> anyhow::Result<Chain> {
        let source = if is_path(name) {
            Source::File(name.into())
        } else {
            let mut all = self.all();
            let known = Vec::from_iter(all.keys().cloned());
            let unknown = || {
                let (meant, known) = (did_you_mean(name, &known), known.join(", "));
                usage(format!(
                    "no preset is called {name:?}{meant}; there are {known}; a file is given with its path"
                ))
            };
            all.remove(name).ok_or_else(unknown)?
        };
        let chain = read(name, &source, like)?.chain;
        self.current = Some(name.to_owned());
        Ok(chain)
    }

    /// Goes so many presets further; says in the log which one it is, or what is wrong with it.
    pub fn switch(&mut self, by: i32, like: &Chain) -> Option<Chain> {
        let all = Vec::from_iter(self.all());
        let now = all.iter().position(|(name, _)| self.current.as_ref() == Some(name));
        let (name, source) = &all[super::tuning::along_ring(now, by, all.len())];
        // One that is broken is passed by the next press.
        self.current = Some(name.clone());
        match read(name, source, like) {
            Ok(preset) => {
                let title = preset.title.map_or_else(String::new, |title| format!(": {title}"));
                tracing::info!("preset {name}{title}");
                Some(preset.chain)
            }
            Err(error) => {
                tracing::error!("no preset: {error:#}");
                None
            }
        }
    }

    /// Writes the chain into the user's folder, under the next free name.
    ///
    /// # Errors
    /// There is no such folder, or it cannot be written to.
    pub fn save_next(&mut self, chain: &Chain) -> anyhow::Result<PathBuf> {
        let folder = self.user_folder()?;
        for number in 1_u32.. {
            let name = format!("preset-{number:04}");
            let path = folder.join(&name).with_extension(ENDING);
            match write_new(&path, chain) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).with_context(|| format!("write {}", path.display())),
                Ok(()) => {
                    self.current = Some(name);
                    return Ok(path);
                }
            }
        }
        anyhow::bail!("{} has no free name", folder.display())
    }

    /// Where a preset of this name, or this path, is to be written: it must not be there yet.
    ///
    /// # Errors
    /// Why it cannot be written there.
    pub fn check_new(&self, name: &str) -> anyhow::Result<PathBuf> {
        let refused = |reason: String| usage(format!("--save-preset {name}: {reason}"));
        let path = self.path_of(name)?;
        if path.extension().is_none_or(|ending| ending != ENDING) {
            return Err(refused(format!("presets are TOML, so its name must end in .{ENDING}")));
        }
        if path.symlink_metadata().is_ok() {
            return Err(refused(format!(
                "{} exists, and presets are not overwritten",
                path.display()
            )));
        }
        let folder = folder_of(&path);
        if is_path(name) && !folder.is_dir() {
            return Err(refused(format!("the folder {} does not exist", folder.display())));
        }
        Ok(path)
    }

    /// Writes the chain to a path that [`Self::check_new`] gave.
    ///
    /// # Errors
    /// It cannot be written, or was made meanwhile.
    pub fn save(path: &Path, chain: &Chain) -> anyhow::Result<()> {
        write_new(path, chain).with_context(|| format!("write the preset {}", path.display()))
    }

    fn path_of(&self, name: &str) -> anyhow::Result<PathBuf> {
        if is_path(name) {
            return Ok(name.into());
        }
        if name.is_empty() || name.starts_with('.') {
            return Err(usage(format!(
                "--save-preset {name:?}: expected a name or the path of a file"
            )));
        }
        Ok(self.user_folder()?.join(format!("{name}.{ENDING}")))
    }

    fn user_folder(&self) -> anyhow::Result<&Path> {
        let folder = self.folder.as_deref();
        folder.context("there is no home folder to keep presets in: set HOME or XDG_CONFIG_HOME")
    }

    /// All by name; the user's hide those of the program.
    fn all(&self) -> BTreeMap<String, Source> {
        let shipped = SHIPPED
            .iter()
            .map(|(name, text)| ((*name).to_owned(), Source::Shipped(text)));
        let entries = self
            .folder
            .iter()
            .filter_map(|folder| fs::read_dir(folder).ok())
            .flatten();
        let own = entries.filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_stem()?.to_str()?.to_owned();
            let is_preset = path.extension()? == ENDING && !name.starts_with('.');
            is_preset.then_some((name, Source::File(path)))
        });
        shipped.chain(own).collect()
    }
}

/// A path, and no name.
fn is_path(name: &str) -> bool {
    name.contains(std::path::MAIN_SEPARATOR) || Path::new(name).extension().is_some_and(|ending| ending == ENDING)
}

fn read(name: &str, source: &Source, like: &Chain) -> anyhow::Result<Preset> {
    let path = match source {
        Source::Shipped(text) => return Preset::read(name, text, like).map_err(usage),
        Source::File(path) => path,
    };
    let file = path.display().to_string();
    let refused = |reason: &str| usage(format!("{file}: {reason}"));
    let found = fs::metadata(path).map_err(|error| refused(&error.to_string()))?;
    if !found.is_file() || found.len() > LARGEST_FILE {
        return Err(refused("it is no preset: expected a TOML file of less than 1 MiB"));
    }
    let text = fs::read_to_string(path).map_err(|error| refused(&error.to_string()))?;
    Preset::read(&file, &text, like).map_err(usage)
}

/// The whole file or none, and never in the place of another.
fn write_new(path: &Path, chain: &Chain) -> io::Result<()> {
    let folder = folder_of(path);
    fs::create_dir_all(folder)?;
    let mut file = unfinished(folder)?;
    file.write_all(Preset::write(chain, None).as_bytes())?;
    file.persist_noclobber(path)?;
    Ok(())
}

/// `handover presets`: what there is, and where.
///
/// # Errors
/// Standard output is gone.
pub(crate) fn run() -> anyhow::Result<()> {
    let like = &Chain::new(catalogue());
    let presets = Presets::of_user();
    let all = presets.all();
    let width = all.keys().map(|name| name.chars().count()).max().unwrap_or(0);
    for (name, source) in &all {
        let preset = read(name, source, like);
        let what = match &preset {
            Ok(preset) => {
                let effects = preset.chain.enabled_names().join(", ");
                match &preset.title {
                    Some(title) => format!("{title} ({effects})"),
                    None => effects,
                }
            }
            Err(error) => format!("broken: {error:#}"),
        };
        print(format_args!("{name:width$}  {what}"))?;
    }
    match presets.user_folder() {
        Ok(folder) => print(format_args!(
            "Yours are the files in {}; F5 in the window writes one.",
            folder.display()
        )),
        Err(error) => print(format_args!("{error}")),
    }
}

#[cfg(test)]
#[path = "presets_tests.rs"]
mod tests;
