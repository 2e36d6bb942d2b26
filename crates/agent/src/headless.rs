//! One prompt without a terminal: the answer streamed, everything else beside it, an exit code
//! that tells the outcome.

use std::io::{self, BufRead, Read, Write};

use serde_json::{Value, json};
use sm_llm::{Assistant, Delta, ToolCall};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::host::{Command, HandoffOutcome, State, Update};
use crate::slash::{self, Slash};
use crate::turn::End;

pub const DONE: u8 = 0;
pub const FAILED: u8 = 1;
pub const NOT_USABLE: u8 = 2;
/// Done, but not everything was allowed.
pub const REFUSED: u8 = 3;
pub const USAGE: u8 = 64;
pub const INTERRUPTED: u8 = 130;

/// A prompt on stdin is read up to here.
const LONGEST_PROMPT: u64 = 16 << 20;
/// The beginning of what the model is told of a call that nothing allowed.
const NOT_ALLOWED: &str = "not allowed to ";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Text,
    Json,
}

/// What there is to do: a prompt, or a handoff.
pub fn order(text: &str) -> Result<Command, String> {
    match slash::parse(text) {
        None => Ok(Command::Prompt(text.to_owned())),
        Some(Slash::Handoff { focus, edit: false }) => Ok(Command::Handoff { focus, edit: false }),
        Some(Slash::Handoff { edit: true, .. }) => {
            Err("--edit needs a terminal: nobody is here who could edit".into())
        }
        Some(_) => Err("only prompts and /handoff make sense without a terminal".into()),
    }
}

/// The prompt itself, or what stands on stdin.
pub fn prompt(given: &str) -> io::Result<String> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    let mut text = String::new();
    io::stdin()
        .lock()
        .take(LONGEST_PROMPT)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// Lets a person pick one of the lines on a plain terminal.
pub fn pick(lines: &[String]) -> io::Result<Option<usize>> {
    let mut out = io::stderr().lock();
    for (number, line) in lines.iter().enumerate() {
        writeln!(out, "{:>3}  {line}", number + 1)?;
    }
    write!(out, "session (1-{}): ", lines.len())?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().take(100).read_line(&mut answer)?;
    let number: Option<usize> = answer.trim().parse().ok();
    Ok(number
        .and_then(|number| number.checked_sub(1))
        .filter(|at| *at < lines.len()))
}

/// Runs the order to its end and says how it went.
pub async fn run(
    order: Command,
    form: Form,
    commands: UnboundedSender<Command>,
    mut updates: UnboundedReceiver<Update>,
    mut out: impl Write,
) -> u8 {
    let mut telling = Telling::new(form);
    let handing = matches!(order, Command::Handoff { .. });
    let _ = commands.send(order);
    let mut begun = false;
    let mut signals = Signals::new();
    loop {
        let update = tokio::select! {
            update = updates.recv() => update,
            () = signals.next() => {
                // The second one ends it at once: the driver is dropped with the runtime.
                if telling.interrupted {
                    return INTERRUPTED;
                }
                telling.interrupted = true;
                let _ = commands.send(Command::Interrupt);
                continue;
            }
        };
        let Some(update) = update else {
            break;
        };
        match &update {
            Update::State(State::Working | State::HandingOff { .. } | State::Waiting) => {
                begun = true
            }
            Update::Handoff {
                automatic: false,
                outcome,
            } if handing => {
                begun = true;
                if matches!(
                    outcome,
                    HandoffOutcome::Nothing
                        | HandoffOutcome::NotCompacted(_)
                        | HandoffOutcome::Busy(_)
                ) {
                    telling.tell(&update, &mut out);
                    break;
                }
            }
            _ => {}
        }
        let over = begun && matches!(update, Update::State(State::Idle));
        telling.tell(&update, &mut out);
        if telling.deaf {
            let _ = commands.send(Command::Interrupt);
            telling.interrupted = true;
            telling.deaf = false;
        }
        if over {
            break;
        }
    }
    let _ = commands.send(Command::Quit);
    while let Some(update) = updates.recv().await {
        if matches!(update, Update::Ended) {
            break;
        }
    }
    telling.end(&mut out)
}

