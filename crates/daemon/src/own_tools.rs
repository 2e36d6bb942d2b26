//! What of sm an agent is given with its launch: the tools of `sm mcp`, and permission to run `sm`.
//! The user's own files are read, never written.

use crate::agent_files::{LARGEST, POLICY, claude_rules, settings_in};
use crate::launch::{find_program, is_executable};
use serde_json::Value;
use sm_agents::claude::user_rules::{Hindrance, against_command, against_tool};
use sm_agents::own_tools::{HANDOFF, OwnTools, full_name, has_server};
use sm_agents::{claude, codex};
use sm_client::files;
use sm_core::AgentKind;
use sm_core::monitor::How;
use std::path::{Path, PathBuf};

/// One launch, by what decides.
#[derive(Debug, Clone, Copy)]
pub struct Launching<'a> {
    pub agent: AgentKind,
    /// What the person wrote after `--`.
    pub args: &'a [String],
    pub cwd: &'a str,
    /// Where the agent keeps its own files.
    pub home: Option<&'a Path>,
    pub hook_program: &'a str,
    /// `handoff.permissions`.
    pub allowed: bool,
}

/// The tools for one launch; or why there are none, for people.
pub fn tools(launching: &Launching<'_>) -> Result<OwnTools, &'static str> {
    match launching.agent {
        AgentKind::Claude => claude_takes_them(launching, Path::new(POLICY))?,
        AgentKind::Codex => codex_takes_them(launching)?,
        AgentKind::Native => {} // there are no others that could be in their way
        AgentKind::Generic => return Err("sm knows no way to give this program tools"),
    }
    let program = sm_program(launching.hook_program)
        .ok_or("there is no program sm beside sm-hook, which would serve them")?;
    Ok(OwnTools {
        program,
        allowed: launching.allowed,
    })
}

/// How an agent is told to hand over: by its tool if it has one, and by a command that its shell finds.
/// Codex runs login shells, which set their PATH anew: there only the whole path is sure.
pub fn how(
    agent: AgentKind,
    tools: Option<&OwnTools>,
    hook_program: &str,
    env: &[(String, String)],
    cwd: &str,
) -> How {
    let path = sm_program(hook_program).filter(|program| match agent {
        AgentKind::Codex => true,
        AgentKind::Claude | AgentKind::Native => !is_own_in_path(program, env, cwd),
        AgentKind::Generic => false,
    });
    let tool = full_name(HANDOFF);
    match (tools, path) {
        (Some(_), Some(path)) => How::ToolOrPath { tool, path },
        (Some(_), None) => How::Tool(tool),
        (None, Some(path)) => How::Path(path),
        (None, None) => How::Command,
    }
}

/// Why a handoff that the agent makes itself needs a person, as far as settings say it; for people.
pub fn person_needed(launching: &Launching<'_>, how: &How) -> Option<String> {
    const FROM_OUTSIDE: &str = "hand it over from outside: sm handoff --auto --session NAME";
    let asks = || {
        format!(
            "handoff.permissions is off, so unless your own rules allow it the agent asks a person before it hands over; be there, or {FROM_OUTSIDE}"
        )
    };
    match launching.agent {
        AgentKind::Claude => {}
        AgentKind::Codex | AgentKind::Native => {
            let asks = how.tool().filter(|_| !launching.allowed).map(|_| asks());
            return asks;
        }
        AgentKind::Generic => return None,
    }
    let rules = claude_rules(launching.args, launching.cwd, launching.home);
    let command = format!("{} handoff - <<'END'", how.program());
    let against_command = against_command(&rules, &command);
    let against_tool = how.tool().map(|tool| against_tool(&rules, tool));
    // one way that is open is enough
    let hindrances = match (against_tool, against_command) {
        (Some(Some(tool)), Some(command)) => [Some(tool), Some(command)],
        (None, Some(command)) => [Some(command), None],
        (Some(None), _) | (_, None) => return (!launching.allowed).then(asks),
    };
    let found: Vec<&Hindrance> = hindrances.iter().flatten().collect();
    let rules: Vec<String> = found.iter().map(|h| format!("`{}`", h.rule)).collect();
    let rules = rules.join(" and ");
    Some(match found.iter().all(|h| h.denies) {
        true => format!(
            "its settings deny {rules}, so the agent cannot hand over by itself; remove that rule, or {FROM_OUTSIDE}"
        ),
        false => format!(
            "its settings stand before sm's with {rules}, so the agent asks a person before it hands over; remove that rule, or {FROM_OUTSIDE}"
        ),
    })
}

/// Whether `sm` alone is our own.
fn is_own_in_path(own: &str, env: &[(String, String)], cwd: &str) -> bool {
    let real = |path: &str| std::fs::canonicalize(path).ok();
    let found = find_program("sm", env, cwd).ok();
    let found = found.as_deref().and_then(real);
    found.is_some() && found == real(own)
}

/// `sm` of the same installation as its hook program.
pub fn sm_program(hook_program: &str) -> Option<String> {
    let program = Path::new(hook_program).parent()?.join("sm");
    let found = program.is_absolute() && is_executable(&program);
    found.then(|| program.to_string_lossy().into_owned())
}

/// To run `sm`, to use its tools (if they are `given`), and to read what is in these folders. `sm`
/// alone may be run only where that is our own: another program of that name is not ours to allow.
pub fn own_permissions(
    hook_program: &str,
    folders: &[&str],
    env: &[(String, String)],
    cwd: &str,
    given: bool,
) -> Vec<String> {
    let own = sm_program(hook_program).unwrap_or_default();
    let is_own = is_own_in_path(&own, env, cwd);
    let programs: Vec<&str> = is_own
        .then_some("sm")
        .into_iter()
        .chain([own.as_str()])
        .collect();
    let mut rules = claude::permissions::rules(&programs, folders);
    if given {
        rules.extend(claude::permissions::tool_rules());
    }
    rules
}

/// A person's own server of our name is his; ours would take its place. One who administers all servers
/// (`managed-mcp.json`) allows no others, and Claude Code does not start with any.
fn claude_takes_them(launching: &Launching<'_>, policy: &Path) -> Result<(), &'static str> {
    if policy.join("managed-mcp.json").exists() {
        return Err("the administrator of this machine says which MCP servers there are");
    }
    let cwd = Path::new(launching.cwd);
    let own = launching.home.into_iter().flat_map(|home| {
        // beside its folder, unless another folder was named
        [Some(home), home.parent()]
            .into_iter()
            .flatten()
            .map(|folder| folder.join(".claude.json"))
    });
    let projects = cwd.ancestors().map(|folder| folder.join(".mcp.json"));
    let given = claude::launch::user_servers(launching.args);
    let (texts, files): (Vec<String>, Vec<String>) = given
        .into_iter()
        .partition(|given| given.trim_start().starts_with('{'));
    let files: Vec<PathBuf> = own
        .chain(projects)
        .chain(files.into_iter().map(|file| cwd.join(file)))
        .collect();
    let texts = texts
        .iter()
        .filter_map(|text| serde_json::from_str::<Value>(text).ok());
    let taken = texts
        .chain(files.into_iter().filter_map(settings_in))
        .any(|config| has_server(&config, launching.cwd));
    match taken {
        true => Err("there is another MCP server of the name sm"),
        false => Ok(()),
    }
}

fn codex_takes_them(launching: &Launching<'_>) -> Result<(), &'static str> {
    let own = launching.home.map(|home| home.join("config.toml"));
    let projects = Path::new(launching.cwd)
        .ancestors()
        .map(|folder| folder.join(".codex/config.toml"));
    let texts = own
        .into_iter()
        .chain(projects)
        .filter_map(|file| files::read_text(&file, LARGEST).ok());
    let taken = std::iter::once(String::new())
        .chain(texts)
        .any(|config| codex::launch::has_server(&config, launching.args));
    match taken {
        true => Err("there is another MCP server of the name sm"),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn program(folder: &Path, name: &str) -> String {
        std::fs::create_dir_all(folder).unwrap();
        let path = folder.join(name);
        std::fs::write(&path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    #[test]
    fn sm_alone_may_be_run_only_where_it_is_ours() {
        let dir = tempfile::tempdir().unwrap();
        let (ours, others) = (dir.path().join("ours"), dir.path().join("others"));
        let hook = program(&ours, "sm-hook");
        let sm = program(&ours, "sm");
        program(&others, "sm");
        let linked = dir.path().join("linked");
        std::fs::create_dir(&linked).unwrap();
        symlink(&sm, linked.join("sm")).unwrap();
        let of = |folders: &[&Path], given| {
            let path = std::env::join_paths(folders)
                .unwrap()
                .into_string()
                .unwrap();
            own_permissions(&hook, &[], &[("PATH".into(), path)], "/", given)
        };
        let full = format!("Bash({sm} handoff:*)");
        let alone = "Bash(sm handoff:*)".to_owned();
        for (folders, expected) in [
            (&[ours.as_path(), others.as_path()][..], true),
            (&[linked.as_path()], true),
            (&[others.as_path(), ours.as_path()], false),
            (&[dir.path()], false),
        ] {
            let rules = of(folders, false);
            assert_eq!(rules.contains(&alone), expected, "{folders:?}: {rules:?}");
            assert!(rules.contains(&full), "{rules:?}");
            assert!(
                !rules.iter().any(|rule| rule.starts_with("mcp__")),
                "{rules:?}"
            );
        }
        assert!(of(&[], true).contains(&"mcp__sm__handoff".to_owned()));
    }

    #[test]
    fn the_tool_is_named_and_a_command_that_the_shell_finds() {
        let dir = tempfile::tempdir().unwrap();
        let ours = dir.path().join("ours");
        let hook = program(&ours, "sm-hook");
        let path = program(&ours, "sm");
        let tools = OwnTools {
            program: path.clone(),
            allowed: true,
        };
        let tool = "mcp__sm__handoff".to_owned();
        let found = ours.to_str().unwrap();
        let named = |agent, tools, folder: &str| {
            let env = [("PATH".to_owned(), folder.to_owned())];
            how(agent, tools, &hook, &env, "/")
        };
        let (claude, codex) = (AgentKind::Claude, AgentKind::Codex);
        let native = AgentKind::Native;
        let both = How::ToolOrPath {
            tool: tool.clone(),
            path: path.clone(),
        };
        let by_path = How::Path(path.clone());
        for (agent, given, folder, expected) in [
            (claude, true, found, &How::Tool(tool.clone())),
            (claude, true, "/nowhere", &both),
            (claude, false, found, &How::Command),
            (claude, false, "/nowhere", &by_path),
            (codex, true, found, &both),
            (codex, false, found, &by_path),
            (native, true, found, &How::Tool(tool.clone())),
            (native, true, "/nowhere", &both),
            (native, false, "/nowhere", &by_path),
            (AgentKind::Generic, false, "/nowhere", &How::Command),
        ] {
            let named = named(agent, given.then_some(&tools), folder);
            assert_eq!(&named, expected, "{agent:?} {given} {folder}");
        }
    }

    #[test]
    fn a_handoff_needs_a_person_where_no_way_to_it_is_open() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home/.claude");
        let cwd = dir.path().join("project");
        std::fs::create_dir_all(&home).unwrap();
        std::fs::create_dir_all(cwd.join(".claude")).unwrap();
        let tool = How::Tool("mcp__sm__handoff".to_owned());
        let path = How::Path("/opt/bin/sm".to_owned());
        let needs = |agent, how: &How, allowed, args: &[&str]| {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            let launching = Launching {
                agent,
                args: &args,
                cwd: cwd.to_str().unwrap(),
                home: Some(&home),
                hook_program: "/opt/bin/sm-hook",
                allowed,
            };
            person_needed(&launching, how)
        };
        let claude = AgentKind::Claude;
        for how in [&tool, &path, &How::Command] {
            assert_eq!(needs(claude, how, true, &[]), None);
            let off = needs(claude, how, false, &[]).unwrap();
            assert!(off.contains("handoff.permissions is off"), "{off}");
        }
        assert!(needs(AgentKind::Codex, &tool, false, &[]).is_some());
        assert_eq!(needs(AgentKind::Codex, &path, false, &[]), None);
        assert!(needs(AgentKind::Native, &tool, false, &[]).is_some());
        assert_eq!(needs(AgentKind::Native, &tool, true, &[]), None);
        assert_eq!(needs(AgentKind::Generic, &How::Command, false, &[]), None);

        let write = |file: &Path, list: &str, rules: &[&str]| {
            let settings = serde_json::json!({"permissions": {list: rules}});
            std::fs::write(file, settings.to_string()).unwrap();
        };
        let own = home.join("settings.json");
        write(&own, "deny", &["Bash(sm *)"]);
        let denied = needs(claude, &How::Command, true, &[]).unwrap();
        assert!(
            denied.contains("deny `Bash(sm *)`") && denied.contains("sm handoff --auto"),
            "{denied}"
        );
        assert_eq!(needs(claude, &tool, true, &[]), None, "it has the tool");
        assert_eq!(needs(claude, &path, true, &[]), None, "another command");
        write(
            &cwd.join(".claude/settings.local.json"),
            "deny",
            &["mcp__sm"],
        );
        let denied = needs(claude, &tool, true, &[]).unwrap();
        assert!(denied.contains("`mcp__sm` and `Bash(sm *)`"), "{denied}");
        write(&own, "ask", &["Bash"]);
        let asks = needs(claude, &path, true, &[]).unwrap();
        assert!(
            asks.contains("asks a person") && asks.contains("`Bash`"),
            "{asks}"
        );
        std::fs::remove_file(&own).unwrap();
        assert_eq!(needs(claude, &tool, true, &[]), None, "the command is open");
        let args = ["--disallowedTools", "Bash(sm handoff:*)"];
        assert!(needs(claude, &tool, true, &args).is_some());
    }

    #[test]
    fn a_server_of_the_users_goes_before_ours() {
        let dir = tempfile::tempdir().unwrap();
        let hook = program(&dir.path().join("bin"), "sm-hook");
        let home = dir.path().join("home/.claude");
        let cwd = dir.path().join("work/project");
        std::fs::create_dir_all(&cwd).unwrap();
        std::fs::create_dir_all(&home).unwrap();
        let policy = dir.path().join("policy");
        std::fs::create_dir(&policy).unwrap();
        let cwd_text = cwd.to_str().unwrap();
        let takes = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            let launching = Launching {
                agent: AgentKind::Claude,
                args: &args,
                cwd: cwd_text,
                home: Some(&home),
                hook_program: &hook,
                allowed: true,
            };
            claude_takes_them(&launching, &policy).is_ok()
        };
        assert!(takes(&["--mcp-config", "other.json"]));
        assert!(!takes(&["--mcp-config={\"mcpServers\":{\"sm\":{}}}"]));
        let server = r#"{"mcpServers":{"sm":{"command":"x"}}}"#;
        for file in [
            home.join(".claude.json"),
            dir.path().join("home/.claude.json"),
            cwd.join(".mcp.json"),
            dir.path().join("work/.mcp.json"),
            policy.join("managed-mcp.json"),
        ] {
            std::fs::write(&file, server).unwrap();
            assert!(!takes(&[]), "{}", file.display());
            std::fs::remove_file(&file).unwrap();
        }
        std::fs::write(cwd.join("mine.json"), server).unwrap();
        assert!(takes(&[]) && !takes(&["--mcp-config", "mine.json"]));
        std::fs::write(home.join(".claude.json"), "{").unwrap();
        assert!(takes(&[]), "what nobody can read names no server");
    }
}
