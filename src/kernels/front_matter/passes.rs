//! From passes as they are written, images and buffers by name, to passes as they are run.

use std::collections::HashMap;

use super::super::effect::{
    Arithmetic, BufferDescription, ImageShape, PassBuffer, PassDescription, PassImage, TexelFormat,
};
use super::super::grid::{Grid, GridKind, Transform};
use crate::kernels::{POINTWISE_BLOCK, POINTWISE_TEXELS};

/// Most launches that one pass is repeated for.
const MOST_REPEATS: u32 = 256;
/// What is written behind a name to mean the previous frame's.
const PREVIOUS: &str = ".previous";

/// The passes, the kept images and the buffers.
type Finished = (Vec<PassDescription>, Vec<ImageShape>, Vec<BufferDescription>);

/// A pass as it is written.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PassText {
    pub entry: String,
    source: Option<String>,
    second: Option<String>,
    third: Option<String>,
    destination: Option<String>,
    divisor: Option<u32>,
    format: Option<TexelFormat>,
    #[serde(default)]
    keeps: bool,
    #[serde(default)]
    buffers: Vec<String>,
    threads: Option<[u32; 2]>,
    texels: Option<[u32; 2]>,
    block: Option<[u32; 2]>,
    #[serde(default)]
    index: u32,
    repeat: Option<u32>,
    #[serde(default)]
    pointwise: bool,
    transform: Option<Transform>,
    #[serde(default)]
    operations: f64,
    #[serde(default)]
    special: f64,
    bytes_per_texel: Option<u64>,
    #[serde(default)]
    once: bool,
}

/// A warp across, eight rows.
const USUAL_BLOCK: [u32; 2] = [32, 8];

/// Turns names into images and buffers. Images are written by one pass each, before they are read.
pub(super) struct Resolver<'a> {
    effect: &'a str,
    images: HashMap<String, PassImage>,
    scratch_count: usize,
    /// Names and shapes; those whose previous contents are read before the pass that writes them come first.
    kept: Vec<(String, ImageShape)>,
    buffers: Vec<BufferDescription>,
    passes: Vec<PassDescription>,
    several: bool,
    upscales: bool,
}

impl<'a> Resolver<'a> {
    /// Knows what lasts from frame to frame from the start: its previous contents may be read before it is written.
    pub fn new(effect: &'a str, passes: &[&PassText], buffers: Vec<BufferDescription>, upscales: bool) -> Self {
        let kept = passes.iter().filter(|pass| pass.keeps).filter_map(|pass| {
            let shape = pass.shape();
            pass.destination.clone().map(|name| (name, shape))
        });
        Self {
            effect,
            images: HashMap::new(),
            scratch_count: 0,
            kept: kept.collect(),
            buffers,
            passes: Vec::new(),
            several: passes.len() > 1,
            upscales,
        }
    }

    /// The next pass; `last`: it must write the output.
    pub fn pass(&mut self, pass: &PassText, last: bool) -> Result<(), String> {
        let effect = self.effect;
        if !pass.entry.starts_with(effect) {
            return Err(format!("expected an entry that starts with {effect:?}"));
        }
        if pass.once {
            self.check_once(pass)?;
        }
        if let Some(transform) = pass.transform {
            return self.transform(pass, transform, last);
        }
        let block = pass
            .block
            .unwrap_or(if pass.pointwise { POINTWISE_BLOCK } else { USUAL_BLOCK });
        if block.contains(&0) || block[0].saturating_mul(block[1]) > 1024 {
            return Err(format!("expected a block of 1 to 1024 threads, found {block:?}"));
        }
        if pass.threads.is_some_and(|threads| threads.contains(&0)) {
            return Err(format!("expected at least one of `threads`, found {:?}", pass.threads));
        }
        let repeat = pass.repeat.unwrap_or(1);
        if !(1..=MOST_REPEATS).contains(&repeat) {
            return Err(format!("expected `repeat` from 1 to {MOST_REPEATS}, found {repeat}"));
        }
        let read = |name: &Option<String>| name.as_deref().map(|name| self.read(name)).transpose();
        let mut sources = [read(&pass.source)?, read(&pass.second)?, read(&pass.third)?];
        if pass
            .texels
            .is_some_and(|texels| texels.contains(&0) || pass.threads.is_some())
        {
            return Err(format!(
                "expected at least one of `texels` in x and y, and no `threads` beside them, found {:?}",
                pass.texels.unwrap_or_default()
            ));
        }
        if pass.source.is_none() && pass.threads.is_none() && pass.destination.is_none() {
            return Err(
                "expected a source, a destination or `threads`: nothing says how many threads there are".into(),
            );
        }
        if repeat > 1 && (pass.source.is_none() || pass.destination.is_none()) {
            return Err("a repeated pass reads what it wrote: expected a source and a destination".into());
        }
        let buffers = self.pass_buffers(&pass.buffers)?;
        if pass.pointwise && !pass.can_be_pointwise() {
            return Err(
                "a pointwise pass makes each texel of one: expected a source and a destination, neither `threads`, `texels` nor \
                 `repeat`"
                    .into(),
            );
        }
        let arithmetic = pass.arithmetic()?;
        for index in 0..repeat {
            let destination = match &pass.destination {
                Some(name) if index + 1 == repeat => Some(self.write(name, pass, last)?),
                Some(_) => Some(self.scratch(pass.shape())),
                None if last => return Err("the last pass must write \"output\"".into()),
                None => None,
            };
            if let (true, Some(source), Some(destination)) = (pass.pointwise, sources[0], destination) {
                self.check_pointwise(source, destination)?;
            }
            self.passes.push(PassDescription {
                entry: pass.entry.clone(),
                label: self.label(pass),
                sources,
                destination,
                buffers,
                threads: pass.threads,
                texels: pass
                    .texels
                    .unwrap_or(if pass.pointwise { POINTWISE_TEXELS } else { [1; 2] }),
                block,
                index: pass.index + index,
                pointwise: pass.pointwise,
                transform: None,
                arithmetic,
                bytes_per_texel: pass.bytes_per_texel,
                once: pass.once,
            });
            sources[0] = destination;
        }
        Ok(())
    }

