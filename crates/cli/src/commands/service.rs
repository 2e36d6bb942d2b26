//! `sm service`: lets the system start the daemon at login. Optional: every command starts it.
//!
//! It writes one file, shows it, and removes exactly that file. A file that somebody else wrote
//! is never overwritten or removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use clap::{Args, Subcommand};
use sm_client::footprint::TraceKind;

use crate::client::Daemon;
use crate::error::{CommandError, Result};
use crate::print::Printer;
use crate::text::many_lines;
use crate::traces;

/// Starts the daemon at login, by systemd or launchd.
#[derive(Debug, Args)]
pub struct Service {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Install(Install),
    Remove(Remove),
}

/// Writes the service file and switches it on.
#[derive(Debug, Args)]
struct Install {
    /// Only show what would be written.
    #[arg(long)]
    dry_run: bool,
}

/// Switches the service off and removes its file.
#[derive(Debug, Args)]
struct Remove {}

/// In every file of ours, and in none of others.
const MARK: &str = "written by `sm service install`";
const UNIT: &str = "sm.service";
const LABEL: &str = "sm.daemon";

impl Service {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?;
        let plan = Plan::here(&daemon)?;
        match self.command {
            Command::Install(install) => plan.install(&daemon, install.dry_run, out),
            Command::Remove(Remove {}) => plan.remove(out),
        }
    }
}

/// The service file of this person, if it is there and ours.
pub fn installed() -> Option<PathBuf> {
    let (_, file) = service_file().ok()?;
    let text = fs::read_to_string(&file).ok()?;
    text.contains(MARK).then_some(file)
}

/// Switches the service off and removes this file.
pub fn remove_file(file: &Path, out: &mut Printer) -> Result<()> {
    let (manager, _) = service_file()?;
    let plan = Plan {
        manager,
        file: file.to_owned(),
        content: String::new(),
    };
    plan.remove(out)
}

/// Who starts services here, and where their files are.
fn service_file() -> Result<(Manager, PathBuf)> {
    let user_home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute())
        .ok_or_else(|| {
            CommandError::not_usable("HOME is not set, so there is no place for a service")
        })?;
    Ok(if cfg!(target_os = "macos") {
        let dir = user_home.join("Library/LaunchAgents");
        (Manager::Launchd, dir.join(format!("{LABEL}.plist")))
    } else {
        let config = std::env::var_os("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .filter(|dir| dir.is_absolute())
            .unwrap_or_else(|| user_home.join(".config"));
        (Manager::Systemd, config.join("systemd/user").join(UNIT))
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manager {
    Systemd,
    Launchd,
}

/// What the service is, before anything is touched.
#[derive(Debug)]
struct Plan {
    manager: Manager,
    file: PathBuf,
    content: String,
}

/// What the file says.
struct Facts<'a> {
    program: &'a str,
    /// `SM_HOME`, if this is a separate instance.
    home: Option<&'a str>,
    /// Where programs are: a service manager knows less than a login shell.
    path: &'a str,
    /// What else was set for the daemon here, and would be missing there.
    set: &'a [(&'static str, String)],
}

/// Without these a daemon at login would be another instance, or at another port, than the one that
/// commands of this shell mean.
const SET: &[&str] = &[
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "XDG_DATA_HOME",
    "SM_PORT",
    "SM_LOG",
];

