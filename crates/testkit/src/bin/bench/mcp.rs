//! What `sm mcp` costs an agent that starts it: until its first answer, and its memory then; beside a
//! program that only hands a line back.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sm_testkit::clean::{CleanEnv, binary};

use crate::samples::{Samples, spread};
use crate::table::{Row, Table};
use crate::{Result, cost};

const ROUNDS: usize = 200;
/// Both wait for their reader then, with everything loaded.
const ASKED: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;

struct Started {
    took: Duration,
    peak_mib: f64,
}

pub fn run(table: &mut Table) -> Result<()> {
    let env = CleanEnv::new()?;
    let sm = binary("sm")?;
    let (mut ours, mut bare) = (Samples::default(), Samples::default());
    let (mut most, mut most_bare) = (0.0_f64, 0.0_f64);
    for _ in 0..ROUNDS {
        let started = start(env.command(&sm).arg("mcp"))?;
        ours.add(started.took);
        most = most.max(started.peak_mib);
        let started = start(&mut env.command(Path::new("cat")))?;
        bare.add(started.took);
        most_bare = most_bare.max(started.peak_mib);
    }
    table.section(format!(
        "`sm mcp`, from its start to its first answer ({ROUNDS} times, min / p50 / p95)"
    ));
    table.row(
        Row::new("time", spread(&ours))
            .against(format!("`cat`: {}", spread(&bare)), ours.p50() / bare.p50())
            .target("p95 under 20 ms", ours.p95() < 20.0),
    );
    table.row(
        Row::new("most memory", format!("{most:.1} MiB"))
            .against(format!("`cat`: {most_bare:.1} MiB"), most / most_bare)
            .target("under 10 MiB", most < 10.0),
    );
    Ok(())
}

fn start(command: &mut Command) -> Result<Started> {
    let began = Instant::now();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("no pipes".into());
    };
    writeln!(stdin, "{ASKED}")?;
    let mut answer = String::new();
    BufReader::new(stdout).read_line(&mut answer)?;
    let took = began.elapsed();
    let peak_mib = cost::peak_mib(child.id());
    drop(stdin);
    child.wait()?;
    if !answer.contains("jsonrpc") {
        return Err(format!("it answered {answer:?}").into());
    }
    Ok(Started {
        took,
        peak_mib: peak_mib?,
    })
}
