//! Watching: which files were saved.
//!
//! Folders are watched and not files: many editors write another file and rename it over the old one, which a watch of the old file
//! would not see again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

/// A save is several events, and some editors take this long for them.
const SETTLED_AFTER: Duration = Duration::from_millis(50);

/// Watches folders, not what is in folders below them.
pub struct Watcher {
    events: Receiver<notify::Result<Event>>,
    /// When the last event of each file came.
    touched: BTreeMap<PathBuf, Instant>,
    watcher: RecommendedWatcher,
}

impl Watcher {
    /// Watches nothing yet.
    ///
    /// # Errors
    /// The system watches no more.
    pub fn new() -> notify::Result<Self> {
        let (sender, events) = channel();
        let watcher = notify::recommended_watcher(move |event| {
            // Nobody listens any more when the program ends.
            let _ = sender.send(event);
        })?;
        Ok(Self {
            events,
            touched: BTreeMap::new(),
            watcher,
        })
    }

    /// Watches this folder too.
    ///
    /// # Errors
    /// It is not there, or the system watches no more.
    pub fn watch(&mut self, folder: &Path) -> notify::Result<()> {
        self.watcher.watch(folder, RecursiveMode::NonRecursive)
    }

    /// Waits for files that were saved, written or renamed, and have been left alone since for a moment. Gives none when the time is
    /// up.
    pub fn wait(&mut self, limit: Duration) -> Vec<PathBuf> {
        let until = Instant::now() + limit;
        loop {
            let now = Instant::now();
            let settled = |at: &Instant| now.duration_since(*at) >= SETTLED_AFTER;
            let saved: Vec<PathBuf> = self
                .touched
                .iter()
                .filter(|(_, at)| settled(at))
                .map(|(path, _)| path.clone())
                .collect();
            if !saved.is_empty() || now >= until {
                self.touched.retain(|_, at| !settled(at));
                return saved;
            }
            let next = self.touched.values().min().map(|at| *at + SETTLED_AFTER);
            let wake = next.map_or(until, |next| next.min(until));
            match self.events.recv_timeout(wake.saturating_duration_since(now)) {
                Ok(event) => self.note(event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(wake.saturating_duration_since(now)),
            }
        }
    }

    fn note(&mut self, event: notify::Result<Event>) {
        match event {
            // Reading is no change.
            Ok(event) if !matches!(event.kind, EventKind::Access(notify::event::AccessKind::Open(_))) => {
                let now = Instant::now();
                self.touched.extend(event.paths.into_iter().map(|path| (path, now)));
            }
            Ok(_) => {}
            Err(error) => tracing::warn!("watching kernels: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn names(paths: &[PathBuf]) -> Vec<&str> {
        paths.iter().filter_map(|path| path.file_name()?.to_str()).collect()
    }

    #[test]
    fn a_save_is_seen_once_however_it_is_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("edge.cu");
        let mut watcher = Watcher::new().expect("a watcher");
        watcher.watch(folder.path()).expect("watched");
        // Written in place, in pieces.
        fs::write(&path, "one").expect("written");
        fs::write(&path, "one and two").expect("written");
        assert_eq!(names(&watcher.wait(PATIENCE)), ["edge.cu"]);
        assert!(watcher.wait(Duration::from_millis(200)).is_empty());
        // Another file is renamed over it, twice: the first rename does not end the watch.
        for text in ["three", "four"] {
            let other = folder.path().join("edge.cu~");
            fs::write(&other, text).expect("written");
            fs::rename(&other, &path).expect("renamed");
            let saved = watcher.wait(PATIENCE);
            assert!(names(&saved).contains(&"edge.cu"), "{saved:?}");
            while !watcher.wait(Duration::from_millis(100)).is_empty() {}
        }
        // Reading it is no save.
        fs::read_to_string(&path).expect("read");
        assert!(watcher.wait(Duration::from_millis(200)).is_empty());
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        let mut watcher = Watcher::new().expect("a watcher");
        assert!(watcher.watch(Path::new("/no/such/folder")).is_err());
    }
}
