//! The program in a window of an X server of its own, driven by keys, and what the window shows.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use x11rb::protocol::xproto::{ConnectionExt, ImageFormat};
use x11rb::rust_connection::RustConnection;

use crate::program::{Program, entries};
use crate::xvfb::Xvfb;

/// Small enough for a GPU in software.
pub const EXTENT: [u16; 2] = [320, 180];

/// Longer than any frame takes, with other tests on the same cores.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a window shows.
#[derive(Clone, PartialEq)]
pub struct Picture {
    pub extent: [u16; 2],
    /// Red, green, blue.
    pub texels: Vec<[u8; 3]>,
}

impl Picture {
    /// How many texels are not the same.
    pub fn differences(&self, other: &Self) -> usize {
        let pairs = self.texels.iter().zip(&other.texels);
        pairs.filter(|(one, another)| one != another).count()
    }

    pub fn is_plain(&self) -> bool {
        self.texels.iter().all(|texel| *texel == self.texels[0])
    }

    pub fn read(path: &Path) -> Self {
        let picture = image::open(path).unwrap().into_rgb8();
        Self {
            extent: [picture.width() as u16, picture.height() as u16],
            texels: picture.pixels().map(|pixel| pixel.0).collect(),
        }
    }
}

/// The program in a window of an X server of its own.
pub struct Window {
    pub program: Program,
    connection: RustConnection,
    pub id: u32,
    server: Xvfb,
}

impl Window {
    /// Opens it, with more arguments, and waits for the first picture. `adjust` as of [`Program::start`].
    pub fn open(presenter: &str, more: &str, adjust: impl FnOnce(&mut Command, &Path)) -> Self {
        let server = Xvfb::start(&[]);
        let [width, height] = EXTENT;
        let arguments = format!(
            "--processor host --present {presenter} --gpu llvmpipe --validate --size {width}x{height} --time-step 0.05 \
             --vsync mailbox {more}"
        );
        let program = Program::start(&arguments, |command, folder| {
            command.env("DISPLAY", &server.display);
            adjust(command, folder);
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

    pub fn xdotool(&self, arguments: &str) -> String {
        let output = Command::new("xdotool")
            .args(arguments.split_whitespace())
            .env("DISPLAY", &self.server.display)
            .output()
            .unwrap_or_else(|error| {
                panic!("start xdotool: {error}\n  install xdotool (Debian, Ubuntu: apt install xdotool)")
            });
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn press(&self, key: &str) {
        self.xdotool(&format!("key {key}"));
    }

    pub fn title(&self) -> String {
        self.xdotool(&format!("getwindowname {}", self.id))
    }

    pub fn until(&mut self, what: &str, mut reached: impl FnMut(&mut Self) -> bool) {
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

    pub fn picture(&self) -> Picture {
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
    pub fn steady_picture(&mut self, what: &str, before: Option<&Picture>) -> Picture {
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

    pub fn until_shown(&mut self, what: &str, expected: &Picture) {
        self.until(what, |window| window.picture() == *expected);
    }

    /// Stops time; from then on only keys change the picture.
    pub fn pause(&mut self) -> Picture {
        self.press("space");
        // The title is set after frames that are already paused.
        self.until("the title of a pause", |window| window.title().contains("paused"));
        self.steady_picture("a paused picture", None)
    }

    /// Keeps a picture where a person asked to see it.
    pub fn keep(&self, name: &str) {
        if let Some(folder) = std::env::var_os("HANDOVER_TEST_PICTURES") {
            let picture = self.picture();
            let [width, height] = picture.extent;
            let bytes = picture.texels.concat();
            let image = image::RgbImage::from_raw(width.into(), height.into(), bytes).unwrap();
            image.save(Path::new(&folder).join(format!("{name}.png"))).unwrap();
        }
    }

    /// Quits; an error that the validation layer counted makes the exit code 1.
    pub fn quit(self, left: &[&str]) {
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
