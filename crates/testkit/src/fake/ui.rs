//! The screen's thread: keys to composer and jobs, news to rows. It never waits for a hook.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use super::agent::Agent;
use super::composer::{Composer, Mode, Submitted};
use super::files::Paths;
use super::keys::{Decoder, Key};
use super::messages::{Input, Job, Msg, Origin, Shared, Status};
use super::options::{Beginning, Knobs, Options};
use super::painter::Painter;
use super::settings::Settings;
use super::terminal::{self, Terminal};
use super::view::View;
use super::{VERSION, composer};

/// How long a lone Escape waits for the rest of a sequence.
const ESCAPE_WAIT: Duration = Duration::from_millis(15);
/// How often the screen moves while the agent works.
const TICK: Duration = Duration::from_millis(200);
/// Within this time a second Ctrl-C leaves.
const ARMED: Duration = Duration::from_secs(2);
const SPINNER: [char; 2] = ['⠂', '⠐'];

/// Runs the program with this command line until it ends.
pub fn run(args: impl IntoIterator<Item = String>) -> ExitCode {
    match start(Options::parse(args)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn start(options: Options) -> Result<u8, String> {
    if options.print_version {
        println!("{VERSION} (Claude Code)");
        return Ok(0);
    }
    let knobs = Knobs::parse(&std::env::var("FAKE_AGENT").unwrap_or_default())?;
    let paths = Paths::from_env().map_err(|e| e.to_string())?;
    let settings = Settings::load(&options.settings, &paths.config, &paths.cwd)?;
    match &options.beginning {
        Beginning::Fresh { id: Some(id) } if paths.transcript(id).exists() => {
            return Err(format!("Error: Session ID {id} is already in use."));
        }
        Beginning::Resume { id } if !paths.transcript(id).exists() => {
            return Err(format!("No conversation found with session ID: {id}"));
        }
        Beginning::Fresh { .. } | Beginning::Resume { .. } => {}
    }
    let fresh = matches!(options.beginning, Beginning::Fresh { .. });
    if knobs.die_on_argument && fresh && options.prompt.is_some() {
        return Err("this agent takes no prompt as its argument".to_owned());
    }
    let terminal = Terminal::enter().map_err(|e| e.to_string())?;
    let (news, inbox) = mpsc::channel();
    let (decide, decisions) = mpsc::channel();
    terminal::listen(&news, knobs.deaf).map_err(|e| e.to_string())?;
    let shared = Arc::new(Shared::default());
    shared.push(Job::Begin);
    if let Some(text) = options.prompt.clone() {
        shared.push(command(&text).unwrap_or(Job::Turn(vec![Input {
            text,
            origin: Origin::Typed,
        }])));
    }
    let mut screen = Screen::new(knobs.clone(), Arc::clone(&shared), decide);
    let agent = Agent::new(options, knobs, settings, paths, shared, news, decisions);
    thread::spawn(move || agent.run());
    let code = screen.run(&inbox);
    drop(terminal);
    Ok(u8::try_from(code).unwrap_or(1))
}

/// A line that is a command of the program's own. A path is not.
fn command(text: &str) -> Option<Job> {
    let line = text.trim();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let word = name.strip_prefix('/')?;
    match word {
        "clear" | "new" | "reset" => Some(Job::Clear),
        "compact" => Some(Job::Compact {
            instructions: rest.trim().to_owned(),
        }),
        "resume" => Some(Job::Resume {
            id: rest.trim().to_owned(),
        }),
        "exit" | "quit" => Some(Job::Exit {
            code: 0,
            reason: "prompt_input_exit",
        }),
        _ if word.is_empty() || word.contains('/') => None,
        _ => Some(Job::Unknown {
            command: line.to_owned(),
        }),
    }
}

struct Screen {
    knobs: Knobs,
    shared: Arc<Shared>,
    decide: Sender<bool>,
    decoder: Decoder,
    composer: Composer,
    painter: Painter,
    status: Status,
    since: Instant,
    tick: usize,
    status_line: String,
    swallow: u32,
    armed: Option<(Key, Instant)>,
    title: String,
    leaving: bool,
}

impl Screen {
    fn new(knobs: Knobs, shared: Arc<Shared>, decide: Sender<bool>) -> Self {
        Self {
            swallow: knobs.swallow_enter,
            knobs,
            shared,
            decide,
            decoder: Decoder::default(),
            composer: Composer::default(),
            painter: Painter::default(),
            status: Status::Idle,
            since: Instant::now(),
            tick: 0,
            status_line: String::new(),
            armed: None,
            title: String::new(),
            leaving: false,
        }
    }

    fn run(&mut self, inbox: &Receiver<Msg>) -> i32 {
        let (cols, _) = terminal::size();
        let head = format!("╭─── Claude Code v{VERSION} ");
        let rest = cols.saturating_sub(head.chars().count() + 1);
        self.paint(&[format!("{head}{}╮", "─".repeat(rest)), String::new()]);
        loop {
            let news = match self.patience() {
                None => inbox.recv().ok(),
                Some(wait) => match inbox.recv_timeout(wait) {
                    Ok(news) => Some(news),
                    Err(RecvTimeoutError::Timeout) => {
                        self.time_passed();
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => None,
                },
            };
            // what has piled up is handled before drawing
            let mut lines = Vec::new();
            let mut next = news;
            loop {
                match next {
                    None => return 1,
                    Some(Msg::Exited { code }) => {
                        terminal::write(&self.painter.leave(&lines));
                        return code;
                    }
                    Some(Msg::Lines(more)) => lines.extend(more),
                    Some(other) => self.hear(other),
                }
                match inbox.try_recv() {
                    Ok(more) => next = Some(more),
                    Err(_) => break,
                }
            }
            self.paint(&lines);
        }
    }

    /// How long to wait for news; idle, for ever.
    fn patience(&self) -> Option<Duration> {
        if self.decoder.is_undecided() {
            return Some(ESCAPE_WAIT);
        }
        match self.status {
            Status::Busy { .. } => Some(TICK),
            Status::Idle | Status::Waiting { .. } => None,
        }
    }

    fn time_passed(&mut self) {
        if let Some(key) = self.decoder.decide() {
            self.key(key);
        } else {
            self.tick += 1;
        }
        self.paint(&[]);
    }

    fn hear(&mut self, news: Msg) {
        match news {
            Msg::Bytes(bytes) => {
                for key in self.decoder.feed(&bytes) {
                    self.key(key);
                }
            }
            Msg::Leave { code } => self.leave(code, "other"),
            Msg::Resized => {
                let frame = self.view(&self.shared.waiting()).frame();
                terminal::write(&self.painter.repaint(frame, terminal::size().0));
            }
            Msg::Status(status) => {
                let was_busy = matches!(self.status, Status::Busy { .. } | Status::Waiting { .. });
                if !was_busy {
                    self.since = Instant::now();
                }
                self.status = status;
            }
            Msg::StatusLine(line) => self.status_line = line,
            Msg::Mail(input) => self.shared.push(Job::Turn(vec![input])),
            Msg::Restore(text) => self.composer.paste(&text),
            Msg::Cleared => self.swallow += self.knobs.swallow_enter_after_clear,
            Msg::Lines(_) | Msg::Exited { .. } => {} // taken by the loop
        }
    }

    fn key(&mut self, key: Key) {
        if let Status::Waiting { .. } = self.status {
            return self.dialog_key(&key);
        }
        let armed = self
            .armed
            .take()
            .filter(|(_, at)| at.elapsed() < ARMED)
            .map(|(key, _)| key);
        match key {
            Key::Char(character) => self.composer.type_char(character),
            Key::Newline => self.composer.type_char('\n'),
            Key::Paste(text) => self.composer.paste(&text),
            Key::Backspace => self.composer.backspace(),
            Key::Enter => self.enter(),
            Key::Ctrl('s') => self.composer.stash(),
            Key::Ctrl('u') => self.composer.kill_line(),
            Key::Escape if matches!(self.status, Status::Busy { .. }) => self.shared.interrupt(),
            Key::Escape if armed == Some(Key::Escape) => self.composer.clear(),
            Key::Escape => self.armed = Some((Key::Escape, Instant::now())),
            Key::Ctrl('c') if !self.composer.is_empty() => self.composer.clear(),
            Key::Ctrl('c') if matches!(self.status, Status::Busy { .. }) => self.shared.interrupt(),
            Key::Ctrl('c' | 'd') if armed.as_ref() == Some(&key) => {
                self.leave(0, "prompt_input_exit")
            }
            Key::Ctrl('c' | 'd') => self.armed = Some((key, Instant::now())),
            Key::Up | Key::Ctrl(_) | Key::Other => {}
        }
    }

    /// Letters are ignored, Enter takes the first choice: blind typing approves.
    fn dialog_key(&mut self, key: &Key) {
        let decision = match key {
            Key::Enter | Key::Char('1' | '2' | 'y') => true,
            Key::Escape | Key::Char('3' | 'n') | Key::Ctrl('c') => false,
            Key::Char(_)
            | Key::Paste(_)
            | Key::Newline
            | Key::Backspace
            | Key::Up
            | Key::Ctrl(_)
            | Key::Other => return,
        };
        let _ = self.decide.send(decision);
        // until the agent's own news comes, no second key may answer again
        self.status = Status::Busy { doing: "Working" };
    }

    fn enter(&mut self) {
        if self.composer.is_empty() {
            return;
        }
        if self.swallow > 0 {
            self.swallow -= 1;
            return;
        }
        let Submitted { mode, text } = self.composer.submit();
        if text.trim().is_empty() {
            return;
        }
        let origin = if self.status == Status::Idle {
            Origin::Typed
        } else {
            Origin::Queued
        };
        let job = match mode {
            composer::Mode::Shell => Job::Shell(text),
            Mode::Prompt => command(&text).unwrap_or(Job::Turn(vec![Input { text, origin }])),
        };
        self.shared.push(job);
    }

    fn leave(&mut self, code: i32, reason: &'static str) {
        if !std::mem::replace(&mut self.leaving, true) {
            self.shared.push_first(Job::Exit { code, reason });
            self.shared.interrupt();
            let _ = self.decide.send(false);
        }
    }

    fn view<'a>(&'a self, queued: &'a [String]) -> View<'a> {
        let (cols, rows) = terminal::size();
        let notice = match &self.armed {
            Some((Key::Ctrl(_), _)) => "Press Ctrl-C again to exit",
            _ => "",
        };
        View {
            cols,
            rows,
            status: &self.status,
            composer: &self.composer,
            queued,
            status_line: &self.status_line,
            notice,
            seconds: self.since.elapsed().as_secs(),
            tick: self.tick,
        }
    }

    fn paint(&mut self, lines: &[String]) {
        let busy = matches!(self.status, Status::Busy { .. });
        let queued = if busy {
            self.shared.waiting()
        } else {
            Vec::new()
        };
        let frame = self.view(&queued).frame();
        let (cols, _) = terminal::size();
        let mut out = self.painter.paint(lines, frame, cols);
        let mark = if busy {
            SPINNER[self.tick / 4 % 2]
        } else {
            '✳'
        };
        let title = format!("{mark} Claude Code");
        if title != self.title && !self.knobs.no_title {
            out.push_str(&format!("\x1b]0;{title}\x07"));
            self.title = title;
        }
        terminal::write(&out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_words_after_a_slash_are_commands() {
        for (text, job) in [
            ("/clear", Some(Job::Clear)),
            ("/clear ", Some(Job::Clear)),
            (
                "/compact keep x",
                Some(Job::Compact {
                    instructions: "keep x".into(),
                }),
            ),
            (
                "/nosuch a",
                Some(Job::Unknown {
                    command: "/nosuch a".into(),
                }),
            ),
            ("/tmp/path is a path", None),
            ("half-typed draft /clear", None),
            ("# heading", None),
            ("/", None),
        ] {
            assert_eq!(command(text), job, "{text}");
        }
    }
}
