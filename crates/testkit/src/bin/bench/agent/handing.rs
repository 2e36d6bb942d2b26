//! `/handoff`, without the time of the model: from Enter until the model has the request, and from
//! its first word until the new session stands on the screen.

use std::time::{Duration, Instant};

use sm_testkit::model::When;
use sm_testkit::sessions::{Shape, Synthetic};

use super::desk::{Desk, Program, Seat};
use crate::Result;
use crate::samples::{Samples, spread};
use crate::table::{Row, Table};

const ROUNDS: usize = 20;
const FULL_ROUNDS: usize = 8;
/// About 150,000 tokens: a context that is nearly full.
const FULL: u64 = 600_000;
const LONG: Duration = Duration::from_secs(60);

const DOCUMENT: &str = "## Objective\nBuild it.\n\n## Constraints and preferences\nNone.\n\n## Progress\nDone: hello. Not started: all else.\n\n## Decisions\nUse Rust.\n\n## Technical state\n/repo/src/main.rs\n\n## Next actions\n1. Go on.";

pub fn run(table: &mut Table) -> Result<()> {
    let desk = Desk::new()?;
    desk.model.control(|c| c.reply = Some(DOCUMENT.to_owned()));
    let mut seat = desk.sits_down(&Program::Sm, None)?;
    let mut samples = Samples::default();
    for round in 0..ROUNDS {
        desk.model.control(|c| {
            c.when = vec![When {
                has: "go on".into(),
                act: "SAY: answered".into(),
            }];
        });
        let from = seat.shown();
        seat.types("go on\r")?;
        seat.sees_after(from, "answered")?;
        seat.rests(Duration::from_millis(500));
        samples.add(hands_over(&desk, &mut seat, round)?);
    }
    table.row(
        Row::new("/handoff, without the time of the model", spread(&samples))
            .target("p50 at most 20 ms", samples.p50() <= 20.0),
    );
    let mut samples = Samples::default();
    for round in 0..FULL_ROUNDS {
        let desk = Desk::new()?;
        desk.model.control(|c| c.reply = Some(DOCUMENT.to_owned()));
        let session = desk.folder().join("full.jsonl");
        Synthetic {
            cwd: &desk.work(),
            bytes: FULL,
            shape: Shape::Straight,
        }
        .write(&session)?;
        let mut seat = desk.sits_down(&Program::Sm, Some(&session))?;
        seat.rests(Duration::from_millis(300));
        samples.add(hands_over(&desk, &mut seat, round)?);
    }
    table.row(
        Row::new(
            "the same, a context of 600 kB and the first request of the program",
            spread(&samples),
        )
        .target("p50 at most 20 ms", samples.p50() <= 20.0),
    );
    Ok(())
}

/// What the agent itself takes for it.
fn hands_over(desk: &Desk, seat: &mut Seat, round: usize) -> Result<Duration> {
    let hold = format!("document {round}");
    desk.model.control(|c| {
        c.when = vec![When {
            has: "Write a handoff document now".into(),
            act: format!("HOLDSTART: {hold}"),
        }];
    });
    let before = desk.model.requests().len() as u64;
    let from = seat.shown();
    seat.types("/handoff")?;
    seat.sees_after(from, "handoff")?;
    let from = seat.shown();
    let began = Instant::now();
    seat.types("\r")?;
    desk.model
        .wait_for_request(|request| request.seq > before, LONG)
        .ok_or("the model was not asked")?;
    let asked = began.elapsed();
    if !desk.model.wait_for_hold(&hold, LONG) {
        return Err("the model did not wait".into());
    }
    // The loader is drawn meanwhile.
    seat.sees_after(from, "Generating handoff")?;
    let answered = Instant::now();
    desk.model.release(&hold);
    seat.sees_after(from, "New session started with handoff context")?;
    Ok(asked + answered.elapsed())
}
