//! Joins the screen to the terminal, the host, the signals and the clock.
//!
//! A key is on the screen at once; what streams in is drawn at most sixty times a second, however
//! many pieces it comes in.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use sm_core::confirm_key::Arrival;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use crate::config::Config;
use crate::host::{Command, Update};
use crate::models;
use crate::session;
use crate::templates::Template;

use super::app::{Action, App};
use super::branch::{branch, may_change_branch};
use super::editor::History;
use super::files;
use super::input::Input;
use super::look::{Look, Mode};
use super::paint::Painter;
use super::plain;
use super::terminal::{Terminal, stop_ourselves};

/// What streams in is drawn no more often than this.
const FRAME: Duration = Duration::from_millis(16);
/// How often what turns by itself is drawn.
const TURN: Duration = Duration::from_millis(100);
/// So long an escape character may be the beginning of something.
const ESCAPE: Duration = Duration::from_millis(30);
/// How long the host may take to end.
const FAREWELL: Duration = Duration::from_secs(8);
/// So many updates are taken at once before something is drawn.
const BATCH: usize = 512;

/// Where a person's things are.
#[derive(Debug, Clone)]
pub struct Options {
    pub look: Look,
    pub cwd: PathBuf,
    /// The folder of all sessions, for `/resume`.
    pub sessions: PathBuf,
    /// What was typed before in this project.
    pub history: Option<PathBuf>,
    /// Shown as `~`.
    pub home: Option<PathBuf>,
    /// What the person should hear first.
    pub notices: Vec<String>,
    /// What is said first.
    pub prompt: Option<String>,
    /// What `/name` stands for.
    pub templates: Vec<Template>,
    /// Which models there are.
    pub config: Config,
}

/// Drives the agent until the person leaves or the terminal is gone.
pub async fn run(
    commands: UnboundedSender<Command>,
    updates: UnboundedReceiver<Update>,
    options: Options,
) -> ExitCode {
    let terminal = match options.look.mode {
        Mode::Screen => Terminal::open().ok(),
        Mode::Plain => None,
    };
    let look = match terminal {
        Some(_) => options.look,
        None => options.look.plain(),
    };
    let options = Options { look, ..options };
    let history = options.history.clone().map(History::open);
    let history = history.unwrap_or_default();
    let mut app = App::new(look, history, options.home.clone(), Instant::now());
    app.welcome(&options.notices);
    app.templates(options.templates.clone());
    if let Some(prompt) = &options.prompt {
        let _ = commands.send(Command::Prompt(prompt.clone()));
    }
    let Some(terminal) = terminal else {
        return plain::run(commands, updates, app, &options).await;
    };
    let signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => {
            eprintln!("cannot listen to signals: {error}");
            return ExitCode::FAILURE;
        }
    };
    let now = Instant::now();
    let screen = Screen {
        painter: Painter::new(options.look),
        terminal,
        signals,
        app,
        commands,
        updates,
        options,
        found: mpsc::unbounded_channel(),
        input: Input::default(),
        escape: None,
        drawn: now,
        dirty: true,
        leaving: None,
    };
    ExitCode::from(screen.run().await)
}

/// What was looked for beside the screen.
enum Found {
    Files(Vec<String>),
    Sessions(Vec<(String, PathBuf)>),
    Session(Result<PathBuf, String>),
    Models(Vec<String>),
    NextModel(Vec<String>),
    Branch(Option<String>),
}

struct Screen {
    terminal: Terminal,
    painter: Painter,
    signals: Signals,
    app: App,
    commands: UnboundedSender<Command>,
    updates: UnboundedReceiver<Update>,
    options: Options,
    found: (UnboundedSender<Found>, UnboundedReceiver<Found>),
    input: Input,
    /// When an escape character that waits becomes a key.
    escape: Option<Instant>,
    /// When the screen was drawn last.
    drawn: Instant,
    /// Something has changed since.
    dirty: bool,
    /// The host is to end: by when, and what we end with.
    leaving: Option<(Instant, u8)>,
}

