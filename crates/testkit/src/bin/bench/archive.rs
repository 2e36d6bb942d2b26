//! What it costs to turn a terminal's log into text: from the beginning, and when a little was added.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sm_testkit::tmux::Tmux;
use sm_testkit::wait_until;

use crate::herd::Herd;
use crate::link::Link;
use crate::samples::{Samples, ms};
use crate::table::{Row, Table};
use crate::{Result, cost};

const MIB: usize = 1 << 20;
/// A part of a log, as `sm-hook log` cuts it.
const PART: usize = 16 * MIB;
const LOG: usize = 24 * MIB;
const LARGE_PARTS: u32 = 64;
const ROUNDS: usize = 5;
const APPENDED: usize = 12;

pub fn run(table: &mut Table) -> Result<()> {
    let mut herd = Herd::new()?;
    herd.start()?;
    for name in ["log", "small", "large"] {
        herd.agent(name)?;
    }
    let mut link = herd.link()?;
    for name in ["log", "small", "large"] {
        link.ask("DELETE", &format!("/sessions/{name}"), &[], "")?;
        about(&mut link, name)?;
    }
    let log = agent_output(LOG);
    table.section(format!(
        "Archive: terminal bytes to text ({} parts of 16 MiB are the large log)",
        LARGE_PARTS
    ));
    whole(table, &herd, &mut link, &log)?;
    added(table, &herd, &mut link, &log)
}

/// Logs of 24 MiB, one after the other.
fn whole(table: &mut Table, herd: &Herd, link: &mut Link, log: &[u8]) -> Result<()> {
    let folder = folder(herd, link, "log")?;
    let (mut wall, mut cpu) = (Samples::default(), Samples::default());
    for round in 0..ROUNDS {
        let number = u32::try_from(round)? * 2 + 2;
        let (first, second) = log.split_at(PART);
        std::fs::write(part(&folder, number), first)?;
        std::fs::write(part(&folder, number + 1), second)?;
        let before = cost::cpu_of(herd.pid())?;
        wall.add(rendered(link, "log", log.len())?);
        cpu.add(cost::cpu_of(herd.pid())?.saturating_sub(before));
    }
    let by_tmux = tmux(log)?;
    let speed = |ms: f64| LOG as f64 / 1e6 / (ms / 1e3);
    let row = Row::new(
        "24 MB log, by CPU time",
        format!("{:.0} MB/s", speed(cpu.p50())),
    )
    .against(
        format!("tmux reading the same: {:.0} MB/s", speed(by_tmux)),
        by_tmux / cpu.p50(),
    );
    table.row(row.target("at least 50 MB/s", speed(cpu.p50()) >= 50.0));
    let figure = format!("{:.0} MB/s", speed(wall.p50()));
    table.row(Row::new("24 MB log, by the clock", figure));
    Ok(())
}

/// One MiB more, in turn, of a log that is large and of one that is not.
fn added(table: &mut Table, herd: &Herd, link: &mut Link, log: &[u8]) -> Result<()> {
    let small = folder(herd, link, "small")?;
    let large = folder(herd, link, "large")?;
    let before = cost::resident_mib(herd.pid())?;
    let first = log.get(..PART).unwrap_or_default();
    std::fs::write(part(&large, 2), first)?;
    for number in 3..2 + LARGE_PARTS {
        // the same bytes again and again need no room
        std::fs::hard_link(part(&large, 2), part(&large, number))?;
    }
    let took = rendered(link, "large", PART * LARGE_PARTS as usize)?;
    let after = cost::resident_mib(herd.pid())?;
    let figure = format!("{:.0} MB/s, {after:.1} MiB", 1073.7 / took.as_secs_f64());
    let row = Row::new("1 GiB log, by the clock; memory of the daemon", figure);
    let more = format!("memory before: {before:.1} MiB");
    table.row(
        row.against(more, after / before)
            .target("at most 8 MiB more", after - before <= 8.0),
    );

    let (mut of_small, mut of_large) = (Samples::default(), Samples::default());
    let (small_part, large_part) = (part(&small, 2), part(&large, 2 + LARGE_PARTS));
    for round in 0..APPENDED {
        let from = round * MIB;
        let piece = log.get(from..from + MIB).unwrap_or_default();
        for (name, file, samples) in [
            ("small", &small_part, &mut of_small),
            ("large", &large_part, &mut of_large),
        ] {
            OpenOptions::new()
                .append(true)
                .create(true)
                .open(file)?
                .write_all(piece)?;
            let before = cost::cpu_of(herd.pid())?;
            rendered(link, name, MIB)?;
            samples.add(cost::cpu_of(herd.pid())?.saturating_sub(before));
        }
    }
    let ratio = of_large.p50() / of_small.p50();
    let row = Row::new("1 MiB added to the 1 GiB log, CPU", ms(of_large.p50())).against(
        format!("added to a small log: {}", ms(of_small.p50())),
        1.0 / ratio,
    );
    table.row(row.target("within 25 % of each other", (0.75..=1.25).contains(&ratio)));

    let mut tail = Samples::default();
    for _ in 0..20 {
        let answer = link.get("/sessions/large/output?lines=2000")?;
        answer.json()?;
        tail.add(answer.took);
    }
    let row = Row::new("the last 2,000 lines of the 1 GiB log", ms(tail.p50()));
    table.row(row.target("p50 at most 10 ms", tail.p50() <= 10.0));
    let began = Instant::now();
    let mut grep = herd.env.sm()?;
    let found = grep
        .args(["archive", "large", "grep", "no such line [0-9]{9}"])
        .output()?;
    let took = began.elapsed();
    if found.status.code() != Some(1) {
        return Err(format!("the search said {found:?}").into());
    }
    table.row(Row::new(
        "searching all of it",
        ms(took.as_secs_f64() * 1e3),
    ));
    Ok(())
}

