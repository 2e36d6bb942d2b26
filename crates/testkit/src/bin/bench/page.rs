//! The dashboard in a real browser: how soon it is usable, how soon it shows what happened, and how
//! it goes on answering under load. Chromium is driven by `web/test/browser/bench.mjs`, which prints
//! what it measured as JSON.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use sm_testkit::clean::binary;

use crate::Result;
use crate::herd::Herd;
use crate::table::{Row, Table};

const SESSIONS: usize = 500;
/// Of everything the first page needs, as it is sent.
const FIRST_LOAD: u64 = 250 * 1024;

pub fn run(table: &mut Table) -> Result<()> {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    if !web.join("node_modules/playwright-core").is_dir() {
        eprintln!("bench:   page: skipped: run tools/install-browser.sh first");
        return Ok(());
    }
    let herd = Herd::served(SESSIONS)?;
    let sm = herd.env.sm()?;
    let ran = Command::new("node")
        .arg(web.join("test/browser/bench.mjs"))
        .envs(
            sm.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env("SM_PROGRAM", binary("sm")?)
        .env("SM_DAEMON_PID", herd.pid().to_string())
        .output()?;
    let out = String::from_utf8_lossy(&ran.stdout);
    let Some(found) = out
        .lines()
        .rev()
        .find_map(|line| serde_json::from_str::<Value>(line).ok())
    else {
        let err = String::from_utf8_lossy(&ran.stderr);
        return Err(format!("the browser measured nothing: {out}{err}").into());
    };
    let number = |name: &str| found[name].as_f64().unwrap_or(f64::NAN);

    table.section(format!("The dashboard in Chromium, {SESSIONS} sessions"));
    let bytes = found["first_load_bytes"].as_u64().unwrap_or(u64::MAX);
    table.row(
        Row::new("first load, compressed", format!("{} KB", bytes / 1024))
            .target("under 250 KB", bytes < FIRST_LOAD),
    );
    let usable = number("usable_ms");
    table.row(
        Row::new(
            "from asking for the page to a usable list (p50 of 9)",
            format!("{usable:.0} ms"),
        )
        .target("under 300 ms", usable < 300.0),
    );
    let whole = number("whole_ms");
    table.row(Row::new(
        format!("from asking for the page to all {SESSIONS} rows (p50 of 9)"),
        format!("{whole:.0} ms"),
    ));
    let appears = number("appears_ms");
    table.row(
        Row::new(
            "a change at the daemon to the screen (p95 of 40)",
            format!("{appears:.0} ms"),
        )
        .target("within 200 ms", appears <= 200.0),
    );
    let answers = number("interaction_ms");
    table.row(
        Row::new(
            format!(
                "a key to the next picture, while {:.0} events a second come (p95 of {:.0})",
                number("events_per_second"),
                number("interactions"),
            ),
            format!("{answers:.0} ms"),
        )
        .target("under 100 ms", answers < 100.0),
    );
    let growth = number("heap_growth_mb");
    table.row(
        Row::new(
            format!(
                "the page's memory after {:.0} s of that, from {:.1} MB",
                number("load_seconds"),
                number("heap_mb")
            ),
            format!("{growth:+.1} MB"),
        )
        .target("flat: within 2 MB", growth < 2.0),
    );
    let daemon = number("daemon_growth_mb");
    table.row(Row::new(
        "the daemon's memory meanwhile",
        format!("{daemon:+.1} MB"),
    ));
    Ok(())
}
