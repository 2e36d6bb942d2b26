//! What must hold of handoffs: a context is left only for a successor, once, and nobody's words are
//! lost on the way.

use super::agent::Author;
use super::handoff::document_of;
use super::world::{World, tr};
use sm_core::State;
use sm_core::handoff::{Handoff, HandoffState};
use sm_core::ids::HandoffId;
use std::collections::BTreeMap;

/// A draft that stands there for this long was to be seen.
const SEEN_MS: i64 = 4_000;

#[derive(Debug, Default)]
pub struct Handoffs {
    /// Ids given out.
    pub asked: u32,
    /// Somebody is about to ask.
    pub coming: u32,
    /// Tools of the agent that wait for their answer.
    pub tools: u32,
    pub rows: BTreeMap<HandoffId, Row>,
    /// Conversations that were begun for a handoff.
    begun: BTreeMap<usize, HandoffId>,
    /// The clear that is being carried out is sm's, for this one.
    pub clearing: Option<HandoffId>,
    /// Since when a person's words stand in the composer or are stashed.
    draft_since: Option<i64>,
}

/// What is truly known of a handoff.
#[derive(Debug)]
pub struct Row {
    /// As it was journaled last.
    pub last: Handoff,
    /// Conversations that took its prompt, in order.
    pub taken: Vec<usize>,
    /// Conversations that sm left for it.
    left: Vec<usize>,
    /// Messages that had been given to the agent before it was scheduled.
    given: Vec<usize>,
    /// Successors that took its prompt and were killed before it was written down.
    lost: u32,
    /// Where the session was when it was scheduled.
    from: usize,
    /// Where sm's clear had no effect: people had gone on to another context before it.
    uncleared: Vec<usize>,
    /// Nobody had told the session which conversation that is.
    unnamed: bool,
}

fn rank(state: HandoffState) -> u32 {
    match state {
        HandoffState::Scheduled => 0,
        HandoffState::Prepared => 1,
        HandoffState::Cleared => 2,
        HandoffState::Prompted => 3,
        HandoffState::Done
        | HandoffState::Replaced
        | HandoffState::Cancelled
        | HandoffState::Abandoned
        | HandoffState::RolledBack
        | HandoffState::Refused => 9,
    }
}

/// A person left the successor's context before anybody could know whether it had its prompt.
fn was_left(handoff: &Handoff) -> bool {
    let last = handoff.steps.last();
    last.is_some_and(|step| step.text.contains("was left before the record"))
}

impl Row {
    /// It may take the prompt: that a clear had no effect shows only then.
    fn is_old(&self, conversation: usize) -> bool {
        conversation == self.from || self.uncleared.contains(&conversation)
    }
}

impl World {
    /// The rows of a step, as they go into the journal.
    pub(super) fn handoffs_journaled(&mut self, changed: &[Handoff]) {
        for handoff in changed {
            self.handoff_journaled(handoff);
        }
    }

