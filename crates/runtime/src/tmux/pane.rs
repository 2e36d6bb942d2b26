//! The life of panes: made, listed, renamed, started again, ended.

use super::connect::{KEEPER, Start, WINDOW_SIZE};
use super::handle::Tmux;
use super::ids::{PaneId, TmuxSessionId, WindowId};
use super::quote::{format_literal, quote, shell_exec, time_format_literal};
use super::watch::ExitStatus;
use crate::error::Error;
use std::path::{Path, PathBuf};

/// In a `log_command`: the pane's own terminal device, known when the pane is made.
pub const PANE_TTY: &str = "\u{1}tty";

/// A pane to be made, in a session of its own.
#[derive(Debug, Clone)]
pub struct NewPane {
    pub session_name: String,
    pub cwd: PathBuf,
    /// The program and its arguments. Everybody can see them: no secrets.
    pub command: Vec<String>,
    /// Beside the server's environment. Whoever reaches the server can see it.
    pub env: Vec<(String, String)>,
    /// The program that gets every byte the pane prints on its standard input, from the first one.
    /// Empty: nobody gets them.
    pub log_command: Vec<String>,
    pub cols: u16,
    pub rows: u16,
    /// None: that of the configuration.
    pub history_limit: Option<u32>,
}

/// Where to find a pane that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneRef {
    pub pane: PaneId,
    pub window: WindowId,
    pub session: TmuxSessionId,
    /// The name tmux uses; '.' of the wanted name is '_' here.
    pub session_name: String,
    pub pid: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneInfo {
    pub session: TmuxSessionId,
    pub session_name: String,
    pub window: WindowId,
    pub pane: PaneId,
    /// The process in the pane, or the one that was.
    pub pid: u32,
    /// Some: the program has ended and the pane was kept.
    pub dead: Option<ExitStatus>,
    pub cols: u16,
    pub rows: u16,
    /// The program and its arguments, as the pane was made with them; quoted by tmux.
    pub command: String,
    pub title: String,
}

impl Tmux {
    /// Makes a session with one pane; starts the server if there is none.
    ///
    /// After [`Error::ConnectionLost`] or [`Error::Timeout`] it may exist: look with
    /// [`Tmux::list`] before trying again.
    pub async fn create(&self, new: NewPane) -> Result<PaneRef, Error> {
        let name = session_name(&new.session_name)?;
        if new.command.is_empty() {
            return Err(Error::BadArgument("a pane without a program".into()));
        }
        let cwd = argument(path_text(&new.cwd)?)?;
        let history = new.history_limit.unwrap_or(self.config().history_limit);
        let fields = [
            "pane_id",
            "window_id",
            "session_id",
            "pane_pid",
            "session_name",
        ];
        // One line is one step of the server: it reads nothing of the pane before the log is
        // there, and notices no exit before the pane is kept. The size option is what somebody may
        // have set to `manual` since the last time, of which a server (3.3a) dies here.
        let mut env = String::new();
        for (key, value) in &new.env {
            env.push_str(&format!(
                " -e {}",
                quote(argument(&format!("{key}={value}"))?)
            ));
        }
        let mut line = format!(
            "{} ; set-option -g history-limit {history} ; new-session -d -P -F {} -s {name} -n {name} \
             -c {} -x {} -y {}{env} -- {}",
            WINDOW_SIZE.join(" "),
            quote(&fields_format(&fields)),
            quote(&format_literal(cwd)),
            new.cols.max(1),
            new.rows.max(1),
            words(&new.command)?,
        );
        line.push_str(&format!(" ; set-option -p -t ={name}: remain-on-exit on"));
        if !new.log_command.is_empty() {
            let log = pipe_command(&format!("={name}:"), &new.log_command)?;
            line.push_str(&format!(" ; {log}"));
        }
        let replies = self.run_raw(line, Start::IfNeeded).await?;
        let made = replies
            .get(2)
            .filter(|reply| !reply.failed)
            .and_then(|reply| parse_made(reply.lines.first()?));
        match (made, replies.iter().find(|reply| reply.failed)) {
            (Some(made), None) => Ok(made),
            (Some(made), Some(failed)) => {
                // Half of what was asked for is nothing.
                self.kill_session(made.session).await?;
                Err(Error::Refused(failed.lines.join(" ")))
            }
            (None, Some(failed)) => {
                let text = failed.lines.join(" ");
                Err(match text.strip_prefix("duplicate session: ") {
                    Some(name) => Error::NameTaken(name.to_owned()),
                    None => Error::Refused(text),
                })
            }
            (None, None) => Err(Error::Unexpected("no pane was named".into())),
        }
    }

