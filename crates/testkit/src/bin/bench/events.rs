//! The daemon with 50, 500 and 5,000 sessions: taking a usage report, listing, memory.
//!
//! Three daemons run side by side and are asked in turn, so that a busy neighbour hits all alike.

use std::time::Duration;

use crate::herd::Herd;
use crate::link::Link;
use crate::samples::{Samples, ms, spread};
use crate::table::{Row, Table};
use crate::{Result, cost};

const SIZES: [usize; 3] = [50, 500, 5000];
const ROUNDS: usize = 40;
const EVENTS: usize = 100;
const LISTS: usize = 5;
/// What the earlier Rust session manager needed, as it was recorded.
const RECORDED_EVENT: [Option<f64>; 3] = [Some(1.8), Some(15.6), None];
const RECORDED_LIST: [Option<f64>; 3] = [Some(102.0), Some(931.0), None];

struct Measured {
    herd: Herd,
    count: usize,
    link: Link,
    ids: Vec<String>,
    events: Samples,
    lists: Samples,
    cpu: Duration,
    loaded_mib: f64,
}

impl Measured {
    fn new(count: usize) -> Result<Self> {
        let herd = Herd::of(count)?;
        let loaded_mib = cost::resident_mib(herd.pid())?;
        let mut link = herd.link()?;
        let sessions = link.get("/sessions")?.json()?;
        let ids = sessions.as_array().ok_or("no list")?.iter();
        let ids: Vec<String> = ids
            .filter_map(|s| s["id"].as_str().map(str::to_owned))
            .collect();
        if ids.len() != count {
            return Err(format!("{} sessions instead of {count}", ids.len()).into());
        }
        Ok(Self {
            herd,
            count,
            link,
            ids,
            events: Samples::default(),
            lists: Samples::default(),
            cpu: Duration::ZERO,
            loaded_mib,
        })
    }

    /// A round of usage reports, to one session after the other.
    fn report(&mut self, round: usize) -> Result<()> {
        let before = cost::cpu_of(self.herd.pid())?;
        for number in 0..EVENTS {
            // a stride, so that no session is asked twice in a row
            let id = &self.ids[(round * EVENTS + number * 7) % self.count];
            let body = format!(
                r#"{{"session_id":"{id}","used_percentage":{},"total_input_tokens":{},"total_output_tokens":4521,"context_window_size":200000}}"#,
                10 + round % 50,
                20_000 + number
            );
            let answer = self.link.post("/hooks/context-usage", &body)?;
            if answer.status != 200 {
                return Err(format!("a usage report was answered with {}", answer.status).into());
            }
            self.events.add(answer.took);
        }
        self.cpu += cost::cpu_of(self.herd.pid())?.saturating_sub(before);
        Ok(())
    }

    fn list(&mut self) -> Result<()> {
        for _ in 0..LISTS {
            let answer = self.link.get("/sessions")?;
            self.lists.add(answer.took);
        }
        Ok(())
    }

    /// The last report of the run is seen in the session it was for.
    fn check(&mut self) -> Result<()> {
        let sources = self.link.get("/sessions")?.json()?;
        let told = sources.as_array().ok_or("no list")?.iter();
        let told = told.filter(|s| s["context"]["source"] == "api").count();
        let most = self.count.min(ROUNDS * EVENTS);
        // the stride may leave a few out
        if told * 10 < most {
            Err(format!("only {told} sessions know their usage").into())
        } else {
            Ok(())
        }
    }
}

pub fn run(table: &mut Table) -> Result<()> {
    let empty = {
        let mut herd = Herd::new()?;
        herd.start()?;
        herd.quiet()?;
        cost::resident_mib(herd.pid())?
    };
    let mut all = SIZES
        .map(Measured::new)
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
    for round in 0..ROUNDS {
        for one in &mut all {
            one.report(round)?;
        }
    }
    for _ in 0..ROUNDS / 2 {
        for one in &mut all {
            one.list()?;
        }
    }
    for one in &mut all {
        one.check()?;
        one.herd.quiet()?;
    }

    table.section("The daemon with many sessions (min / p50 / p95)");
    for (one, recorded) in all.iter().zip(RECORDED_EVENT) {
        let p50 = one.events.p50();
        let row = Row::new(
            format!("POST /hooks/context-usage, {} sessions", one.count),
            spread(&one.events),
        )
        .target("p50 at most 0.5 ms", p50 <= 0.5);
        table.row(with_recorded(row, recorded, p50));
    }
    if let [few, .., many] = all.as_slice() {
        let growth = |of: fn(&Measured) -> f64| (of(many) / of(few) - 1.0) * 100.0;
        let p50 = growth(|one| one.events.p50());
        let min = growth(|one| one.events.min());
        let cpu = growth(|one| one.cpu.as_secs_f64());
        let figure = format!("p50 {p50:+.0} %, min {min:+.0} %, daemon CPU {cpu:+.0} %");
        table.row(
            Row::new("growth from 50 to 5000", figure).target("p50 at most +20 %", p50 <= 20.0),
        );
    }
    for (one, recorded) in all.iter().zip(RECORDED_LIST) {
        let p50 = one.lists.p50();
        let row = Row::new(
            format!("GET /sessions, {} sessions", one.count),
            spread(&one.lists),
        );
        let row = if one.count == 500 {
            row.target("p50 under 5 ms", p50 < 5.0)
        } else {
            row
        };
        table.row(with_recorded(row, recorded, p50));
    }

    table.section("Resident memory of the daemon");
    table.row(Row::new("no session", mib(empty)).against("recorded: 11.9 MiB", 11.9 / empty));
    for (one, recorded) in all.iter().zip([
        Some((14.4, "14.4")),
        Some((22.5, "22.5 (82 after work)")),
        None,
    ]) {
        let after = cost::resident_mib(one.herd.pid())?;
        let figure = format!("{} loaded, {} after work", mib(one.loaded_mib), mib(after));
        let row = Row::new(format!("{} sessions", one.count), figure);
        let row = match recorded {
            Some((value, text)) => row.against(format!("recorded: {text} MiB"), value / after),
            None => row,
        };
        table.row(if one.count == 500 {
            row.target("at most 20 MiB", after.max(one.loaded_mib) <= 20.0)
        } else {
            row
        });
    }
    Ok(())
}

fn with_recorded(row: Row, recorded: Option<f64>, p50: f64) -> Row {
    match recorded {
        Some(recorded) => row.against(format!("recorded: {}", ms(recorded)), recorded / p50),
        None => row,
    }
}

fn mib(value: f64) -> String {
    format!("{value:.1} MiB")
}
