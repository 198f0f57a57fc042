//! Pointwise passes of several effects as one kernel: its source, which includes the effects' own.
//!
//! Each effect's code stands in a namespace of its own. Between two of them a texel is rounded to half and limited as if it had
//! been stored and loaded, so that the picture is the same, bit for bit, as when each effect is launched by itself.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use super::effect::{Binary, Effect, EffectId, PassDescription};
use super::tolerance::Tolerance;
use super::{FUSED, POINTWISE_BLOCK, POINTWISE_TEXELS, catalogue};

/// A pointwise pass that runs as a part of a fused one.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Whose it is.
    pub of: Arc<Effect>,
    /// Index into the effect's passes.
    pub pass: usize,
}

/// The source of a kernel that runs several passes at once.
#[derive(Clone, Debug, PartialEq)]
pub struct FusedSource {
    /// The effects' names, joined by `+`.
    pub label: String,
    /// The kernel's `extern "C"` name.
    pub entry: String,
    /// CUDA C++, which includes `handover.cuh` and, as `NAME.cu`, the code of each member's effect.
    pub code: String,
    members: Vec<Member>,
}

impl Member {
    fn description(&self) -> &PassDescription {
        &self.of.passes[self.pass]
    }

    /// How many buffers it is given.
    pub(super) fn buffer_count(&self) -> usize {
        self.description().buffers.iter().flatten().count()
    }
}

impl FusedSource {
    /// Of passes in the order they run, at least one, each of an effect of its own.
    pub fn new(members: &[Member]) -> Self {
        let names: Vec<&str> = members.iter().map(|member| member.of.name.as_str()).collect();
        let entry = format!("fused_{}", names.join("_"));
        Self {
            code: code(members, &entry),
            label: names.join("+"),
            entry,
            members: members.to_vec(),
        }
    }

    /// The passes.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The program's own PTX of it: of few runs of neighbours, and only where all effects are the program's as it was built.
    pub fn precompiled(&self) -> Option<Binary> {
        let is_own = |member: &Member| {
            catalogue()
                .by_name(&member.of.name)
                .is_ok_and(|own| own.id == member.of.id)
        };
        let found = FUSED.iter().find(|fused| fused.code == self.code);
        let found = found.filter(|_| self.members.iter().all(is_own))?;
        Some(Binary::Ptx(found.ptx))
    }

    /// What launches run: an effect of one pass, which no catalogue has.
    pub fn effect(self, binary: Binary) -> Effect {
        let first = &self.members[0].of;
        let guides: BTreeSet<_> = self
            .members
            .iter()
            .flat_map(|member| &member.of.guides)
            .copied()
            .collect();
        Effect {
            title: self.label.clone(),
            summary: String::new(),
            source: String::new(),
            stage: first.stage,
            key: None,
            hidden: true,
            alpha: String::new(),
            broken_pixels: String::new(),
            parameters: Vec::new(),
            passes: vec![PassDescription {
                entry: self.entry,
                label: self.label.clone(),
                sources: self.members[0].description().sources,
                destination: self.members[self.members.len() - 1].description().destination,
                // Those of the members: launches name them.
                buffers: [None; 4],
                threads: None,
                texels: POINTWISE_TEXELS,
                block: POINTWISE_BLOCK,
                index: 0,
                pointwise: true,
                transform: None,
                arithmetic: self.members.iter().map(|member| member.description().arithmetic).sum(),
                bytes_per_texel: None,
                once: false,
            }],
            guides: guides.into_iter().collect(),
            tolerance: Tolerance::default(),
            code: self.code,
            folder: None,
            binary: Some(binary),
            jitter: false,
            upscales: false,
            kept_images: Vec::new(),
            buffers: Vec::new(),
            id: EffectId::next(),
            name: self.label,
        }
    }
}

/// The kernel. Writing to a string does not fail.
fn code(members: &[Member], entry: &str) -> String {
    let mut code = String::from(
        "// Several effects in one pass, as src/kernels/fusion.rs writes it.\n#include \"handover.cuh\"\n\
         #undef HANDOVER_POINTWISE_KERNEL\n#define HANDOVER_POINTWISE_KERNEL(entry, Parameters)\n",
    );
    for (number, member) in members.iter().enumerate() {
        let name = &member.of.name;
        let _ = write!(code, "\nnamespace member_{number} {{\n#include \"{name}.cu\"\n}}\n");
    }
    code += "\n// As they follow one another in the launch's parameters.\nstruct FusedParameters {\n";
    for (number, member) in members.iter().enumerate() {
        let pass = &member.description().entry;
        let _ = writeln!(code, "    member_{number}::{pass}_pointwise::Parameters of_{number};");
    }
    code += "};\n\nstruct Fused {\n    using Parameters = FusedParameters;\n\n    struct Read {\n";
    for (number, member) in members.iter().enumerate() {
        let pass = &member.description().entry;
        let _ = writeln!(code, "        member_{number}::{pass}_pointwise::Read of_{number};");
    }
    code += "    };\n\n    static HANDOVER_INLINE Read read(const Pass& pass, int2 at) {\n        return {\n";
    for ((number, member), given) in members.iter().enumerate().zip(given_passes(members)) {
        let pass = &member.description().entry;
        let _ = writeln!(
            code,
            "            member_{number}::{pass}_pointwise::read({given}, at),"
        );
    }
    code += "        };\n    }\n\n    static HANDOVER_INLINE auto apply(\n        \
             TexelPair<false> texels, const Read& read, int2 at, const Pass& pass, const Parameters& parameters,\n        bool exactly) {\n";
    let mut before = String::from("texels");
    for ((number, member), given) in members.iter().enumerate().zip(given_passes(members)) {
        let pass = &member.description().entry;
        let _ = writeln!(
            code,
            "        auto after_{number} = member_{number}::{pass}_pointwise::apply(\n            \
             {before}, read.of_{number}, at, {given}, parameters.of_{number}, exactly);"
        );
        before = format!("after_{number}");
    }
    let _ = write!(
        code,
        "        return {before};\n    }}\n}};\n\nextern \"C\" __global__ void {entry}(\n    \
         const __grid_constant__ Pass pass, const __grid_constant__ FusedParameters parameters) {{\n    \
         pointwise<Fused>(pass, parameters);\n}}\n"
    );
    code
}

/// By member, what it is given as its pass.
fn given_passes(members: &[Member]) -> Vec<String> {
    let mut first_buffer = 0;
    let given = members.iter().map(|member| {
        let (count, keeps) = (member.buffer_count(), member.of.keeps());
        let index = member.description().index;
        let given = format!("member_pass<{first_buffer}, {count}>(pass, {index}u, {keeps})");
        first_buffer += count;
        given
    });
    given.collect()
}

/// The label for the life of the process, so that what is measured can name it without a copy. There are as many as users make
/// runs of neighbours.
pub(super) fn lasting(label: &str) -> &'static str {
    static LABELS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut labels = LABELS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = labels.get(label) {
        return known;
    }
    let label: &'static str = Box::leak(label.into());
    labels.insert(label);
    label
}

#[cfg(test)]
#[path = "fusion_tests.rs"]
mod tests;
