//! How many secrets are found, how many others are taken for one, and how fast.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Duration;

use sm_ledger::redact::{find, redact, rule_names, samples};

use crate::samples::Samples;
use crate::table::{Row, Table};
use crate::{Result, corpus, cost, lookalikes};

/// Each line of the lists is filled anew this many times.
const FILLS: u64 = 50;
/// The best of so many is told.
const ROUNDS: usize = 5;

pub fn run(table: &mut Table) -> Result<()> {
    let secrets = samples::secrets(0).len();
    table.section(format!(
        "Redaction: {} kinds of secrets; lists of {secrets} secrets and {} look-alikes, each filled {FILLS} times",
        rule_names().len(),
        samples::lookalikes(0).len(),
    ));
    recall(table);
    false_positives(table);
    speed(table)?;
    transcripts(table)
}

fn recall(table: &mut Table) {
    let (mut all, mut gone) = (0_usize, 0_usize);
    let mut missed: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 1000..1000 + FILLS {
        for sample in samples::secrets(seed) {
            all += 1;
            let redacted = redact(&sample.text);
            let left = sample
                .secret
                .iter()
                .any(|s| redacted.text.contains(s.as_str()));
            if left || redacted.found.is_empty() {
                *missed.entry(sample.rule).or_default() += 1;
            } else {
                gone += 1;
            }
        }
    }
    for (rule, count) in missed {
        eprintln!("bench: redaction: {count} times missed: {rule}");
    }
    let share = gone as f64 / all as f64;
    table.row(
        Row::new(
            "secrets taken out (recall)",
            format!("{share:.4} ({gone} of {all})"),
        )
        .target("at least 0.99", share >= 0.99),
    );
}

fn false_positives(table: &mut Table) {
    let (mut all, mut touched) = (0_usize, 0_usize);
    for seed in 1000..1000 + FILLS {
        for sample in samples::lookalikes(seed) {
            all += 1;
            if !find(&sample.text).is_empty() {
                touched += 1;
                eprintln!("bench: redaction: wrongly taken out: {}", sample.text);
            }
        }
    }
    table.row(
        Row::new(
            "look-alikes touched (false positives)",
            format!("{touched} of {all}"),
        )
        .target("at most 1 in 1,000", touched * 1000 <= all),
    );
}

/// What it gives, and the CPU time it took: others use the machine too.
fn timed<T>(what: impl FnOnce() -> T) -> Result<(T, Duration)> {
    let before = cost::cpu_of(std::process::id())?;
    let given = black_box(what());
    Ok((
        given,
        cost::cpu_of(std::process::id())?.saturating_sub(before),
    ))
}

/// Text without secrets, of which nearly everything consists.
fn speed(table: &mut Table) -> Result<()> {
    let mut text = String::new();
    for seed in 0.. {
        for sample in samples::lookalikes(seed) {
            text.push_str(&sample.text);
            text.push('\n');
        }
        if text.len() > 8 << 20 {
            break;
        }
    }
    let mut took = Samples::default();
    for _ in 0..ROUNDS {
        let (_, cpu) = timed(|| find(&text))?;
        took.add(cpu);
    }
    let dense = text.len() as f64 / 1e3 / took.min();
    table.row(Row::new(
        "speed, nothing but look-alikes",
        format!("{dense:.0} MB/s"),
    ));
    Ok(())
}

fn transcripts(table: &mut Table) -> Result<()> {
    let files = corpus::files()?;
    let mut texts = Vec::new();
    for file in &files {
        texts.push(String::from_utf8_lossy(&std::fs::read(file)?).into_owned());
    }
    let bytes: usize = texts.iter().map(String::len).sum();
    if bytes == 0 {
        eprintln!("bench: redaction: no transcripts; give some with --corpus FOLDER");
        return Ok(());
    }
    let mut hits = BTreeMap::<&str, usize>::new();
    let mut took = Samples::default();
    for _ in 0..ROUNDS {
        let (found, cpu) = timed(|| texts.iter().flat_map(|text| find(text)).collect::<Vec<_>>())?;
        took.add(cpu);
        hits.clear();
        for secret in found {
            *hits.entry(secret.rule).or_default() += 1;
        }
    }
    let speed = bytes as f64 / 1e3 / took.min();
    table.row(
        Row::new("speed, transcripts", format!("{speed:.0} MB/s"))
            .target("at least 300 MB/s", speed >= 300.0),
    );
    let all: usize = hits.values().sum();
    let by_rule: Vec<String> = hits
        .iter()
        .map(|(rule, count)| format!("{rule} {count}"))
        .collect();
    table.row(Row::new(
        format!("found in {:.0} MB of transcripts", bytes as f64 / 1e6),
        format!("{all} {}", by_rule.join(", ")),
    ));
    among_transcripts(table, &files)
}

/// As many look-alikes out of the transcripts as there are secrets on our list; and those secrets in their places.
fn among_transcripts(table: &mut Table, files: &[PathBuf]) -> Result<()> {
    let mut secrets = Vec::new();
    for seed in 1000..1000 + FILLS {
        secrets.extend(samples::secrets(seed));
    }
    let alike = lookalikes::of(files, secrets.len())?;
    let (mut kinds, mut touched) = (BTreeMap::<&str, usize>::new(), 0_usize);
    for one in &alike {
        *kinds.entry(one.kind.word()).or_default() += 1;
        for found in find(&one.text) {
            touched += 1;
            // not the text: it is somebody's
            eprintln!(
                "bench: redaction: taken for {} in a transcript: one of the {}",
                found.rule,
                one.kind.word()
            );
        }
    }
    let kinds: Vec<String> = kinds.iter().map(|(k, n)| format!("{n} {k}")).collect();
    table.row(
        Row::new(
            "look-alikes of the transcripts touched (false positives)",
            format!("{touched} of {}: {}", alike.len(), kinds.join(", ")),
        )
        .target("at most 1 in 1,000", touched * 1000 <= alike.len()),
    );
    let mut gone = 0_usize;
    let mut all = 0_usize;
    for (secret, place) in secrets.iter().zip(alike.iter().cycle()) {
        // on a line of its own, between what stood around the look-alike
        let (before, after) = place.text.split_at(place.at);
        let text = format!("{before}\n{}\n{after}", secret.text);
        let redacted = redact(&text);
        let left = secret
            .secret
            .iter()
            .any(|s| redacted.text.contains(s.as_str()));
        all += 1;
        gone += usize::from(!left && !redacted.found.is_empty());
    }
    let share = gone as f64 / all.max(1) as f64;
    table.row(
        Row::new(
            "secrets among lines of the transcripts taken out (recall)",
            format!("{share:.4} ({gone} of {all})"),
        )
        .target("at least 0.99", share >= 0.99),
    );
    Ok(())
}