fn part(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("terminal.{number:06}.log"))
}

fn folder(herd: &Herd, link: &mut Link, name: &str) -> Result<PathBuf> {
    let session = link.get(&format!("/sessions/{name}"))?.json()?;
    let id = session["id"].as_str().ok_or("no id")?;
    Ok(herd.env.sm_home().join("data/sessions").join(id))
}

fn about(link: &mut Link, name: &str) -> Result<(u64, Duration)> {
    let answer = link.get(&format!("/sessions/{name}/archive/about"))?;
    let rendered = answer.json()?["rendered"].as_u64().ok_or("no count")?;
    Ok((rendered, answer.took))
}

/// Brings the archive up to date; everything that was added has to be rendered by it, and no more.
fn rendered(link: &mut Link, name: &str, bytes: usize) -> Result<Duration> {
    let (rendered, took) = about(link, name)?;
    match usize::try_from(rendered)? == bytes {
        true => Ok(took),
        false => Err(format!("{rendered} bytes were rendered, not {bytes}").into()),
    }
}

/// The CPU time, in milliseconds, in which a tmux server reads the same from a program.
fn tmux(log: &[u8]) -> Result<f64> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("log");
    std::fs::write(&file, log)?;
    let tmux = Tmux::new()?;
    let script = format!(
        "stty raw -echo; read go; cat {}; printf '\\033]2;done\\007'; exec sleep 1000",
        file.display()
    );
    let env = [("PATH".to_owned(), std::env::var("PATH")?)];
    tmux.start("t", (120, 40), folder.path(), &env, &["sh", "-c", &script])?;
    let pid: u32 = tmux.show("t", "#{pid}")?.parse()?;
    let before = cost::cpu_of(pid)?;
    tmux.type_text("t", "\n")?;
    let read = wait_until(Duration::from_secs(120), || {
        (tmux.show("t", "#{pane_title}").ok()? == "done").then_some(())
    });
    read.ok_or("tmux did not read it")?;
    let used = cost::cpu_of(pid)?.saturating_sub(before);
    Ok(used.as_secs_f64() * 1e3)
}

/// What an agent prints: text in colours, output of tools, and a spinner that is drawn over itself.
fn agent_output(length: usize) -> Vec<u8> {
    const WORDS: [&str; 12] = [
        "the",
        "test",
        "passes",
        "src/session/mod.rs",
        "warning:",
        "日本語",
        "and",
        "fn step()",
        "running",
        "12,345",
        "ok",
        "──",
    ];
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % limit as u64).unwrap_or(0)
    };
    let mut text = String::with_capacity(length + 1024);
    while text.len() < length {
        match below(4) {
            0 => {
                for frame in 0..1 + below(6) {
                    let glyph = ["·", "✢", "✳", "✶", "✻", "✽"][frame % 6];
                    let _ = write!(
                        text,
                        "\r\x1b[2A\x1b[38;5;174m{glyph}\x1b[39m \x1b[38;5;174mWorking…\x1b[39m \
                         \x1b[38;5;246m({}s · ↓ {} tokens)\x1b[39m\x1b[K\r\x1b[2B",
                        below(60),
                        below(9000)
                    );
                }
            }
            _ => {
                let _ = write!(text, "\x1b[38;5;{}m●\x1b[39m ", below(256));
                for _ in 0..2 + below(18) {
                    text.push_str(WORDS[below(WORDS.len())]);
                    text.push(' ');
                }
                text.push_str("\x1b[K\r\n");
            }
        }
    }
    let mut bytes = text.into_bytes();
    bytes.truncate(length);
    bytes
}
