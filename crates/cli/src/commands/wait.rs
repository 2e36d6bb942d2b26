//! `sm wait`.

use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use sm_daemon::api::types::{LimitView, SessionView};

use crate::client::{Daemon, WAIT_SLICE, Waited};
use crate::commands::send::seconds;
use crate::error::{CommandError, Result};
use crate::print::{self, Printer};
use crate::text::one_line;

/// So long nothing is said of a session that waits for a person.
const LOOK: Duration = Duration::from_secs(2);
/// How long one of several states is waited for.
const TURN: Duration = Duration::from_millis(250);

/// Waits until a session is in a state; not in time: exit code 3.
///
/// Idle means that its turn has ended and what it said last can be read: `sm wait S --for idle && sm
/// output S` shows it. To send a message and get the reply: `sm ask S …`.
#[derive(Debug, Args)]
pub struct Wait {
    /// The session.
    session: String,
    /// The state; several, separated by commas: any of them.
    #[arg(
        long = "for",
        value_enum,
        value_delimiter = ',',
        default_value = "idle"
    )]
    states: Vec<State>,
    /// How long, in seconds.
    #[arg(long, short, value_name = "SECONDS", default_value = "600", value_parser = seconds)]
    timeout: Duration,
    /// The session as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum State {
    /// It is being started.
    Starting,
    /// It is in a turn.
    Working,
    /// Its turn has ended.
    Idle,
    /// It waits for a person.
    Waiting,
    /// It summarises its context.
    Compacting,
    /// A handoff is under way.
    #[value(name = "handing_off", alias = "handing-off")]
    HandingOff,
    /// Its provider answers nothing for a while.
    Limited,
    /// Its program has ended.
    Exited,
    /// Its terminal is gone.
    Lost,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Working => "working",
            Self::Idle => "idle",
            Self::Waiting => "waiting",
            Self::Compacting => "compacting",
            Self::HandingOff => "handing_off",
            Self::Limited => "limited",
            Self::Exited => "exited",
            Self::Lost => "lost",
        }
    }
}

/// What a person has to do first.
pub fn waits_for_you(session: &SessionView) -> String {
    if let Some(limit) = session
        .limit
        .as_ref()
        .filter(|_| session.state == "limited")
    {
        return stands_still(session, limit);
    }
    let why = match session.state_reason.is_empty() {
        true => String::new(),
        false => format!(" ({})", one_line(&session.state_reason)),
    };
    let name = one_line(&session.name);
    format!("{name} waits for an answer{why}: sm attach {name}")
}

/// Until when a session does nothing, and who brings it back to work.
pub fn stands_still(session: &SessionView, limit: &LimitView) -> String {
    let name = one_line(&session.name);
    let then = match &limit.prompt {
        Some(prompt) => format!(
            "it goes on by itself then; to cancel that: sm queue rm {name} {}",
            one_line(prompt)
        ),
        None if limit.continues_itself => "it says that it goes on by itself then".to_owned(),
        None => format!("tell it to go on then: sm send {name} \"continue\""),
    };
    let guess = match limit.source.as_str() {
        "assumed" => " (a guess)",
        _ => "",
    };
    format!(
        "{name} stands still until {}{guess}, for a limit of its provider ({}): {then}",
        one_line(&limit.until),
        one_line(&limit.text)
    )
}

/// The same, and how to wait for it.
fn waits_instead(session: &SessionView) -> String {
    let answer = waits_for_you(session);
    let state = one_line(&session.state);
    format!("{answer}; to be told of that: --for idle,{state}")
}

impl Wait {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?.within(self.timeout);
        let deadline = Instant::now() + self.timeout;
        // By id from here on: a name may move to another session meanwhile.
        let first = daemon.session(&self.session)?.value;
        let id = first.id.clone();
        let words: Vec<&str> = self.states.iter().map(|state| state.word()).collect();
        let states = words.join(" or ");
        let longest = match words.as_slice() {
            // Now and then it is looked whether it waits for a person instead.
            [_] if !words.contains(&"waiting") => WAIT_SLICE.min(LOOK),
            [_] => WAIT_SLICE,
            // The daemon waits for one state: they take turns.
            _ => TURN,
        };
        let is_stuck = |one: &SessionView| {
            matches!(one.state.as_str(), "waiting" | "limited")
                && !words.contains(&one.state.as_str())
        };
        let mut told = is_stuck(&first);
        if told {
            print::note(&waits_instead(&first));
        }
        for word in words.iter().cycle() {
            let left = deadline.saturating_duration_since(Instant::now());
            let last = match daemon.wait(&id, word, left.min(longest))? {
                Waited::Reached(session) if self.json => return out.json(&session.json),
                Waited::Reached(session) => {
                    let session = session.value;
                    return out.line(&format!(
                        "{} is {}",
                        one_line(&session.name),
                        one_line(&session.state)
                    ));
                }
                Waited::NotYet(session) => session,
            };
            if let Some(session) = last.as_ref().filter(|one| crate::attach::has_ended(one)) {
                if words.contains(&session.state.as_str()) {
                    continue; // one of the others: its turn comes
                }
                return Err(CommandError::refused(format!(
                    "{} is {} and will not be {states} by itself",
                    one_line(&session.name),
                    one_line(&session.state)
                ))
                .hint(format!("sm restore {}", one_line(&daemon.called(session)))));
            }
            // Nothing else will happen until a person has answered.
            let stuck = last.as_ref().filter(|one| is_stuck(one));
            if let Some(session) = stuck.filter(|_| !told && left > longest) {
                print::note(&waits_instead(session));
                told = true;
            }
            if left <= longest {
                let answer = stuck.map(waits_instead);
                let now = last.map_or_else(String::new, |session| {
                    let state = one_line(&session.state);
                    match words.contains(&session.state.as_str()) {
                        true => format!(": it is {state}, but not done: a message is about to begin its next turn, or what it said last cannot be read yet"),
                        false => format!(": it is {state}"),
                    }
                });
                return Err(CommandError::not_in_time(format!(
                    "{} was not {states} within {} s{now}",
                    one_line(&self.session),
                    self.timeout.as_secs_f64()
                ))
                .hint(answer.unwrap_or_else(|| "wait longer with --timeout SECONDS".to_owned())));
            }
        }
        Ok(())
    }
}
