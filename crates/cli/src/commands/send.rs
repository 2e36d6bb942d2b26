//! `sm send`.

use std::fs::File;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use sm_daemon::api::types::{MessageView, SendBody};

use crate::client::{Answer, Daemon, WAIT_SLICE, fresh_id};
use crate::commands::new::{read_stdin, read_text};
use crate::error::{CommandError, Kind, Result};
use crate::print::{self, Printer};
use crate::text::{Look, Tone, one_line};

/// So long a receipt is waited for, so that it says more than "queued".
const SETTLE: Duration = Duration::from_millis(1000);
/// Between two looks meanwhile.
const LOOK: Duration = Duration::from_millis(50);

/// Sends a message to a session and says what became of it.
///
/// It is neither typed into a person's draft nor into an open dialog: it is held until that is
/// over, and delivered then.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sm send api \"run the tests\"
  sm send api --wait 30 --mode important \"stop using the old client\"
  sm send --to api,web,docs \"the schema has changed: pull\"
  git diff | sm send api -")]
pub struct Send {
    /// The session; with `--to`: the first word of the text.
    #[arg(required_unless_present = "to")]
    session: Option<String>,
    #[command(flatten)]
    text: Text,
    /// To each of these sessions, separated by commas.
    #[arg(long, value_name = "SESSION,…", value_delimiter = ',')]
    to: Vec<String>,
    /// How urgent it is.
    #[arg(long, short, value_enum, default_value_t = Mode::Sequential)]
    mode: Mode,
    /// Type it as it is: a leading `/` is a command of the agent. For people: refused inside a session.
    #[arg(long)]
    raw: bool,
    /// Wait until it is proven that the agent has it; not in time: exit code 3, it stays queued.
    #[arg(
        long,
        short,
        value_name = "SECONDS",
        num_args = 0..=1,
        default_missing_value = "30",
        value_parser = patience
    )]
    wait: Option<Duration>,
    /// Tell this session when the turn that took the message has ended; outside of sessions: you, by
    /// `notify.command`.
    #[arg(long)]
    notify: bool,
    /// Give it up if it could not be delivered in this time.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    expires: Option<Duration>,
    /// The message as JSON; with `--to`: an array.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// When the turn has ended.
    Sequential,
    /// At the agent's next step, within its turn.
    Important,
    /// Interrupt the turn.
    Urgent,
}

impl Mode {
    fn word(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Important => "important",
            Self::Urgent => "urgent",
        }
    }
}

/// The sessions of `--to`, each once.
fn each_once(to: &[String]) -> Result<Vec<&str>> {
    let mut named: Vec<&str> = Vec::new();
    for name in to.iter().map(|name| name.trim()) {
        if !name.is_empty() && !named.contains(&name) {
            named.push(name);
        }
    }
    match named.is_empty() && !to.is_empty() {
        true => Err(CommandError::usage("--to names no session")
            .hint("sm send --to api,web TEXT; `sm ls` lists them")),
        false => Ok(named),
    }
}

/// The number may be left out, but then the text must not take its place.
fn patience(text: &str) -> std::result::Result<Duration, String> {
    seconds(text).map_err(|why| format!("{why}; without one put --wait behind the text"))
}

pub fn seconds(text: &str) -> std::result::Result<Duration, String> {
    text.parse::<f64>()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|wait| *wait <= Duration::from_secs(366 * 86_400))
        .ok_or_else(|| "a number of seconds is needed".to_owned())
}

