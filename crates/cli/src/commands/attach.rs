//! `sm attach`.

use clap::Args;
use sm_daemon::api::types::SessionView;

use crate::client::{Daemon, Which};
use crate::environment;
use crate::error::{CommandError, Result};
use crate::print::{self, Printer};
use crate::text::{count, one_line};

/// Goes into a session's terminal; leaving it (Ctrl-b d) does not end the session.
#[derive(Debug, Args)]
pub struct Attach {
    /// The session; without it: the only one that runs, or one that you pick.
    session: Option<String>,
}

impl Attach {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?;
        let session = match self.session {
            Some(session) => session,
            None => pick(&daemon)?,
        };
        if !environment::is_interactive() {
            let found = daemon.session(&session)?.value;
            if crate::attach::has_ended(&found) {
                return Err(crate::attach::ended(&daemon, &found));
            }
            return Err(
                CommandError::not_usable("attaching needs a terminal, and this is none").hint(
                    format!(
                        "read what it shows with `sm output {session}`, write to it with `sm send {session} …`"
                    ),
                ),
            );
        }
        crate::attach::run(&daemon, &session, out)
    }
}

/// The only session with a terminal, or the one that a person picks.
fn pick(daemon: &Daemon) -> Result<String> {
    let sessions = daemon.sessions(Which::Live)?.value;
    // One under `sm run` is in the terminal it was started in.
    let mut there: Vec<SessionView> = sessions
        .into_iter()
        .filter(|session| !crate::attach::has_ended(session) && session.run.is_none())
        .collect();
    // What waits for somebody first.
    there.sort_by_key(|session| (session.attention.is_none(), session.name.clone()));
    match there.as_slice() {
        [] => {
            return Err(
                CommandError::refused("no session runs in a terminal of sm's")
                    .hint("start one: sm new claude; those that have ended: sm ls --all"),
            );
        }
        [one] => return Ok(one.id.clone()),
        _ => {}
    }
    let names: Vec<String> = there.iter().map(|one| one_line(&one.name)).collect();
    if !environment::is_interactive() {
        return Err(CommandError::usage(format!(
            "{} run: say which one",
            count(there.len(), "session")
        ))
        .hint(format!("sm attach NAME, with one of: {}", names.join(", "))));
    }
    let mut list = String::new();
    for (at, (session, name)) in there.iter().zip(&names).enumerate() {
        let why = match session.attention.as_deref() {
            Some(why) => format!("  {}", one_line(why)),
            None => String::new(),
        };
        let state = one_line(&session.state);
        list.push_str(&format!("{:>3}  {}  {state}{why}\n", at + 1, name));
    }
    let answer = print::ask(&format!("{list}Which one? Its number or name: "))?;
    match picked(&there, &answer) {
        Some(session) => Ok(session.id.clone()),
        None if answer.is_empty() => Err(CommandError::refused("none was chosen")),
        None => Ok(answer),
    }
}

/// By its name, else by its number in the list: a name may look like a number.
fn picked<'a>(there: &'a [SessionView], answer: &str) -> Option<&'a SessionView> {
    let named = there.iter().find(|session| session.name == answer);
    named.or_else(|| there.get(answer.parse::<usize>().ok()?.checked_sub(1)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::ls::tests::session;

    #[test]
    fn a_name_wins_over_a_number() {
        let there = ["2", "api", "web"].map(session);
        for (answer, name) in [
            ("2", Some("2")),
            ("1", Some("2")),
            ("3", Some("web")),
            ("api", Some("api")),
            ("0", None),
            ("4", None),
            ("", None),
            ("elsewhere", None),
        ] {
            let found = picked(&there, answer).map(|session| session.name.as_str());
            assert_eq!(found, name, "{answer:?}");
        }
    }
}
