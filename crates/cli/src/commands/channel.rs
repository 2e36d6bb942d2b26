//! `sm channel`: handoffs by project, in files that other tools read and write too.
//!
//! Nothing here asks the daemon: the files are the contract, and they work without one.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use sm_channel::{ChannelError, ChannelName, Files, Kind, Manifest, RealFiles, Status, Which};

use super::channel_hook::ChannelHook;
use super::channel_place::{Here, told};
use super::{alone, channel_lib::Lib};
use crate::error::{CommandError, ExitCode, Result};
use crate::print::Printer;
use crate::text::{Cell, Look, one_line, table};

/// Larger inputs are refused; one byte more is read to notice.
const LARGEST_INPUT: u64 = 16 << 20;

/// Handoffs by project, in files under ~/.claude that other tools read too. Without a command:
/// all channels.
#[derive(Debug, Args)]
pub struct Channel {
    #[command(subcommand)]
    command: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    Ls(Ls),
    Current(CurrentName),
    Register(Register),
    Unregister(Unregister),
    Create(Create),
    Load(Load),
    Show(Show),
    Clear(Clear),
    Lib(Lib),
    Hook(ChannelHook),
}

/// All channels: their current handoff, its status, and the folders that belong to them.
#[derive(Debug, Default, Args)]
struct Ls {
    /// As JSON: `[{channel, paths, current}]`.
    #[arg(long)]
    json: bool,
}

/// The channel of this folder: that of the longest registered path that holds it, or else one of
/// its repository's own, or of its own.
#[derive(Debug, Args)]
struct CurrentName {}

/// Gives a folder and everything in it a channel.
#[derive(Debug, Args)]
struct Register {
    /// The folder.
    path: PathBuf,
    /// The channel's name: letters, digits, dot, dash and underscore.
    name: String,
}

/// A folder no longer has a channel of its own.
#[derive(Debug, Args)]
struct Unregister {
    /// The folder, as `sm channel ls` shows it.
    path: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Type {
    /// The context was full.
    Auto,
    /// Somebody wanted it.
    Manual,
    /// The end of the work for now.
    Bye,
}

impl From<Type> for Kind {
    fn from(kind: Type) -> Self {
        match kind {
            Type::Auto => Self::Auto,
            Type::Manual => Self::Manual,
            Type::Bye => Self::Bye,
        }
    }
}

/// Makes a text the channel's active handoff and prints its id. What was current before moves to
/// the archive.
#[derive(Debug, Args)]
struct Create {
    /// Instead of this folder's channel.
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Why it is made.
    #[arg(long = "type", value_enum, default_value = "manual")]
    kind: Type,
    /// The session it comes from, instead of the one in `.current-session`.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The text; `-` or nothing: standard input.
    file: Option<PathBuf>,
}

/// Prints the active handoff, marks it consumed and moves it to the archive. Of all who load at
/// once, one gets it. Exit code 1 if there is none.
#[derive(Debug, Args)]
struct Load {
    /// Instead of this folder's channel.
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Who consumes it, for the manifest; otherwise the program that runs this one.
    #[arg(long)]
    pid: Option<u32>,
    /// This one, also if it has expired. One that is in the archive already is printed again.
    #[arg(long, value_name = "ID")]
    id: Option<String>,
}

/// The channel's current handoff: what the manifest says, and where its document is.
#[derive(Debug, Args)]
struct Show {
    /// Instead of this folder's channel.
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// As JSON: `{channel, status, document, manifest}`.
    #[arg(long)]
    json: bool,
}

/// Moves the current handoff to the archive without giving it to anyone.
#[derive(Debug, Args)]
struct Clear {
    /// Instead of this folder's channel.
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// As JSON: `{channel, id}`.
    #[arg(long)]
    json: bool,
}

impl Channel {
    /// What was typed from the word `channel` on, if it is one of those that agents and their hooks
    /// run, parsed by its own definition; or by that of all.
    pub fn parse(typed: &[OsString]) -> Option<Self> {
        let own = typed.get(1..).unwrap_or_default();
        let what = match own.first().and_then(|name| name.to_str()) {
            Some("create") => alone(own).map(What::Create),
            Some("load") => alone(own).map(What::Load),
            Some("lib") => alone(own).map(What::Lib),
            Some("hook") => alone(own).map(What::Hook),
            Some(_) | None => return alone(typed),
        };
        what.map(|command| Self {
            command: Some(command),
        })
    }

