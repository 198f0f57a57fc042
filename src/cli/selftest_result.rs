//! What the last self-test on this machine said, kept for captures.

use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::interop::uuid_text;
use crate::vulkan::PhysicalDevice;
use crate::whole_file;

/// The result of a self-test, with what it holds for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SelftestResult {
    program_version: String,
    gpu_uuid: String,
    driver: String,
    /// Seconds since 1970.
    at_unix_s: u64,
    /// Part by part.
    parts: Vec<PartResult>,
}

/// One part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PartResult {
    pub name: String,
    /// `PASS`, `FAIL` or `SKIP`.
    pub outcome: String,
    pub text: String,
}

/// `$XDG_STATE_HOME/handover/selftest.json`, by the XDG Base Directory Specification.
fn path() -> Option<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let state = set("XDG_STATE_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| Some(set("HOME")?.join(".local/state")))?;
    Some(state.join("handover/selftest.json"))
}

/// Seconds since 1970.
pub(crate) fn unix_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Keeps a result. That it cannot be kept is no failure of the self-test.
pub(crate) fn keep(physical: &PhysicalDevice, parts: Vec<PartResult>) {
    let result = SelftestResult {
        program_version: env!("CARGO_PKG_VERSION").into(),
        gpu_uuid: uuid_text(&physical.uuid),
        driver: physical.driver.clone(),
        at_unix_s: unix_s(),
        parts,
    };
    let Some(path) = path() else { return };
    let write = || -> std::io::Result<()> {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        whole_file::replace(&path, |file| Ok(serde_json::to_writer_pretty(file, &result)?))
    };
    if let Err(error) = write() {
        tracing::debug!("the self-test's result is not kept in {}: {error}", path.display());
    }
}

/// The last result that holds for this program, GPU and driver.
pub(crate) fn last(physical: &PhysicalDevice) -> Option<SelftestResult> {
    let result: SelftestResult = serde_json::from_slice(&fs::read(path()?).ok()?).ok()?;
    let holds = result.program_version == env!("CARGO_PKG_VERSION")
        && result.gpu_uuid == uuid_text(&physical.uuid)
        && result.driver == physical.driver;
    holds.then_some(result)
}
