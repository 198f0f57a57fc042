//! The kernels that write the screen image, compiled for the CPU, against their twins: to the bit.

use crate::harness::{compiler, run};
use egui::epaint::{ClippedPrimitive, Mesh, Primitive};
use egui::{Color32, Rect, pos2, vec2};
use half::f16;
use handover::kernels::{ScreenKernel, SrgbTable};
use handover::overlay::{Atlas, DrawList};
use handover::vulkan::vk;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// The program, whose kernels may have been broken: what is to be replaced in the file of that name.
fn program((file, from, to): (&str, &str, &str)) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in [ScreenKernel::ENCODE, ScreenKernel::OVERLAY] {
        let mut code = ScreenKernel::named(name).code.replace("extern \"C\"", "");
        if name == file {
            assert!(code.contains(from), "{name}.cu has no {from:?}");
            code = code.replace(from, to);
        }
        fs::write(folder.path().join(format!("{name}.cu")), code).expect("writes a kernel");
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda_on_cpu/screen.cpp");
    let path = folder.path().join("program");
    compiler(folder.path(), &["-o".as_ref(), path.as_os_str(), source.as_os_str()]);
    (folder, path)
}

const UNBROKEN: (&str, &str, &str) = ("", "", "");

/// All halves, in rows of an odd width: 65,535 = 255 · 257, and one more.
fn halves() -> (Vec<[f16; 4]>, [u32; 2]) {
    let texel = |index: u16| [index, index.wrapping_mul(3), !index, 0x3c00].map(f16::from_bits);
    ((0..=u16::MAX).skip(1).map(texel).collect(), [257, 255])
}

fn encode_job(texels: &[[f16; 4]], [width, height]: [u32; 2]) -> Vec<u8> {
    let table = SrgbTable::get().bytes();
    let numbers: Vec<u8> = [0, width, height].into_iter().flat_map(u32::to_le_bytes).collect();
    let size = (table.len() as u32).to_le_bytes();
    [&numbers, bytemuck::cast_slice(texels), &size, table].concat()
}

#[test]
fn the_kernel_encodes_every_half_as_the_table_does() {
    let (texels, extent) = halves();
    let narrow = [[1, 3], [2, 2], [3, 1], [4, 2], [6, 5], [131, 3]].map(|extent @ [width, height]| {
        let count = (width * height) as usize;
        (texels[12_000..12_000 + count].to_vec(), extent)
    });
    let jobs: Vec<_> = [(texels, extent)].into_iter().chain(narrow).collect();
    let input: Vec<u8> = jobs
        .iter()
        .flat_map(|(texels, extent)| encode_job(texels, *extent))
        .collect();
    let expected: Vec<u8> = jobs
        .iter()
        .flat_map(|(texels, _)| {
            let mut screen = vec![0; texels.len() * 4];
            SrgbTable::get().encode(bytemuck::cast_slice(texels), &mut screen);
            screen
        })
        .collect();
    let (folder, path) = program(UNBROKEN);
    assert!(run(folder.path(), &path, &input) == expected);
    for broken in [
        ("encode", "half % 8 >= entry >> 8", "half % 8 > entry >> 8"),
        ("encode", "light > infinity || ", ""),
        ("encode", "(x + 2) * int(texel_size)", "(x + 0) * int(texel_size)"),
        (
            "encode",
            "x + texels_a_thread <= width",
            "x + texels_a_thread < width - 1",
        ),
    ] {
        let (folder, path) = program(broken);
        let same = run(folder.path(), &path, &input) == expected;
        // The last one is slower, and right.
        assert_eq!(same, broken.2.contains("width - 1"), "{broken:?}");
    }
}

