//! The validation layer's messages: logged, counted, and the known false ones set aside by id.

use std::ffi::{CStr, c_void};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ash::{ext, vk};

use super::{Error, ResultExt};

/// How many messages the layer gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ValidationCounts {
    /// Errors, synchronization hazards among them. The program's exit code is non-zero when there are any.
    pub errors: u64,
    /// Warnings.
    pub warnings: u64,
    /// Known false messages that were set aside.
    pub set_aside: u64,
}

/// Receives the layer's messages.
#[derive(Debug)]
pub struct ValidationLog {
    layer_version: u32,
    errors: AtomicU64,
    warnings: AtomicU64,
    set_aside: AtomicU64,
    first_error: Mutex<Option<String>>,
}

impl ValidationLog {
    /// A log for a layer of the given `VkLayerProperties::specVersion`.
    pub(super) fn new(layer_version: u32) -> Self {
        Self {
            layer_version,
            errors: AtomicU64::new(0),
            warnings: AtomicU64::new(0),
            set_aside: AtomicU64::new(0),
            first_error: Mutex::new(None),
        }
    }

    /// What was counted so far.
    pub fn counts(&self) -> ValidationCounts {
        ValidationCounts {
            errors: self.errors.load(Ordering::Relaxed),
            warnings: self.warnings.load(Ordering::Relaxed),
            set_aside: self.set_aside.load(Ordering::Relaxed),
        }
    }

    /// The text of the first error.
    pub fn first_error(&self) -> Option<String> {
        self.first_error.lock().ok().and_then(|text| text.clone())
    }

    fn receive(&self, severity: vk::DebugUtilsMessageSeverityFlagsEXT, id: &str, text: &str) {
        if is_known_false(self.layer_version, id, text) {
            self.set_aside.fetch_add(1, Ordering::Relaxed);
            tracing::debug!(target: "vulkan", "set aside (known false on this layer version): {text}");
        } else if severity.contains(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR) {
            self.errors.fetch_add(1, Ordering::Relaxed);
            if let Ok(mut first) = self.first_error.lock() {
                first.get_or_insert_with(|| text.to_owned());
            }
            tracing::error!(target: "vulkan", "{text}");
        } else if severity.contains(vk::DebugUtilsMessageSeverityFlagsEXT::WARNING) {
            self.warnings.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(target: "vulkan", "{text}");
        } else {
            tracing::debug!(target: "vulkan", "{text}");
        }
    }
}

/// Layers up to this version do not see signals that another API gives to a shared timeline
/// (KhronosGroup/Vulkan-ValidationLayers issue 10211): they then take a host signal for a step back.
const LAST_VERSION_BLIND_TO_FOREIGN_SIGNALS: u32 = vk::make_api_version(0, 1, 4, 321);

/// Layers up to this version can block themselves when one thread waits for a timeline while another signals one, say so
/// after ten seconds, and go on (KhronosGroup/Vulkan-ValidationLayers issue 4649, ended by pull request 8519). The host
/// processor signals from its own thread.
const LAST_VERSION_BLOCKED_BY_HOST_SIGNALS: u32 = vk::make_api_version(0, 1, 3, 296);

/// Layers up to this version follow no wait of the host's for a timeline when they look for hazards
/// (KhronosGroup/Vulkan-ValidationLayers issues 7457 and 7600). A processor in the queue leaves a slot's `color` in its queue and its
/// layout; the host waits for the slot to retire, and the next frame discards what is in the image. The layer takes that for a race with
/// the compute shader which wrote it before.
const LAST_VERSION_BLIND_TO_HOST_WAITS: u32 = vk::make_api_version(0, 1, 3, 296);

fn is_known_false(layer_version: u32, id: &str, text: &str) -> bool {
    let last_version = match id {
        "SYNC-HAZARD-WRITE-AFTER-WRITE" => {
            let parts = [
                "name = color of slot ",
                "usage: SYNC_IMAGE_LAYOUT_TRANSITION, prior_usage: SYNC_COMPUTE_SHADER_SHADER_STORAGE_WRITE",
            ];
            if !parts.iter().all(|part| text.contains(part)) {
                return false;
            }
            LAST_VERSION_BLIND_TO_HOST_WAITS
        }
        "VUID-VkSemaphoreSignalInfo-value-03259" | "VUID-VkSemaphoreSignalInfo-value-03258" => {
            LAST_VERSION_BLIND_TO_FOREIGN_SIGNALS
        }
        "UNASSIGNED-VkSemaphore-state-timeout" => LAST_VERSION_BLOCKED_BY_HOST_SIGNALS,
        _ => return false,
    };
    layer_version <= last_version
}

