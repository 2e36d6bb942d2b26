//! The same agent line by line: nothing is ever drawn again, no sequence is sent.
//!
//! For screen readers, for terminals that cannot do more, and where input or output is no terminal.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use crate::host::{Answer, Command, HandoffOutcome, State, Update};

use super::app::{Action, App};
use super::look::Look;
use super::run::{Options, sessions};
use crate::models;

/// Lines are broken by the terminal, or not at all.
const COLUMNS: usize = 1_000;
const ANSWERS: &str = "y: yes, n: no, a: always, or what to do instead";
const FAREWELL: Duration = Duration::from_secs(8);

/// A line that was typed, and when.
struct Typed(String, Instant);

pub(super) async fn run(
    commands: UnboundedSender<Command>,
    mut updates: UnboundedReceiver<Update>,
    mut app: App,
    options: &Options,
) -> ExitCode {
    app.resize(COLUMNS);
    let mut lines = read_lines();
    let (Ok(mut interrupt), Ok(mut terminate)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) else {
        return ExitCode::FAILURE;
    };
    let mut plain = Plain {
        look: options.look,
        commands,
        state: State::Idle,
        prompted: false,
        asked: None,
        choices: Vec::new(),
        leaving: None,
        input: InputState::Open,
        busy: false,
    };
    loop {
        let deadline = plain.leaving.map(|by: Instant| by.into());
        tokio::select! {
            line = lines.recv(), if plain.input == InputState::Open => match line {
                Some(typed) => plain.typed(typed, &mut app, options),
                None => plain.input_ended(),
            },
            update = updates.recv() => match update {
                None | Some(Update::Ended) => break,
                Some(update) => plain.told(update, &mut app, options),
            },
            _ = interrupt.recv() => match plain.state {
                State::Idle => plain.leave(),
                State::HandingOff { .. } => plain.send(Command::CancelHandoff),
                State::Working | State::Waiting => plain.send(Command::Interrupt),
            },
            _ = terminate.recv() => plain.leave(),
            () = tokio::time::sleep_until(deadline.unwrap_or_else(tokio::time::Instant::now)), if deadline.is_some() => break,
        }
        plain.print(&mut app);
    }
    app.farewell();
    plain.leaving = Some(Instant::now());
    plain.print(&mut app);
    ExitCode::SUCCESS
}

/// Whether somebody can still type something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputState {
    Open,
    /// What was asked for is finished, then we leave.
    Ended,
}

struct Plain {
    look: Look,
    commands: UnboundedSender<Command>,
    state: State,
    /// The sign that something can be typed stands there already.
    prompted: bool,
    /// Since when a question is on the screen.
    asked: Option<Instant>,
    /// What a number means after `/resume` or `/model`.
    choices: Vec<Command>,
    leaving: Option<Instant>,
    input: InputState,
    /// Something was asked for whose end has not been told.
    busy: bool,
}

impl Plain {
    fn send(&mut self, command: Command) {
        self.busy |= matches!(
            command,
            Command::Prompt(_)
                | Command::Steer(_)
                | Command::Handoff { .. }
                | Command::Compact { .. }
                | Command::Shell(_)
        );
        let _ = self.commands.send(command);
    }

    fn input_ended(&mut self) {
        self.input = InputState::Ended;
        if !self.busy {
            self.leave();
        }
    }

    fn leave(&mut self) {
        self.send(Command::Quit);
        self.leaving.get_or_insert(Instant::now() + FAREWELL);
    }

    fn typed(&mut self, Typed(line, at): Typed, app: &mut App, options: &Options) {
        self.prompted = false;
        let line = line.trim();
        // Only what was typed after the question is an answer to it.
        if self.asked.is_some_and(|since| at > since) && app.asks() {
            if line.is_empty() {
                println!("{ANSWERS}");
                return;
            }
            let actions = app.reply_line(line);
            if !app.asks() {
                self.asked = None;
            }
            self.perform(actions, app, options);
            return;
        }
        let chosen = line
            .parse::<usize>()
            .ok()
            .and_then(|n| self.choices.get(n.wrapping_sub(1)));
        if let Some(command) = chosen.cloned() {
            self.choices.clear();
            self.send(command);
        } else if !line.is_empty() {
            let actions = app.submit(line);
            self.perform(actions, app, options);
        }
    }

