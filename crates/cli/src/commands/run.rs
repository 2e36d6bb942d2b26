//! `sm run`.

use std::ffi::OsString;
use std::io::IsTerminal;

use clap::Args;
use sm_client::Paths;
use sm_client::wire::RUN_PREFIX;
use sm_run::rotate::Begin;
use sm_run::{NoRotation, RunError, Terminal};

use super::run_rotating::{self, MaxRestarts, Wanted};
use crate::client::fresh_id;
use crate::error::{CommandError, ExitCode, Result};
use crate::print;

/// As shells say that a program is not there, or cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_RUNNABLE: u8 = 126;

/// Runs an agent in this terminal, as if it had been started directly, and goes on in a fresh
/// context when its context is full.
///
/// Then sm writes down where the work stands, ends the agent, and starts it again with that, as
/// often as --max-restarts says; never after you have ended it. No daemon is needed.
///
/// Keys, mouse, paste, colours, size, job control and the exit code are the agent's; what it shows
/// is written down, too. Without a terminal on both ends the agent simply takes the place of `sm`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sm run claude
  sm run claude --model sonnet \"fix the failing test\"
  sm run codex
  sm run --handoff claude
  sm run -- my-agent --flag
Options of sm come before the agent's name; everything behind it is the agent's.
Exit codes: the agent's; 128+n if signal n ended it; 127 if there is no such program, 126 if it cannot be run.")]
pub struct Run {
    /// Begin with the active handoff of this folder's channel; else with the newest of one that has
    /// expired and what a run that was killed has left.
    #[arg(long)]
    handoff: bool,
    /// How often the agent is started again by itself: a number, 0 for never, or `unlimited`.
    /// Otherwise `run.max_restarts` of the configuration: 10.
    #[arg(long, value_name = "N")]
    max_restarts: Option<MaxRestarts>,
    /// Hand off by this channel instead of this folder's.
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Say on stderr what sm does here that is not to be seen.
    #[arg(long, short)]
    verbose: bool,
    /// Do not write down what the agent shows.
    #[arg(long)]
    no_log: bool,
    /// `claude`, `codex`, or any other program, and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        value_names = ["AGENT", "ARGS"],
        num_args = 1..
    )]
    agent: Vec<OsString>,
}

impl Run {
    pub fn run(self) -> Result<ExitCode> {
        let Some((program, rest)) = self.agent.split_first() else {
            return Err(CommandError::usage("there is no agent to run"));
        };
        if program.is_empty() {
            return Err(CommandError::usage("the agent to run has an empty name")
                .hint("is a variable not set? `sm run claude` names one"));
        }
        let mut run = sm_run::Run::new(program).args(rest);
        let terminal = match Terminal::of_person() {
            Ok(Some(terminal)) => terminal,
            Ok(None) => {
                if self.verbose {
                    print::note(&without_terminal());
                }
                return Ok(not_started(&sm_run::plain(run)));
            }
            Err(error) => return Ok(not_started(&error)),
        };
        let id = format!("{RUN_PREFIX}{}", fresh_id(12)?);
        if !self.no_log {
            match log_folder(&id) {
                Ok(folder) => run = run.log(folder),
                Err(why) if self.verbose => {
                    print::note(&format!("nothing is written down: {}", why.message))
                }
                Err(_) => {}
            }
        }
        if let (true, Some(folder)) = (self.verbose, &run.log) {
            print::note(&format!(
                "what the agent shows goes to {}",
                folder.display()
            ));
        }
        let wanted = Wanted {
            id,
            command: self.agent,
            begin: match self.handoff {
                true => Begin::Handoff,
                false => Begin::Fresh,
            },
            restarts: self.max_restarts,
            channel: self.channel,
            log: run.log.clone(),
        };
        let code = match run_rotating::open(wanted)? {
            Some((mut brain, run)) => {
                for text in brain.notes() {
                    print::note(&text);
                }
                let code = sm_run::run(run, terminal, &mut brain);
                brain.close_after(&code);
                code
            }
            None => sm_run::run(run, terminal, &mut NoRotation),
        };
        match code {
            Ok(code) => Ok(ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1))),
            Err(error) => Ok(not_started(&error)),
        }
    }
}

fn log_folder(id: &str) -> Result<std::path::PathBuf> {
    let paths = Paths::from_env().map_err(|error| CommandError::not_usable(error.to_string()))?;
    paths
        .ensure_dirs()
        .map_err(|error| CommandError::not_usable(error.to_string()))?;
    Ok(paths.session_dir(id))
}

fn without_terminal() -> String {
    let what = match (
        std::io::stdin().is_terminal(),
        std::io::stdout().is_terminal(),
    ) {
        (false, true) => "input",
        (true, false) => "output",
        (false, false) | (true, true) => "input and output",
    };
    format!("{what}: no terminal, so the agent runs directly, without sm: no log, no rotation")
}

fn not_started(error: &RunError) -> ExitCode {
    let (code, hint) = match error {
        RunError::Program { .. } if error.is_not_found() => (
            NOT_FOUND,
            "is it installed, and in a directory of PATH? `sm run -- /path/to/it` needs no PATH",
        ),
        RunError::Program { .. } => (
            NOT_RUNNABLE,
            "it is there but the system does not run it: see its permissions (`ls -l`)",
        ),
        RunError::NoDirectory(_) => (NOT_RUNNABLE, "go to a directory that exists"),
        RunError::System { .. } => (
            NOT_RUNNABLE,
            "without `sm run` the agent may still work; `sm doctor` looks at this machine",
        ),
    };
    print::error(&CommandError::not_usable(error.to_string()).hint(hint));
    ExitCode::from(code)
}
