//! `sm queue`.

use clap::{Args, Subcommand};
use serde_json::Value;
use sm_daemon::api::types::MessageView;

use crate::client::{Daemon, Which};
use crate::error::{CommandError, Result};
use crate::print::Printer;
use crate::text::{Cell, Look, Tone, count, cut_end, one_line, table};

/// Messages that a session has not consumed yet.
///
/// Without a command: lists them.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Queue {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: Ls,
}

#[derive(Debug, Subcommand)]
enum Command {
    Ls(Ls),
    Rm(Rm),
}

/// Lists the messages.
#[derive(Debug, Args)]
struct Ls {
    /// The session; without one: of all sessions.
    session: Option<String>,
    /// Also those that are done with.
    #[arg(long, short)]
    all: bool,
    /// As JSON: an array of messages.
    #[arg(long)]
    json: bool,
}

/// Takes messages back that were not given to the agent yet.
#[derive(Debug, Args)]
struct Rm {
    /// The session.
    session: String,
    /// The message's id, or a unique beginning of it.
    #[arg(required_unless_present = "all")]
    message: Option<String>,
    /// All of them.
    #[arg(long, conflicts_with = "message")]
    all: bool,
    /// The messages as JSON: an array.
    #[arg(long)]
    json: bool,
}

impl Queue {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        match self.command {
            None => self.list.run(out),
            Some(Command::Ls(command)) => command.run(out),
            Some(Command::Rm(command)) => command.run(out),
        }
    }
}

impl Ls {
    fn run(self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?;
        let which = Which::from_all(self.all);
        let sessions: Vec<(String, String)> = match &self.session {
            Some(named) => vec![(named.clone(), named.clone())],
            None => daemon
                .sessions(Which::All)?
                .value
                .into_iter()
                .filter(|session| self.all || session.queue.queued > 0)
                .map(|session| (session.id, session.name))
                .collect(),
        };
        let (mut json, mut rows) = (Vec::new(), Vec::new());
        for (session, name) in &sessions {
            let messages = daemon.messages(session, which)?;
            rows.extend(
                messages
                    .value
                    .iter()
                    .map(|message| row(&out.look, name, message)),
            );
            if let Value::Array(mut some) = messages.json {
                json.append(&mut some);
            }
        }
        if self.json {
            return out.json(&Value::Array(json));
        }
        if rows.is_empty() {
            return out.line("no messages are waiting");
        }
        let text = table(
            &out.look,
            &["MESSAGE", "TO", "FROM", "SENT", "STATE", "TEXT"],
            &rows,
        );
        out.text(&text)
    }
}

impl Rm {
    fn run(self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?;
        let waiting: Vec<MessageView> = daemon
            .messages(&self.session, Which::Live)?
            .value
            .into_iter()
            .filter(|message| matches!(message.state.as_str(), "queued" | "held"))
            .collect();
        let ids: Vec<String> = match &self.message {
            None => waiting.into_iter().map(|message| message.id).collect(),
            Some(named) => vec![chosen(named, &waiting)?],
        };
        let mut gone = Vec::new();
        for id in &ids {
            gone.push(daemon.withdraw(&self.session, id)?.json);
        }
        if self.json {
            return out.json(&Value::Array(gone));
        }
        let session = one_line(&self.session);
        out.line(&match gone.len() {
            0 => format!("nothing to take back: no message for {session} waits"),
            1 => format!("1 message taken back; {session} will not get it"),
            many => format!("{many} messages taken back; {session} will not get them"),
        })
    }
}

/// The one message that is meant. One that is not waiting is the daemon's to judge.
fn chosen(named: &str, waiting: &[MessageView]) -> Result<String> {
    let matching: Vec<&MessageView> = waiting
        .iter()
        .filter(|message| message.id.starts_with(named))
        .collect();
    match matching.as_slice() {
        [one] => Ok(one.id.clone()),
        [] => Ok(named.to_owned()),
        many => Err(CommandError::refused(format!(
            "{named} is the beginning of {}",
            count(many.len(), "message")
        ))
        .hint("write more of the id; `sm queue ls` shows them")),
    }
}

/// Text of a message that is shown in a list.
const SHOWN: usize = 60;

fn row(look: &Look, session: &str, message: &MessageView) -> Vec<Cell> {
    let from = match message.from.name.as_deref().or(message.from.id.as_deref()) {
        Some(name) => one_line(name),
        None => one_line(&message.from.kind),
    };
    let because = |state: &str| match message.reason.as_deref() {
        Some(why) => format!("{state}: {}", one_line(why)),
        None => state.to_owned(),
    };
    let (state, tone) = match message.state.as_str() {
        "held" => (because("held"), Tone::Warn),
        "failed" => (because("failed"), Tone::Bad),
        "expired" => ("expired".to_owned(), Tone::Bad),
        other => (one_line(other), Tone::Plain),
    };
    vec![
        Cell::new(one_line(&message.id)),
        Cell::new(one_line(session)),
        Cell::new(from),
        Cell::new(look.ago(&message.created_at)),
        Cell::toned(cut_end(&state, 48), tone),
        Cell::toned(cut_end(&one_line(&message.text), SHOWN), Tone::Dim),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::send::tests::message;
    use crate::text::tests::look;

    #[test]
    fn waiting_messages_in_a_table() {
        let look = Look {
            width: None,
            ..look()
        };
        let mut from_session = message("queued", None);
        from_session.from.kind = "session".into();
        from_session.from.name = Some("lead".into());
        from_session.text = "first\nsecond".into();
        let rows: Vec<Vec<Cell>> = [
            message("held", Some("the agent is still starting")),
            message("failed", Some("the session has ended")),
            from_session,
        ]
        .iter()
        .map(|message| row(&look, "api", message))
        .collect();
        insta::assert_snapshot!(table(&look, &["MESSAGE", "TO", "FROM", "SENT", "STATE", "TEXT"], &rows), @r"
        MESSAGE   TO   FROM    SENT       STATE                              TEXT
        feedbeef  api  person  2 min ago  held: the agent is still starting  run the tests
        feedbeef  api  person  2 min ago  failed: the session has ended      run the tests
        feedbeef  api  lead    2 min ago  queued                             first second
        ");
    }

    #[test]
    fn a_beginning_names_a_message_if_it_is_the_only_one() {
        let mut other = message("queued", None);
        other.id = "feed0000".into();
        let waiting = [message("held", None), other];
        assert_eq!(chosen("feedb", &waiting).unwrap(), "feedbeef");
        assert_eq!(chosen("unknown", &waiting).unwrap(), "unknown");
        assert!(chosen("feed", &waiting).is_err());
    }
}