    fn handoff_journaled(&mut self, handoff: &Handoff) {
        let given = self.given_already();
        let believed = self.believed();
        // an agent that was never started has no context to leave
        let from = match self.agent.conversations.is_empty() {
            true => usize::MAX,
            false => believed.unwrap_or(self.agent.current),
        };
        let row = self.handoffs.rows.entry(handoff.id.clone());
        let new = matches!(row, std::collections::btree_map::Entry::Vacant(_));
        let row = row.or_insert_with(|| Row {
            last: handoff.clone(),
            taken: Vec::new(),
            left: Vec::new(),
            given,
            lost: 0,
            from,
            uncleared: Vec::new(),
            unnamed: believed.is_none(),
        });
        let (before, now) = (row.last.state, handoff.state);
        row.last = handoff.clone();
        let left = !row.left.is_empty();
        if new {
            self.stats.handoffs += 1;
        }
        let again = row.lost > 0
            && now == HandoffState::Cleared
            && matches!(before, HandoffState::Prompted | HandoffState::Done);
        // the record showed that nobody had taken it
        let untaken = (before, now) == (HandoffState::Prompted, HandoffState::Cleared)
            && row.taken.iter().all(|at| *at == row.from);
        if again {
            row.lost -= 1;
        } else if untaken {
            self.stats.given_again += 1;
        } else if rank(now) < rank(before) || (!before.is_open() && now != before) {
            let id = &handoff.id;
            self.fail(format!("handoff {id} went from {before:?} to {now:?}"));
        }
        if before == now {
            return;
        }
        match now {
            HandoffState::RolledBack => {
                self.stats.rolled_back += 1;
                let here = self.daemon.session.record().conversation.clone();
                if here != handoff.from_conversation {
                    self.fail(format!(
                        "handoff {} is rolled back, but the session is in {here:?}",
                        handoff.id
                    ));
                }
            }
            HandoffState::Done => self.stats.handed_off += 1,
            HandoffState::Cancelled | HandoffState::Replaced if left => {
                self.fail(format!(
                    "handoff {} is {now:?}, but its context was left",
                    handoff.id
                ));
            }
            HandoffState::Abandoned => {
                self.stats.abandoned += 1;
                let record = self.daemon.session.record();
                if left && record.state.is_live() && !record.ending {
                    self.fail(format!(
                        "handoff {} is abandoned after its context was left, and the agent runs",
                        handoff.id
                    ));
                }
            }
            HandoffState::Cancelled
            | HandoffState::Replaced
            | HandoffState::Refused
            | HandoffState::Scheduled
            | HandoffState::Prepared
            | HandoffState::Cleared
            | HandoffState::Prompted => {}
        }
    }

    /// The conversation the session is in, as far as it knows.
    fn believed(&self) -> Option<usize> {
        let known = self.daemon.session.record().conversation.as_ref();
        let all = &self.agent.conversations;
        known.and_then(|known| all.iter().position(|c| &c.id == known))
    }

    /// Messages that nobody can take back any more.
    fn given_already(&self) -> Vec<usize> {
        let flight = self.daemon.session.record().flight.as_ref();
        let flying = flight.filter(|flight| flight.phase.touched_agent());
        let flies = |no: usize| flying.is_some_and(|f| f.messages.contains(&self.sent[no].new.id));
        let given = |no: usize| self.receipt(no).is_some_and(|state| !state.is_pending());
        (0..self.sent.len())
            .filter(|no| given(*no) || flies(*no))
            .collect()
    }

    /// Who was told "scheduled" can rely on it.
    pub(super) fn handoff_answered(&mut self, id: &HandoffId) {
        let journaled = self.daemon.journal.record.handoff.as_ref();
        if self.daemon.up && journaled.is_none_or(|h| &h.id != id) {
            self.fail(format!(
                "handoff {id} was answered, but it is not in the journal"
            ));
        }
    }

    fn open_in_journal(&self) -> Option<&Handoff> {
        self.daemon.journal.record.open_handoff()
    }

    /// This conversation was begun for that handoff, and took its prompt.
    pub(super) fn was_begun_by(&self, conversation: usize, id: &HandoffId) -> bool {
        let row = self.handoffs.rows.get(id);
        row.is_some_and(|row| row.taken.contains(&conversation))
    }

    // ── leaving a context

    /// sm enters its clear.
    pub(super) fn check_clear(&mut self) {
        self.stats.clears += 1;
        let open = self.open_in_journal();
        let Some((id, state)) = open.map(|open| (open.id.clone(), open.state)) else {
            self.fail("sm clears a context without a handoff".into());
            return;
        };
        let said = self.agent.conversation().is_some_and(|c| c.started);
        // somebody else's clear may come between the look and the key; what is empty is not lost
        let overtaken = state == HandoffState::Cleared && !said;
        if state != HandoffState::Prepared && !overtaken {
            self.fail(format!("sm clears for handoff {id}, which is {state:?}"));
        }
        // a clear that the agent took late looks like one that it refused: the second one then
        // leaves an empty context for another
        if said && self.handoffs.begun.get(&self.agent.current) == Some(&id) {
            self.fail(format!("sm clears the context that handoff {id} has begun"));
        }
        self.handoffs.clearing = Some(id);
    }

    /// Somebody has gone back to a conversation: it may be left again.
    pub(super) fn context_resumed(&mut self, at: usize) {
        for row in self.handoffs.rows.values_mut() {
            row.left.retain(|left| *left != at);
        }
    }

