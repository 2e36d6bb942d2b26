//! Which process a hook call comes from: the session's own agent, or one that inherited its
//! environment. Decided by the chain of parents the hook program reports.

use crate::platform;
use sm_client::process;
use sm_core::signal::Origin;
use sm_core::{AgentKind, Process};

/// Programs that only stand between an agent and its hook.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "fish", "ash", "ksh", "busybox"];

pub fn of(agent: AgentKind, own: Option<Process>, ancestors: &str) -> Origin {
    let chain = parse(ancestors);
    let Some(own) = own else {
        return Origin::Unknown;
    };
    if chain.is_empty() || chain.iter().all(|p| p.start == 0) {
        return Origin::Unknown;
    }
    let Some(at) = chain.iter().position(|p| *p == own) else {
        return Origin::Nested;
    };
    let between: Vec<Option<String>> = chain[..at]
        .iter()
        .map(|p| platform::process_name(p.pid))
        .collect();
    judge(agent, platform::program_name(own.pid).as_deref(), &between)
}

/// By the program of the session's own agent process, and the names of those between it and the hook.
fn judge(agent: AgentKind, own: Option<&str>, between: &[Option<String>]) -> Origin {
    let allowed: usize = match agent {
        // the own agent speaks for itself
        AgentKind::Claude | AgentKind::Native => 0,
        // its launcher script starts the real program as its child
        AgentKind::Codex => 1,
        AgentKind::Generic => usize::MAX,
    };
    // A script of the person's that has the agent's name does the same.
    let script = own.is_some_and(|name| SHELLS.contains(&name));
    let allowed = allowed.saturating_add(usize::from(script));
    if between.iter().any(Option::is_none) {
        return Origin::Unknown; // already gone: the conversation id decides
    }
    let strange = between
        .iter()
        .flatten()
        .filter(|name| !SHELLS.contains(&name.as_str()))
        .count();
    if strange > allowed {
        Origin::Nested
    } else {
        Origin::Own
    }
}

/// Programs that are agents, whatever they were started by.
const AGENTS: [&str; 12] = [
    "aider",
    "amp",
    "claude",
    "codex",
    "copilot",
    "cursor-agent",
    "gemini",
    "goose",
    "omp",
    "opencode",
    "pi",
    "sm-agent",
];

/// What it is told.
pub const ANOTHER_AGENT: &str = "another agent asks, which the agent of this session has started: only that agent itself can hand over. Give it your result instead, and go on";

/// The name under which Codex starts its own program once more, around each command that it runs.
const SANDBOX: &str = "codex-linux-sandbox";

/// How far up is looked.
const MOST_ANCESTORS: usize = 64;

/// Whether the process that asks is of another agent than the session's own: of one that this has
/// started, and that has inherited all of its environment.
pub fn another_agent_asks(own: process::Process, asks: u32) -> bool {
    let chain = process::lineage(asks, MOST_ANCESTORS);
    let Some(at) = chain.iter().position(|p| *p == own) else {
        return false; // it has left its ancestors: nothing tells
    };
    let names = |process: &process::Process| {
        let pid = process.pid;
        [platform::process_name(pid), platform::program_name(pid)]
    };
    let is_sandbox =
        |p: &&process::Process| platform::started_as(p.pid).as_deref() == Some(SANDBOX);
    let between = chain[..at].iter().filter(|p| !is_sandbox(p));
    let between: Vec<_> = between.map(names).collect();
    agent_between(&names(&own), &between)
}

/// By what each process calls itself and the program that it runs. The session's own process may be a
/// script that has the agent as its child.
fn agent_between(own: &[Option<String>; 2], between: &[[Option<String>; 2]]) -> bool {
    let is_agent = |names: &[Option<String>; 2]| {
        let known = |name: &String| AGENTS.contains(&name.trim_end_matches(".exe"));
        names.iter().flatten().any(known)
    };
    let is_script = own[1].as_deref().is_some_and(|name| SHELLS.contains(&name));
    let may = usize::from(is_script || !is_agent(own));
    between.iter().filter(|names| is_agent(names)).count() > may
}

