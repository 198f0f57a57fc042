//! Kernels that are written while a view runs: what comes of saved files goes into the chain between two frames.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::kernels::{Catalogue, Effect, Member, catalogue};
use crate::live::{Event, Files, Fuse, Fuser, Live, Problem, Target};
use crate::overlay::Notice;
use crate::renderer::Renderer;

use super::setup::Machine;
use super::usage;

/// Where there is no CUDA device, kernels are compiled for the oldest one: their errors are found, and they do not run.
const OLDEST: (i32, i32) = (7, 5);

/// Lines of problems that the window has room for.
const NOTICE_LINES: usize = 12;

/// The files that a user asks for, by `--kernel` and by folders in `--kernels`.
pub(crate) struct UserFiles {
    pub files: Files,
    /// Names of `--kernels` that are effects.
    pub names: Vec<String>,
}

impl UserFiles {
    /// Parts the elements of `--kernels`: those with a `/` are folders.
    ///
    /// # Errors
    /// A file or a folder that is not there, or cannot be one.
    pub fn new(files: &[PathBuf], kernels: &[String]) -> anyhow::Result<Self> {
        let trimmed = kernels.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
        let (folders, names): (Vec<&str>, Vec<&str>) = trimmed.partition(|name| name.contains('/'));
        let folders: Vec<PathBuf> = folders.into_iter().map(PathBuf::from).collect();
        Ok(Self {
            files: Files::new(files, &folders).map_err(usage)?,
            names: names.into_iter().map(str::to_owned).collect(),
        })
    }

    /// The effects that the files make, by their names.
    pub fn effects(&self) -> Vec<String> {
        let stems = self
            .files
            .all()
            .into_iter()
            .filter_map(|file| Some(file.path.file_stem()?.to_str()?.to_owned()));
        stems.collect()
    }
}

/// The files' thread, and what is wrong with them now.
pub(crate) struct LiveKernels {
    live: Option<Live>,
    /// By file.
    problems: BTreeMap<String, Problem>,
    catalogue: Arc<Catalogue>,
    target: Target,
    /// Makes one kernel of neighbours; `None`: they run one by one.
    fuser: Option<Fuser>,
    /// Effects that were on at the start and could not be made yet.
    awaited: Vec<String>,
}

/// What changed between two frames.
#[derive(Default)]
pub(crate) struct Changes {
    /// Effects were replaced or added: this is the catalogue with them.
    pub catalogue: Option<Arc<Catalogue>>,
    /// Effects to switch on, which were asked for at the start.
    pub switch_on: Vec<String>,
    /// Those that were replaced: to be unloaded once no plan has them.
    replaced: Vec<Arc<Effect>>,
    /// There are other problems than before.
    pub has_other_problems: bool,
}

impl LiveKernels {
    /// Makes effects of the user's files, and watches them; with `watches_program`, the program's own files too.
    pub fn start(
        user: &UserFiles,
        renderer: &mut Renderer,
        machine: &Machine,
        (watches_program, fuse): (bool, Fuse),
    ) -> Self {
        let capability = machine.cuda.as_ref().map(|(_, device)| device.compute_capability);
        let loader = renderer.processor().kernel_loader();
        let target = Target {
            capability: capability.unwrap_or(OLDEST),
            loader,
        };
        let mut live = Self {
            live: None,
            problems: BTreeMap::new(),
            catalogue: Arc::clone(catalogue()),
            target: target.clone(),
            fuser: (fuse == Fuse::Auto && renderer.processor().is_on_gpu())
                .then(|| Fuser::start(target.clone()))
                .flatten(),
            awaited: Vec::new(),
        };
        let program = if watches_program && target.loader.is_some() {
            Files::of_program()
        } else {
            Files::default()
        };
        if user.files.is_empty() && program.is_empty() {
            return live;
        }
        if target.loader.is_none() {
            tracing::warn!(
                "the host runs the kernels' references on the CPU, and a kernel of yours has none: it is compiled and does not run; \
                 that takes CUDA"
            );
        }
        let (first, thread) = Live::start(user.files.clone(), program, target);
        live.live = thread;
        let mut changes = Changes::default();
        first.into_iter().for_each(|event| live.receive(event, &mut changes));
        let known = |name: &String| live.catalogue.index_of(name).is_ok();
        live.awaited = user
            .effects()
            .into_iter()
            .filter(|name| user.names.contains(name) && !known(name))
            .collect();
        live
    }

    /// The effects of the program and of the files.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// An effect was asked for, and cannot be made of its file yet.
    pub fn awaits(&self, name: &str) -> bool {
        self.awaited.iter().any(|awaited| awaited == name)
    }

