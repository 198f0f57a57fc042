//! Captures: what is made, what is refused, what is left when writing fails or the process is killed.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use super::*;
use crate::timing::{FrameSpans, Interval};

fn sheet() -> Sheet {
    Sheet::of_this_process("Vulkan", &["blur"])
}

fn info() -> TraceInfo {
    TraceInfo::default()
}

fn frame(frame: u64) -> FrameRecord {
    FrameRecord {
        frame,
        start: Duration::from_millis(500 + frame),
        spans: FrameSpans {
            scene: Some(Interval {
                start_ns: 1_000_000 * frame,
                end_ns: 1_000_000 * frame + 400_000,
            }),
            ..FrameSpans::default()
        },
        ..FrameRecord::default()
    }
}

fn frames_in(path: &Path) -> Vec<u64> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let column = reader
        .headers()
        .unwrap()
        .iter()
        .position(|name| name == "frame")
        .unwrap();
    reader
        .records()
        .map(|row| row.unwrap()[column].parse().unwrap())
        .collect()
}

#[test]
fn all_frames_are_in_the_table_in_order() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    let capture = Capture::create(&dir, sheet(), &info()).unwrap();
    (1..=5000).for_each(|number| capture.push(&frame(number)));
    let written = capture.finish().unwrap();
    assert_eq!(
        written,
        Written {
            path: dir.join("frames.csv"),
            rows: 5000,
            trace: dir.join("trace.pftrace"),
        }
    );
    assert_eq!(frames_in(&written.path), (1..=5000).collect::<Vec<_>>());
    let text = fs::read_to_string(&written.path).unwrap();
    assert!(
        text.lines().nth(1).unwrap().contains(",Vulkan,0.000000,"),
        "the first frame is the origin"
    );
}

#[test]
fn the_header_is_there_before_the_first_frame_and_without_any() {
    let place = tempfile::tempdir().unwrap();
    let capture = Capture::create(&place.path().join("run"), sheet(), &info()).unwrap();
    assert_eq!(fs::read(capture.path()).unwrap(), sheet().header());
    assert_eq!(capture.finish().unwrap().rows, 0);
}

