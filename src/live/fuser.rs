//! Kernels of several effects, made beside the frames: until one is there, and where it cannot be, its effects run one by one.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::build::binary_of;
use super::includes::whole;
use super::thread::Target;
use crate::cuda::{CompileError, Source, compile_for};
use crate::kernels::{Effect, EffectId, FusedSource, HEADERS, Member, compile_options};

/// How long the end of the program waits for a kernel that is being made.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether neighbours run as one kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fuse {
    /// Where they can: each makes a texel of one.
    #[default]
    Auto,
    /// Each effect by itself.
    Off,
}

/// Makes the kernel of passes that follow one another: the program's own where there is one, else by NVRTC, for a GPU of that
/// compute capability.
///
/// # Errors
/// There is no NVRTC, or the effects' codes do not go together.
pub fn fuse(members: &[Member], capability: (i32, i32)) -> Result<Effect, CompileError> {
    let source = FusedSource::new(members);
    if let Some(binary) = source.precompiled() {
        return Ok(source.effect(binary));
    }
    let (mut outside, mut headers) = (BTreeSet::new(), Vec::new());
    for Member { of, .. } in members {
        let whole = whole(of);
        outside.extend(whole.outside);
        headers.push((format!("{}.cu", of.name), whole.code));
    }
    let before = Vec::from_iter(outside).join("\n");
    let options: Vec<&str> = compile_options().collect();
    let headers = headers.iter().map(|(name, code)| (name.as_str(), code.as_str()));
    let compiled = compile_for(
        &Source {
            name: &format!("{}.cu", source.label),
            text: &format!("{before}\n{}", source.code),
            headers: &HEADERS.iter().copied().chain(headers).collect::<Vec<_>>(),
            include_folders: &[],
            options: &options,
        },
        capability,
    )?;
    Ok(source.effect(binary_of(compiled.binary)))
}

/// Makes such kernels on a thread of its own, each once. Asking never waits.
pub struct Fuser {
    shared: Arc<Shared>,
    requests: Option<Sender<(Key, Vec<Member>)>>,
    thread: Option<JoinHandle<()>>,
}

/// The members' effects, whose last pass or only pass it is.
type Key = Vec<(EffectId, usize)>;

/// What the thread and its owner both touch.
struct Shared {
    /// `None`: it is being made, or cannot be.
    made: Mutex<HashMap<Key, Option<Arc<Effect>>>>,
    has_news: AtomicBool,
    is_wanted: AtomicBool,
    target: Target,
}

impl Fuser {
    /// Starts the thread. `None`: there is none, and effects run one by one.
    pub fn start(target: Target) -> Option<Self> {
        let shared = Arc::new(Shared {
            made: Mutex::default(),
            has_news: AtomicBool::new(false),
            is_wanted: AtomicBool::new(true),
            target,
        });
        let (requests, receiver) = channel();
        let on_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("kernel fuser".into());
        match thread.spawn(move || on_thread.run(&receiver)) {
            Ok(thread) => Some(Self {
                shared,
                requests: Some(requests),
                thread: Some(thread),
            }),
            Err(error) => {
                tracing::warn!("effects run one by one: {error}");
                None
            }
        }
    }

    /// The kernel of these passes, if it is there. If not it is made from now on, once.
    pub fn find(&self, members: &[Member]) -> Option<Arc<Effect>> {
        let key: Key = members.iter().map(|member| (member.of.id, member.pass)).collect();
        let mut made = self.shared.made();
        if let Some(kernel) = made.get(&key) {
            return kernel.clone();
        }
        made.insert(key.clone(), None);
        if let Some(requests) = &self.requests {
            // The thread is there as long as this is.
            let _ = requests.send((key, members.to_vec()));
        }
        None
    }

    /// Whether there is a kernel more than at the last call: then a plan made now may be another.
    pub fn take_news(&self) -> bool {
        self.shared.has_news.swap(false, Ordering::Relaxed)
    }

    /// No plan will have this effect any more.
    pub fn forget(&self, effect: EffectId) {
        self.shared.made().retain(|key, kernel| {
            let stays = key.iter().all(|(member, _)| *member != effect);
            if let (false, Some(kernel), Some(loader)) = (stays, kernel, &self.shared.target.loader) {
                loader.forget(kernel.id);
            }
            stays
        });
    }
}

impl Shared {
    fn made(&self) -> MutexGuard<'_, HashMap<Key, Option<Arc<Effect>>>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread: kernel after kernel.
    fn run(&self, requests: &Receiver<(Key, Vec<Member>)>) {
        for (key, members) in requests {
            if !self.is_wanted.load(Ordering::Relaxed) {
                return;
            }
            let began = Instant::now();
            let names: Vec<&str> = members.iter().map(|member| member.of.name.as_str()).collect();
            let label = names.join("+");
            match fuse(&members, self.target.capability) {
                Ok(effect) => self.take(key, effect, began),
                // Where there is no compiler, effects run one by one as a matter of course.
                Err(error @ CompileError::NoCompiler) => tracing::debug!("{label} run one by one: {error}"),
                Err(error) => {
                    let text = error.to_string();
                    let first = text.lines().find(|line| line.contains("error")).unwrap_or(&text);
                    tracing::warn!("{label} run one by one: {first}");
                }
            }
        }
    }

    /// Loads it, so that no frame has to, and makes it known.
    fn take(&self, key: Key, effect: Effect, began: Instant) {
        if let Some(loader) = &self.target.loader
            && let Err(error) = loader.load(&effect)
        {
            tracing::warn!("{} run one by one: {error}", effect.name);
            return;
        }
        tracing::debug!(
            "{}: one kernel, made in {} ms",
            effect.name,
            began.elapsed().as_millis()
        );
        // An effect that was replaced meanwhile is no longer asked for.
        if let Some(place) = self.made().get_mut(&key) {
            *place = Some(Arc::new(effect));
            self.has_news.store(true, Ordering::Relaxed);
        } else if let Some(loader) = &self.target.loader {
            loader.forget(effect.id);
        }
    }
}

impl Drop for Fuser {
    fn drop(&mut self) {
        self.shared.is_wanted.store(false, Ordering::Relaxed);
        drop(self.requests.take());
        let Some(thread) = self.thread.take() else { return };
        // A load may wait for a kernel without end, so this does not wait for it without end.
        let began = Instant::now();
        while !thread.is_finished() && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        if thread.is_finished() {
            // A panic was printed when it happened.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
#[path = "fuser_tests.rs"]
mod tests;
