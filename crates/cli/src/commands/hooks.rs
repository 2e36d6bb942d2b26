//! `sm hooks`: our hooks in an agent's own settings, for agents that are started without sm.
//!
//! What sm starts has its hooks from the launch, and no file of the user's is touched. Only this
//! command changes one, when a person asks: with a backup, and so that it can be taken back.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use similar::TextDiff;
use sm_agents::surgery::{After, Found, Line, LinePolicy};
use sm_agents::{install, kind};
use sm_client::footprint::TraceKind;
use sm_core::AgentKind;

use crate::companion::companion;
use crate::error::{CommandError, Result};
use crate::print::{self, Printer};
use crate::settings_file::SettingsFile;
use crate::text::{Cell, Look, Tone, count, many_lines, table};
use crate::traces;

/// Puts sm's hooks into an agent's own settings, for agents started without sm.
///
/// Agents that sm starts have them from their launch, and need none of this.
#[derive(Debug, Args)]
pub struct Hooks {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Install(Change),
    Remove(Remove),
    Status(Status),
}

/// Adds the hooks and the status line; everything else in the file stays as it is.
///
/// Your own hooks run beside them, your own status line is shown by sm's. A backup is written
/// beside the file. Doing it twice is the same as once.
#[derive(Debug, Args)]
struct Change {
    /// The agent; without it: every one whose settings folder exists.
    agent: Option<Agent>,
    /// Only show what would change.
    #[arg(long)]
    dry_run: bool,
    /// Whose settings: yours, or those of the project in this folder.
    #[arg(long, default_value = "user")]
    scope: Scope,
}

/// Takes out exactly what `install` put in.
#[derive(Debug, Args)]
struct Remove {
    #[command(flatten)]
    change: Change,
}

/// Shows where the hooks are installed, and whether they can run.
#[derive(Debug, Args)]
struct Status {
    /// The agent; without it: all.
    agent: Option<Agent>,
    /// Whose settings; without it: both.
    #[arg(long)]
    scope: Option<Scope>,
    /// As JSON: an array of `{agent, scope, file, state, hooks, missing, status_line, programs,
    /// trusted, problem}`.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Agent {
    Claude,
    Codex,
}

impl Agent {
    fn kind(self) -> AgentKind {
        match self {
            Self::Claude => AgentKind::Claude,
            Self::Codex => AgentKind::Codex,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scope {
    User,
    Project,
}

impl Scope {
    fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }

    /// The status line of a project would hide the user's own.
    fn line_policy(self) -> LinePolicy {
        match self {
            Self::User => LinePolicy::Add,
            Self::Project => LinePolicy::OnlyChain,
        }
    }
}

impl Hooks {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        match self.command {
            Command::Install(change) => {
                let program = hook_program()?;
                let places = change.places()?;
                if places.is_empty() {
                    return Err(CommandError::refused(
                        "no agent has settings here, so there is nothing to change",
                    )
                    .hint("name the agent: sm hooks install claude"));
                }
                change.each(places, out, |place, dry_run, out| {
                    place.install(&program, dry_run, out)
                })
            }
            Command::Remove(Remove { change }) => {
                let places = change.places()?;
                if places.is_empty() {
                    // as it should be: an uninstall goes on
                    return out.line("no agent has settings here, so sm's hooks are in none");
                }
                change.each(places, out, Place::remove)
            }
            Command::Status(status) => status.run(out),
        }
    }
}

impl Change {
    /// The settings that are meant: of the agent that is named, or of all that have some.
    fn places(&self) -> Result<Vec<Place>> {
        if let Some(agent) = self.agent {
            return Ok(vec![Place::of(agent.kind(), self.scope)?]);
        }
        let mut there = Vec::new();
        for kind in install::AGENTS {
            let place = Place::of(kind, self.scope)?;
            if place.file.parent().is_some_and(Path::is_dir) {
                there.push(place);
            }
        }
        Ok(there)
    }

