//! `sm kill`.

use clap::Args;

use crate::client::Daemon;
use crate::error::{CommandError, Result};
use crate::print::{self, Printer};
use crate::text::{count, one_line};

/// Ends sessions: their own processes only.
#[derive(Debug, Args)]
pub struct Kill {
    /// The sessions.
    #[arg(required = true, value_name = "SESSION")]
    sessions: Vec<String>,
    /// Also forget them and remove their logs: they cannot be restored.
    #[arg(long)]
    purge: bool,
    /// The session as JSON; several: as an array.
    #[arg(long)]
    json: bool,
}

impl Kill {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?;
        if let [one] = self.sessions.as_slice() {
            let json = self.end(&daemon, one, out)?;
            return match self.json {
                true => out.json(&json),
                false => Ok(()),
            };
        }
        // One that cannot be ended keeps none of the others alive.
        let mut ended = Vec::new();
        let mut failed = 0;
        for session in &self.sessions {
            match self.end(&daemon, session, out) {
                Ok(json) => ended.push(json),
                Err(error) => {
                    out.flush()?;
                    print::error(&error);
                    failed += 1;
                }
            }
        }
        if self.json {
            out.json(&ended.into())?;
        }
        match failed {
            0 => Ok(()),
            n => Err(CommandError::refused(format!(
                "{} could not be ended: see above",
                count(n, "session")
            ))),
        }
    }

    fn end(&self, daemon: &Daemon, session: &str, out: &mut Printer) -> Result<serde_json::Value> {
        let session = daemon.kill(session, self.purge)?;
        let name = one_line(&session.value.name);
        if !self.json {
            out.line(&if self.purge {
                format!("{name} is ended and removed")
            } else {
                let again = one_line(&daemon.called(&session.value));
                format!("{name} is ended. Again: sm restore {again}")
            })?;
        }
        Ok(session.json)
    }
}
