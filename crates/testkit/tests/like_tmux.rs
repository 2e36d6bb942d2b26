//! The renderer of terminal logs against the terminal that the programs draw on: whatever is
//! printed, at whatever size, the text is what tmux has.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Duration;

use sm_term::{Line, Readable, Size};
use sm_testkit::tmux::Tmux;
use sm_testkit::wait_until;

/// What is printed at which size, one after the other.
type Steps = Vec<((u16, u16), String)>;

struct Terminals {
    tmux: Tmux,
    folder: tempfile::TempDir,
    count: usize,
}

impl Terminals {
    fn new() -> Self {
        let terminals = Self {
            tmux: Tmux::new().unwrap(),
            folder: tempfile::tempdir().unwrap(),
            count: 0,
        };
        terminals.start("keeper", (80, 24), "exec sleep 1000");
        let limit = ["set-option", "-g", "history-limit", "10000"];
        terminals.tmux.call(&limit).unwrap();
        terminals
    }

    fn start(&self, name: &str, size: (u16, u16), script: &str) {
        let path = std::env::var("PATH").unwrap_or_default();
        let env = [("PATH".to_owned(), path)];
        let argv = ["sh", "-c", script];
        let started = self.tmux.start(name, size, self.folder.path(), &env, &argv);
        started.unwrap();
    }

    /// What tmux has at the end, wrapped lines whole.
    fn shown(&mut self, steps: &Steps) -> Vec<String> {
        self.count += 1;
        let name = format!("t{}", self.count);
        let pipe = self.folder.path().join(&name);
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let script = format!("stty raw -echo; exec cat {}", pipe.display());
        self.start(&name, steps[0].0, &script);
        let mut pipe = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&pipe)
            .unwrap();
        let target = format!("={name}:");
        for (n, ((cols, rows), text)) in steps.iter().enumerate() {
            if n > 0 {
                let (x, y) = (cols.to_string(), rows.to_string());
                let resize = ["resize-window", "-t", &target, "-x", &x, "-y", &y];
                self.tmux.call(&resize).unwrap();
            }
            let done = format!("done{n}");
            let text = format!("{text}\x1b]2;{done}\x07");
            pipe.write_all(text.as_bytes()).unwrap();
            let read = wait_until(Duration::from_secs(30), || {
                (self.tmux.show(&name, "#{pane_title}").unwrap() == done).then_some(())
            });
            read.expect("tmux has read it");
        }
        let capture = ["capture-pane", "-pJ", "-S", "-", "-t", &target];
        let text = self.tmux.call(&capture).unwrap();
        self.tmux.call(&["kill-session", "-t", &target]).unwrap();
        trimmed(text.lines())
    }

    #[track_caller]
    fn check(&mut self, steps: &Steps) {
        let expected = self.shown(steps);
        assert_eq!(rendered(steps), expected, "{steps:?}");
    }

    /// The same lines in the same order. What stood on the screen when its size changed, and was
    /// drawn over later, is said between them.
    fn check_resized(&mut self, steps: &Steps) {
        let expected = self.shown(steps);
        let lines = rendered(steps);
        let mut rest = lines.iter();
        let has_all = expected.iter().all(|line| rest.any(|one| one == line));
        assert!(has_all, "{expected:?} in {lines:?} by {steps:?}");
        let aside = lines.len() - expected.len();
        let most: usize = steps.iter().map(|((_, rows), _)| usize::from(*rows)).sum();
        assert!(aside <= most, "{expected:?} in {lines:?} by {steps:?}");
    }
}

fn rendered(steps: &Steps) -> Vec<String> {
    let size = |(cols, rows): (u16, u16)| Size::new(cols, rows);
    let mut readable = Readable::new(size(steps[0].0));
    let mut lines: Vec<Line> = Vec::new();
    for (at, text) in steps {
        lines.extend(readable.resize(size(*at)));
        lines.extend(readable.feed(text.as_bytes()));
        // as if another process went on
        readable = Readable::load(&readable.save()).expect("a saved state");
    }
    lines.extend(readable.finish());
    trimmed(lines.iter().map(|line| line.text.as_str()))
}

