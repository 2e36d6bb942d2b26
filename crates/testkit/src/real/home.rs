//! Fresh homes: the files that keep first-run dialogs away, and the environment to start with.
//!
//! The keys are dummies; the only server the programs are told of is the scripted model.

use std::io;
use std::path::Path;

use serde_json::json;

use super::found::RealAgent;

/// Long enough to have the twenty last characters that Claude Code remembers an approval by.
const DUMMY_KEY: &str = "sk-ant-dummy-000000000000000000000000000000000000";

/// Prepares `home` so that Claude Code reaches its prompt in `cwd` without a dialog, and returns
/// the whole environment to start it with.
///
/// Tests should pass `--model claude-sonnet-4-5`, whose window is 200,000 tokens.
pub fn claude_home(
    agent: &RealAgent,
    home: &Path,
    cwd: &Path,
    model_url: &str,
) -> io::Result<Vec<(String, String)>> {
    let approved = &DUMMY_KEY[DUMMY_KEY.len() - 20..];
    let cwd = cwd.canonicalize()?;
    let mut projects = serde_json::Map::new();
    projects.insert(
        cwd.to_string_lossy().into_owned(),
        json!({"hasTrustDialogAccepted": true}),
    );
    let config = json!({
        "hasCompletedOnboarding": true,
        "lastOnboardingVersion": agent.version,
        "customApiKeyResponses": {"approved": [approved], "rejected": []},
        "projects": projects,
    });
    std::fs::write(home.join(".claude.json"), config.to_string())?;
    let mut env = common_env(home);
    env.extend(
        [
            ("ANTHROPIC_BASE_URL", model_url),
            ("ANTHROPIC_API_KEY", DUMMY_KEY),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
        ]
        .map(|(k, v)| (k.to_owned(), v.to_owned())),
    );
    Ok(env)
}

/// Lets Claude Code be logged in with an account instead of a key: a provider tells it of an account's
/// limits. It must not have a key in its environment.
pub fn claude_account(home: &Path) -> io::Result<()> {
    let account = json!({"claudeAiOauth": {
        "accessToken": "sk-ant-oat01-dummy",
        "refreshToken": "sk-ant-ort01-dummy",
        "expiresAt": 4_102_444_800_000_i64,
        "scopes": ["user:inference", "user:profile"],
        "subscriptionType": "max",
        "rateLimitTier": "default_claude_max_5x",
    }});
    let folder = home.join(".claude");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(".credentials.json"), account.to_string())
}

/// Prepares `home` so that Codex reaches its prompt in `cwd` without a dialog, and returns the
/// whole environment to start it with.
///
/// Tests should pass `--no-daemon`, or Codex leaves a background server behind.
pub fn codex_home(home: &Path, cwd: &Path, model_url: &str) -> io::Result<Vec<(String, String)>> {
    let cwd = cwd.canonicalize()?;
    let config = format!(
        r#"model = "fake-gpt"
model_provider = "fake"
model_context_window = 200000
approval_policy = "on-request"
sandbox_mode = "workspace-write"
check_for_update_on_startup = false

[model_providers.fake]
name = "Fake"
base_url = {base}
env_key = "FAKE_KEY"
wire_api = "responses"

[projects.{cwd}]
trust_level = "trusted"

[tui]
screen_reader_detection_done = true
"#,
        base = json!(format!("{model_url}/v1")),
        cwd = json!(cwd.to_string_lossy()), // a JSON string is a TOML basic string too
    );
    let folder = home.join(".codex");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("config.toml"), config)?;
    let mut env = common_env(home);
    env.push(("FAKE_KEY".into(), "dummy".into()));
    Ok(env)
}

/// Prepares `home` so that pi knows the scripted model as `fake/fake-1` and no other, and returns
/// the whole environment to start it with. It asks nobody for updates and sends no telemetry.
pub fn pi_home(home: &Path, model_url: &str) -> io::Result<Vec<(String, String)>> {
    let models = json!({
        "providers": {
            "fake": {
                "baseUrl": model_url,
                "api": "anthropic-messages",
                "apiKey": "dummy",
                "models": [{
                    "id": "fake-1",
                    "reasoning": true,
                    "input": ["text"],
                    "contextWindow": 200_000,
                    "maxTokens": 8_000,
                }],
            },
        },
    });
    let folder = home.join(".pi/agent");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("models.json"), models.to_string())?;
    let mut env = common_env(home);
    env.push(("PI_OFFLINE".into(), "1".into()));
    env.push(("PI_TELEMETRY".into(), "0".into()));
    Ok(env)
}

/// What any terminal program needs, and nothing of the caller's beyond `PATH`.
fn common_env(home: &Path) -> Vec<(String, String)> {
    let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".into());
    [
        ("HOME", home.to_string_lossy().into_owned()),
        ("PATH", path),
        ("LANG", "C.UTF-8".into()),
        ("SHELL", "/bin/sh".into()),
        ("COLORTERM", "truecolor".into()),
    ]
    .map(|(k, v)| (k.to_owned(), v))
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_hold_what_keeps_dialogs_away() {
        let dir = tempfile::tempdir().unwrap();
        let agent = RealAgent {
            program: "/x".into(),
            version: "9.9".into(),
        };
        let env = claude_home(&agent, dir.path(), dir.path(), "http://127.0.0.1:1").unwrap();
        let config: serde_json::Value =
            serde_json::from_slice(&std::fs::read(dir.path().join(".claude.json")).unwrap())
                .unwrap();
        let cwd = dir.path().canonicalize().unwrap();
        assert_eq!(
            config["projects"][cwd.to_str().unwrap()]["hasTrustDialogAccepted"],
            true
        );
        let key = env.iter().find(|(k, _)| k == "ANTHROPIC_API_KEY").unwrap();
        assert!(
            key.1.ends_with(
                config["customApiKeyResponses"]["approved"][0]
                    .as_str()
                    .unwrap()
            )
        );
        codex_home(dir.path(), dir.path(), "http://127.0.0.1:1").unwrap();
        let config = std::fs::read_to_string(dir.path().join(".codex/config.toml")).unwrap();
        assert!(config.contains("base_url = \"http://127.0.0.1:1/v1\""));
    }
}
