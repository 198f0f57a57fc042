//! The whole program in a window, driven by keys and resizes as a user does, with the validation layer watching.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

#[path = "support/program.rs"]
mod program;
#[path = "support/table.rs"]
mod table;
#[path = "support/xvfb.rs"]
mod xvfb;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use program::{Program, entries};
use table::Table;
use x11rb::protocol::xproto::{ConnectionExt, ImageFormat};
use x11rb::rust_connection::RustConnection;
use xvfb::Xvfb;

/// Small enough for a GPU in software.
const EXTENT: [u16; 2] = [320, 180];

/// Names of the effects by key, from 1.
const EFFECTS: [&str; 8] = [
    "exposure",
    "gaussian",
    "bloom",
    "chromatic_aberration",
    "tonemap",
    "sobel",
    "sharpen",
    "vignette",
];

/// Longer than any frame takes, with other tests on the same cores.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a window shows.
#[derive(Clone, PartialEq)]
struct Picture {
    extent: [u16; 2],
    /// Red, green, blue.
    texels: Vec<[u8; 3]>,
}

impl Picture {
    /// How many texels are not the same.
    fn differences(&self, other: &Self) -> usize {
        let pairs = self.texels.iter().zip(&other.texels);
        pairs.filter(|(one, another)| one != another).count()
    }

    fn is_plain(&self) -> bool {
        self.texels.iter().all(|texel| *texel == self.texels[0])
    }

    fn read(path: &Path) -> Self {
        let picture = image::open(path).unwrap().into_rgb8();
        Self {
            extent: [picture.width() as u16, picture.height() as u16],
            texels: picture.pixels().map(|pixel| pixel.0).collect(),
        }
    }
}

/// The program in a window of an X server of its own.
struct Window {
    program: Program,
    connection: RustConnection,
    id: u32,
    server: Xvfb,
}

impl Window {
    /// Opens it and waits for the first picture.
    fn open(presenter: &str) -> Self {
        let server = Xvfb::start(&[]);
        let [width, height] = EXTENT;
        let arguments = format!(
            "--processor host --present {presenter} --gpu llvmpipe --validate --size {width}x{height} --time-step 0.05 \
             --kernels none --vsync mailbox"
        );
        let program = Program::start(&arguments, |command, _| {
            command.env("DISPLAY", &server.display);
        });
        let (connection, _) = x11rb::connect(Some(&server.display)).unwrap();
        let mut window = Self {
            program,
            connection,
            id: 0,
            server,
        };
        window.until("a window", |window| {
            let found = window.xdotool("search --onlyvisible --class ^handover$");
            window.id = found.lines().next().and_then(|id| id.parse().ok()).unwrap_or(0);
            window.id != 0
        });
        window.until("a picture", |window| !window.picture().is_plain());
        window.xdotool(&format!("windowfocus --sync {}", window.id));
        window
    }

    fn xdotool(&self, arguments: &str) -> String {
        let output = Command::new("xdotool")
            .args(arguments.split_whitespace())
            .env("DISPLAY", &self.server.display)
            .output()
            .unwrap_or_else(|error| {
                panic!("start xdotool: {error}\n  install xdotool (Debian, Ubuntu: apt install xdotool)")
            });
        String::from_utf8(output.stdout).unwrap()
    }

    fn press(&self, key: &str) {
        self.xdotool(&format!("key {key}"));
    }

    fn title(&self) -> String {
        self.xdotool(&format!("getwindowname {}", self.id))
    }

