//! The CUDA guide's interop chapter, section 4.19.2.1.5 and its rules of clean-up: who owns what, and who closes it.
//!
//! Proves with 1,000 rounds of making, exporting, importing and destroying one of everything that can be shared that open
//! descriptors and free GPU memory stay what they were, and that an import that fails leaves nothing open.
//!
//! ```text
//! each round     export            import                        while it lives            destroyed by
//! SharedImage    Vulkan ── fd ──▶ CUDA: takes and closes it    array, views, memory    CUDA's side, then Vulkan's
//! SharedMemory   Vulkan ── fd ──▶ CUDA: takes and closes it    a pointer a buffer      buffers, CUDA's side, Vulkan's
//! Timeline       Vulkan ── fd ──▶ CUDA: takes and closes it    waits and signals       CUDA's side, then Vulkan's
//! Binary         Vulkan ── fd ──▶ CUDA: takes and closes it    waits and signals       CUDA's side, then Vulkan's
//! CudaAllocation CUDA   ── fd ──▶ Vulkan: takes and closes it  an address, a buffer    either side first
//!
//! import refused        ── fd ──▶ nobody took it: the handle closes it
//! never imported        ── fd     the same
//! ```
//!
//! **A descriptor has one owner at a time.** The handle types own theirs, and importing consumes the handle, so closing it
//! twice, or using it after, does not compile. Whether an import succeeded decides who closes: the importer, or we.
//!
//! **What was imported goes before what it was imported from**, and wrong orders do not compile or do not happen:
//! `SharedImage` has CUDA's side in an earlier field than Vulkan's, and cannot be taken apart; a `SharedBuffer` keeps its
//! `SharedMemory` in an `Arc`, so dropping the memory first only lets go of it; everything keeps the `Device` or the context
//! that it was made in. What types cannot see is whether a GPU still works: the owner waits for both sides, then drops.

use std::process::ExitCode;
use std::time::Duration;

use handover::anyhow;
use handover::anyhow::{bail, ensure};
use handover::interop::{
    CudaAllocation, ImportedBuffer, ImportedImage, LinearImage, SharedBinarySemaphore, SharedFormat, SharedImage,
    SharedImageDescription, SharedMemory, SharedTimeline, open_descriptors,
};
use handover::proof::{Pair, Verdict, conclude, expect_descriptors};
use handover::vulkan::vk;
use handover::vulkan::{Timeline, TimelineWait};

const ROUNDS: u64 = 1000;
/// What drivers open and allocate the first times, and keep for later: it is there after these rounds.
const WARM_UP: u64 = 50;
/// How far free GPU memory may be from what it was, in bytes. Drivers take memory in blocks of 2 MiB, which they may keep or
/// give back at any time, so it is not zero; but if each round lost the 64 KiB of one page, 1,000 would lose 62 MiB.
const MEMORY_BOUND: usize = 16 << 20;
/// Bytes of each round's shared memory, and of the buffer in it that is half of it.
const MEMORY_BYTES: u64 = 128 << 10;
/// Far above the time of one signal.
const LIMIT: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    conclude("ownership", run)
}

/// Runs the example.
///
/// # Errors
/// Something that is left, or an import that should have failed.
pub fn run() -> anyhow::Result<Verdict> {
    let pair = match Pair::open()? {
        Ok(pair) => pair,
        Err(reason) => return Ok(Verdict::Skip(reason)),
    };
    for number in 0..WARM_UP {
        round(&pair, number)?;
    }
    handles_close_what_nobody_took(&pair)?;
    pair.finish()?;
    let (descriptors, free) = (open_descriptors()?, pair.context.mem_get_info()?.0);

    let mut alive = 0;
    for number in 0..ROUNDS {
        alive = round(&pair, number)?;
        expect_descriptors(descriptors, &format!("after round {number}"))?;
    }
    handles_close_what_nobody_took(&pair)?;
    let (linear, mapped) = imports_that_fail(&pair)?;
    println!("refused before the driver saw it: {linear}");
    println!("refused by the driver: {mapped}");

    pair.finish()?;
    expect_descriptors(descriptors, "at the end")?;
    let free_after = pair.context.mem_get_info()?.0;
    let difference = free.abs_diff(free_after);
    ensure!(
        difference <= MEMORY_BOUND,
        "expected {free} bytes of free GPU memory give or take {MEMORY_BOUND}, saw {free_after}: {difference} apart"
    );
    Ok(Verdict::Pass(format!(
        "{ROUNDS} rounds; {descriptors} descriptors before and after, {alive} while a round's objects live; free GPU memory \
         {} KiB before, {} KiB after; 2 refused imports left nothing open",
        free >> 10,
        free_after >> 10
    )))
}

/// An image small enough for a thousand of them, in a format that kernels load and store.
fn description() -> SharedImageDescription {
    let extent = vk::Extent2D { width: 64, height: 64 };
    SharedImageDescription::new(SharedFormat::Rgba16Float, extent, vk::ImageUsageFlags::STORAGE)
}

const BUFFER_USAGE: vk::BufferUsageFlags = vk::BufferUsageFlags::TRANSFER_DST;

