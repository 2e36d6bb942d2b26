//! `sm children`.

use clap::Args;
use serde_json::Value;

use crate::client::{Daemon, Which};
use crate::commands::ls::sessions_table;
use crate::error::Result;
use crate::print::Printer;
use crate::text::one_line;

/// Lists the sessions that a session has started.
#[derive(Debug, Args)]
pub struct Children {
    /// The session; inside a session: itself.
    session: Option<String>,
    /// As JSON: an array of sessions.
    #[arg(long)]
    json: bool,
}

impl Children {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?;
        let named = daemon.session_or_own(self.session.as_deref(), "sm children <session>")?;
        let parent = daemon.session(&named)?.value;
        let sessions = daemon.sessions(Which::All)?;
        if self.json {
            let children = sessions
                .json
                .as_array()
                .into_iter()
                .flatten()
                .filter(|session| session.get("parent").and_then(Value::as_str) == Some(&parent.id))
                .cloned()
                .collect();
            return out.json(&Value::Array(children));
        }
        let children: Vec<_> = sessions
            .value
            .into_iter()
            .filter(|session| session.parent.as_deref() == Some(&parent.id))
            .collect();
        if children.is_empty() {
            return out.line(&format!("{} has no children", one_line(&parent.name)));
        }
        let table = sessions_table(&out.look, &children);
        out.text(&table)
    }
}
