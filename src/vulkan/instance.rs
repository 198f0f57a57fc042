//! The Vulkan instance: loader, extensions, validation layer.

use std::ffi::{CStr, c_char};
use std::sync::Arc;

use ash::{ext, vk};

use super::validation::{DebugMessenger, ValidationLog};
use super::{Error, PhysicalDevice, ResultExt};

const VALIDATION_LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

/// What an [`Instance`] is asked for.
#[derive(Debug, Default)]
pub struct InstanceRequest {
    /// Instance extensions of the window system; empty without a window.
    pub surface_extensions: Vec<&'static CStr>,
    /// The validation layer with synchronization validation must be on.
    pub validate: bool,
    /// The validation layer is switched on where it is installed.
    pub validate_if_present: bool,
}

/// `VkInstance` with its loader and, where it was asked for, its validation log.
pub struct Instance {
    /// The raw handle and its functions.
    pub raw: ash::Instance,
    /// The loader; kept open as long as the instance.
    pub entry: ash::Entry,
    /// Counts of the validation layer's messages; `None` when the layer is off.
    pub validation: Option<Arc<ValidationLog>>,
    /// Objects can be named and regions labelled (`VK_EXT_debug_utils`).
    pub has_debug_utils: bool,
    messenger: Option<DebugMessenger>,
}

impl Instance {
    /// Loads the loader and creates the instance.
    ///
    /// # Errors
    /// [`Error::NoLoader`], [`Error::NoDriver`], [`Error::NoValidationLayer`] or a failed call.
    pub fn new(request: &InstanceRequest) -> Result<Arc<Self>, Error> {
        // SAFETY: the system's loader is trusted code; it is kept open by `entry` as long as its functions are used.
        let entry = unsafe { ash::Entry::load() }.map_err(|error| Error::NoLoader {
            reason: error.to_string(),
        })?;

        let layer = find_validation_layer(&entry)?;
        if request.validate && layer.is_none() {
            return Err(Error::NoValidationLayer);
        }
        let layer = layer.filter(|_| request.validate || request.validate_if_present);
        let layers: &[*const c_char] = if layer.is_some() {
            &[VALIDATION_LAYER.as_ptr()]
        } else {
            &[]
        };

        let mut extensions: Vec<_> = request.surface_extensions.iter().map(|name| name.as_ptr()).collect();
        let has_debug_utils = has_extension(&entry, None, ext::debug_utils::NAME)?
            || (layer.is_some() && has_extension(&entry, Some(VALIDATION_LAYER), ext::debug_utils::NAME)?);
        if has_debug_utils {
            extensions.push(ext::debug_utils::NAME.as_ptr());
        }
        let has_validation_features =
            layer.is_some() && has_extension(&entry, Some(VALIDATION_LAYER), ext::validation_features::NAME)?;
        if has_validation_features {
            extensions.push(ext::validation_features::NAME.as_ptr());
        }
        let validation = layer.map(|specification| Arc::new(ValidationLog::new(specification)));

        let application = vk::ApplicationInfo::default()
            .application_name(c"Handover")
            .engine_name(c"Handover")
            .api_version(vk::API_VERSION_1_3);
        let synchronization = [vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION];
        let mut features = vk::ValidationFeaturesEXT::default().enabled_validation_features(&synchronization);
        let mut create_info = vk::InstanceCreateInfo::default()
            .application_info(&application)
            .enabled_extension_names(&extensions)
            .enabled_layer_names(layers);
        if has_validation_features {
            create_info = create_info.push_next(&mut features);
        }
        // SAFETY: V3; the extension and layer names are NUL-terminated statics.
        let raw = unsafe { entry.create_instance(&create_info, None) }.map_err(|result| match result {
            vk::Result::ERROR_INCOMPATIBLE_DRIVER => Error::NoDriver { result },
            result => Error::Call {
                what: "create the Vulkan instance".into(),
                result,
            },
        })?;

        let mut instance = Self {
            raw,
            entry,
            validation,
            has_debug_utils,
            messenger: None,
        };
        if let Some(log) = &instance.validation {
            let messenger = DebugMessenger::new(&instance.entry, &instance.raw, Arc::clone(log))?;
            instance.messenger = Some(messenger);
        }
        Ok(Arc::new(instance))
    }

    /// All devices, described. Never empty.
    ///
    /// # Errors
    /// [`Error::NoDriver`] when there is none.
    pub fn physical_devices(&self) -> Result<Vec<PhysicalDevice>, Error> {
        // SAFETY: `raw` is a live instance.
        let raw = unsafe { self.raw.enumerate_physical_devices() }.map_err(|result| Error::NoDriver { result })?;
        if raw.is_empty() {
            return Err(Error::NoDriver {
                result: vk::Result::ERROR_INCOMPATIBLE_DRIVER,
            });
        }
        raw.into_iter()
            .enumerate()
            .map(|(index, raw)| PhysicalDevice::describe(self, index, raw))
            .collect()
    }

    /// Ends a run: nothing that the validation layer calls an error may have happened. Without the layer nothing is known to.
    ///
    /// # Errors
    /// [`Error::Validation`].
    pub fn check_validation(&self) -> Result<(), Error> {
        let Some(log) = &self.validation else {
            return Ok(());
        };
        let counts = log.counts();
        tracing::debug!("validation: {counts:?}");
        if counts.errors == 0 {
            return Ok(());
        }
        let first = log.first_error().unwrap_or_default();
        Err(Error::Validation {
            errors: counts.errors,
            first,
        })
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        drop(self.messenger.take());
        // SAFETY: V1 holds for devices too (they keep an Arc of the instance), so nothing made from it is left.
        unsafe { self.raw.destroy_instance(None) };
    }
}

/// The validation layer's implementation version where it is installed.
fn find_validation_layer(entry: &ash::Entry) -> Result<Option<u32>, Error> {
    // SAFETY: no preconditions beyond a loaded loader.
    let layers = unsafe { entry.enumerate_instance_layer_properties() }.during(|| "list the Vulkan layers")?;
    Ok(layers
        .iter()
        .find(|layer| layer.layer_name_as_c_str() == Ok(VALIDATION_LAYER))
        .map(|layer| layer.spec_version))
}

fn has_extension(entry: &ash::Entry, layer: Option<&CStr>, name: &CStr) -> Result<bool, Error> {
    // SAFETY: the layer name is NUL-terminated.
    let extensions = unsafe { entry.enumerate_instance_extension_properties(layer) }
        .during(|| "list the Vulkan instance extensions")?;
    Ok(extensions
        .iter()
        .any(|extension| extension.extension_name_as_c_str() == Ok(name)))
}