    /// Every pane of the server, the hidden session's excepted.
    pub async fn list(&self) -> Result<Vec<PaneInfo>, Error> {
        let replies = self.run(listing_command(), Start::Never).await?;
        Ok(replies
            .first()
            .map(|reply| parse_listing(&reply.lines))
            .unwrap_or_default())
    }

    /// Starts a program in the place of the pane's own, which is killed if it still runs. Pane,
    /// size and history stay. Output goes to the log that is open, or to `log_command`.
    pub async fn respawn(
        &self,
        pane: PaneId,
        cwd: &Path,
        command: &[String],
        log_command: &[String],
    ) -> Result<u32, Error> {
        if command.is_empty() {
            return Err(Error::BadArgument("a pane without a program".into()));
        }
        let cwd = quote(&format_literal(argument(path_text(cwd)?)?));
        let mut line = format!("respawn-pane -k -t {pane} -c {cwd} -- {}", words(command)?);
        if !log_command.is_empty() {
            let target = pane.to_string();
            let log = quote(&pipe_command(&target, log_command)?);
            line.push_str(&format!(
                " ; if-shell -F -t {target} \"#{{pane_pipe}}\" \"\" {log}"
            ));
        }
        line.push_str(&format!(
            " ; display-message -p -t {pane} \"#{{pane_pid}}\""
        ));
        let replies = self.run(line, Start::Never).await?;
        replies
            .last()
            .and_then(|reply| reply.lines.first()?.parse().ok())
            .ok_or_else(|| Error::Unexpected("no process was named".into()))
    }

    /// Gives the pane's output to this program from now on, instead of to whichever had it.
    pub async fn pipe(&self, pane: PaneId, log_command: &[String]) -> Result<(), Error> {
        let line = pipe_command(&pane.to_string(), log_command)?;
        self.run(line, Start::Never).await.map(drop)
    }

    pub async fn kill_session(&self, session: TmuxSessionId) -> Result<(), Error> {
        self.run(
            format!("kill-session -t {}", quote(&session.to_string())),
            Start::Never,
        )
        .await
        .map(drop)
    }

    pub async fn kill_pane(&self, pane: PaneId) -> Result<(), Error> {
        self.run(format!("kill-pane -t {pane}"), Start::Never)
            .await
            .map(drop)
    }

    /// The name tmux uses from now on.
    pub async fn rename_session(
        &self,
        session: TmuxSessionId,
        name: &str,
    ) -> Result<String, Error> {
        let name = session_name(name)?;
        let target = quote(&session.to_string());
        self.run(format!("rename-session -t {target} {name}"), Start::Never)
            .await?;
        Ok(name)
    }
}

/// The name a tmux session gets. tmux itself turns '.' into '_', as both mean something in its
/// targets; other characters that do are refused.
pub(crate) fn session_name(name: &str) -> Result<String, Error> {
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if starts_well && name.chars().all(fits) && name.len() <= 200 {
        Ok(name.replace('.', "_"))
    } else {
        Err(Error::BadName(name.chars().take(200).collect()))
    }
}

/// tmux runs several words as they are, but gives a single one to a shell.
pub(crate) fn direct(command: &[String]) -> Vec<String> {
    match command {
        [program] => ["/bin/sh", "-c", "exec \"$0\"", program]
            .map(str::to_owned)
            .to_vec(),
        several => several.to_vec(),
    }
}

fn words(command: &[String]) -> Result<String, Error> {
    let mut quoted = Vec::with_capacity(command.len());
    for word in direct(command) {
        quoted.push(quote(argument(&word)?));
    }
    Ok(quoted.join(" "))
}

fn argument(word: &str) -> Result<&str, Error> {
    match word.contains('\0') {
        true => Err(Error::BadArgument(format!("a NUL in {word:?}"))),
        false => Ok(word),
    }
}

fn path_text(path: &Path) -> Result<&str, Error> {
    path.to_str()
        .ok_or_else(|| Error::BadArgument(format!("a path that is not UTF-8: {path:?}")))
}

