//! The pinned real agent programs, and homes in which they start without a dialog and talk to
//! the scripted model.
//!
//! `tools/install-agents.sh` installs them. Where they are missing a test says so by name and
//! passes ([`or_skip`]), unless `SM_REQUIRE_AGENTS=1`. Nothing here reads or writes the real
//! home folder.

mod found;
mod home;

pub use found::{
    CLAUDE_NEWEST_VERSION, CLAUDE_VERSION, CODEX_VERSION, PI_VERSION, RealAgent, Skip, claude,
    claude_newest, codex, or_skip, pi,
};
pub use home::{claude_account, claude_home, codex_home, pi_home};
