//! `sm alias`: `claude` and `codex` typed at a shell mean `sm run claude` and `sm run codex`.
//!
//! One block in the shell's own start file, shown before it is written, and taken out again so that
//! the file is byte for byte as it was. Nothing else in the file is ever touched.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use sm_client::footprint::TraceKind;

use crate::environment;
use crate::error::{CommandError, Result};
use crate::print::{self, Printer};
use crate::settings_file::SettingsFile;
use crate::traces;

/// Shell aliases, so that `claude` means `sm run claude`: bash, zsh, fish.
#[derive(Debug, Args)]
pub struct Alias {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Install(Install),
    Remove(Remove),
}

/// Shows the lines, asks, and writes them into the start files of your shells.
#[derive(Debug, Args)]
struct Install {
    /// The agents; without them: both.
    #[arg(value_enum)]
    agents: Vec<Agent>,
    #[command(flatten)]
    which: Which,
}

/// Takes the lines out again; everything else stays as it is.
#[derive(Debug, Args)]
struct Remove {
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, Args)]
struct Which {
    /// This shell; without it: every one that has a start file.
    #[arg(long, value_enum)]
    shell: Option<Shell>,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    /// Only show what would change.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Agent {
    Claude,
    Codex,
}

impl Agent {
    const ALL: [Self; 2] = [Self::Claude, Self::Codex];

    fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Shell {
    const ALL: [Self; 3] = [Self::Bash, Self::Zsh, Self::Fish];

    /// Its start file, for shells that a person types into.
    fn file(self, get: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
        let home = get("HOME")?;
        Some(match self {
            Self::Bash => home.join(".bashrc"),
            Self::Zsh => get("ZDOTDIR").unwrap_or(home).join(".zshrc"),
            Self::Fish => get("XDG_CONFIG_HOME")
                .unwrap_or_else(|| home.join(".config"))
                .join("fish/config.fish"),
        })
    }
}

const BEGIN: &str = "# >>> sm alias";
const END: &str = "# <<< sm alias <<<\n";
/// What was before the block, so that it can be put back.
const PLAIN: &str = " >>>\n";
const NO_NEWLINE: &str = " (the line before had no end) >>>\n";
const NEW_FILE: &str = " (this file was made for it) >>>\n";

/// The file with the aliases of these agents in it; `None`: there is no such file.
fn put_in(text: Option<&str>, agents: &[Agent]) -> String {
    let before = text.map(take_out);
    let before = match &before {
        Some(Some(text)) => Some(text.as_str()),
        Some(None) | None => None,
    };
    let lines: String = Agent::ALL
        .iter()
        .filter(|agent| agents.contains(agent))
        .map(|agent| format!("alias {0}='sm run {0}'\n", agent.word()))
        .collect();
    match before {
        None => format!("{BEGIN}{NEW_FILE}{lines}{END}"),
        Some(text) if text.is_empty() || text.ends_with('\n') => {
            format!("{text}{BEGIN}{PLAIN}{lines}{END}")
        }
        Some(text) => format!("{text}\n{BEGIN}{NO_NEWLINE}{lines}{END}"),
    }
}

/// The file without our block; `None`: it was made for the block, and nothing else is in it.
fn take_out(text: &str) -> Option<String> {
    // A beginning without an end is not ours any more: the last one before the end counts.
    let end = text.find(END);
    let Some((end, (start, how))) = end.and_then(|end| Some((end, find(&text[..end])?))) else {
        return Some(text.to_owned());
    };
    let after = &text[end + END.len()..];
    let mut before = &text[..start];
    match how {
        PLAIN => {}
        NEW_FILE if before.is_empty() && after.is_empty() => return None,
        NO_NEWLINE if after.is_empty() => before = before.strip_suffix('\n').unwrap_or(before),
        _ => {}
    }
    Some(format!("{before}{after}"))
}

/// Where our block begins, and what its first line remembers.
fn find(text: &str) -> Option<(usize, &'static str)> {
    text.rmatch_indices(BEGIN)
        .filter(|(at, _)| *at == 0 || text[..*at].ends_with('\n'))
        .find_map(|(at, _)| {
            let rest = &text[at + BEGIN.len()..];
            let how = [PLAIN, NO_NEWLINE, NEW_FILE]
                .into_iter()
                .find(|how| rest.starts_with(how))?;
            Some((at, how))
        })
}

impl Alias {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        match self.command {
            Command::Install(Install { agents, which }) => {
                let agents = match agents.is_empty() {
                    true => Agent::ALL.to_vec(),
                    false => agents,
                };
                let files = which.files()?;
                if files.is_empty() {
                    return Err(CommandError::refused(
                        "no shell has a start file here, so there is nowhere to put an alias",
                    )
                    .hint("name the shell: sm alias install --shell bash"));
                }
                which.each(&files, out, |text| Some(put_in(text, &agents)))?;
                match which.dry_run {
                    true => Ok(()),
                    false => out.line(
                        "new shells have them; in this one: start it again, or read the file with `source`. `command claude` is the agent without sm. Take it out again: sm alias remove",
                    ),
                }
            }
            Command::Remove(Remove { which }) => {
                let files = which.files()?;
                which.each(&files, out, |text| text.and_then(take_out))
            }
        }
    }
}

impl Which {
    /// The start files that are meant.
    fn files(&self) -> Result<Vec<PathBuf>> {
        if let Some(shell) = self.shell {
            let file = shell.file(variable);
            return file
                .map(|file| vec![file])
                .ok_or_else(|| CommandError::not_usable("HOME is not set"));
        }
        let files = Shell::ALL
            .into_iter()
            .filter_map(|shell| shell.file(variable));
        Ok(files.filter(|file| file.is_file()).collect())
    }