    /// Does it for every one; one that fails does not keep the others from it.
    fn each(
        &self,
        places: Vec<Place>,
        out: &mut Printer,
        mut act: impl FnMut(&Place, bool, &mut Printer) -> Result<()>,
    ) -> Result<()> {
        let mut failed = None;
        for place in places {
            if let Err(error) = act(&place, self.dry_run, out)
                && let Some(earlier) = failed.replace(error)
            {
                print::error(&earlier);
            }
        }
        failed.map_or(Ok(()), Err)
    }
}

/// The settings of an agent in a scope.
struct Place {
    kind: AgentKind,
    scope: Scope,
    file: PathBuf,
}

impl Place {
    fn of(kind: AgentKind, scope: Scope) -> Result<Self> {
        let folder = match scope {
            Scope::User => {
                let home = kind::agent_home(kind, |key| std::env::var(key).ok());
                home.filter(|home| home.is_absolute()).ok_or_else(|| {
                    CommandError::not_usable("HOME is not set, so there are no settings to find")
                })?
            }
            Scope::Project => {
                let here = std::env::current_dir()
                    .map_err(|error| CommandError::file(Path::new("."), "find", &error))?;
                here.join(install::project_folder(kind).unwrap_or_default())
            }
        };
        Ok(Self {
            kind,
            scope,
            file: folder.join(install::file_name(kind).unwrap_or_default()),
        })
    }

    fn install(&self, program: &str, dry_run: bool, out: &mut Printer) -> Result<()> {
        self.refuse_twice()?;
        let file = SettingsFile::read(&self.file)?;
        let before = file.text()?;
        let policy = self.scope.line_policy();
        let new = install::install(self.kind, before, program, policy)
            .map_err(|why| file.refused(&why))?;
        let name = out.look.path(&self.file.display().to_string());
        if before == Some(new.text.as_str()) {
            return out.line(&format!("{name}: sm's hooks are there already"));
        }
        if dry_run {
            return diff(out, &name, before.unwrap_or_default(), &new.text);
        }
        let found = |text: &str| install::found(self.kind, text).unwrap_or_default();
        let is_first = before.is_none_or(|text| found(text).is_empty());
        // Of a file that has ours already there is one; a second would not be what was before.
        let backup = if is_first || file.backups().is_empty() {
            file.back_up(out.look.now)?
        } else {
            None
        };
        traces::note(self.trace(), &self.file);
        if let Err(error) = file.write(&new.text) {
            if let Some(backup) = backup {
                let _ = std::fs::remove_file(backup);
            }
            return Err(error);
        }
        let found = found(&new.text);
        out.line(&format!(
            "{name}: {} {}",
            count(found.hooks.len(), "hook"),
            if is_first {
                "added"
            } else {
                "brought up to date"
            }
        ))?;
        if let Some(said) = said_of(new.line) {
            out.line(&format!("  {said}"))?;
        }
        if let Some(backup) = backup {
            let backup = out.look.path(&backup.display().to_string());
            out.line(&format!("  as it was before: {backup}"))?;
        }
        match self.scope {
            Scope::User => {}
            Scope::Project => out.line(
                "  this file may be shared with others: the path of sm-hook in it is that of this machine",
            )?,
        }
        self.explain_trust(out)?;
        out.line(&format!("  take it out again: {}", self.command("remove")))
    }

    /// What Codex will ask, and why.
    fn explain_trust(&self, out: &mut Printer) -> Result<()> {
        match self.kind {
            AgentKind::Claude | AgentKind::Native | AgentKind::Generic => Ok(()),
            AgentKind::Codex => out.text(
                "  At its next start, also in a session of sm, Codex will say \"Hooks need review\": it runs a hook\n  \
                only after you have trusted it, as hooks run outside of its sandbox. sm does not answer that\n  \
                for you. Look at them (\"Review hooks\": each runs sm-hook and nothing else), then trust them;\n  \
                until then they do not run. It asks again when the path of sm-hook changes.\n",
            ),
        }
    }

