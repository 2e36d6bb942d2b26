//! The context monitor: many samples a second over many sessions, and the usage of a transcript too
//! long to be read.

use std::fs::OpenOptions;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use serde_json::json;
use sm_testkit::wait_until;

use crate::herd::Herd;
use crate::link::Link;
use crate::samples::{Samples, ms, spread};
use crate::table::{Row, Table};
use crate::{Result, cost};

const SESSIONS: usize = 500;
/// Samples a second, over so many connections, for so long; the first seconds are not measured.
const RATE: u32 = 10_000;
const LINKS: u32 = 4;
const SECONDS: u32 = 20;
const WARM: u32 = 5;
/// More than this in the measured time is growth, MiB.
const GROWTH: f64 = 1.0;

const TRANSCRIPT: u64 = 1 << 30;
/// So much of its end is written out; before it there is a hole.
const WRITTEN: usize = 24 << 20;
const OPENED: usize = 7;
const ADDED: usize = 20;

pub fn run(table: &mut Table) -> Result<()> {
    table.section("The context monitor");
    samples(table)?;
    transcript(table)
}

// ── samples

fn samples(table: &mut Table) -> Result<()> {
    let herd = Herd::of(SESSIONS)?;
    let sessions = herd.link()?.get("/sessions")?.json()?;
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let all: Vec<(String, String)> = (sessions.as_array().ok_or("no list")?.iter())
        .map(|s| (text(&s["id"]), text(&s["conversation_id"])))
        .collect();
    // what the machine and HTTP alone take: the same requests, for sessions that there are not
    let nobody: Vec<(String, String)> = (all.iter())
        .map(|(id, conversation)| (format!("no-{id}"), conversation.clone()))
        .collect();
    let control = stream(&herd, &nobody, SECONDS / 2, |_| Ok(()))?;
    let mut resident = Vec::new();
    let before = cost::cpu_of(herd.pid())?;
    let took = stream(&herd, &all, SECONDS, |began| {
        for second in [WARM, (WARM + SECONDS) / 2, SECONDS - 1] {
            let at = Duration::from_secs(second.into());
            std::thread::sleep(at.saturating_sub(began.elapsed()));
            resident.push(cost::resident_mib(herd.pid())?);
        }
        Ok(())
    })?;
    let cpu = cost::cpu_of(herd.pid())?.saturating_sub(before);
    let p99 = took.p99();
    let figure = format!("{}, p99 {}", spread(&took), ms(p99));
    let what = format!("{RATE} samples/s over {SESSIONS} sessions, {SECONDS} s");
    let beside = control.p99();
    let against = format!("for nobody: {}, p99 {}", spread(&control), ms(beside));
    let row = Row::new(what, figure).against(against, beside / p99);
    table.row(row.target("p99 under 5 ms", p99 < 5.0));
    let used = cpu.as_secs_f64() / f64::from(SECONDS) * 100.0;
    let per = cpu.as_secs_f64() * 1e6 / f64::from(RATE * SECONDS);
    let figure = format!("{used:.0} % of a core, {per:.0} us a sample");
    table.row(Row::new("CPU of the daemon meanwhile", figure));
    let grown = resident[resident.len() - 1] - resident[0];
    let figure: Vec<String> = resident.iter().map(|mib| format!("{mib:.1}")).collect();
    let row = Row::new(
        format!("memory after {WARM} s, half way, at the end"),
        format!("{} MiB", figure.join(", ")),
    );
    table.row(row.target("no growth", grown <= GROWTH));
    Ok(())
}

