//! Tests of reading colour tables.

use super::*;
use crate::kernels::TableFormat;

fn parsed(text: &str) -> Result<Vec<[f32; 4]>, String> {
    parse(&mut text.as_bytes(), Path::new("film.cube"))
        .map(|(texels, _)| texels)
        .map_err(|error| error.to_string())
}

fn message(text: &str) -> String {
    parsed(text).expect_err("is refused")
}

const ENTRIES: &str = "0 0 0\n1 0 0\n0 1 0\n1 1 0\n0 0 1\n1 0 1\n0 1 1\n1 1 1\n";

#[test]
fn a_file_of_the_specification_is_read_in_its_order() {
    let text = format!(
        "# comment\r\n\nTITLE \"Three words, really\"\nDOMAIN_MIN -0.5 0 1e-2\nDOMAIN_MAX 2 1 .5\nLUT_3D_SIZE 2\n{ENTRIES}# end\n"
    );
    let texels = parsed(&text).expect("is a table");
    assert_eq!(
        texels[..5],
        [
            [2.0, 3.0, 0.0, 0.0],
            [-0.5, 0.0, 0.01, 0.0],
            [2.0, 1.0, 0.5, 0.0],
            [0.0; 4],
            [1.0, 0.0, 0.0, 0.0]
        ]
    );
    assert_eq!(texels.len(), 11);
    let one = parsed("LUT_1D_SIZE 2\nLUT_1D_INPUT_RANGE 0 4\n0 0 0\n1 2 3").expect("is a table");
    assert_eq!(one[0], [2.0, 1.0, 0.0, 0.0]);
    assert_eq!(one[2..], [[4.0, 4.0, 4.0, 0.0], [0.0; 4], [1.0, 2.0, 3.0, 0.0]]);
}

#[test]
fn a_bad_file_is_one_error_with_file_line_and_expectation() {
    for size in ["1", "257", "-2", "x", "2.5", "", "4294967298", "2 2"] {
        let found = message(&format!("TITLE \"t\"\nLUT_3D_SIZE {size}\n"));
        assert!(
            found.starts_with("film.cube:2: LUT_3D_SIZE: expected a whole number from 2 to 256, found"),
            "{found}"
        );
    }
    assert!(message("LUT_1D_SIZE 65537").contains("from 2 to 65536"));
    let entry = |line: &str| message(&format!("LUT_3D_SIZE 2\n{}", ENTRIES.replacen("0 1 0", line, 1)));
    for line in [
        "nan 1 0",
        "0 1",
        "0 1 0 0",
        "0 inf 0",
        "0 1 -Infinity",
        "0 1 1e9",
        "0 1 zero",
        "0,1,0",
    ] {
        assert!(
            entry(line).starts_with("film.cube:4: expected an entry, expected 3 numbers from -65504 to 65504, found"),
            "{line}: {}",
            entry(line)
        );
    }
    let fewer = format!("LUT_3D_SIZE 2\n{}", ENTRIES.trim_end().trim_end_matches("1 1 1"));
    assert_eq!(
        message(&fewer),
        "film.cube:8: expected 8 entries, found 7 when the file ended"
    );
    let more = format!("LUT_3D_SIZE 2\n{ENTRIES}1 1 1\n");
    assert_eq!(message(&more), "film.cube:10: expected 8 entries, found more");
    assert!(message("").starts_with("film.cube:1: expected LUT_3D_SIZE or LUT_1D_SIZE"));
    assert!(message("0 0 0\n").starts_with("film.cube:1: expected LUT_3D_SIZE or LUT_1D_SIZE"));
    assert!(message("\n\nhello world").starts_with("film.cube:3: expected TITLE, LUT_3D_SIZE"));
    assert!(message("LUT_3D_SIZE 2\nLUT_1D_SIZE 2").starts_with("film.cube:2: LUT_1D_SIZE: expected one size"));
    assert!(
        message(&format!("LUT_3D_SIZE 2\n{ENTRIES}TITLE \"t\"")).starts_with("film.cube:10: expected keywords before")
    );
    let empty = message(&format!("LUT_3D_SIZE 2\nDOMAIN_MAX 1 0 1\n{ENTRIES}"));
    assert!(
        empty.starts_with("film.cube:3: expected each of DOMAIN_MIN below"),
        "{empty}"
    );
    assert!(message("DOMAIN_MIN 0 0").starts_with("film.cube:1: DOMAIN_MIN: expected 3 numbers"));
}

/// Neither a line without end nor a size that is only said takes memory.
#[test]
fn what_is_no_table_is_refused_after_a_line() {
    let endless = std::io::repeat(b'7');
    let error = parse(&mut BufReader::new(endless), Path::new("zero")).expect_err("is refused");
    assert_eq!(
        error.to_string(),
        "zero:1: expected lines of a colour table (.cube), found one of more than 4096 bytes"
    );
    assert!(message("LUT_3D_SIZE 256\n").contains("expected 16777216 entries, found 0"));
    assert!(parse(&mut &[0xff, 0xfe, 0x00, b'\n', 0x80][..], Path::new("picture")).is_err());
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Table::read(TableFormat::Cube, Path::new("no/such.cube")).expect_err("is not there");
    assert!(
        error
            .to_string()
            .starts_with("no/such.cube: cannot be read as a colour table (.cube): "),
        "{error}"
    );
}

#[test]
fn the_program_s_own_table_is_one() {
    assert_eq!(
        Table::of_program(TableFormat::Cube).bytes().len(),
        16 * (3 + 17 * 17 * 17)
    );
}