fn parse(text: &str) -> Vec<Process> {
    text.split(',')
        .take(16)
        .filter_map(|part| {
            let (pid, start) = part.split_once(':')?;
            Some(Process {
                pid: pid.parse().ok()?,
                start: start.parse().ok()?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_between_is_nothing_another_agent_is() {
        let names = |text: &str| -> Vec<Option<String>> {
            text.split_whitespace()
                .map(|n| Some(n.to_string()))
                .collect()
        };
        assert_eq!(judge(AgentKind::Claude, None, &names("")), Origin::Own);
        assert_eq!(judge(AgentKind::Claude, None, &names("sh")), Origin::Own);
        assert_eq!(
            judge(AgentKind::Claude, None, &names("claude")),
            Origin::Nested
        );
        assert_eq!(
            judge(AgentKind::Claude, None, &names("sh claude bash")),
            Origin::Nested
        );
        assert_eq!(
            judge(AgentKind::Codex, None, &names("sh codex")),
            Origin::Own
        );
        assert_eq!(
            judge(AgentKind::Codex, None, &names("sh codex node bash codex")),
            Origin::Nested
        );
        assert_eq!(judge(AgentKind::Claude, None, &[None]), Origin::Unknown);
    }

    #[test]
    fn a_script_in_the_agents_place_has_the_agent_as_its_child() {
        let names = |text: &str| -> Vec<Option<String>> {
            text.split_whitespace()
                .map(|n| Some(n.to_string()))
                .collect()
        };
        for (agent, own, between, expected) in [
            (AgentKind::Claude, "bash", "sh claude", Origin::Own),
            (AgentKind::Claude, "claude", "sh claude", Origin::Nested),
            (
                AgentKind::Claude,
                "sh",
                "sh claude bash claude",
                Origin::Nested,
            ),
            (AgentKind::Codex, "sh", "sh codex node", Origin::Own),
            (
                AgentKind::Codex,
                "sh",
                "sh codex bash codex node",
                Origin::Nested,
            ),
        ] {
            let found = judge(agent, Some(own), &names(between));
            assert_eq!(found, expected, "{own}: {between}");
        }
    }

    #[test]
    fn an_agent_between_is_another_one_and_other_programs_are_not() {
        // what a process calls itself, and its program
        let names = |text: &str| -> [Option<String>; 2] {
            let (name, program) = text.split_once('/').unwrap_or((text, text));
            [name, program].map(|name| Some(name.to_owned()))
        };
        for (own, between, expected) in [
            ("claude", "sm bash", false),
            ("claude", "sm", false),
            ("claude", "sm make python3 bash", false),
            ("claude/2.1.325", "sm bash", false),
            ("claude/2.1.325", "sm bash claude/2.1.325 bash", true),
            ("claude", "sm bash claude/node bash", true),
            ("claude", "sm bash codex node bash", true),
            ("claude/bash", "sm bash claude bash", false),
            ("claude/bash", "sm bash claude bash claude", true),
            ("MainThread/node", "sm bash codex", false),
            ("MainThread/node", "sm bash codex bash codex", true),
            ("codex", "sm bash codex", true),
            ("my-agent", "sm", false),
        ] {
            let between: Vec<_> = between.split(' ').map(names).collect();
            assert_eq!(
                agent_between(&names(own), &between),
                expected,
                "{own}: {between:?}"
            );
        }
        assert!(
            !agent_between(&[None, None], &[[None, None]]),
            "gone already"
        );
    }

    #[test]
    fn without_the_own_process_in_the_chain_it_is_nested() {
        let own = Some(Process { pid: 1, start: 5 });
        assert_eq!(of(AgentKind::Claude, own, "7:70,8:80"), Origin::Nested);
        assert_eq!(of(AgentKind::Claude, own, "1:5"), Origin::Own);
        assert_eq!(
            of(AgentKind::Claude, own, "1:6"),
            Origin::Nested,
            "a later process with that pid"
        );
        assert_eq!(of(AgentKind::Claude, own, "1:0"), Origin::Unknown);
        assert_eq!(of(AgentKind::Claude, None, "1:5"), Origin::Unknown);
        assert_eq!(of(AgentKind::Claude, own, "garbage,:,9"), Origin::Unknown);
    }
}
