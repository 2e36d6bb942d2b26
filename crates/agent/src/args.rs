//! The arguments of `sm agent`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::generate::{DocumentArgs, GenerateArgs};

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
    /// The model, as PROVIDER/ID.
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
    /// The id of a session that is new.
    #[arg(long, hide = true, value_name = "ID", conflicts_with_all = ["resume", "go_on"])]
    pub session_id: Option<String>,
    /// Plain text for screen readers and simple terminals.
    #[arg(long)]
    pub plain: bool,
}
