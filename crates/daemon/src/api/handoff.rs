//! Handoffs: asked for by the agent itself or by a person from outside, and taken back.
//!
//! Refusals of a request for one are answers with `{"error": …}` and status 200, as programs that
//! were written for the first session manager expect them. Nothing is written before everything
//! that can be checked has been, and "scheduled" is said only when it is on disk.

use super::handoff_document::{
    Authorship, READ_PATIENCE, author, discard, keep, noted, read_document, write_document,
    written_by,
};
use super::types::{CancelBody, CheckBody, CheckView, HandoffAnswer, HandoffBody, When};
use super::{ApiError, Shared, generate, handoffs, read, run_handoff, sessions};
use crate::caller::{self, Caller, Connection};
use crate::clock;
use crate::config::Gate;
use crate::handoff::{self, Document, Kept, Sources, Verdict};
use crate::hub::Handle;
use crate::{archive, fault, ledger, names, origin, pins};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::{Extension, Json};
use sm_agents::kind;
use sm_client::wire;
use sm_core::{
    Author, Event, Guards, HandoffId, HandoffState, NewHandoff, Record, State as SessionState,
    Trigger,
};
use sm_ledger::gate::{self, GateFacts, Known, Report};
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

const SELF_ONLY: &str = "sm handoff is self-directed only — requester must equal target session";

pub(super) type Answer = Result<Json<HandoffAnswer>, ApiError>;

/// Of a path that is written down with a refusal.
const LONGEST_PATH: usize = 4096;

pub(super) fn refused(error: impl Into<String>) -> Answer {
    Ok(Json(HandoffAnswer {
        error: Some(error.into()),
        ..HandoffAnswer::default()
    }))
}

// ── who asks

/// Whoever asks is the session itself, by its secret or its process, or a person outside of all
/// sessions: a process of a session is none, whatever it says and has removed from its environment.
pub(super) async fn who(
    hub: &Shared,
    wanted: &str,
    requester: Option<&str>,
    person: bool,
    headers: &HeaderMap,
    connection: Option<Extension<Connection>>,
) -> Result<(Handle, Trigger), String> {
    let connection = connection.map(|Extension(connection)| connection);
    let target = read::session(hub, wanted).ok();
    match requester {
        Some(requester) => {
            let same =
                requester == wanted || target.as_ref().is_some_and(|t| t.id.as_str() == requester);
            if !same || person {
                return Err(SELF_ONLY.into());
            }
            let target = target.ok_or_else(|| unknown(wanted))?;
            if !caller::is_of(hub, &target, headers, connection).await {
                return Err(format!(
                    "this is not a process of session {wanted}: sm handoff has to be run inside it, with {} of its environment",
                    wire::SECRET_VAR
                ));
            }
            if caller::is_another_agent(&target, connection).await {
                return Err(origin::ANOTHER_AGENT.into());
            }
            Ok((target, Trigger::Agent))
        }
        None => {
            let inside = [wire::SECRET_HEADER, wire::SESSION_HEADER]
                .into_iter()
                .any(|name| header(headers, name).is_some());
            if inside {
                return Err(format!(
                    "{SELF_ONLY}; to hand off another session is for people outside of sessions"
                ));
            }
            if !person {
                return Err("requester_session_id is missing: an agent names its own session, a person says person: true".into());
            }
            let target = target.ok_or_else(|| unknown(wanted))?;
            match caller::of(hub, connection).await {
                Caller::Session(_) | Caller::Unproven(_) => Err(format!(
                    "{SELF_ONLY}; to hand off another session is for people outside of sessions"
                )),
                Caller::Gone => Err(
                    "the process that asked had ended before it was known whose it was: ask from a program that waits for the answer".into(),
                ),
                Caller::Outside | Caller::Unknown => Ok((target, Trigger::Person)),
            }
        }
    }
}

fn unknown(wanted: &str) -> String {
    let shown: String = wanted
        .chars()
        .filter(|c| !c.is_control())
        .take(80)
        .collect();
    format!("Session {shown} not found")
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let value = headers.get(name)?.to_str().ok()?;
    (!value.is_empty()).then_some(value)
}

// ── scheduling