/// Samples of all these sessions for so many seconds; how long each took, but for the first seconds.
fn stream(
    herd: &Herd,
    all: &[(String, String)],
    seconds: u32,
    mut meanwhile: impl FnMut(Instant) -> Result<()>,
) -> Result<Samples> {
    let begin = Barrier::new(LINKS as usize + 1);
    let measured = std::thread::scope(|scope| -> Result<Vec<Samples>> {
        let threads: Vec<_> = (0..LINKS)
            .map(|no| {
                let begin = &begin;
                scope.spawn(move || one_link(herd, all, no, seconds, begin))
            })
            .collect();
        begin.wait();
        let looked = meanwhile(Instant::now());
        let joined: Vec<_> = threads.into_iter().map(|t| t.join()).collect();
        looked?;
        let ended = joined.into_iter().map(|one| one.map_err(|_| "panicked")?);
        ended.collect()
    })?;
    let mut took = Samples::default();
    for one in measured {
        took.extend(one);
    }
    Ok(took)
}

/// Its share of the samples, each at its time; what comes late is sent at once.
fn one_link(
    herd: &Herd,
    all: &[(String, String)],
    no: u32,
    seconds: u32,
    begin: &Barrier,
) -> Result<Samples> {
    let mut link = herd.link()?;
    link.get("/health")?;
    begin.wait();
    let began = Instant::now();
    let apart = Duration::from_secs(1) * LINKS / RATE;
    let mut took = Samples::default();
    for number in 0..RATE / LINKS * seconds {
        let due = apart * number;
        if let Some(early) = due.checked_sub(began.elapsed()) {
            std::thread::sleep(early);
        }
        let next = (number * LINKS + no) as usize;
        let (id, conversation) = &all[next * 7 % all.len()];
        let body = status_line(conversation, 20_000 + u64::from(number) % 60_000);
        let headers = [
            (sm_client::wire::SESSION_HEADER, id.as_str()),
            (sm_client::wire::SECRET_HEADER, crate::herd::SECRET),
        ];
        let answer = link.ask("POST", "/hooks/claude/statusline", &headers, &body)?;
        if answer.status != 200 {
            return Err(format!("a sample was answered with {}", answer.status).into());
        }
        if began.elapsed() > Duration::from_secs(WARM.into()) {
            // from when it was due: who waits in line waits for the daemon as well
            took.add(began.elapsed().saturating_sub(due));
        }
    }
    Ok(took)
}

fn status_line(conversation: &str, tokens: u64) -> String {
    json!({
        "hook_event_name": "Status", "session_id": conversation,
        "model": {"id": "claude-opus-4-6", "display_name": "Opus"},
        "context_window": {
            "total_input_tokens": tokens, "total_output_tokens": 4_521,
            "context_window_size": 200_000, "used_percentage": tokens / 2_000,
            "current_usage": {
                "input_tokens": tokens, "output_tokens": 1_200,
                "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
            },
        },
    })
    .to_string()
}

// ── a long transcript

fn transcript(table: &mut Table) -> Result<()> {
    let herd = Herd::of(1)?;
    let mut link = herd.link()?;
    let folder = herd.env.path().join("transcripts");
    std::fs::create_dir_all(&folder)?;
    let (mut opened, mut added) = (Samples::default(), Samples::default());
    let mut cpu = Duration::ZERO;
    for round in 0..OPENED {
        let conversation = format!("00000000-0000-4000-8000-{round:012}");
        let path = folder.join(format!("{conversation}.jsonl"));
        follow(&herd, &mut link, &conversation, &path)?;
        let aside = path.with_extension("aside");
        let tokens = 50_000 + round as u64;
        write_long(&aside, &conversation, tokens)?;
        let before = cost::cpu_of(herd.pid())?;
        let began = Instant::now();
        std::fs::rename(&aside, &path)?;
        opened.add(known(&mut link, tokens, began)?);
        cpu += cost::cpu_of(herd.pid())?.saturating_sub(before);
        if round + 1 == OPENED {
            for more in 1..=ADDED as u64 {
                let line = assistant(&conversation, tokens + more);
                let began = Instant::now();
                let mut file = OpenOptions::new().append(true).open(&path)?;
                file.write_all(line.as_bytes())?;
                added.add(known(&mut link, tokens + more, began)?);
            }
        }
        std::fs::remove_file(&path)?;
    }
    let row = Row::new(
        "usage of a 1 GB transcript, from its opening",
        spread(&opened),
    );
    table.row(row.target("within 50 ms", opened.p95() <= 50.0));
    let figure = format!("{:.1} ms", cpu.as_secs_f64() * 1e3 / OPENED as f64);
    table.row(Row::new("CPU of the daemon for it", figure));
    table.row(Row::new(
        "then a line more, until it is known",
        spread(&added),
    ));
    Ok(())
}

