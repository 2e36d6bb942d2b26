//! `sm ask`.

use std::time::{Duration, Instant};

use clap::Args;
use sm_daemon::api::types::{ReplyView, SendBody, SessionView};

use crate::client::{Answer, Daemon, WAIT_SLICE, fresh_id};
use crate::commands::send::{Text, seconds, send};
use crate::error::{CommandError, Result};
use crate::print::Printer;
use crate::text::{many_lines, one_line};

/// Sends a message, waits until the turn that took it has ended, and prints only the reply.
///
/// The reply is what the agent said last in that turn, from its own record. Not in time, or the
/// agent waits for a person: exit code 3; the message stays with the session.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sm ask api \"which port does the server listen on?\"
  git diff | sm ask reviewer --timeout 1800 -")]
pub struct Ask {
    /// The session.
    session: String,
    #[command(flatten)]
    text: Text,
    /// How long, in seconds.
    #[arg(long, short, value_name = "SECONDS", default_value = "600", value_parser = seconds)]
    timeout: Duration,
    /// As JSON: `{done, reply, message, session}`.
    #[arg(long)]
    json: bool,
}

impl Ask {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let text = self.text.read()?;
        let daemon = Daemon::open()?.within(self.timeout);
        has_record(&daemon.session(&self.session)?.value)?;
        let body = SendBody {
            id: fresh_id(16)?,
            text,
            from: daemon.own().map(|own| own.id.clone()),
            ..SendBody::default()
        };
        let deadline = Instant::now() + self.timeout;
        let message = send(&daemon, &self.session, body)?.value;
        let told = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let told = daemon.reply(&message.session, &message.id, left.min(WAIT_SLICE))?;
            let waits = !told.value.done && is_open(&told);
            if !waits || left <= WAIT_SLICE {
                break told;
            }
        };
        if self.json {
            out.json(&told.json)?;
        }
        match &told.value {
            ReplyView { done: true, .. } if self.json => Ok(()),
            ReplyView {
                done: true,
                reply: Some(reply),
                ..
            } => {
                let reply = many_lines(reply);
                out.text(&reply)?;
                match reply.ends_with('\n') {
                    true => Ok(()),
                    false => out.text("\n"),
                }
            }
            view => Err(self.no_reply(view, &one_line(&daemon.called(&view.session)))),
        }
    }

    /// Why there is no reply, and what can be done. `called`: by what a command reaches the session.
    fn no_reply(&self, view: &ReplyView, called: &str) -> CommandError {
        let name = one_line(&view.session.name);
        let name = name.as_str();
        let why = one_line(&view.session.state_reason);
        let message = &view.message;
        let reason = message.reason.as_deref().map(one_line).unwrap_or_default();
        let has_it = matches!(message.state.as_str(), "submitted" | "consumed");
        if view.done
            && let Some(error) = &view.session.turn_error
        {
            let error = one_line(error);
            return CommandError::refused(format!("the turn of {name} ended in an error: {error}"))
                .hint(format!("mend it: sm attach {called}; then ask again"));
        }
        if view.done {
            return CommandError::refused(format!("{name} has ended its turn without a word"))
                .hint(format!("what it did: sm output {called}"));
        }
        if matches!(message.state.as_str(), "failed" | "expired" | "withdrawn") {
            let state = one_line(&message.state);
            return CommandError::refused(format!("the message is {state}: {reason}"))
                .hint(format!("sm queue ls {called} --all"));
        }
        if crate::attach::has_ended(&view.session) {
            let state = one_line(&view.session.state);
            return CommandError::refused(format!("{name} is {state} and gives no reply: {why}"))
                .hint(format!(
                    "bring it back: sm restore {}",
                    one_line(&view.session.id)
                ));
        }
        let id = &message.id;
        if view.session.state == "waiting" {
            let then = match has_it {
                true => "it has the message, and replies when it was answered",
                false => "the message stays queued until it was answered",
            };
            return CommandError::not_in_time(format!("{name} waits for a person: {why}; {then}"))
                .hint(format!(
                    "answer it: sm attach {called}    take the message back: sm queue rm {called} {id}"
                ));
        }
        if let Some(limit) = &view.session.limit
            && view.session.state == "limited"
        {
            return CommandError::not_in_time(format!(
                "{name} stands still until {} (limit of its provider: {}); the message stays queued",
                one_line(&limit.until),
                one_line(&limit.kind)
            ))
            .hint(format!(
                "the reply, later: sm output {called}    take the message back: sm queue rm {called} {id}"
            ));
        }
        let seconds = self.timeout.as_secs_f64();
        let what = match has_it {
            true => format!("{name} has the message and is still at it after {seconds} s ({why})"),
            false if reason.is_empty() => {
                format!("{name} has not taken the message within {seconds} s; it stays queued")
            }
            false => format!("{name} has not taken the message within {seconds} s: {reason}"),
        };
        CommandError::not_in_time(what).hint(match has_it {
            true => format!("sm wait {called} --for idle && sm output {called}"),
            false => {
                format!("look: sm queue ls {called}    take it back: sm queue rm {called} {id}")
            }
        })
    }
}

/// What any other program answers is on its screen, and nothing tells where an answer begins.
fn has_record(session: &SessionView) -> Result<()> {
    if session.agent != "generic" {
        return Ok(());
    }
    let name = one_line(&session.name);
    Err(CommandError::refused(format!(
        "{name} runs a program that keeps no record of what it answers, so no reply can be told from the rest of its screen; nothing was sent"
    ))
    .hint(format!(
        "send it, then look at its screen: sm send {name} \"…\" && sm wait {name} && sm output {name}"
    )))
}

/// Whether waiting alone can bring a reply.
fn is_open(told: &Answer<ReplyView>) -> bool {
    let ReplyView {
        message, session, ..
    } = &told.value;
    let failed = matches!(message.state.as_str(), "failed" | "expired" | "withdrawn");
    !failed && session.state != "waiting" && !crate::attach::has_ended(session)
}
