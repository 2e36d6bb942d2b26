//! From starting the daemon to its first answer.

use crate::Result;
use crate::herd::Herd;
use crate::samples::{Samples, spread};
use crate::table::{Row, Table};

const ROUNDS: usize = 20;
/// Of the earlier Rust session manager, as it was recorded.
const RECORDED: f64 = 10.5;

pub fn run(table: &mut Table) -> Result<()> {
    let mut empty = Herd::new()?;
    empty.start()?; // the very first start makes the database
    empty.stop()?;
    let mut many = Herd::of(500)?;
    many.stop()?;
    let (mut of_empty, mut of_many, mut first) =
        (Samples::default(), Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        of_empty.add(empty.start()?);
        empty.stop()?;
        of_many.add(many.start()?);
        many.stop()?;
        let mut new = Herd::new()?;
        first.add(new.start()?);
    }
    table.section("Cold start until /health answers (min / p50 / p95)");
    for (what, samples) in [
        ("no session", &of_empty),
        ("500 live sessions", &of_many),
        ("the very first start", &first),
    ] {
        let row = Row::new(what, spread(samples))
            .against("recorded: 10.5 ms (min 5.9)", RECORDED / samples.p50());
        table.row(row.target("p50 at most 15 ms", samples.p50() <= 15.0));
    }
    Ok(())
}
