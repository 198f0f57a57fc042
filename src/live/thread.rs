//! The thread that makes effects of saved files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::build::{Problem, build, read};
use super::files::{Files, KernelFile};
use super::watch::Watcher;
use crate::cuda::Diagnostic;
use crate::kernels::{Effect, HEADERS, catalogue};
use crate::process::KernelLoader;

/// How long the thread takes at most to see that it is no longer wanted.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What effects are made for.
#[derive(Clone)]
pub struct Target {
    /// The GPU's compute capability.
    pub capability: (i32, i32),
    /// Who loads them. `None`: nobody does, and they are only compiled.
    pub loader: Option<Arc<KernelLoader>>,
}

/// What came of a saved file.
#[derive(Debug)]
pub enum Event {
    /// It runs as soon as a plan has it.
    Ready {
        /// The file.
        path: PathBuf,
        /// The effect, loaded.
        effect: Box<Effect>,
        /// What the compiler warns of.
        warnings: Vec<Diagnostic>,
        /// From the moment it was seen to be saved.
        took: Duration,
    },
    /// It cannot be used; what was made of it before still can.
    Failed(Problem),
    /// Something that only has to be known.
    Said(String),
}

/// The thread. It ends when this is dropped.
pub struct Live {
    events: Receiver<Event>,
    is_wanted: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Live {
    /// Makes effects of all `files` that are there, and gives what came of each, in their order. Then watches them all, and those of
    /// `program` besides, of which only what differs from the program's own is made.
    pub fn start(files: Files, program: Files, target: Target) -> (Vec<Event>, Option<Self>) {
        let (sender, events) = channel();
        let mut workshop = Workshop {
            texts: BTreeMap::new(),
            files: files.clone(),
            target,
            events: sender,
        };
        for file in files.all() {
            workshop.work(&file);
        }
        let first = events.try_iter().collect();
        // What is in the program needs no compiler until somebody changes it.
        for file in program.all() {
            let own = file
                .path
                .file_stem()
                .and_then(|stem| catalogue().by_name(stem.to_str()?).ok());
            if let Some(own) = own {
                workshop.texts.insert(file.key.clone(), own.code.clone());
            }
        }
        workshop.files.extend(program);
        let is_wanted = Arc::new(AtomicBool::new(true));
        let wanted = Arc::clone(&is_wanted);
        let mut watcher = match watcher_of(&workshop.files) {
            Ok(watcher) => watcher,
            Err(error) => {
                tracing::warn!("kernels are not watched: {error}");
                return (first, None);
            }
        };
        let body = move || {
            for file in workshop.files.all() {
                workshop.work(&file);
            }
            while wanted.load(Ordering::Relaxed) {
                for saved in watcher.wait(LOOK_EVERY) {
                    workshop.saved(&saved);
                }
            }
        };
        let thread = std::thread::Builder::new().name("live kernels".into()).spawn(body);
        let thread = thread
            .inspect_err(|error| tracing::warn!("kernels are not watched: {error}"))
            .ok();
        let live = thread.map(|thread| Self {
            events,
            is_wanted,
            thread: Some(thread),
        });
        (first, live)
    }

    /// What came of files since the last call. Never waits.
    pub fn take(&self) -> Vec<Event> {
        self.events.try_iter().collect()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.is_wanted.store(false, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic was printed when it happened.
            let _ = thread.join();
        }
    }
}

fn watcher_of(files: &Files) -> notify::Result<Watcher> {
    let mut watcher = Watcher::new()?;
    for folder in files.folders() {
        watcher.watch(folder)?;
    }
    Ok(watcher)
}

/// Where effects are made.
struct Workshop {
    /// What was last made of each file, or tried.
    texts: BTreeMap<PathBuf, String>,
    files: Files,
    target: Target,
    events: Sender<Event>,
}

impl Workshop {
    /// A file was saved: a kernel, or one that kernels beside it include.
    fn saved(&mut self, key: &Path) {
        if let Some(file) = self.files.find(key) {
            return self.work(&file);
        }
        let Some(name) = key.file_name().and_then(|name| name.to_str()) else {
            return;
        };
        if HEADERS.iter().any(|(header, _)| *header == name) {
            self.give(Event::Said(format!(
                "{name} is built into the program: cargo run takes the change in"
            )));
            return;
        }
        let quoted = format!("\"{name}\"");
        let includes = |file: &KernelFile| {
            file.key.parent() == key.parent() && self.texts.get(&file.key).is_some_and(|text| text.contains(&quoted))
        };
        let files: Vec<KernelFile> = self.files.all().into_iter().filter(includes).collect();
        for file in files {
            self.texts.remove(&file.key);
            self.work(&file);
        }
    }

    /// Makes an effect of the file, unless that was tried with the same text.
    fn work(&mut self, file: &KernelFile) {
        let began = Instant::now();
        let text = match read(&file.path) {
            Ok(text) => text,
            // An editor that writes another file and renames it; or it was deleted, and what was made of it stays.
            Err(_) if !file.path.exists() => return,
            Err(problem) => return self.give(Event::Failed(problem)),
        };
        if self.texts.get(&file.key) == Some(&text) {
            return;
        }
        let event = match self.make(&file.path, &text) {
            Ok((effect, warnings)) => Event::Ready {
                path: file.path.clone(),
                effect: Box::new(effect),
                warnings,
                took: began.elapsed(),
            },
            Err(problem) => Event::Failed(problem),
        };
        self.texts.insert(file.key.clone(), text);
        self.give(event);
    }

    fn make(&self, path: &Path, text: &str) -> Result<(Effect, Vec<Diagnostic>), Problem> {
        let built = build(path, text, self.target.capability)?;
        if let Some(loader) = &self.target.loader {
            loader.load(&built.effect).map_err(|error| Problem::new(path, error))?;
        }
        Ok((built.effect, built.warnings))
    }

    fn give(&self, event: Event) {
        // Nobody takes it when the program ends meanwhile.
        let _ = self.events.send(event);
    }
}
