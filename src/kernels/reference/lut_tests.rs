//! Tests of the colour table against the world.

use super::*;
use crate::kernels::reference::FrameParameters;
use crate::kernels::reference::test_images::{Bench, apply};
use crate::kernels::{BrokenPixels, FrameExtents, Table, random_image};
use half::f16;
use std::path::Path;
use std::sync::Arc;

/// A table of these entries over a domain.
fn table(size: u32, dimensions: u32, domain: [f32; 2], entry: impl Fn([usize; 3]) -> [f32; 3]) -> Arc<Table> {
    let [low, high] = domain;
    let mut texels = vec![
        [size as f32, dimensions as f32, 0.0, 0.0],
        [low, low, low, 0.0],
        [high, high, high, 0.0],
    ];
    let n = size as usize;
    for index in 0..n.pow(dimensions) {
        let [red, green, blue] = match dimensions {
            1 => entry([index; 3]),
            _ => entry([index % n, index / n % n, index / n / n]),
        };
        texels.push([red, green, blue, 0.0]);
    }
    Arc::new(Table::new(texels, None))
}

fn graded(table: &Arc<Table>, settings: &[(&str, f64)], extent: [u32; 2], image: &[Texel]) -> Vec<Texel> {
    let mut bench = Bench::new("lut", settings, FrameExtents::same(extent));
    bench.set_table(table);
    bench.frame(image, None, &FrameParameters::default())
}

/// Every half from 0 to 1.
fn all_halves() -> Vec<Texel> {
    let halves: Vec<f32> = (0..=f16::ONE.to_bits())
        .map(|bits| f16::from_bits(bits).to_f32())
        .collect();
    let last = halves.len() - 1;
    let texel = |index: usize| [halves[index], halves[last - index], halves[index * 7 % last], 0.5];
    (0..=last).map(texel).collect()
}

#[test]
fn the_identity_changes_no_bit() {
    let image = all_halves();
    let extent = [image.len() as u32, 1];
    for (size, dimensions) in [(2, 3), (33, 3), (65, 1)] {
        let identity = table(size, dimensions, [0.0, 1.0], |at| {
            at.map(|step| step as f32 / (size - 1) as f32)
        });
        assert_eq!(graded(&identity, &[("encoding", 0.0)], extent, &image), image, "{size}");
        // To sRGB and back, in 64 bits, and rounded to what it was.
        assert_eq!(graded(&identity, &[], extent, &image), image, "{size}, sRGB");
    }
}

#[test]
fn what_is_outside_the_domain_is_the_edge() {
    let identity = table(5, 3, [0.25, 2.0], |at| at.map(|step| 0.25 + 1.75 * step as f32 / 4.0));
    let image = [
        [0.0, 0.25, 1.0, 1.0],
        [2.0, 3.0, 65504.0, 0.0],
        [f32::NAN, -1.0, f32::INFINITY, 0.25],
    ];
    let out = graded(&identity, &[("encoding", 0.0)], [3, 1], &image);
    assert_eq!(
        out,
        [[0.25, 0.25, 1.0, 1.0], [2.0, 2.0, 2.0, 0.0], [0.25, 0.25, 2.0, 0.25]]
    );
}

/// On the entries themselves every interpolation gives the entries.
#[test]
fn on_nodes_there_is_nothing_between() {
    let entry =
        |at: [usize; 3]| [at[0] * 25 + at[1] * 5 + at[2], at[2] * at[1], 124 - at[0]].map(|value| value as f32 / 128.0);
    let nodes: Vec<[usize; 3]> = (0..125).map(|index| [index % 5, index / 5 % 5, index / 25]).collect();
    let image: Vec<Texel> = nodes
        .iter()
        .map(|at| [at[0] as f32 / 4.0, at[1] as f32 / 4.0, at[2] as f32 / 4.0, 1.0])
        .collect();
    let out = graded(&table(5, 3, [0.0, 1.0], entry), &[("encoding", 0.0)], [125, 1], &image);
    for (at, out) in nodes.into_iter().zip(out) {
        assert_eq!(out[..3], entry(at), "{at:?}");
    }
}

/// tests/fixtures/lut.csv is by OpenColorIO.
#[test]
fn it_is_open_color_io_s_tetrahedral_interpolation() {
    let text = include_str!("../../../tests/fixtures/lut.csv");
    let cube = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/lut.cube");
    let cube = Arc::new(Table::read(crate::kernels::TableFormat::Cube, &cube).expect("is a table"));
    let rows: Vec<[f32; 6]> = text
        .lines()
        .skip(1)
        .map(|line| {
            let numbers: Vec<f32> = line.split(',').map(|word| word.parse().expect("a number")).collect();
            numbers.try_into().expect("six numbers")
        })
        .collect();
    assert!(rows.len() >= 200);
    let image: Vec<Texel> = rows.iter().map(|row| [row[0], row[1], row[2], 1.0]).collect();
    let out = graded(&cube, &[("encoding", 0.0)], [rows.len() as u32, 1], &image);
    for (row, out) in rows.iter().zip(out) {
        for channel in 0..3 {
            let expected = row[3 + channel];
            // Half an ulp of half, and OpenColorIO's floats.
            let allowed = expected.abs() * 2f32.powi(-11) + 1e-6;
            assert!((out[channel] - expected).abs() <= allowed, "{row:?}: {out:?}");
        }
    }
}

#[test]
fn no_intensity_is_the_picture_itself_and_the_program_s_table_keeps_black_and_white() {
    let halves = random_image(3, [64, 32], BrokenPixels::Absent);
    let image: Vec<Texel> = halves.iter().map(|texel| texel.map(f16::to_f32)).collect();
    assert_eq!(apply("lut", &[("intensity", 0.0)], [64, 32], &image), image);
    let ends = [[0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0]];
    assert_eq!(apply("lut", &[], [2, 1], &ends), ends);
    let middle = [[0.05, 0.05, 0.05, 1.0], [0.6, 0.6, 0.6, 1.0]];
    let [shadow, highlight] = apply("lut", &[], [2, 1], &middle).try_into().expect("two texels");
    assert!(
        shadow[2] > shadow[0] && highlight[0] > highlight[2],
        "{shadow:?} {highlight:?}"
    );
}
