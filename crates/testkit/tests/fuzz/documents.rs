//! What agents and people write: secrets in it taken out, and documents judged.

use crate::corpus::Corpus;
use crate::harness::{Input, fuzz};
use sm_core::template::handoff_template;
use sm_ledger::gate::{FileFact, GateFacts, TestFact, check};
use sm_ledger::redact::{find, redact, samples};

/// Secrets, look-alikes, and lines of both.
fn texts() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for seed in 0..3 {
        for sample in samples::secrets(seed)
            .into_iter()
            .chain(samples::lookalikes(seed))
        {
            seeds.push(sample.text.into_bytes());
        }
    }
    let lines = seeds.chunks(40).map(|lines| lines.join(&b'\n'));
    let lines: Vec<_> = lines.collect();
    seeds.extend(lines);
    seeds
}

#[test]
fn redaction() {
    fuzz("redaction", &Corpus::of(texts()), |input| {
        let text = input.text();
        let mut end = 0;
        for secret in find(&text) {
            assert!(secret.start >= end && secret.end > secret.start);
            assert!(text.get(secret.start..secret.end).is_some());
            end = secret.end;
        }
        let once = redact(&text);
        assert_eq!(once.count() == 0, once.text == text);
        let again = redact(&once.text);
        assert_eq!(again.text, once.text, "doing it again changes nothing");
        assert_eq!(again.count(), 0);
    });
}

const DOCUMENTS: [&str; 3] = [
    "# Handoff\n\n## Objective\nCount the boats in src/harbour.rs.\n\n## State\nI changed src/harbour.rs and \
     `docs/boats.md`. All tests pass.\n\n## Next\nRun `cargo test` and number the ninth one.\n",
    "# Übergabe\n\n## Ziel\nBoote zählen.\n\n## Stand\nTODO\n\n## Nächster Schritt\n…\n",
    "Goal: keep it short.\nDone so far: nothing.\nNext: TBD\npassword: tr0ub4dor&3x!Kq\n",
];

fn judged(input: &mut Input<'_>) {
    let text = input.text();
    let parts = input.pieces();
    let parts: Vec<String> = parts
        .iter()
        .map(|part| String::from_utf8_lossy(part).chars().take(200).collect())
        .collect();
    let file = |path: &str| match path.len() % 3 {
        0 => FileFact::Known,
        1 => FileFact::Missing,
        _ => FileFact::Unknown,
    };
    let command = parts.first().map_or("", String::as_str);
    let tests = [
        TestFact::Unknown,
        TestFact::NotRun,
        TestFact::Passed,
        TestFact::Failed { command },
    ];
    let facts = GateFacts {
        file: &file,
        changed: (input.rng.below(2) == 0).then_some(parts.as_slice()),
        tests: *input.rng.pick(&tests),
        pins: &parts,
    };
    let report = check(&text, &facts);
    assert_eq!(report, check(&text, &facts));
    assert!(report.score <= 100);
    assert!(report.findings.len() <= 64, "{}", report.findings.len());
    let lines = text.lines().count().max(1);
    for finding in &report.findings {
        let line = finding.line.unwrap_or(1);
        assert!((1..=lines).contains(&line), "{finding} of {lines}");
        assert!(finding.to_string().chars().count() < 2_000, "{finding}");
    }
    // what it says is read by the agent: never the secret that it warns of
    for secret in find(&text) {
        let secret = &text[secret.start..secret.end];
        let told = |f: &sm_ledger::gate::Finding| f.what.contains(secret);
        assert!(secret.len() < 12 || !report.findings.iter().any(told));
    }
}

#[test]
fn gate() {
    let mut seeds = texts();
    seeds.extend(DOCUMENTS.map(|text| text.as_bytes().to_vec()));
    // as often as all the others together
    for _ in 0..seeds.len() / DOCUMENTS.len() {
        seeds.extend(DOCUMENTS.map(|text| text.as_bytes().to_vec()));
        seeds.push(handoff_template().to_string().into_bytes());
    }
    fuzz("gate", &Corpus::of(seeds), |mut input| judged(&mut input));
}