/// Ctrl+C and being asked to end.
struct Signals {
    interrupt: Option<tokio::signal::unix::Signal>,
    terminate: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
        }
    }

    async fn next(&mut self) {
        async fn one(signal: &mut Option<tokio::signal::unix::Signal>) {
            match signal {
                Some(signal) => {
                    signal.recv().await;
                }
                None => std::future::pending().await,
            }
        }
        tokio::select! {
            () = one(&mut self.interrupt) => {}
            () = one(&mut self.terminate) => {}
        }
    }
}

struct Telling {
    form: Form,
    interrupted: bool,
    /// Nobody reads what is written any more.
    deaf: bool,
    failed: Option<String>,
    refused: Vec<String>,
    /// Whether the text on stdout ends in the middle of a line.
    open: bool,
    last: String,
    session: Option<String>,
    handoffs: Vec<Value>,
    usage: Value,
}

impl Telling {
    fn new(form: Form) -> Self {
        Self {
            form,
            interrupted: false,
            deaf: false,
            failed: None,
            refused: Vec::new(),
            open: false,
            last: String::new(),
            session: None,
            handoffs: Vec::new(),
            usage: Value::Null,
        }
    }

    fn tell(&mut self, update: &Update, out: &mut impl Write) {
        match update {
            Update::Started(view) | Update::Rebuilt(view) => {
                self.session = view.path.as_ref().map(|path| path.display().to_string());
                if let Some(session) = &self.session {
                    let line = json!({"type": "session", "path": session, "id": view.id, "model": view.model});
                    self.line(line, out);
                }
            }
            Update::Delta(Delta::Text(text)) => match self.form {
                Form::Text => self.write(text, out),
                Form::Json => self.line(json!({"type": "text", "text": text}), out),
            },
            Update::Delta(Delta::Attempt {
                number,
                wait,
                cause,
            }) => {
                let wait = wait.as_secs_f64();
                self.line(
                    json!({"type": "attempt", "number": number, "wait": wait, "cause": cause}),
                    out,
                );
                self.aside(&format!("attempt {number} in {wait:.1} s: {cause}"));
            }
            Update::Delta(
                Delta::Started
                | Delta::Thinking(_)
                | Delta::ToolStarted { .. }
                | Delta::ToolArguments(_),
            ) => {}
            Update::Assistant(answer) => self.answer(answer, out),
            Update::ToolStarted(call) => {
                self.line(json!({"type": "tool", "id": call.id, "name": call.name, "arguments": call.arguments}), out);
                self.aside(&summary(call));
            }
            Update::ToolDone(result) => {
                let text = Assistant::text(&Assistant {
                    content: result.content.clone(),
                    ..empty()
                });
                if result.is_error && text.starts_with(NOT_ALLOWED) {
                    self.refused.push(text.clone());
                    self.aside(&text);
                }
                self.line(json!({"type": "tool_result", "id": result.tool_call_id, "name": result.tool_name, "is_error": result.is_error, "text": text}), out);
            }
            Update::Usage {
                tokens,
                window,
                cost,
            } => {
                self.usage = json!({"tokens": tokens, "window": window, "cost": cost});
            }
            Update::State(State::HandingOff { attempt: 1, .. }) => {
                if let Update::State(state) = update {
                    self.aside(state.loader().unwrap_or_default());
                }
            }
            Update::Handoff { automatic, outcome } => self.handoff(*automatic, outcome, out),
            Update::TurnEnded(End::Failed(why)) => self.failed = Some(why.clone()),
            Update::TurnEnded(End::Interrupted) => self.interrupted = true,
            Update::TurnEnded(End::Done) => self.failed = None,
            Update::Notice(text) => {
                self.line(json!({"type": "notice", "text": text}), out);
                self.aside(text);
            }
            Update::Error(text) => {
                self.line(json!({"type": "error", "text": text}), out);
                self.aside(&format!("error: {text}"));
            }
            Update::UserMessage(_)
            | Update::ToolOutput { .. }
            | Update::ApprovalWanted { .. }
            | Update::Queued { .. }
            | Update::Returned(_)
            | Update::State(_)
            | Update::HandoffText(_)
            | Update::EditWanted(_)
            | Update::Title(_)
            | Update::Model { .. }
            | Update::Todos(_)
            | Update::Prompts(_)
            | Update::ShellDone { .. }
            | Update::Ended => {}
        }
    }

