//! Compiles CUDA sources with g++ against `cuda.h`, and runs plans with them.

use half::f16;
use handover::kernels::reference::FrameParameters;
use handover::kernels::{
    BufferId, Effect, FrameExtents, Guide, HEADERS, ImageId, KeptId, Launch, MadeId, Plan, State, TestGuides, Transform,
};
use rayon::prelude::*;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// One effect's code to compile: as it is committed, or broken on purpose; or a fused kernel with the code of its effects.
pub struct Unit<'a> {
    pub effect: &'a Effect,
    pub code: String,
    /// What it includes besides the header, text by name.
    pub included: Vec<(String, String)>,
}

/// A program that holds the kernels of several units.
pub struct Program {
    folder: TempDir,
    path: PathBuf,
    /// By unit: its chunk, and where in that its kernels begin.
    first_kernel: Vec<[usize; 2]>,
}

/// Frames to compute, one after the other.
pub struct Job {
    /// By launch, whose kernel it runs.
    pub units: Vec<usize>,
    pub plan: Plan,
    pub extents: FrameExtents,
    pub frames: Vec<Frame>,
}

/// What one frame is given.
pub struct Frame {
    pub color: Vec<[f16; 4]>,
    pub guides: TestGuides,
    pub parameters: FrameParameters,
}

/// Units compiled together: enough that the header is not most of the work, few enough that all cores have some.
const UNITS_A_CHUNK: usize = 12;

impl Program {
    pub fn compile(units: &[Unit]) -> Self {
        Self::compile_with(|text| text.to_owned(), units)
    }

    /// With headers that are changed so.
    pub fn compile_with(change: impl Fn(&str) -> String, units: &[Unit]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in HEADERS {
            fs::write(folder.path().join(name), change(text)).expect("writes a header");
        }
        let mut first_kernel = Vec::new();
        let mut table = String::new();
        let mut names = Vec::new();
        // A fused kernel changes a macro for what comes after it, so that each is a chunk.
        let size = if units.iter().any(|unit| !unit.included.is_empty()) {
            1
        } else {
            UNITS_A_CHUNK
        };
        for (chunk, members) in units.chunks(size).enumerate() {
            let first_unit = chunk * size;
            let source = chunk_source(folder.path(), chunk, first_unit, members, &mut first_kernel);
            fs::write(folder.path().join(format!("chunk_{chunk}.cpp")), source).expect("writes a chunk");
            writeln!(table, "extern const Kernel chunk_{chunk}[];").expect("a string");
            names.push(format!("chunk_{chunk}"));
        }
        writeln!(table, "static const Kernel* const chunks[] = {{{}}};", names.join(", ")).expect("a string");
        fs::write(folder.path().join("chunks.inc"), table).expect("writes the table");

        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda_on_cpu");
        let sources = names.iter().map(|name| folder.path().join(format!("{name}.cpp")));
        let sources: Vec<PathBuf> = sources
            .chain(["main.cpp", "block.cpp"].map(|file| here.join(file)))
            .collect();
        sources
            .par_iter()
            .for_each(|source| compiler(folder.path(), &["-c".as_ref(), source.as_os_str()]));
        let path = folder.path().join("program");
        let objects = names.iter().map(String::as_str).chain(["main", "block"]);
        let objects: Vec<PathBuf> = objects.map(|name| folder.path().join(format!("{name}.o"))).collect();
        let link = ["-o".as_ref(), path.as_os_str()];
        let arguments: Vec<&OsStr> = link
            .into_iter()
            .chain(objects.iter().map(|object| object.as_os_str()))
            .collect();
        compiler(folder.path(), &arguments);
        Self {
            folder,
            path,
            first_kernel,
        }
    }

    /// The processed image of each job's last frame.
    pub fn run(&self, jobs: &[Job]) -> Vec<Vec<[f16; 4]>> {
        self.try_run(jobs).unwrap_or_else(|error| panic!("{error}"))
    }

    /// As `run`; where a kernel does what the device forbids, the program's words about it.
    pub fn try_run(&self, jobs: &[Job]) -> Result<Vec<Vec<[f16; 4]>>, String> {
        let bytes: Vec<u8> = jobs.iter().flat_map(|job| self.encode(job)).collect();
        let output = try_run(self.folder.path(), &self.path, &bytes)?;
        let mut rest = output.as_slice();
        let images = jobs.iter().map(|job| {
            let [width, height] = job.extents.display.map(|length| length as usize);
            let (image, after) = rest.split_at(width * height * 8);
            rest = after;
            image.chunks(8).map(bytemuck::pod_read_unaligned).collect()
        });
        Ok(images.collect())
    }

