//! CUDA guide, external resource interoperability, 4.19.2.1.6: mapping buffers onto imported memory.
//!
//! Two buffers lie in one allocation that Vulkan exports. Proven: a kernel reads what Vulkan wrote to one of them and
//! rewrites it, Vulkan reads the new words, and the other buffer keeps its own to the last one, although it begins where the
//! first ends. Ranges that no buffer may have are refused before a driver sees them.
//!
//! ```text
//! allocation  │ rewritten ………………… │ untouched ………………… │
//!
//! Vulkan  write both ─ release `rewritten` ─┐                    ┌─ acquire `rewritten` ─ copy both to the host
//!                               to_cuda = 1 │                    │ to_vulkan = 1
//! CUDA                                      └─ kernel: rewrite ──┘
//! ```

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{bail, ensure};
use ash::vk;
use handover::cuda::{Function, launch};
use handover::interop::{Error, SharedBuffer, SharedMemory, SharedTimeline, open_descriptors};
use handover::proof::{Pair, Verdict, conclude};
use handover::vulkan::barrier::transfer_to_host;
use handover::vulkan::{Buffer, BufferMemory, CommandPool, Device, Timeline, TimelineWait};
use vk::{AccessFlags2 as Access, PipelineStageFlags2 as Stage};

/// Bytes of each buffer: a multiple of any alignment that a driver asks of a buffer.
const BYTES: u64 = 1 << 20;
const WORDS: u32 = (BYTES / 4) as u32;
const LIMIT: Duration = Duration::from_secs(10);

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
    // Drivers open descriptors of their own when something is first used, and keep them: so the second round is measured.
    exchange(&pair, &rewrite)?;
    let before = open_descriptors()?;
    let allocation = exchange(&pair, &rewrite)?;
    let after = open_descriptors()?;
    ensure!(
        before == after,
        "{before} descriptors were open before the buffers, {after} after"
    );
    Ok(Verdict::Pass(format!(
        "{BYTES} bytes rewritten by CUDA and {BYTES} beside them untouched, in one allocation of {allocation} bytes; \
         4 bad ranges refused; {after} descriptors open before and after"
    )))
}

/// Makes the buffers, hands one over and back, checks both, and lets go of everything; the bytes of the allocation.
fn exchange(pair: &Pair, rewrite: &Function) -> anyhow::Result<u64> {
    let (device, context) = (&pair.device, &pair.context);
    let usage = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
    let memory = SharedMemory::new(device, context, 2 * BYTES, usage, "one allocation")?;
    let rewritten = memory.buffer(0, BYTES, "rewritten")?;
    let untouched = memory.buffer(BYTES, BYTES, "untouched")?;
    refuse_bad_ranges(&memory)?;

    let mut upload = Buffer::new(
        device,
        2 * BYTES,
        vk::BufferUsageFlags::TRANSFER_SRC,
        BufferMemory::Upload,
        "upload",
    )?;
    let read_back = Buffer::new(
        device,
        2 * BYTES,
        vk::BufferUsageFlags::TRANSFER_DST,
        BufferMemory::ReadBack,
        "read back",
    )?;
    let words = [first_words(0x5555_5555), first_words(0x3333_3333)];
    upload
        .bytes_mut()
        .copy_from_slice(bytemuck::cast_slice(&words.concat()));

    let outcome = hand_over(pair, rewrite, &upload, [&rewritten, &untouched], &read_back);
    // Also after a failure: nothing may be dropped while a side still uses it.
    let idle = pair.finish();
    outcome?;
    idle?;

    let found = bytemuck::pod_collect_to_vec::<u8, u32>(read_back.bytes());
    let changed = (0..).zip(&words[0]).map(|(index, word)| rewritten_word(*word, index));
    let expected = changed.chain(words[1].iter().copied());
    for (index, (expected, found)) in expected.zip(found).enumerate() {
        let (name, start) = if index < WORDS as usize {
            ("rewritten", 0)
        } else {
            ("untouched", WORDS as usize)
        };
        let byte = (index - start) * 4;
        ensure!(
            found == expected,
            "byte {byte} of `{name}`: expected the word {expected:#010x}, found {found:#010x}"
        );
    }
    Ok(memory.size())
}

