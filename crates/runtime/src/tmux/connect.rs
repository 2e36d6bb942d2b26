//! Starting or joining the server, and bringing it to the state everything else relies on.
//!
//! The control client sits in a hidden session, `_sm`, that also keeps the server alive. The
//! server makes itself a daemon of its own; only the small client process is our child.

use super::config::{TmuxConfig, spawn_error};
use super::ids::WindowId;
use super::pane::{self, PaneInfo};
use super::protocol::{Message, Parser, Reply};
use super::quote::quote;
use super::server::{OWNER, gone, place_for, predecessors};
use crate::error::Error;
use std::ffi::OsString;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

/// The hidden session.
pub(crate) const KEEPER: &str = "_sm";
/// The one subscription.
pub(crate) const SUBSCRIPTION: &str = "sm";
/// tmux's words, in a format, for which server this is.
const IDENTITY: &str = "#{pid} #{start_time}";

/// Attached people decide how large a window is, the last one active.
pub(crate) const WINDOW_SIZE: [&str; 4] = ["set-option", "-g", "window-size", "latest"];

/// May a server be started that is not there?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    IfNeeded,
    Never,
}

/// A connection that has shown that it works.
#[derive(Debug)]
pub(crate) struct Connection {
    pub child: Client,
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
    pub parser: Parser,
    pub secret: String,
    /// Which server it is: pid and start time.
    pub server: String,
    pub keeper_window: String,
    /// The panes that were there.
    pub panes: Vec<PaneInfo>,
}

/// The client process. It ends with us, but not while it introduces itself: a server (3.3a, and
/// others) dies of that. Then it is left to itself, and to the next one that connects.
#[derive(Debug)]
pub(crate) struct Client {
    process: Child,
    introduced: bool,
}

impl Client {
    pub async fn ended_within(&mut self, patience: Duration) -> bool {
        tokio::time::timeout(patience, self.process.wait())
            .await
            .is_ok()
    }

    pub async fn kill(&mut self) -> std::io::Result<()> {
        self.process.kill().await
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if self.introduced {
            // One that has ended needs no end.
            let _ = self.process.start_kill();
        }
    }
}

/// The line that makes tmux print the mark of a request.
pub(crate) fn mark_line(secret: &str, number: u64) -> String {
    format!("display-message -p {secret}{number}\n")
}

pub(crate) async fn connect(config: &TmuxConfig, start: Start) -> Result<Connection, Error> {
    if let (Start::IfNeeded, super::Socket::Path(path)) = (start, &config.socket) {
        place_for(path)?;
    }
    predecessors(config).await?;
    let mut command = config.command(&argv(config, start));
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // A Ctrl-C meant for a daemon in the foreground is not meant for tmux.
    command.process_group(0);
    let mut child = command
        .spawn()
        .map_err(|error| spawn_error(config, &error))?;
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(Error::Start("no pipes to talk through".into()));
    };
    let client = Client {
        process: child,
        introduced: false,
    };
    let greeting = greet(config, client, stdin, stdout);
    match tokio::time::timeout(config.deadline, greeting).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(End::Failed(error))) => Err(error),
        Ok(Err(End::Left(said))) => {
            let complaint = complaint(stderr).await;
            Err(refusal(config, start, &said, &complaint).await)
        }
        Err(_) => Err(Error::Timeout(config.deadline)),
    }
}

/// How a greeting can fail.
enum End {
    Failed(Error),
    /// It ended before it answered, and what it said about that.
    Left(String),
}