struct Signals {
    size: Signal,
    stop: Signal,
    go_on: Signal,
    hang_up: Signal,
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        let of = |number| signal(SignalKind::from_raw(number));
        Ok(Self {
            size: signal(SignalKind::window_change())?,
            stop: of(libc::SIGTSTP)?,
            go_on: of(libc::SIGCONT)?,
            hang_up: signal(SignalKind::hangup())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }
}

/// Every reason to wake.
enum Event {
    Typed(Vec<u8>),
    /// The terminal is gone.
    Gone,
    Told(Box<Update>),
    /// The host is gone.
    Silence,
    Found(Found),
    Resized,
    Stopped,
    Continued,
    /// A signal that ends us, with what we end with.
    Leave(u8),
    /// Something was due.
    Time,
}

/// What comes of an event.
enum Then {
    /// Drawn with the next frame.
    Soon,
    /// Drawn at once.
    Now,
    /// Nothing has changed, unless by time.
    Nothing,
    Exit(u8),
}

impl Screen {
    async fn run(mut self) -> u8 {
        if self.terminal.enter().is_err() {
            return 129;
        }
        let code = loop {
            let event = self.next().await;
            let then = self.on(event).await;
            let now = Instant::now();
            let change = self.app.next_change(self.drawn);
            match then {
                Then::Exit(code) => break code,
                Then::Now => self.draw().await,
                Then::Soon | Then::Nothing => {
                    self.dirty |= matches!(then, Then::Soon);
                    let due = self.dirty && now >= self.drawn + FRAME;
                    let turned = self.app.is_moving() && now >= self.drawn + TURN;
                    if due || turned || change.is_some_and(|at| at <= now) {
                        self.draw().await;
                    }
                }
            }
        };
        let size = self.terminal.size();
        self.app.resize(size.columns);
        self.app.farewell();
        let finished = self.app.take_finished();
        let mut last = self.painter.draw(&finished, &[], size);
        last.push_str(&self.painter.leave(self.terminal.size()));
        self.terminal.leave(&last);
        code
    }

    async fn next(&mut self) -> Event {
        let frame = self.dirty.then_some(self.drawn + FRAME);
        let turn = self.app.is_moving().then_some(self.drawn + TURN);
        let change = self.app.next_change(self.drawn);
        let farewell = self.leaving.map(|(by, _)| by);
        let due = [frame, turn, change, self.escape, farewell];
        let due = due.into_iter().flatten().min();
        let mut buffer = [0; 4096];
        tokio::select! {
            biased;
            read = self.terminal.read(&mut buffer) => match read {
                Ok(count) if count > 0 => Event::Typed(buffer.get(..count).unwrap_or_default().to_vec()),
                Ok(_) | Err(_) => Event::Gone,
            },
            _ = self.signals.hang_up.recv() => Event::Leave(129),
            _ = self.signals.terminate.recv() => Event::Leave(143),
            _ = self.signals.interrupt.recv() => Event::Leave(130),
            _ = self.signals.size.recv() => Event::Resized,
            _ = self.signals.stop.recv() => Event::Stopped,
            _ = self.signals.go_on.recv() => Event::Continued,
            Some(found) = self.found.1.recv() => Event::Found(found),
            // Before what streams in: a loader must turn however much comes.
            () = sleep_until(due), if due.is_some_and(|at| at <= Instant::now()) => Event::Time,
            update = self.updates.recv() => match update {
                Some(update) => Event::Told(Box::new(update)),
                None => Event::Silence,
            },
            () = sleep_until(due) => Event::Time,
        }
    }

    async fn on(&mut self, event: Event) -> Then {
        match event {
            Event::Typed(bytes) => self.typed(&bytes).await,
            Event::Gone => {
                let _ = self.commands.send(Command::Quit);
                self.wait_for_end().await;
                Then::Exit(129)
            }
            Event::Told(update) => self.told(*update).await,
            Event::Silence => match self.leaving {
                Some((_, code)) => Then::Exit(code),
                None => {
                    self.app.complain("the agent has ended unexpectedly");
                    Then::Exit(1)
                }
            },
            Event::Found(found) => {
                self.found(found);
                Then::Now
            }
            Event::Resized => {
                self.painter.disturbed();
                Then::Now
            }
            Event::Stopped => self.suspend(),
            Event::Continued => self.take_again(),
            Event::Leave(code) => {
                let _ = self.commands.send(Command::Quit);
                self.leaving = Some((Instant::now() + FAREWELL, code));
                Then::Nothing
            }
            Event::Time => self.time().await,
        }
    }

    async fn typed(&mut self, bytes: &[u8]) -> Then {
        let keys = self.input.feed(bytes);
        let now = Instant::now();
        self.escape = self.input.waits().then_some(now + ESCAPE);
        let arrival = Arrival::of_read(keys.len());
        for key in keys {
            let actions = self.app.press_read(key, arrival, now);
            if let Some(exit) = self.perform(actions).await {
                return exit;
            }
        }
        Then::Now
    }

