//! What the API shows of a session, a message and an event.

use crate::actor::Published;
use crate::api::types::{
    ContextView, EventView, FailedHandoffView, LimitView, MessageView, OpenHandoffView, QueueView,
    RunView, SenderView, SessionView, TmuxView, WaitingView,
};
use crate::clock::rfc3339;
use sm_client::Paths;
use sm_core::limit::LimitPhase;
use sm_core::signal::{PersonNeed, UsageSource};
use sm_core::{
    Handoff, HandoffState, Hold, Limited, Message, MessageMeta, MessageState, Mode, PersonWait,
    Record, ResetSource, Sender, Session, SessionId, State, Timestamp, Way,
};
use sm_store::EventRow;
use std::path::Path;

/// Made when somebody asks: most steps of a session are never looked at.
pub fn session(published: &Published, tmux_socket: &str, paths: &Paths) -> SessionView {
    let Published { record, extra, .. } = published;
    SessionView {
        id: record.id.to_string(),
        name: record.name.to_string(),
        agent: record.agent.as_str().to_string(),
        state: record.word().to_string(),
        state_reason: record.why.clone(),
        state_since: rfc3339(record.word_since()),
        waiting_for: waiting_for(record),
        limit: record.limit.as_deref().map(limit),
        turn_error: record.turn_error.clone(),
        goal: extra.goal.as_ref().map(|goal| goal.text.clone()),
        activity: activity(record),
        generation: record.generation.0,
        compactions: record.compactions,
        conversation_id: record.conversation.as_ref().map(ToString::to_string),
        transcript_path: record.transcript.clone(),
        cwd: record.cwd.clone(),
        parent: record.parent.as_ref().map(ToString::to_string),
        children: Vec::new(),
        context: context(published),
        tmux: extra
            .terminal
            .as_ref()
            .map_or_else(TmuxView::default, |terminal| TmuxView {
                socket: Some(tmux_socket.to_string()),
                session: Some(terminal.name.clone()),
                pane: Some(terminal.pane.clone()),
            }),
        run: extra.run.as_ref().map(|run| RunView {
            pid: run.pid,
            tty: run.tty.clone(),
            channel: run.channel.clone(),
        }),
        pid: record.process.map(|process| process.pid),
        exit_code: record.exit_code,
        last_handoff_path: match &extra.run {
            // it is put there when its context has it
            Some(run) => run.handoff.clone().filter(|path| Path::new(path).exists()),
            None => record.handoff.as_deref().and_then(handoff_path),
        },
        handoff: record.open_handoff().map(|open| OpenHandoffView {
            id: open.id.to_string(),
            state: open.state.word().to_string(),
            created_at: rfc3339(open.created_at),
            waits_for_person: open.person_wait.as_ref().map(|wait| wait.why.clone()),
        }),
        handoff_needs_person: extra.handoff_needs_person.clone(),
        failed_handoff: record.failed_handoff().map(|failed| FailedHandoffView {
            id: failed.id.to_string(),
            state: failed.state.word().to_string(),
            reason: failed.ended_because().unwrap_or_default().to_string(),
            at: rfc3339(failed.done_at.unwrap_or(failed.created_at)),
            document: failed.copy.clone(),
        }),
        tokens_used: record.usage.as_ref().and_then(|u| u.tokens).unwrap_or(0),
        log_file: log_file(&paths.session_dir(record.id.as_str())),
        turn: record.turn.0,
        created_at: rfc3339(record.created_at),
        changed_at: rfc3339(published.changed_at),
        attention: attention(published),
        queue: published.queue.clone(),
    }
}