async fn greet(
    config: &TmuxConfig,
    mut child: Client,
    mut stdin: ChildStdin,
    mut stdout: ChildStdout,
) -> Result<Connection, End> {
    let secret = secret().map_err(End::Failed)?;
    let mut parser = Parser::new(secret.clone());
    let mut replies = Vec::new();
    let mut attached = false;
    let mut buffer = vec![0; 16 << 10];
    loop {
        let mut messages = Vec::new();
        let read = stdout
            .read(&mut buffer)
            .await
            .map_err(|_| End::Left(String::new()))?;
        if read == 0 {
            return Err(End::Left(String::new()));
        }
        parser.feed(&buffer[..read], &mut messages);
        for message in messages {
            match message {
                // Only now it is attached. tmux would read commands sooner, but a client that is
                // given some before that hears of nothing later.
                Message::SessionChanged { .. } if !attached => {
                    attached = true;
                    child.introduced = true;
                    let lines = setup(config).join("\n");
                    let setup = format!("{lines}\n{}", mark_line(&secret, 0));
                    stdin
                        .write_all(setup.as_bytes())
                        .await
                        .map_err(|_| End::Left(String::new()))?;
                }
                Message::SessionChanged { .. } => {}
                Message::Reply(reply) => replies.push(reply),
                Message::Mark(_) => {
                    let (server, keeper_window, panes) =
                        introduction(&replies).map_err(End::Failed)?;
                    return Ok(Connection {
                        child,
                        stdin,
                        stdout,
                        parser,
                        secret,
                        server,
                        keeper_window,
                        panes,
                    });
                }
                Message::Exit(why) => return Err(End::Left(why.unwrap_or_default())),
                Message::SubscriptionChanged { .. }
                | Message::WindowClosed { .. }
                | Message::WindowRenamed { .. }
                | Message::SessionsChanged
                | Message::PaneModeChanged { .. }
                | Message::Other(_) => {}
            }
        }
    }
}

/// The last two commands of the setup answer who the server is, and which panes it has.
fn introduction(replies: &[Reply]) -> Result<(String, String, Vec<PaneInfo>), Error> {
    let [settings @ .., who, panes] = replies else {
        return Err(Error::Unexpected("no answer to the greeting".into()));
    };
    for refused in settings.iter().filter(|reply| reply.failed) {
        // An option that this version does not have is no reason to do without it altogether.
        tracing::debug!(why = %refused.lines.join(" "), "tmux refused a setting");
    }
    let who = who.lines.first().map(String::as_str).unwrap_or_default();
    let (window, server) = who
        .split_once(' ')
        .ok_or_else(|| Error::Unexpected(format!("the server says it is {who:?}")))?;
    window.parse::<WindowId>()?;
    Ok((
        server.to_owned(),
        window.to_owned(),
        pane::parse_listing(&panes.lines),
    ))
}

fn secret() -> Result<String, Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::Start(error.to_string()))?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("sm-{hex}-"))
}

fn argv(config: &TmuxConfig, start: Start) -> Vec<OsString> {
    let mut argv = config.base_argv();
    // -u: titles and screens are UTF-8, whatever the locale of the daemon.
    argv.extend(["-u".into(), "-f".into()]);
    argv.push(config.config.clone().map_or("/dev/null".into(), Into::into));
    if start == Start::Never {
        argv.push("-N".into());
    }
    argv.push("-C".into());
    // A size option of `manual`, from a configuration or a person, kills a server (3.3a) that then
    // makes a session.
    argv.extend(WINDOW_SIZE.map(OsString::from));
    argv.push(";".into());
    // `no-output`: pane output is never sent here, so not reading it cannot stall a pane.
    // `ignore-size`: this client has no size that a window should take.
    let attach = [
        "new-session",
        "-A",
        "-s",
        KEEPER,
        "-n",
        KEEPER,
        "-f",
        "no-output,ignore-size",
        "-x",
        "80",
        "-y",
        "24",
        "-c",
        "/",
        "--",
    ];
    argv.extend(attach.map(OsString::from));
    // A word that ends in ';' would end the command.
    argv.extend(pane::direct(&config.keeper).into_iter().map(
        |word| match word.strip_suffix(';') {
            Some(head) => format!("{head}\\;").into(),
            None => word.into(),
        },
    ));
    // The keeper keeps the server even if its program ends.
    let keep = [
        ";",
        "set-option",
        "-p",
        "-t",
        "=_sm:",
        "remain-on-exit",
        "on",
    ];
    argv.extend(keep.map(OsString::from));
    argv
}

