//! What the compiler is asked to prove of a kernel file beside compiling it: that its entries are what the front matter says, and
//! that its parameter struct is laid out as the parameters are.
//!
//! The checks are code that follows the file's own. `#line` gives each the name of a file of its own, by which the compiler's
//! errors find back to what they mean.

use std::fmt::Write as _;

use crate::cuda::{Diagnostic, Severity};
use crate::kernels::{Effect, Parameter, ParameterType};

/// What the names of the checks' files begin with: no file of a user's is called so.
const MARK: &str = "<handover check ";

/// The file's code with the checks behind it, and what each means when it fails.
pub(super) struct Checked {
    pub code: String,
    meanings: Vec<String>,
}

/// The parameter struct's name that the guide suggests: `EdgeGlowParameters` of `edge_glow`.
fn struct_name(effect: &Effect) -> String {
    if effect.parameters.is_empty() {
        return "NoParameters".into();
    }
    let capital = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        first.chain(letters).collect::<String>()
    };
    effect
        .name
        .split('_')
        .map(capital)
        .chain(["Parameters".into()])
        .collect()
}

/// How an entry is to be declared.
fn declaration(effect: &Effect, entry: &str) -> String {
    format!(
        "extern \"C\" __global__ void {entry}(const __grid_constant__ Pass pass, const __grid_constant__ {} parameters)",
        struct_name(effect)
    )
}

/// How a parameter is declared in the struct.
fn member(parameter: &Parameter) -> String {
    format!("{} {}", type_name(parameter), parameter.name)
}

fn type_name(parameter: &Parameter) -> &'static str {
    match parameter.parameter_type {
        ParameterType::F32 => "float",
        ParameterType::U32 => "unsigned",
        ParameterType::I32 => "int",
    }
}

impl Checked {
    pub fn new(effect: &Effect) -> Self {
        let mut checked = Self {
            // A comment or a macro that the file leaves open must not swallow what follows.
            code: format!("{}\n", effect.code),
            meanings: Vec::new(),
        };
        checked.code += "#line 1 \"<handover checks>\"\nnamespace handover_checks {\n\
                         template <class Second> __device__ Second second_of(void (*)(Pass, Second));\n\
                         template <class One, class Other> struct same { static constexpr bool value = false; };\n\
                         template <class One> struct same<One, One> { static constexpr bool value = true; };\n}\n";
        let mut entries: Vec<&str> = effect.kernels().map(|pass| pass.entry.as_str()).collect();
        entries.sort_unstable();
        entries.dedup();
        for (number, entry) in entries.into_iter().enumerate() {
            checked.entry(effect, number, entry);
        }
        // The last, since what is said of an entry is said first.
        for (number, pass) in effect.passes.iter().filter(|pass| pass.pointwise).enumerate() {
            let entry = &pass.entry;
            let code = format!(
                "namespace handover_checks {{ namespace pointwise_{number} {{ using Made = ::{entry}_pointwise; }} }}"
            );
            let meaning = format!(
                "the front matter says that `{entry}` is pointwise; expected\n  HANDOVER_POINTWISE({entry}, FUNCTION, {})",
                struct_name(effect)
            );
            checked.add(&code, meaning);
        }
        checked
    }

    fn add(&mut self, code: &str, meaning: String) {
        // Writing to a string does not fail.
        let _ = writeln!(self.code, "#line 1 \"{MARK}{}>\"\n{code}", self.meanings.len());
        self.meanings.push(meaning);
    }

    fn entry(&mut self, effect: &Effect, number: usize, entry: &str) {
        let space = format!("namespace handover_checks {{ namespace entry_{number} {{");
        let expected = declaration(effect, entry);
        let code = format!("{space} using Second = decltype(second_of(&::{entry})); }} }}");
        self.add(
            &code,
            format!("no entry `{entry}` of the right signature; expected\n  {expected}"),
        );
        if effect.parameters.is_empty() {
            let code = format!("{space} static_assert(same<Second, ::NoParameters>::value, \"\"); }} }}");
            self.add(
                &code,
                format!(
                    "`{entry}` takes a parameter struct, and the front matter has no parameters; expected\n  {expected}"
                ),
            );
            return;
        }
        let members: Vec<String> = effect.parameters.iter().map(member).collect();
        let layout = format!("struct {} {{ {}; }};", struct_name(effect), members.join("; "));
        for parameter in &effect.parameters {
            let (name, kind) = (&parameter.name, type_name(parameter));
            let code = format!("{space} static_assert(same<decltype(Second::{name}), {kind}>::value, \"\"); }} }}");
            let meaning = format!(
                "parameter \"{name}\": the struct of `{entry}` has no member `{kind} {name}`; expected\n  {layout}"
            );
            self.add(&code, meaning);
        }
        let (count, bytes) = (effect.parameters.len(), 4 * effect.parameters.len());
        let code = format!("{space} static_assert(sizeof(Second) == {bytes}, \"\"); }} }}");
        let meaning = format!(
            "the struct of `{entry}` is not of the {count} parameters of the front matter alone, {bytes} bytes; expected\n  {layout}"
        );
        self.add(&code, meaning);
        // Members are initialized in their order: each then has its own number only if that is the parameters' order.
        let values: Vec<String> = effect
            .parameters
            .iter()
            .enumerate()
            .map(|(at, parameter)| format!("{}({})", type_name(parameter), at + 1))
            .collect();
        let matches: Vec<String> = effect
            .parameters
            .iter()
            .enumerate()
            .map(|(at, parameter)| format!("values.{0} == {1}({2})", parameter.name, type_name(parameter), at + 1))
            .collect();
        let code = format!(
            "{space} constexpr Second values{{{}}}; static_assert({}, \"\"); }} }}",
            values.join(", "),
            matches.join(" && ")
        );
        self.add(
            &code,
            format!(
                "the struct of `{entry}` has its members in another order than the front matter; expected\n  {layout}"
            ),
        );
    }

    /// What the errors of checks mean; the compiler's own are left as they are. Of the checks, the first that failed says it: the
    /// others follow from it.
    pub fn explain(&self, diagnostics: &[Diagnostic]) -> (Vec<Diagnostic>, Option<&str>) {
        let number = |one: &Diagnostic| one.file.strip_prefix(MARK)?.strip_suffix('>')?.parse::<usize>().ok();
        let is_check = |one: &&Diagnostic| one.file.starts_with("<handover check");
        let own = diagnostics.iter().filter(|one| !is_check(one)).cloned().collect();
        let failed = diagnostics
            .iter()
            .filter(|one| one.severity == Severity::Error)
            .filter_map(number)
            .min();
        (
            own,
            failed.and_then(|number| self.meanings.get(number)).map(String::as_str),
        )
    }
}

/// What is wrong with the entries of the code that was made: names that C++ changed, or functions that are no kernels.
pub(super) fn entry_problem(effect: &Effect, ptx: &str) -> Option<String> {
    let is_there = |entry: &str| ptx.contains(&format!(".entry {entry}("));
    let missing = effect.kernels().find(|pass| !is_there(&pass.entry))?;
    Some(format!(
        "`{0}` is no kernel of that name: `extern \"C\"` or `__global__` is missing; expected\n  {1}",
        missing.entry,
        declaration(effect, &missing.entry)
    ))
}