/// `VkDebugUtilsMessengerEXT`, with the log it writes to.
pub(super) struct DebugMessenger {
    functions: ext::debug_utils::Instance,
    raw: vk::DebugUtilsMessengerEXT,
    /// Kept alive for the callback's pointer.
    _log: Arc<ValidationLog>,
}

impl DebugMessenger {
    pub(super) fn new(entry: &ash::Entry, instance: &ash::Instance, log: Arc<ValidationLog>) -> Result<Self, Error> {
        use vk::{DebugUtilsMessageSeverityFlagsEXT as Severity, DebugUtilsMessageTypeFlagsEXT as Type};
        let functions = ext::debug_utils::Instance::new(entry, instance);
        let create_info = vk::DebugUtilsMessengerCreateInfoEXT::default()
            .message_severity(Severity::ERROR | Severity::WARNING)
            .message_type(Type::VALIDATION | Type::PERFORMANCE)
            .pfn_user_callback(Some(callback))
            .user_data(Arc::as_ptr(&log).cast_mut().cast());
        // SAFETY: V3; the user data points into `log`, which lives in `Self` until after the messenger is destroyed.
        let raw = unsafe { functions.create_debug_utils_messenger(&create_info, None) }
            .during(|| "create the validation messenger")?;
        Ok(Self {
            functions,
            raw,
            _log: log,
        })
    }
}

impl Drop for DebugMessenger {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed once; the instance is still alive (its owner drops us first).
        unsafe { self.functions.destroy_debug_utils_messenger(self.raw, None) };
    }
}

unsafe extern "system" fn callback(
    severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _types: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    log: *mut c_void,
) -> vk::Bool32 {
    let text_of = |text: *const std::ffi::c_char| {
        if text.is_null() {
            return String::new();
        }
        // SAFETY: the layer gives NUL-terminated strings that live through the callback.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    };
    // SAFETY: `log` is the pointer given in `DebugMessenger::new`, alive as long as the messenger; `data` is the layer's.
    let (log, data) = unsafe { (&*log.cast::<ValidationLog>(), &*data) };
    log.receive(severity, &text_of(data.p_message_id_name), &text_of(data.p_message));
    vk::FALSE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_known_id_on_a_known_version_is_set_aside() {
        let log = ValidationLog::new(vk::make_api_version(0, 1, 3, 239));
        let error = vk::DebugUtilsMessageSeverityFlagsEXT::ERROR;
        log.receive(error, "VUID-VkSemaphoreSignalInfo-value-03259", "seen by a blind layer");
        log.receive(
            error,
            "UNASSIGNED-VkSemaphore-state-timeout",
            "a layer that blocked itself",
        );
        log.receive(error, "SYNC-HAZARD-WRITE-AFTER-WRITE", "a hazard");
        let discarded = "Object 0: name = color of slot 1, (usage: SYNC_IMAGE_LAYOUT_TRANSITION, prior_usage: \
                         SYNC_COMPUTE_SHADER_SHADER_STORAGE_WRITE, ...)";
        log.receive(error, "SYNC-HAZARD-WRITE-AFTER-WRITE", discarded);
        log.receive(vk::DebugUtilsMessageSeverityFlagsEXT::WARNING, "x", "a warning");
        assert_eq!(
            log.counts(),
            ValidationCounts {
                errors: 1,
                warnings: 1,
                set_aside: 3
            }
        );
        assert_eq!(log.first_error().as_deref(), Some("a hazard"));

        let newer = ValidationLog::new(vk::make_api_version(0, 1, 4, 400));
        newer.receive(
            error,
            "VUID-VkSemaphoreSignalInfo-value-03259",
            "a layer that sees foreign signals",
        );
        newer.receive(
            error,
            "UNASSIGNED-VkSemaphore-state-timeout",
            "a layer that does not block itself",
        );
        newer.receive(error, "SYNC-HAZARD-WRITE-AFTER-WRITE", discarded);
        assert_eq!(newer.counts().errors, 3);
    }
}
