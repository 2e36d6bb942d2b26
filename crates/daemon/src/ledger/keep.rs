//! One session's ledger: how far its transcript was read, and what it told, in one file of the
//! session's folder for each generation. Blocking: for threads that may wait for a disk.
//!
//! The file is replaced as a whole. It is not waited for until the disk has it: what is torn or
//! missing is read again from the transcript.

use serde::{Deserialize, Serialize};
use sm_client::files;
use sm_core::Timestamp;
use sm_core::lines::MAX_LINE;
use sm_ledger::dialect::{Follow, Growth, Stats};
use sm_ledger::{Dialect, Ledger, Reader, Record, Told};
use std::borrow::Cow;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What is read of one transcript before others have their turn.
pub const PIECE: u64 = 32 << 20;
/// What is read at once.
const CHUNK: usize = 1 << 20;
/// The end of what was read by a daemon before, which is looked through for secrets again.
const RELEARNT: u64 = 8 * PIECE;
const VERSION: u32 = 2;
/// Names were taken before secrets were: those of such a file are not used. Its words are.
const NAMES_UNCLEAN: u32 = 1;
/// A context with less in it than this has only begun.
const BEGUN: u32 = 3;
/// The largest file that is taken for a ledger of ours.
const LARGEST: u64 = 64 << 20;
/// How many contexts back is looked for what people said, if nobody has looked before.
const MOST_CONTEXTS: usize = 32;
/// What is read of a document.
const LARGEST_DOCUMENT: u64 = 64 << 10;

/// Whose transcript is read, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub dialect: Dialect,
    pub generation: u32,
    pub conversation: Option<String>,
    pub transcript: PathBuf,
}

/// As it lies on disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Kept {
    version: u32,
    pub generation: u32,
    pub conversation: Option<String>,
    pub dialect: Dialect,
    pub transcript: PathBuf,
    follow: Follow,
    stats: Stats,
    /// Times the transcript was cut or replaced, and read from its beginning.
    #[serde(default)]
    pub restarts: u32,
    /// When this was written down.
    pub at: Timestamp,
    pub ledger: Ledger,
    /// What was known when the agent last compacted its context: the ledger begins anew with it.
    #[serde(default)]
    pub before: Option<Box<Ledger>>,
    /// What people said in the contexts whose work this one goes on with. None: not looked for yet.
    #[serde(default)]
    earlier: Option<Vec<String>>,
}

impl Kept {
    fn new(source: Source) -> Self {
        Self {
            version: VERSION,
            generation: source.generation,
            conversation: source.conversation,
            dialect: source.dialect,
            transcript: source.transcript,
            follow: Follow::default(),
            stats: Stats::default(),
            restarts: 0,
            at: Timestamp(0),
            ledger: Ledger::default(),
            before: None,
            earlier: None,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.ledger.steps == 0 && self.before.is_none()
    }

    /// What was known before a compaction that has only just been.
    pub fn compacted(&self) -> &Ledger {
        match &self.before {
            Some(before) if self.ledger.steps < BEGUN => before,
            Some(_) | None => &self.ledger,
        }
    }

    /// The same, with more in it; itself where nothing was added to either.
    pub fn with_ledgers<'a>(
        &'a self,
        ledger: Cow<'a, Ledger>,
        before: Option<Cow<'a, Ledger>>,
    ) -> Cow<'a, Self> {
        if let (Cow::Borrowed(_), None | Some(Cow::Borrowed(_))) = (&ledger, &before) {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self {
            conversation: self.conversation.clone(),
            transcript: self.transcript.clone(),
            ledger: ledger.into_owned(),
            before: before.map(|before| Box::new(before.into_owned())),
            earlier: self.earlier.clone(),
            ..*self
        })
    }

    /// The same, with what people said before it began, and the document it began with.
    pub fn going_on(&self, earlier: &[String], document: Option<&str>) -> Cow<'_, Self> {
        let before = self.before.as_deref();
        let before = before.map(|before| joined(before, earlier, document));
        self.with_ledgers(joined(&self.ledger, earlier, document), before)
    }

    /// What was said before is not looked for again: those contexts are over.
    pub fn remember(&mut self, earlier: &[String]) {
        if self.earlier.is_none() && self.ledger.goes_on() {
            self.earlier = Some(earlier.to_vec());
        }
    }

    /// What a context that goes on with this one's work has to know of it.
    fn remembered(&self, told: &[Told], earlier: &[String]) -> Vec<String> {
        self.ledger.with_told(told).remembered(earlier)
    }

    fn is_of(&self, source: &Source) -> bool {
        self.version == VERSION
            && self.dialect == source.dialect
            && self.generation == source.generation
            && self.transcript == source.transcript
    }
}