pub async fn schedule(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
    connection: Option<Extension<Connection>>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let body: HandoffBody = read::body(&body)?;
    let requester = body.requester_session_id.as_deref();
    let asked = who(&hub, &wanted, requester, body.person, &headers, connection);
    let (handle, trigger) = match asked.await {
        Ok(known) => known,
        Err(error) => return refused(error),
    };
    schedule_as(&hub, &handle, trigger, body).await
}

/// From the ledger, for a person outside of all sessions.
pub async fn automatic(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
    connection: Option<Extension<Connection>>,
    headers: HeaderMap,
) -> Answer {
    let (handle, trigger) = match who(&hub, &wanted, None, true, &headers, connection).await {
        Ok(known) => known,
        Err(error) => return refused(error),
    };
    let body = HandoffBody {
        person: true,
        auto: true,
        ..HandoffBody::default()
    };
    schedule_as(&hub, &handle, trigger, body).await
}

/// For one who is known.
pub(super) async fn schedule_as(
    hub: &Shared,
    handle: &Handle,
    trigger: Trigger,
    body: HandoffBody,
) -> Answer {
    if let Some(answer) = run_handoff::schedule(handle, trigger, &body).await {
        if let (Some(why), Ok(author)) = (error_of(&answer), written_by(trigger, &body)) {
            let id = body.id.as_deref().and_then(|id| own_id(id).ok());
            let id = id.map_or_else(made, Ok).map_err(|_| ApiError::gone())?;
            note_refused(handle, asked(id, trigger, author, &body), why).await;
        }
        return answer;
    }
    let id = match body.id.as_deref().map(own_id).transpose() {
        Ok(id) => id,
        Err(error) => return refused(error),
    };
    if let Some(id) = &id
        && let Some(answer) = asked_before(hub, handle, id).await?
    {
        return Ok(Json(answer));
    }
    let id = id.map_or_else(made, Ok).map_err(|_| ApiError::gone())?;
    let author = match written_by(trigger, &body) {
        Ok(author) => author,
        Err(error) => return refused(error),
    };
    let authorship = Authorship {
        trigger,
        author,
        note: body.note.as_deref().map(noted).unwrap_or_default(),
    };
    let asked = asked(id.clone(), trigger, author, &body);
    let answer = schedule_new(hub, handle, id, authorship, body).await;
    if let Some(why) = error_of(&answer) {
        note_refused(handle, asked, why).await;
    }
    answer
}

fn made() -> Result<HandoffId, sm_core::IdError> {
    HandoffId::new(format!("h{}", clock::random_hex(5)))
}

fn error_of(answer: &Answer) -> Option<String> {
    answer.as_ref().ok()?.error.clone()
}

/// What was asked for, before anything is made of it.
fn asked(id: HandoffId, trigger: Trigger, author: Author, body: &HandoffBody) -> NewHandoff {
    NewHandoff {
        id,
        trigger,
        author,
        document: body.file_path.chars().take(LONGEST_PATH).collect(),
        copy: String::new(),
        folder: String::new(),
        note: body.note.as_deref().map(noted).unwrap_or_default(),
        source: String::new(),
    }
}

/// A refusal is found later where handoffs are looked for. That it could not be written down changes
/// nothing about it.
async fn note_refused(handle: &Handle, handoff: NewHandoff, why: String) {
    match handoff.trigger {
        Trigger::Agent | Trigger::Person => {}
        // sm's own attempts are repeated until they fit, and tell nobody anything
        Trigger::Threshold | Trigger::CompactionImminent | Trigger::Compacted => return,
    }
    if let Err(error) = sessions::act(handle, Event::HandoffRefused { handoff, why }).await {
        tracing::debug!(session = %handle.id, ?error, "a refusal was not written down");
    }
}

