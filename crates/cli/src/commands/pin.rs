//! `sm pin`.
//!
//! A session's pins are the daemon's; a project's are lines of a file in it, which is changed here
//! and may be changed by hand.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;
use sm_client::footprint::TraceKind;
use sm_client::wire::RUN_PREFIX;
use sm_core::pins::{FILE, PinRefusal, clean, of_file};
use sm_daemon::api::types::PinView;
use sm_daemon::pins::{MOST_BYTES, of_project, project_folder, without_secrets};

use crate::client::Daemon;
use crate::environment::Own;
use crate::error::{CommandError, Result};
use crate::print::Printer;
use crate::text::{Tone, one_line};
use crate::traces;

/// Constraints that are told word for word to every new context.
///
/// A pin survives handoffs and compactions: it is put before each new context of its session, or
/// of every session in its project. A project's pins are the list items of the file .sm/pins.md in
/// its folder.
#[derive(Debug, Args)]
pub struct Pin {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Add(Add),
    Ls(Ls),
    Rm(Rm),
}

/// Pins a text.
#[derive(Debug, Args)]
struct Add {
    /// The constraint, at most 1,000 characters.
    text: String,
    #[command(flatten)]
    whose: Whose,
}

/// Lists the pins, the session's own first.
#[derive(Debug, Args)]
struct Ls {
    #[command(flatten)]
    whose: Whose,
    /// As JSON: an array of `{text, of}`.
    #[arg(long)]
    json: bool,
}

/// Takes a pin back.
#[derive(Debug, Args)]
struct Rm {
    /// Its number in `sm pin ls`, or its text or a unique beginning of it.
    pin: String,
    #[command(flatten)]
    whose: Whose,
}

#[derive(Debug, Args)]
struct Whose {
    /// The session; inside of one: that one.
    #[arg(long, value_name = "NAME", conflicts_with = "project")]
    session: Option<String>,
    /// The project of the working directory: for every session in it.
    #[arg(long)]
    project: bool,
}

/// Whose pins they are.
enum Owner {
    Session(String),
    Project(PathBuf),
}

impl Whose {
    fn owner(&self) -> Result<Owner> {
        if self.project {
            let cwd = std::env::current_dir().map_err(|error| {
                CommandError::not_usable(format!("there is no working directory: {error}"))
            })?;
            return Ok(Owner::Project(project_folder(&cwd)));
        }
        match (&self.session, Own::from_env()) {
            (Some(named), _) => Ok(Owner::Session(named.clone())),
            (None, Some(own)) if own.id.starts_with(RUN_PREFIX) && !has_daemon()? => {
                Err(CommandError::not_usable(
                    "this is `sm run` without a daemon, so it has no pins of its own",
                )
                .hint("--project: for every context in this folder, those of this run too"))
            }
            (None, Some(own)) => Ok(Owner::Session(own.id)),
            (None, None) => Err(CommandError::not_usable(
                "this is not inside a session of sm, so it has to be said whose pins are meant",
            )
            .hint("--session NAME, or --project for every session in this folder")),
        }
    }
}

/// A run is the daemon's session as long as one runs; none is started for its pins.
fn has_daemon() -> Result<bool> {
    Ok(Daemon::open()?.status_now()?.is_some())
}

impl Pin {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        match self.command {
            Command::Add(command) => command.run(out),
            Command::Ls(command) => command.run(out),
            Command::Rm(command) => command.run(out),
        }
    }
}

impl Add {
    fn run(self, out: &mut Printer) -> Result<()> {
        let text = clean(&self.text).map_err(refused)?;
        match self.whose.owner()? {
            Owner::Session(session) => {
                let pins = Daemon::open()?.pin(&session, &text)?.value;
                out.line(&format!(
                    "Pinned to {}: {}",
                    one_line(&pins.name),
                    one_line(&text)
                ))
            }
            Owner::Project(folder) => {
                without_secrets(&text).map_err(refused)?;
                let file = folder.join(FILE);
                if !of_project(&folder).pins.contains(&text) {
                    let begun = written(&file)?;
                    let after = added(&begun, &text);
                    if !is_told(&after, &text) {
                        return Err(CommandError::refused(format!(
                            "{} would not tell it as it stands: the file is full, or the pin has an empty line",
                            out.look.path(&file.to_string_lossy())
                        ))
                        .hint("take a pin back with: sm pin rm --project, or write it without empty lines"));
                    }
                    write(&file, &after)?;
                }
                out.line(&format!(
                    "Pinned in {}: {}",
                    out.look.path(&file.to_string_lossy()),
                    one_line(&text)
                ))
            }
        }
    }
}