    async fn told(&mut self, update: Update) -> Then {
        let mut then = Then::Soon;
        let mut next = Some(update);
        for _ in 0..BATCH {
            let Some(update) = next.take() else { break };
            if may_change_branch(&update) {
                let cwd = self.options.cwd.clone();
                self.look_for(move || Found::Branch(branch(&cwd)));
            }
            if is_awaited(&update) {
                then = Then::Now;
            }
            let actions = self.app.told(update, Instant::now());
            if let Some(exit) = self.perform(actions).await {
                return exit;
            }
            next = match self.updates.is_empty() {
                true => None,
                false => self.updates.try_recv().ok(),
            };
        }
        if let Some(update) = next {
            if is_awaited(&update) {
                then = Then::Now;
            }
            let actions = self.app.told(update, Instant::now());
            if let Some(exit) = self.perform(actions).await {
                return exit;
            }
        }
        then
    }

    async fn time(&mut self) -> Then {
        let now = Instant::now();
        if let Some((by, code)) = self.leaving
            && by <= now
        {
            return Then::Exit(code);
        }
        // A key that was typed meanwhile comes before what is due without one.
        let typed = self.read_typed();
        if !typed.is_empty() {
            return self.typed(&typed).await;
        }
        let change = self.app.next_change(self.drawn);
        let mut then = match change.is_some_and(|at| at <= now) {
            true => Then::Now,
            false => Then::Nothing,
        };
        let mut actions = self.app.tick(now);
        if self.escape.take_if(|at| *at <= now).is_some() {
            then = Then::Now;
            for key in self.input.timeout() {
                actions.extend(self.app.press_read(key, Arrival::Alone, now));
            }
        }
        match self.perform(actions).await {
            Some(exit) => exit,
            None => then,
        }
    }

    /// What has been typed and not been read.
    fn read_typed(&mut self) -> Vec<u8> {
        let mut buffer = [0; 4096];
        let count = self.terminal.read_now(&mut buffer);
        buffer.get(..count).unwrap_or_default().to_vec()
    }

    async fn perform(&mut self, actions: Vec<Action>) -> Option<Then> {
        for action in actions {
            match action {
                Action::Send(command) => {
                    if command == Command::Quit {
                        self.leaving.get_or_insert((Instant::now() + FAREWELL, 0));
                    }
                    let _ = self.commands.send(command);
                }
                Action::ListFiles => {
                    let cwd = self.options.cwd.clone();
                    self.look_for(move || Found::Files(files::list(&cwd)));
                }
                Action::ListSessions => {
                    let (folder, cwd) = (self.options.sessions.clone(), self.options.cwd.clone());
                    self.look_for(move || Found::Sessions(sessions(&folder, &cwd)));
                }
                Action::ListModels => {
                    let (config, found) = (self.options.config.clone(), self.found.0.clone());
                    tokio::spawn(async move {
                        let models = models::offered(&config).await;
                        let _ = found.send(Found::Models(models));
                    });
                }
                // Here they are chosen from a list.
                Action::ListPrompts(_) => {}
                Action::CycleModel => {
                    let (config, found) = (self.options.config.clone(), self.found.0.clone());
                    tokio::spawn(async move {
                        let models = models::offered(&config).await;
                        let _ = found.send(Found::NextModel(models));
                    });
                }
                Action::FindSession(name) => {
                    let (folder, cwd) = (self.options.sessions.clone(), self.options.cwd.clone());
                    self.look_for(move || {
                        let found = session::find(&folder, &cwd, &name);
                        Found::Session(found.map_err(|error| error.to_string()))
                    });
                }
                Action::Edit(path) => self.edit(&path).await,
                Action::Suspend => {
                    self.suspend();
                }
                Action::Redraw => self.painter.disturbed(),
                Action::Quit => {
                    let code = self.leaving.map_or(0, |(_, code)| code);
                    return Some(Then::Exit(code));
                }
            }
        }
        None
    }

    /// Off the thread that draws: a file system may hang.
    fn look_for(&self, search: impl FnOnce() -> Found + Send + 'static) {
        let found = self.found.0.clone();
        tokio::task::spawn_blocking(move || found.send(search()));
    }

    fn found(&mut self, found: Found) {
        match found {
            Found::Files(files) => self.app.files(files),
            Found::Sessions(sessions) => self.app.sessions(sessions),
            Found::Models(models) => self.app.models(models),
            Found::NextModel(models) => {
                if let Some(name) = self.app.next_model(models) {
                    let _ = self.commands.send(Command::SetModel(name));
                }
            }
            Found::Branch(branch) => self.app.branch(branch),
            Found::Session(Ok(path)) => {
                let _ = self.commands.send(Command::Resume(path));
            }
            Found::Session(Err(why)) => self.app.complain(why),
        }
    }