    fn told(&mut self, update: Update, app: &mut App, options: &Options) {
        if let Update::State(state) = &update {
            let began = state
                .loader()
                .filter(|_| self.state.loader() != state.loader());
            self.state = *state;
            if let Some(text) = began {
                let text = text.replace("esc to cancel", "ctrl+c to cancel");
                self.say(&text.replace('…', self.look.pick("…", "...")));
            }
        }
        let asked = matches!(update, Update::ApprovalWanted { .. });
        let over = match &update {
            Update::State(State::Idle) | Update::ShellDone { .. } => true,
            Update::Handoff { outcome, .. } => {
                matches!(
                    outcome,
                    HandoffOutcome::Nothing
                        | HandoffOutcome::NotCompacted(_)
                        | HandoffOutcome::Busy(_)
                )
            }
            _ => false,
        };
        let actions = app.told(update, Instant::now());
        self.perform(actions, app, options);
        if over && self.state == State::Idle {
            self.busy = false;
            if self.input == InputState::Ended {
                self.leave();
            }
        }
        if asked && self.input == InputState::Ended {
            // Nobody is there who could allow it.
            let actions = app.answer(Answer::No(None));
            self.perform(actions, app, options);
        } else if asked {
            self.print(app);
            for line in app.question(COLUMNS) {
                self.say(&line.encode(self.look));
            }
            self.say(ANSWERS);
            self.asked = Some(Instant::now());
        }
    }

    fn perform(&mut self, actions: Vec<Action>, app: &mut App, options: &Options) {
        for action in actions {
            match action {
                Action::Send(Command::Quit) => self.leave(),
                Action::Send(command) => self.send(command),
                Action::ListSessions => {
                    let found = sessions(&options.sessions, &options.cwd);
                    let choices = found
                        .into_iter()
                        .map(|(text, path)| (text, Command::Resume(path)));
                    self.offer(choices.collect());
                    self.say("type a number to go on with that session");
                }
                Action::ListModels => {
                    self.say(&format!("model: {}", app.model()));
                    let mut names = models::written(&options.config);
                    names.retain(|name| name != app.model());
                    let choices = names
                        .into_iter()
                        .map(|name| (name.clone(), Command::SetModel(name)));
                    self.offer(choices.collect());
                    self.say("type a number to take that model, or /model and a part of its name");
                }
                Action::FindSession(name) => {
                    match crate::session::find(&options.sessions, &options.cwd, &name) {
                        Ok(path) => self.send(Command::Resume(path)),
                        Err(error) => app.complain(error.to_string()),
                    }
                }
                Action::Edit(path) => {
                    let keep = super::run::edit(&path).is_ok();
                    self.send(Command::Edited { keep });
                }
                Action::ListPrompts(prompts) => {
                    let choices = prompts
                        .into_iter()
                        .map(|(entry, text)| (text.replace('\n', " "), Command::Fork(entry)));
                    self.offer(choices.collect());
                    self.say("type a number to begin a new session there");
                }
                Action::CycleModel
                | Action::ListFiles
                | Action::Suspend
                | Action::Redraw
                | Action::Quit => {}
            }
        }
    }

    /// Things to choose from by a number.
    fn offer(&mut self, choices: Vec<(String, Command)>) {
        for (index, (text, _)) in choices.iter().enumerate() {
            self.say(&super::text::clean(&format!("{}: {text}", index + 1)));
        }
        self.choices = choices.into_iter().map(|(_, command)| command).collect();
    }

    fn print(&mut self, app: &mut App) {
        for line in app.take_finished() {
            self.say(&line.encode(self.look));
        }
        let idle = self.state == State::Idle && self.leaving.is_none();
        if idle && !self.prompted {
            print!("> ");
            let _ = io::stdout().flush();
            self.prompted = true;
        }
    }

    fn say(&mut self, text: &str) {
        if std::mem::take(&mut self.prompted) {
            println!();
        }
        println!("{text}");
    }
}

/// Lines as they are typed. The thread ends with the program: nothing can wake it.
fn read_lines() -> UnboundedReceiver<Typed> {
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if sender.send(Typed(line, Instant::now())).is_err() {
                break;
            }
        }
    });
    receiver
}
