//! What 50 sessions with live agents cost while nothing happens.

use std::time::{Duration, Instant};

use crate::herd::Herd;
use crate::table::{Row, Table};
use crate::{Result, cost};

const AGENTS: usize = 50;
/// Long enough to hold the moment at which every idle agent is looked at again.
const WINDOW: Duration = Duration::from_secs(40);

pub fn run(table: &mut Table) -> Result<()> {
    let mut herd = Herd::new()?;
    herd.start()?;
    for number in 0..AGENTS {
        herd.agent(&format!("a{number}"))?;
    }
    herd.quiet()?;
    let (began, before) = (Instant::now(), cost::cpu_of(herd.pid())?);
    std::thread::sleep(WINDOW);
    let used = cost::cpu_of(herd.pid())?.saturating_sub(before);
    let part = used.as_secs_f64() / began.elapsed().as_secs_f64() * 100.0;
    let sessions = herd.link()?.get("/sessions")?.json()?;
    let idle = sessions
        .as_array()
        .map_or(0, |all| all.iter().filter(|s| s["state"] == "idle").count());
    if idle != AGENTS {
        return Err(format!("only {idle} of {AGENTS} agents stayed idle").into());
    }
    let memory = cost::resident_mib(herd.pid())?;
    table.section(format!(
        "{AGENTS} live agents, nothing happens for {} s",
        WINDOW.as_secs()
    ));
    let figure = format!(
        "{part:.3} % ({:.0} ms, {memory:.1} MiB)",
        used.as_secs_f64() * 1e3
    );
    table.row(Row::new("CPU of the daemon", figure).target("at most 0.2 %", part <= 0.2));
    Ok(())
}
