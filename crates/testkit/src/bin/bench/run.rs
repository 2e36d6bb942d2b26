//! What `sm run` puts between a person and an agent: time for a key, and how fast output goes
//! through, beside the same program run directly and under `script(1)`, which also writes it down.
//!
//! The files are on a file system in memory, so that programs are compared and not disks.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use sm_testkit::clean::binary;
use sm_testkit::person::Person;
use tempfile::TempDir;

use crate::Result;
use crate::samples::{Samples, spread};
use crate::table::{Row, Table};

const KEYS: usize = 1_000;
const ROUNDS: usize = 31;
const MUCH: usize = 50_000_000;
const LONG: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy)]
enum Way {
    Direct,
    Script,
    Sm,
}

const WAYS: [Way; 3] = [Way::Direct, Way::Script, Way::Sm];

struct Home {
    dir: TempDir,
    sm: PathBuf,
}

impl Home {
    fn new() -> Result<Self> {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() {
            memory.to_path_buf()
        } else {
            std::env::temp_dir()
        };
        let dir = tempfile::Builder::new()
            .prefix("sm-bench-")
            .tempdir_in(folder)?;
        Ok(Self {
            dir,
            sm: binary("sm")?,
        })
    }

    fn person(&self, way: Way, script: &str) -> Result<Person> {
        let mut command = match way {
            Way::Direct => {
                let mut command = Command::new("sh");
                command.args(["-c", script]);
                command
            }
            Way::Script => {
                let mut command = Command::new("script");
                command.args(["-q", "-c", script, "typescript"]);
                command
            }
            Way::Sm => {
                let mut command = Command::new(&self.sm);
                command.args(["run", "--", "sh", "-c", script]);
                command
            }
        };
        command
            .env_clear()
            .env("HOME", self.dir.path())
            .env("SM_HOME", self.dir.path().join("sm"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("SHELL", "/bin/sh")
            .env("TERM", "xterm-256color")
            .current_dir(self.dir.path());
        Ok(Person::start(&mut command, 120, 40)?)
    }
}

pub fn run(table: &mut Table) -> Result<()> {
    let home = Home::new()?;
    table.section("Running an agent in the person's terminal");
    let [direct, script, sm] = keys(&home)?;
    let added = sm.p50() - direct.p50();
    table.row(
        Row::new("a key and its echo (min / p50 / p95)", spread(&sm))
            .against(
                format!("direct: {}", spread(&direct)),
                direct.p50() / sm.p50(),
            )
            .target("less than 1 ms more (p50)", added < 1.0),
    );
    table.row(Row::new("a key and its echo", spread(&sm)).against(
        format!("script(1): {}", spread(&script)),
        script.p50() / sm.p50(),
    ));
    let [direct, script, sm] = output(&home)?;
    let rate = |time: &Samples| {
        let rate = |ms: f64| MUCH as f64 / 1e6 / (ms / 1e3);
        format!("{:.0} / {:.0} MB/s", rate(time.min()), rate(time.p50()))
    };
    let what = "50 MB of output, from start to end (best / p50)";
    table.row(Row::new(what, rate(&sm)).against(
        format!("direct: {}", rate(&direct)),
        direct.p50() / sm.p50(),
    ));
    // Of two that are equally fast the best of a run is one or the other's by chance.
    let ratio = script.p50() / sm.p50();
    table.row(
        Row::new(what, rate(&sm))
            .against(format!("script(1): {}", rate(&script)), ratio)
            .target("at least as fast (p50)", ratio >= 1.0),
    );
    Ok(())
}

/// A key at a time, the ways in turn.
fn keys(home: &Home) -> Result<[Samples; 3]> {
    let mut people = Vec::new();
    for way in WAYS {
        let mut person = home.person(way, "stty raw -echo; printf ready; exec cat")?;
        if !person.sees("ready", LONG) {
            return Err(format!("{way:?} did not start: {}", person.text()).into());
        }
        people.push(person);
    }
    let mut samples: [Samples; 3] = Default::default();
    for _ in 0..KEYS {
        for (person, samples) in people.iter_mut().zip(&mut samples) {
            let from = person.count();
            let began = Instant::now();
            person.types(b"k", LONG);
            if !person.until(LONG, |person| person.count() > from) {
                return Err("a key had no echo".into());
            }
            samples.add(began.elapsed());
        }
    }
    Ok(samples)
}

/// All of it, from the start of the program to its end.
fn output(home: &Home) -> Result<[Samples; 3]> {
    let line = b"\x1b[32m0123456789\x1b[0m abcdefghijklmnopqrstuvwxyz 0123456789\r\n";
    let much: Vec<u8> = line.iter().copied().cycle().take(MUCH).collect();
    std::fs::write(home.dir.path().join("much"), much)?;
    let mut samples: [Samples; 3] = Default::default();
    for _ in 0..ROUNDS {
        for (way, samples) in WAYS.into_iter().zip(&mut samples) {
            let began = Instant::now();
            let mut person = home.person(way, "stty raw -echo; exec cat much")?;
            person.only_count();
            if !person.until(LONG, |person| person.count() >= MUCH) {
                return Err(format!("{way:?} showed {} bytes", person.count()).into());
            }
            samples.add(began.elapsed());
            person.waits(LONG);
            // Each round writes it down anew.
            let _ = std::fs::remove_dir_all(home.dir.path().join("sm"));
            let _ = std::fs::remove_file(home.dir.path().join("typescript"));
        }
    }
    Ok(samples)
}
