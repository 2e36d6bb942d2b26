//! How fast transcripts become a ledger: whole, and record by record when much is in it already.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sm_ledger::{Dialect, Frame, Ledger, Reader, detect, document};

use crate::samples::{Samples, ms};
use crate::table::{Row, Table};
use crate::{Result, corpus, cost};

const MB: usize = 1_000_000;
/// Files of the invented corpus, and how large each is.
const FILES: u64 = 8;
const FILE: usize = 4 * MB;
const ROUNDS: usize = 5;
const BUDGET: usize = 9_500;
const PIECE: usize = 1 << 20;
/// Records that are added, to see what one costs.
const PROBE: usize = 2_000;

pub fn run(table: &mut Table) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut files = corpus::files()?;
    let what = if files.is_empty() {
        files = invented(folder.path())?;
        "an invented corpus; --corpus FOLDER takes another"
    } else {
        "the corpus given"
    };
    let mut bytes = 0;
    for file in &files {
        bytes += std::fs::metadata(file)?.len();
    }
    table.section(format!(
        "Ledger: {} transcripts, {:.0} MB, {what}",
        files.len(),
        bytes as f64 / MB as f64
    ));
    batch(table, &files, bytes as f64)?;
    growing(table)
}

/// Each file from its beginning to its document, in turn with what others do with it. By CPU time, and the best of
/// the rounds: whoever else uses the machine only adds to it.
fn batch(table: &mut Table, files: &[PathBuf], bytes: f64) -> Result<()> {
    let (mut ours, mut jq, mut seed) = (Samples::default(), Samples::default(), Samples::default());
    for round in 0..ROUNDS {
        let before = cost::cpu_of(std::process::id())?;
        for file in files {
            whole(file)?;
        }
        ours.add(cost::cpu_of(std::process::id())?.saturating_sub(before));
        if round > 1 {
            continue; // the others take their time, and vary less than what is between us
        }
        let (mut by_jq, mut by_seed) = (Duration::ZERO, Duration::ZERO);
        for file in files {
            by_jq += cost::call(quiet(Command::new("jq").args(["-c", "."]).arg(file)))?.cpu;
            let script = concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/bench/extract_recent_context.sh"
            );
            by_seed += cost::call(quiet(Command::new("bash").arg(script).arg(file)))?.cpu;
        }
        jq.add(by_jq);
        seed.add(by_seed);
    }
    let speed = |samples: &Samples| bytes / MB as f64 / (samples.min() / 1e3);
    let row = |other: &str, samples: &Samples| {
        Row::new(
            format!("transcripts to documents, against {other}"),
            format!("{:.0} MB/s", speed(&ours)),
        )
        .against(
            format!("{other}: {:.0} MB/s", speed(samples)),
            samples.min() / ours.min(),
        )
    };
    let faster = jq.min() / ours.min();
    table.row(row("jq -c .", &jq).target("at least 10 times faster", faster >= 10.0));
    table.row(row("last 15 messages by jq", &seed));
    let figure = format!("{:.0} MB/s", speed(&ours));
    let row = Row::new("the same, one core", figure);
    table.row(row.target("at least 300 MB/s", speed(&ours) >= 300.0));
    Ok(())
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null())
}

fn whole(path: &Path) -> Result<usize> {
    let mut file = File::open(path)?;
    let mut piece = vec![0; PIECE];
    let mut ledger = Ledger::default();
    let mut reader = None;
    loop {
        let count = file.read(&mut piece)?;
        if count == 0 {
            break;
        }
        let bytes = &piece[..count];
        let reader =
            reader.get_or_insert_with(|| Reader::new(detect(bytes).unwrap_or(Dialect::Claude)));
        reader.feed(bytes, &mut |at, record| ledger.add(at, &record));
    }
    Ok(document(&ledger, &Frame::default(), BUDGET).len())
}

/// One ledger that grows to a gigabyte; what the same number of records costs on the way.
fn growing(table: &mut Table) -> Result<()> {
    let mut reader = Reader::new(Dialect::Claude);
    let mut ledger = Ledger::default();
    let mut invention = Invention::new(1);
    let (mut read, mut costs) = (0, Vec::new());
    for until in [MB, 10 * MB, 100 * MB, 1000 * MB] {
        while read < until {
            let text = invention.lines(PIECE.min(until));
            read += text.len();
            reader.feed(text.as_bytes(), &mut |at, record| ledger.add(at, &record));
        }
        let mut each = Samples::default();
        for _ in 0..ROUNDS {
            let lines: Vec<String> = (0..PROBE).map(|_| invention.line()).collect();
            let began = cost::cpu_of(std::process::id())?;
            for line in &lines {
                reader.feed(line.as_bytes(), &mut |at, record| ledger.add(at, &record));
            }
            each.add(cost::cpu_of(std::process::id())?.saturating_sub(began));
            read += lines.iter().map(String::len).sum::<usize>();
        }
        costs.push(each.min() / PROBE as f64 * 1e3);
    }
    let (Some(first), Some(last)) = (costs.first(), costs.last()) else {
        return Ok(());
    };
    let between: Vec<String> = costs.iter().map(|cost| format!("{cost:.2}")).collect();
    let row = Row::new(
        "one record more at 1 MB / 10 MB / 100 MB / 1 GB, CPU",
        format!("{} µs", between.join(" / ")),
    );
    let row = row.against(format!("at 1 MB: {first:.2} µs"), first / last);
    table.row(row.target("at most 1.25 times at 1 GB", *last <= 1.25 * first));
    let began = Instant::now();
    let size = document(&ledger, &Frame::default(), BUDGET).chars().count();
    let took = began.elapsed().as_secs_f64() * 1e3;
    table.row(Row::new(
        format!("its document of {size} characters at 1 GB"),
        ms(took),
    ));
    let kept = serde_json::to_string(&ledger)?.len();
    table.row(Row::new(
        "the ledger on disk at 1 GB",
        format!("{:.0} kB", kept as f64 / 1e3),
    ));
    Ok(())
}