#[test]
fn rows_reach_the_file_while_the_capture_goes_on() {
    let place = tempfile::tempdir().unwrap();
    let capture = Capture::create(&place.path().join("run"), sheet(), &info()).unwrap();
    capture.push(&frame(1));
    capture.push(&frame(2));
    // A generous limit for a busy machine; that rows come without `finish` is the point.
    let limit = Instant::now() + Duration::from_secs(5);
    while frames_in(&capture.path()) != [1, 2] {
        assert!(Instant::now() < limit, "no rows in the file after 5 s");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_dropped_capture_is_written_too() {
    let place = tempfile::tempdir().unwrap();
    let capture = Capture::create(&place.path().join("run"), sheet(), &info()).unwrap();
    let path = capture.path();
    capture.push(&frame(9));
    drop(capture);
    assert_eq!(frames_in(&path), [9]);
}

#[test]
fn what_exists_is_refused_and_kept() {
    let place = tempfile::tempdir().unwrap();
    let (dir, file) = (place.path().join("dir"), place.path().join("file"));
    fs::create_dir(&dir).unwrap();
    fs::write(&file, "mine").unwrap();
    let error = Capture::create(&dir, sheet(), &info()).unwrap_err();
    assert!(
        matches!(&error, CaptureError::FolderExists { path } if *path == dir),
        "{error}"
    );
    let error = Capture::create(&file, sheet(), &info()).unwrap_err();
    assert!(
        matches!(&error, CaptureError::FileInTheWay { path } if *path == file),
        "{error}"
    );
    let error = Capture::create(&file.join("run"), sheet(), &info()).unwrap_err();
    assert!(
        matches!(&error, CaptureError::ParentNotFolder { parent, .. } if *parent == file),
        "{error}"
    );
    let error = Capture::create(&place.path().join("no/run"), sheet(), &info()).unwrap_err();
    assert!(
        matches!(&error, CaptureError::ParentMissing { parent, .. } if parent.ends_with("no")),
        "{error}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
}

/// A user who may write everywhere, as in a container, cannot provoke this one on a disk.
#[test]
fn a_parent_without_permission_is_named() {
    let denied = io::Error::from(io::ErrorKind::PermissionDenied);
    let text = CaptureError::of_folder(Path::new("/there/run"), denied).to_string();
    assert!(
        text.contains("/there/run: /there cannot be written to") && text.contains("choose"),
        "{text}"
    );
}

#[test]
fn two_columns_of_one_name_are_refused_before_anything_is_made() {
    let place = tempfile::tempdir().unwrap();
    for effects in [vec!["scene"], vec!["blur", "blur"]] {
        let dir = place.path().join("run");
        let error = Capture::create(&dir, Sheet::of_this_process("Vulkan", &effects), &info()).unwrap_err();
        assert!(matches!(error, CaptureError::ColumnTaken { .. }), "{error}");
        assert!(!dir.exists());
    }
}

#[test]
fn a_series_goes_on_after_its_highest_number() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path().join("run");
    let next = || Capture::next_free(&base);
    assert_eq!(next(), place.path().join("run-0001"));
    for expected in ["run-0001", "run-0002", "run-0003"] {
        let capture = Capture::create(&next(), sheet(), &info()).unwrap();
        assert!(capture.finish().unwrap().path.parent().unwrap().ends_with(expected));
    }
    fs::remove_dir_all(place.path().join("run-0001")).unwrap();
    fs::create_dir(place.path().join("run-12")).unwrap();
    fs::write(place.path().join("run-0007"), "a file counts").unwrap();
    assert_eq!(next(), place.path().join("run-0008"));
    fs::create_dir(place.path().join("run-9999")).unwrap();
    assert_eq!(next(), place.path().join("run-10000"));
    assert_eq!(
        Capture::next_free(Path::new("surely-not-there")),
        Path::new("surely-not-there-0001")
    );
    assert_eq!(Capture::next_free(Path::new("..")), Path::new("../capture-0001"));
}

/// Tells the process to be killed where to work.
const KILLED_PLACE: &str = "HANDOVER_TEST_KILLED_PLACE";

/// Pushes a frame each millisecond, and notes in `pushed` at once when that was, until it is killed.
#[test]
#[ignore = "is the process that a_killed_process_leaves_a_table_that_reads starts and kills"]
fn process_to_be_killed() {
    let Some(place) = std::env::var_os(KILLED_PLACE).map(PathBuf::from) else {
        return;
    };
    let capture = Capture::create(&place.join("run"), sheet(), &info()).unwrap();
    let mut pushed = File::create(place.join("pushed")).unwrap();
    let begin = Instant::now();
    for number in 1..30_000 {
        capture.push(&frame(number));
        pushed
            .write_all(format!("{}\n", begin.elapsed().as_millis()).as_bytes())
            .unwrap();
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_killed_process_leaves_a_table_that_reads() {
    let place = tempfile::tempdir().unwrap();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "timing::capture::tests::process_to_be_killed"])
        .env(KILLED_PLACE, place.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let table = place.path().join("run").join(FRAMES_FILE);
    let limit = Instant::now() + Duration::from_secs(20);
    while fs::metadata(&table).map_or(0, |file| file.len()) < 20_000 && Instant::now() < limit {
        thread::sleep(Duration::from_millis(7));
    }
    // Not right after a block was written, when nothing could be lost.
    thread::sleep(Duration::from_millis(730));
    child.kill().unwrap();
    child.wait().unwrap();
    let rows = frames_in(&table);
    assert!(!rows.is_empty());
    assert_eq!(rows, (1..=rows.len() as u64).collect::<Vec<_>>());
    let pushed = fs::read_to_string(place.path().join("pushed")).unwrap();
    let pushed: Vec<u64> = pushed.lines().map(|line| line.parse().unwrap()).collect();
    let killed = *pushed.last().unwrap();
    let lost_since = pushed.get(rows.len()).copied().unwrap_or(killed);
    // 100 ms is the promise; the rest is for a machine that is too busy to run the writer in time.
    assert!(
        killed - lost_since <= 400,
        "{} rows, lost since {lost_since} ms, killed at {killed} ms",
        rows.len()
    );
}

/// Takes some bytes, then is full in the middle of a row or packet. Tells of each block that it took whole.
struct FullAfter {
    bytes: usize,
    taken: Vec<u8>,
    took_block: Sender<()>,
}

impl Write for FullAfter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.bytes.saturating_sub(self.taken.len()).min(bytes.len());
        if room == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.taken.extend(&bytes[..room]);
        Ok(room)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.took_block.send(()).unwrap();
        Ok(())
    }
}

/// A frame's bytes in the table and, of a capture's first frame, in the trace.
fn block_of_first_frame() -> (usize, usize) {
    // As in the capture: the first frame is the origin.
    let sheet = Sheet {
        origin: frame(1).start,
        ..sheet()
    };
    let (mut trace, _) = TraceWriter::new(&info());
    (sheet.rows(&[frame(1)]).len(), trace.frame(&frame(1)).len())
}

/// Writes two frames, the second of which does not fit into one of the files.
fn outcome_with_room(table_bytes: usize, trace_bytes: usize) -> Outcome {
    let (sender, receiver) = channel();
    let (took_block, block_taken) = channel();
    let writer = thread::spawn(move || {
        let full_after = |bytes| FullAfter {
            bytes,
            taken: Vec::new(),
            took_block: took_block.clone(),
        };
        let (mut table, mut trace) = (full_after(table_bytes), full_after(trace_bytes));
        let output = Output {
            table: &mut table,
            trace: &mut trace,
        };
        let (trace, _) = TraceWriter::new(&info());
        write_frames(&receiver, sheet(), trace, Progress::default(), output)
    });
    sender.send(frame(1)).unwrap();
    // Both files.
    block_taken.recv().unwrap();
    block_taken.recv().unwrap();
    sender.send(frame(2)).unwrap();
    drop(sender);
    writer.join().unwrap()
}

#[test]
fn a_full_disk_ends_the_writing_after_whole_frames() {
    let (row, packets) = block_of_first_frame();
    for (room, file) in [
        ((row + row / 2, usize::MAX), FRAMES_FILE),
        ((usize::MAX, packets + 40), TRACE_FILE),
    ] {
        let outcome = outcome_with_room(room.0, room.1);
        let done = Progress {
            rows: 1,
            table_bytes: row as u64,
            trace_bytes: packets as u64,
        };
        assert_eq!(outcome.done, done, "{file}");
        let failure = outcome.failure.unwrap();
        assert_eq!(
            (failure.file, failure.source.kind()),
            (file, io::ErrorKind::StorageFull)
        );
    }
}

#[test]
fn what_broke_is_cut_off() {
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = place.path().join(name);
        fs::write(&path, text).unwrap();
        OpenOptions::new().read(true).write(true).open(&path).unwrap()
    };
    let (table, trace) = (file("table", "a,b\n1,2\n3"), file("trace", "headerframe1frame2"));
    let outcome = Outcome {
        done: Progress {
            rows: 1,
            table_bytes: 8,
            trace_bytes: 12,
        },
        failure: Some(Failure {
            file: FRAMES_FILE,
            source: io::ErrorKind::StorageFull.into(),
        }),
    };
    end_at_whole_frames(&table, &trace, &outcome);
    assert_eq!(fs::read_to_string(place.path().join("table")).unwrap(), "a,b\n1,2\n");
    assert_eq!(fs::read_to_string(place.path().join("trace")).unwrap(), "headerframe1");
}

#[cfg(target_os = "linux")]
#[test]
fn the_systems_full_disk_is_reported_once_with_the_path() {
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (mut table, mut trace) = (full(), full());
    let (sender, receiver) = channel();
    let writer = thread::spawn(move || {
        let output = Output {
            table: &mut table,
            trace: &mut trace,
        };
        let (trace, _) = TraceWriter::new(&info());
        write_frames(&receiver, sheet(), trace, Progress::default(), output)
    });
    let capture = Capture {
        folder: "/full".into(),
        sender: Some(sender),
        writer: Some(writer),
    };
    (1..=100).for_each(|number| capture.push(&frame(number)));
    thread::sleep(Duration::from_millis(200));
    capture.push(&frame(101));
    let error = capture.finish().unwrap_err();
    assert!(
        matches!(&error, CaptureError::Write { rows: 0, source, .. } if source.kind() == io::ErrorKind::StorageFull)
    );
    assert!(
        error
            .to_string()
            .starts_with("cannot write /full/frames.csv after 0 frames"),
        "{error}"
    );
}
