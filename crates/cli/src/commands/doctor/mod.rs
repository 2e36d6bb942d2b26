//! `sm doctor`: what works here, what does not, and how to fix it.
//!
//! It needs nothing to work: no daemon, no tmux, no configuration. It changes nothing.

mod daemon;
mod places;
mod port;
mod programs;

use clap::Args;
use serde::Serialize;
use sm_agents::kind;
use sm_agents::own_tools::{HANDOFF, full_name};
use sm_core::AgentKind;
use sm_core::monitor::How;
use sm_daemon::Launching;
use sm_daemon::config::{Config, ConfigError};

use crate::client::Daemon;
use crate::entry;
use crate::error::{CommandError, ExitCode, Kind, Result};
use crate::print::Printer;
use crate::text::{Look, Tone, count, many_lines};

/// Says what works on this machine, what does not, and how to fix it.
///
/// Exit code 1 if something that is needed is broken.
#[derive(Debug, Args)]
pub struct Doctor {
    /// As JSON: an array of `{check, verdict, text, remedy}`.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Ok,
    /// Something is missing that is not always needed.
    Warning,
    /// sm does not work until this is fixed.
    Broken,
}

/// What was looked at and found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Check {
    check: String,
    verdict: Verdict,
    text: String,
    remedy: Option<String>,
}

impl Check {
    fn ok(check: &str, text: impl Into<String>) -> Self {
        Self::new(check, Verdict::Ok, text, None)
    }

    fn warning(check: &str, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(check, Verdict::Warning, text, Some(remedy.into()))
    }

    fn broken(check: &str, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(check, Verdict::Broken, text, Some(remedy.into()))
    }

    fn new(check: &str, verdict: Verdict, text: impl Into<String>, remedy: Option<String>) -> Self {
        Self {
            check: check.to_owned(),
            verdict,
            text: text.into(),
            remedy,
        }
    }
}

impl Doctor {
    pub fn run(self, out: &mut Printer) -> Result<ExitCode> {
        let checks = examine();
        if self.json {
            let json = serde_json::to_value(&checks)
                .map_err(|error| CommandError::refused(format!("cannot write JSON: {error}")))?;
            out.json(&json)?;
        } else {
            let text = render(&out.look, &checks);
            out.text(&text)?;
        }
        Ok(match worst(&checks) {
            Verdict::Broken => Kind::Refused.exit_code(),
            Verdict::Ok | Verdict::Warning => ExitCode::SUCCESS,
        })
    }
}

fn examine() -> Vec<Check> {
    let daemon = match Daemon::open() {
        Ok(daemon) => daemon,
        Err(error) => {
            let mut checks = vec![Check::broken(
                "places",
                error.message,
                error.hints.join("; "),
            )];
            checks.extend(programs::check(&Config::default()));
            return checks;
        }
    };
    let configured = entry::configuration(daemon.paths());
    let config_check = config_check(&daemon, configured.as_ref().err());
    let config = configured.unwrap_or_default();
    // The agents' programs take a while to say their versions.
    let (mut checks, rest) = std::thread::scope(|scope| {
        let programs = scope.spawn(|| programs::check(&config));
        let mut rest = places::check(daemon.paths());
        rest.extend(daemon::check(&daemon, config.daemon.port));
        (programs.join().unwrap_or_default(), rest)
    });
    checks.push(config_check);
    checks.extend(handoffs(config.handoff.permissions));
    checks.extend(rest);
    checks
}

/// Whether Claude Code, started here, can hand over by itself: by its tool or by the command.
fn handoffs(allowed: bool) -> Option<Check> {
    let agent = AgentKind::Claude;
    let home = kind::agent_home(agent, |key| std::env::var(key).ok());
    let cwd = std::env::current_dir().unwrap_or_default();
    let launching = Launching {
        agent,
        args: &[],
        cwd: &cwd.to_string_lossy(),
        home: home.as_deref(),
        hook_program: "",
        allowed,
    };
    let how = How::Tool(full_name(HANDOFF));
    let why = sm_daemon::person_needed(&launching, &how)?;
    Some(Check::warning(
        "handoffs",
        format!("those of Claude Code need a person: {why}"),
        match allowed {
            true => {
                "take the rule out of your settings, or leave the agent alone only with automatic handoffs"
            }
            false => "leave the key out of config.toml, or be there",
        },
    ))
}

fn config_check(daemon: &Daemon, wrong: Option<&ConfigError>) -> Check {
    let file = daemon.paths().config_file();
    match wrong {
        None if file.exists() => Check::ok("config", format!("{} is fine", file.display())),
        None => Check::ok(
            "config",
            format!("defaults ({} does not exist)", file.display()),
        ),
        Some(error) => Check::broken("config", error.to_string(), error.hint()),
    }
}

fn worst(checks: &[Check]) -> Verdict {
    let has = |verdict| checks.iter().any(|check| check.verdict == verdict);
    match () {
        () if has(Verdict::Broken) => Verdict::Broken,
        () if has(Verdict::Warning) => Verdict::Warning,
        () => Verdict::Ok,
    }
}

fn render(look: &Look, checks: &[Check]) -> String {
    let mut text = String::new();
    for check in checks {
        let (mark, tone) = match check.verdict {
            Verdict::Ok => ("✓", Tone::Good),
            Verdict::Warning => ("!", Tone::Warn),
            Verdict::Broken => ("✗", Tone::Bad),
        };
        let said = many_lines(&check.text).replace('\n', "\n             ");
        text.push_str(&format!(
            "{} {:<10} {said}\n",
            look.paint(tone, mark),
            check.check
        ));
        if let Some(remedy) = &check.remedy {
            text.push_str(&format!(
                "             {} {}\n",
                look.paint(Tone::Busy, "→"),
                many_lines(remedy)
            ));
        }
    }
    let broken = checks
        .iter()
        .filter(|check| check.verdict == Verdict::Broken)
        .count();
    text.push_str(&match worst(checks) {
        Verdict::Ok => "all is well\n".to_owned(),
        Verdict::Warning => "sm works; lines with ! say what is missing\n".to_owned(),
        Verdict::Broken => format!("{} to fix, marked ✗\n", count(broken, "thing")),
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tests::look;

    #[test]
    fn every_problem_has_its_remedy() {
        let checks = [
            Check::ok("tmux", "3.5a"),
            Check::warning("codex", "not found", "install it to run `sm new codex`"),
            Check::broken("config", "line 3:\nunknown key", "correct that line"),
        ];
        insta::assert_snapshot!(render(&look(), &checks), @r"
        ✓ tmux       3.5a
        ! codex      not found
                     → install it to run `sm new codex`
        ✗ config     line 3:
                     unknown key
                     → correct that line
        1 thing to fix, marked ✗
        ");
        assert_eq!(worst(&checks), Verdict::Broken);
        assert_eq!(worst(&checks[..2]), Verdict::Warning);
        assert_eq!(worst(&checks[..1]), Verdict::Ok);
    }
}
