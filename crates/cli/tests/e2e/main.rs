//! `sm`, its daemon, tmux and the hook program together, with the fake agent in Claude Code's
//! place. What an agent was given is read from the agent's own record, never from ours.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod archive;
mod context;
mod contract;
mod crash;
mod dashboard;
mod dashboard_terminal;
mod delivery;
mod environment;
mod family;
mod fault_points;
mod generate;
mod generic;
mod handoff;
mod handoff_artifacts;
mod handoff_cli;
mod handoff_faults;
mod hardship;
mod kill_points;
mod kill_points_messages;
mod ledger;
mod life;
mod limits;
mod mcp;
mod native;
mod native_commands;
mod native_handoff;
mod notices;
mod own;
mod own_any;
mod own_commands;
mod own_terminal;
mod pins;
mod proof;
mod replies;
mod run_ends;
mod run_goodbyes;
mod run_person;
mod run_trouble;
mod seed2;
mod stream;
mod watch;
mod world;