fn waiting_for(record: &Record) -> Option<WaitingView> {
    let State::Waiting(need) = &record.state else {
        return None;
    };
    let (kind, tool) = match need {
        PersonNeed::Permission(tool) => ("permission", Some(tool)),
        PersonNeed::Question | PersonNeed::Limit => ("question", None),
        PersonNeed::FirstRun(what) => ("first_run", Some(what)),
    };
    let asked = record.calls.pending.first();
    let tool = asked.map(|call| &call.tool).or(tool);
    Some(WaitingView {
        kind: kind.to_string(),
        tool: tool.filter(|tool| !tool.is_empty()).cloned(),
        request: asked
            .map(|call| call.text.clone())
            .filter(|text| !text.is_empty()),
        more: record.calls.pending.len().saturating_sub(1),
    })
}

fn limit(limited: &Limited) -> LimitView {
    LimitView {
        kind: limited.limit.kind.word().to_string(),
        text: limited.limit.text.clone(),
        since: rfc3339(limited.since),
        until: rfc3339(limited.until),
        resets_at: limited.limit.resets_at.map(|(at, _)| rfc3339(at)),
        source: limited.source.word().to_string(),
        phase: limited.phase.word().to_string(),
        tries: limited.tries,
        prompt: limited.prompt.as_ref().map(ToString::to_string),
        continues_itself: limited.limit.continues_itself,
    }
}

fn activity(record: &Record) -> Option<String> {
    let call = match record.state {
        State::Working | State::Compacting => record.calls.latest.as_ref()?,
        State::Waiting(_) => {
            let pending = record.calls.pending.first();
            pending.or(record.calls.latest.as_ref())?
        }
        State::Starting | State::Idle | State::Exited | State::Lost => return None,
    };
    Some(match call.text.as_str() {
        "" => call.tool.clone(),
        text => format!("{}: {text}", call.tool),
    })
}

fn context(published: &Published) -> ContextView {
    let record = &published.record;
    // a turn that nobody saw begin is as old as its last sample
    let quiet_since = match record.state {
        State::Working => record.last_sample.max(record.turn_since),
        State::Starting
        | State::Idle
        | State::Waiting(_)
        | State::Compacting
        | State::Exited
        | State::Lost => None,
    };
    let known = ContextView {
        last_sample_at: record.last_sample.map(rfc3339),
        quiet_since: quiet_since.map(rfc3339),
        warning: published.warning,
        critical: published.critical,
        ..ContextView::default()
    };
    let Some(usage) = &record.usage else {
        return known;
    };
    ContextView {
        used_percentage: record.gauge.percent_of(usage).map(f64::round),
        tokens: usage.tokens,
        window: record.gauge.window(),
        source: Some(source(usage.source).to_string()),
        at: Some(rfc3339(usage.at)),
        trend: trend(record),
        ..known
    }
}

pub fn trend(record: &Record) -> Option<f64> {
    record.gauge.trend().map(|t| (t * 10.0).round() / 10.0)
}

/// The newest part of the terminal's log.
fn log_file(folder: &Path) -> Option<String> {
    let names = std::fs::read_dir(folder).ok()?.flatten().map(|entry| {
        let name = entry.file_name();
        name.to_str().map(str::to_owned)
    });
    let is_part = |name: &String| name.starts_with("terminal.") && name.ends_with(".log");
    let newest = names.flatten().filter(is_part).max()?;
    Some(folder.join(newest).to_string_lossy().into_owned())
}

pub fn source(source: UsageSource) -> &'static str {
    match source {
        UsageSource::StatusLine => "status_line",
        UsageSource::Transcript => "transcript",
        UsageSource::Hook => "hook",
        UsageSource::Api => "api",
        UsageSource::Unproven => "unproven",
    }
}

/// The path its author gave while it can be found there, else our copy.
fn handoff_path(handoff: &Handoff) -> Option<String> {
    match handoff.state {
        HandoffState::Replaced | HandoffState::Cancelled | HandoffState::Refused => None,
        HandoffState::Scheduled
        | HandoffState::Prepared
        | HandoffState::Cleared
        | HandoffState::Prompted
        | HandoffState::Done
        | HandoffState::Abandoned
        | HandoffState::RolledBack => {
            let there = Path::new(&handoff.document).exists();
            Some(match there {
                true => handoff.document.clone(),
                false => handoff.copy.clone(),
            })
        }
    }
}

