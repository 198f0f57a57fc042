//! Compiles CUDA sources with g++ against `cuda.h`, and runs plans with them.

use half::f16;
use handover::kernels::{Catalogue, Effect, ImageId, Plan};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// One effect's code to compile: as it is committed, or broken on purpose.
pub struct Unit<'a> {
    pub effect: &'a Effect,
    pub code: String,
}

/// A program that holds the kernels of several units.
pub struct Program {
    folder: TempDir,
    path: PathBuf,
    /// By unit, where its kernels begin.
    first_kernel: Vec<usize>,
}

/// A frame to compute.
pub struct Job {
    pub unit: usize,
    pub plan: Plan,
    pub extent: [u32; 2],
    pub color: Vec<[f16; 4]>,
    pub frame: u32,
}

impl Program {
    pub fn compile(units: &[Unit]) -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut includes = String::new();
        let mut table = String::from("static const Kernel kernels[] = {\n");
        let mut first_kernel = Vec::new();
        let mut count = 0;
        for (index, unit) in units.iter().enumerate() {
            first_kernel.push(count);
            let file = folder.path().join(format!("unit_{index}.cu"));
            // One unit's kernels may have the names of another's: that needs C++ linkage.
            fs::write(&file, unit.code.replace("extern \"C\"", "")).expect("writes a unit");
            writeln!(
                includes,
                "namespace unit_{index} {{\n#include \"{}\"\n}}",
                file.display()
            )
            .expect("a string");
            let parameters = parameter_struct(unit.effect);
            for pass in &unit.effect.passes {
                let entry = format!("unit_{index}::{}", pass.entry);
                let scope = if parameters == "NoParameters" {
                    String::new()
                } else {
                    format!("unit_{index}::")
                };
                writeln!(
                    table,
                    "[](const Pass& p, const void* q) {{ {entry}(p, *static_cast<const {scope}{parameters}*>(q)); }},"
                )
                .expect("a string");
                count += 1;
            }
        }
        fs::write(folder.path().join("kernels.inc"), format!("{includes}{table}}};\n")).expect("writes the table");
        let path = folder.path().join("program");
        let output = Command::new("g++")
            // As the kernels' own --fmad=false: nothing is contracted but what says fmaf.
            .args([
                "-std=c++17",
                "-O1",
                "-ffp-contract=off",
                "-Wall",
                "-Werror",
                "-Wno-unknown-pragmas",
            ])
            .arg("-I")
            .arg(here.join("tests/cuda_on_cpu"))
            .arg("-I")
            .arg(here.join("kernels"))
            .arg("-I")
            .arg(folder.path())
            .arg(here.join("tests/cuda_on_cpu/main.cpp"))
            .arg("-o")
            .arg(&path)
            .output()
            .unwrap_or_else(|error| {
                panic!("g++ is needed to run the kernels on the CPU (apt-get install g++): {error}")
            });
        assert!(
            output.status.success(),
            "g++: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Self {
            folder,
            path,
            first_kernel,
        }
    }

    /// The processed image of each job.
    pub fn run(&self, catalogue: &Catalogue, jobs: &[Job]) -> Vec<Vec<[f16; 4]>> {
        let input = self.folder.path().join("jobs");
        let bytes: Vec<u8> = jobs.iter().flat_map(|job| self.encode(catalogue, job)).collect();
        fs::write(&input, bytes).expect("writes the jobs");
        let output = Command::new(&self.path)
            .stdin(File::open(&input).expect("opens the jobs"))
            .output()
            .expect("runs");
        assert!(
            output.status.success(),
            "{}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        let mut rest = output.stdout.as_slice();
        let images = jobs.iter().map(|job| {
            let (image, after) = rest.split_at(job.color.len() * 8);
            rest = after;
            image.chunks(8).map(bytemuck::pod_read_unaligned).collect()
        });
        images.collect()
    }

    fn encode(&self, catalogue: &Catalogue, job: &Job) -> Vec<u8> {
        let scratch_count = job.plan.scratch.len();
        let place = |image: ImageId| match image {
            ImageId::Color => 0,
            ImageId::Scratch(index) => index + 1,
            ImageId::Processed => scratch_count + 1,
        };
        let mut bytes = Vec::new();
        fn number(bytes: &mut Vec<u8>, value: u32) {
            bytes.extend(value.to_le_bytes());
        }
        number(&mut bytes, scratch_count as u32 + 2);
        let scratch = (0..scratch_count).map(ImageId::Scratch);
        for image in [ImageId::Color].into_iter().chain(scratch).chain([ImageId::Processed]) {
            for length in job.plan.extent_of(image, job.extent) {
                number(&mut bytes, length);
            }
        }
        bytes.extend_from_slice(bytemuck::cast_slice(&job.color));
        number(&mut bytes, job.frame);
        number(&mut bytes, job.plan.launches.len() as u32);
        for launch in &job.plan.launches {
            let block = catalogue.effects()[launch.effect].passes[launch.pass].block;
            number(&mut bytes, (self.first_kernel[job.unit] + launch.pass) as u32);
            number(&mut bytes, place(launch.source) as u32);
            number(&mut bytes, launch.second.map_or(u32::MAX, |image| place(image) as u32));
            number(&mut bytes, place(launch.destination) as u32);
            for threads in block {
                number(&mut bytes, threads);
            }
            number(&mut bytes, launch.parameters.len() as u32);
            bytes.extend(&launch.parameters);
        }
        bytes
    }
}

/// `chromatic_aberration` has `ChromaticAberrationParameters`.
fn parameter_struct(effect: &Effect) -> String {
    if effect.parameters.is_empty() {
        return "NoParameters".into();
    }
    let capitalized = effect.name.split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
    capitalized.collect::<String>() + "Parameters"
}