async fn schedule_new(
    hub: &Shared,
    handle: &Handle,
    id: HandoffId,
    authorship: Authorship,
    body: HandoffBody,
) -> Answer {
    let (trigger, author) = (authorship.trigger, authorship.author);
    let now = handle.now();
    let guards = guards(hub);
    let profile = kind::profile(now.record.agent);
    if let Some(why) = now
        .record
        .handoff_refusal(profile, trigger, author, guards, clock::now())
    {
        return refused(why.to_string());
    }
    let ended = !now.record.state.is_live();
    if let (true, Err(error)) = (ended, may_start(hub, handle, body.env.is_some())) {
        return refused(error);
    }
    let document = match (body.auto, body.document) {
        (true, _) => write_document(hub, handle).await,
        (false, Some(text)) => handoff::given(text, u64::from(hub.config.handoff.max_bytes))
            .map_err(|error| error.to_string()),
        (false, None) => read_document(hub, body.file_path).await,
    };
    let document = match document {
        Ok(document) => document,
        Err(error) => return refused(error),
    };
    let turn = now.record.turn_since.filter(|_| now.record.turn_open);
    let verdict = match hub.config.handoff.gate {
        Gate::Warn | Gate::Strict if body.auto => Verdict::default(), // nobody is there to mend it
        Gate::Off => Verdict::default(),
        Gate::Warn | Gate::Strict => {
            let report = judged(hub, handle, &document).await;
            handoff::verdict(&document, trigger, turn, &report)
        }
    };
    if hub.config.handoff.gate == Gate::Strict && !verdict.grave.is_empty() && !body.force {
        return refused(format!(
            "not scheduled: {}. Then hand off again; if it is right as it is, confirm it with --force",
            verdict.grave.join("; ")
        ));
    }
    let warnings = verdict.told;
    fault::before("artifact", "copy");
    let kept = keep(hub, &handle.id, &document).await?;
    fault::after("artifact", "copy");
    if let (true, Some(env)) = (ended, body.env) {
        hub.launches.remember(&handle.id, env);
    }
    let asked = ask(handle, id, authorship, guards, &document, &kept).await;
    if ended && !matches!(asked, Ok(Ok(_))) {
        hub.launches.forget(&handle.id);
    }
    let replaced = now
        .record
        .open_handoff()
        .filter(|open| open.state == HandoffState::Scheduled)
        .map(|open| open.id.to_string());
    match asked {
        Ok(Ok((id, copy))) => {
            if FilePath::new(&copy) != kept.document {
                discard(hub, &handle.id, &kept); // the same one was asked for at the same time
            }
            warm(hub, handle);
            Ok(Json(HandoffAnswer {
                status: Some("scheduled".into()),
                when: Some(when(&now.record.state, now.record.turn_open, trigger)),
                replaced: replaced.filter(|replaced| replaced != id.as_str()),
                id: Some(id.to_string()),
                copy: Some(copy),
                warnings,
                ..HandoffAnswer::default()
            }))
        }
        Ok(Err(why)) => {
            discard(hub, &handle.id, &kept);
            refused(why)
        }
        Err(error) => {
            discard(hub, &handle.id, &kept);
            Err(error)
        }
    }
}

/// When the context is going to be left.
fn when(state: &SessionState, turn_open: bool, trigger: Trigger) -> When {
    if !state.is_live() {
        return When::Start;
    }
    // whoever asks from inside is in a turn
    if turn_open || trigger == Trigger::Agent {
        return When::TurnEnd;
    }
    match state {
        SessionState::Starting => When::Ready,
        SessionState::Compacting => When::Compacted,
        SessionState::Waiting(_) => When::Answered,
        SessionState::Idle => When::Now,
        SessionState::Working | SessionState::Exited | SessionState::Lost => When::TurnEnd,
    }
}

/// Why a document would not be taken now, whatever it says.
pub(super) fn refusal(hub: &Shared, record: &Record, trigger: Trigger) -> Option<String> {
    let profile = kind::profile(record.agent);
    let author = author(trigger, false);
    let why = record.handoff_refusal(profile, trigger, author, guards(hub), clock::now());
    why.map(|why| why.to_string())
}

/// An agent that has ended is started again: its name has to be free, and it needs an environment.
fn may_start(hub: &Shared, handle: &Handle, has_env: bool) -> Result<(), String> {
    if !has_env {
        return Err(
            "its agent has ended and would be started with an environment that is not given: use `sm handoff --auto --session`, which gives that of your shell".into(),
        );
    }
    let now = handle.now();
    let published: Vec<_> = hub.sessions.all().iter().map(Handle::now).collect();
    names::check_free(
        now.record.name.as_str(),
        Some(handle.id.as_str()),
        published.iter().map(|p| read::named(p)),
    )
    .map_err(|error| format!("{error}: {}", error.hint()))
}

