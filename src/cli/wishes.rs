//! The chain that a command line asks for.

use std::path::Path;
use std::sync::Arc;

use crate::kernels::{Catalogue, Chain, catalogue};
use crate::live::describe;

use super::live::UserFiles;
use super::options::{DEFAULT_KERNELS, ViewOptions};
use super::presets::Presets;
use super::usage;

/// What `--kernel`, `--kernels`, `--preset` and `--set` say.
pub(crate) struct Wishes {
    pub user: UserFiles,
    /// Effects that are on besides, at their places: those of `--kernel`, where nothing was said of what is on.
    also_on: Vec<String>,
    preset: Option<String>,
    settings: Vec<String>,
}

impl Wishes {
    /// Reads them.
    ///
    /// # Errors
    /// A file or folder that is not there, or cannot be one.
    pub fn new(options: &ViewOptions) -> anyhow::Result<Self> {
        let default = || DEFAULT_KERNELS.split(',').map(str::to_owned).collect();
        let kernels = match (&options.kernels, &options.preset) {
            (None, Some(_)) => Vec::new(),
            (given, _) => given.clone().unwrap_or_else(default),
        };
        let user = UserFiles::new(&options.kernel, &kernels)?;
        if options.preset.is_some() && !user.names.is_empty() {
            let names = user.names.join(",");
            return Err(usage(format!(
                "--kernels {names} and --preset both say what is on: with a preset, --kernels takes folders alone"
            )));
        }
        let is_open = options.kernels.is_none() && options.preset.is_none();
        let stems = options
            .kernel
            .iter()
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
        Ok(Self {
            also_on: stems.filter(|_| is_open).collect(),
            user,
            preset: options.preset.clone(),
            settings: options.set.clone(),
        })
    }

    /// Refuses what cannot be, before anything is opened: the files' code is not compiled for that.
    ///
    /// # Errors
    /// As [`Self::chain`].
    pub fn check(&self, presets: &mut Presets) -> anyhow::Result<()> {
        let (mut all, mut broken) = (Catalogue::clone(catalogue()), Vec::new());
        for file in self.user.files.all() {
            match describe(&file.path) {
                Ok(effect) => {
                    if let Ok((more, _)) = all.with(effect) {
                        all = more;
                    }
                }
                Err(_) => broken.extend(file.path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned)),
            }
        }
        let is_broken = |name: &str| broken.iter().any(|broken| broken == name);
        self.chain(&Arc::new(all), presets, &is_broken).map(drop)
    }

    /// The chain. Effects that `awaits` are left out: they are not there yet.
    ///
    /// # Errors
    /// Names that there are not, values out of range, each with what there is.
    pub fn chain(
        &self,
        catalogue: &Arc<Catalogue>,
        presets: &mut Presets,
        awaits: &dyn Fn(&str) -> bool,
    ) -> anyhow::Result<Chain> {
        let mut chain = match &self.preset {
            Some(name) => presets.load(name, &Chain::new(catalogue))?,
            None => {
                let names = self.user.names.iter().map(String::as_str);
                let names: Vec<&str> = names.filter(|name| *name != "none" && !awaits(name)).collect();
                Chain::with_enabled(catalogue, &names).map_err(usage)?
            }
        };
        for name in &self.also_on {
            if let Ok(effect) = catalogue.index_of(name)
                && !chain.is_enabled(effect)
            {
                chain.toggle(effect);
            }
        }
        for setting in &self.settings {
            let effect = setting.split_once('.').map_or("", |(effect, _)| effect.trim());
            if awaits(effect) {
                tracing::warn!("--set {setting}: {effect} is not there yet");
            } else {
                set(&mut chain, setting)?;
            }
        }
        Ok(chain)
    }
}

/// Sets what `--set` names: a parameter to a number, or a table to what a file holds.
fn set(chain: &mut Chain, setting: &str) -> anyhow::Result<()> {
    if let Some((name, path)) = setting.split_once('=')
        && chain.takes_file(name.trim())
    {
        let set = chain.set_file(name.trim(), Path::new(path));
        return set.map_err(|error| usage(format!("--set {setting}: {error}")));
    }
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|value| value.is_finite());
    let Some((name, value)) = setting
        .split_once('=')
        .and_then(|(name, value)| Some((name.trim(), number(value)?)))
    else {
        return Err(usage(format!(
            "--set {setting}: expected EFFECT.PARAMETER=NUMBER, such as bloom.intensity=0.3"
        )));
    };
    chain
        .set(name, value)
        .map_err(|error| usage(format!("--set {setting}: {error}")))
}
