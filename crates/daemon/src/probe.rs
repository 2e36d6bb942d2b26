//! Asking every source at one moment: process, status file, transcript, title and screen.

use crate::fault;
use crate::host;
use crate::perform::Seat;
use crate::platform;
use crate::sources::{self, Reach};
use crate::transcripts;
use sm_agents::kind;
use sm_core::signal::{Activity, Composer, Evidence, ScreenReading};
use sm_core::{AgentKind, ConversationId, Event};
use sm_runtime::Screen;

pub async fn probe(seat: Seat, probe: u64, ours: Option<String>) {
    let open = match seat.record.seeks_context() {
        true => transcripts::open_conversations(&seat).await,
        false => transcripts::Open::default(),
    };
    if let Some(found) = open.found {
        seat.event(Event::RecordFound {
            conversation: found.conversation,
            transcript: found.record.map(|path| path.to_string_lossy().into_owned()),
            at: found.at,
        });
    }
    let place = follow(&seat).await;
    watch_status(&seat);
    let reach = seat.sources.read(&seat.handle).await;
    seat.hub.ledgers.touch(&seat.record.id); // where no watcher tells it
    // a process that has ended makes no record any more
    let said = seat.record.process.is_some()
        && seat.extra.begun.is_some()
        && seat.extra.begun == seat.record.conversation;
    let transcript_read = is_read(place, reach, said);
    let alive = seat.record.process.map(|own| {
        sm_client::process::Process {
            pid: own.pid,
            start: own.start,
        }
        .is_alive()
    });
    let status = match (&seat.extra.agent_home, seat.record.process) {
        (Some(home), Some(process)) => sources::read_status(seat.record.agent, home, process.pid)
            .filter(|reading| process.start == 0 || reading.process.start == process.start),
        (Some(_), None) | (None, Some(_)) | (None, None) => None,
    };
    // before the screen: what it shows then is not older
    let deaf = seat
        .record
        .process
        .is_some_and(|process| platform::is_deaf(process.pid));
    let screen = host::look(&seat).await;
    let title = screen.as_ref().map_or(Activity::Unknown, |screen| {
        kind::read_title(seat.record.agent, &screen.mark.title)
    });
    let screen = screen.and_then(|screen| read(seat.record.agent, &screen, ours.as_deref()));
    let evidence = Evidence {
        alive,
        status,
        title,
        screen,
        transcript_read,
        contexts_read: open.all,
        deaf,
    };
    tracing::trace!(session = %seat.record.id, ?evidence, "probed");
    fault::after("effect", "probe");
    seat.event(Event::Probed { probe, evidence });
}

/// The transcript that belongs to the present conversation, wherever its path was learned. After a
/// restart those of older ones come first, if what is under way may have landed there.
pub async fn follow(seat: &Seat) -> Place {
    let Some(conversation) = &seat.record.conversation else {
        return Place::Unknown;
    };
    if seat.sources.followed().await.is_none() {
        let records = seat.record.records_to_read();
        for old in records.iter().filter(|old| *old != conversation) {
            if let Some(path) = transcripts::path_of(seat, old).await {
                seat.sources.follow(&path, old, &seat.handle).await;
            }
        }
    }
    if let Some(path) = transcripts::path_of(seat, conversation).await {
        seat.sources.follow(&path, conversation, &seat.handle).await;
        let changed = crate::watch::Changed::Transcript(seat.record.id.clone());
        seat.hub.watcher.watch(&path, changed);
        if seat.record.transcript.is_none() && seat.record.agent == AgentKind::Codex {
            // its conversation was known by its lock, before there was a record
            seat.event(Event::RecordFound {
                conversation: conversation.clone(),
                transcript: Some(path.to_string_lossy().into_owned()),
                at: crate::clock::now(),
            });
        }
        return Place::Followed;
    }
    not_found(seat)
}

/// The record of a conversation that nobody writes any more: whether all it can tell is known.
pub async fn read_ended(seat: &Seat, conversation: &ConversationId) -> bool {
    let place = match transcripts::path_of(seat, conversation).await {
        Some(path) => {
            seat.sources.follow(&path, conversation, &seat.handle).await;
            Place::Followed
        }
        None => not_found(seat),
    };
    is_read(place, seat.sources.read(&seat.handle).await, false)
}

fn not_found(seat: &Seat) -> Place {
    // Codex's records and those of the own agent were looked through
    match (seat.record.agent, &seat.extra.agent_home) {
        (AgentKind::Codex | AgentKind::Native, Some(_)) => Place::Nowhere,
        (AgentKind::Codex | AgentKind::Native, None)
        | (AgentKind::Claude | AgentKind::Generic, _) => Place::Unknown,
    }
}

/// Whether all that the present conversation's record can tell is known. `said`: a prompt was heard
/// of in it.
fn is_read(place: Place, reach: Reach, said: bool) -> bool {
    match (place, reach) {
        // whatever was followed before: a record is made when something is said
        (Place::Nowhere, Reach::End | Reach::NoFile | Reach::Failed)
        | (Place::Followed | Place::Unknown, Reach::NoFile) => !said,
        (Place::Followed | Place::Unknown, Reach::End) => true,
        (Place::Followed | Place::Unknown, Reach::Failed) => false,
    }
}

/// Where the record of the present conversation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Followed,
    /// There is none.
    Nowhere,
    /// Nobody can tell.
    Unknown,
}

/// The folder of status files may not have been there yet when the agent was started.
fn watch_status(seat: &Seat) {
    if let (Some(home), Some(process)) = (&seat.extra.agent_home, seat.record.process)
        && let Some(path) = kind::status_path(seat.record.agent, home, process.pid)
    {
        let changed = crate::watch::Changed::Status(seat.record.id.clone());
        seat.hub.watcher.watch(&path, changed);
    }
}

fn read(agent: AgentKind, screen: &Screen, ours: Option<&str>) -> Option<ScreenReading> {
    let mark = screen.mark.clone();
    if !kind::profile(agent).reads_screen {
        return None;
    }
    let (composer, activity) = kind::read_screen(
        agent,
        &screen.lines,
        screen.mark.cursor_x,
        screen.mark.cursor_y,
        ours,
    );
    // in copy mode keys do not reach the agent: as good as no composer
    let composer = if screen.in_mode {
        Composer::Hidden
    } else {
        composer
    };
    Some(ScreenReading {
        composer,
        activity,
        mark,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_without_a_record_is_read_until_something_is_said_in_it() {
        for (place, reach, said, read) in [
            // after a restart: nothing is followed yet, and there is nothing to follow
            (Place::Nowhere, Reach::Failed, false, true),
            (Place::Nowhere, Reach::Failed, true, false),
            // the old one's record is still followed
            (Place::Nowhere, Reach::End, false, true),
            (Place::Nowhere, Reach::End, true, false),
            (Place::Followed, Reach::NoFile, false, true),
            (Place::Followed, Reach::NoFile, true, false),
            (Place::Followed, Reach::End, true, true),
            (Place::Followed, Reach::Failed, false, false),
            (Place::Unknown, Reach::Failed, false, false),
        ] {
            assert_eq!(
                is_read(place, reach, said),
                read,
                "{place:?} {reach:?} {said}"
            );
        }
    }
}
