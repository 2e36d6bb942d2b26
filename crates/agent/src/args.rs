//! The arguments of `sm agent`.

use std::path::PathBuf;

use std::ffi::OsStr;

use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use crate::config::Config;
use crate::generate::{DocumentArgs, GenerateArgs};
use crate::models;
use crate::session;
use crate::setup::Folders;

/// sm's own coding agent; `sm agent` and `sm generate` start it.
#[derive(Debug, Parser)]
#[command(
    name = "sm-agent",
    version,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Agent(AgentArgs),
    Generate(GenerateArgs),
    #[command(hide = true)]
    Document(DocumentArgs),
}

const AFTER: &str = "\
Without -p: an interactive agent in the terminal.
Exit codes with -p: 0 done; 1 failed; 2 not usable here (no model, no session, a mistake in agent.toml);
3 done, but calls were refused because nothing allowed them; 64 wrong usage; 130 interrupted.
-p '/handoff [focus]' hands the session over and prints the document.";

/// Works in this directory with a model of your choice.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub struct AgentArgs {
    /// What to do; in an interactive agent the first prompt.
    #[arg(value_name = "PROMPT")]
    pub prompt: Option<String>,
    /// Headless: one prompt, the answer streamed to stdout; `-` reads it from stdin.
    #[arg(
        short = 'p',
        long = "print",
        value_name = "PROMPT",
        conflicts_with = "prompt"
    )]
    pub print: Option<String>,
    /// With -p: every event as a line of JSON; the last one is the result.
    #[arg(long, requires = "print")]
    pub json: bool,
    /// The model, as PROVIDER/ID, or any part of it that fits only one.
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// How long the model thinks: off, minimal, low, medium, high or xhigh.
    #[arg(long, value_name = "LEVEL")]
    pub thinking: Option<String>,
    /// The working directory.
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Goes on with the newest session of this directory.
    #[arg(long = "continue", short = 'c', conflicts_with = "resume")]
    pub go_on: bool,
    /// Goes on with a session: by its id, the beginning of it, or its file. Without one: lets you choose.
    #[arg(long, short = 'r', value_name = "ID|PATH", num_args = 0..=1, default_missing_value = "")]
    pub resume: Option<String>,
    /// Allows something without a question: bash, bash:COMMAND, write, write:PATH, read, read:PATH.
    #[arg(long, value_name = "RULE")]
    pub allow: Vec<String>,
    /// Allows everything.
    #[arg(long, conflicts_with = "allow")]
    pub yes: bool,
    /// It is the agent of a session of sm's daemon, which says so when it starts it.
    #[arg(long, hide = true)]
    pub managed: bool,
    /// `sm`, whose tools its model has for this session.
    #[arg(long, hide = true, value_name = "PROGRAM", requires = "managed")]
    pub tools_by: Option<String>,
    /// A person is asked before its model hands over with them.
    #[arg(long, hide = true)]
    pub ask_to_hand_over: bool,
    /// The id of a session that is new.
    #[arg(long, hide = true, value_name = "ID", conflicts_with_all = ["resume", "go_on"])]
    pub session_id: Option<String>,
    /// Plain text for screen readers and simple terminals.
    #[arg(long)]
    pub plain: bool,
}

/// Answers a shell that completes a line of `sm agent` or `sm generate`. Whether one has asked.
/// Whatever fails, nothing is offered and nothing is printed.
pub fn completed() -> bool {
    const VARIABLE: &str = "SM_COMPLETE";
    if std::env::var_os(VARIABLE).is_none_or(|shell| shell.is_empty() || shell == "0") {
        return false;
    }
    let here = std::env::current_dir().ok();
    let _ = CompleteEnv::with_factory(|| {
        Cli::command().mut_subcommands(|command| {
            command.mut_args(|argument| match argument.get_id().as_str() {
                "model" => argument.add(ArgValueCompleter::new(|typed: &OsStr| {
                    offered(typed, known_models())
                })),
                "resume" => argument.add(ArgValueCompleter::new(|typed: &OsStr| {
                    offered(typed, known_sessions())
                })),
                "thinking" => argument.add(ArgValueCompleter::new(|typed: &OsStr| {
                    let levels = ["off", "minimal", "low", "medium", "high", "xhigh"];
                    offered(
                        typed,
                        levels.map(|level| (level.into(), String::new())).into(),
                    )
                })),
                _ => argument,
            })
        })
    })
    .var(VARIABLE)
    .bin("sm")
    .completer("sm")
    .try_complete(std::env::args_os(), here.as_deref());
    true
}

/// Those that have what was typed; any part of a name will do, so any part is completed.
fn offered(typed: &OsStr, all: Vec<(String, String)>) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy().to_lowercase();
    all.into_iter()
        .filter(|(value, _)| value.to_lowercase().contains(&typed))
        .map(|(value, about)| {
            let about = Some(about).filter(|about| !about.is_empty());
            CompletionCandidate::new(value).help(about.map(Into::into))
        })
        .collect()
}

/// Those that are known without asking a server: somebody waits.
fn known_models() -> Vec<(String, String)> {
    let config = Folders::from_env()
        .ok()
        .and_then(|folders| Config::load(&folders.config).ok())
        .unwrap_or_default();
    let names = models::written(&config);
    names
        .into_iter()
        .map(|name| (name, String::new()))
        .collect()
}

fn known_sessions() -> Vec<(String, String)> {
    let (Ok(folders), Ok(cwd)) = (Folders::from_env(), std::env::current_dir()) else {
        return Vec::new();
    };
    session::list(&folders.sessions, &cwd)
        .into_iter()
        .take(100)
        .map(|summary| {
            let about = summary.title.or(summary.first_message).unwrap_or_default();
            let about: String = about.chars().filter(|c| !c.is_control()).take(60).collect();
            (summary.header.id, about)
        })
        .collect()
}
