//! Tests of a frame's spans, and of its kernels' within the chain.

use super::*;

#[test]
fn gpu_spans_follow_one_another_and_lack_only_what_was_not_stamped() {
    let mut record = FrameRecord::default();
    record.spans.scene = Some(Interval::new(1_000_000, 3_000_000));
    record.spans.chain = Some(Interval::new(3_155_000, 8_845_000));
    record.spans.present = Some(Interval::new(9_000_000, 9_500_000));
    fill_gpu_spans(&mut record, Some(5.69), None);
    assert_eq!(record.scene_ms, Some(2.0));
    assert_eq!(record.handover_to_cuda_ms, Some(0.155));
    assert_eq!(record.handover_to_vulkan_ms, Some(0.155));
    assert_eq!(record.present_gpu_ms, Some(0.5));
    let total = record.gpu_time_ms().expect("all spans are there");
    assert!((total - 8.5).abs() < 1e-9, "{total}");

    // What the overlay takes is not part of it.
    record.spans.overlay = Some(Interval::new(9_200_000, 9_325_000));
    fill_gpu_spans(&mut record, Some(5.69), None);
    assert_eq!(record.overlay_ms, Some(0.125));
    let total = record.gpu_time_ms().expect("all spans are there");
    assert!((total - 8.375).abs() < 1e-9, "{total}");

    // Nor where the chain drew it.
    record.spans.overlay = Some(Interval::new(8_745_000, 8_845_000));
    fill_gpu_spans(&mut record, Some(5.69), Some(0.1));
    assert_eq!((record.overlay_ms, record.present_gpu_ms), (Some(0.1), Some(0.5)));
    assert_eq!(record.chain_ms, Some(5.69 - 0.1));
    assert_eq!(record.handover_to_vulkan_ms, Some(0.155));

    // Clocks that could not be related: the chain is known, the hand-overs are not.
    record.spans.chain = None;
    fill_gpu_spans(&mut record, Some(5.69), None);
    assert_eq!((record.handover_to_cuda_ms, record.handover_to_vulkan_ms), (None, None));
    assert_eq!(record.chain_ms, Some(5.69));
}

#[test]
fn kernels_stay_in_their_chain() {
    let kernel = |from, to| KernelTime {
        effect: 0,
        pass: 0,
        fused: None,
        since_start_ns: [from, to],
        bytes: 0,
    };
    let kernels = [kernel(0.0, 300.4), kernel(300.4, 1_020.0)];
    let spans = kernel_spans(Interval::new(1_000, 2_000), &kernels);
    let intervals: Vec<_> = spans.map(|span| span.interval).collect();
    assert_eq!(intervals, [Interval::new(1_000, 1_300), Interval::new(1_300, 2_000)]);
}
