//! `make bench`: what sm costs, side by side with what there was before, in one run.
//!
//! Real daemon, real tmux, scripted agents, each arm in a throw-away instance. A missed target is
//! printed, never an error: timing depends on who else uses the machine. It must never touch the
//! person's own instance, and it leaves nothing behind.
//!
//! `bench [--markdown] [--corpus FOLDER] [hooks|sends|handoff|archive|channel|run|events|monitor|footprint|idle|redaction|ledger|agent|mcp|page]…`

mod agent;
mod archive;
mod channel;
mod corpus;
mod cost;
mod events;
mod footprint;
mod handoff;
mod hands;
mod herd;
mod hooks;
mod idle;
mod ledger;
mod link;
mod lookalikes;
mod mcp;
mod monitor;
mod page;
mod redaction;
mod run;
mod samples;
mod sends;
mod stamps;
mod table;

use std::process::ExitCode;
use std::time::Instant;

use table::Table;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// One part of the run.
type Arm = fn(&mut Table) -> Result<()>;

const ARMS: [(&str, Arm); 15] = [
    ("hooks", hooks::run),
    ("sends", sends::run),
    ("handoff", handoff::run),
    ("archive", archive::run),
    ("channel", channel::run),
    ("run", run::run),
    ("events", events::run),
    ("monitor", monitor::run),
    ("footprint", footprint::run),
    ("idle", idle::run),
    ("redaction", redaction::run),
    ("ledger", ledger::run),
    ("agent", agent::run),
    ("mcp", mcp::run),
    ("page", page::run),
];

fn main() -> ExitCode {
    let mut wanted: Vec<String> = std::env::args().skip(1).collect();
    if let [stamps::WORD, file, event] = wanted.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        // as a hook of an agent; it must never trouble it
        let _ = stamps::Stamps::note(file, event);
        return ExitCode::SUCCESS;
    }
    let markdown = wanted.iter().any(|word| word == "--markdown");
    wanted.retain(|word| word != "--markdown");
    corpus::take(&mut wanted);
    if let Some(unknown) = wanted
        .iter()
        .find(|word| ARMS.iter().all(|(name, _)| name != word))
    {
        eprintln!(
            "bench: there is no arm called {unknown}; there are: hooks sends handoff archive channel run events monitor footprint idle redaction ledger agent mcp page"
        );
        return ExitCode::from(2);
    }
    let began = Instant::now();
    println!("{}", cost::machine());
    let mut table = Table::default();
    let mut code = ExitCode::SUCCESS;
    for (name, arm) in ARMS {
        if !wanted.is_empty() && !wanted.iter().any(|word| word == name) {
            continue;
        }
        eprintln!("bench: {name} …");
        if let Err(error) = arm(&mut table) {
            eprintln!("bench: {name} did not get to its end: {error}");
            code = ExitCode::FAILURE;
        }
    }
    if markdown {
        print!("{}", table.markdown());
    } else {
        print!("{}", table.text());
    }
    println!("\n{}", table.summary());
    println!(
        "{}; took {:.0} s",
        cost::machine(),
        began.elapsed().as_secs_f32()
    );
    code
}
