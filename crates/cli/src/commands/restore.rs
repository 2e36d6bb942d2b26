//! `sm restore`.

use clap::Args;
use sm_daemon::api::types::RestoreBody;

use crate::client::Daemon;
use crate::environment;
use crate::error::Result;
use crate::print::Printer;
use crate::text::one_line;

/// Starts a lost or exited session again: the same identity, its conversation resumed.
///
/// It gets the environment of this shell. Messages that waited for it are delivered.
#[derive(Debug, Args)]
pub struct Restore {
    /// The session.
    session: String,
    /// In a new conversation instead of resuming the last one.
    #[arg(long)]
    fresh: bool,
    /// Do not attach to it.
    #[arg(long, short)]
    detach: bool,
    /// The session as JSON; does not attach.
    #[arg(long)]
    json: bool,
}

impl Restore {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?;
        let (cols, rows) = environment::terminal_size();
        let session = daemon.restore(
            &self.session,
            &RestoreBody {
                env: environment::variables(),
                cols,
                rows,
                fresh: self.fresh,
            },
        )?;
        if self.json {
            return out.json(&session.json);
        }
        let session = session.value;
        if crate::attach::has_ended(&session) {
            return crate::attach::report_end(&daemon, &session, out);
        }
        if !self.detach && environment::is_interactive() {
            return crate::attach::run_started(&daemon, &session, out);
        }
        let name = one_line(&session.name);
        out.line(&format!(
            "{name} is {}. Go to it: sm attach {name}",
            one_line(&session.state)
        ))
    }
}
