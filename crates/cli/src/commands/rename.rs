//! `sm rename`.

use clap::Args;

use crate::client::Daemon;
use crate::error::Result;
use crate::print::Printer;
use crate::text::one_line;

/// Gives a session another name; its id stays.
#[derive(Debug, Args)]
pub struct Rename {
    /// The session.
    session: String,
    /// The new name: letters, digits, `-`, `_` and `.`; unique among live sessions.
    name: String,
    /// The session as JSON.
    #[arg(long)]
    json: bool,
}

impl Rename {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let session = Daemon::open()?.rename(&self.session, &self.name)?;
        if self.json {
            return out.json(&session.json);
        }
        out.line(&format!(
            "{} is now {}",
            one_line(&self.session),
            one_line(&session.value.name)
        ))
    }
}