fn invented(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for seed in 0..FILES {
        let path = folder.join(format!("{seed}.jsonl"));
        std::fs::write(&path, Invention::new(seed + 1).lines(FILE))?;
        files.push(path);
    }
    Ok(files)
}

/// A transcript of work that never was: prompts, reads, changes, commands, and ever new names. In its proportions like
/// real ones of Claude Code: a line has 2 to 3 kB, about a fifth of it is text of the conversation and the rest what the
/// program keeps beside it, a kilobyte holds about two names, and one in eight of these was never there before.
struct Invention {
    state: u64,
    lines: u64,
    names: u64,
    /// What stands in the files that are changed.
    beside: String,
}

/// Names that are in use at one time.
const IN_USE: u64 = 300;

const WORDS: [&str; 16] = [
    "loan", "reader", "shelf", "notice", "queue", "basket", "branch", "copy", "renew", "return",
    "reserve", "cancel", "count", "merge", "print", "check",
];

impl Invention {
    fn new(seed: u64) -> Self {
        let mut invention = Self {
            state: seed,
            lines: 0,
            names: IN_USE,
            beside: String::new(),
        };
        invention.beside = invention.code(200);
        invention
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % limit
    }

    fn word(&mut self) -> &'static str {
        let at = self.below(WORDS.len() as u64) as usize;
        WORDS[at]
    }

    /// One in eight is new, the others are some of the last.
    fn name(&mut self) -> String {
        let number = match self.below(8) {
            0 => {
                self.names += 1;
                self.names
            }
            _ => self.names - self.below(IN_USE),
        };
        let word = |salt: u64| WORDS[(number.wrapping_mul(salt) >> 7) as usize % WORDS.len()];
        format!("{}_{}_{number}", word(0x9e37_79b9), word(0x85eb_ca6b))
    }

    /// What the program keeps of a call beside the conversation: the file before, and the change.
    fn aside(&mut self, text: &str) -> String {
        let long = self.below(self.beside.len() as u64 / 2) as usize;
        let before = &self.beside[..self.beside[..long].rfind("\\n").map_or(0, |end| end + 2)];
        format!(
            ",\"toolUseResult\":{{\"type\":\"update\",\"content\":\"{text}\",\"originalFile\":\"{before}\",\"structuredPatch\":[{{\"oldStart\":1,\"oldLines\":6,\"lines\":[\" a\",\"-b\",\"+c\"]}}]}}"
        )
    }

    fn path(&mut self) -> String {
        let number = self.below(40) + self.lines / 2000;
        format!(
            "/home/mara/library/{}/{}_{number}.py",
            self.word(),
            self.word()
        )
    }

    fn code(&mut self, lines: u64) -> String {
        let mut text = String::new();
        for number in 1..=lines {
            let (name, one, two) = (self.name(), self.word(), self.word());
            // as it stands in JSON
            let _ = write!(
                text,
                "{number:>6}\\t    {one} = {name}({two}, \\\"{two} of the {one}\\\")  # when the {one} is back\\n"
            );
        }
        text
    }

    fn line(&mut self) -> String {
        self.lines += 1;
        let id = self.lines / 2;
        let kind = self.lines % 40;
        let mut aside = String::new();
        let (role, content) = if kind == 0 {
            let text = format!(
                "Please look at {} as well, and keep {}.",
                self.path(),
                self.name()
            );
            ("user", format!("\"{text}\""))
        } else if kind % 2 == 1 {
            let call = match self.below(3) {
                0 => format!("\"Read\",\"input\":{{\"file_path\":\"{}\"}}", self.path()),
                1 => format!(
                    "\"Edit\",\"input\":{{\"file_path\":\"{}\",\"old_string\":\"{}\",\"new_string\":\"{}\"}}",
                    self.path(),
                    self.code(3),
                    self.code(4)
                ),
                _ => format!(
                    "\"Bash\",\"input\":{{\"command\":\"pytest -k {}\"}}",
                    self.name()
                ),
            };
            let said = format!("{{\"type\":\"text\",\"text\":\"Now {}.\"}}", self.name());
            (
                "assistant",
                format!("[{said},{{\"type\":\"tool_use\",\"id\":\"t{id}\",\"name\":{call}}}]"),
            )
        } else {
            let lines = 2 + self.below(16);
            let text = self.code(lines);
            aside = self.aside(&text);
            let id = id.saturating_sub(1);
            (
                "user",
                format!(
                    "[{{\"tool_use_id\":\"t{id}\",\"type\":\"tool_result\",\"content\":\"{text}\"}}]"
                ),
            )
        };
        format!(
            "{{\"parentUuid\":\"{id:08x}-77aa-4bcd-9aaa-0123456789ab\",\"isSidechain\":false,\"cwd\":\"/home/mara/library\",\"sessionId\":\"5f0c0a4e-77aa-4bcd-9aaa-0123456789ab\",\"gitBranch\":\"main\",\"type\":\"{role}\",\"message\":{{\"role\":\"{role}\",\"content\":{content}}}{aside},\"timestamp\":\"2026-03-01T12:00:00.000Z\"}}\n"
        )
    }

    fn lines(&mut self, size: usize) -> String {
        let mut text = String::with_capacity(size + 8192);
        while text.len() < size {
            text.push_str(&self.line());
        }
        text
    }
}