/// The session turns to a conversation whose record does not exist yet.
fn follow(herd: &Herd, link: &mut Link, conversation: &str, path: &Path) -> Result<()> {
    let session = herd.session("s0")?;
    let id = session["id"].as_str().unwrap_or_default().to_owned();
    let body = json!({
        "hook_event_name": "SessionStart", "session_id": conversation, "source": "resume",
        "transcript_path": path, "cwd": session["cwd"],
    });
    // the agent of such a session is the bench itself
    let own = sm_client::Process::this().ok_or("this process has no start time")?;
    let ancestors = format!("{}:{}", own.pid, own.start);
    let headers = [
        (sm_client::wire::SESSION_HEADER, id.as_str()),
        (sm_client::wire::SECRET_HEADER, crate::herd::SECRET),
        (sm_client::wire::ANCESTORS_HEADER, ancestors.as_str()),
    ];
    link.ask(
        "POST",
        "/hooks/claude/SessionStart",
        &headers,
        &body.to_string(),
    )?;
    let wanted = path.display().to_string();
    wait_until(Duration::from_secs(20), || {
        let session = link.get("/sessions/s0").ok()?.json().ok()?;
        (session["transcript_path"] == wanted.as_str()).then_some(())
    })
    .ok_or_else(|| "the session did not turn to the transcript".into())
}

/// How long it takes until the session knows of so many tokens.
fn known(link: &mut Link, tokens: u64, began: Instant) -> Result<Duration> {
    wait_until(Duration::from_secs(20), || {
        let session = link.get("/sessions/s0").ok()?.json().ok()?;
        (session["context"]["tokens"] == tokens).then(|| began.elapsed())
    })
    .ok_or_else(|| format!("{tokens} tokens were never known").into())
}

/// A hole, and then a conversation with tools as it comes, whose last answer says so many tokens.
fn write_long(path: &Path, conversation: &str, tokens: u64) -> Result<()> {
    let mut text = String::with_capacity(WRITTEN + (8 << 10));
    let result = "  fn main() {\\n    println!(\\\"hello\\\");\\n  }\\n".repeat(60);
    text.push('\n');
    while text.len() < WRITTEN {
        text.push_str(&assistant(conversation, 40_000));
        text.push_str(&format!(
            r#"{{"type":"user","sessionId":"{conversation}","timestamp":"{}","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t1","content":"{result}"}}]}}}}"#,
            now()
        ));
        text.push('\n');
    }
    text.push_str(&assistant(conversation, tokens));
    let mut file = std::fs::File::create(path)?;
    file.set_len(TRANSCRIPT - text.len() as u64)?;
    file.seek(SeekFrom::End(0))?;
    file.write_all(text.as_bytes())?;
    Ok(())
}

fn assistant(conversation: &str, tokens: u64) -> String {
    format!(
        "{{\"type\":\"assistant\",\"sessionId\":\"{conversation}\",\"timestamp\":\"{}\",\"message\":{{\"role\":\"assistant\",\"model\":\"claude-opus-4-6\",\"usage\":{{\"input_tokens\":{tokens},\"output_tokens\":80}},\"content\":[{{\"type\":\"text\",\"text\":\"The next step is to run the tests again.\"}}]}}}}\n",
        now()
    )
}

fn now() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%S.%3fZ")
        .to_string()
}