/// One command a line, so that one that is refused does not take the others with it.
fn setup(config: &TmuxConfig) -> Vec<String> {
    let mut lines = vec![
        // Every command would be remembered otherwise: whole pasted texts, a thousand of them.
        "set-option -s message-limit 0".to_owned(),
        format!("set-option -s {OWNER} {}", std::process::id()),
        format!("set-option -g history-limit {}", config.history_limit),
    ];
    if config.config.is_none() {
        // macOS has no entry for tmux-256color in its own terminal database.
        let terminal = if cfg!(target_os = "macos") {
            "screen-256color"
        } else {
            "tmux-256color"
        };
        lines.push(format!("set-option -s default-terminal {terminal}"));
        lines.extend(
            [
                // An Escape is an Escape: not half a second of waiting for what might follow.
                "set-option -s escape-time 10",
                "set-option -s focus-events on",
                "set-option -s extended-keys on",
                "set-option -g detach-on-destroy on",
                "set-option -g set-titles off",
                "set-option -g status-left-length 60",
                "set-option -g status-right \"\"",
            ]
            .map(str::to_owned),
        );
    }
    // A program's end is pushed at once: a command inside a hook notifies nobody, one that the
    // hook defers does, and the name of the hidden window is seen by nobody else.
    // The same for another size: what the program draws then is drawn for that size.
    for event in ["pane-died", "window-resized", "window-layout-changed"] {
        lines.push(format!(
            "set-hook -g {event} {}",
            quote(&format!(
                "run-shell -b -d 0 -C 'rename-window -t ={KEEPER}: {KEEPER}'"
            ))
        ));
    }
    lines.push(format!(
        "display-message -p -t ={KEEPER}: {}",
        quote(&format!("#{{window_id}} {IDENTITY}"))
    ));
    lines.push(pane::listing_command());
    lines
}

/// Everything that no hook tells, within a second. What it says does not matter, only that it
/// changed.
///
/// Bound to the hidden window, never to the client's session: tmux 3.3a looks into that session
/// without asking whether the client still has one, and dies with every session of the server if
/// the hidden one was killed while the client had not yet left (`kill-session -a` of a person, a
/// busy machine). Of a window that is gone it says nothing.
pub(crate) fn subscription(keeper_window: &str) -> String {
    let all = "#{S:#{W:#{P:#{pane_id}#{pane_dead}#{pane_dead_status}#{pane_dead_signal}#{pane_width}x#{pane_height}#{pane_title}}}}";
    format!(
        "refresh-client -B {}",
        quote(&format!("{SUBSCRIPTION}:{keeper_window}:{all}"))
    )
}

/// What it wrote before it ended.
async fn complaint(mut stderr: ChildStderr) -> String {
    let mut text = vec![0; 2048];
    let read = tokio::time::timeout(Duration::from_secs(1), stderr.read(&mut text)).await;
    let length = read.ok().and_then(Result::ok).unwrap_or(0);
    String::from_utf8_lossy(&text[..length]).trim().to_owned()
}

/// Why a client ended before it answered.
async fn refusal(config: &TmuxConfig, start: Start, said: &str, complaint: &str) -> Error {
    match start {
        Start::Never => {
            tracing::debug!(said, complaint, "a tmux client ended without an answer");
            if gone(&config.socket, complaint).await {
                Error::ServerGone
            } else {
                Error::ConnectionLost
            }
        }
        Start::IfNeeded => {
            let socket = match &config.socket {
                super::Socket::Path(path) => path.display().to_string(),
                super::Socket::Name(name) => name.clone(),
            };
            let mut why = format!("no server at {socket}");
            for reason in [said, complaint]
                .into_iter()
                .filter(|reason| !reason.is_empty())
            {
                why.push_str(": ");
                why.push_str(reason);
            }
            Error::Start(why)
        }
    }
}
