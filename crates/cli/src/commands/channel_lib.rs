//! `sm channel lib`: the functions of the shell library by their names, with its arguments, its
//! output and its exit codes, so that a script changes by replacing the calls.

use std::path::Path;

use clap::Args;
use sm_channel::{
    ChannelError, ChannelName, DotFile, Files, HandoffId, Kind, RealFiles, SessionLine, Which,
};

use super::channel_place::{Here, told};
use crate::error::{CommandError, ExitCode, Kind as ErrorKind, Result};
use crate::print::{self, Printer};

/// Messages that `extract_recent_context` shows unasked.
const RECENT: usize = 20;

/// A function of the shell library by its name, with the same arguments, output and exit code.
#[derive(Debug, Args)]
#[command(after_help = FUNCTIONS)]
pub struct Lib {
    /// Which one; see below.
    function: String,
    /// Its arguments. A channel that is not given is `global`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

const FUNCTIONS: &str = "\
Functions:
  get_current_session_id                       the id in .current-session; 1 if there is none
  get_current_transcript_path                  the transcript in .current-session; 1 if there is none
  generate_handoff_id [SESSION]                a new id
  read_manifest [CHANNEL]                      the manifest, {} if there is none
  write_manifest CHANNEL JSON                  replaces the manifest
  create_handoff CHANNEL CONTENT [TYPE]        prints the id
  load_handoff [CHANNEL] [PID]                 prints the document and consumes it; 1 if there is none
  get_active_handoff_file [CHANNEL]            its path; 1 if there is none
  get_active_handoff_id [CHANNEL]              its id; 1 if there is none
  has_active_handoff [CHANNEL]                 0 or 1
  clear_handoff [CHANNEL]                      to the archive, unread
  extract_recent_context TRANSCRIPT [COUNT]    the last messages
  write_session_file SESSION TRANSCRIPT        .current-session
  clear_session_file [SESSION]                 removes it; with SESSION only if it is that one's";

impl Lib {
    pub(super) fn run(self, here: &Here, out: &mut Printer) -> Result<ExitCode> {
        match self.call(here, out) {
            Ok(true) => Ok(ExitCode::SUCCESS),
            Ok(false) => Ok(ExitCode::FAILURE),
            Err(error) if error.kind == ErrorKind::Refused => {
                print::error(&error);
                Ok(ExitCode::FAILURE)
            }
            Err(error) => Err(error),
        }
    }

    fn arg(&self, at: usize) -> Option<&str> {
        self.args
            .get(at)
            .map(String::as_str)
            .filter(|text| !text.is_empty())
    }

    fn needed(&self, at: usize, what: &str) -> Result<&str> {
        self.arg(at).ok_or_else(|| {
            CommandError::usage(format!("{} needs {what}", self.function))
                .hint("sm channel lib --help")
        })
    }

    fn channel(&self) -> Result<ChannelName> {
        self.arg(0)
            .map_or_else(|| Ok(ChannelName::global()), str::parse)
            .map_err(told)
    }

    fn number<T: std::str::FromStr>(&self, at: usize, what: &str) -> Result<Option<T>> {
        self.arg(at)
            .map(|text| {
                text.parse().map_err(|_| {
                    CommandError::usage(format!("{}: {what} is not a number", self.function))
                })
            })
            .transpose()
    }