    /// Shows what would change in each file, asks, and does it.
    fn each(
        &self,
        files: &[PathBuf],
        out: &mut Printer,
        change: impl Fn(Option<&str>) -> Option<String>,
    ) -> Result<()> {
        for path in files {
            self.one(path, out, &change)?;
        }
        Ok(())
    }

    fn one(
        &self,
        path: &Path,
        out: &mut Printer,
        change: &impl Fn(Option<&str>) -> Option<String>,
    ) -> Result<()> {
        let file = SettingsFile::read(path)?;
        let before = file.text()?;
        let after = change(before);
        let name = out.look.path(&path.display().to_string());
        if before == after.as_deref() {
            return out.line(&format!("{name}: nothing to change"));
        }
        let (old, new) = (
            before.unwrap_or_default(),
            after.as_deref().unwrap_or_default(),
        );
        super::hooks::diff(out, &name, old, new)?;
        if self.dry_run {
            return Ok(());
        }
        if !self.yes && !asked(path)? {
            return out.line(&format!("{name}: left as it is"));
        }
        change_file(&file, path, after.as_deref())?;
        out.line(&format!("{name}: done"))
    }
}

/// Every start file of this person that has our block in it.
pub fn installed() -> Vec<PathBuf> {
    let files = Shell::ALL
        .into_iter()
        .filter_map(|shell| shell.file(variable));
    files
        .filter(|path| {
            let file = SettingsFile::read(path);
            file.is_ok_and(|file| {
                let text = file.text().ok().flatten();
                text.is_some_and(|text| take_out(text).as_deref() != Some(text))
            })
        })
        .collect()
}

/// Takes the block out of this file; the words that were aliases there.
pub fn remove_from(path: &Path) -> Result<Vec<&'static str>> {
    let file = SettingsFile::read(path)?;
    let before = file.text()?;
    let after = before.and_then(take_out);
    if before == after.as_deref() {
        return Ok(Vec::new());
    }
    let block = before.and_then(|text| text.split_once(BEGIN));
    let words = Agent::ALL.map(Agent::word).into_iter();
    let removed = words
        .filter(|word| block.is_some_and(|(_, block)| block.contains(&format!("alias {word}="))))
        .collect();
    change_file(&file, path, after.as_deref())?;
    Ok(removed)
}

fn variable(key: &str) -> Option<PathBuf> {
    let value = PathBuf::from(std::env::var_os(key)?);
    value.is_absolute().then_some(value)
}

/// Writes it, or removes it if nothing is left; the list of what sm has put where knows.
fn change_file(file: &SettingsFile, path: &Path, after: Option<&str>) -> Result<()> {
    match after {
        None => {
            file.remove()?;
            traces::taken_out(TraceKind::Alias, path);
        }
        Some(text) if text.contains(END) => {
            traces::note(TraceKind::Alias, path);
            file.write(text)?;
        }
        Some(text) => {
            file.write(text)?;
            traces::taken_out(TraceKind::Alias, path);
        }
    }
    Ok(())
}

fn asked(path: &Path) -> Result<bool> {
    if !environment::is_interactive() {
        return Err(CommandError::refused(format!(
            "{} is yours, and nobody is here to be asked",
            path.display()
        ))
        .hint("to change it without being asked: --yes"));
    }
    Ok(print::confirm(&format!("Change {}?", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out_to_the_byte() {
        for before in [
            Some(""),
            Some("export A=1\n"),
            Some("export A=1"),
            Some("\n\n"),
            Some("x\r\n# >>> sm aliases are nice\n"),
            Some("# >>> sm alias >>>\nalias claude=x\n"),
            None,
        ] {
            let both = put_in(before, &Agent::ALL);
            assert!(both.contains("alias claude='sm run claude'\nalias codex='sm run codex'\n"));
            assert_eq!(take_out(&both).as_deref(), before, "{before:?}");
            // Again, and with less: still one block.
            let one = put_in(Some(&both), &[Agent::Claude]);
            assert_eq!(one.matches(END).count(), 1, "{one}");
            assert!(!one.contains("codex"));
            assert_eq!(take_out(&one).as_deref(), before, "{before:?}");
        }
    }

    #[test]
    fn what_others_wrote_since_stays() {
        let text = put_in(Some("a"), &Agent::ALL) + "b\n";
        assert_eq!(take_out(&text).as_deref(), Some("a\nb\n"));
        let made = put_in(None, &Agent::ALL) + "b\n";
        assert_eq!(take_out(&made).as_deref(), Some("b\n"));
        assert_eq!(
            take_out("nothing of ours").as_deref(),
            Some("nothing of ours")
        );
    }

    #[test]
    fn start_files() {
        let at = |vars: &'static [(&'static str, &'static str)]| {
            move |key: &str| {
                let found = vars.iter().find(|(name, _)| *name == key);
                found.map(|(_, value)| PathBuf::from(value))
            }
        };
        const HOME: &[(&str, &str)] = &[("HOME", "/h")];
        const MOVED: &[(&str, &str)] =
            &[("HOME", "/h"), ("ZDOTDIR", "/z"), ("XDG_CONFIG_HOME", "/c")];
        for (shell, vars, file) in [
            (Shell::Bash, HOME, "/h/.bashrc"),
            (Shell::Zsh, HOME, "/h/.zshrc"),
            (Shell::Fish, HOME, "/h/.config/fish/config.fish"),
            (Shell::Zsh, MOVED, "/z/.zshrc"),
            (Shell::Fish, MOVED, "/c/fish/config.fish"),
        ] {
            assert_eq!(shell.file(at(vars)), Some(PathBuf::from(file)));
        }
        assert_eq!(Shell::Bash.file(at(&[])), None);
    }
}