    /// Whether an effect can run here: where the references run, one without them cannot.
    pub fn can_run(&self, effect: &Effect) -> bool {
        let is_own = || catalogue().by_name(&effect.name).is_ok_and(|own| own.id == effect.id);
        self.target.loader.is_some() || is_own()
    }

    /// The kernel of neighbours, if it is there; if not it is made from now on.
    pub fn fused(&self, members: &[Member]) -> Option<Arc<Effect>> {
        self.fuser.as_ref()?.find(members)
    }

    /// Whether such a kernel came since the last call, so that a plan may be another.
    pub fn take_fused(&self) -> bool {
        self.fuser.as_ref().is_some_and(Fuser::take_news)
    }

    /// What came of saved files since the last frame.
    pub fn poll(&mut self) -> Changes {
        let mut changes = Changes::default();
        let events = self.live.as_ref().map(Live::take).unwrap_or_default();
        events.into_iter().for_each(|event| self.receive(event, &mut changes));
        changes
    }

    /// No plan has the effects any more that were replaced.
    pub fn unload(&self, changes: &Changes) {
        for effect in &changes.replaced {
            if let Some(fuser) = &self.fuser {
                fuser.forget(effect.id);
            }
            if let Some(loader) = &self.target.loader {
                loader.forget(effect.id);
            }
        }
    }

    /// What is wrong with files now, for the window.
    pub fn notice(&self) -> Option<Notice> {
        let first = self.problems.values().next()?;
        let stays = if self.catalogue_has(first) {
            "; the last good one stays"
        } else {
            ""
        };
        let more = match self.problems.len() {
            1 => String::new(),
            count => format!(", and {} more", count - 1),
        };
        let mut lines: Vec<String> = self
            .problems
            .values()
            .flat_map(|problem| problem.lines.clone())
            .collect();
        if lines.len() > NOTICE_LINES {
            let rest = lines.split_off(NOTICE_LINES - 1).len();
            lines.push(format!("and {rest} lines more, which the log has"));
        }
        Some(Notice {
            heading: format!("{} cannot be used{more}{stays}", first.file),
            lines,
        })
    }

    /// The file that is wrong, for the window's title.
    pub fn problem_text(&self) -> Option<String> {
        let first = self.problems.values().next()?;
        Some(format!("{} cannot be used", first.file))
    }

    fn catalogue_has(&self, problem: &Problem) -> bool {
        let path = PathBuf::from(&problem.file);
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        self.catalogue.index_of(stem).is_ok()
    }

    fn receive(&mut self, event: Event, changes: &mut Changes) {
        match event {
            Event::Said(text) => tracing::info!("{text}"),
            Event::Failed(problem) => self.refuse(problem, changes),
            Event::Ready {
                path,
                effect,
                warnings,
                took,
            } => {
                let (file, name, id) = (path.display().to_string(), effect.name.clone(), effect.id);
                for warning in &warnings {
                    tracing::warn!("{warning}");
                }
                let before = self.catalogue.by_name(&name).ok().cloned();
                match self.catalogue.with(*effect) {
                    Ok((catalogue, _)) => self.catalogue = Arc::new(catalogue),
                    Err(error) => {
                        if let Some(loader) = &self.target.loader {
                            loader.forget(id);
                        }
                        let lines = vec![format!("{file}: {error}: give it another key, or none")];
                        return self.refuse(Problem { file, lines }, changes);
                    }
                }
                let is_program_s = |effect: &Effect| catalogue().by_name(&name).is_ok_and(|own| own.id == effect.id);
                let takes_place =
                    before.as_deref().is_some_and(is_program_s) && !path.starts_with(env!("CARGO_MANIFEST_DIR"));
                let instead = if takes_place {
                    ", in the place of the program's effect of that name"
                } else {
                    ""
                };
                tracing::info!("{file}: compiled in {} ms{instead}", took.as_millis());
                changes.has_other_problems |= self.problems.remove(&file).is_some();
                changes.replaced.extend(before);
                changes.catalogue = Some(Arc::clone(&self.catalogue));
                if let Some(place) = self.awaited.iter().position(|awaited| *awaited == name) {
                    changes.switch_on.push(self.awaited.swap_remove(place));
                }
            }
        }
    }

    fn refuse(&mut self, problem: Problem, changes: &mut Changes) {
        let stays = if self.catalogue_has(&problem) {
            " (the last good one stays)"
        } else {
            ""
        };
        tracing::error!("a kernel cannot be used{stays}:\n{problem}");
        self.problems.insert(problem.file.clone(), problem);
        changes.has_other_problems = true;
    }
}