/// Rectangles, gradients, a fan whose triangles share edges through centres of texels, slivers, and what is beyond the screen.
fn meshes() -> Vec<Mesh> {
    let mut rectangles = Mesh::default();
    rectangles.add_colored_rect(
        Rect::from_min_max(pos2(-4.0, 3.5), pos2(40.0, 21.0)),
        Color32::from_rgba_unmultiplied(20, 30, 40, 150),
    );
    rectangles.add_rect_with_uv(
        Rect::from_min_max(pos2(5.0, 5.0), pos2(33.3, 50.0)),
        Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0)),
        Color32::from_rgba_unmultiplied(213, 94, 0, 200),
    );
    let mut fan = Mesh::default();
    fan.colored_vertex(pos2(30.5, 30.5), Color32::WHITE);
    let count = 24;
    for corner in 0..=count {
        let turn = std::f32::consts::TAU * corner as f32 / count as f32;
        let at = pos2(30.5, 30.5) + 25.0 * vec2(turn.cos(), turn.sin());
        fan.colored_vertex(
            at,
            Color32::from_rgba_unmultiplied((corner * 10) as u8, 158, 255 - corner as u8, 90),
        );
        fan.vertices.last_mut().expect("one").uv = pos2(corner as f32 / count as f32, 0.5);
    }
    for corner in 1..=count {
        fan.add_triangle(0, corner, corner + 1);
    }
    let mut slivers = Mesh::default();
    for line in 0..40 {
        let y = line as f32 * 1.37;
        let first = slivers.vertices.len() as u32;
        slivers.colored_vertex(pos2(2.0, y), Color32::YELLOW);
        slivers.colored_vertex(pos2(78.0, y + 9.1), Color32::from_rgba_premultiplied(0, 200, 90, 60));
        slivers.colored_vertex(pos2(77.0, y + 9.4), Color32::LIGHT_BLUE);
        slivers.add_triangle(first, first + 1, first + 2);
    }
    vec![rectangles, fan, slivers]
}

fn list(extent: [u32; 2]) -> DrawList {
    let [width, height] = extent;
    let primitives: Vec<_> = meshes()
        .into_iter()
        .map(|mesh| ClippedPrimitive {
            clip_rect: Rect::from_min_max(pos2(1.0, 0.0), pos2(70.0, 60.0)),
            primitive: Primitive::Mesh(mesh),
        })
        .collect();
    let atlas = Atlas {
        size: [7, 5],
        texels: (0..35_u32)
            .map(|texel| texel.wrapping_mul(0x9e37_79b9) | 0x4000_0000)
            .collect(),
    };
    DrawList::new(&primitives, 1.25, vk::Extent2D { width, height }, &Arc::new(atlas))
}

#[test]
fn the_kernel_draws_the_overlay_as_the_cpu_does() {
    let extents = [[100, 75], [81, 33], [16, 16], [5, 90]];
    let (mut input, mut expected) = (Vec::new(), Vec::new());
    for extent @ [width, height] in extents {
        let under: Vec<u8> = (0..width * height * 4)
            .map(|byte| (byte * 7 + byte / 97) as u8)
            .collect();
        // Made for a larger screen.
        let list = list([100, 80]);
        let mut drawn = under.clone();
        list.draw_over(&mut drawn, extent);
        assert!(drawn != under);
        expected.extend(drawn);
        let fours: &[u8] = bytemuck::cast_slice(&list.fours);
        let texels: &[u8] = bytemuck::cast_slice(&list.atlas.texels);
        let numbers: Vec<u8> = [1, width, height].into_iter().flat_map(u32::to_le_bytes).collect();
        let size = |bytes: &[u8]| (bytes.len() as u32).to_le_bytes();
        input.extend(
            [
                &numbers,
                &under[..],
                bytemuck::bytes_of(&list.layout),
                &size(fours),
                fours,
                &size(texels),
                texels,
            ]
            .concat(),
        );
    }
    let (folder, path) = program(UNBROKEN);
    assert!(run(folder.path(), &path, &input) == expected);
    for broken in [
        (
            "overlay",
            "float inverse = near * (2.0f - area * near);",
            "float inverse = 1.001f * near;",
        ),
        ("overlay", "along.y < 0.0f ||", ""),
        ("overlay", "bytes(colors.y) * v", "bytes(colors.y) * u"),
        ("overlay", "over * (1.0f - color.w)", "over"),
        ("overlay", "value + 0.5f", "value + 0.25f"),
        ("overlay", "if (!is_covered) return;", "if (is_covered) return;"),
    ] {
        let (folder, path) = program(broken);
        assert!(run(folder.path(), &path, &input) != expected, "not noticed: {broken:?}");
    }
}