fn refused(why: PinRefusal) -> CommandError {
    CommandError::refused(why.to_string()).hint(why.hint())
}

impl Ls {
    fn run(self, out: &mut Printer) -> Result<()> {
        let pins = listed(&self.whose.owner()?)?;
        if self.json {
            return out.json(&json!(pins));
        }
        if pins.is_empty() {
            return out.line("No pins. Pin a constraint with: sm pin add \"…\"");
        }
        for (at, pin) in pins.iter().enumerate() {
            let of = out
                .look
                .paint(Tone::Dim, &format!("({})", one_line(&pin.of)));
            out.line(&format!("{}. {} {of}", at + 1, one_line(&pin.text)))?;
        }
        Ok(())
    }
}

impl Rm {
    fn run(self, out: &mut Printer) -> Result<()> {
        let owner = self.whose.owner()?;
        let pins = listed(&owner)?;
        let pin = chosen(&pins, &self.pin)?;
        match (&owner, pin.of.as_str()) {
            (Owner::Session(session), "session") => {
                Daemon::open()?.unpin(session, &pin.text)?;
            }
            (Owner::Session(_), _) => {
                return Err(CommandError::refused(format!(
                    "\"{}\" is a pin of the project",
                    one_line(&pin.text)
                ))
                .hint(
                    "remove it for every session there: sm pin rm --project, or edit .sm/pins.md",
                ));
            }
            (Owner::Project(folder), _) => {
                let file = folder.join(FILE);
                let begun = written(&file)?;
                let after = without(&begun, &pin.text);
                let mut left = of_file(&begun);
                left.retain(|told| *told != pin.text);
                if of_file(&after) != left {
                    return Err(CommandError::refused(
                        "its lines do not stand in the file as they are told, so it is still pinned",
                    )
                    .hint(format!("edit {}", out.look.path(&file.to_string_lossy()))));
                }
                write(&file, &after)?;
            }
        }
        out.line(&format!("No longer pinned: {}", one_line(&pin.text)))
    }
}

fn listed(owner: &Owner) -> Result<Vec<PinView>> {
    match owner {
        Owner::Session(session) => Ok(Daemon::open()?.pins(session)?.value.pins),
        Owner::Project(folder) => {
            let pins = of_project(folder).pins.into_iter();
            let view = |text| PinView {
                text,
                of: "project".into(),
            };
            Ok(pins.map(view).collect())
        }
    }
}

/// By number, whole text, or a beginning that only one has.
fn chosen<'a>(pins: &'a [PinView], wanted: &str) -> Result<&'a PinView> {
    let by_number = wanted.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    if let Some(pin) = by_number.and_then(|at| pins.get(at)) {
        return Ok(pin);
    }
    if let Some(pin) = pins.iter().find(|pin| pin.text == wanted) {
        return Ok(pin);
    }
    let begin: Vec<&PinView> = pins
        .iter()
        .filter(|pin| pin.text.starts_with(wanted))
        .collect();
    match begin.as_slice() {
        [one] => Ok(one),
        [] => Err(
            CommandError::refused(format!("there is no pin \"{}\"", one_line(wanted)))
                .hint("list them with: sm pin ls"),
        ),
        _ => Err(CommandError::refused(format!(
            "several pins begin with \"{}\"",
            one_line(wanted)
        ))
        .hint("name one by its number in: sm pin ls")),
    }
}

// ── the project's file

/// Far more than can be told to a context.
const LARGEST: u64 = 16 << 20;