impl Send {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let to = each_once(&self.to)?;
        let daemon = Daemon::open()?;
        let own = daemon.own().map(|own| own.id.clone());
        if self.notify && own.is_none() && !tells_people(&daemon) {
            return Err(CommandError::not_usable(
                "--notify tells the sending session, or you by notify.command: this is not inside a session of sm, and no command is set",
            )
            .hint(format!(
                "set notify.command (docs/config.md), or `sm wait {}` for the end of its turn",
                self.session.as_deref().unwrap_or("NAME")
            )));
        }
        // With --to the first word stands where the session would.
        let first = self.session.as_deref().filter(|_| !self.to.is_empty());
        let text = self.text.read_after(first)?;
        let body = || -> Result<SendBody> {
            Ok(SendBody {
                id: fresh_id(16)?,
                text: text.clone(),
                mode: Some(self.mode.word().to_owned()),
                raw: self.raw,
                from: own.clone(),
                notify: self.notify,
                expires_ms: self
                    .expires
                    .map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            })
        };
        // A person's own deadline holds for all of it.
        let deadline = Instant::now() + self.wait.unwrap_or(SETTLE);
        let daemon = match self.wait {
            Some(wait) => daemon.within(wait),
            None => daemon,
        };
        if let Some(session) = self.session.as_deref().filter(|_| self.to.is_empty()) {
            let sent = send(&daemon, session, body()?)?;
            let known = self.follow(&daemon, sent, deadline)?;
            if self.json {
                out.json(&known.json)?;
            }
            return self.tell(session, &known.value, out);
        }
        self.to_each(&to, &daemon, &body, deadline, out)
    }

    /// All have it before any is waited for; one that cannot get it keeps it from none of the others.
    fn to_each(
        &self,
        to: &[&str],
        daemon: &Daemon,
        body: &dyn Fn() -> Result<SendBody>,
        deadline: Instant,
        out: &mut Printer,
    ) -> Result<()> {
        let mut sent = Vec::new();
        for session in to.iter().copied() {
            sent.push((session, send(daemon, session, body()?)));
        }
        let (mut messages, mut failed) = (Vec::new(), Vec::new());
        for (session, sent) in sent {
            let known = sent.and_then(|sent| self.follow(daemon, sent, deadline));
            let told = known.and_then(|known| {
                let told = self.tell(session, &known.value, out);
                messages.push(known.json);
                told
            });
            if let Err(error) = told {
                out.flush()?;
                print::error(&error);
                failed.push((session, error.kind));
            }
        }
        if self.json {
            out.json(&messages.into())?;
        }
        let names: Vec<String> = failed.iter().map(|(name, _)| one_line(name)).collect();
        let of = to.len();
        match failed.iter().find(|(_, kind)| *kind != Kind::NotInTime) {
            None if failed.is_empty() => Ok(()),
            None => Err(CommandError::not_in_time(format!(
                "not yet proven for {} of {of}: {}",
                failed.len(),
                names.join(", ")
            ))),
            Some(_) => Err(CommandError::refused(format!(
                "{} of {of} do not have it: {}",
                failed.len(),
                names.join(", ")
            ))),
        }
    }

    /// Says what became of one.
    fn tell(&self, session: &str, message: &MessageView, out: &mut Printer) -> Result<()> {
        match Outcome::of(message) {
            Outcome::Failed => Err(failed(session, message)),
            Outcome::Open if self.wait.is_some() => Err(not_in_time(session, message)),
            Outcome::Open | Outcome::Arrived if self.json => Ok(()),
            Outcome::Open | Outcome::Arrived => {
                let text = receipt(&out.look, session, message);
                out.text(&text)
            }
        }
    }

    /// What becomes of the message until the deadline. Without `--wait` a hold is an answer;
    /// with it, only arriving or failing is.
    fn follow(
        &self,
        daemon: &Daemon,
        mut known: Answer<MessageView>,
        deadline: Instant,
    ) -> Result<Answer<MessageView>> {
        let settled = deadline.min(Instant::now() + SETTLE);
        let (mut said, mut looked) = (false, false);
        loop {
            let now = Instant::now();
            // Others may have used the time up: how it is now is looked at all the same.
            let over = now >= deadline && looked;
            if Outcome::of(&known.value) != Outcome::Open || over {
                return Ok(known);
            }
            let held = known.value.state == "held";
            if held && self.wait.is_none() {
                return Ok(known);
            }
            if held && !said && std::io::stderr().is_terminal() {
                let why = known.value.reason.as_deref().unwrap_or_default();
                print::note(&format!("held: {}; waiting …", one_line(why)));
                said = true;
            }
            // At first it may become held, which is worth saying; then only arriving counts.
            let slice = if now < settled && !held {
                LOOK
            } else {
                WAIT_SLICE
            };
            let id = known.value.id.clone();
            known = daemon.message_until(
                &known.value.session,
                &id,
                "submitted",
                slice.min(deadline.saturating_duration_since(now)),
            )?;
            looked = true;
        }
    }
}

/// A text on the command line, in a file or from stdin.
#[derive(Debug, Args)]
pub struct Text {
    /// The text; several words are joined by spaces; `-` reads it from stdin.
    #[arg(conflicts_with = "file")]
    text: Vec<String>,
    /// The text is in this file.
    #[arg(long, short, value_name = "PATH")]
    file: Option<PathBuf>,
}

impl Text {
    pub fn read(&self) -> Result<String> {
        self.read_after(None)
    }

    /// With a word that stands before the others.
    fn read_after(&self, first: Option<&str>) -> Result<String> {
        let words = first
            .into_iter()
            .chain(self.text.iter().map(String::as_str));
        let words: Vec<&str> = words.collect();
        let text = match (&self.file, words.as_slice()) {
            (Some(_), [_, ..]) => {
                return Err(CommandError::usage("either a text or a file, not both"));
            }
            (Some(path), []) => {
                let file =
                    File::open(path).map_err(|error| CommandError::file(path, "read", &error))?;
                read_text(file, &path.display().to_string())?
            }
            (None, ["-"]) => read_stdin()?,
            (None, words) => words.join(" "),
        };
        if sm_core::comparable::is_blank(&text) {
            return Err(CommandError::usage(
                "there is no text to send (control characters and invisible ones alone are none)",
            ));
        }
        Ok(text)
    }
}

/// Whether a person can be told outside of a terminal.
fn tells_people(daemon: &Daemon) -> bool {
    crate::entry::configuration(daemon.paths())
        .is_ok_and(|config| !config.notify.command.is_empty())
}

