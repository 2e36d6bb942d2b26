//! sm's own agent beside the pinned `pi`, each in a terminal of its own, a fresh home, the scripted
//! model behind both and nothing beyond this machine: how soon a person can type, what it holds
//! while nothing happens, a large session, a handoff, keys while a reply streams, Escape.
//!
//! The two take turns, so that whoever else uses the machine troubles both. Without `pi` the
//! figures of sm stand alone.

mod desk;
mod handing;
mod streaming;

use std::time::{Duration, Instant};

use sm_testkit::real;
use sm_testkit::sessions::{Shape, Synthetic};

use crate::Result;
use crate::cost;
use crate::samples::{Samples, ms, spread};
use crate::table::{Row, Table};
use desk::{Desk, Program};

const STARTS: usize = 12;
const OPENINGS: usize = 6;
/// The other takes long for it.
const OTHERS_OPENINGS: usize = 2;
/// As large as the session that other agents were recorded with.
const LARGE: u64 = 50_000_000;
/// So long nothing happens before memory is read.
const REST: Duration = Duration::from_secs(2);

pub fn run(table: &mut Table) -> Result<()> {
    let programs = match real::pi() {
        Ok(pi) => vec![Program::Sm, Program::Pi(pi)],
        Err(why) => {
            eprintln!("bench:   nothing to compare with: {why}");
            vec![Program::Sm]
        }
    };
    table.section(format!(
        "sm agent beside pi {} (times: min / p50 / p95)",
        real::PI_VERSION
    ));
    starts(table, &programs)?;
    memory(table, &programs)?;
    large(table, &programs)?;
    handing::run(table)?;
    streaming::run(table, &programs)
}

/// A row with the other program's figure, if there is one: how many times more that is.
fn beside(row: Row, ours: f64, other: Option<&f64>, shown: impl FnOnce() -> String) -> Row {
    match other {
        Some(other) => row.against(shown(), other / ours),
        None => row,
    }
}

/// Of a target that says how many times less; without the other nothing is claimed.
fn times_less(row: Row, ours: f64, other: Option<&f64>, least: f64, target: &str) -> Row {
    match other {
        Some(other) => row.target(target, other / ours >= least),
        None => row,
    }
}

/// Times of both, and how many times faster ours has to be by the median.
fn faster(row: Row, samples: &[Samples], least: f64) -> Row {
    let (ours, other) = (samples[0].p50(), samples.get(1).map(Samples::p50));
    let row = beside(row, ours, other.as_ref(), || {
        format!("pi: {}", spread(&samples[1]))
    });
    let target = format!("at least {least:.0} times faster (p50)");
    times_less(row, ours, other.as_ref(), least, &target)
}

fn starts(table: &mut Table, programs: &[Program]) -> Result<()> {
    let mut samples = vec![Samples::default(); programs.len()];
    for _ in 0..STARTS {
        for (program, samples) in programs.iter().zip(&mut samples) {
            let desk = Desk::new()?;
            let began = Instant::now();
            let mut seat = desk.sits_down(program, None)?;
            samples.add(began.elapsed());
            // What was shown was no promise only.
            seat.echoes('Ж')?;
        }
    }
    let row = Row::new(
        "from the start until it can be typed into",
        spread(&samples[0]),
    );
    table.row(faster(row, &samples, 20.0));
    Ok(())
}

fn memory(table: &mut Table, programs: &[Program]) -> Result<()> {
    let mut held = Vec::new();
    for program in programs {
        let desk = Desk::new()?;
        let mut seat = desk.sits_down(program, None)?;
        seat.rests(REST);
        held.push(cost::tree_mib(seat.pid())?);
    }
    let other = held.get(1);
    let shown = |mib: f64| format!("{mib:.1} MiB");
    for (what, of, least) in [
        (
            "memory of all its processes while nothing happens (PSS)",
            (|mib: &cost::Held| mib.proportional) as fn(&cost::Held) -> f64,
            Some(8.0),
        ),
        ("the same, resident", |mib| mib.resident, None),
    ] {
        let (ours, other) = (of(&held[0]), other.map(of));
        let row = Row::new(what, shown(ours));
        let row = beside(row, ours, other.as_ref(), || {
            format!("pi: {}", shown(other.unwrap_or_default()))
        });
        table.row(match least {
            Some(least) => times_less(row, ours, other.as_ref(), least, "at least 8 times less"),
            None => row,
        });
    }
    Ok(())
}

fn large(table: &mut Table, programs: &[Program]) -> Result<()> {
    let mut samples = vec![Samples::default(); programs.len()];
    let mut peaks = vec![0.0_f64; programs.len()];
    for round in 0..OPENINGS {
        for (at, program) in programs.iter().enumerate() {
            if at > 0 && round >= OTHERS_OPENINGS {
                continue;
            }
            let desk = Desk::new()?;
            let session = desk.folder().join("large.jsonl");
            Synthetic {
                cwd: &desk.work(),
                bytes: LARGE,
                shape: Shape::Straight,
            }
            .write(&session)?;
            let began = Instant::now();
            let mut seat = desk.sits_down(program, Some(&session))?;
            samples[at].add(began.elapsed());
            seat.echoes('Ж')?;
            peaks[at] = peaks[at].max(cost::peak_mib(seat.pid())?);
        }
    }
    let row = Row::new(
        "a session of 50 MB, from the start until it can be typed into",
        spread(&samples[0]),
    );
    table.row(faster(row, &samples, 10.0));
    table.row(
        Row::new("the same, the slowest", ms(samples[0].max()))
            .target("under 1 s", samples[0].max() < 1000.0),
    );
    let row = Row::new(
        "its memory, the most at once",
        format!("{:.1} MiB", peaks[0]),
    );
    let row = beside(row, peaks[0], peaks.get(1), || {
        format!("pi: {:.1} MiB", peaks[1])
    });
    // In megabytes, as it was asked for.
    let megabytes = peaks[0] * 1.048_576;
    table.row(row.target("under 100 MB", megabytes < 100.0));
    Ok(())
}
