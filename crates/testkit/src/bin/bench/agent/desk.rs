//! A home with the scripted model as the only model there is, and a person at an agent in it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use sm_testkit::clean::binary;
use sm_testkit::model::ScriptedModel;
use sm_testkit::person::Person;
use sm_testkit::real::{RealAgent, pi_home};
use tempfile::TempDir;

use crate::Result;

/// Nothing takes this long, even a large session on a machine with much else to do.
const LONG: Duration = Duration::from_secs(600);
/// In the status line of both, and nowhere else.
const READY: &str = "fake-1";

pub enum Program {
    Sm,
    Pi(RealAgent),
}

pub struct Desk {
    dir: TempDir,
    pub model: ScriptedModel,
    env: Vec<(String, String)>,
}

impl Desk {
    pub fn new() -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("sm-bench-").tempdir()?;
        let model = ScriptedModel::start()?;
        std::fs::create_dir(dir.path().join("work"))?;
        let home = dir.path().join("home");
        let mut env = pi_home(&home, &model.url())?;
        let config = format!(
            "model = \"fake/fake-1\"\n[providers.fake]\napi = \"anthropic-messages\"\nbase_url = \"{}\"\nkey = \"dummy\"\n",
            model.url()
        );
        std::fs::create_dir(home.join("sm"))?;
        std::fs::write(home.join("sm").join("agent.toml"), config)?;
        let sm_home = home.join("sm").to_string_lossy().into_owned();
        env.push(("SM_HOME".into(), sm_home));
        env.push(("TERM".into(), "xterm-256color".into()));
        Ok(Self { dir, model, env })
    }

    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    /// Where the agent works.
    pub fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// Starts the program, on a session if there is one; back when it can be typed into.
    pub fn sits_down(&self, program: &Program, session: Option<&Path>) -> Result<Seat> {
        let mut command = match program {
            Program::Sm => {
                let mut command = Command::new(binary("sm")?);
                command.arg("agent");
                command.args(session.map(|_| "--resume"));
                command
            }
            Program::Pi(pi) => {
                let mut command = Command::new(&pi.program);
                command.arg("--offline");
                command.args(session.map(|_| "--session"));
                command
            }
        };
        command
            .args(session)
            .env_clear()
            .envs(self.env.iter().cloned())
            .current_dir(self.work());
        let mut seat = Seat(Person::start(&mut command, 120, 40)?);
        seat.sees_after(0, READY)?;
        Ok(seat)
    }
}

/// A person in front of an agent.
pub struct Seat(Person);

impl Seat {
    pub fn pid(&self) -> u32 {
        self.0.pid()
    }

    /// How much was shown so far.
    pub fn shown(&self) -> usize {
        self.0.count()
    }

    /// Reads on until a text stands behind the first `from` bytes.
    pub fn sees_after(&mut self, from: usize, text: &str) -> Result<()> {
        let text = text.as_bytes();
        let mut looked = from;
        let seen = self.0.until(LONG, |person| {
            // What was looked through once is not looked through again.
            let seen = person.seen();
            let start = looked.saturating_sub(text.len()).max(from).min(seen.len());
            looked = seen.len();
            seen[start..].windows(text.len()).any(|part| part == text)
        });
        match seen {
            true => Ok(()),
            false => Err(format!(
                "{:?} did not come: {}",
                String::from_utf8_lossy(text),
                self.tail()
            )
            .into()),
        }
    }

    pub fn types(&mut self, text: &str) -> Result<()> {
        match self.0.types(text.as_bytes(), LONG) {
            true => Ok(()),
            false => Err("nothing more can be typed".into()),
        }
    }

    /// Types a character that stood nowhere before; how long until it is shown.
    pub fn echoes(&mut self, key: char) -> Result<Duration> {
        while self.0.read() > 0 {}
        let from = self.shown();
        let began = Instant::now();
        self.types(key.encode_utf8(&mut [0; 4]))?;
        self.sees_after(from, key.encode_utf8(&mut [0; 4]))?;
        Ok(began.elapsed())
    }

    /// Lets time pass, looking at the screen.
    pub fn rests(&mut self, time: Duration) {
        self.0.until(time, |_| false);
    }

    fn tail(&self) -> String {
        let seen = self.0.seen();
        String::from_utf8_lossy(&seen[seen.len().saturating_sub(2000)..]).into_owned()
    }
}