    fn label(&self, pass: &PassText) -> String {
        let effect = self.effect;
        match self.several {
            true => format!("{effect}: {}", pass.entry[effect.len()..].trim_start_matches('_')),
            false => effect.to_owned(),
        }
    }

    /// A pass that runs no kernel.
    fn transform(&mut self, pass: &PassText, transform: Transform, last: bool) -> Result<(), String> {
        let images = [&pass.source, &pass.second, &pass.third, &pass.destination];
        let others = images.into_iter().any(Option::is_some) || pass.repeat.is_some() || pass.block.is_some();
        if last || others || pass.threads.is_some() || pass.texels.is_some() {
            return Err(
                "a transform reads a grid and writes another: expected two `buffers` alone, and a pass behind it"
                    .into(),
            );
        }
        let buffers = self.pass_buffers(&pass.buffers)?;
        let grid = |place: usize| buffers[place].and_then(|buffer| self.buffers[buffer.index].size.grid);
        let (from, to) = match transform {
            Transform::R2c => (GridKind::Real, GridKind::Spectrum),
            Transform::C2r => (GridKind::Spectrum, GridKind::Real),
        };
        let fits = match (grid(0), grid(1)) {
            (Some(first), Some(second)) => first.kind == from && second == Grid { kind: to, ..first },
            _ => false,
        };
        if !fits || pass.buffers.len() != 2 {
            return Err(format!(
                "expected two `buffers`: a grid of kind {from:?}, then one of kind {to:?} with as many planes and the same divisor"
            ));
        }
        self.passes.push(PassDescription {
            entry: pass.entry.clone(),
            label: self.label(pass),
            sources: [None; 3],
            destination: None,
            buffers,
            threads: None,
            texels: [1; 2],
            block: [1, 1],
            index: 0,
            pointwise: false,
            transform: Some(transform),
            arithmetic: pass.arithmetic()?,
            bytes_per_texel: pass.bytes_per_texel,
            once: pass.once,
        });
        Ok(())
    }

    /// What it makes must depend on parameters and extents alone, and must stay. Its buffers do from here on.
    fn check_once(&mut self, pass: &PassText) -> Result<(), String> {
        let reads_picture = pass.source.as_deref().is_some_and(|source| source != "input");
        let has_images = pass.second.is_some() || pass.third.is_some() || pass.destination.is_some();
        if reads_picture || has_images || pass.repeat.is_some() {
            return Err(
                "a pass that runs once writes buffers alone, and no picture is read: expected no image but the source \"input\", of \
                 which it is given the extent, and no `repeat`"
                    .into(),
            );
        }
        for buffer in self.pass_buffers(&pass.buffers)?.iter().flatten() {
            let described = &mut self.buffers[buffer.index];
            if described.keeps || described.zeroed || described.table.is_some() {
                return Err(format!(
                    "runs once and uses {:?}: expected a buffer that is neither `zeroed`, kept nor a table",
                    described.name
                ));
            }
            described.made = true;
        }
        Ok(())
    }

    /// A texel of the one is made of the texel of the other at the same place: they must be alike.
    fn check_pointwise(&self, source: PassImage, destination: PassImage) -> Result<(), String> {
        let usual = ImageShape {
            divisor: 1,
            format: TexelFormat::Rgba16f,
        };
        let shape = |image: PassImage| match image {
            PassImage::Input | PassImage::Output => usual,
            PassImage::Scratch { shape, .. } => shape,
            PassImage::Kept { index, .. } => self.kept[index].1,
        };
        let is_enlarged = self.upscales && source == PassImage::Input;
        let [from, to] = [shape(source), shape(destination)];
        if is_enlarged || from.divisor != to.divisor || from.format != usual.format || to.format != usual.format {
            return Err("a pointwise pass makes each texel of one: expected a source and a destination of one extent, both rgba16f".into());
        }
        Ok(())
    }

