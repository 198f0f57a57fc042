//! CUDA guide, external resource interoperability, 4.19.2.1.6: mapping buffers onto imported memory.
//!
//! Two buffers lie in one allocation that Vulkan exports. Proven: a kernel reads what Vulkan wrote to one of them and
//! rewrites it, Vulkan reads the new words, and the other buffer keeps its own to the last one, although it begins where the
//! first ends. Ranges that no buffer may have are refused before a driver is asked to bind or map them.
//!
//! ```text
//! allocation  │ rewritten ………………… │ untouched ………………… │
//!
//! Vulkan  write both ─ release `rewritten` ─┐                    ┌─ acquire `rewritten` ─ copy both to the host
//!                               to_cuda = 1 │                    │ to_vulkan = 1
//! CUDA                                      └─ kernel: rewrite ──┘
//! ```

use std::process::ExitCode;
use std::sync::Arc;

use handover::anyhow;
use handover::anyhow::bail;
use handover::bytemuck;
use handover::cuda::{Function, launch};
use handover::interop::{Error, SharedMemory};
use handover::proof::{Pair, Verdict, conclude, expect_words};
use handover::vulkan::ownership::{acquire_from_external, keep_for_copies, release_to_external};
use handover::vulkan::transfer::copy_buffer;
use handover::vulkan::vk;
use handover::vulkan::{Buffer, BufferMemory};
use vk::BufferUsageFlags as BufferUsage;

/// Bytes of each buffer: a multiple of any alignment that a driver asks of a buffer.
const BYTES: u64 = 1 << 20;
const WORDS: u32 = (BYTES / 4) as u32;

/// The new word depends on the old one, so a right result also proves that CUDA saw what Vulkan wrote.
const KERNEL: &str = r#"
extern "C" __global__ void rewrite(unsigned *words, unsigned count) {
    unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < count)
        words[index] = words[index] * 2654435761u + index;
}
"#;

/// What the kernel makes of a word.
fn rewritten_word(old: u32, index: u32) -> u32 {
    old.wrapping_mul(2_654_435_761).wrapping_add(index)
}

/// What Vulkan writes: no word is in both buffers at the same place.
fn first_words(salt: u32) -> Vec<u32> {
    (0..WORDS).map(|index| index.wrapping_mul(0x9e37_79b9) ^ salt).collect()
}

fn main() -> ExitCode {
    conclude("buffer_to_cuda", run)
}

/// All of the example.
///
/// # Errors
/// A word that is not what it must be, a range that was not refused, or a call that failed.
pub fn run() -> anyhow::Result<Verdict> {
    let pair = match Pair::open()? {
        Ok(pair) => pair,
        Err(reason) => return Ok(Verdict::Skip(reason)),
    };
    let [rewrite] = pair.kernels("buffer_to_cuda", KERNEL, ["rewrite"])?;
    let (allocation, descriptors) = pair.leaves_nothing(|| exchange(&pair, &rewrite))?;
    Ok(Verdict::Pass(format!(
        "{BYTES} bytes rewritten by CUDA and {BYTES} beside them untouched, in one allocation of {allocation} bytes; \
         4 bad ranges refused; {descriptors} descriptors open before and after"
    )))
}

/// Makes the buffers, hands one over and back, checks both, and lets go of everything; the bytes of the allocation.
fn exchange(pair: &Pair, rewrite: &Function) -> anyhow::Result<u64> {
    let (device, family) = (&pair.device, pair.device.scene_queue.family);
    let usage = BufferUsage::TRANSFER_SRC | BufferUsage::TRANSFER_DST;
    let memory = SharedMemory::new(device, &pair.context, 2 * BYTES, usage, "one allocation")?;
    let rewritten = memory.buffer(0, BYTES, "rewritten")?;
    let untouched = memory.buffer(BYTES, BYTES, "untouched")?;
    refuse_bad_ranges(&memory)?;

    let host = |usage, memory, name| Buffer::new(device, 2 * BYTES, usage, memory, name);
    let mut upload = host(BufferUsage::TRANSFER_SRC, BufferMemory::Upload, "upload")?;
    let read_back = host(BufferUsage::TRANSFER_DST, BufferMemory::ReadBack, "read back")?;
    let words = [first_words(0x5555_5555), first_words(0x3333_3333)];
    let bytes = words.concat();
    upload.bytes_mut().copy_from_slice(bytemuck::cast_slice(&bytes));

    pair.round_trip(
        |commands| {
            copy_buffer(device, commands, (upload.raw, 0), (rewritten.raw, 0), BYTES);
            copy_buffer(device, commands, (upload.raw, BYTES), (untouched.raw, 0), BYTES);
            // One is given away. The other stays Vulkan's own, and is only made readable.
            release_to_external(device, commands, family, &[], &[rewritten.raw]);
            keep_for_copies(device, commands, untouched.raw);
        },
        |stream| {
            let (address, count) = (rewritten.address.to_ne_bytes(), WORDS.to_ne_bytes());
            // SAFETY: the kernel takes a pointer to words and their count; the buffer has as many, and lives until
            // `round_trip` has waited for the stream.
            Ok(unsafe { launch(stream, rewrite, [WORDS, 1], [256, 1], &[&address, &count]) }?)
        },
        |commands| {
            acquire_from_external(device, commands, family, &[], &[rewritten.raw]);
            copy_buffer(device, commands, (rewritten.raw, 0), (read_back.raw, 0), BYTES);
            copy_buffer(device, commands, (untouched.raw, 0), (read_back.raw, BYTES), BYTES);
        },
    )?;

    let (changed, kept) = read_back.bytes().split_at(BYTES as usize);
    let changed_word = |index| rewritten_word(words[0][index as usize], index);
    expect_words(changed, changed_word, |index| format!("word {index} of `rewritten`"))?;
    let kept_word = |index| words[1][index as usize];
    expect_words(kept, kept_word, |index| format!("word {index} of `untouched`"))?;
    Ok(memory.size())
}

/// Each of these ends as an error of ours, with the reason, instead of a validation message or a fault.
fn refuse_bad_ranges(memory: &Arc<SharedMemory>) -> anyhow::Result<()> {
    let size = memory.size();
    for (what, offset, bytes) in [
        ("an odd offset", 1, BYTES),
        ("a range past the end", BYTES, size),
        ("a range whose end is no number", u64::MAX - BYTES + 1, BYTES),
        ("a range without bytes", 0, 0),
    ] {
        match memory.buffer(offset, bytes, what) {
            Err(Error::Range { .. }) => {}
            Err(error) => {
                bail!("{what} ({bytes} bytes at {offset}): expected it to be refused as a range, found: {error}")
            }
            Ok(_) => bail!("{what} ({bytes} bytes at {offset} of {size}) was not refused"),
        }
    }
    Ok(())
}
