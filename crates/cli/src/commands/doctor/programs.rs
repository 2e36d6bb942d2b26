//! The programs sm needs: tmux, the agents, and those that are installed with it.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sm_agents::tried;
use sm_core::AgentKind;
use sm_daemon::config::Config;

use super::Check;
use crate::commands::new::find_program;
use crate::text::one_line;

/// A program that does not say its version in this time is stuck.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Control mode as sm uses it is there from this version on.
const OLDEST_TMUX: (u32, u32) = (3, 2);

pub fn check(config: &Config) -> Vec<Check> {
    let (claude, codex) = (&config.agents.claude.program, &config.agents.codex.program);
    std::thread::scope(|scope| {
        let all = [
            scope.spawn(|| Some(tmux(&config.tmux.program))),
            scope.spawn(|| Some(own(&HOOK))),
            scope.spawn(|| Some(own(&AGENT))),
            scope.spawn(|| {
                let install = "npm install -g @anthropic-ai/claude-code";
                Some(agent("claude", claude, install))
            }),
            scope.spawn(|| Some(agent("codex", codex, "npm install -g @openai/codex"))),
        ];
        all.into_iter()
            .filter_map(|one| one.join().ok().flatten())
            .collect()
    })
}

fn tmux(program: &str) -> Check {
    let install = if cfg!(target_os = "macos") {
        "install it: brew install tmux"
    } else {
        "install it: apt install tmux, dnf install tmux, or pacman -S tmux"
    };
    let Some(path) = find_program(program) else {
        return Check::broken("tmux", "not found: sessions run in tmux", install);
    };
    match version(&path, "-V") {
        Err(why) => Check::broken("tmux", format!("{} {why}", path.display()), install),
        Ok(said) => match tmux_version(&said) {
            Some(found) if found < OLDEST_TMUX => Check::broken(
                "tmux",
                format!(
                    "{said} is too old; {}.{} or newer is needed",
                    OLDEST_TMUX.0, OLDEST_TMUX.1
                ),
                install,
            ),
            Some(_) => Check::ok("tmux", format!("{said} ({})", path.display())),
            None => Check::warning(
                "tmux",
                format!("{said}: not a version that is known"),
                format!("if sessions do not start, {install}"),
            ),
        },
    }
}