fn trimmed<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// The same numbers for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

#[test]
fn texts_of_all_kinds() {
    let mut terminals = Terminals::new();
    for text in [
        "plain\r\nlines\r\n",
        "a line that is longer than the screen is wide, twice over\r\nnext",
        "日本語日本語日本語日本語日本語日本語\r\nnext",
        "e\u{301}a\u{308}o\u{302} zero width\r\n",
        "\x1b[31mcolours\x1b[0m \x1b]0;title\x07and titles",
        "one\r\ntwo\r\n\x1b[H\x1b[2Jcleared",
        "one\r\ntwo\r\nthree\x1b[2A\r\x1b[Jredrawn",
        "10%\r50%\r100%\r\ndone",
        "a\tb\tc\r\n\x1b[3g\x1b[5G\x1bH\rx\ty",
        "1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[2;4r\x1b[4;1H\n\n7\x1b[r\x1b[6;1H8",
        "1\r\n2\r\n3\x1b[1;1H\x1bM\x1bM0\x1b[3;1H\x1b[L4\x1b[M",
        "abcdefghij\x1b[3D\x1b[2P\x1b[1D\x1b[3X\x1b[5G\x1b[2@xy",
        "\x1b7saved\x1b8restored\x1b[5;5Hthere\x1b[2dup",
        "12345678901234567890\x1b[Ax\r\ny",
    ] {
        terminals.check(&vec![((20, 6), text.to_owned())]);
    }
}

#[test]
fn anything_that_moves_and_erases() {
    let mut dice = Dice(0x5eed);
    let mut terminals = Terminals::new();
    let words = [
        "abc",
        "hello world",
        "x",
        "12345678901234567890123",
        "é",
        "  ",
        "───",
    ];
    let counts = ["", "1", "2", "3", "5", "8", "19", "30"];
    let others = [
        "\r\n", "\n", "\r", "\x08", "\t", "\x1b7", "\x1b8", "\x1bM", "\x1bD", "\x1bE",
    ];
    for _ in 0..40 {
        let mut text = String::new();
        for _ in 0..3 + dice.below(35) {
            match dice.below(20) {
                0..8 => text += dice.of(&words),
                8..12 => text += dice.of(&others),
                12..14 => {
                    text += &format!("\x1b[{};{}H", dice.of(&counts), dice.of(&counts));
                }
                14 => text += &format!("\x1b[{}K", dice.of(&["", "1", "2"])),
                15 => {
                    let (top, bottom) = (dice.of(&["", "1", "2", "3"]), dice.of(&["", "4", "5"]));
                    text += &format!("\x1b[{top};{bottom}r");
                }
                _ => {
                    let what =
                        dice.of(&["A", "B", "C", "D", "E", "F", "G", "d", "P", "X", "S", "T"]);
                    text += &format!("\x1b[{}{what}", dice.of(&counts));
                }
            }
        }
        terminals.check(&vec![((20, 6), text)]);
    }
}

#[test]
fn a_size_that_changes() {
    let mut dice = Dice(0xcafe);
    let mut terminals = Terminals::new();
    let words = [
        "abc",
        "hello world ",
        "12345678901234567890123",
        "é",
        "the quick brown fox jumps over the lazy dog",
    ];
    let others = [
        "\r", "\x1b[2A", "\x1b[K", "\x1b[9G", "\x1b[H", "\x1b[2K", "\x1b[3B",
    ];
    for _ in 0..30 {
        let steps = 2 + dice.below(3);
        let step = |_| {
            let small = |n: usize| u16::try_from(n).unwrap();
            let size = (small(5 + dice.below(25)), small(2 + dice.below(8)));
            let mut text = String::new();
            for _ in 0..1 + dice.below(13) {
                text += match dice.below(20) {
                    0..10 => dice.of(&words),
                    10..17 => "\r\n",
                    _ => dice.of(&others),
                };
            }
            (size, text)
        };
        terminals.check_resized(&(0..steps).map(step).collect());
    }
}
