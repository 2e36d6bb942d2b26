//! A session's folder, its log written piece by piece, and what the archive makes of it.

use super::notes::{self, What};
use super::place::Folder;
use super::read::{self, Raw, Span, Texts};
use super::render::{self, Caught};
use super::search::{Found, Search, Wanted};
use sm_term::Size;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

struct Session {
    folder: Folder,
    _temp: tempfile::TempDir,
}

impl Session {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        Self {
            folder: Folder::new(temp.path().to_path_buf()),
            _temp: temp,
        }
    }

    fn print(&self, part: u32, at: u64, text: &str) {
        let append = |path| {
            let file = OpenOptions::new().append(true).create(true).open(path);
            file.unwrap()
        };
        let mut log = append(self.folder.log(part));
        let offset = log.metadata().unwrap().len();
        let mut times = append(self.folder.times(part));
        writeln!(times, "{offset} {at}").unwrap();
        log.write_all(text.as_bytes()).unwrap();
    }

    fn note(&self, at: i64, what: What) {
        notes::add(&self.folder, at, what).unwrap();
    }

    fn catch_up(&self) -> Caught {
        render::catch_up(&self.folder, Size::new(40, 5)).unwrap()
    }

    fn span(&self, generation: Option<u32>) -> Span {
        Span::of(&notes::generations(&self.folder), generation).unwrap()
    }

    fn text(&self, generation: Option<u32>) -> String {
        let caught = self.catch_up();
        let mut texts = Texts::new(&self.folder, &caught, self.span(generation));
        all(|| texts.next_piece().unwrap())
    }

    fn raw(&self, generation: Option<u32>) -> String {
        let mut raw = Raw::new(&self.folder, self.span(generation));
        all(|| raw.next_piece().unwrap())
    }

    fn search(&self, pattern: &str, context: usize, generation: Option<u32>) -> Vec<Found> {
        let caught = self.catch_up();
        let wanted = Wanted::new(pattern, false, context).unwrap();
        let span = self.span(generation);
        let mut search = Search::new(&self.folder, &caught, span, wanted);
        let mut found = Vec::new();
        while let Some(more) = search.next_found().unwrap() {
            found.extend(more);
        }
        found
    }

    fn last(&self, count: usize) -> Vec<String> {
        read::last_lines(&self.folder, &self.catch_up(), count).unwrap()
    }
}

fn all(mut next: impl FnMut() -> Vec<u8>) -> String {
    let mut bytes = Vec::new();
    loop {
        let piece = next();
        if piece.is_empty() {
            return String::from_utf8(bytes).unwrap();
        }
        bytes.extend(piece);
    }
}

fn numbered(numbers: std::ops::Range<usize>) -> String {
    numbers.map(|n| format!("line {n}\r\n")).collect()
}

fn plain(numbers: std::ops::Range<usize>) -> String {
    numbered(numbers).replace('\r', "")
}

