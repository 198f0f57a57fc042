//! Arguments in, exit code out.

use std::process::ExitCode;

use handover::proof::CountingAllocator;

/// The self-test proves with it that frames allocate nothing.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    handover::cli::main()
}
