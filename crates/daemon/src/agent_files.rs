//! What an agent needs on disk before it starts, and its argument list. The user's own settings are
//! read, never written.

use crate::own_tools::own_permissions;
use crate::perform::Seat;
use serde_json::Value;
use sm_agents::claude;
use sm_agents::kind;
use sm_agents::launch::LaunchRequest;
use sm_client::files;
use sm_core::AgentKind;
use std::path::{Path, PathBuf};

/// No settings are so long.
pub(crate) const LARGEST: u64 = 16 << 20;

pub async fn prepare(
    seat: &Seat,
    request: &LaunchRequest,
    env: &[(String, String)],
    home: Option<&Path>,
) -> Result<Vec<String>, String> {
    match seat.record.agent {
        AgentKind::Claude => {
            let allow = permissions(seat, env, request.tools.is_some());
            claude_settings(request, &seat.record.cwd, home, &allow)?;
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

/// What the agent may do without asking a person: read what was handed over in its own session, and
/// hand over.
fn permissions(seat: &Seat, env: &[(String, String)], tools: bool) -> Vec<String> {
    let hub = &seat.hub;
    if !hub.config.handoff.permissions {
        return Vec::new();
    }
    let id = seat.record.id.as_str();
    let mut folders = vec![hub.paths.session_dir(id).display().to_string()];
    for base in hub.all_handoffs_dirs() {
        folders.push(base.join(format!("{id}-*")).display().to_string());
    }
    let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
    own_permissions(&hub.hook_program, &folders, env, &seat.record.cwd, tools)
}

/// Writes the settings of one launch of Claude Code, our hooks among them, where the request says.
pub fn claude_settings(
    request: &LaunchRequest,
    cwd: &str,
    home: Option<&Path>,
    allow: &[String],
) -> Result<(), String> {
    let base = own_settings(&request.args, cwd)?;
    let line = user_status_line(home, cwd);
    let mut settings =
        claude::settings::build(&request.hook_program, line.as_ref(), base.as_ref(), allow);
    claude::settings::guard(
        &mut settings,
        &request.hook_program,
        request.tools.is_some(),
    );
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
        files::read_text(&path, LARGEST)
            .map_err(|error| format!("the settings {} cannot be read: {error}", path.display()))?
    };
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|error| format!("the given --settings are not JSON: {error}"))
}

/// Where an administrator says what holds for everybody on this machine.
#[cfg(target_os = "macos")]
pub(crate) const POLICY: &str = "/Library/Application Support/ClaudeCode";
#[cfg(not(target_os = "macos"))]
pub(crate) const POLICY: &str = "/etc/claude-code";

/// All settings that a launch of Claude Code goes by, but for ours.
pub(crate) fn claude_rules(args: &[String], cwd: &str, home: Option<&Path>) -> Vec<Value> {
    let given = own_settings(args, cwd).ok().flatten();
    policy_settings(Path::new(POLICY))
        .chain(given)
        .chain(user_settings(home, cwd))
        .chain([claude::user_rules::given_with(args)])
        .collect()
}

/// The window within which Claude Code is set to compact if it is started now; one that runs does not
/// look again. The environment goes before the administrator's settings, those before what was given,
/// and that before the user's own.
pub fn claude_compact_window(
    args: &[String],
    cwd: &str,
    home: Option<&Path>,
    env: impl Fn(&str) -> Option<String>,
) -> Option<u64> {
    compact_window_under(Path::new(POLICY), args, cwd, home, env)
}

fn compact_window_under(
    policy: &Path,
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
    policy_settings(policy)
        .chain(given)
        .chain(user_settings(home, cwd))
        .find_map(|settings| compact_window(&settings))
}

/// The administrator's settings, those that go before others first: the pieces, the last of them
/// first, then the file they add to.
fn policy_settings(folder: &Path) -> impl Iterator<Item = Value> + use<> {
    let pieces = std::fs::read_dir(folder.join("managed-settings.d"));
    let mut files: Vec<PathBuf> = pieces
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.ends_with(".json") && !name.starts_with('.')
        })
        .map(|entry| entry.path())
        .take(MOST_PIECES)
        .collect();
    files.sort_unstable_by(|a, b| b.cmp(a));
    files.push(folder.join("managed-settings.json"));
    files.into_iter().filter_map(settings_in)
}

/// Nobody has more.
const MOST_PIECES: usize = 1000;

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
    files.into_iter().filter_map(settings_in)
}

/// None: there are none, or nobody can read them.
pub(crate) fn settings_in(file: PathBuf) -> Option<Value> {
    let text = files::read_text(&file, LARGEST).ok()?;
    serde_json::from_str(&text).ok()
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
        let policy = dir.path().join("policy");
        let found = |args: &[&str], var: Option<&str>| {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            let var = var.map(str::to_owned);
            compact_window_under(&policy, &args, &cwd, Some(&home), move |_| var.clone())
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
        let pieces = policy.join("managed-settings.d");
        std::fs::create_dir_all(&pieces).unwrap();
        assert_eq!(found(&given, None), Some(140_000));
        write(policy.join("managed-settings.json"), 160_000);
        assert_eq!(found(&given, None), Some(160_000));
        for (name, window) in [
            ("10-a.json", 170_000),
            ("20-b.json", 180_000),
            (".30-c.json", 190_000),
            ("40-d.txt", 190_000),
        ] {
            write(pieces.join(name), window);
        }
        std::fs::write(pieces.join("50-e.json"), "{").unwrap();
        assert_eq!(found(&given, None), Some(180_000));
        assert_eq!(found(&given, Some("150000")), Some(150_000));
    }
}
