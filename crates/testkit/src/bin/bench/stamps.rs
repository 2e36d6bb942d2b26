//! When an agent says that something happened: hooks in its person's own settings, each a run of
//! the bench itself that appends a line and ends. They run beside those of sm.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Map, json};
use sm_testkit::clean::CleanEnv;

use crate::Result;

const EVENTS: [&str; 3] = ["Stop", "SessionStart", "UserPromptSubmit"];

/// The word with which the bench is such a hook.
pub const WORD: &str = "stamp";

pub struct Stamps {
    file: PathBuf,
}

/// One of them, and which one it is.
pub struct Stamp {
    pub number: usize,
    /// Since the epoch.
    pub at: Duration,
}

impl Stamps {
    /// For every agent that is started in this environment from now on.
    pub fn install(env: &CleanEnv) -> Result<Self> {
        let file = env.path().join("stamps");
        let own = std::env::current_exe()?;
        let hooks: Map<_, _> = EVENTS
            .iter()
            .map(|event| {
                let command = format!("exec {} {WORD} {} {event}", own.display(), file.display());
                let hook = json!([{"hooks": [{"type": "command", "command": command}]}]);
                ((*event).to_owned(), hook)
            })
            .collect();
        let folder = env.home().join(".claude");
        std::fs::create_dir_all(&folder)?;
        std::fs::write(
            folder.join("settings.json"),
            json!({"hooks": hooks}).to_string(),
        )?;
        Ok(Self { file })
    }

    /// The hook: `stamp <file> <event>`.
    pub fn note(file: &str, event: &str) -> Result<()> {
        let at = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let line = format!("{} {event}\n", at.as_nanos());
        let mut file = std::fs::File::options()
            .append(true)
            .create(true)
            .open(file)?;
        Ok(file.write_all(line.as_bytes())?)
    }

    pub fn count(&self) -> usize {
        self.lines().len()
    }

    /// The first of this event from that number on.
    pub fn wait(&self, event: &str, from: usize, patience: Duration) -> Result<Stamp> {
        let until = Instant::now() + patience;
        loop {
            let lines = self.lines();
            let found = lines
                .iter()
                .enumerate()
                .skip(from)
                .find_map(|(number, line)| {
                    let (at, noted) = line.split_once(' ')?;
                    let at = Duration::from_nanos(at.parse().ok()?);
                    (noted == event).then_some(Stamp { number, at })
                });
            if let Some(stamp) = found {
                return Ok(stamp);
            }
            if Instant::now() > until {
                let last = lines.iter().rev().take(5).rev().collect::<Vec<_>>();
                return Err(format!("no {event} after {from} of {}: {last:?}", lines.len()).into());
            }
            std::thread::sleep(Duration::from_micros(500));
        }
    }

    fn lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(str::to_owned).collect()
    }
}