/// What the gate finds, by what is known of the session. What cannot be found out in time is not
/// held against a document.
async fn judged(hub: &Shared, handle: &Handle, document: &Document) -> Report {
    let record = handle.now().record.clone();
    let folder = document.path.parent().map(FilePath::to_path_buf);
    let known = ledger::with(hub, handle, None, |kept| Known::of(&kept.ledger));
    let known = tokio::time::timeout(READ_PATIENCE, known).await;
    let sources = Sources {
        cwd: PathBuf::from(&record.cwd),
        folder: folder.unwrap_or_default(),
        known: known.ok().and_then(Result::ok),
        pins: pins::told(&record, READ_PATIENCE).await,
    };
    let text = document.text.clone();
    let judging = tokio::task::spawn_blocking(move || handoff::judge(&text, &sources));
    match tokio::time::timeout(READ_PATIENCE, judging).await {
        Ok(Ok(report)) => report,
        Ok(Err(_)) | Err(_) => gate::check(&document.text, &GateFacts::default()),
    }
}

/// The gate by hand: nothing is scheduled, nothing is kept.
pub async fn check(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
    body: Bytes,
) -> Result<Json<CheckView>, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    let body: CheckBody = read::body(&body)?;
    let document = read_document(&hub, body.file_path)
        .await
        .map_err(|error| ApiError::bad(error, "sm handoff --template shows what belongs in it"))?;
    let report = judged(&hub, &handle, &document).await;
    Ok(Json(CheckView::from(&report)))
}

/// What the terminal has shown until now is rendered while the turn goes on: little is left to do
/// between the two contexts.
fn warm(hub: &Shared, handle: &Handle) {
    let (hub, handle) = (Arc::clone(hub), handle.clone());
    tokio::spawn(async move {
        let extra = Arc::clone(&handle.now().extra);
        if let Err(error) = archive::catch_up(&hub, &handle.id, &extra).await {
            tracing::debug!(session = %handle.id, %error, "the archive could not be written");
        }
    });
}

/// An id of the asker's own. It becomes a part of other ids.
pub(super) fn own_id(id: &str) -> Result<HandoffId, String> {
    let plain = id.bytes().all(|b| b.is_ascii_alphanumeric());
    HandoffId::new(id)
        .ok()
        .filter(|_| plain && (4..=32).contains(&id.len()))
        .ok_or_else(|| "id is not 4 to 32 letters and digits".to_owned())
}

/// Whoever got no answer asks again: what was scheduled stays scheduled, whatever came of it since.
pub(super) async fn asked_before(
    hub: &Shared,
    handle: &Handle,
    id: &HandoffId,
) -> Result<Option<HandoffAnswer>, ApiError> {
    let latest = handle.now().record.handoff.as_deref().cloned();
    let known = match latest.filter(|latest| latest.id == *id) {
        Some(latest) => Some((handle.id.to_string(), latest.copy)),
        None => {
            let wanted = id.to_string();
            let row = read::store(hub, move |store| store.handoff(&wanted)).await?;
            let stored = row.and_then(|row| Some((row.session.clone(), handoffs::stored(&row)?)));
            if let Some((_, refusal)) = &stored
                && refusal.state == HandoffState::Refused
            {
                let why = refusal.ended_because().unwrap_or("it was refused");
                return Ok(Some(HandoffAnswer {
                    error: Some(why.to_owned()),
                    ..HandoffAnswer::default()
                }));
            }
            stored.map(|(session, handoff)| (session, handoff.copy))
        }
    };
    Ok(
        known.map(|(session, copy)| match session == handle.id.as_str() {
            true => HandoffAnswer {
                status: Some("scheduled".into()),
                id: Some(id.to_string()),
                copy: Some(copy),
                ..HandoffAnswer::default()
            },
            false => HandoffAnswer {
                error: Some(format!("{id} is a handoff of another session")),
                ..HandoffAnswer::default()
            },
        }),
    )
}

fn guards(hub: &Shared) -> Guards {
    let config = &hub.config.handoff;
    Guards {
        cooldown: i64::try_from(config.cooldown.as_millis()).unwrap_or(i64::MAX),
        per_hour: config.per_hour,
    }
}