fn joined<'a>(ledger: &'a Ledger, earlier: &[String], document: Option<&str>) -> Cow<'a, Ledger> {
    let mut joined = ledger.after(earlier);
    if let Some(document) = document {
        joined.to_mut().begin_with(document);
    }
    joined
}

/// How far a transcript was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    End,
    /// As much as was allowed; there is more.
    Piece,
}

/// A ledger that is being kept.
pub struct Keeper {
    kept: Kept,
    reader: Reader,
    file: PathBuf,
    unsaved: bool,
    /// It was read by a daemon before this one, and had secrets in it that are on no disk of ours.
    forgot_secrets: bool,
}

impl Keeper {
    /// The keeper of this transcript. One of another context is finished first, and its file stays.
    pub fn of<'s>(seat: &'s mut Option<Self>, folder: &Path, source: Source) -> &'s mut Self {
        if let Some(other) = seat.take_if(|keeper| !keeper.kept.is_of(&source)) {
            other.finish();
        }
        seat.get_or_insert_with(|| Self::open(folder, source))
    }

    fn open(folder: &Path, source: Source) -> Self {
        let file = file(folder, source.generation);
        let known = load(folder, source.generation).filter(|kept| kept.is_of(&source));
        let kept = known.unwrap_or_else(|| Kept::new(source));
        Self {
            reader: Reader::going_on(kept.dialect, kept.stats),
            forgot_secrets: kept.ledger.redacted > 0,
            kept,
            file,
            unsaved: false,
        }
    }

    /// The last words of a context that was left.
    fn finish(mut self) {
        let read = self.advance(PIECE);
        let at = self.kept.ledger.time.unwrap_or(self.kept.at);
        if let Err(error) = read.and_then(|_| self.save(at)) {
            tracing::debug!(file = %self.file.display(), %error, "a ledger was not finished");
        }
    }

    pub fn kept(&self) -> &Kept {
        &self.kept
    }

    /// What is learnt of it besides is written down with the next that it tells.
    pub fn kept_mut(&mut self) -> &mut Kept {
        &mut self.kept
    }

    /// Reads what is new in whole lines: what a line lacks is read again when it is there.
    pub fn advance(&mut self, most: u64) -> io::Result<Reached> {
        let mut file = match files::open(&self.kept.transcript) {
            Ok(file) => file,
            // not there yet, or not any more
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Reached::End),
            Err(error) => return Err(error),
        };
        let about = file.metadata()?;
        let mut from = match self.kept.follow.look(about.ino(), about.len()) {
            Growth::Same => return Ok(Reached::End),
            Growth::More { from } => from,
            Growth::Anew => {
                self.begin_again();
                0
            }
        };
        if std::mem::take(&mut self.forgot_secrets) {
            self.learn_again(&mut file, from)?;
        }
        let until = from.saturating_add(most);
        let mut buffer =
            vec![0_u8; CHUNK.min(usize::try_from(about.len() - from).unwrap_or(CHUNK))];
        file.seek(SeekFrom::Start(from))?;
        let mut have = 0;
        loop {
            let count = file.read(&mut buffer[have..])?;
            have += count;
            let whole = match buffer[..have].iter().rposition(|byte| *byte == b'\n') {
                Some(last) => last + 1,
                None if have > MAX_LINE => have, // no line that anybody reads: it is skipped
                None => 0,
            };
            if whole > 0 {
                self.take(&buffer[..whole]);
                from += whole as u64;
                buffer.copy_within(whole..have, 0);
                have -= whole;
            } else if count > 0 && have == buffer.len() {
                buffer.resize((have * 2).clamp(CHUNK, MAX_LINE + 1), 0);
            }
            if count == 0 {
                return Ok(Reached::End);
            }
            if from >= until {
                return Ok(Reached::Piece);
            }
        }
    }

    /// The secrets of what was read before: they may come up again in what is read now.
    fn learn_again(&mut self, file: &mut fs::File, end: u64) -> io::Result<()> {
        let begin = end.saturating_sub(RELEARNT);
        file.seek(SeekFrom::Start(begin))?;
        let mut known = Ledger::default();
        let mut reader = Reader::new(self.kept.dialect);
        let mut rest = file.take(end - begin);
        let mut buffer = vec![0_u8; CHUNK];
        loop {
            let count = rest.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            reader.feed(&buffer[..count], &mut |at, record| known.add(at, &record));
        }
        self.kept.ledger.learn_from(&known);
        Ok(())
    }

    fn take(&mut self, lines: &[u8]) {
        let Kept { ledger, before, .. } = &mut self.kept;
        self.reader.feed(lines, &mut |at, record| {
            if matches!(record, Record::Compacted { .. }) && ledger.steps >= BEGUN {
                *before = Some(Box::new(ledger.clone()));
            }
            ledger.add(at, &record);
        });
        self.kept.follow.took(lines.len() as u64);
        self.kept.stats = self.reader.stats();
        self.unsaved = true;
    }

    fn begin_again(&mut self) {
        self.kept.restarts = self.kept.restarts.saturating_add(1);
        self.kept.ledger = Ledger::default();
        self.kept.stats = Stats::default();
        self.reader = Reader::new(self.kept.dialect);
        self.unsaved = true;
    }

    /// Replaces the file, if there is something new.
    pub fn save(&mut self, now: Timestamp) -> io::Result<()> {
        if !self.unsaved {
            return Ok(());
        }
        self.kept.at = now;
        let bytes = serde_json::to_vec(&self.kept).map_err(io::Error::other)?;
        let new = self.file.with_extension("new");
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(&bytes)?;
        drop(file);
        fs::rename(&new, &self.file)?;
        self.unsaved = false;
        Ok(())
    }
}

