//! `sm channel hook`: what installed hooks of an agent that was started without sm do with the
//! channel of its folder.

use std::path::Path;

use clap::{Args, ValueEnum};
use sm_core::AgentKind;
use sm_run::rotate::Without;

use super::channel::input;
use super::channel_place::{Here, caller};
use crate::error::Result;
use crate::print::Printer;

/// For hooks: reads a hook's payload from standard input, and prints what the agent is told.
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct ChannelHook {
    /// What the agent tells: SessionStart or PreCompact
    #[arg(value_enum)]
    event: Event,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Event {
    #[value(name = "SessionStart")]
    SessionStart,
    #[value(name = "PreCompact")]
    PreCompact,
}

impl ChannelHook {
    pub fn run(self, here: &Here, out: &mut Printer) -> Result<()> {
        let body = input(std::io::stdin(), Path::new("standard input"))?;
        let (channel, offer) = match self.event {
            Event::SessionStart => {
                let lane = here.channel_to_load(None)?;
                (lane.name, lane.offer)
            }
            Event::PreCompact => (here.channel(None)?, None),
        };
        let offer = offer.map(|offer| offer.hint("sm channel load --channel global"));
        let cwd = std::env::current_dir().unwrap_or_default();
        let without = Without {
            agent: AgentKind::Claude,
            place: &here.place,
            channel: &channel,
            offer: offer.as_deref(),
            expiry: here.expiry(),
            cwd: &cwd,
            pid: caller(),
        };
        let done = match self.event {
            Event::SessionStart => without.context_started(&body),
            Event::PreCompact => without.compaction_near(&body).map(|()| Vec::new()),
        };
        let printed = done.map_err(|error| here.logged(&channel, error))?;
        out.bytes(&printed)
    }
}