    fn encode(&self, job: &Job) -> Vec<u8> {
        let places = Places::new(&job.plan);
        let mut bytes = Vec::new();
        let mut number = |value: u64| bytes.extend(u32::try_from(value).expect("32 bits").to_le_bytes());
        number(places.images.len() as u64 + GUIDES as u64);
        for (index, image) in places.images.iter().enumerate() {
            let mut surface = |[width, height]: [u32; 2], texel_bytes| {
                [width.into(), height.into(), texel_bytes]
                    .into_iter()
                    .for_each(&mut number);
            };
            surface(
                job.plan.extent_of(*image, job.extents),
                job.plan.format_of(*image).bytes(),
            );
            if index == 0 {
                for guide in Guide::ALL {
                    surface(job.extents.scene, guide.bytes() as u64);
                }
            }
        }
        number(places.buffers.len() as u64);
        places
            .buffers
            .iter()
            .for_each(|buffer| number(job.plan.bytes_of(*buffer, job.extents)));
        number(job.plan.tables.len() as u64);
        job.plan
            .tables
            .iter()
            .for_each(|table| bytes.extend_from_slice(table.bytes()));
        let mut number = |value: u64| bytes.extend(u32::try_from(value).expect("32 bits").to_le_bytes());
        number(job.frames.len() as u64);
        for (kept_frames, frame) in job.frames.iter().enumerate() {
            self.encode_frame(job, &places, kept_frames, frame, &mut bytes);
        }
        bytes
    }

    fn encode_frame(&self, job: &Job, places: &Places, kept_frames: usize, frame: &Frame, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(bytemuck::cast_slice(&frame.color));
        for guide in Guide::ALL {
            bytes.extend_from_slice(frame.guides.bytes(guide));
        }
        let FrameParameters {
            frame,
            time,
            time_delta,
            pointer,
            previous_pointer,
            jitter,
        } = frame.parameters;
        bytes.extend((frame as u32).to_le_bytes());
        let reals = [[time, time_delta], pointer, previous_pointer, jitter];
        bytes.extend_from_slice(bytemuck::cast_slice(reals.as_flattened()));
        let mut number = |value: usize| bytes.extend((value as u32).to_le_bytes());
        // All frames have the same parameters.
        let launches = job.plan.launches.iter().zip(&job.units);
        let runs = |(launch, _): &(&Launch, &usize)| kept_frames == 0 || !launch.is_once();
        let launches: Vec<_> = launches.filter(runs).collect();
        number(launches.len());
        for (launch, unit) in launches {
            let description = launch.description();
            let [chunk, first] = self.first_kernel[*unit];
            let transform = job.plan.transform_of(launch, job.extents);
            match transform {
                Some((Transform::R2c, ..)) => [usize::MAX, 0].into_iter().for_each(&mut number),
                Some((Transform::C2r, ..)) => [usize::MAX, 1].into_iter().for_each(&mut number),
                None => [chunk, first + launch.pass].into_iter().for_each(&mut number),
            }
            for image in launch.sources.into_iter().chain([launch.destination]) {
                number(image.map_or(usize::MAX, |image| places.image(image, kept_frames)));
            }
            for buffer in launch.buffers {
                number(buffer.map_or(usize::MAX, |buffer| places.buffer(buffer, kept_frames)));
            }
            number(launch.zeroes.len());
            launch.zeroes.iter().copied().for_each(&mut number);
            // Of a transform the real grid's extent.
            let threads = transform.map_or(job.plan.threads_of(launch, job.extents), |(_, extent, _)| extent);
            threads
                .into_iter()
                .chain(description.block)
                .for_each(|count| number(count as usize));
            number(if launch.state.is_some() { kept_frames } else { 0 });
            number(description.index as usize);
            number(launch.parameters.len());
            for word in launch.parameters.chunks(4) {
                number(u32::from_le_bytes(word.try_into().expect("four bytes")) as usize);
            }
        }
    }
}

/// Guides follow the scene.
const GUIDES: usize = Guide::ALL.len();

/// What stands where: the scene first, the processed image last; of buffers the tables last.
struct Places {
    images: Vec<ImageId>,
    buffers: Vec<BufferId>,
}

impl Places {
    fn new(plan: &Plan) -> Self {
        let kept = |count: fn(&State) -> usize| {
            let states = plan.states.iter().enumerate();
            states.flat_map(move |(state, kept)| {
                (0..count(kept)).flat_map(move |index| [false, true].map(|previous| KeptId { state, index, previous }))
            })
        };
        let own = (0..plan.scratch.len()).map(ImageId::Scratch);
        let own = own.chain(kept(|state| state.images.len()).map(ImageId::Kept));
        let buffers = (0..plan.buffers.len()).map(BufferId::Scratch);
        let made =
            |(state, of): (usize, &State)| (0..of.made.len()).map(move |index| BufferId::Made(MadeId { state, index }));
        Self {
            images: [ImageId::Color]
                .into_iter()
                .chain(own)
                .chain([ImageId::Processed])
                .collect(),
            buffers: buffers
                .chain(kept(|state| state.buffers.len()).map(BufferId::Kept))
                .chain(plan.states.iter().enumerate().flat_map(made))
                .chain((0..plan.tables.len()).map(BufferId::Table))
                .collect(),
        }
    }