pub fn queue(session: &Session) -> QueueView {
    let held = session
        .queue()
        .iter()
        .filter_map(|m| match &m.meta.state {
            // waiting for the end of a turn is the ordinary case, not a hindrance
            MessageState::Held {
                why: Hold::Working | Hold::NextHook,
            } => None,
            MessageState::Held { why } => Some(why),
            MessageState::Written { why, .. } => why.as_ref(),
            MessageState::Queued
            | MessageState::Submitted { .. }
            | MessageState::Consumed { .. }
            | MessageState::Expired
            | MessageState::Withdrawn
            | MessageState::Failed { .. } => None,
        })
        .collect::<Vec<_>>();
    QueueView {
        queued: session.queue().len(),
        held: held.len(),
        held_reason: held.first().map(|why| why.explain().to_string()),
    }
}

/// What a person has to do about it, if anything.
pub fn attention(published: &Published) -> Option<String> {
    let Published { record, queue, .. } = published;
    let name = &record.name;
    match &record.state {
        State::Waiting(_) => {
            let handoff = match waits_with(record) {
                Some(_) => "; its handoff waits for that",
                None => "",
            };
            Some(format!(
                "{}; answer it: sm attach {name}{handoff}",
                record.why
            ))
        }
        State::Lost => Some(format!(
            "lost: {}; bring it back: sm restore {}",
            record.why, record.id
        )),
        State::Starting | State::Working | State::Idle | State::Compacting => {
            if let Some(failed) = record.failed_handoff() {
                return Some(handoff_failed(failed, name.as_str()));
            }
            let limit = record.limit.as_deref();
            if let Some(limited) = limit.filter(|limit| limit.phase != LimitPhase::Trying) {
                return stands_still(limited, record);
            }
            if let Some(error) = &record.turn_error {
                return Some(format!(
                    "its last turn ended in an error: {error}; mend it, then: sm send {name} \"continue\""
                ));
            }
            if let Some(waits) = waits_with(record) {
                let why = &waits.why;
                return Some(format!(
                    "its handoff waits for you: {why}; look: sm attach {name}"
                ));
            }
            let reason = queue.held_reason.as_ref()?;
            // What waits for these flows by itself afterwards.
            let passing = matches!(record.word(), "starting" | "compacting" | "handing_off")
                || reason == Hold::HandingOff.explain();
            let plural = if queue.held == 1 { "" } else { "s" };
            let said = || {
                format!(
                    "{} message{plural} held: {reason}; see: sm queue ls {name}",
                    queue.held
                )
            };
            (!passing).then(said)
        }
        State::Exited => match record.exit_code {
            Some(0) => None,
            Some(_) | None if record.ending => None,
            // its name may be another one's by now
            Some(_) | None => Some(format!(
                "{}; start it again: sm restore {1}, or forget it: sm kill {1} --purge",
                record.why, record.id
            )),
        },
    }
}

/// What its handoff waits for that only a person can take away.
fn waits_with(record: &Record) -> Option<&PersonWait> {
    record.open_handoff()?.person_wait.as_ref()
}

/// An agent that goes on by itself when its limit is over needs nobody.
fn stands_still(limited: &Limited, record: &Record) -> Option<String> {
    let name = &record.name;
    let what = limited.limit.kind.told();
    if limited.phase == LimitPhase::Over {
        return Some(format!(
            "{what}, which should be over, and it stands still since; tell it to go on: sm send {name} \"continue\""
        ));
    }
    if limited.prompt.is_some() || limited.limit.continues_itself {
        return None;
    }
    let until = rfc3339(limited.until);
    let sure = match limited.source {
        ResetSource::Agent | ResetSource::Transcript => "",
        ResetSource::Sentence => " (as its agent says it)",
        ResetSource::Assumed => " (a guess)",
    };
    Some(format!(
        "{what}, until {until}{sure}; tell it to go on then: sm send {name} \"continue\""
    ))
}

