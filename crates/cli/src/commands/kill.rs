//! `sm kill`.

use clap::Args;

use crate::client::Daemon;
use crate::error::Result;
use crate::print::Printer;
use crate::text::one_line;

/// Ends a session: its own processes only.
#[derive(Debug, Args)]
pub struct Kill {
    /// The session.
    session: String,
    /// Also forget it and remove its logs: it cannot be restored.
    #[arg(long)]
    purge: bool,
    /// The session as JSON.
    #[arg(long)]
    json: bool,
}

impl Kill {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?;
        let session = daemon.kill(&self.session, self.purge)?;
        if self.json {
            return out.json(&session.json);
        }
        let name = one_line(&session.value.name);
        out.line(&if self.purge {
            format!("{name} is ended and removed")
        } else {
            let again = one_line(&daemon.called(&session.value));
            format!("{name} is ended. Again: sm restore {again}")
        })
    }
}
