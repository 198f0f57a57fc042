//! The page of `handover report --html`, opened in Chromium without a window and without a network.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

#[path = "support/chromium.rs"]
mod chromium;
#[path = "support/program.rs"]
#[allow(dead_code, reason = "the page is looked at, and not what the program printed")]
mod program;

use std::fs;
use std::path::{Path, PathBuf};

use chromium::{Chromium, texels};
use program::Program;
use tempfile::TempDir;

/// Okabe and Ito's blue and vermillion: the first and the second capture. Dark pages have sky blue instead of blue.
const FIRST: [u8; 3] = [0x00, 0x72, 0xb2];
const FIRST_IN_THE_DARK: [u8; 3] = [0x56, 0xb4, 0xe9];
const SECOND: [u8; 3] = [0xd5, 0x5e, 0x00];

/// Two stages of the stack, scene and kernel chain: sky blue and bluish green, on either ground.
const STACK: [[u8; 3]; 2] = [[0x56, 0xb4, 0xe9], [0x00, 0x9e, 0x73]];

/// The plots of a page, by their anchors.
const PLOTS: [&str; 5] = ["frame-times", "histogram", "percentiles", "stages", "stack"];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/report")
        .join(name)
}

/// The page on these captures, in a folder of its own.
fn page(captures: &[PathBuf]) -> (TempDir, String) {
    let captures: Vec<_> = captures.iter().map(|path| path.to_str().unwrap()).collect();
    let ended = Program::start(&format!("report {} --html page.html", captures.join(" ")), |_, _| {}).end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let url = format!("file://{}/page.html", ended.folder.path().display());
    (ended.folder, url)
}

/// The text of every cell of every row of the tables of a class, tags and all left out.
fn tables(dom: &str, class: &str) -> Vec<Vec<Vec<String>>> {
    let cells = |row: &str| {
        let cells = row.split("<th").skip(1).flat_map(|part| part.split("<td"));
        cells
            .map(|cell| cell.split_once('>').unwrap().1.split('<').next().unwrap().to_owned())
            .collect()
    };
    let start = format!("<table class=\"{class}\">");
    dom.split(&start)
        .skip(1)
        .map(|rest| {
            let body = rest.split("<tbody>").nth(1).unwrap().split("</tbody>").next().unwrap();
            body.split("<tr").skip(1).map(cells).collect()
        })
        .collect()
}

/// The measured values of a column of a fixture.
fn column(name: &str, column: &str) -> Vec<f64> {
    let mut reader = csv::Reader::from_path(fixture(name).join("frames.csv")).unwrap();
    let index = reader
        .headers()
        .unwrap()
        .iter()
        .position(|header| header == column)
        .unwrap();
    let rows = reader.records().map(|row| row.unwrap()[index].to_owned());
    rows.filter(|value| value != "NA")
        .map(|value| value.parse().unwrap())
        .collect()
}

/// Average, percentiles and maximum as the page words them, from their definitions.
fn expected_cells(times: &[f64]) -> Vec<String> {
    let mut ascending = times.to_vec();
    ascending.sort_by(f64::total_cmp);
    let percentile = |percent: f64| {
        let place = percent / 100.0 * (ascending.len() - 1) as f64;
        let (below, above) = (ascending[place.floor() as usize], ascending[place.ceil() as usize]);
        below * (1.0 - place.fract()) + above * place.fract()
    };
    let average = times.iter().sum::<f64>() / times.len() as f64;
    let times = [50.0, 90.0, 95.0, 99.0, 99.9, 100.0].map(percentile);
    let words = [average].into_iter().chain(times).map(|time| format!("{time:.4}"));
    words.collect()
}

#[test]
fn tables_hold_the_numbers_of_the_csv() {
    let names = ["steady", "spiky"];
    let (_folder, url) = page(&names.map(fixture));
    let dom = Chromium::start().dom(&url);
    let stages = tables(&dom, "stages");
    assert_eq!(stages.len(), 2);
    // Title in the page, column in the CSV.
    let columns = [
        ("frame time, present to present", "MsBetweenPresents"),
        ("host: record", "record_ms"),
        ("scene", "scene_ms"),
        ("hand-over, Vulkan to CUDA", "handover_to_cuda_ms"),
        ("kernel chain", "chain_ms"),
        ("bloom", "bloom_ms"),
        ("latency, frame start to retired", "latency_ms"),
    ];
    for (name, rows) in names.iter().zip(&stages) {
        for (title, csv) in columns {
            let row = rows
                .iter()
                .find(|row| row[0] == title)
                .unwrap_or_else(|| panic!("no {title} in {rows:?}"));
            let times = column(name, csv);
            assert_eq!(row[1], times.len().to_string(), "{name}: {title}");
            assert_eq!(row[2..9], expected_cells(&times), "{name}: {title}");
        }
        let unmeasured = rows.iter().find(|row| row[0] == "host: acquire").unwrap();
        assert_eq!(unmeasured[1..], vec!["NA"; 12], "{name}");
    }
    let rates = &tables(&dom, "rates")[0];
    for (name, row) in names.iter().zip(rates) {
        let times = column(name, "MsBetweenPresents");
        let rate = 1e3 * times.len() as f64 / times.iter().sum::<f64>();
        assert_eq!(
            row[1..3],
            [(times.len() + 1).to_string(), format!("{rate:.2}")],
            "{name}"
        );
    }
    let comparison = &tables(&dom, "comparison")[0];
    let row = comparison.iter().find(|row| row[0] == "scene").unwrap();
    let mean = |name| column(name, "scene_ms").iter().sum::<f64>() / column(name, "scene_ms").len() as f64;
    assert_eq!(row[4], format!("{:+.4}", mean("spiky") - mean("steady")));
}

