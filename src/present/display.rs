//! The display server, asked before there is a window: is one there, and what can it do.

/// The kind of display server that windows are opened on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisplayServer {
    /// A Wayland compositor.
    Wayland,
    /// An X server.
    X11,
    /// The operating system's own (Windows, macOS).
    Native,
}

/// A display server that answered.
pub struct Display {
    /// Its kind.
    pub server: DisplayServer,
    /// Kept open: an X server that resets when its last client leaves would otherwise do so just before the window.
    _connection: Option<Box<dyn std::any::Any>>,
}

/// Finds the display server that can be connected to: the one of `WAYLAND_DISPLAY`, then the one of `DISPLAY`.
///
/// # Errors
/// Why there is none, in words: neither variable is set, or nothing answers there.
#[cfg(target_os = "linux")]
pub fn find_display() -> Result<Display, String> {
    let mut reasons = Vec::new();
    match wayland() {
        Some(Ok(())) => {
            return Ok(Display {
                server: DisplayServer::Wayland,
                _connection: None,
            });
        }
        Some(Err(reason)) => reasons.push(reason),
        None => {}
    }
    match variable("DISPLAY").map(|name| (x11rb::connect(Some(&name)), name)) {
        Some((Ok((connection, _)), _)) => {
            return Ok(Display {
                server: DisplayServer::X11,
                _connection: Some(Box::new(connection)),
            });
        }
        Some((Err(error), name)) => reasons.push(format!("DISPLAY is {name}, but no X server answers there: {error}")),
        None => {}
    }
    if reasons.is_empty() {
        reasons.push("neither DISPLAY nor WAYLAND_DISPLAY is set".into());
    }
    Err(reasons.join("; "))
}

/// Finds the display server.
///
/// # Errors
/// None on this system: it always has one.
#[cfg(not(target_os = "linux"))]
pub fn find_display() -> Result<Display, String> {
    Ok(Display {
        server: DisplayServer::Native,
        _connection: None,
    })
}

/// Whether the X server of `DISPLAY` has the extension.
///
/// # Errors
/// Why it could not be asked.
#[cfg(target_os = "linux")]
pub fn x_server_has(extension: &str) -> Result<bool, String> {
    use x11rb::protocol::xproto::ConnectionExt;
    let ask = || -> Result<bool, Box<dyn std::error::Error>> {
        let (connection, _) = x11rb::connect(None)?;
        Ok(connection.query_extension(extension.as_bytes())?.reply()?.present)
    };
    ask().map_err(|error| format!("the X server did not say whether it has the extension {extension}: {error}"))
}

#[cfg(target_os = "linux")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// `None`: no compositor is named.
#[cfg(target_os = "linux")]
fn wayland() -> Option<Result<(), String>> {
    use std::os::unix::net::UnixStream;
    use std::path::{Path, PathBuf};
    if variable("WAYLAND_SOCKET").is_some() {
        // An inherited connection: a second one would use it up.
        return Some(Ok(()));
    }
    let name = variable("WAYLAND_DISPLAY")?;
    let path = if Path::new(&name).is_absolute() {
        PathBuf::from(&name)
    } else if let Some(folder) = variable("XDG_RUNTIME_DIR") {
        Path::new(&folder).join(&name)
    } else {
        return Some(Err(format!(
            "WAYLAND_DISPLAY is {name}, but XDG_RUNTIME_DIR is not set"
        )));
    };
    Some(UnixStream::connect(&path).map(drop).map_err(|error| {
        format!(
            "WAYLAND_DISPLAY is {name}, but no compositor answers at {}: {error}",
            path.display()
        )
    }))
}
