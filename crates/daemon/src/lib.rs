//! The daemon: one actor per session, executors for its effects, and the API.
//!
//! Nothing here decides what becomes of a session or a message: that is `sm_core`. No lock is held
//! across an await, reads come from what the actors published, and every wait for the outside has a
//! deadline.

mod actor;
mod agent_files;
mod answers;
pub mod api;
pub mod archive;
pub mod ask;
mod caller;
pub mod clock;
pub mod config;
mod dispatch;
mod endings;
mod fault;
mod gc;
pub mod handoff;
pub mod host;
mod hub;
mod journal;
mod launch;
mod launches;
mod ledger;
mod limits;
mod log_writers;
mod logging;
mod looks;
mod mailboxes;
mod memory;
pub mod names;
pub mod notify;
mod origin;
mod orphans;
mod own_tools;
mod page;
pub mod peer;
mod perform;
pub mod pins;
mod platform;
mod private;
mod probe;
mod proof;
mod recover;
mod recovery;
mod reply;
mod reset_time;
mod rows;
mod run;
pub mod signin;
mod sources;
mod spooling;
mod stored;
mod terminal;
mod terminate;
mod tool_calls;
mod transcripts;
mod view;
mod watch;

pub use agent_files::{claude_compact_window, claude_settings};
pub use ledger::{Keeper, Source, repository_now};
pub use origin::{ANOTHER_AGENT, another_agent_asks, of as origin_of};
pub use own_tools::{
    Launching, how as how_to_hand_over, own_permissions, person_needed, tools as own_tools,
};
pub use run::{ServeError, ServeOptions, hook_program, run};