fn written(file: &Path) -> Result<String> {
    match sm_client::files::read_text(file, LARGEST) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(CommandError::file(file, "cannot be read", &error)),
    }
}

/// Whole or not at all, as others read it.
fn write(file: &Path, text: &str) -> Result<()> {
    let failed = |error: std::io::Error| CommandError::file(file, "cannot be written", &error);
    let before = match std::fs::read(file) {
        Ok(before) => Some(before),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    traces::note_replaced(TraceKind::Pins, file, before.as_deref(), text.as_bytes());
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let beside = file.with_extension(format!("md.{}", std::process::id()));
    std::fs::write(&beside, text)
        .and_then(|()| std::fs::rename(&beside, file))
        .map_err(failed)
}

fn added(file: &str, pin: &str) -> String {
    let mut text = match file.trim().is_empty() {
        true => "# Pins\n\nTold word for word to every new context of every session in this project.\n\n".to_owned(),
        false => file.to_owned(),
    };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format!("- {}\n", pin.replace('\n', "\n  ")));
    text
}

/// Whether a context would be told this pin, word for word.
fn is_told(file: &str, pin: &str) -> bool {
    file.len() as u64 <= MOST_BYTES && of_file(file).iter().any(|told| told == pin)
}

/// Without the lines of this pin; everything else stays as it is.
fn without(file: &str, pin: &str) -> String {
    let lines: Vec<&str> = file.split_inclusive('\n').collect();
    let plain = |line: &str| {
        let line = line.trim();
        line.strip_prefix("- ")
            .or_else(|| line.strip_prefix("* "))
            .unwrap_or(line)
            .trim()
            .to_owned()
    };
    let wanted: Vec<&str> = pin.split('\n').collect();
    let at = (0..lines.len()).find(|at| {
        let here = lines
            .iter()
            .skip(*at)
            .take(wanted.len())
            .map(|line| plain(line));
        here.collect::<Vec<_>>() == wanted
    });
    match at {
        Some(at) => {
            let before = lines.iter().take(at);
            before
                .chain(lines.iter().skip(at + wanted.len()))
                .copied()
                .collect()
        }
        None => file.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_projects_file_is_added_to_and_taken_from() {
        let one = added("", "never touch prod");
        let two = added(&one, "no new\ndependencies");
        assert_eq!(of_file(&two), ["never touch prod", "no new\ndependencies"]);
        assert_eq!(without(&two, "no new\ndependencies"), one);
        assert_eq!(
            of_file(&without(&two, "never touch prod")),
            ["no new\ndependencies"]
        );
        assert_eq!(without(&two, "unknown"), two);
        let own = "* ours\n\nprose\n";
        assert_eq!(added(own, "mine"), "* ours\n\nprose\n- mine\n");
        assert_eq!(without(own, "ours"), "\nprose\n");
    }

    #[test]
    fn what_would_not_be_told_is_noticed() {
        let full = (0..64).fold(String::new(), |file, n| added(&file, &format!("pin {n}")));
        assert!(is_told(&added("", "two\nlines"), "two\nlines"));
        assert!(!is_told(&added("", "one\n\ntwo"), "one\n\ntwo"));
        assert!(!is_told(&added(&full, "one more"), "one more"));
        let large = format!("{}\n", "x".repeat(70_000));
        assert!(!is_told(&added(&large, "late"), "late"));
    }

    #[test]
    fn a_pin_is_named_by_number_or_text() {
        let pin = |text: &str| PinView {
            text: text.into(),
            of: "session".into(),
        };
        let pins = [pin("never touch prod"), pin("never push"), pin("2 spaces")];
        assert_eq!(chosen(&pins, "2").unwrap().text, "never push");
        assert_eq!(chosen(&pins, "2 s").unwrap().text, "2 spaces");
        assert_eq!(
            chosen(&pins, "never touch").unwrap().text,
            "never touch prod"
        );
        assert!(
            chosen(&pins, "never")
                .unwrap_err()
                .message
                .contains("several")
        );
        assert!(chosen(&pins, "9").is_err());
    }
}
