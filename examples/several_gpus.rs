//! Frames on several GPUs in turn (section 4.19.1.3 of the CUDA guide, for Vulkan): each GPU has a Vulkan device and a CUDA
//! context of its own, matched by UUID, and what it made is gathered on the first GPU.
//!
//! ```text
//! frame 1, 3, 5 …   GPU 0   Vulkan fills ─▶ CUDA changes ───────────────┐
//! frame 2, 4, 6 …   GPU 1   Vulkan fills ─▶ CUDA changes ──peer copy──▶ GPU 0: one place a frame, read by its Vulkan
//! ```
//!
//! Memory and semaphores are shared between the two APIs of *one* GPU only: between GPUs CUDA copies. It proves every word of
//! every frame, and that both GPUs made their share.

use std::process::ExitCode;

use handover::anyhow;
use handover::anyhow::ensure;
use handover::bytemuck;
use handover::cuda::{copy_to_peer, launch};
use handover::interop::{CudaAllocation, ImportedBuffer, SharedBuffer, SharedMemory};
use handover::proof::{Pair, Verdict, conclude};
use handover::vulkan::ownership::{acquire_from_external, release_to_external};
use handover::vulkan::vk;
use handover::vulkan::{Buffer, BufferMemory};

const FRAMES: u32 = 100;
const WORDS: u32 = 4096;
const BYTES: u64 = WORDS as u64 * 4;

const KERNEL: &str = r#"
extern "C" __global__ void add_place(unsigned *words, unsigned count)
{
    unsigned place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place < count) words[place] = words[place] * 65536 + place;
}
"#;

/// One GPU: its memory, seen by both of its APIs, and its kernel.
struct Worker {
    words: SharedBuffer,
    kernel: handover::cuda::Function,
    frames: u32,
    pair: Pair,
}

fn main() -> ExitCode {
    conclude("several_gpus", run)
}

/// The example.
///
/// # Errors
/// A word that is not what it must be, or a call that failed.
pub fn run() -> anyhow::Result<Verdict> {
    let pairs = Pair::open_all()?;
    if pairs.len() < 2 {
        return Ok(Verdict::Skip(format!(
            "it takes two GPUs that Vulkan and CUDA both see; here: {}",
            pairs.len()
        )));
    }
    let usage = vk::BufferUsageFlags::TRANSFER_DST;
    let mut workers = pairs
        .into_iter()
        .map(|pair| {
            let [kernel] = pair.kernels("several_gpus", KERNEL, ["add_place"])?;
            let words =
                SharedMemory::new(&pair.device, &pair.context, BYTES, usage, "words")?.buffer(0, BYTES, "words")?;
            Ok(Worker {
                words,
                kernel,
                frames: 0,
                pair,
            })
        })
        .collect::<anyhow::Result<Vec<_>>>()?;

    // CUDA's memory on the first GPU, which its Vulkan reads at the end.
    let gathered = CudaAllocation::new(&workers[0].pair.context, FRAMES as usize * BYTES as usize)?;
    for frame in 1..=FRAMES {
        let (first, turn) = (workers[0].pair.context.clone(), frame as usize % workers.len());
        let worker = &mut workers[turn];
        worker.frames += 1;
        let (device, family) = (&worker.pair.device, worker.pair.device.scene_queue.family);
        worker.pair.round_trip(
            |commands| {
                // SAFETY: the command buffer is recording; the buffer outlives the round trip.
                unsafe {
                    device
                        .raw
                        .cmd_fill_buffer(commands, worker.words.raw, 0, vk::WHOLE_SIZE, frame)
                };
                release_to_external(device, commands, family, &[], &[worker.words.raw]);
            },
            |stream| {
                let place = gathered.address + u64::from(frame - 1) * BYTES;
                let arguments = [&worker.words.address.to_ne_bytes()[..], &WORDS.to_ne_bytes()];
                // SAFETY: a pointer and a count, as the kernel has them; both ranges outlive the round trip, and are of the
                // contexts they are named with.
                unsafe {
                    launch(stream, &worker.kernel, [WORDS, 1], [256, 1], &arguments)?;
                    copy_to_peer(
                        stream,
                        (&worker.pair.context, worker.words.address),
                        (&first, place),
                        BYTES as usize,
                    )?;
                }
                Ok(())
            },
            |commands| acquire_from_external(device, commands, family, &[], &[worker.words.raw]),
        )?;
    }

    check(&workers[0].pair, &gathered)?;
    let shares: Vec<_> = workers
        .iter()
        .map(|worker| format!("{} made {}", worker.pair.cuda.name, worker.frames))
        .collect();
    ensure!(
        workers.iter().all(|worker| worker.frames > 0),
        "not every GPU had a frame: {}",
        shares.join(", ")
    );
    for worker in &workers {
        worker.pair.finish()?;
    }
    let words = FRAMES * WORDS;
    Ok(Verdict::Pass(format!(
        "{FRAMES} frames, {words} words checked; {}",
        shares.join(", ")
    )))
}

/// The first GPU's Vulkan reads what was gathered.
fn check(pair: &Pair, gathered: &CudaAllocation) -> anyhow::Result<()> {
    let (device, family) = (&pair.device, pair.device.scene_queue.family);
    let imported = ImportedBuffer::new(
        device,
        gathered.export()?,
        vk::BufferUsageFlags::TRANSFER_SRC,
        "gathered",
    )?;
    let bytes = u64::from(FRAMES) * BYTES;
    let on_host = Buffer::new(
        device,
        bytes,
        vk::BufferUsageFlags::TRANSFER_DST,
        BufferMemory::ReadBack,
        "on the host",
    )?;
    pair.round_trip(
        |_| {},
        |_| Ok(()),
        |commands| {
            acquire_from_external(device, commands, family, &[], &[imported.raw]);
            let all = [vk::BufferCopy::default().size(bytes)];
            // SAFETY: the command buffer is recording; both buffers outlive the round trip.
            unsafe { device.raw.cmd_copy_buffer(commands, imported.raw, on_host.raw, &all) };
        },
    )?;
    let words: &[u32] = bytemuck::cast_slice(on_host.bytes());
    for (place, word) in (0..).zip(words) {
        let (frame, place): (u32, u32) = (place / WORDS + 1, place % WORDS);
        let expected = frame * 65536 + place;
        ensure!(
            *word == expected,
            "frame {frame}, word {place}: {word} instead of {expected}"
        );
    }
    Ok(())
}