    fn remove(&self, dry_run: bool, out: &mut Printer) -> Result<()> {
        let file = SettingsFile::read(&self.file)?;
        let name = out.look.path(&self.file.display().to_string());
        let Some(before) = file.text()? else {
            return out.line(&format!("{name}: there is no such file"));
        };
        let after = install::remove(self.kind, before).map_err(|why| file.refused(&why))?;
        let left = match &after {
            After::NoFile => "",
            After::Text(text) => text,
        };
        if left == before {
            return out.line(&format!("{name}: sm's hooks are not in it"));
        }
        if dry_run {
            return diff(out, &name, before, left);
        }
        let text = match &after {
            After::NoFile => {
                file.remove()?;
                traces::taken_out(self.trace(), &self.file);
                return out.line(&format!("{name}: removed, as it was made for sm's hooks"));
            }
            After::Text(text) => text,
        };
        file.write(text)?;
        traces::taken_out(self.trace(), &self.file);
        let backups = file.backups();
        let same = |backup: &PathBuf| {
            let kept = SettingsFile::read(backup);
            kept.is_ok_and(|kept| kept.bytes() == Some(text.as_bytes()))
        };
        if let Some(backup) = backups.iter().find(|backup| same(backup)) {
            let _ = std::fs::remove_file(backup);
            return out.line(&format!(
                "{name}: sm's hooks removed; it is byte for byte as it was before, so the backup is gone too"
            ));
        }
        out.line(&format!(
            "{name}: sm's hooks removed; other changes made since they were installed stay"
        ))?;
        match backups.first() {
            Some(backup) => {
                let backup = out.look.path(&backup.display().to_string());
                out.line(&format!("  as it was before sm: {backup}"))
            }
            None => Ok(()),
        }
    }

    /// With hooks in both files every event would be told twice.
    fn refuse_twice(&self) -> Result<()> {
        match self.scope {
            Scope::User => return Ok(()),
            Scope::Project => {}
        }
        let users = Self::of(self.kind, Scope::User)?;
        let file = SettingsFile::read(&users.file)?;
        let text = file.text().unwrap_or_default().unwrap_or_default();
        if users.file != self.file
            && install::found(self.kind, text).is_ok_and(|found| !found.is_empty())
        {
            return Err(CommandError::refused(format!(
                "{} has sm's hooks already, for every project",
                users.file.display()
            ))
            .hint(format!(
                "take them out there first: {}",
                users.command("remove")
            )));
        }
        Ok(())
    }

    fn trace(&self) -> TraceKind {
        match self.kind {
            AgentKind::Codex => TraceKind::CodexHooks,
            AgentKind::Claude | AgentKind::Native | AgentKind::Generic => TraceKind::ClaudeHooks,
        }
    }

    fn command(&self, what: &str) -> String {
        let scope = match self.scope {
            Scope::User => "",
            Scope::Project => " --scope project",
        };
        format!("sm hooks {what} {}{scope}", self.kind.as_str())
    }

    fn look(&self) -> Seen {
        let read = || -> Result<Option<Found>> {
            let file = SettingsFile::read(&self.file)?;
            match file.text()? {
                None => Ok(None),
                Some(text) => install::found(self.kind, text)
                    .map(Some)
                    .map_err(|why| file.refused(&why)),
            }
        };
        Seen::new(self, read())
    }
}

/// The settings of this person that have our hooks in them, or cannot be read to find out.
pub fn installed() -> Vec<(TraceKind, PathBuf)> {
    let places = install::AGENTS
        .into_iter()
        .filter_map(|kind| Place::of(kind, Scope::User).ok());
    places
        .filter(|place| {
            let seen = place.look();
            !seen.found.is_empty() || (seen.problem.is_some() && place.file.is_file())
        })
        .map(|place| (place.trace(), place.file))
        .collect()
}

/// Takes our hooks out of this file, and says what became of it.
pub fn remove_from(trace: TraceKind, file: &Path, out: &mut Printer) -> Result<()> {
    let place = Place {
        kind: match trace {
            TraceKind::CodexHooks => AgentKind::Codex,
            _ => AgentKind::Claude,
        },
        scope: Scope::User,
        file: file.to_owned(),
    };
    place.remove(false, out)
}

/// What `sm hooks status` says of a file.
struct Seen {
    agent: AgentKind,
    scope: Scope,
    file: String,
    state: &'static str,
    found: Found,
    problem: Option<String>,
}

impl Seen {
    fn new(place: &Place, read: Result<Option<Found>>) -> Self {
        let (found, unreadable) = match read {
            Ok(found) => (found.unwrap_or_default(), None),
            Err(error) => (Found::default(), Some(error.message)),
        };
        let gone = found
            .programs()
            .into_iter()
            .find(|program| !is_there(program));
        let again = format!("run: {}", place.command("install"));
        let (state, problem) = if let Some(why) = unreadable {
            ("unreadable", Some(why))
        } else if found.is_empty() {
            ("not installed", None)
        } else if let Some(program) = gone {
            let why = format!("{program} is not there, so its hooks fail; {again}");
            ("broken", Some(why))
        } else if !found.missing.is_empty() {
            let why = format!("no hook for {}; {again}", found.missing.join(", "));
            ("incomplete", Some(why))
        } else if found
            .trusted
            .is_some_and(|trusted| trusted < found.hooks.len())
        {
            let why = format!(
                "{} of {} are trusted; Codex asks about the others at its start (\"Hooks need review\")",
                found.trusted.unwrap_or_default(),
                count(found.hooks.len(), "hook")
            );
            ("not trusted", Some(why))
        } else {
            ("installed", None)
        };
        Self {
            agent: place.kind,
            scope: place.scope,
            file: place.file.display().to_string(),
            state,
            found,
            problem,
        }
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "agent": self.agent.as_str(),
            "scope": self.scope.word(),
            "file": self.file,
            "state": self.state,
            "hooks": self.found.hooks.len(),
            "missing": if self.found.is_empty() { &[][..] } else { &self.found.missing },
            "status_line": self.found.line.is_some(),
            "programs": self.found.programs(),
            "trusted": self.found.trusted,
            "problem": self.problem,
        })
    }
}

