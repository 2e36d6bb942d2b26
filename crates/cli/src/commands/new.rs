//! `sm new`.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use sm_daemon::api::types::{NewSessionBody, SessionView};

use crate::client::{Answer, Daemon, fresh_id};
use crate::environment;
use crate::error::{CommandError, Kind, Result};
use crate::print::{self, Printer};
use crate::text::one_line;

/// Starts an agent as a durable session and attaches to it.
///
/// The agent runs in a terminal of its own, with the environment and directory of this shell,
/// and goes on when you leave it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sm new claude --name api --cwd ~/src/api
  sm new claude --detach -- --model sonnet
  sm new native --name worker -- --model anthropic/claude-sonnet-4-5
  sm new codex --prompt \"fix the failing test\"
  sm new -- my-agent --flag")]
pub struct New {
    /// `claude`, `codex`, `native` (sm's own agent), or any other program.
    #[arg(required_unless_present = "args")]
    agent: Option<String>,
    /// Its name: letters, digits, `-`, `_` and `.`; made from the directory if not given.
    #[arg(long, short)]
    name: Option<String>,
    /// Where it works; here if not given.
    #[arg(long, short = 'C', value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Its first prompt; `-` reads it from stdin.
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: Option<String>,
    /// Do not attach to it.
    #[arg(long, short)]
    detach: bool,
    /// The session that it belongs to; inside a session: that one.
    #[arg(long, value_name = "SESSION")]
    parent: Option<String>,
    /// Nobody will sit at it: after a limit of its provider it is told to go on by itself.
    #[arg(long)]
    unattended: bool,
    /// The session as JSON; does not attach.
    #[arg(long)]
    json: bool,
    /// Arguments for the agent; without one: the program to run and its arguments.
    #[arg(last = true)]
    args: Vec<String>,
}

impl New {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?;
        let attach = !self.detach && !self.json && environment::is_interactive();
        let json = self.json;
        let own = daemon.own().map(|own| own.id.clone());
        let inherited = self.parent.is_none();
        let body = self.body(own)?;
        let session = create(&daemon, body, inherited)?;
        if json {
            return out.json(&session.json);
        }
        let session = session.value;
        if crate::attach::has_ended(&session) {
            return crate::attach::report_end(&daemon, &session, out);
        }
        if attach {
            return crate::attach::run_started(&daemon, &session, out);
        }
        let text = started(out, &session);
        out.text(&text)
    }

    fn body(self, own: Option<String>) -> Result<NewSessionBody> {
        let cwd = directory(self.cwd.as_deref())?;
        let program = Program::from(self.agent, self.args);
        if let Program::Other { command } = &program {
            check_program(command, &cwd)?;
        }
        let prompt = match self.prompt.as_deref() {
            Some("-") => Some(read_stdin()?),
            Some(_) | None => self.prompt,
        };
        let (agent, args, command) = match program {
            Program::Known { agent, args } => (agent, args, Vec::new()),
            Program::Other { command } => ("generic".to_owned(), Vec::new(), command),
        };
        let (cols, rows) = environment::terminal_size();
        Ok(NewSessionBody {
            id: Some(fresh_id(8)?),
            agent,
            name: self.name,
            cwd,
            args,
            command,
            prompt,
            env: environment::variables(),
            parent: self.parent.or(own),
            unattended: self.unattended,
            cols,
            rows,
        })
    }
}

