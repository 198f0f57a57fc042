//! Tests of the overlay as a whole.

use super::*;

const SCREEN: vk::Extent2D = vk::Extent2D {
    width: 1280,
    height: 720,
};

fn overlay() -> Overlay {
    Overlay::new(Facts {
        title: "a GPU".into(),
        effects: (0..8).map(|effect| format!("effect {effect}")).collect(),
        ..Facts::default()
    })
}

/// A frame with every part, and with every effect.
fn frame(number: u64) -> FrameRecord {
    use crate::timing::{FrameSpans, HostWork, Interval};
    use crate::vulkan::Calibration;
    let at = |from: u64, to: u64| Interval::new(number * 10_000 + from, number * 10_000 + to);
    FrameRecord {
        frame: number,
        between_presents_ms: Some(10.0),
        kernels_ms: vec![Some(0.0001); 8],
        kernels_bytes: vec![1_000; 8],
        overlay_ms: Some(0.0001),
        spans: FrameSpans {
            host: vec![
                (HostWork::WaitForSlot, at(0, 1_000)),
                (HostWork::SubmitScene, at(1_000, 2_000)),
            ],
            scene: Some(at(2_000, 4_000)),
            chain: Some(at(5_000, 7_000)),
            present: Some(at(8_000, 9_000)),
            calibration: Some(Calibration {
                device_ns: 0,
                host_ns: 0,
                deviation_ns: 0,
            }),
            ..FrameSpans::default()
        },
        ..FrameRecord::default()
    }
}

/// The least and the greatest tile that something is drawn in, in texels.
fn extremes(list: &DrawList) -> [[u32; 2]; 2] {
    let tiles = &list.fours[list.layout.tiles as usize..];
    let along = |axis: usize| tiles.iter().map(move |tile| tile[axis] * 16);
    let least = [0, 1].map(|axis| along(axis).min().expect("something is drawn"));
    let most = [0, 1].map(|axis| along(axis).max().expect("something is drawn") + 16);
    [least, most]
}

#[test]
fn all_of_it_fits_into_the_window_that_opens_by_default() {
    let mut overlay = overlay();
    (0..300).for_each(|number| drop(overlay.push(frame(number))));
    for scale in [1, 2] {
        let screen = vk::Extent2D {
            width: SCREEN.width * scale,
            height: SCREEN.height * scale,
        };
        let list = overlay.draw(screen, scale as f32).expect("a thread");
        let [least, most] = extremes(&list);
        assert_eq!(least, [10 * scale / 16 * 16; 2]);
        assert!(most[0] <= 624 * scale, "{most:?} at {scale}");
        assert!(most[1] < 700 * scale, "{most:?} at {scale}");
        // It is not cut off at the bottom either: a higher window has no more of it.
        let higher = vk::Extent2D {
            height: screen.height + 500,
            ..screen
        };
        assert_eq!(
            extremes(&overlay.draw(higher, scale as f32).expect("a thread")),
            [least, most]
        );
    }
}

#[test]
fn a_layout_is_kept_until_another_is_due() {
    let mut overlay = overlay();
    let first = overlay.draw(SCREEN, 1.0).expect("a thread");
    let started = Instant::now();
    let second = overlay.draw(SCREEN, 1.0).expect("a thread");
    assert!(Arc::ptr_eq(&first, &second) || started.elapsed() >= LAYOUT_INTERVAL);
    // Another screen or scale has a layout of its own at once.
    let larger = overlay.draw(SCREEN, 1.25).expect("a thread");
    assert!(extremes(&larger)[1][0] > extremes(&second)[1][0]);
    // Frames come to be seen without anything waiting for them.
    let before = overlay.draw(SCREEN, 1.0).expect("a thread");
    (0..300).for_each(|number| drop(overlay.push(frame(number))));
    let deadline = Instant::now() + Duration::from_secs(20);
    while overlay.draw(SCREEN, 1.0).expect("a thread").fours.len() <= before.fours.len() {
        assert!(Instant::now() < deadline, "300 frames are not drawn");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn only_the_last_frames_are_kept() {
    let mut overlay = overlay();
    (0..1_000).for_each(|number| drop(overlay.push(frame(number))));
    assert_eq!(overlay.recent.len(), FRAMES_KEPT);
    assert_eq!(overlay.recent.back().map(|record| record.frame), Some(999));
    assert_eq!(
        overlay.recent.capacity(),
        VecDeque::<FrameRecord>::with_capacity(FRAMES_KEPT).capacity()
    );
}
