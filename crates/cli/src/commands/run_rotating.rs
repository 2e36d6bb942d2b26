//! What `sm run` needs to go on in fresh contexts, put together from configuration, channel and
//! environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sm_agents::kind;
use sm_channel::ChannelName;
use sm_client::Paths;
use sm_core::AgentKind;
use sm_daemon::clock;
use sm_daemon::config::{Agent, Config};
use sm_run::rotate::{
    Begin, Folder, Restarts, RotateError, Rotating, Rules, Setup, Thresholds, is_one_shot,
};

use super::channel_place::{Here, told};
use crate::entry;
use crate::error::{CommandError, Result};

/// `--max-restarts`: a number, or `unlimited`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxRestarts(pub Restarts);

impl FromStr for MaxRestarts {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        if text == "unlimited" {
            return Ok(Self(Restarts::Unlimited));
        }
        text.parse()
            .map(|most| Self(Restarts::AtMost(most)))
            .map_err(|_| "a number, or unlimited".to_owned())
    }
}

/// What the person wants.
#[derive(Debug)]
pub struct Wanted {
    /// Of this run: its log has the same.
    pub id: String,
    /// The agent and its arguments.
    pub command: Vec<OsString>,
    pub begin: Begin,
    pub restarts: Option<MaxRestarts>,
    pub channel: Option<String>,
    pub log: Option<PathBuf>,
}

/// Which agent a program is: by the last part of its name.
fn kind_of(program: &str) -> AgentKind {
    let name = Path::new(program)
        .file_name()
        .and_then(|name| name.to_str());
    match name.and_then(AgentKind::parse) {
        Some(agent @ (AgentKind::Claude | AgentKind::Codex)) => agent,
        // it rotates by itself
        Some(AgentKind::Native | AgentKind::Generic) | None => AgentKind::Generic,
    }
}

/// None: nothing to be watched. A subcommand of an agent's has no context, and words that are not
/// text cannot be told to another start.
pub fn open(wanted: Wanted) -> Result<Option<(Rotating, sm_run::Run)>> {
    let words = wanted.command.iter().map(|word| word.to_str());
    let Some(words) = words.collect::<Option<Vec<&str>>>() else {
        return Ok(None);
    };
    let Some((named, given)) = words.split_first() else {
        return Ok(None);
    };
    let named_agent = (*named).to_owned();
    let agent = kind_of(named);
    let given: Vec<String> = given.iter().map(|word| (*word).to_owned()).collect();
    if is_one_shot(agent, &given) {
        return Ok(None);
    }
    let unusable = |error: String| {
        CommandError::not_usable(error).hint(format!(
            "`sm doctor` looks at this machine; without sm: command {named}"
        ))
    };
    let paths = Paths::from_env().map_err(|error| unusable(error.to_string()))?;
    let config = entry::configuration(&paths).map_err(|error| unusable(error.to_string()))?;
    let here = Here::find()?;
    let channel_named = wanted.channel.as_deref();
    let (channel, offer) = match wanted.begin {
        Begin::Handoff => {
            let lane = here.channel_to_load(channel_named)?;
            here.tell_origin(&lane.name);
            (lane.name, lane.offer)
        }
        Begin::Fresh => (here.channel(channel_named)?, None),
    };
    // what an agent leaves with the shell library in a folder that nobody registered
    let library = channel_named.is_none() && here.is_own(&channel);
    let cwd = std::env::current_dir()
        .map_err(|error| unusable(format!("this folder cannot be used: {error}")))?;
    let id = wanted.id;
    let folder = Folder::make(&paths, &id)
        .map_err(|error| unusable(RotateError::Folder(error).to_string()))?;
    let (program, mut args) = program(&config, agent, named);
    let fixed = args.len();
    args.extend(given);
    let rules = rules(&config, wanted.restarts);
    let agent_home = kind::agent_home(agent, |key| std::env::var(key).ok());
    let setup = Setup {
        agent,
        program,
        args,
        fixed,
        agent_home,
        cwd,
        hook_program: sm_daemon::hook_program(),
        secret: clock::random_hex(24),
        log: wanted.log,
        id,
        folder: folder.clone(),
        paths,
        place: here.place.clone(),
        channel,
        library: library.then(ChannelName::global),
        expiry: here.expiry(),
        gate: config.handoff.gate,
        largest_document: u64::from(config.handoff.max_bytes),
        permissions: config.handoff.permissions,
        quiet: config.generic.quiet,
    };
    Rotating::open(setup, rules, wanted.begin)
        .map(Some)
        .map_err(|error| {
            folder.remove();
            match error {
                RotateError::Channel(error) => {
                    let error = match &offer {
                        Some(offer) => told(error).hint(
                            offer.hint(&format!("sm run --handoff --channel global {named_agent}")),
                        ),
                        None => told(error),
                    };
                    error.hint("without --handoff a fresh conversation begins")
                }
                RotateError::Folder(_) | RotateError::Socket(_) | RotateError::Launch(_) => {
                    unusable(error.to_string())
                }
            }
        })
}

/// Program and fixed arguments. A path names the program itself.
fn program(config: &Config, agent: AgentKind, named: &str) -> (Vec<String>, Vec<String>) {
    let known = |agent: &Agent| {
        let program = match named.contains('/') {
            true => named.to_owned(),
            false => agent.program.clone(),
        };
        (vec![program], agent.args.clone())
    };
    match agent {
        AgentKind::Claude => known(&config.agents.claude),
        AgentKind::Codex => known(&config.agents.codex),
        AgentKind::Native | AgentKind::Generic => (vec![named.to_owned()], Vec::new()),
    }
}

fn rules(config: &Config, restarts: Option<MaxRestarts>) -> Rules {
    let run = &config.run;
    Rules {
        thresholds: Thresholds {
            percent: [run.early_warn, run.warn, run.critical].map(f64::from),
            limit_percent: f64::from(run.limit),
            ..Thresholds::default()
        },
        restarts: restarts.map_or(Restarts::AtMost(run.max_restarts), |given| given.0),
        deadline_turns: run.deadline_turns,
        deadline_tokens: u64::from(run.deadline_tokens),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_often_is_a_number_or_unlimited() {
        for (text, expected) in [
            ("0", Some(Restarts::AtMost(0))),
            ("10", Some(Restarts::AtMost(10))),
            ("unlimited", Some(Restarts::Unlimited)),
            ("-1", None),
            ("many", None),
            ("", None),
        ] {
            let read = text.parse::<MaxRestarts>().ok().map(|given| given.0);
            assert_eq!(read, expected, "{text}");
        }
    }

    #[test]
    fn an_agent_is_known_by_its_name() {
        for (program, expected) in [
            ("claude", AgentKind::Claude),
            ("/opt/bin/claude", AgentKind::Claude),
            ("codex", AgentKind::Codex),
            ("generic", AgentKind::Generic),
            ("claude-wrapper", AgentKind::Generic),
            ("", AgentKind::Generic),
        ] {
            assert_eq!(kind_of(program), expected, "{program}");
        }
    }

    #[test]
    fn without_a_configuration_the_rules_are_the_usual_ones() {
        assert_eq!(rules(&Config::default(), None), Rules::default());
    }
}