/// `tmux 3.5a`, `tmux next-3.6`.
fn tmux_version(said: &str) -> Option<(u32, u32)> {
    let version = said.strip_prefix("tmux ")?;
    let version = version.strip_prefix("next-").unwrap_or(version);
    let (major, rest) = version.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn agent(name: &str, program: &str, install: &str) -> Check {
    let Some(path) = find_program(program) else {
        return Check::warning(
            name,
            format!("{} is not found", one_line(program)),
            format!("to run `sm new {name}`: {install}"),
        );
    };
    match version(&path, "--version") {
        Ok(said) => agent_version(name, &said, &path),
        Err(why) => {
            let remedy = if needs_node(&path) && find_program("node").is_none() {
                "it needs node, which is not found: install Node.js".to_owned()
            } else {
                format!("run `{name} --version` and see; to install it anew: {install}")
            };
            Check::warning(name, format!("{} {why}", path.display()), remedy)
        }
    }
}

/// A version that nobody has tried with sm may work in another way.
fn agent_version(name: &str, said: &str, path: &Path) -> Check {
    let text = format!("{said} ({})", path.display());
    let kind = AgentKind::parse(name);
    match kind.and_then(|kind| tried::newer_than_tried(kind, said)) {
        Some(tried) => Check::warning(
            name,
            format!("{text}: newer than {tried}, the newest version that was tried with this sm"),
            "it may label or record messages in another way: look at the receipts (`sm queue ls NAME --all`), and update sm if they surprise you",
        ),
        None => Check::ok(name, text),
    }
}

/// Whether its first line asks for node.
fn needs_node(program: &Path) -> bool {
    let mut start = [0_u8; 64];
    let read = std::fs::File::open(program)
        .and_then(|mut file| file.read(&mut start))
        .unwrap_or(0);
    let line = String::from_utf8_lossy(&start[..read]);
    line.starts_with("#!")
        && line
            .lines()
            .next()
            .is_some_and(|line| line.contains("node"))
}

/// A program that is installed with sm, and is of the same version.
struct Own {
    name: &'static str,
    /// What does not work without it.
    missing: &'static str,
    /// Made of a text and its remedy where it is missing or does not run.
    worst: fn(&str, String, String) -> Check,
}

const HOOK: Own = Own {
    name: "sm-hook",
    missing: "not found: without it sm does not know what agents do",
    worst: |name, text, remedy| Check::broken(name, text, remedy),
};

const AGENT: Own = Own {
    name: "sm-agent",
    missing: "not found: `sm agent`, `sm new native` and documents written by a model need it",
    worst: |name, text, remedy| Check::warning(name, text, remedy),
};

fn own(program: &Own) -> Check {
    const INSTALL: &str = "install all of sm into the same directory: `make install`";
    let name = program.name;
    let beside = std::env::current_exe()
        .ok()
        .and_then(|own| Some(own.parent()?.join(name)))
        .filter(|path| path.is_file());
    let Some(path): Option<PathBuf> = beside.or_else(|| find_program(name)) else {
        return (program.worst)(name, program.missing.to_owned(), INSTALL.to_owned());
    };
    match version(&path, "--version") {
        Err(why) => (program.worst)(
            name,
            format!("{} {why}", path.display()),
            INSTALL.to_owned(),
        ),
        Ok(said) => {
            let own = env!("CARGO_PKG_VERSION");
            if said.split_whitespace().last() == Some(own) {
                Check::ok(name, format!("{own} ({})", path.display()))
            } else {
                Check::warning(
                    name,
                    format!("{} is {said}, but sm is {own}", path.display()),
                    INSTALL,
                )
            }
        }
    }
}

/// The first line a program says about its version, or what went wrong.
fn version(program: &Path, flag: &str) -> Result<String, String> {
    // Files, not pipes: whatever it starts may keep a pipe open for ever.
    let file = || tempfile_like().map_err(|error| format!("cannot be asked: {error}"));
    let (said, complained) = (file()?, file()?);
    let clone = |file: &std::fs::File| file.try_clone().map_or_else(|_| Stdio::null(), Stdio::from);
    let mut child = Command::new(program)
        .arg(flag)
        .stdin(Stdio::null())
        .stdout(clone(&said))
        .stderr(clone(&complained))
        .spawn()
        .map_err(|error| format!("does not start: {error}"))?;
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(LOOK_EVERY),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!(
                    "does not say its version within {} s",
                    PATIENCE.as_secs()
                ));
            }
            Err(error) => return Err(format!("cannot be waited for: {error}")),
        }
    };
    let (said, complained) = (first_line(said), first_line(complained));
    // a version may come with warnings, and what went wrong with half a version
    match status.success() {
        true => Ok(said.or(complained).unwrap_or_default()),
        false => {
            let why = complained.or(said).unwrap_or_default();
            Err(format!("fails ({status}): {why}"))
        }
    }
}

/// The first line with something in it.
fn first_line(mut file: std::fs::File) -> Option<String> {
    let mut bytes = Vec::new();
    std::io::Seek::rewind(&mut file).ok()?;
    file.take(4096).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines().map(|line| one_line(line).trim().to_owned());
    lines.find(|line| !line.is_empty())
}

/// A file without a name.
fn tempfile_like() -> std::io::Result<std::fs::File> {
    let name = std::env::temp_dir().join(format!(
        "sm-doctor-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&name)?;
    std::fs::remove_file(&name)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_tmux() {
        for (said, expected) in [
            ("tmux 3.5a", Some((3, 5))),
            ("tmux 3.2", Some((3, 2))),
            ("tmux next-3.6", Some((3, 6))),
            ("tmux 2.9a", Some((2, 9))),
            ("tmux master", None),
            ("tmux openbsd-7.4", None),
            ("", None),
        ] {
            assert_eq!(tmux_version(said), expected, "{said}");
        }
        assert!((2, 9) < OLDEST_TMUX && (3, 10) > OLDEST_TMUX);
    }

    #[test]
    fn a_program_that_fails_is_told_apart_from_one_that_speaks() {
        let temp = tempfile::tempdir().unwrap();
        let script = |name: &str, text: &str| {
            use std::os::unix::fs::PermissionsExt;
            let path = temp.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let good = script("good", "#!/bin/sh\necho\necho \"good $1 1.0\"\n");
        assert_eq!(version(&good, "-V"), Ok("good -V 1.0".to_owned()));
        let warns = script("warns", "#!/bin/sh\necho beware >&2\necho warns 2.0\n");
        assert_eq!(version(&warns, "-V"), Ok("warns 2.0".to_owned()));
        let bad = script("bad", "#!/bin/sh\necho no >&2; exit 3\n");
        assert_eq!(
            version(&bad, "-V"),
            Err("fails (exit status: 3): no".to_owned())
        );
        let missing = version(&temp.path().join("missing"), "-V").unwrap_err();
        assert!(missing.starts_with("does not start"), "{missing}");
        let node = script("node-program", "#!/usr/bin/env node\n");
        assert!(needs_node(&node) && !needs_node(&good));
    }
}