#[test]
fn every_plot_is_drawn_in_light_and_in_dark() {
    let (folder, url) = page(&["steady", "spiky"].map(fixture));
    let chromium = Chromium::start();
    let dom = chromium.dom(&url);
    for plot in PLOTS {
        let (_, figure) = dom.split_once(&format!("<figure id=\"{plot}\">")).unwrap();
        let (figure, _) = figure.split_once("</figure>").unwrap();
        assert!(
            figure.contains("<svg class=\"plot\"") && !figure.contains("NaN"),
            "{plot}"
        );
        // The figure alone, as the browser draws it.
        let alone = folder.path().join(format!("{plot}.html"));
        let (head, _) = dom.split_once("<body>").unwrap();
        fs::write(&alone, format!("{head}<body><figure>{figure}</figure></body></html>")).unwrap();
        let url = format!("file://{}", alone.display());
        for (is_dark, first) in [(false, FIRST), (true, FIRST_IN_THE_DARK)] {
            let picture = chromium.picture(&url, is_dark);
            let background = picture.get_pixel(2, 2).0;
            assert_eq!(background[0] < 0x80, is_dark, "{plot}: {background:?}");
            let colours = if plot == "stack" { STACK } else { [first, SECOND] };
            for colour in colours {
                // Below the legend, whose squares have the colours too.
                let count = texels(&picture, colour, 80);
                assert!(count > 150, "{plot}, dark: {is_dark}: {count} texels of {colour:02x?}");
            }
        }
    }
}

#[test]
fn no_request_leaves_the_file() {
    let (folder, url) = page(&["steady", "spiky"].map(fixture));
    let chromium = Chromium::start();
    assert_eq!(chromium.requests(&url), Vec::<String>::new());
    let dom = chromium.dom(&url);
    for attribute in [" src=", " srcset=", "@import", "url(", "<script", "<iframe"] {
        assert!(!dom.contains(attribute), "the page has {attribute}");
    }
    let links = dom
        .split(" href=\"")
        .skip(1)
        .map(|link| link.split('"').next().unwrap());
    assert_eq!(links.collect::<Vec<_>>(), ["data:,", "#definitions"]);

    // The page has nothing to ask for; one that does is noticed.
    let control = folder.path().join("control.html");
    fs::write(&control, "<img src='http://example.com/a.png'>").unwrap();
    let requests = chromium.requests(&format!("file://{}", control.display()));
    assert_eq!(requests, ["http://example.com/a.png"]);
}

/// Names that mean something to a browser stay names.
#[test]
fn names_are_text_and_nothing_else() {
    let captures = tempfile::tempdir().unwrap();
    let name = "<img/src=http://example.com/b.png>&amp;";
    let folder = captures.path().join("x\"><b>bold&lt;");
    fs::create_dir(&folder).unwrap();
    let table = fs::read_to_string(fixture("steady").join("frames.csv")).unwrap();
    fs::write(
        folder.join("frames.csv"),
        table.replacen("sobel_ms", &format!("{name}_ms"), 1),
    )
    .unwrap();
    fs::write(
        folder.join("capture.json"),
        r#"{"</td><script>": "<script>alert(1)</script>"}"#,
    )
    .unwrap();
    // The program's arguments are parted by spaces, so the names have none.
    let (_page, url) = page(&[folder]);
    let chromium = Chromium::start();
    let dom = chromium.dom(&url);
    assert_eq!(
        (
            dom.matches("<script").count(),
            dom.matches("<b>").count(),
            dom.matches("<img").count()
        ),
        (0, 0, 0)
    );
    assert!(dom.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert_eq!(chromium.requests(&url), Vec::<String>::new());
}