    /// A new conversation has taken the place of `old`.
    pub(super) fn context_cleared(&mut self, old: usize) {
        if let Some(id) = self.handoffs.clearing.take() {
            self.context_left(&id, old);
            self.handoffs.begun.insert(self.agent.current, id);
        }
    }

    pub(super) fn clear_ignored(&mut self) {
        if let Some(id) = self.handoffs.clearing.take()
            && let Some(row) = self.handoffs.rows.get_mut(&id)
        {
            row.uncleared.push(self.agent.current);
        }
    }

    fn context_left(&mut self, id: &HandoffId, old: usize) {
        let Some(row) = self.handoffs.rows.get_mut(id) else {
            return;
        };
        if row.left.contains(&old) {
            self.fail(format!("handoff {id} left c{old} twice"));
            return;
        }
        row.left.push(old);
    }

    /// The agent's process is to be ended for a handoff.
    pub(super) fn check_stop(&mut self) {
        let open = self.open_in_journal();
        match open.map(|open| (open.id.clone(), open.state)) {
            Some((_, HandoffState::Prepared | HandoffState::Cleared)) => {}
            Some((id, state)) => {
                self.fail(format!(
                    "the agent is stopped for handoff {id}, which is {state:?}"
                ));
            }
            None => self.fail("the agent is stopped without a handoff".into()),
        }
    }

    pub(super) fn check_stopped(&mut self) {
        let current = self.agent.current;
        let open = self.open_in_journal().map(|open| open.id.clone());
        let Some(id) = open else {
            return; // ended meanwhile
        };
        let ours = self.handoffs.begun.get(&current) == Some(&id);
        let taken = self.handoffs.rows.get(&id).map(|row| &row.taken);
        if ours && taken.is_some_and(|taken| taken.contains(&current)) {
            self.fail(format!(
                "the successor of handoff {id} was stopped although it has its prompt"
            ));
        }
        if !ours {
            self.context_left(&id, current);
        }
        if let Some(since) = self.handoffs.draft_since
            && self.now - since > SEEN_MS
        {
            self.fail("a person's words were lost with the agent's process".into());
        }
    }

    pub(super) fn check_launch(&mut self, prompt: Option<&str>, resumes: bool) {
        let open = self.open_in_journal();
        // one that was ordered before is not its successor
        let left = open.is_some_and(|open| open.state != HandoffState::Scheduled);
        let open = open.map(|open| open.id.clone());
        if let Some(id) = &open
            && !resumes
            && left
        {
            self.handoffs.begun.insert(self.agent.current, id.clone());
        }
        let wake = prompt.and_then(|text| self.wake_in(text));
        if wake.is_some() && wake != open {
            self.fail(format!(
                "launched with the prompt of handoff {wake:?}, but {open:?} is under way"
            ));
        }
    }

    /// Whose prompt it is.
    fn wake_in(&self, text: &str) -> Option<HandoffId> {
        let named = |id: &&HandoffId| text.contains(&format!("/{id}.md and continue"));
        self.handoffs.rows.keys().find(named).cloned()
    }

    // ── what arrives

    pub(super) fn check_wake(&mut self, text: &str) {
        let Some(id) = self.wake_in(text) else {
            return;
        };
        // where nothing could be prepared, the copy is all there is
        let by_path = text.contains(&format!("/copy/{id}.md"));
        if !by_path && !text.contains(&document_of(&id)) {
            return; // told where it is, and has it not
        }
        let current = self.agent.current;
        let proves_late = self.options.proves_clear_with_prompt();
        let Some(row) = self.handoffs.rows.get_mut(&id) else {
            return;
        };
        let old = row.is_old(current);
        let most = match old && proves_late {
            true => 2, // nobody can see that the clear had no effect
            false => 1,
        };
        if row.taken.iter().filter(|at| **at == current).count() >= most {
            self.fail(format!("c{current} took the prompt of handoff {id} twice"));
            return;
        }
        let elsewhere = row.taken.iter().filter(|at| !row.is_old(**at)).count();
        row.taken.push(current);
        let open = row.last.state.is_open(); // afterwards people may do with it what they like
        tr!(self, "c{current} takes the prompt of {id}");
        // somebody may go back under a paste, and enter it there themselves
        if old && !proves_late && open && !self.enter_by_person {
            self.fail(format!("the old context took the prompt of handoff {id}"));
        } else if !old && elsewhere > 0 && !self.nobody_knows(&id) {
            self.fail(format!("two contexts took the prompt of handoff {id}"));
        }
    }

