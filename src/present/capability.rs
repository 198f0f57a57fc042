//! Whether a device can present to a surface, with the reason in words when it cannot.

use ash::vk;

use crate::vulkan::{PhysicalDevice, Surface};

/// The node of the part of NVIDIA's kernel driver that displays: without it that driver refuses every swapchain.
#[cfg(target_os = "linux")]
const NVIDIA_DISPLAY_NODE: &str = "/dev/nvidia-modeset";

/// Formats that a swapchain may have: 8 bits a channel, not sRGB, because the present pass has already encoded.
const FORMATS: [vk::Format; 2] = [vk::Format::B8G8R8A8_UNORM, vk::Format::R8G8B8A8_UNORM];

/// Whether queues of the family can present frames to the surface.
///
/// # Errors
/// The reason why not, as the end of a sentence: `cannot present: …`.
pub fn can_present(surface: &Surface, physical: &PhysicalDevice, family: u32) -> Result<(), String> {
    if !physical.has_extension(ash::khr::swapchain::NAME) {
        return Err(format!("{} lacks VK_KHR_swapchain", physical.name));
    }
    // Before the first question about the surface, since the answer can be a crash.
    safe_to_ask(surface, physical)?;
    if !surface.supports(physical, family) {
        return Err(format!("{} cannot present to this window system", physical.name));
    }
    let modes = surface.present_modes(physical).map_err(|error| error.to_string())?;
    if modes.is_empty() {
        return Err(format!("{} has no present mode for this window system", physical.name));
    }
    let capabilities = surface.capabilities(physical).map_err(|error| error.to_string())?;
    if !capabilities
        .supported_usage_flags
        .contains(vk::ImageUsageFlags::TRANSFER_DST)
    {
        return Err(format!("{} cannot copy to this window's images", physical.name));
    }
    let formats = surface.formats(physical).map_err(|error| error.to_string())?;
    choose_format(&formats).map(|_| ()).ok_or_else(|| {
        format!(
            "{} presents neither {:?} nor {:?}",
            physical.name, FORMATS[0], FORMATS[1]
        )
    })
}

/// The format of the screen image: a swapchain of another one takes a blit.
pub(super) const COPIED_FORMAT: vk::Format = vk::Format::R8G8B8A8_UNORM;

/// The format of the swapchain among those on offer.
pub(super) fn choose_format(offered: &[vk::SurfaceFormatKHR]) -> Option<vk::SurfaceFormatKHR> {
    FORMATS.into_iter().find_map(|format| of_format(offered, format))
}

/// The one among those on offer that frames can be copied to as they are.
pub(super) fn copied_format(offered: &[vk::SurfaceFormatKHR]) -> Option<vk::SurfaceFormatKHR> {
    of_format(offered, COPIED_FORMAT)
}

fn of_format(offered: &[vk::SurfaceFormatKHR], format: vk::Format) -> Option<vk::SurfaceFormatKHR> {
    let srgb = vk::ColorSpaceKHR::SRGB_NONLINEAR;
    let mut offered = offered.iter().copied();
    offered.find(|offer| offer.format == format && offer.color_space == srgb)
}

/// NVIDIA's driver talks to an X server through the GLX extension's NVIDIA part, and dereferences a null pointer in the
/// first surface query where the server has no GLX at all (seen with 580.159). Relied on here: servers of which the
/// driver is part, and Xwayland, always have GLX. Without the kernel's display part the queries return
/// `ERROR_UNKNOWN`, which tells a reader nothing, so that is looked for as well.
#[cfg(target_os = "linux")]
fn safe_to_ask(surface: &Surface, physical: &PhysicalDevice) -> Result<(), String> {
    if physical.driver_id != vk::DriverId::NVIDIA_PROPRIETARY || !surface.is_x11() {
        return Ok(());
    }
    if !std::path::Path::new(NVIDIA_DISPLAY_NODE).exists() {
        return Err(format!(
            "NVIDIA's driver has no display part here ({NVIDIA_DISPLAY_NODE} is missing: a datacenter GPU, or a \
             container without the capability `display`)"
        ));
    }
    if !super::display::x_server_has("GLX")? {
        return Err("the X server has no GLX extension, without which NVIDIA's driver cannot use it".into());
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn safe_to_ask(_surface: &Surface, _physical: &PhysicalDevice) -> Result<(), String> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(format: vk::Format) -> vk::SurfaceFormatKHR {
        vk::SurfaceFormatKHR {
            format,
            color_space: vk::ColorSpaceKHR::SRGB_NONLINEAR,
        }
    }

    #[test]
    fn a_format_that_would_encode_again_is_never_chosen() {
        let srgb = offer(vk::Format::B8G8R8A8_SRGB);
        let bgra = offer(vk::Format::B8G8R8A8_UNORM);
        let rgba = offer(vk::Format::R8G8B8A8_UNORM);
        assert_eq!(choose_format(&[srgb, rgba, bgra]), Some(bgra));
        assert_eq!(choose_format(&[srgb, rgba]), Some(rgba));
        assert_eq!(choose_format(&[srgb]), None);
    }

    /// Copies keep the order of channels: only the screen image's own format will do.
    #[test]
    fn frames_are_copied_as_they_are_or_not_at_all() {
        let (bgra, rgba) = (offer(vk::Format::B8G8R8A8_UNORM), offer(vk::Format::R8G8B8A8_UNORM));
        assert_eq!(copied_format(&[bgra, rgba]), Some(rgba));
        assert_eq!(copied_format(&[bgra, offer(vk::Format::R8G8B8A8_SRGB)]), None);
    }

    #[test]
    fn wide_gamut_colour_spaces_are_passed_over() {
        let wide = vk::SurfaceFormatKHR {
            format: vk::Format::B8G8R8A8_UNORM,
            color_space: vk::ColorSpaceKHR::DISPLAY_P3_NONLINEAR_EXT,
        };
        assert_eq!(choose_format(&[wide]), None);
    }
}