/// A shell may carry the identity of a session of another instance: here it is a person.
pub fn send(daemon: &Daemon, session: &str, body: SendBody) -> Result<Answer<MessageView>> {
    let refused = match daemon.send(session, &body) {
        Err(error) if error.kind == Kind::Refused => error,
        other => return other,
    };
    match &body.from {
        Some(own) if daemon.session(own).is_err() && daemon.session(session).is_ok() => {
            print::note("the session this runs in is not known here: sent as a person");
            daemon.send(session, &SendBody { from: None, ..body })
        }
        Some(_) | None => Err(refused),
    }
}

/// What a message's state means for the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Arrived,
    Open,
    Failed,
}

impl Outcome {
    fn of(message: &MessageView) -> Self {
        match message.state.as_str() {
            "submitted" | "consumed" => Self::Arrived,
            "failed" | "expired" | "withdrawn" => Self::Failed,
            // Whatever a newer daemon says, it is not proven to have arrived.
            _ => Self::Open,
        }
    }
}

fn reason(message: &MessageView) -> String {
    message
        .reason
        .as_deref()
        .map_or_else(String::new, |why| format!(": {}", one_line(why)))
}

fn receipt(look: &Look, session: &str, message: &MessageView) -> String {
    let session = one_line(session);
    let id = one_line(&message.id);
    match message.state.as_str() {
        "submitted" | "consumed" => {
            let proof = match message.proof.as_deref() {
                Some("hook") => ", proven by its own hook",
                Some("transcript") => ", proven by its transcript",
                Some(_) | None => "",
            };
            format!(
                "{} {session} has it{proof}{}\n",
                look.paint(Tone::Good, "✓"),
                reason(message)
            )
        }
        "held" => format!(
            "{} held{}\n  it stays queued: sm queue ls {session}    take it back: sm queue rm {session} {id}\n",
            look.paint(Tone::Warn, "!"),
            reason(message)
        ),
        "written" => format!(
            "given to {session}, not yet proven that it took it\n  look: sm queue ls {session} --all\n"
        ),
        state => format!(
            "{} for {session}{}\n  look: sm queue ls {session}    take it back: sm queue rm {session} {id}\n",
            one_line(state),
            reason(message)
        ),
    }
}

fn failed(session: &str, message: &MessageView) -> CommandError {
    let error = CommandError::refused(format!(
        "the message to {} was not delivered: {}",
        one_line(session),
        message
            .reason
            .as_deref()
            .map_or_else(|| one_line(&message.state), one_line)
    ));
    match message.state.as_str() {
        "failed" => error.hint(format!(
            "look at the session: sm show {}",
            one_line(session)
        )),
        _ => error,
    }
}

fn not_in_time(session: &str, message: &MessageView) -> CommandError {
    let session = one_line(session);
    CommandError::not_in_time(format!(
        "not yet proven that {session} has it ({}{}); it stays queued and is delivered when that is possible",
        one_line(&message.state),
        reason(message)
    ))
    .hint(format!(
        "look: sm queue ls {session}; take it back: sm queue rm {session} {}",
        one_line(&message.id)
    ))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::text::tests::look;
    use sm_daemon::api::types::SenderView;

    pub fn message(state: &str, reason: Option<&str>) -> MessageView {
        MessageView {
            id: "feedbeef".into(),
            session: "1a2b3c4d".into(),
            from: SenderView {
                kind: "person".into(),
                id: None,
                name: None,
            },
            mode: "sequential".into(),
            state: state.into(),
            reason: reason.map(str::to_owned),
            hold: None,
            way: Some("paste".into()),
            proof: None,
            label: None,
            text: "run the tests".into(),
            created_at: "2026-03-01T11:58:00Z".into(),
            changed_at: "2026-03-01T11:58:00Z".into(),
        }
    }

    #[test]
    fn receipts_say_what_is_known_and_what_to_do() {
        let mut proven = message("submitted", None);
        proven.proof = Some("hook".into());
        let shown: Vec<String> = [
            proven,
            message(
                "consumed",
                Some("pasted and Enter pressed; this program gives no proof"),
            ),
            message("held", Some("the agent waits for a person's answer")),
            message("queued", None),
            message("written", None),
            message("teleported\x1b[1m", None),
        ]
        .iter()
        .map(|message| receipt(&look(), "api", message))
        .collect();
        insta::assert_snapshot!(shown.concat(), @r"
        ✓ api has it, proven by its own hook
        ✓ api has it: pasted and Enter pressed; this program gives no proof
        ! held: the agent waits for a person's answer
          it stays queued: sm queue ls api    take it back: sm queue rm api feedbeef
        queued for api
          look: sm queue ls api    take it back: sm queue rm api feedbeef
        given to api, not yet proven that it took it
          look: sm queue ls api --all
        teleported[1m for api
          look: sm queue ls api    take it back: sm queue rm api feedbeef
        ");
    }

    #[test]
    fn times_are_numbers() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for bad in ["", "-1", "soon", "inf", "NaN", "1e300"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