impl Status {
    fn run(self, out: &mut Printer) -> Result<()> {
        let mut seen = Vec::new();
        for kind in install::AGENTS {
            for scope in [Scope::User, Scope::Project] {
                let meant = self.agent.is_none_or(|agent| agent.kind() == kind)
                    && self.scope.is_none_or(|only| only == scope);
                let place = Place::of(kind, scope)?;
                // In the home folder both are the same file.
                let is_known = seen
                    .iter()
                    .any(|seen: &Seen| place.file == Path::new(&seen.file));
                if meant && !is_known {
                    seen.push(place.look());
                }
            }
        }
        if self.json {
            return out.json(&seen.iter().map(Seen::json).collect());
        }
        let text = render(&out.look, &seen);
        out.text(&text)
    }
}

fn render(look: &Look, seen: &[Seen]) -> String {
    let rows: Vec<Vec<Cell>> = seen
        .iter()
        .map(|seen| {
            let tone = match (&seen.problem, seen.found.is_empty()) {
                (Some(_), _) => Tone::Bad,
                (None, true) => Tone::Dim,
                (None, false) => Tone::Plain,
            };
            vec![
                Cell::new(seen.agent.as_str()),
                Cell::new(seen.scope.word()),
                Cell::toned(seen.state, tone),
                Cell::new(look.path(&seen.file)),
            ]
        })
        .collect();
    let mut text = table(look, &["AGENT", "SCOPE", "HOOKS", "FILE"], &rows);
    for seen in seen {
        if let Some(problem) = &seen.problem {
            let who = format!("{} ({})", seen.agent.as_str(), seen.scope.word());
            text.push_str(&many_lines(&format!("{who}: {problem}\n")));
        }
    }
    text.push_str(
        "Agents that sm starts have their hooks from the launch, whatever is installed.\n",
    );
    text
}

fn said_of(line: Line) -> Option<&'static str> {
    match line {
        Line::None => None,
        Line::Added => Some("and a status line that shows how full the context is"),
        Line::Chained => Some("your status line is run by sm's, and shown as before"),
        Line::AlreadyOurs => Some("your status line runs sm-hook already, so it is left as it is"),
        Line::NotACommand => Some("your status line is not a command, so it is left as it is"),
        Line::LeftOut => Some("no status line: one of a project would hide your own"),
    }
}

/// Its whole path goes into the settings: what agents have in their PATH is not known.
fn hook_program() -> Result<String> {
    let program = companion("sm-hook")?;
    match program.to_str() {
        Some(program) => Ok(program.to_owned()),
        None => Err(CommandError::not_usable(format!(
            "the path of sm-hook is not UTF-8: {}",
            program.display()
        ))
        .hint("install sm where the path is plain text")),
    }
}

fn is_there(program: &str) -> bool {
    // One without a path is looked up by the agent's shell.
    !program.contains('/') || Path::new(program).is_file()
}

pub(super) fn diff(out: &mut Printer, name: &str, before: &str, after: &str) -> Result<()> {
    let diff = TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(3)
        .header(name, &format!("{name} (would be)"))
        .to_string();
    out.text(&many_lines(&diff))
}
