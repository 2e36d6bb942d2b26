//! The daemon with 50, 500 and 5,000 sessions: taking a usage report, listing, memory.
//!
//! The daemons run side by side and are asked in turn, in an order that rotates, and are started anew
//! several times: on a small machine the same daemon is a third faster or slower from one start to
//! the next, depending on where its threads came to lie. A second one with 50 sessions is the control:
//! what it differs from the first by is what this measurement cannot tell apart.

use std::time::Duration;

use crate::herd::Herd;
use crate::link::Link;
use crate::samples::{Samples, ms, spread};
use crate::table::{Row, Table};
use crate::{Result, cost};

/// The second is the control.
const SIZES: [usize; 4] = [50, 50, 500, 5000];
const STARTS: usize = 8;
const ROUNDS: usize = 40;
const EVENTS: usize = 20;
const LISTS: usize = 100;
/// What the earlier Rust session manager needed, as it was recorded.
const RECORDED_EVENT: [Option<f64>; 4] = [Some(1.8), Some(1.8), Some(15.6), None];
const RECORDED_LIST: [Option<f64>; 4] = [Some(102.0), Some(102.0), Some(931.0), None];

struct Measured {
    herd: Herd,
    count: usize,
    link: Link,
    ids: Vec<String>,
    reports: Samples,
    /// The median of each start.
    medians: Samples,
    cpu: Duration,
    lists: Samples,
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
            reports: Samples::default(),
            medians: Samples::default(),
            cpu: Duration::ZERO,
            lists: Samples::default(),
            loaded_mib,
        })
    }

    fn restart(&mut self) -> Result<()> {
        self.herd.stop()?;
        self.herd.start()?;
        self.herd.settle(self.count)?;
        self.link = self.herd.link()?;
        Ok(())
    }

    /// A round of usage reports, to one session after the other.
    fn report(&mut self, round: usize, samples: &mut Samples) -> Result<()> {
        self.connect()?;
        let before = cost::cpu_of(self.herd.pid())?;
        for number in 0..EVENTS {
            let next = round * EVENTS + number;
            // a stride, so that neighbours in memory are not neighbours in time
            let id = &self.ids[next * 7 % self.count];
            let body = format!(
                r#"{{"session_id":"{id}","used_percentage":{},"total_input_tokens":{},"total_output_tokens":4521,"context_window_size":200000}}"#,
                10 + round % 50,
                20_000 + next
            );
            let answer = self.link.post("/hooks/context-usage", &body)?;
            if answer.status != 200 {
                return Err(format!("a usage report was answered with {}", answer.status).into());
            }
            samples.add(answer.took);
        }
        self.cpu += cost::cpu_of(self.herd.pid())?.saturating_sub(before);
        Ok(())
    }

    /// Anew, and used once: the daemon closes a connection on which nothing is asked for 5 s, and
    /// so long it may take until it is this one's turn again.
    fn connect(&mut self) -> Result<()> {
        self.link = self.herd.link()?;
        self.link.get("/health").map(drop)
    }

    fn list(&mut self) -> Result<()> {
        self.connect()?;
        let answer = self.link.get("/sessions")?;
        self.lists.add(answer.took);
        Ok(())
    }

    /// Reports have arrived where they were meant for.
    fn check(&mut self) -> Result<()> {
        self.connect()?;
        let sessions = self.link.get("/sessions")?.json()?;
        let told = sessions.as_array().ok_or("no list")?.iter();
        let told = told.filter(|s| s["context"]["source"] == "api").count();
        let most = self.count.min(STARTS * ROUNDS * EVENTS);
        if told * 2 < most {
            return Err(format!("only {told} of {most} sessions know their usage").into());
        }
        Ok(())
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
    for start in 0..STARTS {
        let mut samples = vec![Samples::default(); all.len()];
        for round in 0..ROUNDS {
            for turn in 0..all.len() {
                let at = (turn + round + start) % all.len();
                all[at].report(start * ROUNDS + round, &mut samples[at])?;
            }
        }
        for (one, samples) in all.iter_mut().zip(samples) {
            one.medians.add_ms(samples.p50());
            one.reports.extend(samples);
            one.herd.quiet()?;
        }
        if start + 1 < STARTS {
            for one in &mut all {
                one.restart()?;
            }
        }
    }
    for _ in 0..LISTS {
        for one in &mut all {
            one.list()?;
        }
    }
    for one in &mut all {
        one.check()?;
        one.herd.quiet()?;
    }

    table.section("The daemon with many sessions (min / p50 / p95)");
    for (one, recorded) in all.iter().zip(RECORDED_EVENT).skip(1) {
        let p50 = one.reports.p50();
        let row = Row::new(
            format!("POST /hooks/context-usage, {} sessions", one.count),
            spread(&one.reports),
        )
        .target("p50 at most 0.5 ms", p50 <= 0.5);
        table.row(with_recorded(row, recorded, p50));
    }
    if let [few, control, .., many] = all.as_slice() {
        let (p50, figure) = growth(few, many);
        let row = Row::new("growth from 50 to 5000", figure);
        table.row(row.target("p50 at most +20 %", p50 <= 20.0));
        let (_, figure) = growth(few, control);
        table.row(Row::new("growth from 50 to 50 (control)", figure));
    }
    for (one, recorded) in all.iter().zip(RECORDED_LIST).skip(1) {
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
    for (one, recorded) in all.iter().skip(1).zip([
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

/// In percent: that of the median start's median, and in words.
fn growth(few: &Measured, many: &Measured) -> (f64, String) {
    let percent = |few: f64, many: f64| (many / few - 1.0) * 100.0;
    let p50 = percent(few.medians.p50(), many.medians.p50());
    let cpu = percent(few.cpu.as_secs_f64(), many.cpu.as_secs_f64());
    let range = |one: &Measured| {
        let [low, mid, high] = [one.medians.min(), one.medians.p50(), one.medians.max()];
        format!("{:.0} ({:.0}-{:.0})", mid * 1e3, low * 1e3, high * 1e3)
    };
    let figure = format!(
        "{} to {} us over {STARTS} starts: p50 {p50:+.0} %, daemon CPU {cpu:+.0} %",
        range(few),
        range(many)
    );
    (p50, figure)
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