#[test]
fn only_what_is_new_is_rendered() {
    let session = Session::new();
    session.print(1, 1, &numbered(0..50_000));
    let size = fs::metadata(session.folder.log(1)).unwrap().len();
    assert_eq!(session.catch_up().rendered, size);
    assert_eq!(session.catch_up().rendered, 0);
    session.print(1, 2, "one more\r\n");
    assert_eq!(session.catch_up().rendered, 10);
    // The next part, once there is one.
    session.print(2, 3, "two more\r\n");
    session.print(4, 3, "three more\r\n");
    assert_eq!(session.catch_up().rendered, 22);
    let expected = plain(0..50_000) + "one more\ntwo more\nthree more\n";
    assert_eq!(session.text(None), expected);
    // The files alone hold it, for grep; nobody else reads them.
    let mut files = String::new();
    for part in session.folder.text_parts() {
        files += &fs::read_to_string(session.folder.text(part)).unwrap();
    }
    files += &fs::read_to_string(session.folder.screen()).unwrap();
    assert_eq!(files, expected);
    for entry in fs::read_dir(session.folder.archive()).unwrap() {
        let mode = entry.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn many_pieces_give_what_one_gives() {
    let whole = Session::new();
    let pieces = Session::new();
    let mut log = numbered(0..2_000);
    log += "\x1b[?1049h\x1b[2J\x1b[Hpicture\x1b[?1049l\x1b[31mwide 日本\x1b[0m\r\n";
    log += &numbered(0..1_000);
    whole.print(1, 1, &log);
    let bytes = log.as_bytes();
    for piece in bytes.chunks(997) {
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(pieces.folder.log(1))
            .unwrap();
        file.write_all(piece).unwrap();
        assert_eq!(pieces.catch_up().rendered, piece.len() as u64);
    }
    assert_eq!(pieces.text(None), whole.text(None));
}

#[test]
fn a_renderer_that_was_killed_leaves_nothing_twice() {
    let session = Session::new();
    session.print(1, 1, &numbered(0..5_000));
    session.catch_up();
    let state = fs::read(session.folder.state()).unwrap();
    session.print(1, 2, &numbered(5_000..10_000));
    session.catch_up();
    let expected = plain(0..10_000);
    assert_eq!(session.text(None), expected);
    // Text and index were written, the state was not.
    fs::write(session.folder.state(), &state).unwrap();
    assert_eq!(session.text(None), expected);
    // A state of which nothing is left to read, or that speaks of text that is gone.
    fs::write(session.folder.state(), b"torn").unwrap();
    assert_eq!(session.text(None), expected);
    fs::write(session.folder.text(1), b"").unwrap();
    assert_eq!(session.text(None), expected);
    // The log was removed by hand: the text stays.
    fs::remove_file(session.folder.log(1)).unwrap();
    assert_eq!(session.text(None), expected);
}

#[test]
fn text_goes_on_in_the_next_file() {
    let session = Session::new();
    let count = 500_000;
    session.print(1, 1, &numbered(0..count));
    let expected = plain(0..count);
    assert!(session.text(None) == expected, "all lines, in order");
    let parts = session.folder.text_parts();
    assert!(parts.len() > 1, "{parts:?}");
    for part in &parts {
        let text = fs::read_to_string(session.folder.text(*part)).unwrap();
        assert!(text.len() <= 4 << 20 && text.ends_with('\n'));
    }
    // The last lines are found across files.
    let last_file = fs::read_to_string(session.folder.text(parts[parts.len() - 1])).unwrap();
    let many = last_file.lines().count() + 2_000;
    let lines: Vec<&str> = expected.lines().collect();
    for wanted in [0, 1, 3, 305, 2_000, many] {
        assert!(session.last(wanted) == lines[count - wanted..], "{wanted}");
    }
    assert_eq!(session.last(count + 10).len(), count);
    let found = session.search("line 4999[0-9]5$", 0, None);
    let texts: Vec<(u64, &str)> = found.iter().map(|f| (f.line, f.text.as_str())).collect();
    assert_eq!(texts[0], (499_906, "line 499905"));
    assert_eq!(texts.len(), 10);
}

#[test]
fn the_terminal_is_followed_when_its_size_changes() {
    let session = Session::new();
    session.note(1, What::New { cols: 10, rows: 4 });
    session.print(1, 1, "0123456789abc\r\n");
    session.note(2, What::Size { cols: 30, rows: 4 });
    session.print(
        1,
        2,
        "a line of twenty-four ch\r\n\x1b[1A\x1b[2Kredrawn\r\n",
    );
    assert_eq!(session.text(None), "0123456789abc\nredrawn\n");
    // A new terminal begins where the old one ended, whatever that had begun.
    session.print(1, 3, "\x1b[?1049hpicture\x1b[2");
    session.note(4, What::New { cols: 80, rows: 24 });
    session.print(1, 4, "5 new\r\n");
    assert_eq!(
        session.text(None),
        "0123456789abc\nredrawn\npicture\n5 new\n"
    );
}

#[test]
fn generations_and_times() {
    let session = Session::new();
    session.note(1_000, What::New { cols: 40, rows: 5 });
    session.note(1_000, What::Generation(1));
    session.print(1, 1_000, &numbered(0..400));
    session.print(1, 2_000, "needle one\r\n");
    session.note(3_000, What::Generation(2));
    session.print(1, 3_000, "\x1b[H\x1b[2J\x1b[3Jsecond begins\r\n");
    session.print(1, 4_000, &numbered(400..800));
    session.note(5_000, What::Generation(3));
    session.print(1, 5_000, "\x1b[H\x1b[2J\x1b[3Jthird begins\r\n");
    session.print(2, 6_000, "needle two\r\n");
    assert_eq!(session.text(Some(1)), plain(0..400) + "needle one\n");
    assert_eq!(
        session.text(Some(2)),
        "second begins\n".to_owned() + &plain(400..800)
    );
    assert_eq!(session.text(Some(3)), "third begins\nneedle two\n");
    assert_eq!(
        Span::of(&notes::generations(&session.folder), Some(4)),
        None
    );
    let all: String = (1..=3).map(|n| session.text(Some(n))).collect();
    assert_eq!(session.text(None), all);
    assert!(
        session
            .raw(Some(2))
            .starts_with("\x1b[H\x1b[2J\x1b[3Jsecond begins\r\n")
    );
    let raw: String = (1..=3).map(|n| session.raw(Some(n))).collect();
    assert_eq!(session.raw(None), raw);

    let shown = |found: Vec<Found>| -> Vec<(u64, u32, Option<i64>, bool, String)> {
        let show = |f: Found| (f.line, f.generation, f.at, f.is_match, f.text);
        found.into_iter().map(show).collect()
    };
    assert_eq!(
        shown(session.search("needle", 1, None)),
        [
            (400, 1, Some(1_000), false, "line 399".into()),
            (401, 1, Some(2_000), true, "needle one".into()),
            (402, 2, Some(3_000), false, "second begins".into()),
            (803, 3, Some(5_000), false, "third begins".into()),
            (804, 3, Some(6_000), true, "needle two".into()),
        ]
    );
    assert_eq!(
        shown(session.search("needle", 0, Some(3))),
        [(804, 3, Some(6_000), true, "needle two".into())]
    );
    assert_eq!(session.search("needle", 3, Some(2)), []);
    assert_eq!(session.search("line 500$", 0, Some(2))[0].line, 503);
}

#[test]
fn a_bad_pattern_is_refused_in_words() {
    let refused = |pattern: &str| Wanted::new(pattern, false, 0).err().unwrap_or_default();
    assert!(refused("(").contains("unclosed group"), "{}", refused("("));
    assert_eq!(refused(&"(a{1000}){1000}".repeat(9)), "it is too large");
}

#[test]
fn a_session_without_a_log_has_an_empty_archive_and_one_without_a_folder_none() {
    let session = Session::new();
    assert_eq!(session.text(None), "");
    assert_eq!(session.search("x", 0, None), []);
    fs::remove_dir_all(session.folder.path()).unwrap();
    assert!(render::catch_up(&session.folder, Size::default()).is_err());
    assert!(!session.folder.path().exists());
}

#[test]
fn the_screen_is_told_once_and_older_redraws_are_not() {
    let session = Session::new();
    let screen = |count| read::screen(&session.folder, &session.catch_up(), count).unwrap();
    assert_eq!(screen(None), Vec::<String>::new());
    session.print(
        1,
        1,
        "older\r\nheader\r\nversion\r\n\r\nhello\r\nthe first\r\n> ",
    );
    // All of it again from the first row on, a line longer than the screen each time.
    let redraw = |lines: &[&str]| {
        let rows: Vec<String> = lines.iter().map(|l| format!("\u{1b}[2K{l}")).collect();
        format!("\u{1b}[H{}", rows.join("\r\n"))
    };
    let head = ["header", "version", "", "hello"];
    for (at, new) in [
        (2, ["the first", "the second"]),
        (3, ["the second", "the third"]),
    ] {
        session.print(1, at, &redraw(&[&head[..], &new, &["> "]].concat()));
    }
    let shown = ["", "hello", "the second", "the third", ">"];
    assert_eq!(screen(None), shown);
    assert_eq!(screen(Some(3)), shown[2..]);
    let all = screen(Some(100));
    assert!(all.ends_with(&shown.map(str::to_owned)), "{all:?}");
    let times = |text: &str| all.iter().filter(|line| *line == text).count();
    assert_eq!(
        (times("older"), times("hello"), times("the third")),
        (1, 1, 1),
        "{all:?}"
    );
}

/// As Claude Code leaves a context: every row is erased, and others are drawn.
#[test]
fn a_screen_that_is_drawn_over_is_found_in_the_generation_that_showed_it() {
    let session = Session::new();
    session.note(0, What::Generation(1));
    session.print(1, 1_000, "the answer is walrus\r\n> ");
    session.print(1, 5_000, "\u{1b}[H\u{1b}[2K\u{1b}[1B\u{1b}[2K\u{1b}[H");
    session.note(5_010, What::Generation(2));
    // Rendered between any two of them, and at once.
    assert_eq!(session.search("walrus", 0, None).len(), 1);
    session.print(1, 6_500, "another context\r\n> ");
    session.search("walrus", 0, None);
    session.print(1, 8_000, "and more\r\n> ");
    session.print(1, 9_500, "and more\r\n> ");
    let found = session.search("walrus", 0, None);
    let told: Vec<(u32, Option<i64>)> = found.iter().map(|f| (f.generation, f.at)).collect();
    assert_eq!(told, [(1, Some(1_000))]);
    assert_eq!(session.search("walrus", 0, Some(2)), []);
    let text = session.text(None);
    fs::remove_file(session.folder.state()).unwrap();
    assert_eq!(session.text(None), text);
    // Without the marks of time nothing is known of it, and nothing fails.
    fs::remove_file(session.folder.state()).unwrap();
    fs::remove_file(session.folder.times(1)).unwrap();
    assert!(session.text(None).contains("another context"));
}