    pub fn run(self, out: &mut Printer) -> Result<ExitCode> {
        let here = Here::find()?;
        let done = match self.command.unwrap_or(What::Ls(Ls::default())) {
            What::Ls(command) => command.run(&here, out),
            What::Current(CurrentName {}) => out.line(here.channel(None)?.as_str()),
            What::Register(command) => command.run(&here, out),
            What::Unregister(command) => command.run(&here, out),
            What::Create(command) => command.run(&here, out),
            What::Load(command) => command.run(&here, out),
            What::Show(command) => command.run(&here, out),
            What::Clear(command) => command.run(&here, out),
            What::Lib(command) => return command.run(&here, out),
            What::Hook(command) => command.run(&here, out),
        };
        done.map(|()| ExitCode::SUCCESS)
    }
}

impl Create {
    fn run(self, here: &Here, out: &mut Printer) -> Result<()> {
        let name = here.channel(self.channel.as_deref())?;
        let text = match self.file {
            Some(path) if path != Path::new("-") => {
                let file = File::open(&path);
                let file = file.map_err(|error| CommandError::file(&path, "read", &error))?;
                input(file, &path)?
            }
            Some(_) | None => input(std::io::stdin(), Path::new("standard input"))?,
        };
        if text.trim_ascii().is_empty() {
            return Err(CommandError::usage("the handoff is empty"));
        }
        let id = here.create(&name, self.kind.into(), self.session.as_deref(), &text)?;
        out.line(id.as_str())
    }
}

pub(super) fn input(from: impl Read, path: &Path) -> Result<Vec<u8>> {
    let mut text = Vec::with_capacity(16 << 10);
    from.take(LARGEST_INPUT + 1)
        .read_to_end(&mut text)
        .map_err(|error| CommandError::file(path, "read", &error))?;
    Ok(text)
}

impl Load {
    fn run(self, here: &Here, out: &mut Printer) -> Result<()> {
        let lane = here.channel_to_load(self.channel.as_deref())?;
        let which = match self.id {
            Some(id) => Which::Id(id.parse().map_err(told)?),
            None => {
                here.tell_origin(&lane.name);
                Which::Active
            }
        };
        let mut loaded = here.load(&lane.name, &which, self.pid);
        // What the shell library archived lies with `global`; whoever names it means it.
        let named = self.channel.is_some() || !matches!(which, Which::Id(_));
        if loaded.is_err() && !named && here.is_own(&lane.name) {
            loaded = here
                .load(&ChannelName::global(), &which, self.pid)
                .or(loaded);
        }
        let loaded = loaded.map_err(|error| match &lane.offer {
            Some(offer) => error.hint(offer.hint("sm channel load --channel global")),
            None => error,
        });
        out.bytes(&loaded?)
    }
}

impl Clear {
    fn run(self, here: &Here, out: &mut Printer) -> Result<()> {
        let name = here.channel_to_load(self.channel.as_deref())?.name;
        if !here.place.is_there() {
            return Err(told(ChannelError::None {
                channel: name.to_string(),
            }));
        }
        let cleared = here.open(&name).clear();
        let id = cleared.map_err(|error| here.logged(&name, error))?;
        if self.json {
            return out.json(&json!({"channel": name.as_str(), "id": id.as_str()}));
        }
        out.line(&format!("{id} is cleared; it is in the archive"))
    }
}

impl Register {
    fn run(self, here: &Here, out: &mut Printer) -> Result<()> {
        let name: ChannelName = self.name.parse().map_err(told)?;
        let path = absolute(&self.path)?;
        here.change_registry(|registry| registry.register(&path, &name))?;
        out.line(&format!("{} has the channel {name}", one_line(&path)))
    }
}

impl Unregister {
    fn run(self, here: &Here, out: &mut Printer) -> Result<()> {
        let path = absolute(&self.path)?;
        let mut was = false;
        here.change_registry(|registry| was = registry.unregister(&path))?;
        let path = one_line(&path);
        if was {
            out.line(&format!("{path} has no channel of its own any more"))
        } else {
            Err(CommandError::refused(format!("{path} is not registered")))
        }
    }
}

/// As the registry has it: absolute, text, without a final `/`.
fn absolute(path: &Path) -> Result<String> {
    let whole = std::path::absolute(path);
    let whole = whole.map_err(|error| CommandError::file(path, "name", &error))?;
    let tidy: PathBuf = whole.components().collect();
    tidy.into_os_string()
        .into_string()
        .map_err(|_| CommandError::usage("the path is not text"))
}

/// What is known of a channel's current handoff.
struct Known {
    status: Status,
    manifest: Manifest,
}

fn known(here: &Here, name: &ChannelName) -> std::result::Result<Option<Known>, ChannelError> {
    let manifest = here.open(name).manifest()?;
    let now = RealFiles::default().now();
    Ok(manifest.and_then(|manifest| {
        let status = manifest.current()?.status_at(now, here.expiry());
        Some(Known { status, manifest })
    }))
}

impl Show {
    fn run(self, here: &Here, out: &mut Printer) -> Result<()> {
        let lane = here.channel_to_load(self.channel.as_deref())?;
        let name = lane.name;
        let found = known(here, &name).map_err(|error| here.logged(&name, error))?;
        let document = here.open(&name).active_document();
        let document = document.map_err(|error| here.logged(&name, error))?;
        let Some(found) = found else {
            let none = told(ChannelError::None {
                channel: name.to_string(),
            });
            return Err(match &lane.offer {
                Some(offer) => none.hint(offer.hint("sm channel load --channel global")),
                None => none,
            });
        };
        let path = document.map(|(path, _)| path.to_string_lossy().into_owned());
        if self.json {
            return out.json(&json!({
                "channel": name.as_str(),
                "status": found.status.as_str(),
                "document": path,
                "manifest": found.manifest.value(),
            }));
        }
        let entry = &found.manifest.value()["current"];
        let mut lines = vec![
            ("channel", name.to_string()),
            ("status", found.status.to_string()),
        ];
        for (label, key) in [
            ("id", "id"),
            ("type", "type"),
            ("session", "session_id"),
            ("created", "created_at"),
            ("by process", "created_by_pid"),
            ("in", "working_dir"),
            ("consumed", "consumed_at"),
            ("consumed by", "consumed_by_pid"),
            ("expired", "expired_at"),
            ("cleared", "cleared_at"),
        ] {
            match &entry[key] {
                Value::Null => {}
                Value::String(text) => lines.push((label, one_line(text))),
                other => lines.push((label, one_line(&other.to_string()))),
            }
        }
        if let Some(path) = path {
            lines.push(("document", out.look.path(&path)));
        }
        for (label, value) in lines {
            out.line(&format!("{label:<12} {value}"))?;
        }
        Ok(())
    }
}

struct Row {
    channel: ChannelName,
    paths: Vec<String>,
    current: std::result::Result<Option<Known>, ChannelError>,
}

impl Ls {
    fn run(self, here: &Here, out: &mut Printer) -> Result<()> {
        let registry = here.registry().map_err(told)?;
        let mut names: Vec<ChannelName> = registry.pairs().into_values().collect();
        let files = RealFiles::default().list(&here.place.handoffs());
        let files =
            files.map_err(|error| CommandError::file(&here.place.handoffs(), "read", &error))?;
        let manifests = files.iter().filter_map(|file| {
            let name = file.strip_suffix(".manifest.json")?;
            name.parse::<ChannelName>().ok()
        });
        names.extend(manifests);
        names.sort();
        names.dedup();
        let rows: Vec<Row> = names
            .into_iter()
            .map(|channel| Row {
                paths: registry
                    .pairs()
                    .into_iter()
                    .filter(|(_, name)| *name == channel)
                    .map(|(path, _)| path.to_owned())
                    .collect(),
                current: known(here, &channel),
                channel,
            })
            .collect();
        if self.json {
            return out.json(&rows.iter().map(as_json).collect());
        }
        let text = render(&out.look, &rows);
        out.text(&text)
    }
}

fn as_json(row: &Row) -> Value {
    let current = match &row.current {
        Ok(None) => Value::Null,
        Ok(Some(known)) => {
            let mut entry = known.manifest.value()["current"].clone();
            entry["status"] = json!(known.status.as_str());
            entry
        }
        Err(error) => json!({"error": error.to_string()}),
    };
    json!({"channel": row.channel.as_str(), "paths": row.paths, "current": current})
}

fn render(look: &Look, rows: &[Row]) -> String {
    if rows.is_empty() {
        return "no channel has a handoff, and no folder is registered\n".to_owned();
    }
    let rows: Vec<Vec<Cell>> = rows
        .iter()
        .map(|row| {
            let (status, id) = match &row.current {
                Ok(Some(known)) => (
                    known.status.to_string(),
                    known
                        .manifest
                        .current()
                        .map(|current| current.id.to_string()),
                ),
                Ok(None) => ("-".to_owned(), None),
                Err(_) => ("damaged".to_owned(), None),
            };
            let paths: Vec<String> = row.paths.iter().map(|path| look.path(path)).collect();
            vec![
                Cell::new(row.channel.to_string()),
                Cell::new(status),
                Cell::new(id.unwrap_or_else(|| "-".to_owned())),
                Cell::new(paths.join(", ")),
            ]
        })
        .collect();
    table(look, &["CHANNEL", "STATUS", "HANDOFF", "FOLDERS"], &rows)
}
