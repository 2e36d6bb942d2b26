//! Transcripts are read one after the other and scored; what cannot be read is said and left out.

use std::fs;
use std::path::Path;

use sm_ledger::dialect::{Dialect, Reader, detect};
use sm_ledger::fidelity::{
    Arm, Boundary, Builder, Evaluation, Places, Report, may_have_compactions,
};
use sm_ledger::{Frame, Ledger, document};

use super::history::{Handed, History};

/// A transcript is held in memory while it is scored.
const LARGEST: u64 = 512 << 20;

pub struct Scored {
    pub report: Report,
    /// What could not be read, and why.
    pub skipped: Vec<String>,
}

pub fn score(history: &History, places: &Places, budgets: Vec<usize>) -> Scored {
    let mut evaluation = Evaluation::new(budgets);
    let mut skipped = Vec::new();
    for path in &history.transcripts {
        match read(path) {
            Ok(text) => one(&mut evaluation, text, places),
            Err(why) => skipped.push(format!("{}: {why}", path.display())),
        }
    }
    if let Places::Compactions = places {
        for session in &history.handoffs {
            handed(&mut evaluation, session, &mut skipped);
        }
    }
    Scored {
        report: evaluation.report(),
        skipped,
    }
}

/// A transcript and whose it is.
struct Text {
    bytes: Vec<u8>,
    dialect: Dialect,
}

fn read(path: &Path) -> Result<Text, String> {
    let size = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > LARGEST {
        return Err("larger than 512 MiB".to_owned());
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    match detect(&bytes) {
        Some(dialect) => Ok(Text { bytes, dialect }),
        None => Err("no transcript of an agent that sm knows".to_owned()),
    }
}

/// Claude Code's go the way of the reference scorer; that of the others is ours.
fn build(builder: &mut Builder, text: &Text) {
    match text.dialect {
        Dialect::Claude => builder.claude(&text.bytes),
        Dialect::Codex | Dialect::Pi | Dialect::Native => {
            let mut reader = Reader::new(text.dialect);
            reader.feed(&text.bytes, &mut |at, record| builder.add(at, &record));
        }
    }
}

fn one(evaluation: &mut Evaluation, text: Text, places: &Places) {
    let mut builder = Builder::default();
    let asked = match places {
        Places::Compactions => may_have_compactions(&text.bytes),
        Places::Cuts(_) | Places::Handoffs => true,
    };
    if asked {
        build(&mut builder, &text);
    }
    let mut books = Books::new(vec![text]);
    evaluation.add(
        &builder.finish(),
        places,
        &mut |boundary, arm, budget| match arm {
            Arm::Ledger => Some(books.document(boundary, budget)),
            _ => None,
        },
    );
}

/// Where a session went from one context to the next with a document.
fn handed(evaluation: &mut Evaluation, session: &[Handed], skipped: &mut Vec<String>) {
    let mut builder = Builder::default();
    let (mut texts, mut documents) = (Vec::new(), Vec::new());
    for handed in session {
        let document = fs::read_to_string(&handed.document).map_err(|error| error.to_string());
        match (read(&handed.transcript), document) {
            (Ok(text), Ok(document)) => {
                if !texts.is_empty() {
                    builder.next_part();
                }
                build(&mut builder, &text);
                texts.push(text);
                documents.push(document);
            }
            (Err(why), _) | (_, Err(why)) => {
                skipped.push(format!("{}: {why}", handed.transcript.display()));
            }
        }
    }
    let mut books = Books::new(texts);
    let transcript = builder.finish();
    evaluation.add(
        &transcript,
        &Places::Handoffs,
        &mut |boundary, arm, budget| match arm {
            Arm::Ledger => Some(books.document(boundary, budget)),
            Arm::Handoff => documents.get(boundary.part).cloned(),
            Arm::NativeSummary | Arm::TranscriptTail | Arm::RandomAtoms | Arm::RankedAtoms => None,
        },
    );
}

/// The ledgers of transcripts, each kept up to the boundary that was asked for last.
struct Books {
    texts: Vec<Text>,
    open: Option<Open>,
}

struct Open {
    part: usize,
    line: u64,
    /// Bytes that were read.
    read: usize,
    reader: Reader,
    ledger: Ledger,
}

impl Books {
    fn new(texts: Vec<Text>) -> Self {
        Self { texts, open: None }
    }

    fn document(&mut self, boundary: &Boundary, budget: usize) -> String {
        let Some(text) = self.texts.get(boundary.part) else {
            return String::new();
        };
        let goes_on = |open: &Open| open.part == boundary.part && open.line <= boundary.line;
        let mut open = self.open.take().filter(goes_on).unwrap_or_else(|| Open {
            part: boundary.part,
            line: 0,
            read: 0,
            reader: Reader::new(text.dialect),
            ledger: Ledger::default(),
        });
        let rest = &text.bytes[open.read..];
        let lines = (boundary.line - open.line) as usize;
        let length: usize = (rest.split_inclusive(|&byte| byte == b'\n').take(lines))
            .map(<[u8]>::len)
            .sum();
        let ledger = &mut open.ledger;
        open.reader
            .feed(&rest[..length], &mut |at, record| ledger.add(at, &record));
        open.read += length;
        open.line = boundary.line;
        let text = document(&open.ledger, &Frame::default(), budget);
        self.open = Some(open);
        text
    }
}