/// Makes one of everything, uses it, and destroys it. Gives how many descriptors are open meanwhile.
fn round(pair: &Pair, number: u64) -> anyhow::Result<usize> {
    let (device, context, stream) = (&pair.device, &pair.context, &pair.stream);

    // Vulkan's, imported by CUDA. `new` exports and imports; the descriptor in between is never seen.
    let image = SharedImage::new(device, context, description(), "image")?;
    let memory = SharedMemory::new(device, context, MEMORY_BYTES, BUFFER_USAGE, "memory")?;
    let buffer = memory.buffer(MEMORY_BYTES / 2, MEMORY_BYTES / 2, "buffer")?;
    let binary = SharedBinarySemaphore::new(device, context, "binary")?;
    // The same in two steps: here the handle is seen, and `from_handle` consumes it.
    let timeline = Timeline::new(device, "timeline", true)?;
    let handle = SharedTimeline::export(device, &timeline)?;
    let imported = SharedTimeline::from_handle(context, handle, timeline.name())?;

    // CUDA's, imported by Vulkan.
    let allocation = CudaAllocation::new(context, 1)?;
    let in_vulkan = ImportedBuffer::new(device, allocation.export()?, BUFFER_USAGE, "CUDA's")?;

    // They are what they should be: the buffer begins where it was asked to, the allocation is seen whole, and what CUDA
    // signals is what Vulkan sees. After the wait neither side has anything left to do, so all may go.
    let (offset, levels, all) = (buffer.offset, image.level_views().len(), allocation.size() as u64);
    ensure!(
        buffer.address != 0 && offset == MEMORY_BYTES / 2 && levels == 1 && in_vulkan.size == all,
        "round {number}: expected a mapped buffer at half the memory, one level, {all} bytes of CUDA's; saw {:#x} at {offset}, \
         {levels}, {}",
        buffer.address,
        in_vulkan.size
    );
    imported.signal(stream, 1)?;
    ensure!(
        timeline.wait(1, LIMIT)? == TimelineWait::Reached,
        "round {number}: expected the timeline at 1 within {LIMIT:?}, saw it at {}",
        timeline.value()?
    );
    stream.synchronize()?;
    let alive = open_descriptors()?;

    // CUDA's memory may be let go of by either side first: Vulkan's import keeps it alive, and CUDA never knew of Vulkan.
    if number.is_multiple_of(2) {
        drop(allocation);
        drop(in_vulkan);
    } else {
        drop(in_vulkan);
        drop(allocation);
    }
    // The memory "first": the buffer still holds it, so it goes after the buffer.
    drop(memory);
    drop(buffer);
    // CUDA's side of the timeline, then Vulkan's.
    drop(imported);
    drop(timeline);
    // These two hold both sides, in that order. `drop(image.vulkan)` does not compile.
    drop(binary);
    drop(image);
    Ok(alive)
}

/// An exported handle is one open descriptor, and closed when it is dropped.
fn handles_close_what_nobody_took(pair: &Pair) -> anyhow::Result<()> {
    let image = SharedImage::new(&pair.device, &pair.context, description(), "image")?;
    let timeline = Timeline::new(&pair.device, "timeline", true)?;
    let binary = SharedBinarySemaphore::new(&pair.device, &pair.context, "binary")?;
    let allocation = CudaAllocation::new(&pair.context, 1)?;
    let before = open_descriptors()?;
    let (of_image, of_memory) = (image.vulkan.export()?, allocation.export()?);
    let (of_timeline, of_binary) = (SharedTimeline::export(&pair.device, &timeline)?, binary.export()?);
    expect_descriptors(before + 4, "with four handles exported")?;
    drop((of_image, of_memory, of_timeline, of_binary));
    expect_descriptors(before, "with the four dropped")
}

/// Two imports that must fail, and leave no descriptor open: one that is refused here, one that the driver refuses.
fn imports_that_fail(pair: &Pair) -> anyhow::Result<(String, String)> {
    let allocation = CudaAllocation::new(&pair.context, 1)?;
    let image = SharedImage::new(&pair.device, &pair.context, description(), "image")?;
    let before = open_descriptors()?;
    // 8 bytes a texel: 128 MiB, where the allocation has 2 and the image 32 KiB.
    let extent = vk::Extent2D::default().width(4096).height(4096);

    let (handle, format, usage) = (
        allocation.export()?,
        description().format,
        vk::ImageUsageFlags::TRANSFER_DST,
    );
    let Err(linear) = LinearImage::new(&pair.device, handle, format, extent, usage, "too large") else {
        bail!("expected a LINEAR image larger than its memory to be refused; it was made")
    };
    // CUDA takes the descriptor when it imports the memory, and then cannot map an array of that extent: so it is the
    // imported memory that has to be destroyed, which the half-made import does.
    let mut wrong = description();
    wrong.extent = extent;
    let Err(mapped) = ImportedImage::new(&pair.context, image.vulkan.export()?, &wrong) else {
        bail!("expected an image larger than its memory to be refused by CUDA; it was mapped")
    };
    expect_descriptors(before, "after two imports that failed")?;
    Ok((linear.to_string(), mapped.to_string()))
}
