//! `sm handoff`.
//!
//! What it prints and how it exits is a contract that agents are told about: every failure begins
//! with `Error: `. The file is only looked at here, never changed; the daemon judges what is in it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use sm_client::wire;
use sm_core::template::handoff_template;
use sm_daemon::api::types::{HandoffAnswer, HandoffBody, SessionView};
use sm_daemon::ask::{Ask, BY_HOOK, What, scheduled, secret_hash};

use super::handoff_generate::Generated;
use super::handoff_source::{document, input};
use super::send::seconds;
use super::wait::waits_for_you;
use super::{check, handoff_generate};
use crate::client::{Answer, Daemon, fresh_id};
use crate::environment::{self, Own};
use crate::error::{CommandError, ExitCode, Kind, Result};
use crate::print::{self, Printer};
use crate::text::one_line;

/// Goes on in a fresh context, from a document that says where the work stands.
///
/// An agent writes down its state, runs `sm handoff FILE` as the last thing of its turn, and ends
/// the turn. Then sm archives the old context, clears it, and starts the new one with the document:
/// same session, same name, same terminal. If the new one cannot be started, the old one goes on.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Handoff {
    /// The document: a text file that holds all the next context needs; `-`: standard input.
    #[arg(required_unless_present_any = ["auto", "generate", "template", "cancel"])]
    file: Option<PathBuf>,
    /// Schedule it also if a strict gate finds an error in it: it is older than the turn; objective,
    /// state or next action is missing; it is the template still; a secret is in it; it says that
    /// tests pass which failed. What is missing, empty, too large or no text is refused all the same.
    #[arg(long, requires = "file", conflicts_with_all = ["template", "cancel"])]
    force: bool,
    /// sm writes the document, from the session's ledger. With --session also for one whose agent
    /// has ended: it is started in a new context, with the environment of this shell.
    #[arg(long, conflicts_with_all = ["file", "force", "template", "cancel"])]
    auto: bool,
    /// The model itself writes the document, on a copy of the conversation that is thrown away: the
    /// session goes on undisturbed, and is only handed off once the document is there. Ctrl+C or
    /// `sm handoff --cancel` ends it.
    #[arg(long, value_name = "FOCUS", num_args = 0..=1, default_missing_value = "",
          conflicts_with_all = ["file", "force", "auto", "template", "cancel", "check"])]
    generate: Option<String>,
    /// With --generate: print the document that would be handed over, and do nothing else.
    #[arg(long, requires = "generate", conflicts_with = "edit")]
    preview: bool,
    /// With --generate: open the document in $VISUAL or $EDITOR first. What is saved is handed over;
    /// an editor that fails, or an empty file, cancels.
    #[arg(long, requires = "generate")]
    edit: bool,
    /// Only say what the gate finds in the document; nothing is scheduled. Needs no session.
    #[arg(long, requires = "file", conflicts_with_all = ["template", "cancel", "force"])]
    check: bool,
    /// Print what a good document holds, as a template to fill in.
    #[arg(long, conflicts_with_all = ["file", "cancel", "session", "json"])]
    template: bool,
    /// Take back what is scheduled, before it runs.
    #[arg(long, conflicts_with = "file")]
    cancel: bool,
    /// For a person, from outside: hand this session off. Refused inside a session.
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// For a person, from outside: wait until the next context has its prompt; not in time: exit
    /// code 3, and it goes on.
    #[arg(
        long,
        short,
        value_name = "SECONDS",
        num_args = 0..=1,
        default_missing_value = "300",
        value_parser = seconds,
        requires = "session",
        conflicts_with_all = ["template", "cancel", "check"]
    )]
    wait: Option<Duration>,
    /// The answer as JSON: `{status, id, when, replaced, warnings}`; with `--wait` the handoff, as
    /// `sm handoffs show --json` prints it.
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Exit codes: 0 scheduled; 1 refused, with what to fix (--check: a strict gate would refuse it); 2 not inside a session, or no daemon;
3 asked for by the agent's hook, as in a sandbox: the answer comes with the tool's result.
What the agent does after it in the same turn is lost. Messages go to the next context.";