/// What people said in the contexts whose work this one goes on with, the oldest first. `told`: what
/// each of them was told.
pub fn earlier(kept: &Kept, folder: &Path, told: impl Fn(u32) -> Vec<Told>) -> Vec<String> {
    if !kept.ledger.goes_on() {
        return Vec::new();
    }
    if let Some(known) = &kept.earlier {
        return known.clone();
    }
    let mut chain = Vec::new();
    let mut known = Vec::new();
    for generation in (1..kept.generation).rev().take(MOST_CONTEXTS) {
        let Some(older) = load(folder, generation) else {
            continue; // nothing was said in it
        };
        let first = !older.ledger.goes_on();
        if let Some(earlier) = &older.earlier {
            known.clone_from(earlier);
        }
        let found = older.earlier.is_some();
        chain.push(older);
        if first || found {
            break;
        }
    }
    for older in chain.iter().rev() {
        known = older.remembered(&told(older.generation), &known);
    }
    known
}

/// The beginning of our copy of a document. None: it is not kept any more.
pub fn begun_with(copy: &Path) -> Option<String> {
    let file = files::open(copy).ok()?;
    let mut bytes = Vec::new();
    file.take(LARGEST_DOCUMENT).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

pub fn file(folder: &Path, generation: u32) -> PathBuf {
    folder.join(format!("ledger.g{generation}.json"))
}

/// What was written down of that generation.
pub fn load(folder: &Path, generation: u32) -> Option<Kept> {
    let file = files::open(&file(folder, generation)).ok()?;
    if file.metadata().ok()?.len() > LARGEST {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    let mut kept: Kept = serde_json::from_slice(&bytes).ok()?;
    if kept.version == NAMES_UNCLEAN {
        kept.ledger.names.clear();
        if let Some(before) = &mut kept.before {
            before.names.clear();
        }
        return Some(kept); // the present context is read again all the same
    }
    (kept.version == VERSION).then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    struct Bench {
        dir: tempfile::TempDir,
        seat: Option<Keeper>,
    }

    fn said(text: &str) -> String {
        format!(
            "{{\"type\":\"user\",\"sessionId\":\"c\",\"timestamp\":\"2026-03-01T11:00:07.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
        )
    }

    impl Bench {
        fn new() -> Self {
            Self {
                dir: tempfile::tempdir().unwrap(),
                seat: None,
            }
        }
        fn source(&self, generation: u32) -> Source {
            Source {
                dialect: Dialect::Claude,
                generation,
                conversation: Some(format!("c{generation}")),
                transcript: self.dir.path().join(format!("c{generation}.jsonl")),
            }
        }
        fn append(&self, generation: u32, text: &str) {
            let file = OpenOptions::new()
                .create(true)
                .append(true)
                .open(self.source(generation).transcript);
            file.unwrap().write_all(text.as_bytes()).unwrap();
        }
        /// Reads on and writes down; gives what was said.
        fn known(&mut self, generation: u32) -> Vec<String> {
            let source = self.source(generation);
            let keeper = Keeper::of(&mut self.seat, self.dir.path(), source);
            assert_eq!(keeper.advance(u64::MAX).unwrap(), Reached::End);
            keeper.save(Timestamp(1)).unwrap();
            texts(&keeper.kept.ledger)
        }
        fn on_disk(&self, generation: u32) -> Vec<String> {
            texts(&load(self.dir.path(), generation).unwrap().ledger)
        }
    }

    fn texts(ledger: &Ledger) -> Vec<String> {
        ledger.people.said.iter().map(|d| d.text.clone()).collect()
    }

    #[test]
    fn it_goes_on_where_it_was_and_waits_for_whole_lines() {
        let mut bench = Bench::new();
        assert_eq!(bench.known(1), [""; 0], "no transcript yet");
        let third = said("three");
        let (half, rest) = third.split_at(60);
        bench.append(1, &(said("one") + &said("two") + half));
        assert_eq!(bench.known(1), ["one", "two"]);
        assert_eq!(bench.on_disk(1), ["one", "two"]);
        bench.seat = None; // another daemon
        bench.append(1, rest);
        assert_eq!(bench.known(1), ["one", "two", "three"]);
        let kept = load(bench.dir.path(), 1).unwrap();
        assert_eq!((kept.ledger.line, kept.stats.lines), (3, 3));
        let mode = fs::metadata(file(bench.dir.path(), 1))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_transcript_that_was_cut_or_replaced_is_read_anew() {
        let mut bench = Bench::new();
        bench.append(1, &(said("one") + &said("two")));
        bench.known(1);
        fs::write(bench.source(1).transcript, said("cut")).unwrap();
        assert_eq!(bench.known(1), ["cut"]);
        let other = bench.dir.path().join("other");
        fs::write(&other, said("another") + &said("file")).unwrap();
        fs::rename(&other, bench.source(1).transcript).unwrap();
        assert_eq!(bench.known(1), ["another", "file"]);
        assert_eq!(load(bench.dir.path(), 1).unwrap().restarts, 2);
        fs::remove_file(bench.source(1).transcript).unwrap();
        assert_eq!(bench.known(1), ["another", "file"], "what is known stays");
    }

    #[test]
    fn a_secret_that_another_daemon_learnt_is_one_still() {
        let mut bench = Bench::new();
        let command = "PGPASSWORD=amberFoxRuns psql -c 'select 1'";
        bench.append(1, &(said("one") + &said(command)));
        let known = bench.known(1);
        assert!(!known[1].contains("amberFoxRuns"), "{known:?}");
        for n in 0..2 {
            bench.seat = None; // another daemon
            bench.append(1, &said("amberFoxRuns is what I connected with"));
            assert_eq!(
                bench.known(1).last().unwrap(),
                "[redacted: secret] is what I connected with",
                "{n}"
            );
        }
        let file = fs::read_to_string(file(bench.dir.path(), 1)).unwrap();
        assert!(!file.contains("amberFoxRuns"), "{file}");
        assert!(file.contains("PGPASSWORD"), "{file}");
    }

    #[test]
    fn the_ledger_of_a_context_that_was_left_is_finished_and_stays() {
        let mut bench = Bench::new();
        bench.append(1, &said("one"));
        bench.known(1);
        bench.append(1, &said("last words"));
        bench.append(2, &said("two"));
        assert_eq!(bench.known(2), ["two"]);
        assert_eq!(bench.on_disk(1), ["one", "last words"]);
        assert_eq!(bench.on_disk(2), ["two"]);
    }

    #[test]
    fn what_people_said_before_is_found_as_far_back_as_the_work_goes() {
        let mut bench = Bench::new();
        let wake = said("Read /d.md and continue from where you left off.");
        bench.append(1, &said("of another work"));
        bench.append(2, &(said("the goal") + &said("no regex")));
        bench.append(3, &wake);
        // nothing was ever said in the fourth
        bench.append(5, &(wake + &said("be quick")));
        for generation in [1, 2, 3, 5] {
            bench.known(generation);
        }
        let told = |generation| match generation {
            3 => vec![Told {
                text: "through a hook".into(),
                at: Timestamp(i64::MAX),
            }],
            _ => Vec::new(),
        };
        let folder = bench.dir.path();
        let expected = ["the goal", "no regex", "through a hook"];
        let kept = bench.seat.as_mut().unwrap().kept_mut();
        assert_eq!(earlier(kept, folder, told), expected);
        // a journal that did not answer leaves it open
        let [goal, rule, _] = expected;
        assert_eq!(earlier(kept, folder, |_| Vec::new()), [goal, rule]);
        kept.remember(&expected.map(str::to_owned));
        let whole = kept.going_on(&expected.map(str::to_owned), Some("# Notes"));
        let all = ["the goal", "no regex", "through a hook", "be quick"];
        assert_eq!(texts(&whole.ledger), all);
        assert_eq!(
            whole.ledger.summary.as_ref().map(|s| s.text.as_str()),
            Some("# Notes")
        );
        // it is not looked for again
        fs::remove_file(file(folder, 3)).unwrap();
        assert_eq!(earlier(kept, folder, |_| Vec::new()), expected);
        let second = load(folder, 2).unwrap();
        assert_eq!(earlier(&second, folder, |_| Vec::new()), [""; 0]);
        // what has nothing before it is not copied
        assert!(matches!(second.going_on(&[], None), Cow::Borrowed(_)));
    }

    #[test]
    fn a_torn_file_is_made_again() {
        let mut bench = Bench::new();
        bench.append(1, &said("one"));
        bench.known(1);
        bench.seat = None;
        fs::write(file(bench.dir.path(), 1), "{\"version\":1,\"gen").unwrap();
        bench.append(1, &said("two"));
        assert_eq!(bench.known(1), ["one", "two"]);
    }

    #[test]
    fn a_long_transcript_is_read_piece_by_piece() {
        let mut bench = Bench::new();
        let line = said(&"x".repeat(200_000));
        bench.append(1, &line.repeat(20));
        let source = bench.source(1);
        let keeper = Keeper::of(&mut bench.seat, bench.dir.path(), source);
        let mut pieces = 0;
        while keeper.advance(1 << 20).unwrap() == Reached::Piece {
            pieces += 1;
        }
        assert!(pieces >= 2, "{pieces}");
        assert_eq!(keeper.kept.ledger.line, 20);
    }

    #[test]
    fn what_was_known_before_a_compaction_is_kept_beside_what_begins() {
        let mut bench = Bench::new();
        for n in 0..6 {
            bench.append(1, &said(&format!("do {n}")));
        }
        bench.append(
            1,
            "{\"type\":\"user\",\"sessionId\":\"c\",\"isCompactSummary\":true,\"message\":{\"role\":\"user\",\"content\":\"a summary\"}}\n",
        );
        bench.known(1);
        let kept = load(bench.dir.path(), 1).unwrap();
        assert_eq!(kept.ledger.compactions, 1);
        assert_eq!(kept.compacted().compactions, 0, "of before");
        for n in 0..6 {
            bench.append(1, &said(&format!("go on {n}")));
        }
        bench.known(1);
        let kept = load(bench.dir.path(), 1).unwrap();
        assert_eq!(kept.compacted().compactions, 1, "of now");
    }
}
