//! The examples, as a part of the self-test: the very files of `examples/`, run one after the other.

use std::process::ExitCode;

use crate::proof::Verdict;

macro_rules! examples {
    ($($(#[$cfg:meta])* $name:ident: $path:literal),* $(,)?) => {
        $(
            $(#[$cfg])*
            #[path = $path]
            #[allow(dead_code, reason = "an example has a `main`, which only its own program calls")]
            mod $name;
        )*

        /// Name and body of each.
        pub(super) const ALL: &[(&str, fn() -> anyhow::Result<Verdict>)] = &[$($(#[$cfg])* (stringify!($name), $name::run)),*];
    };
}

examples! {
    match_devices: "../../examples/match_devices.rs",
    image_to_cuda: "../../examples/image_to_cuda.rs",
    buffer_to_cuda: "../../examples/buffer_to_cuda.rs",
    cuda_to_vulkan: "../../examples/cuda_to_vulkan.rs",
    timeline_semaphore: "../../examples/timeline_semaphore.rs",
    binary_semaphore: "../../examples/binary_semaphore.rs",
    ownership: "../../examples/ownership.rs",
    child_process: "../../examples/child_process.rs",
    several_gpus: "../../examples/several_gpus.rs",
    in_queue: "../../examples/in_queue.rs",
    #[cfg(feature = "gl")]
    gl_register_map: "../../examples/gl_register_map.rs",
    #[cfg(feature = "gl")]
    vulkan_gl_cuda: "../../examples/vulkan_gl_cuda.rs",
}

/// Two examples start this program again, as a child that answers them: then it does that and nothing else.
pub(super) fn answer_as_child() -> Option<ExitCode> {
    let is_set = |name: &str| std::env::var_os(name).is_some();
    if is_set(child_process::CHILD) || is_set(match_devices::CHILD) {
        let main = if is_set(child_process::CHILD) {
            child_process::main
        } else {
            match_devices::main
        };
        return Some(main());
    }
    None
}