/// Wording that is promised.
const NOT_INSIDE: &str =
    "CLAUDE_SESSION_MANAGER_ID not set. sm handoff can only be called from within a session.";
const UNAVAILABLE: &str = "Session manager unavailable";

/// What an agent takes whole, in characters.
const LEDGER_BUDGET: u32 = 9_500;

/// Between two looks at a handoff that is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Who wrote the document, where that is not who asks.
#[derive(Default)]
struct Authorship {
    /// sm itself, from the ledger.
    auto: bool,
    author: Option<&'static str>,
    /// How it came about.
    note: Option<String>,
}

/// Where the document is.
enum Source {
    /// An absolute path.
    File(String),
    Text(String),
    /// sm writes it.
    Ledger,
}

/// Who asks, for which session.
enum Asker {
    Agent(String),
    Person(String),
}

impl Handoff {
    pub fn run(self, out: &mut Printer) -> Result<ExitCode> {
        match self.done(out) {
            Ok(code) => Ok(code),
            Err(error) => {
                print::error_labelled("Error: ", &error);
                Ok(error.kind.exit_code())
            }
        }
    }

    fn done(&self, out: &mut Printer) -> Result<ExitCode> {
        if self.template {
            out.text(handoff_template())?;
            return Ok(ExitCode::SUCCESS);
        }
        if self.reads_input() && self.check {
            return Err(CommandError::usage(
                "--check needs a file, not standard input",
            ));
        }
        if let (true, Some(file)) = (self.check, &self.file) {
            return check::run(&document(file)?, self.session.as_deref(), self.json, out);
        }
        let asker = self.asker()?;
        match &self.file {
            Some(_) if self.reads_input() => self.schedule(&asker, Source::Text(input()?), out)?,
            Some(file) => self.schedule(&asker, Source::File(document(file)?), out)?,
            None if self.auto => self.schedule(&asker, Source::Ledger, out)?,
            None if self.generate.is_some() => self.generate(&asker, out)?,
            None => self.take_back(&asker, out)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn asker(&self) -> Result<Asker> {
        match (&self.session, Own::from_env()) {
            (None, Some(own)) => Ok(Asker::Agent(own.id)),
            (Some(named), None) => Ok(Asker::Person(named.clone())),
            (Some(_), Some(_)) => Err(CommandError::refused(
                "sm handoff is self-directed only — inside a session, --session is refused",
            )
            .hint("leave --session away: this session itself is handed off")),
            (None, None) => Err(CommandError::not_usable(NOT_INSIDE).hint(
                "from outside, say which session: sm handoff FILE --session NAME (`sm ls` lists them)",
            )),
        }
    }

    fn reads_input(&self) -> bool {
        self.file.as_deref() == Some(Path::new("-"))
    }

    fn schedule(&self, asker: &Asker, source: Source, out: &mut Printer) -> Result<()> {
        let authorship = Authorship {
            auto: self.auto,
            ..Authorship::default()
        };
        self.schedule_by(asker, source, &authorship, out)
    }

    fn schedule_by(
        &self,
        asker: &Asker,
        source: Source,
        authorship: &Authorship,
        out: &mut Printer,
    ) -> Result<()> {
        let (session, requester_session_id, person) = match asker {
            Asker::Agent(own) => (own, Some(own.clone()), false),
            Asker::Person(named) => (named, None, true),
        };
        let (file_path, text) = match source {
            Source::File(path) => (path, None),
            Source::Text(text) => (String::new(), Some(text)),
            Source::Ledger => (String::new(), None),
        };
        let body = HandoffBody {
            document: text,
            id: Some(format!("h{}", fresh_id(10)?)),
            requester_session_id,
            person,
            file_path,
            force: self.force,
            auto: authorship.auto,
            env: (authorship.auto && person).then(environment::variables),
            author: authorship.author.map(str::to_owned),
            note: authorship.note.clone(),
        };
        let ask = || What::Handoff {
            file_path: body.file_path.clone(),
            force: self.force,
            auto: authorship.auto,
        };
        // Before it is asked for: a context may begin while we look.
        let before = match self.wait {
            Some(_) => Some(Daemon::of_session()?.session(session)?.value),
            None => None,
        };
        let answer = match reach(|daemon| daemon.handoff(session, &body)) {
            Err(error) if error.kind == Kind::Sandboxed && body.document.is_some() => {
                return Err(error.hint("from this sandbox only a file can be handed over: write the document into one and run sm handoff FILE"));
            }
            Err(error) if error.kind == Kind::Sandboxed => {
                return self.by_hook(asker, body.id.as_deref(), ask(), error, out);
            }
            other => other?,
        };
        if self.json && self.wait.is_none() {
            return out.json(&answer.json);
        }
        if !self.json {
            for line in told(&answer.value) {
                out.line(&line)?;
            }
            out.flush()?;
        }
        match (self.wait, &answer.value.id, before) {
            (Some(patience), Some(id), Some(before)) => self.follow(&before, id, patience, out),
            (Some(_) | None, _, _) => Ok(()),
        }
    }

    /// Until the next context has its prompt, or there will be none.
    fn follow(
        &self,
        before: &SessionView,
        id: &str,
        patience: Duration,
        out: &mut Printer,
    ) -> Result<()> {
        let daemon = Daemon::of_session()?.within(patience);
        let deadline = Instant::now() + patience;
        let mut stuck = Stuck::default();
        loop {
            let known = daemon.one_handoff(id);
            let state = match &known {
                Ok(known) => known.value.state.clone(),
                // A run in somebody's terminal keeps its own list: its context tells.
                Err(error) if error.kind == Kind::Refused => {
                    let now = daemon.session(&before.id)?.value;
                    match now.generation > before.generation {
                        true => "prompted".to_owned(),
                        false => "scheduled".to_owned(),
                    }
                }
                Err(_) => "scheduled".to_owned(),
            };
            let name = one_line(&before.name);
            match state.as_str() {
                "prompted" | "done" => {
                    return match (&known, self.json) {
                        (Ok(known), true) => out.json(&known.json),
                        (Ok(_) | Err(_), _) => {
                            let now = daemon.session(&before.id)?.value.generation;
                            out.line(&format!("{name} goes on in context {now}"))
                        }
                    };
                }
                "scheduled" | "prepared" | "cleared" if Instant::now() < deadline => {
                    stuck.look(&daemon, &before.id);
                    std::thread::sleep(LOOK_EVERY);
                }
                "scheduled" | "prepared" | "cleared" => {
                    let error = CommandError::not_in_time(format!(
                        "the next context of {name} has not begun within {} s: the handoff is {state}, and goes on",
                        patience.as_secs_f64()
                    ));
                    stuck.look(&daemon, &before.id);
                    let error = match stuck.now {
                        Some(answer) => error.hint(answer),
                        None => error,
                    };
                    return Err(error.hint(format!("look: sm handoffs show {id}; take it back: sm handoff --cancel --session {name}")));
                }
                _ => {
                    return Err(CommandError::refused(format!(
                        "handoff {id} of {name} ended without a next context: {state}"
                    ))
                    .hint(format!("why: sm handoffs show {id}")));
                }
            }
        }
    }

    /// Nobody can be reached from here: the request is printed, and the agent's hook after this call
    /// carries it. Only where there is such a hook, and a proof.
    fn by_hook(
        &self,
        asker: &Asker,
        id: Option<&str>,
        what: What,
        error: CommandError,
        out: &mut Printer,
    ) -> Result<()> {
        let (Asker::Agent(_), Some(secret), true) =
            (asker, Own::from_env().and_then(|own| own.secret), carried())
        else {
            return Err(error);
        };
        let at = SystemTime::now().duration_since(UNIX_EPOCH);
        let at = at.map_or(0, |at| i64::try_from(at.as_millis()).unwrap_or(i64::MAX));
        let id = id.unwrap_or_default().to_owned();
        let Some(line) = (Ask { id, at, what }).line(&secret_hash(&secret)) else {
            return Err(error);
        };
        if self.json {
            out.json(&serde_json::json!({"status": "asked", "ask": line}))?;
        } else {
            out.line(&line)?;
        }
        Err(CommandError::not_in_time(format!(
            "Not done yet: in this sandbox the request goes by sm's hook. The answer comes with this result and begins with {BY_HOOK}"
        ))
        .hint("if it is not there, nothing was done: run this outside of the sandbox (Codex: with escalated permissions)"))
    }

    /// A document by the model, then the usual way. One that nobody could go on from is replaced by
    /// the ledger's before anything is scheduled.
    fn generate(&self, asker: &Asker, out: &mut Printer) -> Result<()> {
        let (Asker::Agent(named) | Asker::Person(named)) = asker;
        let daemon = Daemon::of_session()?;
        let session = daemon.session(named)?.value;
        let focus = self.generate.as_deref().unwrap_or_default();
        let made = handoff_generate::document(daemon.paths(), &session, focus)?;
        let Generated { file, written } = &made;
        let unfit = written.unfit.join("; ");
        let note = match written.unfit.is_empty() {
            true => written.told.clone(),
            false => format!(
                "sm's own document, from the ledger: the model's was not fit to go on from ({unfit}); it is kept in {}. {}",
                file.display(),
                written.told
            ),
        };
        if self.preview {
            return self.show(&daemon, &session.id, &made, &note, out);
        }
        if !self.json {
            out.line(&note)?;
        }
        let mut authorship = Authorship {
            // also where there was no model: the daemon's ledger knows more than the transcript
            auto: !written.unfit.is_empty() || written.author == "ledger",
            author: (written.author == "model").then_some("model"),
            note: Some(note),
        };
        let mut file = file.clone();
        if self.edit {
            if authorship.auto {
                let text = daemon.ledger(&session.id, LEDGER_BUDGET, None)?.value.text;
                file = handoff_generate::keep(daemon.paths(), &session.id, &text)?;
            }
            if handoff_generate::edit(&file)? {
                authorship.author = authorship.author.filter(|_| !authorship.auto);
                authorship.auto = false;
                let edited = "edited by a person before it was handed over";
                authorship.note = authorship.note.map(|note| format!("{edited}. {note}"));
            }
        }
        if authorship.auto {
            authorship.author = None;
            return self
                .schedule_by(asker, Source::Ledger, &authorship, out)
                .map_err(|error| {
                    let kept = file.display();
                    error.hint(format!(
                        "the model's document is kept in {kept}: complete it ({unfit}), and hand off with `sm handoff {kept}`"
                    ))
                });
        }
        // it was paid for: whoever is refused must be able to find it
        self.schedule_by(asker, Source::File(document(&file)?), &authorship, out)
            .map_err(|error| {
                let kept = file.display();
                error.hint(format!(
                    "the document is kept in {kept}: correct it, and hand off with `sm handoff {kept}`"
                ))
            })
    }

    /// What would be handed over; nothing is scheduled.
    fn show(
        &self,
        daemon: &Daemon,
        session: &str,
        made: &Generated,
        note: &str,
        out: &mut Printer,
    ) -> Result<()> {
        let Generated { file, written } = made;
        let (author, text) = match written.unfit.is_empty() {
            true => (written.author.as_str(), written.document.clone()),
            false => (
                "ledger",
                daemon.ledger(session, LEDGER_BUDGET, None)?.value.text,
            ),
        };
        if self.json {
            return out.json(&serde_json::json!({
                "status": "previewed", "author": author, "note": note, "unfit": written.unfit,
                "file": file, "document": text,
            }));
        }
        print::note(note);
        print::note(&format!(
            "nothing is scheduled; hand it off with: sm handoff {}",
            file.display()
        ));
        out.line(text.trim_end())
    }

    /// A document that is still being written has not been scheduled. Whether there was one.
    fn stops_the_writer(&self, asker: &Asker) -> Result<bool> {
        let daemon = Daemon::of_session()?;
        match asker {
            Asker::Agent(own) => handoff_generate::cancel(daemon.paths(), own),
            // who is meant by the name only the daemon knows
            Asker::Person(named) => match daemon.session(named) {
                Ok(known) => handoff_generate::cancel(daemon.paths(), &known.value.id),
                Err(_) => Ok(false),
            },
        }
    }

    fn take_back(&self, asker: &Asker, out: &mut Printer) -> Result<()> {
        let (Asker::Agent(session) | Asker::Person(session)) = asker;
        if self.stops_the_writer(asker)? {
            return match self.json {
                true => out.json(&serde_json::json!({"status": "cancelled"})),
                false => {
                    out.line("The document being written is cancelled — the context stays as it is")
                }
            };
        }
        let answer = match reach(|daemon| daemon.cancel_handoff(session)) {
            Err(error) if error.kind == Kind::Sandboxed => {
                return self.by_hook(asker, None, What::Cancel, error, out);
            }
            other => other?,
        };
        if self.json {
            return out.json(&answer.json);
        }
        let id = answer.value.id.as_deref().map(one_line).unwrap_or_default();
        out.line(&format!(
            "Handoff {id} cancelled — the context stays as it is"
        ))
    }
}

/// Whether nothing goes on until a person has answered a dialog; said once.
#[derive(Default)]
struct Stuck {
    now: Option<String>,
    told: bool,
}

impl Stuck {
    fn look(&mut self, daemon: &Daemon, session: &str) {
        // That it cannot be asked keeps nothing from being waited for.
        let known = daemon.session(session).ok().map(|known| known.value);
        let waits = known.filter(|session| session.state == "waiting");
        self.now = waits.as_ref().map(waits_for_you);
        if let (Some(answer), false) = (&self.now, self.told) {
            print::note(answer);
            self.told = true;
        }
    }
}

/// Asks the daemon. That there is none has its own words here; the cause becomes a hint.
fn reach(
    ask: impl FnOnce(&Daemon) -> Result<Answer<HandoffAnswer>>,
) -> Result<Answer<HandoffAnswer>> {
    let answer = Daemon::of_session().and_then(|daemon| ask(&daemon));
    let answer = answer.map_err(|error| match error.kind {
        Kind::NotUsable => {
            let mut told = CommandError::not_usable(UNAVAILABLE).hint(error.message);
            told.hints.extend(error.hints);
            if std::env::var_os(sm_client::wire::RUN_VAR).is_some() {
                // Nobody will answer there any more.
                return told.hint(
                    "the document stays where it is; `sm channel create FILE` puts it into this folder's channel, from which `sm run --handoff` goes on",
                );
            }
            told.hint("the document stays where it is; once sm works again, repeat the command")
        }
        Kind::Sandboxed => {
            let mut told = CommandError::new(Kind::Sandboxed, UNAVAILABLE).hint(error.message);
            told.hints.extend(error.hints);
            told.hint("the document stays where it is; once sm works again, repeat the command")
        }
        Kind::Refused | Kind::NotInTime | Kind::Usage | Kind::ReaderLeft => error,
    })?;
    // A refusal comes as an answer.
    match &answer.value.error {
        Some(why) => Err(CommandError::refused(why.clone())),
        None => Ok(answer),
    }
}

/// Whether a hook sees what we print: Codex's own, which came with its launch.
fn carried() -> bool {
    let set = |key| std::env::var(key).unwrap_or_default();
    set(wire::HOOKS_VAR) == wire::HOOKS_INJECTED && !set("CODEX_THREAD_ID").is_empty()
}

/// What came of it, for who asked.
pub(super) fn told(answer: &HandoffAnswer) -> Vec<String> {
    let mut lines = vec![scheduled(answer.when).to_owned()];
    if let Some(replaced) = &answer.replaced {
        lines.push(format!(
            "It replaces handoff {}, which was scheduled before and will not run",
            one_line(replaced)
        ));
    }
    for warning in &answer.warnings {
        lines.push(format!("Warning: {}", one_line(warning)));
    }
    lines
}

#[cfg(test)]
#[path = "handoff_tests.rs"]
mod tests;
