//! What an agent needs on disk before it starts, and its argument list. The user's own settings are
//! read, never written.

use crate::perform::Seat;
use serde_json::Value;
use sm_agents::claude;
use sm_agents::kind;
use sm_agents::launch::LaunchRequest;
use sm_core::AgentKind;
use std::path::{Path, PathBuf};

pub async fn prepare(
    seat: &Seat,
    request: &LaunchRequest,
    home: Option<&Path>,
) -> Result<Vec<String>, String> {
    match seat.record.agent {
        AgentKind::Claude => {
            claude_settings(request, &seat.record.cwd, home)?;
        }
        AgentKind::Codex | AgentKind::Native | AgentKind::Generic => {}
    }
    let launch = kind::launch(seat.record.agent, request).map_err(|error| error.to_string())?;
    if request.prompt.is_some() && !launch.prompt_given {
        // found out after the message had been promised to this way: the evidence brings it back
        tracing::debug!(session = %seat.record.id, "the prompt did not fit on the launch line");
    }
    Ok(launch.argv)
}

/// Writes the settings of one launch of Claude Code, our hooks among them, where the request says.
pub fn claude_settings(
    request: &LaunchRequest,
    cwd: &str,
    home: Option<&Path>,
) -> Result<(), String> {
    let base = own_settings(&request.args, cwd)?;
    let line = user_status_line(home, cwd);
    let settings = claude::settings::build(&request.hook_program, line.as_ref(), base.as_ref());
    write_private(Path::new(&request.settings_path), &settings)
}

/// What the user gave with `--settings` after `--`: a file or JSON.
fn own_settings(args: &[String], cwd: &str) -> Result<Option<Value>, String> {
    let Some(given) = claude::launch::user_settings(args) else {
        return Ok(None);
    };
    let text = if given.trim_start().starts_with('{') {
        given
    } else {
        let path = Path::new(cwd).join(&given);
        std::fs::read_to_string(&path)
            .map_err(|error| format!("the settings {} cannot be read: {error}", path.display()))?
    };
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|error| format!("the given --settings are not JSON: {error}"))
}

/// The window within which Claude Code was set to compact, if one was: the environment before what
/// was given before the user's settings.
pub fn claude_compact_window(
    args: &[String],
    cwd: &str,
    home: Option<&Path>,
    env: impl Fn(&str) -> Option<String>,
) -> Option<u64> {
    use claude::settings::{COMPACT_WINDOW_VAR, compact_window, compact_window_of_var};
    if let Some(window) = env(COMPACT_WINDOW_VAR).and_then(|value| compact_window_of_var(&value)) {
        return Some(window);
    }
    let given = own_settings(args, cwd).ok().flatten();
    given
        .into_iter()
        .chain(user_settings(home, cwd))
        .find_map(|settings| compact_window(&settings))
}

/// The status line that would be shown without ours.
fn user_status_line(home: Option<&Path>, cwd: &str) -> Option<Value> {
    user_settings(home, cwd).find_map(|settings| {
        settings
            .get("statusLine")
            .filter(|line| line.is_object())
            .cloned()
    })
}

/// The user's own settings, those that go before others first: local, project, user.
fn user_settings(home: Option<&Path>, cwd: &str) -> impl Iterator<Item = Value> {
    let project = Path::new(cwd).join(".claude");
    let files: Vec<PathBuf> = [
        Some(project.join("settings.local.json")),
        Some(project.join("settings.json")),
        home.map(|home| home.join("settings.json")),
    ]
    .into_iter()
    .flatten()
    .collect();
    files.into_iter().filter_map(|file| {
        let text = std::fs::read_to_string(file).ok()?;
        serde_json::from_str(&text).ok()
    })
}

fn write_private(path: &Path, value: &Value) -> Result<(), String> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let text = serde_json::to_vec_pretty(value).unwrap_or_default();
    std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(&text))
        .map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_to_compact_within_comes_from_the_nearest_that_says_one() {
        let dir = tempfile::tempdir().unwrap();
        let (home, project) = (dir.path().join("home"), dir.path().join("project"));
        let cwd = project.to_string_lossy().into_owned();
        let found = |args: &[&str], var: Option<&str>| {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            let var = var.map(str::to_owned);
            claude_compact_window(&args, &cwd, Some(&home), move |_| var.clone())
        };
        assert_eq!(found(&[], None), None);
        std::fs::create_dir_all(&home).unwrap();
        std::fs::create_dir_all(project.join(".claude")).unwrap();
        let write = |path: PathBuf, window: u64| {
            std::fs::write(path, format!("{{\"autoCompactWindow\":{window}}}")).unwrap();
        };
        write(home.join("settings.json"), 110_000);
        assert_eq!(found(&[], None), Some(110_000));
        write(project.join(".claude/settings.json"), 120_000);
        assert_eq!(found(&[], None), Some(120_000));
        write(project.join(".claude/settings.local.json"), 130_000);
        assert_eq!(found(&[], None), Some(130_000));
        let given = ["--settings", "{\"autoCompactWindow\":140000}"];
        assert_eq!(found(&given, None), Some(140_000));
        assert_eq!(found(&given, Some("150000")), Some(150_000));
        assert_eq!(found(&given, Some("none")), Some(140_000));
    }
}