fn handoff_failed(failed: &Handoff, name: &str) -> String {
    let why = failed.ended_because().unwrap_or("nobody knows why");
    let became = match failed.state {
        HandoffState::RolledBack => "rolled back, the old conversation goes on",
        HandoffState::Scheduled
        | HandoffState::Prepared
        | HandoffState::Cleared
        | HandoffState::Prompted
        | HandoffState::Done
        | HandoffState::Replaced
        | HandoffState::Cancelled
        | HandoffState::Abandoned
        | HandoffState::Refused => failed.state.word(),
    };
    let Handoff { id, copy, .. } = failed;
    format!(
        "handoff {became}: {why}; see: sm handoffs show {id}; once more: sm handoff {copy} --session {name}"
    )
}

pub fn message(session: &SessionId, message: &Message) -> MessageView {
    message_from(session.as_str(), &message.meta, message.text.clone())
}

pub fn message_from(session: &str, meta: &MessageMeta, text: String) -> MessageView {
    let (way, proof) = match &meta.state {
        MessageState::Written { way, .. } => (Some(*way), None),
        MessageState::Submitted { way, proof } | MessageState::Consumed { way, proof } => {
            (Some(*way), Some(*proof))
        }
        MessageState::Queued
        | MessageState::Held { .. }
        | MessageState::Expired
        | MessageState::Withdrawn
        | MessageState::Failed { .. } => (None, None),
    };
    MessageView {
        id: meta.id.to_string(),
        session: session.to_string(),
        from: sender(&meta.from),
        mode: mode_word(meta.mode).to_string(),
        state: meta.state.word().to_string(),
        reason: meta.reason(),
        hold: hold_word(&meta.state),
        way: way.map(|way| way_word(way).to_string()),
        proof: proof.map(|proof| proof.word().to_string()),
        label: meta.label.clone().filter(|_| meta.state.reached_agent()),
        text,
        created_at: rfc3339(meta.created_at),
        changed_at: rfc3339(meta.changed_at),
    }
}

/// As it is journaled.
fn hold_word(state: &MessageState) -> Option<String> {
    let MessageState::Held { why } = state else {
        return None;
    };
    let word = serde_json::to_value(why).ok()?;
    word.as_str().map(str::to_owned)
}

fn sender(from: &Sender) -> SenderView {
    match from {
        Sender::Person => SenderView {
            kind: "person".into(),
            id: None,
            name: None,
        },
        Sender::Sm => SenderView {
            kind: "sm".into(),
            id: None,
            name: None,
        },
        Sender::Session { id, name } => SenderView {
            kind: "session".into(),
            id: Some(id.to_string()),
            name: Some(name.clone()),
        },
    }
}

pub fn mode_word(mode: Mode) -> &'static str {
    match mode {
        Mode::Sequential => "sequential",
        Mode::Important => "important",
        Mode::Urgent => "urgent",
    }
}

pub fn parse_mode(word: &str) -> Option<Mode> {
    [Mode::Sequential, Mode::Important, Mode::Urgent]
        .into_iter()
        .find(|mode| mode_word(*mode) == word)
}

fn way_word(way: Way) -> &'static str {
    match way {
        Way::HookAnswer => "hook_answer",
        Way::StopAnswer => "stop_answer",
        Way::Mailbox => "mailbox",
        Way::Paste => "paste",
        Way::LaunchArgument => "launch_argument",
    }
}

pub fn event(row: &EventRow) -> EventView {
    EventView {
        seq: row.seq,
        at: rfc3339(Timestamp(row.at)),
        session: row.session.clone(),
        generation: row.generation,
        turn: row.turn,
        kind: row.kind.clone(),
        text: row.text.clone(),
    }
}
