//! The tools that a model can call: read, write, edit, bash, grep, find, todo; in a session of sm's also
//! those by which it hands over.
//!
//! A call comes from a model and may be anything: wrong types, missing arguments, paths to pipes
//! and devices, commands that never end. Each is answered with words for the model; none panics,
//! blocks for ever or fills the memory. Whether a call may run at all is not decided here: `needs`
//! says what it would do, and whoever runs it asks before.

mod args;
mod bash;
mod definitions;
mod edit;
mod find;
mod grep;
mod need;
mod outcome;
mod output;
mod own;
mod paths;
mod read;
mod todo;
mod walk;
mod write;

use std::path::Path;

use sm_agents::OwnTools;
use sm_agents::own_tools::of_full_name;
use sm_llm::ToolCall;
use tokio_util::sync::CancellationToken;

pub use definitions::{Managed, definitions};
pub use need::{Need, Side, needs};
pub use outcome::ToolOutcome;
pub use todo::{Todo, TodoStatus};

use args::Args;

/// Where and how a call runs.
pub struct ToolContext<'a> {
    /// What relative paths count from, and where commands run.
    pub cwd: &'a Path,
    /// Made (mode 700) when an output is too long for the model: it is kept whole in there.
    pub outputs: &'a Path,
    /// Whose tools there are beside the agent's own.
    pub own: Option<&'a OwnTools>,
    /// Ends the call soon; what it started ends too.
    pub cancel: &'a CancellationToken,
    /// Is told what comes out, as it comes: clean text, a few times a second at most.
    pub on_output: &'a mut (dyn FnMut(&str) + Send),
}

/// Runs a call. Whatever goes wrong is told to the model.
pub async fn run(call: &ToolCall, context: &mut ToolContext<'_>) -> ToolOutcome {
    if context.cancel.is_cancelled() {
        return ToolOutcome::cancelled();
    }
    let args = Args::new(&call.name, &call.arguments);
    let outcome = match call.name.as_str() {
        "read" => read::run(args, context).await,
        "write" => write::run(args, context).await,
        "edit" => edit::run(args, context).await,
        "bash" => bash::run(args, context).await,
        "grep" => grep::run(args, context).await,
        "find" => find::run(args, context).await,
        "todo" => todo::run(args),
        other => match (context.own, of_full_name(other)) {
            (Some(own), Some(tool)) => own::run(own, tool, &call.arguments, context.cancel).await,
            (_, _) => Err(definitions::unknown(other)),
        },
    };
    outcome.unwrap_or_else(ToolOutcome::failed)
}
