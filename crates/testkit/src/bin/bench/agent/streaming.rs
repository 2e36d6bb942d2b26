//! While a reply streams: how long a key takes to the screen, and Escape to the model's end of the
//! connection.

use std::time::{Duration, Instant};

use super::beside;
use super::desk::{Desk, Program, Seat};
use crate::Result;
use crate::samples::{Samples, spread};
use crate::table::{Row, Table};

/// A word every so many milliseconds: about as fast as models speak.
const WORD: u64 = 5;
const WORDS: usize = 20_000;
const ESCAPES: usize = 10;
const LONG: Duration = Duration::from_secs(60);

pub fn run(table: &mut Table, programs: &[Program]) -> Result<()> {
    let mut keys = Vec::new();
    let mut ends = Vec::new();
    for program in programs {
        let desk = Desk::new()?;
        let reply: Vec<String> = (0..WORDS).map(word).collect();
        desk.model.control(|c| c.reply = Some(reply.concat()));
        let mut seat = desk.sits_down(program, None)?;
        keys.push(typed(&desk, &mut seat)?);
        ends.push(escaped(&desk, &mut seat)?);
    }
    let other = keys.get(1).map(Samples::p95);
    let row = Row::new(
        "a key to the screen while a reply streams",
        spread(&keys[0]),
    );
    let shown = || format!("pi: {}", spread(&keys[1]));
    table.row(
        beside(row, keys[0].p95(), other.as_ref(), shown)
            .target("p95 at most 5 ms", keys[0].p95() <= 5.0),
    );
    let other = ends.get(1).map(Samples::p50);
    let row = Row::new(
        "Escape until the model sees the connection closed",
        spread(&ends[0]),
    );
    let shown = || format!("pi: {}", spread(&ends[1]));
    table.row(
        beside(row, ends[0].p50(), other.as_ref(), shown)
            .target("p95 at most 100 ms", ends[0].p95() <= 100.0),
    );
    Ok(())
}

/// Prose with a list and some code in it, none of it a character that is typed.
fn word(at: usize) -> String {
    match at % 97 {
        0 => "\n\n".into(),
        30..36 => format!("\n- item {at} "),
        60 => "\n```rust\nlet x = 1; ".into(),
        66 => "\n```\n ".into(),
        _ => format!("word{} ", at % 10),
    }
}

/// Asks for the long reply; back when it has begun.
fn begins(desk: &Desk, seat: &mut Seat) -> Result<u64> {
    let before = desk.model.requests().len() as u64;
    let from = seat.shown();
    seat.types(&format!("DRIP: {WORD}"))?;
    seat.sees_after(from, "DRIP")?;
    let from = seat.shown();
    seat.types("\r")?;
    desk.model
        .wait_for_request(|request| request.seq > before, LONG)
        .ok_or("the model was not asked")?;
    seat.sees_after(from, "word")?;
    Ok(before + 1)
}

fn typed(desk: &Desk, seat: &mut Seat) -> Result<Samples> {
    let mut samples = Samples::default();
    let seq = begins(desk, seat)?;
    // Each stood nowhere before; none is part of what moves a cursor.
    for (at, key) in ('\u{410}'..='\u{44f}').enumerate() {
        // Not in step with anything.
        seat.rests(Duration::from_millis(30 + (at as u64 * 37) % 53));
        samples.add(seat.echoes(key)?);
    }
    // To the beginning: what was typed is nobody's prompt.
    ends(desk, seat, seq)?;
    seat.types("\x15")?;
    seat.rests(Duration::from_millis(500));
    Ok(samples)
}

fn escaped(desk: &Desk, seat: &mut Seat) -> Result<Samples> {
    let mut samples = Samples::default();
    for _ in 0..ESCAPES {
        let seq = begins(desk, seat)?;
        seat.rests(Duration::from_millis(100));
        samples.add(ends(desk, seat, seq)?);
        seat.rests(Duration::from_millis(500));
    }
    Ok(samples)
}

/// Presses Escape; how long until the model knows.
fn ends(desk: &Desk, seat: &mut Seat, seq: u64) -> Result<Duration> {
    let began = Instant::now();
    seat.types("\x1b")?;
    match desk.model.wait_for_abandoned(seq, LONG) {
        true => Ok(began.elapsed()),
        false => Err("the model was not left".into()),
    }
}