fn pipe_command(target: &str, log_command: &[String]) -> Result<String, Error> {
    for word in log_command {
        argument(word)?;
    }
    // A device's name has nothing in it that a shell or a format would take for its own.
    let shell_line = time_format_literal(&shell_exec(log_command)).replace(PANE_TTY, "#{pane_tty}");
    Ok(format!("pipe-pane -O -t {target} {}", quote(&shell_line)))
}

/// Titles and names hold no control characters, so a tab separates.
pub(crate) fn fields_format(fields: &[&str]) -> String {
    fields
        .iter()
        .map(|field| format!("#{{{field}}}"))
        .collect::<Vec<_>>()
        .join("\t")
}

const LISTED: [&str; 12] = [
    "session_id",
    "session_name",
    "window_id",
    "pane_id",
    "pane_pid",
    "pane_dead",
    "pane_dead_status",
    "pane_dead_signal",
    "pane_width",
    "pane_height",
    "pane_start_command",
    "pane_title",
];

pub(crate) fn listing_command() -> String {
    format!("list-panes -a -F {}", quote(&fields_format(&LISTED)))
}

/// A line that is no pane is left out.
pub(crate) fn parse_listing(lines: &[String]) -> Vec<PaneInfo> {
    lines
        .iter()
        .filter_map(|line| parse_listed(line))
        .filter(|pane| pane.session_name != KEEPER)
        .collect()
}

fn parse_listed(line: &str) -> Option<PaneInfo> {
    let fields: Vec<&str> = line.splitn(LISTED.len(), '\t').collect();
    let [
        session,
        session_name,
        window,
        pane,
        pid,
        dead,
        status,
        signal,
        cols,
        rows,
        command,
        title,
    ] = fields[..]
    else {
        return None;
    };
    Some(PaneInfo {
        session: session.parse().ok()?,
        session_name: session_name.to_owned(),
        window: window.parse().ok()?,
        pane: pane.parse().ok()?,
        pid: pid.parse().ok()?,
        dead: parse_dead(dead, status, signal),
        cols: cols.parse().ok()?,
        rows: rows.parse().ok()?,
        command: command.to_owned(),
        title: title.to_owned(),
    })
}

pub(crate) fn parse_dead(dead: &str, status: &str, signal: &str) -> Option<ExitStatus> {
    (dead == "1").then(|| ExitStatus {
        code: status.parse().ok(),
        signal: signal.parse().ok(),
    })
}

fn parse_made(line: &str) -> Option<PaneRef> {
    let mut fields = line.splitn(5, '\t');
    Some(PaneRef {
        pane: fields.next()?.parse().ok()?,
        window: fields.next()?.parse().ok()?,
        session: fields.next()?.parse().ok()?,
        pid: fields.next()?.parse().ok()?,
        session_name: fields.next()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(session_name("api.v2-x_1"), Ok("api_v2-x_1".into()));
        for bad in [
            "", "=x", "$1", "a:b", "a b", "-t", ".x", "é", "a#{x}", "{last}", "@1", "%1",
        ] {
            assert_eq!(session_name(bad), Err(Error::BadName(bad.into())));
        }
    }

    #[test]
    fn a_listing() {
        let lines = [
            "$0\t_sm\t@0\t%0\t10\t0\t\t\t80\t24\tsleep 9\tvm",
            "$1\ta\t@1\t%1\t11\t0\t\t\t120\t40\tsm-hook launch a 1\t✳ a\tb",
            "$2\tb\t@2\t%2\t12\t1\t3\t\t80\t24\t\t",
            "$3\tc\t@3\t%3\t13\t1\t\t9\t80\t24\t\tx",
            "rubbish",
            "$x\tc\t@3\t%3\t13\t1\t\t9\t80\t24\t\tx",
        ]
        .map(str::to_owned);
        let seen: Vec<_> = parse_listing(&lines)
            .into_iter()
            .map(|pane| (pane.pane.to_string(), pane.dead, pane.command, pane.title))
            .collect();
        let dead = |code, signal| Some(ExitStatus { code, signal });
        let expected = [
            ("%1", None, "sm-hook launch a 1", "✳ a\tb"),
            ("%2", dead(Some(3), None), "", ""),
            ("%3", dead(None, Some(9)), "", "x"),
        ]
        .map(|(pane, dead, command, title)| (pane.into(), dead, command.into(), title.into()));
        assert_eq!(seen, expected);
    }
}
