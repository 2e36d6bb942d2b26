//! `sm attach`.

use clap::Args;

use crate::client::Daemon;
use crate::environment;
use crate::error::{CommandError, Result};
use crate::print::Printer;

/// Goes into a session's terminal; leaving it (Ctrl-b d) does not end the session.
#[derive(Debug, Args)]
pub struct Attach {
    /// The session.
    session: String,
}

impl Attach {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?;
        if !environment::is_interactive() {
            let found = daemon.session(&self.session)?.value;
            if crate::attach::has_ended(&found) {
                return Err(crate::attach::ended(&daemon, &found));
            }
            return Err(
                CommandError::not_usable("attaching needs a terminal, and this is none").hint(
                    format!(
                        "read what it shows with `sm output {0}`, write to it with `sm send {0} …`",
                        self.session
                    ),
                ),
            );
        }
        crate::attach::run(&daemon, &self.session, out)
    }
}
