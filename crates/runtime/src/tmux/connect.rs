//! Starting or joining the server, and bringing it to the state everything else relies on.
//!
//! The control client sits in a hidden session, `_sm`, that also keeps the server alive. The
//! server makes itself a daemon of its own; only the small client process is our child.

use super::config::{TmuxConfig, spawn_error};
use super::ids::WindowId;
use super::pane::{self, PaneInfo};
use super::protocol::{Message, Parser, Reply};
use super::quote::quote;
use crate::error::Error;
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

/// The hidden session.
pub(crate) const KEEPER: &str = "_sm";
/// The one subscription.
pub(crate) const SUBSCRIPTION: &str = "sm";
/// How long a server that turns clients away may take to end.
const LAST_BREATH: Duration = Duration::from_millis(500);
/// How long clients before us may take to leave; one that stays longer has its reasons.
const PREDECESSORS: Duration = Duration::from_secs(2);
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
    pub child: Child,
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
    // A Ctrl-C meant for a daemon in the foreground is not meant for tmux. Not killed when
    // dropped: a server (3.3a, and others) dies of a control client that ends while it introduces
    // itself. It leaves by itself when nobody holds its input.
    command.process_group(0);
    let mut child = command
        .spawn()
        .map_err(|error| spawn_error(config, &error))?;
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(Error::Start("no pipes to talk through".into()));
    };
    let greeting = greet(config, child, stdin, stdout);
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
    child: Child,
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

/// Whether a server could have its socket there. One that cannot does not say why but dies of it
/// (3.3a, with a control client), so it is not started.
fn place_for(socket: &Path) -> Result<(), Error> {
    let refuse = |why: &str| {
        let socket = socket.display();
        Err(Error::Start(format!("no server at {socket}: {why}")))
    };
    if !socket.parent().is_some_and(Path::is_dir) {
        return refuse("its directory does not exist");
    }
    if std::os::unix::net::SocketAddr::from_pathname(socket).is_err() {
        return refuse("the path is too long for a socket");
    }
    Ok(())
}

/// What a socket tells about its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// Nobody listens: no server, whatever else may be slow or broken.
    Nobody,
    /// Somebody does, or it cannot be known.
    Perhaps,
}

/// Asks the socket itself, as only this is evidence: that a client process ended, or did not come
/// to an answer, may have any reason.
async fn listener(socket: &Path) -> Heard {
    use std::io::ErrorKind::{ConnectionRefused, NotFound};
    match tokio::net::UnixStream::connect(socket).await {
        Err(error) if matches!(error.kind(), ConnectionRefused | NotFound) => Heard::Nobody,
        Ok(_) | Err(_) => Heard::Perhaps,
    }
}

/// Fails if there is certainly no server. Needs no process to find out.
pub(crate) async fn look_for_server(config: &TmuxConfig) -> Result<(), Error> {
    match &config.socket {
        super::Socket::Path(path) => match listener(path).await {
            Heard::Nobody => Err(Error::ServerGone),
            Heard::Perhaps => Ok(()),
        },
        super::Socket::Name(_) => Ok(()),
    }
}

/// Waits until the clients before this one have left.
///
/// A server (3.3a, and others) dies if it has something to tell to control clients, as that one of them
/// has left, while another introduces itself; so the last one, which may be slow to leave, and the
/// next one must not meet. Asked with a command of no control client, which can do no harm and
/// shows that the server answers at all.
async fn predecessors(config: &TmuxConfig) -> Result<(), Error> {
    if look_for_server(config).await.is_err() {
        return Ok(());
    }
    let mut argv = config.base_argv();
    let question = ["-N", "list-clients", "-t", "=_sm", "-F"];
    argv.extend(question.map(OsString::from));
    argv.push("#{client_control_mode}".into());
    let until = Instant::now() + PREDECESSORS;
    loop {
        let mut command = config.command(&argv);
        command.stdin(Stdio::null()).kill_on_drop(true);
        let answer = tokio::time::timeout(config.deadline, command.output())
            .await
            .map_err(|_| Error::Timeout(config.deadline))?
            .map_err(|error| spawn_error(config, &error))?;
        if !answer.stdout.contains(&b'1') || Instant::now() >= until {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
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

/// Whether there is certainly no server any more. One that is about to end still listens.
async fn gone(socket: &super::Socket, complaint: &str) -> bool {
    let path = match socket {
        super::Socket::Path(path) => path,
        // tmux knows where it is, and says what it found there.
        super::Socket::Name(_) => {
            return complaint.starts_with("no server running on")
                || complaint.ends_with("(No such file or directory)")
                || complaint.ends_with("(Connection refused)");
        }
    };
    let ending = async {
        while listener(path).await != Heard::Nobody {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LAST_BREATH, ending).await.is_ok()
}
