//! `sm whoami`.

use clap::Args;

use crate::client::Daemon;
use crate::commands::show::{latest, render};
use crate::error::{CommandError, Result};
use crate::print::Printer;

/// Says which session this is; outside of a session: exit code 2.
#[derive(Debug, Args)]
pub struct Whoami {
    /// The session as JSON.
    #[arg(long)]
    json: bool,
}

impl Whoami {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?;
        let Some(own) = daemon.own() else {
            return Err(
                CommandError::not_usable("this is not inside a session of sm")
                    .hint("`sm ls` lists the sessions there are"),
            );
        };
        let session = daemon.session(&own.id)?;
        if self.json {
            return out.json(&session.json);
        }
        let text = render(
            &out.look,
            &session.value,
            latest(&daemon, &session.value).as_ref(),
            None,
            &[],
        );
        out.text(&text)
    }
}