    /// The agent was killed before it had written that down.
    pub(super) fn wake_lost(&mut self, text: &str) {
        let Some(id) = self.wake_in(text) else {
            return;
        };
        let current = self.agent.current;
        let Some(row) = self.handoffs.rows.get_mut(&id) else {
            return;
        };
        if let Some(at) = row.taken.iter().rposition(|taken| *taken == current) {
            row.taken.remove(at);
            row.lost += 1;
        }
    }

    /// No hook came and no record could be read: it was given again for safety.
    fn nobody_knows(&self, id: &HandoffId) -> bool {
        let wake = format!("{id}-wake");
        self.daemon.journal.messages.iter().any(|m| {
            let reason = m.meta.state.reason().unwrap_or_default();
            m.meta.id.as_str().starts_with(&wake) && super::check::is_uncertain(&reason)
        })
    }

    /// Nothing but what it was given before joins a context that is to be left, nor the successor
    /// before its first turn is over.
    pub(super) fn check_frozen(&mut self, no: usize) {
        let Some((id, state)) = self.open_in_journal().map(|open| (&open.id, open.state)) else {
            return;
        };
        let row = self.handoffs.rows.get(id);
        if row.is_some_and(|row| !row.given.contains(&no)) {
            let what = format!("message m{no} arrived while handoff {id} was {state:?}");
            self.fail(what);
        }
    }

    pub(super) fn watch_drafts(&mut self) {
        let mut pieces = self
            .agent
            .composer
            .iter()
            .chain(self.agent.stash.iter().flatten());
        let theirs = self.agent.alive() && pieces.any(|(author, _)| *author == Author::Person);
        if theirs {
            self.handoffs.draft_since.get_or_insert(self.now);
        } else {
            self.handoffs.draft_since = None;
        }
    }

    // ── at rest

    pub(super) fn handoff_unsettled(&self) -> Option<String> {
        if self.handoffs.coming > 0 {
            return Some("somebody is about to ask for a handoff".into());
        }
        let record = self.daemon.session.record();
        let open = record.open_handoff()?;
        // of one that has ended it is asked whether its record has the prompt
        let ended = record.state == State::Exited && open.state != HandoffState::Prompted;
        (!ended).then(|| {
            let last = open.steps.last().map(|step| step.text.as_str());
            format!(
                "handoff {} is {:?} ({:?}): {}",
                open.id,
                open.state,
                open.course,
                last.unwrap_or_default()
            )
        })
    }

    pub(super) fn handoff_accounts(&mut self) {
        let mut wrong = Vec::new();
        for (id, row) in &self.handoffs.rows {
            let state = row.last.state;
            let mut taken = row.taken.iter().filter(|at| !row.is_old(**at)).count();
            let arrived = matches!(state, HandoffState::Done | HandoffState::Prompted);
            if taken == 0 && arrived {
                // that the clear had no effect was not to be seen; or it was not needed any more
                let successor = |at: &&usize| row.unnamed || **at != row.from;
                taken = row.taken.iter().filter(successor).count().min(1);
            }
            let right = match state {
                HandoffState::Done | HandoffState::Prompted => {
                    taken == 1 || (taken > 1 && self.nobody_knows(id)) || was_left(&row.last)
                }
                HandoffState::RolledBack => taken == 0,
                HandoffState::Scheduled | HandoffState::Prepared | HandoffState::Cleared => {
                    taken <= 1 && self.daemon.session.record().state == State::Exited
                }
                HandoffState::Cancelled | HandoffState::Replaced | HandoffState::Refused => {
                    taken == 0 && row.left.is_empty()
                }
                HandoffState::Abandoned => taken == 0,
            };
            if !right {
                wrong.push(format!(
                    "handoff {id} is {state:?}, and {taken} successors took its prompt"
                ));
            }
        }
        self.stats.with_handoff += u64::from(!self.handoffs.rows.is_empty());
        if let Some(what) = wrong.into_iter().next() {
            self.fail(what);
        }
    }
}