/// Its id and where its copy is. The inner error: the session has refused it after all.
async fn ask(
    handle: &Handle,
    id: HandoffId,
    Authorship {
        trigger,
        author,
        note,
    }: Authorship,
    guards: Guards,
    document: &Document,
    kept: &Kept,
) -> Result<Result<(HandoffId, String), String>, ApiError> {
    let handoff = NewHandoff {
        id: id.clone(),
        trigger,
        author,
        document: match document.path.as_os_str().is_empty() {
            true => kept.document.to_string_lossy().into_owned(), // it is in no other file
            false => document.path.to_string_lossy().into_owned(),
        },
        copy: kept.document.to_string_lossy().into_owned(),
        folder: kept.folder.to_string_lossy().into_owned(),
        note,
        source: document.real.to_string_lossy().into_owned(),
    };
    sessions::act(handle, Event::HandoffAsked { handoff, guards }).await?;
    let now = handle.now();
    if let Some(asked) = now.record.handoff.as_ref().filter(|h| h.id == id) {
        return Ok(Ok((id, asked.copy.clone())));
    }
    let profile = kind::profile(now.record.agent);
    let why = now
        .record
        .handoff_refusal(profile, trigger, author, guards, clock::now());
    Ok(Err(why.map_or_else(
        || "the session changed meanwhile: ask again".to_owned(),
        |why| why.to_string(),
    )))
}

// ── taking back

pub async fn cancel(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
    connection: Option<Extension<Connection>>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let body: CancelBody = read::body(&body)?;
    // a process inside a session is that session, whatever it says
    let inside = header(&headers, wire::SECRET_HEADER).is_some();
    let requester = match body.requester_session_id.as_deref() {
        None if inside => Some(wanted.as_str()),
        other => other,
    };
    let person = requester.is_none();
    let asked = who(&hub, &wanted, requester, person, &headers, connection);
    let (handle, _) = match asked.await {
        Ok(known) => known,
        Err(error) => return refused(error),
    };
    if generate::cancel(&hub, &handle.id) {
        return Ok(Json(HandoffAnswer {
            status: Some("cancelled".into()),
            ..HandoffAnswer::default()
        }));
    }
    cancel_as(&handle).await
}

pub(super) async fn cancel_as(handle: &Handle) -> Answer {
    if let Some(answer) = run_handoff::cancel(handle).await {
        return answer;
    }
    let open = |handle: &Handle| handle.now().record.open_handoff().cloned();
    let Some(before) = open(handle) else {
        return refused("no handoff is scheduled for this session");
    };
    sessions::act(handle, Event::HandoffCancelled).await?;
    match open(handle).filter(|after| after.id == before.id) {
        None => Ok(Json(HandoffAnswer {
            status: Some("cancelled".into()),
            id: Some(before.id.to_string()),
            ..HandoffAnswer::default()
        })),
        Some(after) => refused(format!(
            "handoff {} is under way ({}) and cannot be taken back any more. See: sm handoffs show {}",
            after.id,
            after.state.word(),
            after.id
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sm_core::signal::PersonNeed;

    #[test]
    fn what_is_said_of_the_time_is_what_will_happen() {
        use SessionState::{Compacting, Exited, Idle, Lost, Starting, Waiting, Working};
        let dialog = || Waiting(PersonNeed::FirstRun("trust".into()));
        for (state, turn_open, trigger, expected) in [
            (Idle, false, Trigger::Person, When::Now),
            (Idle, false, Trigger::Agent, When::TurnEnd),
            (Working, true, Trigger::Person, When::TurnEnd),
            (Starting, false, Trigger::Person, When::Ready),
            (Compacting, false, Trigger::Person, When::Compacted),
            (Compacting, true, Trigger::Person, When::TurnEnd),
            (dialog(), false, Trigger::Person, When::Answered),
            (dialog(), true, Trigger::Person, When::TurnEnd),
            (Exited, false, Trigger::Person, When::Start),
            (Lost, true, Trigger::Person, When::Start),
        ] {
            assert_eq!(when(&state, turn_open, trigger), expected, "{state:?}");
        }
    }

    #[test]
    fn ids_of_askers_are_short_and_plain() {
        for (id, good) in [
            ("h0a1b2c3d4", true),
            ("abcd", true),
            ("abc", false),
            ("", false),
            ("h1-wake", false),
            ("h1.2x", false),
            ("ü123", false),
            (&"a".repeat(32), true),
            (&"a".repeat(33), false),
        ] {
            assert_eq!(own_id(id).is_ok(), good, "{id}");
        }
    }
}