    fn image(&self, image: ImageId, frame: usize) -> usize {
        let image = match image {
            ImageId::Kept(kept) => ImageId::Kept(at(kept, frame)),
            other => other,
        };
        let place = self
            .images
            .iter()
            .position(|other| *other == image)
            .expect("an image of the plan");
        if place == 0 { 0 } else { place + GUIDES }
    }

    fn buffer(&self, buffer: BufferId, frame: usize) -> usize {
        let buffer = match buffer {
            BufferId::Kept(kept) => BufferId::Kept(at(kept, frame)),
            other => other,
        };
        self.buffers
            .iter()
            .position(|other| *other == buffer)
            .expect("a buffer of the plan")
    }
}

/// The two of what is kept change places from frame to frame.
fn at(kept: KeptId, frame: usize) -> KeptId {
    KeptId {
        previous: kept.previous != (frame % 2 == 1),
        ..kept
    }
}

/// A chunk's units, each in a namespace of its own, and the table of their kernels.
fn chunk_source(folder: &Path, chunk: usize, first: usize, units: &[Unit], places: &mut Vec<[usize; 2]>) -> String {
    let mut source = String::from("#include \"cuda.h\"\n#include \"handover.cuh\"\n");
    let mut table = format!("extern const Kernel chunk_{chunk}[];\nconst Kernel chunk_{chunk}[] = {{\n");
    let mut count = 0;
    for (index, unit) in (first..).zip(units) {
        places.push([chunk, count]);
        let own = folder.join(format!("unit_{index}"));
        fs::create_dir(&own).expect("makes a folder");
        let file = own.join("unit.cu");
        // One unit's kernels may have the names of another's: that needs C++ linkage. What a unit includes besides the header
        // is its own as well.
        let write = |path: &Path, code: &str| {
            let code = code.replace("extern \"C\"", "").replace("#pragma once", "");
            fs::write(path, code).expect("writes a unit");
        };
        write(&file, &unit.code);
        for (name, code) in &unit.included {
            write(&own.join(name), code);
        }
        writeln!(source, "namespace unit_{index} {{\n#include \"{}\"\n}}", file.display()).expect("a string");
        let parameters = parameter_struct(unit.effect);
        for pass in &unit.effect.passes {
            if pass.transform.is_some() {
                table.push_str("nullptr,\n");
                count += 1;
                continue;
            }
            let entry = format!("unit_{index}::{}", pass.entry);
            let scope = match parameters.as_str() {
                "NoParameters" => String::new(),
                _ => format!("unit_{index}::"),
            };
            writeln!(
                table,
                "[](const Pass& p, const void* q) {{ {entry}(p, *static_cast<const {scope}{parameters}*>(q)); }},"
            )
            .expect("a string");
            count += 1;
        }
    }
    format!("{source}{table}}};\n")
}

/// What a program makes of its input.
pub fn run(folder: &Path, program: &Path, input: &[u8]) -> Vec<u8> {
    try_run(folder, program, input).unwrap_or_else(|error| panic!("{error}"))
}

/// The same; where the program fails, its words about it.
fn try_run(folder: &Path, program: &Path, input: &[u8]) -> Result<Vec<u8>, String> {
    let jobs = folder.join("jobs");
    fs::write(&jobs, input).expect("writes the jobs");
    let output = Command::new(program)
        .stdin(File::open(&jobs).expect("opens the jobs"))
        .output()
        .expect("runs");
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!(
            "{}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// Runs g++ in a folder.
pub fn compiler(folder: &Path, arguments: &[&OsStr]) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("g++")
        // As the kernels' own --fmad=false: nothing is contracted but what says fmaf.
        .args([
            "-std=c++17",
            "-O1",
            "-ffp-contract=off",
            "-Wall",
            "-Werror",
            "-Wno-unknown-pragmas",
            "-Wno-unused-function",
            // A fault may leave one behind.
            "-Wno-unused-variable",
            "-Wno-unused-but-set-variable",
        ])
        .arg("-I")
        .arg(here.join("tests/cuda_on_cpu"))
        // A header that was broken on purpose stands there.
        .arg("-I")
        .arg(folder)
        .arg("-I")
        .arg(here.join("kernels"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap_or_else(|error| panic!("g++ is needed to run the kernels on the CPU (apt-get install g++): {error}"));
    assert!(
        output.status.success(),
        "g++: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// `chromatic_aberration` has `ChromaticAberrationParameters`.
fn parameter_struct(effect: &Effect) -> String {
    if effect.passes[0].entry.starts_with("fused_") {
        return "FusedParameters".into();
    }
    if effect.parameters.is_empty() {
        return "NoParameters".into();
    }
    let capitalized = effect.name.split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
    capitalized.collect::<String>() + "Parameters"
}
