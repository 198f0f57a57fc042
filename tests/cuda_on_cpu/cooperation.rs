//! Threads that work together, as the CPU runs them: small kernels against values known by hand.

use crate::harness::{Frame, Job, Program, Unit};
use half::f16;
use handover::kernels::reference::FrameParameters;
use handover::kernels::{BrokenPixels, Catalogue, Chain, Effect, FrameExtents, TestGuides, parse, random_image};
use std::sync::Arc;

/// What kernels of these bodies, compiled together, make of an image of that extent, by blocks of `block` threads.
fn run_all(block: [u32; 2], extent: [u32; 2], bodies: &[&str]) -> Vec<Result<Vec<[f32; 4]>, String>> {
    let code = |body: &&str| {
        format!(
            "/*---\ntitle = \"t\"\nstage = \"look\"\n[[passes]]\nentry = \"t\"\nsource = \"input\"\n\
             destination = \"output\"\nblock = {block:?}\n---*/\n#include \"handover.cuh\"\n\
             extern \"C\" __global__ void t(const __grid_constant__ Pass pass,\n\
             const __grid_constant__ NoParameters parameters) {{\n\
             int2 at = thread_texel();\nfloat4 value = make_float4(0.0f, 0.0f, 0.0f, 0.0f);\n{body}\n\
             store(pass.destination, at, value);\n}}\n"
        )
    };
    let effects = bodies.iter().map(|body| parse("t", &code(body)).expect("parses"));
    let effects: Vec<Effect> = effects.collect();
    let units = effects.iter().map(|effect| Unit {
        effect,
        code: effect.code.clone(),
        included: Vec::new(),
    });
    let program = Program::compile(&units.collect::<Vec<Unit>>());
    let run = |(unit, effect): (usize, &Effect)| {
        let catalogue = Arc::new(Catalogue::new(vec![effect.clone()]).expect("one effect"));
        let plan = Chain::with_enabled(&catalogue, &["t"]).expect("an effect").plan();
        let job = Job {
            units: vec![unit; plan.launches.len()],
            plan,
            extents: FrameExtents {
                scene: extent,
                display: extent,
            },
            frames: vec![Frame {
                color: random_image(1, extent, BrokenPixels::Absent),
                guides: TestGuides::random(1, extent),
                parameters: FrameParameters::default(),
            }],
        };
        let image = program.try_run(&[job])?.remove(0);
        Ok(image.iter().map(|texel| texel.map(f16::to_f32)).collect())
    };
    effects.iter().enumerate().map(run).collect()
}

fn run(block: [u32; 2], extent: [u32; 2], body: &str) -> Vec<[f32; 4]> {
    run_all(block, extent, &[body]).remove(0).expect("runs")
}

#[test]
fn lanes_exchange() {
    let body = "
        int lane = threadIdx.x, sum = lane;
        for (int bit = 1; bit < 32; bit *= 2) sum += __shfl_xor_sync(~0u, sum, bit);
        float prefix = lane;
        for (int step = 1; step < 32; step *= 2) {
            float before = __shfl_up_sync(~0u, prefix, step);
            if (lane >= step) prefix += before;
        }
        unsigned long long wide = 1ull << (lane + 20);
        wide = __shfl_down_sync(~0u, wide, 3, 8) >> 20;
        unsigned odd = __ballot_sync(~0u, lane & 1);
        int fifth = __shfl_sync(~0u, 10 * lane, 5, 16) + __any_sync(~0u, lane == 9) + 2 * __all_sync(~0u, lane != 9);
        value = make_float4(sum, prefix, float(wide >> (lane / 8 * 8)), odd == 0xaaaaaaaau ? fifth : 0);
        if (lane >= 28) {
            value.x = __shfl_xor_sync(0xf0000000u, lane, 1);
            __syncwarp(0xf0000000u);
        }";
    let texels = run([32, 2], [32, 2], body);
    for (index, texel) in texels.iter().enumerate() {
        let lane = index % 32;
        let sum = if lane >= 28 { lane ^ 1 } else { 496 };
        let below = if lane % 8 < 5 { lane % 8 + 3 } else { lane % 8 };
        // Lane 5 of each half: 50 and 210; some lane is the ninth, and not all are others.
        let fifth = 1 + if lane < 16 { 50 } else { 210 };
        let expected = [sum, lane * (lane + 1) / 2, 1 << below, fifth].map(|value| value as f32);
        assert_eq!(*texel, expected, "lane {lane}");
    }
}

const TRANSPOSITION: &str = "
        __shared__ float tile[16][17];
        tile[threadIdx.y][threadIdx.x] = at.x + 64 * at.y;
        __syncthreads();
        value.x = tile[threadIdx.x][threadIdx.y];";