/// Vulkan writes both, CUDA rewrites the first, Vulkan copies both to `read_back`.
fn hand_over(
    pair: &Pair,
    rewrite: &Function,
    upload: &Buffer,
    [rewritten, untouched]: [&SharedBuffer; 2],
    read_back: &Buffer,
) -> anyhow::Result<()> {
    let device = &pair.device;
    let queue = device.scene_queue;
    let to_cuda = Timeline::new(device, "to CUDA", true)?;
    let to_vulkan = Timeline::new(device, "to Vulkan", true)?;
    let finished = Timeline::new(device, "finished", false)?;
    let written_in_cuda = SharedTimeline::import(device, &pair.context, &to_cuda)?;
    let rewritten_in_cuda = SharedTimeline::import(device, &pair.context, &to_vulkan)?;
    let write = CommandPool::new(device, queue, "write both")?;
    let read = CommandPool::new(device, queue, "read both")?;
    let result = (|| {
        // Vulkan: both are written, one is given away. The other stays Vulkan's own, and is only made readable.
        let commands = write.begin()?;
        copy(device, commands, (upload.raw, 0), (rewritten.raw, 0));
        copy(device, commands, (upload.raw, BYTES), (untouched.raw, 0));
        let by_copy = (Stage::TRANSFER, Access::TRANSFER_WRITE);
        let (ours, theirs) = (queue.family, vk::QUEUE_FAMILY_EXTERNAL);
        let for_signal = (Stage::ALL_COMMANDS, Access::NONE);
        let for_copy = (Stage::TRANSFER, Access::TRANSFER_READ);
        barrier(device, commands, rewritten, by_copy, for_signal, [ours, theirs]);
        barrier(
            device,
            commands,
            untouched,
            by_copy,
            for_copy,
            [vk::QUEUE_FAMILY_IGNORED; 2],
        );
        write.end()?;
        device.submit(queue, write.commands, &[], &[to_cuda.at(1)])?;

        // CUDA: waits, rewrites, signals, all on its stream. The host waits for none of it.
        written_in_cuda.wait(&pair.stream, 1)?;
        let (address, count) = (rewritten.address.to_ne_bytes(), WORDS.to_ne_bytes());
        // SAFETY: the kernel takes a pointer to words and their count; the buffer has as many, and outlives the stream's work:
        // the caller waits for it.
        unsafe { launch(&pair.stream, rewrite, [WORDS, 1], [256, 1], &[&address, &count]) }?;
        rewritten_in_cuda.signal(&pair.stream, 1)?;

        // Vulkan: takes the one back, where the semaphore's wait ended, and copies both.
        let commands = read.begin()?;
        barrier(device, commands, rewritten, for_signal, for_copy, [theirs, ours]);
        copy(device, commands, (rewritten.raw, 0), (read_back.raw, 0));
        copy(device, commands, (untouched.raw, 0), (read_back.raw, BYTES));
        transfer_to_host(device, commands);
        read.end()?;
        device.submit(queue, read.commands, &[to_vulkan.at(1)], &[finished.at(1)])?;
        if finished.wait(1, LIMIT)? == TimelineWait::TimedOut {
            // In CUDA's place, so that Vulkan's queue does not wait for ever.
            to_vulkan.signal(1)?;
            bail!("CUDA did not hand the buffer back within {LIMIT:?}");
        }
        Ok(())
    })();
    // The semaphores and command buffers go next.
    let idle = pair.finish();
    result.and(idle)
}

fn copy(device: &Device, commands: vk::CommandBuffer, from: (vk::Buffer, u64), to: (vk::Buffer, u64)) {
    let region = [vk::BufferCopy::default()
        .src_offset(from.1)
        .dst_offset(to.1)
        .size(BYTES)];
    // SAFETY: the command buffer is recording; both ranges lie in their buffers, which live until the queue is idle.
    unsafe { device.raw.cmd_copy_buffer(commands, from.0, to.0, &region) };
}

/// A dependency on all of a buffer, with a transfer of ownership where the two families differ. What the other API does is
/// not Vulkan's to name: its half of the transfer is the semaphore, so that side has ALL_COMMANDS and no access.
fn barrier(
    device: &Device,
    commands: vk::CommandBuffer,
    buffer: &SharedBuffer,
    from: (Stage, Access),
    to: (Stage, Access),
    families: [u32; 2],
) {
    let barriers = [vk::BufferMemoryBarrier2::default()
        .buffer(buffer.raw)
        .size(vk::WHOLE_SIZE)
        .src_stage_mask(from.0)
        .src_access_mask(from.1)
        .src_queue_family_index(families[0])
        .dst_stage_mask(to.0)
        .dst_access_mask(to.1)
        .dst_queue_family_index(families[1])];
    let dependency = vk::DependencyInfo::default().buffer_memory_barriers(&barriers);
    // SAFETY: the command buffer is recording, and the buffer lives until the queue is idle.
    unsafe { device.raw.cmd_pipeline_barrier2(commands, &dependency) };
}

/// Each of these ends as an error of ours, with the reason, instead of a validation message or a fault.
fn refuse_bad_ranges(memory: &std::sync::Arc<SharedMemory>) -> anyhow::Result<()> {
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
