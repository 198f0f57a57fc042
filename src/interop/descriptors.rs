//! How many file descriptors are open: a hand-over that leaks them shows here first.

use std::io;

/// Open descriptors of this process, standard input and output among them.
///
/// A driver opens some of its own when something is first used, and keeps them: so count after a first round.
///
/// ```
/// use handover::interop::open_descriptors;
///
/// fn main() -> std::io::Result<()> {
///     let before = open_descriptors()?;
///     let file = std::fs::File::open("/proc/self/exe")?;
///     assert_eq!(open_descriptors()?, before + 1);
///     drop(file);
///     assert_eq!(open_descriptors()?, before);
///     Ok(())
/// }
/// ```
///
/// # Errors
/// /proc is not there.
pub fn open_descriptors() -> io::Result<usize> {
    // The listing's own descriptor is among them each time.
    Ok(std::fs::read_dir("/proc/self/fd")?.count())
}