#[test]
fn a_tile_in_shared_memory_is_transposed() {
    let texel = |texels: &[[f32; 4]], x: usize, y: usize| texels[48 * y + x][0];
    let texels = run([16, 16], [48, 32], TRANSPOSITION);
    for y in 0..32 {
        for x in 0..48 {
            let (left, top) = (x / 16 * 16, y / 16 * 16);
            let expected = (left + y % 16) + 64 * (top + x % 16);
            assert_eq!(texel(&texels, x, y), expected as f32, "{x}, {y}");
        }
    }
    // Without the barrier, either order of threads reads something that is not there yet.
    let broken = run([16, 16], [48, 32], &TRANSPOSITION.replace("__syncthreads();", ""));
    for left in [0, 16] {
        let differs = |index: usize| {
            let (x, y) = (left + index % 16, index / 16);
            texel(&broken, x, y) != texel(&texels, x, y)
        };
        assert!((0..256).any(differs), "from {left} on");
    }
}

#[test]
fn a_product_of_matrices_equals_plain_loops() {
    // a(row, k) and b(k, column) of the first product; of the second, they are larger by 1 and 2.
    let a = |row: usize, k: usize| row as f32 * 0.5 - k as f32;
    let b = |k: usize, column: usize| (k * column) as f32 * 0.25 + 1.0 - k as f32;
    let body = "
        int group = threadIdx.x / 4, column = threadIdx.x % 4 * 2;
        auto a = [](int row, int k) { return row * 0.5f - k; };
        auto b = [](int k, int column) { return k * column * 0.25f + 1.0f - k; };
        auto pair = [](float low, float high) { return unsigned(float_to_half(high)) << 16 | float_to_half(low); };
        float sum[4] = {0.0f, 0.0f, 0.0f, 1000.0f};
        for (int more = 0; more < 2; ++more)
            multiply(sum, pair(a(group, column) + more, a(group, column + 1) + more),
                     pair(a(group + 8, column) + more, a(group + 8, column + 1) + more),
                     pair(b(column, group) + 2.0f * more, b(column + 1, group) + 2.0f * more));
        collect();
        value = make_float4(sum[0] + 1000.0f, sum[1] + 1000.0f, sum[2] + 1000.0f, sum[3]);";
    let texels = run([32, 1], [32, 1], body);
    for (lane, texel) in texels.iter().enumerate() {
        let (group, pair) = (lane / 4, lane % 4);
        for (index, value) in texel.iter().enumerate() {
            let (row, column) = (group + index / 2 * 8, 2 * pair + index % 2);
            let product = |k: usize| a(row, k) * b(k, column) + (a(row, k) + 1.0) * (b(k, column) + 2.0);
            let expected = 1000.0 + (0..8).map(product).sum::<f32>();
            assert_eq!(*value, f16::from_f32(expected).to_f32(), "row {row}, column {column}");
        }
    }
}

#[test]
fn bytes_are_chosen_and_divisions_are_off_by_two_ulps() {
    let body = "
        unsigned chosen = __byte_perm(0x33221100u, 0x77665584u, 0x71c4u);
        value.x = chosen == 0x7711ff84u;
        value.y = (__fdividef(at.x + 3.0f, 11.0f) - (at.x + 3.0f) / 11.0f) * 1048576.0f;
        value = make_float4(value.x, fabsf(value.y), __fdividef(at.x, 0x1.1p126f), 0.0f);";
    for texel in run([8, 1], [8, 1], body) {
        assert!(texel[0] == 1.0 && texel[2] == 0.0, "{texel:?}");
        assert!(texel[1] > 0.0 && texel[1] <= 0.25, "{texel:?}");
    }
}

#[test]
fn what_would_hang_or_be_undefined_on_a_device_is_refused() {
    let refused = [
        (
            "if (at.x < 4) return;\nvalue.x = __shfl_down_sync(~0u, value.x, 1);",
            "others that have ended",
        ),
        (
            "if (at.x < 4) __syncwarp(); else __any_sync(~0u, 1);",
            "different functions",
        ),
        ("__syncwarp(2u);", "a mask that it is not in"),
        (
            "if (at.x < 16) value.x = __shfl_xor_sync(0xffffu, value.x, 16);",
            "not in its mask",
        ),
        (
            "float sum[4] = {};\nif (at.x < 4) multiply(sum, 0u, 0u, 0u);\ncollect();",
            "different numbers",
        ),
        (
            "if (at.x == 0) __syncwarp(); else __syncthreads();",
            "others that have ended or wait elsewhere",
        ),
    ];
    let results = run_all([32, 2], [32, 2], &refused.map(|(body, _)| body));
    for ((body, reason), result) in refused.into_iter().zip(results) {
        let words = result.expect_err(body);
        assert!(words.contains(reason), "{body}: {words}");
    }
}
