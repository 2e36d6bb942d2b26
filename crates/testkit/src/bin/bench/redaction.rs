//! How many secrets are found, how many others are taken for one, and how fast.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use sm_ledger::redact::{find, redact, rule_names, samples};

use crate::table::{Row, Table};
use crate::{Result, corpus};

/// Each line of the lists is filled anew this many times.
const FILLS: u64 = 50;

pub fn run(table: &mut Table) -> Result<()> {
    let secrets = samples::secrets(0).len();
    table.section(format!(
        "Redaction: {} kinds of secrets; lists of {secrets} secrets and {} look-alikes, each filled {FILLS} times",
        rule_names().len(),
        samples::lookalikes(0).len(),
    ));
    recall(table);
    lookalikes(table);
    speed(table);
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

fn lookalikes(table: &mut Table) {
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

/// Text without secrets, of which nearly everything consists.
fn speed(table: &mut Table) {
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
    let began = Instant::now();
    black_box(find(&text));
    let dense = text.len() as f64 / 1e6 / began.elapsed().as_secs_f64();
    table.row(Row::new(
        "speed, nothing but look-alikes",
        format!("{dense:.0} MB/s"),
    ));
}

fn transcripts(table: &mut Table) -> Result<()> {
    let (mut bytes, mut seconds, mut hits) = (0_usize, 0.0, BTreeMap::<&str, usize>::new());
    for file in corpus::files()? {
        let text = String::from_utf8_lossy(&std::fs::read(file)?).into_owned();
        let began = Instant::now();
        let found = find(&text);
        seconds += began.elapsed().as_secs_f64();
        bytes += text.len();
        for secret in found {
            *hits.entry(secret.rule).or_default() += 1;
        }
    }
    if bytes == 0 {
        eprintln!("bench: redaction: no transcripts; give some with --corpus FOLDER");
        return Ok(());
    }
    let speed = bytes as f64 / 1e6 / seconds;
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
    Ok(())
}