impl Plan {
    fn here(daemon: &Daemon) -> Result<Self> {
        let (manager, file) = service_file()?;
        let program = sm_client::daemon::sm_program().map_err(|error| {
            CommandError::not_usable(error.to_string())
                .hint("install sm first: `make install`, or set SM_BIN")
        })?;
        let program = std::path::absolute(&program).unwrap_or(program);
        let home = std::env::var_os("SM_HOME")
            .filter(|home| !home.is_empty())
            .and_then(|_| daemon.paths().state_dir().parent());
        let (program, home) = (text(&program)?, home.map(text).transpose()?);
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".into());
        let set: Vec<(&'static str, String)> = SET
            .iter()
            .filter_map(|key| Some((*key, std::env::var(key).ok()?)))
            .filter(|(key, value)| {
                !value.is_empty() && (home.is_none() || !key.starts_with("XDG_"))
            })
            .collect();
        let facts = Facts {
            program,
            home,
            path: &path,
            set: &set,
        };
        Ok(Self {
            manager,
            content: match manager {
                Manager::Systemd => unit(&facts),
                Manager::Launchd => plist(&facts),
            },
            file,
        })
    }

    fn install(&self, daemon: &Daemon, dry_run: bool, out: &mut Printer) -> Result<()> {
        let there = self.existing()?;
        out.line(&format!("{}:", self.file.display()))?;
        for line in self.content.lines() {
            out.line(&format!("  {line}"))?;
        }
        if dry_run {
            return Ok(());
        }
        if there.as_deref() != Some(&self.content) {
            if there.is_some_and(|there| instance(&there) != instance(&self.content)) {
                return Err(CommandError::refused(format!(
                    "{} starts another instance of sm",
                    self.file.display()
                ))
                .hint("remove it from there first: `sm service remove` with its SM_HOME"));
            }
            self.write()?;
        }
        out.line("written.")?;
        let runs = daemon.health_now().is_ok();
        let commands = self.switch_on(runs);
        self.carry_out(&commands, out)?;
        if runs {
            out.line("the daemon that runs now stays; from the next login on it is a service")?;
        }
        out.line("take it away again: sm service remove")
    }

    fn remove(&self, out: &mut Printer) -> Result<()> {
        if self.existing()?.is_none() {
            return out.line(&format!(
                "there is no service: {} does not exist",
                self.file.display()
            ));
        }
        let off: Vec<Vec<String>> = match self.manager {
            Manager::Systemd => vec![words(&["systemctl", "--user", "disable", "--now", UNIT])],
            Manager::Launchd => vec![self.launchctl("unload")],
        };
        self.carry_out(&off, out)?;
        fs::remove_file(&self.file)
            .map_err(|error| CommandError::file(&self.file, "remove", &error))?;
        self.remove_wants();
        traces::taken_out(TraceKind::Service, &self.file);
        if self.manager == Manager::Systemd {
            // Nothing depends on it: without systemd there is nothing to reload.
            let _ = run(&words(&["systemctl", "--user", "daemon-reload"]));
        }
        out.line(&format!("removed {}", self.file.display()))
    }

    /// The link that switching on made: there if systemd could not be asked to switch it off.
    fn remove_wants(&self) {
        let Some(dir) = self
            .file
            .parent()
            .map(|dir| dir.join("default.target.wants"))
        else {
            return;
        };
        let link = dir.join(UNIT);
        if fs::read_link(&link).is_ok_and(|to| to == self.file) && fs::remove_file(&link).is_ok() {
            let _ = fs::remove_dir(dir);
        }
    }

    /// What is in the file; refuses a file that is not ours.
    fn existing(&self) -> Result<Option<String>> {
        match fs::read_to_string(&self.file) {
            Ok(there) if there.contains(MARK) => Ok(Some(there)),
            Ok(_) => Err(CommandError::refused(format!(
                "{} was not written by sm, so it is left alone",
                self.file.display()
            ))
            .hint("move it away, then try again")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(CommandError::file(&self.file, "read", &error)),
        }
    }

    fn write(&self) -> Result<()> {
        let failed = |error| CommandError::file(&self.file, "write", &error);
        traces::note(TraceKind::Service, &self.file);
        let fresh = self.file.with_extension("new");
        if let Some(dir) = self.file.parent() {
            fs::create_dir_all(dir).map_err(failed)?;
        }
        fs::write(&fresh, &self.content).map_err(failed)?;
        fs::rename(&fresh, &self.file).map_err(failed)
    }

    fn switch_on(&self, runs: bool) -> Vec<Vec<String>> {
        match self.manager {
            Manager::Systemd => {
                let mut enable = words(&["systemctl", "--user", "enable"]);
                if !runs {
                    enable.push("--now".to_owned());
                }
                enable.push(UNIT.to_owned());
                vec![words(&["systemctl", "--user", "daemon-reload"]), enable]
            }
            Manager::Launchd => vec![self.launchctl("load")],
        }
    }

    fn launchctl(&self, what: &str) -> Vec<String> {
        words(&["launchctl", what, "-w", &self.file.display().to_string()])
    }

    /// Runs the commands; what cannot be run here is said, to be run by hand.
    fn carry_out(&self, commands: &[Vec<String>], out: &mut Printer) -> Result<()> {
        for (at, command) in commands.iter().enumerate() {
            let Err(why) = run(command) else {
                out.line(&format!("done: {}", command.join(" ")))?;
                continue;
            };
            let manager = match self.manager {
                Manager::Systemd => "systemd",
                Manager::Launchd => "launchd",
            };
            out.line(&format!(
                "{manager} cannot be reached here ({}). Where it runs, run:",
                many_lines(&why).trim()
            ))?;
            for command in &commands[at..] {
                out.line(&format!("  {}", command.join(" ")))?;
            }
            return Ok(());
        }
        Ok(())
    }
}

fn text(path: &Path) -> Result<&str> {
    path.to_str()
        .filter(|text| !text.contains(char::is_control))
        .ok_or_else(|| {
            CommandError::refused(format!(
                "a service file cannot name {}",
                path.to_string_lossy().escape_debug()
            ))
        })
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn run(command: &[String]) -> std::result::Result<(), String> {
    let Some((program, args)) = command.split_first() else {
        return Ok(());
    };
    let output = Process::new(program)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    match said.lines().next() {
        Some(line) => Err(line.to_owned()),
        None => Err(format!("{program}: {}", output.status)),
    }
}

/// Which instance a service file starts.
fn instance(content: &str) -> Option<&str> {
    content.lines().find(|line| line.contains("SM_HOME="))
}

fn unit(facts: &Facts<'_>) -> String {
    let mut environment = format!("Environment={}\n", quoted(&format!("PATH={}", facts.path)));
    if let Some(home) = facts.home {
        environment.push_str(&format!(
            "Environment={}\n",
            quoted(&format!("SM_HOME={home}"))
        ));
    }
    for (key, value) in facts.set {
        let line = quoted(&format!("{key}={value}"));
        environment.push_str(&format!("Environment={line}\n"));
    }
    format!(
        "# {MARK}; `sm service remove` takes it away
[Unit]
Description=sm: keeps coding agents going

[Service]
ExecStart={} serve --foreground
{environment}Restart=on-failure
RestartSec=3
# Agents live on when the daemon ends.
KillMode=process

[Install]
WantedBy=default.target
",
        // In a command line `$` stands for a variable.
        quoted(&facts.program.replace('$', "$$"))
    )
}

/// A word of a unit file: `%` means something to systemd, also within quotes.
fn quoted(word: &str) -> String {
    let mut out = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '%' => out.extend([c, c]),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn plist(facts: &Facts<'_>) -> String {
    let escape = |text: &str| {
        text.replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
    };
    let mut environment = format!(
        "    <key>PATH</key><string>{}</string>\n",
        escape(facts.path)
    );
    if let Some(home) = facts.home {
        environment.push_str(&format!(
            "    <key>SM_HOME</key><string>{}</string><!-- SM_HOME={} -->\n",
            escape(home),
            escape(home).replace("--", "- -")
        ));
    }
    for (key, value) in facts.set {
        let value = escape(value);
        environment.push_str(&format!("    <key>{key}</key><string>{value}</string>\n"));
    }
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- {MARK}; `sm service remove` takes it away -->
<plist version="1.0">
<dict>
  <key>Label</key><string>{LABEL}</string>
  <key>ProgramArguments</key>
  <array><string>{}</string><string>serve</string></array>
  <key>EnvironmentVariables</key>
  <dict>
{environment}  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>AbandonProcessGroup</key><true/>
</dict>
</plist>
"#,
        escape(facts.program)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_says_everything_it_needs() {
        let facts = Facts {
            program: "/home/ann/my \"bin\"/sm",
            home: Some("/home/ann/100%"),
            path: "/usr/bin:/bin",
            set: &[("SM_PORT", "9000".into())],
        };
        insta::assert_snapshot!(unit(&facts), @r#"
        # written by `sm service install`; `sm service remove` takes it away
        [Unit]
        Description=sm: keeps coding agents going

        [Service]
        ExecStart="/home/ann/my \"bin\"/sm" serve --foreground
        Environment="PATH=/usr/bin:/bin"
        Environment="SM_HOME=/home/ann/100%%"
        Environment="SM_PORT=9000"
        Restart=on-failure
        RestartSec=3
        # Agents live on when the daemon ends.
        KillMode=process

        [Install]
        WantedBy=default.target
        "#);
    }

    #[test]
    fn a_plist_is_well_formed_and_names_its_instance() {
        let facts = Facts {
            program: "/opt/a&b/sm",
            home: Some("/tmp/x"),
            path: "/bin",
            set: &[("SM_LOG", "a<b".into())],
        };
        let plist = plist(&facts);
        assert!(plist.contains("<key>SM_LOG</key><string>a&lt;b</string>"));
        assert!(plist.contains("<string>/opt/a&amp;b/sm</string><string>serve</string>"));
        assert!(instance(&plist).is_some_and(|line| line.contains("/tmp/x")));
        assert!(plist.contains(MARK));
        for tag in ["dict", "array", "plist"] {
            assert_eq!(
                plist.matches(&format!("<{tag}")).count(),
                plist.matches(&format!("</{tag}>")).count(),
                "{tag}"
            );
        }
    }
}