    fn answer(&mut self, answer: &Assistant, out: &mut impl Write) {
        let text = answer.text();
        if !text.is_empty() {
            self.last = text;
        }
        if self.form == Form::Text && self.open {
            self.write("\n", out);
        }
    }

    fn handoff(&mut self, automatic: bool, outcome: &HandoffOutcome, out: &mut impl Write) {
        let said = outcome.text(automatic);
        match outcome {
            HandoffOutcome::Done {
                document,
                saved_path,
                session,
            } => {
                let line = json!({
                    "document": document,
                    "saved_path": saved_path,
                    "session": session,
                    "automatic": automatic,
                });
                if !automatic {
                    self.last.clone_from(document);
                    if self.form == Form::Text {
                        self.write(&format!("{}\n", document.trim_end()), out);
                    }
                }
                self.handoffs.push(line);
            }
            HandoffOutcome::Compacted => {}
            HandoffOutcome::Cancelled if !automatic => self.interrupted = true,
            HandoffOutcome::Cancelled => {}
            HandoffOutcome::Empty
            | HandoffOutcome::NotCompacted(_)
            | HandoffOutcome::Failed(_)
            | HandoffOutcome::Nothing
            | HandoffOutcome::Busy(_) => {
                // One that comes by itself is no part of what was asked for.
                if !automatic {
                    self.failed = Some(said.clone());
                }
            }
        }
        self.line(json!({"type": "handoff", "automatic": automatic, "outcome": name(outcome), "text": said}), out);
        self.aside(&said);
    }

    /// The result, and the exit code.
    fn end(&mut self, out: &mut impl Write) -> u8 {
        let (code, outcome) = if self.interrupted {
            (INTERRUPTED, "interrupted")
        } else if self.failed.is_some() {
            (FAILED, "failed")
        } else if !self.refused.is_empty() {
            (REFUSED, "refused")
        } else {
            (DONE, "done")
        };
        let result = json!({
            "type": "result",
            "outcome": outcome,
            "text": self.last,
            "error": self.failed,
            "refused": self.refused,
            "session": self.session,
            "usage": self.usage,
            "handoffs": self.handoffs,
        });
        self.line(result, out);
        if code == REFUSED {
            self.aside("not everything was allowed: see above, and --allow or --yes");
        }
        code
    }

    fn write(&mut self, text: &str, out: &mut impl Write) {
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        self.deaf |= written.is_err() && !self.interrupted;
        self.open = !text.ends_with('\n');
    }

    fn line(&mut self, line: Value, out: &mut impl Write) {
        match self.form {
            Form::Json => self.write(&format!("{line}\n"), out),
            Form::Text => {}
        }
    }

    /// For a person who looks on; never into the answer itself.
    fn aside(&self, text: &str) {
        match self.form {
            Form::Text => {
                let _ = writeln!(io::stderr(), "{text}");
            }
            Form::Json => {}
        }
    }
}

fn name(outcome: &HandoffOutcome) -> &'static str {
    match outcome {
        HandoffOutcome::Done { .. } => "done",
        HandoffOutcome::Cancelled => "cancelled",
        HandoffOutcome::Empty => "empty",
        HandoffOutcome::Failed(_) => "failed",
        HandoffOutcome::Nothing => "nothing",
        HandoffOutcome::Compacted => "compacted",
        HandoffOutcome::NotCompacted(_) => "not_compacted",
        HandoffOutcome::Busy(_) => "busy",
    }
}

/// "bash cargo test", on one line.
fn summary(call: &ToolCall) -> String {
    const MOST: usize = 120;
    let about = ["command", "path", "pattern"]
        .iter()
        .find_map(|name| call.arguments.get(*name)?.as_str())
        .unwrap_or_default();
    let line = format!("· {} {}", call.name, about.replace('\n', " "));
    line.trim_end().chars().take(MOST).collect()
}

fn empty() -> Assistant {
    Assistant {
        content: Vec::new(),
        api: String::new(),
        provider: String::new(),
        model: String::new(),
        usage: sm_llm::Usage::default(),
        stop_reason: sm_llm::StopReason::Stop,
        error_message: None,
        response_id: None,
        timestamp: 0,
    }
}
