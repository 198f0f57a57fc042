//! `handover report`: the statistics of captures again, and what two differ in.

use crate::report::{NewFile, Recording, Report, page, text};

use crate::kernels::catalogue;

use super::capture::effect_names;
use super::options::ReportOptions;
use super::output::print;
use super::usage;

/// Reads the captures, prints what they say, and writes the page.
///
/// # Errors
/// A capture cannot be read, or the page cannot be written.
pub fn run(options: &ReportOptions) -> anyhow::Result<()> {
    // First: a report over many frames takes a while, and an existing file would make it in vain.
    let html = options
        .html
        .as_deref()
        .map(NewFile::create)
        .transpose()
        .map_err(usage)?;
    let effects = effect_names(catalogue());
    let open = |path| Recording::open(path, &effects);
    let recordings: Vec<_> = options
        .captures
        .iter()
        .map(|path| open(path))
        .collect::<Result<_, _>>()
        .map_err(usage)?;
    let report = Report::of(&recordings);
    let page = html
        .as_ref()
        .map(|_| page::page(&report, &recordings))
        .transpose()
        .map_err(usage)?;
    if options.json {
        print(serde_json::to_string_pretty(&report)?)?;
    } else {
        let mut blocks: Vec<_> = recordings.iter().map(text::capture).collect();
        blocks.extend(report.comparison.as_ref().map(text::comparison));
        print(blocks.join("\n").trim_end())?;
    }
    if let (Some(file), Some(page)) = (html, page) {
        let path = file.write(&page).map_err(usage)?;
        tracing::info!("report: {}", path.display());
    }
    Ok(())
}
