//! The transcripts of each agent as the ledger reads them, and the document that comes of it.

use crate::corpus::Corpus;
use crate::harness::{Input, fuzz};
use sm_ledger::dialect::{Dialect, Reader, Stats, detect};
use sm_ledger::{Frame, Ledger, document};

const CLAUDE: &str = include_str!("../../../ledger/tests/fixtures/claude.jsonl");
const CODEX: &str = include_str!("../../../ledger/tests/fixtures/codex.jsonl");
const PI: &str = include_str!("../../../ledger/tests/fixtures/pi.jsonl");

fn read(dialect: Dialect, pieces: &[&[u8]]) -> (Ledger, Stats) {
    let mut ledger = Ledger::default();
    let mut reader = Reader::new(dialect);
    for piece in pieces {
        reader.feed(piece, &mut |at, record| ledger.add(at, &record));
    }
    (ledger, reader.stats())
}

fn target(dialect: Dialect, mut input: Input<'_>) {
    let (whole, stats) = read(dialect, &[input.bytes]);
    let (pieces, again) = read(dialect, &input.pieces());
    assert_eq!(stats, again, "however it arrives");
    let newlines = input.bytes.iter().filter(|b| **b == b'\n').count() as u64;
    assert_eq!(stats.lines, newlines);
    assert!(stats.broken <= stats.lines);
    let kept = serde_json::to_vec(&whole).unwrap();
    assert_eq!(kept, serde_json::to_vec(&pieces).unwrap());
    let reloaded: Ledger = serde_json::from_slice(&kept).unwrap();
    let budget = input.rng.below(20_000);
    let text = document(&whole, &Frame::default(), budget);
    assert!(text.chars().count() <= budget, "the budget holds");
    assert_eq!(text, document(&reloaded, &Frame::default(), budget));
    // what is no ledger is refused
    let _ = serde_json::from_slice::<Ledger>(input.bytes);
    let _ = detect(input.bytes);
}

fn run(name: &str, dialect: Dialect, folder: &str, invented: &str) {
    let mut seeds = vec![invented.as_bytes().to_vec()];
    if !folder.is_empty() {
        seeds.extend(Corpus::recorded(folder, ".jsonl"));
    }
    let lines: Vec<Vec<u8>> = seeds
        .iter()
        .flat_map(|text| text.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec))
        .collect();
    seeds.extend(lines);
    fuzz(name, &Corpus::of(seeds), |input| target(dialect, input));
}

#[test]
fn ledger_of_claude() {
    run("ledger_of_claude", Dialect::Claude, "claude", CLAUDE);
}

#[test]
fn ledger_of_codex() {
    run("ledger_of_codex", Dialect::Codex, "codex", CODEX);
}

#[test]
fn ledger_of_pi() {
    run("ledger_of_pi", Dialect::Pi, "", PI);
}
