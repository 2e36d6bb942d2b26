//! Finding the installed programs.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The version of Claude Code the tests were written for.
pub const CLAUDE_VERSION: &str = "2.1.197";
/// The newest version of Claude Code that the tests were run on.
pub const CLAUDE_NEWEST_VERSION: &str = "2.1.328";
/// The version of Codex the tests were written for.
pub const CODEX_VERSION: &str = "0.169.0";
/// The version of pi the tests were written for.
pub const PI_VERSION: &str = "0.73.1";

/// An installed agent program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealAgent {
    /// What to execute.
    pub program: PathBuf,
    /// Its version, as its package says.
    pub version: String,
}

/// Why a test on a real program cannot run here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Skip(String);

/// Claude Code as it is pinned; with `SM_CLAUDE=newest` the newest version that was tried, so that
/// every test of the real program can be run on it.
pub fn claude() -> Result<RealAgent, Skip> {
    if std::env::var_os("SM_CLAUDE").is_some_and(|version| version == "newest") {
        return claude_newest();
    }
    find(
        &agents_dir(),
        "claude",
        "@anthropic-ai/claude-code",
        CLAUDE_VERSION,
    )
}

/// The newest Claude Code that was tried, which is installed in a folder of its own.
pub fn claude_newest() -> Result<RealAgent, Skip> {
    find(
        &agents_dir().join("newest"),
        "claude",
        "@anthropic-ai/claude-code",
        CLAUDE_NEWEST_VERSION,
    )
}

/// Codex.
pub fn codex() -> Result<RealAgent, Skip> {
    find(&agents_dir(), "codex", "@openai/codex", CODEX_VERSION)
}

/// pi, which is installed in a folder of its own.
pub fn pi() -> Result<RealAgent, Skip> {
    find(
        &agents_dir().join("pi"),
        "pi",
        "@mariozechner/pi-coding-agent",
        PI_VERSION,
    )
}

/// The agent, or `None` after saying on stderr which test is skipped and why.
///
/// # Panics
/// With `SM_REQUIRE_AGENTS=1`, when the agent is missing.
pub fn or_skip(test: &str, found: Result<RealAgent, Skip>) -> Option<RealAgent> {
    match found {
        Ok(agent) => Some(agent),
        Err(why) => {
            let required = std::env::var_os("SM_REQUIRE_AGENTS").is_some_and(|v| v == "1");
            assert!(
                !required,
                "SM_REQUIRE_AGENTS=1, but {test} cannot run: {why}"
            );
            eprintln!("SKIPPED {test}: {why}");
            None
        }
    }
}

fn agents_dir() -> PathBuf {
    match std::env::var_os("SM_AGENTS_DIR").filter(|dir| !dir.is_empty()) {
        Some(dir) => dir.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.agents"),
    }
}

fn find(dir: &Path, name: &str, package: &str, pinned: &str) -> Result<RealAgent, Skip> {
    let modules = dir.join("node_modules");
    let missing = || {
        Skip(format!(
            "{name} {pinned} is not installed in {} (run tools/install-agents.sh)",
            dir.display()
        ))
    };
    let manifest =
        std::fs::read(modules.join(package).join("package.json")).map_err(|_| missing())?;
    let manifest: Value = serde_json::from_slice(&manifest).map_err(|_| missing())?;
    let version = manifest["version"].as_str().unwrap_or("unknown").to_owned();
    if version != pinned {
        return Err(Skip(format!(
            "{name} {version} is installed, the tests are for {pinned} (run tools/install-agents.sh)"
        )));
    }
    // resolved, so that the program also runs from another working directory
    let program = modules
        .join(".bin")
        .join(name)
        .canonicalize()
        .map_err(|_| missing())?;
    Ok(RealAgent { program, version })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sm_agents::tried;
    use sm_core::AgentKind;

    #[test]
    fn the_installer_pins_the_same_versions() {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/install-agents.sh");
        let script = std::fs::read_to_string(script).unwrap();
        assert!(script.contains(&format!("CLAUDE_VERSION={CLAUDE_VERSION}\n")));
        assert!(script.contains(&format!("CLAUDE_NEWEST_VERSION={CLAUDE_NEWEST_VERSION}\n")));
        assert!(script.contains(&format!("CODEX_VERSION={CODEX_VERSION}\n")));
        assert!(script.contains(&format!("PI_VERSION={PI_VERSION}\n")));
    }

    /// `sm doctor` warns of what is newer than these: they are what the tests are run with.
    #[test]
    fn the_versions_that_were_tried_are_those_of_the_tests() {
        for (agent, version) in [
            (AgentKind::Claude, CLAUDE_NEWEST_VERSION),
            (AgentKind::Codex, CODEX_VERSION),
        ] {
            let tried = tried::newest(agent).map(|tried| tried.to_string());
            assert_eq!(tried.as_deref(), Some(version), "{agent:?}");
        }
    }

    #[test]
    fn what_is_missing_or_different_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let missing = find(dir.path(), "codex", "@openai/codex", "1.0")
            .unwrap_err()
            .to_string();
        assert!(
            missing.starts_with("codex 1.0 is not installed in "),
            "{missing}"
        );
        let package = dir.path().join("node_modules/@openai/codex");
        std::fs::create_dir_all(&package).unwrap();
        std::fs::write(package.join("package.json"), r#"{"version":"2.0"}"#).unwrap();
        let other = find(dir.path(), "codex", "@openai/codex", "1.0")
            .unwrap_err()
            .to_string();
        assert!(
            other.starts_with("codex 2.0 is installed, the tests are for 1.0"),
            "{other}"
        );
    }
}