    async fn draw(&mut self) {
        // What was typed before a question is on the screen is not an answer to it.
        if self.app.asks() {
            let bytes = self.read_typed();
            let now = Instant::now();
            let keys = self.input.feed(&bytes);
            let arrival = Arrival::of_read(keys.len());
            for key in keys {
                let actions = self.app.press_read(key, arrival, now);
                // Nothing that leaves can come of a key here but by way of the host.
                let _ = Box::pin(self.perform(actions)).await;
            }
        }
        let size = self.terminal.size();
        self.app.resize(size.columns);
        let finished = self.app.take_finished();
        let now = Instant::now();
        let bytes = self
            .painter
            .draw(&finished, &self.app.live(size, now), size);
        if !bytes.is_empty() {
            // A terminal that is gone is noticed by reading.
            let _ = self.terminal.write(&bytes);
        }
        self.app.drawn(Instant::now());
        self.drawn = now;
        self.dirty = false;
    }

    fn suspend(&mut self) -> Then {
        let last = self.painter.leave(self.terminal.size());
        self.terminal.leave(&last);
        stop_ourselves();
        self.take_again()
    }

    fn take_again(&mut self) -> Then {
        self.painter.disturbed();
        match self.terminal.enter() {
            Ok(()) => Then::Now,
            Err(_gone) => Then::Exit(129),
        }
    }

    /// The person's own editor has the terminal meanwhile.
    async fn edit(&mut self, path: &Path) {
        let last = self.painter.leave(self.terminal.size());
        self.terminal.leave(&last);
        let path = path.to_owned();
        let editing = tokio::task::spawn_blocking(move || edit(&path));
        tokio::pin!(editing);
        let edited = loop {
            tokio::select! {
                edited = &mut editing => break edited.unwrap_or_else(|_| Err("it failed".into())),
                // The editor was stopped with its key: the shell gets the terminal.
                _ = self.signals.stop.recv() => stop_ourselves(),
            }
        };
        let keep = edited.is_ok();
        if let Err(why) = edited {
            self.app.complain(format!("not edited: {why}"));
        }
        let _ = self.commands.send(Command::Edited { keep });
        self.take_again();
    }

    async fn wait_for_end(&mut self) {
        let end = async {
            while let Some(update) = self.updates.recv().await {
                if update == Update::Ended {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(FAREWELL, end).await;
    }
}

/// What a person waits for comes once, and is drawn without waiting for the next frame; what streams
/// in and what is only a step on the way is not.
fn is_awaited(update: &Update) -> bool {
    match update {
        Update::Handoff { .. }
        | Update::TurnEnded(_)
        | Update::ApprovalWanted { .. }
        | Update::Prompts(_)
        | Update::ShellDone { .. }
        | Update::Error(_) => true,
        Update::Started(_)
        | Update::Rebuilt(_)
        | Update::UserMessage(_)
        | Update::Delta(_)
        | Update::Assistant(_)
        | Update::ToolStarted(_)
        | Update::ToolOutput { .. }
        | Update::ToolDone(_)
        | Update::Queued { .. }
        | Update::Returned(_)
        | Update::Usage { .. }
        | Update::State(_)
        | Update::HandoffText(_)
        | Update::EditWanted(_)
        | Update::Title(_)
        | Update::Model { .. }
        | Update::Todos(_)
        | Update::Notice(_)
        | Update::Ended => false,
    }
}

/// Never, if nothing is due.
async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

pub(super) fn edit(path: &Path) -> Result<(), String> {
    let set = |name| {
        std::env::var(name)
            .ok()
            .filter(|value| !value.trim().is_empty())
    };
    let editor = set("VISUAL")
        .or(set("EDITOR"))
        .unwrap_or_else(|| "vi".to_owned());
    // An editor may be a command with arguments.
    let status = std::process::Command::new("sh")
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(path)
        .status()
        .map_err(|error| error.to_string())?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{editor} ended with {status}")),
    }
}

/// What the list shows of each session.
pub(super) fn sessions(folder: &Path, cwd: &Path) -> Vec<(String, PathBuf)> {
    let now = std::time::SystemTime::now();
    session::list(folder, cwd)
        .into_iter()
        .take(100)
        .map(|summary| {
            let age = now.duration_since(summary.modified).unwrap_or_default();
            let name = summary.title.or(summary.first_message);
            let name = name.unwrap_or_else(|| "(nothing said)".to_owned());
            (format!("{:>8}  {name}", ago(age)), summary.path)
        })
        .collect()
}

fn ago(age: Duration) -> String {
    let minutes = age.as_secs() / 60;
    match minutes {
        0 => "just now".to_owned(),
        1..60 => format!("{minutes} min"),
        60..2880 => format!("{} h", minutes / 60),
        _ => format!("{} days", minutes / 1440),
    }
}