/// A shell may carry the identity of a session of another instance: here it has no parent.
fn create(daemon: &Daemon, body: NewSessionBody, inherited: bool) -> Result<Answer<SessionView>> {
    let refused = match daemon.create(&body) {
        Err(error) if error.kind == Kind::Refused => error,
        other => return other,
    };
    match &body.parent {
        Some(parent) if inherited && daemon.session(parent).is_err() => {
            print::note("the session this runs in is not known here: the new one has no parent");
            daemon.create(&NewSessionBody {
                parent: None,
                ..body
            })
        }
        Some(_) | None => Err(refused),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Program {
    /// One that sm knows how to talk to.
    Known { agent: String, args: Vec<String> },
    /// Any other: the program and its arguments.
    Other { command: Vec<String> },
}

impl Program {
    fn from(agent: Option<String>, args: Vec<String>) -> Self {
        match agent {
            Some(agent) if matches!(agent.as_str(), "claude" | "codex" | "native") => {
                Self::Known { agent, args }
            }
            named => Self::Other {
                command: named.into_iter().chain(args).collect(),
            },
        }
    }
}

fn directory(named: Option<&Path>) -> Result<String> {
    let dir = match named {
        Some(dir) => {
            std::path::absolute(dir).map_err(|error| CommandError::file(dir, "find", &error))?
        }
        None => std::env::current_dir().map_err(|error| {
            CommandError::refused(format!("this directory is gone: {error}"))
                .hint("go to another one, or name one with --cwd")
        })?,
    };
    if !dir.is_dir() {
        return Err(
            CommandError::refused(format!("{} is not a directory", dir.display()))
                .hint("--cwd names the directory that the agent works in; it has to exist"),
        );
    }
    dir.into_os_string().into_string().map_err(|dir| {
        CommandError::refused(format!(
            "the directory's name is not text: {}",
            Path::new(&dir).display()
        ))
    })
}

/// A typing error is better told here than by a session that ends at once.
fn check_program(command: &[String], cwd: &str) -> Result<()> {
    let Some(program) = command.first() else {
        return Err(CommandError::usage("no program was named").hint("sm new -- my-agent --flag"));
    };
    let found = if program.contains('/') {
        Path::new(cwd).join(program).is_file()
    } else {
        find_program(program).is_some()
    };
    if found {
        return Ok(());
    }
    Err(
        CommandError::refused(format!("there is no program {program}")).hint(
            "`sm new` takes claude, codex, or a program that is in PATH or named by its path",
        ),
    )
}

/// Where a program is: by PATH, or by its own path.
pub fn find_program(name: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let runs = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(runs);
    }
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|dir| dir.join(name))
        .find(runs)
}

/// The most that is read as one text.
const MAX_TEXT: u64 = 16 * 1024 * 1024;

/// All of stdin, which has to be text.
pub fn read_stdin() -> Result<String> {
    read_text(std::io::stdin(), "stdin")
}

/// All of a source, which has to be text.
pub fn read_text(source: impl Read, name: &str) -> Result<String> {
    let mut bytes = Vec::new();
    source
        .take(MAX_TEXT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| CommandError::refused(format!("cannot read {name}: {error}")))?;
    if bytes.len() as u64 > MAX_TEXT {
        return Err(CommandError::refused(format!(
            "{name} has more than 16 MiB, too much for one text"
        ))
        .hint("put it into a file, and send the path"));
    }
    String::from_utf8(bytes).map_err(|_| {
        CommandError::refused(format!("{name} is not text (UTF-8)"))
            .hint("put it into a file, and send the path")
    })
}

fn started(out: &Printer, session: &SessionView) -> String {
    let name = one_line(&session.name);
    format!(
        "started {name} ({}): {} in {}\n  go to it: sm attach {name}    write to it: sm send {name} \"…\"\n",
        one_line(&session.id),
        one_line(&session.agent),
        out.look.path(&session.cwd)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn what_runs() {
        let known = |agent: &str, args: &[&str]| Program::Known {
            agent: agent.to_owned(),
            args: strings(args),
        };
        let other = |command: &[&str]| Program::Other {
            command: strings(command),
        };
        for (agent, args, expected) in [
            (
                Some("claude"),
                &["--model", "X"][..],
                known("claude", &["--model", "X"]),
            ),
            (Some("codex"), &[], known("codex", &[])),
            (Some("vim"), &["a"], other(&["vim", "a"])),
            (
                None,
                &["my-agent", "--flag"],
                other(&["my-agent", "--flag"]),
            ),
            (None, &["claude"], other(&["claude"])),
        ] {
            assert_eq!(
                Program::from(agent.map(str::to_owned), strings(args)),
                expected
            );
        }
    }

    #[test]
    fn a_text_is_text_and_bounded() {
        assert_eq!(read_text(&b"a\nb\n"[..], "x").unwrap(), "a\nb\n");
        assert!(read_text(&b"\xff"[..], "x").is_err());
        assert!(read_text(std::io::repeat(b'a'), "x").is_err());
    }
}