    /// Whether it succeeded, as a shell function does.
    fn call(&self, here: &Here, out: &mut Printer) -> Result<bool> {
        let mut files = RealFiles::default();
        let session_file = DotFile::new(here.place.current_session());
        match self.function.as_str() {
            "get_current_session_id" => {
                let line = here.session_line().map_err(told)?;
                said(out, line.map(|line| line.session))
            }
            "get_current_transcript_path" => {
                let line = here.session_line().map_err(told)?;
                said(out, line.map(|line| line.path))
            }
            "generate_handoff_id" => {
                let known = here.session_line().map_err(told)?;
                let session = self
                    .arg(0)
                    .or(known.as_ref().map(|line| line.session.as_str()))
                    .unwrap_or_default();
                said(out, Some(HandoffId::new(files.now(), session).to_string()))
            }
            "read_manifest" => {
                let path = here.place.manifest(&self.channel()?);
                let bytes = files
                    .read(&path)
                    .map_err(|error| CommandError::file(&path, "read", &error))?;
                out.bytes(&bytes.unwrap_or_else(|| b"{}\n".to_vec()))?;
                Ok(true)
            }
            "write_manifest" => {
                let name = self.channel()?;
                let json = self.needed(1, "the manifest")?;
                here.place.ensure().map_err(told)?;
                here.open(&name)
                    .write_manifest(json.as_bytes())
                    .map_err(|error| here.logged(&name, error))?;
                Ok(true)
            }
            "create_handoff" => {
                let name = self.channel()?;
                let text = self.needed(1, "the content")?;
                let kind = match self.arg(2) {
                    None => Kind::Manual,
                    Some(word) => Kind::of(word).ok_or_else(|| {
                        CommandError::usage(format!("{word:?} is not auto, manual or bye"))
                    })?,
                };
                let id = here.create(&name, kind, None, text.as_bytes())?;
                said(out, Some(id.to_string()))
            }
            "load_handoff" => {
                let pid = self.number(1, "the pid")?;
                let document = here.load(&self.channel()?, &Which::Active, pid)?;
                out.bytes(&document)?;
                Ok(true)
            }
            "get_active_handoff_file" => {
                let name = self.channel()?;
                let found = here.open(&name).active_document();
                let found = found.map_err(|error| here.logged(&name, error))?;
                said(out, found.map(|(path, _)| path.display().to_string()))
            }
            "get_active_handoff_id" => said(out, self.active(here)?.map(|id| id.to_string())),
            "has_active_handoff" => Ok(self.active(here)?.is_some()),
            "clear_handoff" => {
                let name = self.channel()?;
                if !here.place.is_there() {
                    return Ok(true);
                }
                match here.open(&name).clear() {
                    Ok(_) | Err(ChannelError::None { .. }) => Ok(true),
                    Err(error) => Err(here.logged(&name, error)),
                }
            }
            "extract_recent_context" => {
                let path = Path::new(self.needed(0, "a transcript")?);
                let count = self.number(1, "the count")?.unwrap_or(RECENT);
                let recent = sm_channel::recent_of_file(path, count)
                    .map_err(|error| CommandError::file(path, "read", &error))?;
                out.text(&recent)?;
                Ok(true)
            }
            "write_session_file" => {
                let line = SessionLine {
                    session: self.needed(0, "a session's id")?.to_owned(),
                    path: self.needed(1, "a transcript")?.to_owned(),
                };
                if line.session.contains([':', '\n']) || line.path.contains('\n') {
                    return Err(CommandError::usage(
                        "an id has no colon, a path no line end",
                    ));
                }
                here.place.ensure().map_err(told)?;
                session_file.write(&mut files, &line).map_err(told)?;
                Ok(true)
            }
            "clear_session_file" => {
                match self.arg(0) {
                    Some(session) => session_file
                        .remove_of(&mut files, session)
                        .map(|_| ())
                        .map_err(told)?,
                    None => session_file.remove(&mut files).map_err(told)?,
                }
                Ok(true)
            }
            other => Err(
                CommandError::usage(format!("the library has no function {other}"))
                    .hint("sm channel lib --help"),
            ),
        }
    }

    fn active(&self, here: &Here) -> Result<Option<HandoffId>> {
        let name = self.channel()?;
        let found = here.open(&name).active();
        found.map_err(|error| here.logged(&name, error))
    }
}

fn said(out: &mut Printer, value: Option<String>) -> Result<bool> {
    match value {
        Some(value) => out.line(&value).map(|()| true),
        None => Ok(false),
    }
}