    fn until(&mut self, what: &str, mut reached: impl FnMut(&mut Self) -> bool) {
        let start = Instant::now();
        while !reached(self) {
            self.program.expect_running();
            assert!(
                start.elapsed() < PATIENCE,
                "waited in vain for {what}; the log:\n{}",
                self.program.stderr()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn picture(&self) -> Picture {
        let size = self.connection.get_geometry(self.id).unwrap().reply().unwrap();
        let image = self
            .connection
            .get_image(ImageFormat::Z_PIXMAP, self.id, 0, 0, size.width, size.height, u32::MAX)
            .unwrap()
            .reply()
            .unwrap();
        let texels = image.data.chunks_exact(4).map(|texel| [texel[2], texel[1], texel[0]]);
        Picture {
            extent: [size.width, size.height],
            texels: texels.collect(),
        }
    }

    /// The picture once it stays the same for a while, which it must not do before it differs from `before`.
    fn steady_picture(&mut self, what: &str, before: Option<&Picture>) -> Picture {
        let mut last = self.picture();
        let mut steady_since = Instant::now();
        self.until(what, |window| {
            let now = window.picture();
            if now != last || before == Some(&now) {
                steady_since = Instant::now();
            }
            last = now;
            steady_since.elapsed() > Duration::from_millis(300)
        });
        last
    }

    fn until_shown(&mut self, what: &str, expected: &Picture) {
        self.until(what, |window| window.picture() == *expected);
    }

    /// Stops time; from then on only keys change the picture.
    fn pause(&mut self) -> Picture {
        self.press("space");
        // The title is set after frames that are already paused.
        self.until("the title of a pause", |window| window.title().contains("paused"));
        self.steady_picture("a paused picture", None)
    }

    /// Keeps a picture where a person asked to see it.
    fn keep(&self, name: &str) {
        if let Some(folder) = std::env::var_os("HANDOVER_TEST_PICTURES") {
            let picture = self.picture();
            let [width, height] = picture.extent;
            let bytes = picture.texels.concat();
            let image = image::RgbImage::from_raw(width.into(), height.into(), bytes).unwrap();
            image.save(Path::new(&folder).join(format!("{name}.png"))).unwrap();
        }
    }

    /// Each key changes the picture, and pressed again brings back the bytes of before.
    fn toggle_effects(&mut self, plain: &Picture, places: &[usize]) {
        for place in places {
            let (key, name) = (place.to_string(), EFFECTS[place - 1]);
            self.press(&key);
            self.until(name, |window| window.picture() != *plain);
            let differing = self.picture().differences(plain);
            assert!(
                differing > plain.texels.len() / 100,
                "{name} changed {differing} texels only"
            );
            self.keep(name);
            self.press(&key);
            self.until_shown(&format!("the picture without {name}"), plain);
        }
    }

    /// Solo is the picture of the effect alone, bypass that of none.
    fn solo_and_bypass(&mut self, plain: &Picture) {
        self.press("6");
        let edges = self.steady_picture("edges", Some(plain));
        self.press("5");
        let both = self.steady_picture("edges and the tone map", Some(&edges));
        assert!(both != *plain, "two effects show the scene without any");
        self.press("shift+6");
        self.until_shown("edges alone", &edges);
        self.press("shift+6");
        self.until_shown("both again", &both);
        self.press("b");
        self.until_shown("the bypassed picture", plain);
        self.press("0");
        self.until_shown("both after the bypass", &both);
        self.press("5");
        self.until_shown("edges after the tone map was switched off", &edges);
        self.press("6");
        self.until_shown("the picture without effects", plain);
    }

    /// F2 starts a capture, and F2 ends it; its table is whole then.
    fn capture(&mut self, folder: &str) {
        self.press("7");
        self.press("F2");
        self.until("the title of a capture", |window| window.title().contains("capturing"));
        self.press("F2");
        self.until("the title without a capture", |window| {
            !window.title().contains("capturing")
        });
        self.press("7");
        let table = Table::read(&self.program.folder.path().join(folder).join("frames.csv"));
        table.check(&["sharpen"]);
        table.check_waits();
        assert!(table.rows.len() >= 2, "{} rows", table.rows.len());
        for column in ["scene_ms", "sharpen_ms", "present_gpu_ms", "latency_ms", "acquire_ms"] {
            for value in table.column(column) {
                assert!(value.parse::<f64>().unwrap() > 0.0, "{column}: {value}");
            }
        }
    }

    /// Through many sizes; every fifth is the first again, and must show the first picture again.
    fn resize(&mut self, plain: &Picture, times: u32) {
        for step in 1..=times {
            let [width, height] = if step % 5 == 0 {
                EXTENT
            } else {
                [(97 + step * 53 % 400) as u16, (61 + step * 37 % 300) as u16]
            };
            self.xdotool(&format!("windowsize {} {width} {height}", self.id));
            if step % 5 == 0 {
                self.until_shown(&format!("the picture after {step} resizes"), plain);
            }
        }
    }

    /// The picture that a key writes is the one in the window.
    fn save(&mut self, file: &str) {
        self.press("p");
        let path = self.program.folder.path().join(file);
        self.until("a picture file", |_| path.exists());
        assert!(
            Picture::read(&path) == self.picture(),
            "{file} is not what the window shows"
        );
    }

    /// Another scene, and back.
    fn switch_scene(&mut self, plain: &Picture) {
        self.press("n");
        self.until("another scene", |window| window.picture() != *plain);
        self.keep("next_scene");
        self.press("shift+n");
        self.until_shown("the first scene again", plain);
    }

    /// I and Tab show and hide the overlay; hidden, it leaves nothing behind.
    fn overlay(&mut self, plain: &Picture) {
        self.press("i");
        self.until("the overlay", |window| window.picture() != *plain);
        let differing = self.picture().differences(plain);
        assert!(
            differing > plain.texels.len() / 2,
            "the overlay is {differing} texels only"
        );
        self.keep("overlay");
        self.press("Tab");
        self.until_shown("the picture without anything over it", plain);
        self.press("Tab");
        self.until("the overlay again", |window| window.picture() != *plain);
        self.press("i");
        self.until_shown("the picture without the overlay", plain);
        // What is hidden with all else is shown when it is asked for.
        self.press("Tab");
        self.press("i");
        self.until("the overlay in spite of Tab", |window| window.picture() != *plain);
        self.press("i");
        self.until_shown("the picture without the overlay again", plain);
    }

    /// Quits; an error that the validation layer counted makes the exit code 1.
    fn quit(self, left: &[&str]) {
        self.press("q");
        let ended = self.program.end();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(
            ended.stdout.contains("frames: "),
            "no table at the end:\n{}",
            ended.stdout
        );
        assert_eq!(entries(ended.folder.path()), left);
    }
}

#[test]
fn a_swapchain_shows_what_keys_and_resizes_ask_for() {
    let mut window = Window::open("swapchain");
    let plain = window.pause();
    assert_eq!(plain.extent, EXTENT);
    window.keep("plain");
    window.toggle_effects(&plain, &[1, 2, 3, 4, 5, 6, 7, 8]);
    window.solo_and_bypass(&plain);
    window.switch_scene(&plain);
    window.overlay(&plain);
    window.save("handover-0001.png");
    window.capture("handover-0001");
    window.resize(&plain, 50);
    window.capture("handover-0002");
    window.press("space");
    window.until("moving on", |window| window.picture() != plain);
    window.quit(&[
        "handover-0001.png",
        "handover-0001/",
        "handover-0001/capture.json",
        "handover-0001/frames.csv",
        "handover-0001/trace.pftrace",
        "handover-0002/",
        "handover-0002/capture.json",
        "handover-0002/frames.csv",
        "handover-0002/trace.pftrace",
    ]);
}

#[test]
fn software_shows_what_keys_and_resizes_ask_for() {
    let mut window = Window::open("software");
    let plain = window.pause();
    window.keep("software_plain");
    window.toggle_effects(&plain, &[3, 5]);
    window.overlay(&plain);
    window.save("handover-0001.png");
    window.capture("handover-0001");
    window.resize(&plain, 15);
    window.quit(&[
        "handover-0001.png",
        "handover-0001/",
        "handover-0001/capture.json",
        "handover-0001/frames.csv",
        "handover-0001/trace.pftrace",
    ]);
}

#[test]
fn a_server_that_ends_with_its_last_client_lasts_until_the_window() {
    // Whoever looks for the display and leaves before the window opens takes such a server with it. One that resets
    // instead, as X servers do by default, refuses clients for a while.
    let server = Xvfb::start(&["-terminate"]);
    let program = Program::start("--processor host --size 64x36 --frames 3", |command, _| {
        command.env("DISPLAY", &server.display);
    });
    let ended = program.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("frames: 3"), "{}", ended.stdout);
}
