//! What a launch is given, wherever it runs: the frame's images and the chain's own, as kernels see them.

use crate::kernels::reference::FrameParameters;
use crate::kernels::{Buffer, BufferId, Image, ImageId, Launch, Pass};

/// The images of a frame as kernels see them. Guides that the scene does not write are zero.
pub(super) struct FrameViews {
    pub color: Image,
    pub processed: Image,
    /// Depth, normal, albedo, motion.
    pub guides: [Image; 4],
}

/// The first argument of a launch. `image` and `buffer` find what is the chain's own. What is made once is given nothing that may
/// be another in the next frame.
pub(super) fn pass_of(
    item: &Launch,
    views: &FrameViews,
    frame: &FrameParameters,
    kept_frames: u32,
    image: impl Fn(ImageId) -> Option<Image>,
    buffer: impl Fn(BufferId) -> Option<Buffer>,
) -> Pass {
    let image = |id: Option<ImageId>| match id {
        Some(ImageId::Color) => views.color,
        Some(ImageId::Processed) => views.processed,
        own => own.and_then(&image).unwrap_or_default(),
    };
    if item.is_once() {
        return Pass {
            source: Image {
                extent: image(item.sources[0]).extent,
                ..Image::default()
            },
            buffers: item.buffers.map(|id| id.and_then(&buffer).unwrap_or_default()),
            index: item.description().index,
            ..Pass::default()
        };
    }
    let [source, second, third] = item.sources.map(image);
    let [depth, normal, albedo, motion] = views.guides;
    Pass {
        source,
        second,
        third,
        destination: image(item.destination),
        depth,
        normal,
        albedo,
        motion,
        buffers: item.buffers.map(|id| id.and_then(&buffer).unwrap_or_default()),
        pointer: frame.pointer,
        previous_pointer: frame.previous_pointer,
        jitter: frame.jitter,
        frame: frame.frame,
        time: frame.time,
        time_delta: frame.time_delta,
        kept_frames,
        index: item.description().index,
    }
}