    /// The passes, the kept images and the buffers.
    pub fn finish(self) -> Result<Finished, String> {
        if self.passes.is_empty() {
            return Err("expected at least one pass".into());
        }
        let shapes = self.kept.into_iter().map(|(_, shape)| shape);
        Ok((self.passes, shapes.collect(), self.buffers))
    }

    fn read(&self, name: &str) -> Result<PassImage, String> {
        if name == "input" {
            return Ok(PassImage::Input);
        }
        if let Some(kept) = name.strip_suffix(PREVIOUS) {
            let index = self.kept.iter().position(|(other, _)| other == kept);
            let index = index.ok_or_else(|| {
                format!("reads {name:?}; expected the name of an image that a pass `keeps` before {PREVIOUS:?}")
            })?;
            return Ok(PassImage::Kept { index, previous: true });
        }
        self.images
            .get(name)
            .copied()
            .ok_or_else(|| format!("reads {name:?}; expected \"input\" or an image that an earlier pass writes"))
    }

    fn write(&mut self, name: &str, pass: &PassText, last: bool) -> Result<PassImage, String> {
        match name {
            "input" => return Err("expected a destination other than \"input\"".into()),
            "output" if !last => return Err("only the last pass writes \"output\"".into()),
            "output" if pass.divisor.is_some() || pass.format.is_some() || pass.keeps => {
                return Err(
                    "\"output\" has the frame's extent and format: expected no divisor, format or `keeps`".into(),
                );
            }
            "output" => return Ok(PassImage::Output),
            _ if last => return Err("the last pass must write \"output\"".into()),
            _ => {}
        }
        if name.is_empty() || name.contains('.') {
            return Err(format!("expected a destination without a dot, found {name:?}"));
        }
        if pass.divisor == Some(0) {
            return Err("expected a divisor of at least 1".into());
        }
        if self.images.contains_key(name) {
            return Err(format!("{name:?} is written twice; expected one writer an image"));
        }
        let image = if pass.keeps {
            let index = self
                .kept
                .iter()
                .position(|(other, _)| other == name)
                .unwrap_or_default();
            PassImage::Kept { index, previous: false }
        } else {
            self.scratch(pass.shape())
        };
        self.images.insert(name.to_owned(), image);
        Ok(image)
    }

    fn scratch(&mut self, shape: ImageShape) -> PassImage {
        let index = self.scratch_count;
        self.scratch_count += 1;
        PassImage::Scratch { index, shape }
    }

    fn pass_buffers(&self, names: &[String]) -> Result<[Option<PassBuffer>; 4], String> {
        let mut buffers = [None; 4];
        if names.len() > buffers.len() {
            return Err(format!(
                "expected at most {} buffers, found {}",
                buffers.len(),
                names.len()
            ));
        }
        for (place, name) in buffers.iter_mut().zip(names) {
            let (base, previous) = match name.strip_suffix(PREVIOUS) {
                Some(base) => (base, true),
                None => (name.as_str(), false),
            };
            let index = self.buffers.iter().position(|buffer| buffer.name == base);
            let index = index.ok_or_else(|| format!("there is no buffer {base:?}: expected a name of [[buffers]]"))?;
            if previous && !self.buffers[index].keeps {
                return Err(format!(
                    "reads {name:?}, but {base:?} is not kept: expected `keeps = true` there"
                ));
            }
            *place = Some(PassBuffer { index, previous });
        }
        let given: Vec<_> = buffers.iter().flatten().collect();
        if (1..given.len()).any(|index| given[..index].contains(&given[index])) {
            return Err(format!("expected each buffer once, found {names:?}"));
        }
        Ok(buffers)
    }
}

impl PassText {
    fn can_be_pointwise(&self) -> bool {
        let has_own_grid = self.threads.is_some() || self.texels.is_some() || self.repeat.is_some();
        self.source.is_some() && self.destination.is_some() && !has_own_grid
    }

    fn arithmetic(&self) -> Result<Arithmetic, String> {
        let (operations, special) = (self.operations, self.special);
        if ![operations, special]
            .iter()
            .all(|count| count.is_finite() && *count >= 0.0)
        {
            return Err(format!(
                "expected `operations` and `special` of at least 0, found {operations} and {special}"
            ));
        }
        Ok(Arithmetic { operations, special })
    }

    fn shape(&self) -> ImageShape {
        ImageShape {
            divisor: self.divisor.unwrap_or(1),
            format: self.format.unwrap_or_default(),
        }
    }
}
