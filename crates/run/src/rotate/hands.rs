//! What a daemon may do to the agent in this terminal: look at its screen, type into it, have it
//! ended. It is done as the relay does everything: guarded, in order, and by the agent's own parent.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sm_core::Key;
use sm_daemon::host::{ScreenBody, TypeBody, TypedView};

use super::session::Session;
use crate::brain::{Control, Entered, Entry};

/// The relay answers between two keys of the person's.
const PATIENCE: Duration = Duration::from_secs(2);
/// An agent that is ended has so long to end by itself.
const GRACE: Duration = Duration::from_secs(8);

/// What was asked for and is not answered yet.
#[derive(Default)]
pub struct Entries {
    next: AtomicU64,
    done: Mutex<HashMap<u64, Entered>>,
    rung: Condvar,
}

impl Entries {
    pub fn done(&self, no: u64, typed: Entered) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.insert(no, typed);
        self.rung.notify_all();
    }

    fn wait(&self, no: u64, patience: Duration) -> Option<Entered> {
        let until = Instant::now() + patience;
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(typed) = done.remove(&no) {
                return Some(typed);
            }
            let left = until.checked_duration_since(Instant::now())?;
            done = self
                .rung
                .wait_timeout(done, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

/// Takes back what was not done yet; whether it was still there.
fn withdraw(outbox: &mut VecDeque<Control>, no: u64) -> bool {
    let before = outbox.len();
    outbox.retain(|control| !matches!(control, Control::Enter(entry) if entry.no == no));
    outbox.len() < before
}

impl Session {
    fn withdraw(&self, no: u64) -> bool {
        let mut outbox = self.outbox.lock().unwrap_or_else(PoisonError::into_inner);
        withdraw(&mut outbox, no)
    }

    pub fn shown(&self) -> Option<ScreenBody> {
        let looked = self.screen.look()?;
        Some(ScreenBody {
            lines: looked.lines,
            cols: looked.cols,
            rows: looked.rows,
            mark: looked.mark,
        })
    }

    pub fn type_in(&self, body: TypeBody) -> TypedView {
        {
            let state = self.lock();
            if state.process.is_none() || state.rotation.is_leaving() {
                return TypedView::Nobody;
            }
        }
        let (bytes, guard) = match body {
            TypeBody::Paste { text, guard } => {
                let marked = self.screen.look().is_some_and(|looked| looked.takes_pastes);
                (pasted(&text, marked), guard)
            }
            TypeBody::Press { key, guard } => (pressed(key).to_vec(), guard),
        };
        let no = self.entries.next.fetch_add(1, Ordering::SeqCst);
        self.send(Control::Enter(Entry { no, bytes, guard }));
        let typed = self.entries.wait(no, PATIENCE).or_else(|| {
            // It must not be done when nobody waits for it any more.
            match self.withdraw(no) {
                true => Some(Entered::Moved),
                false => self.entries.wait(no, PATIENCE),
            }
        });
        match typed {
            Some(Entered::Done) => TypedView::Done,
            Some(Entered::Moved) => TypedView::Moved,
            Some(Entered::Nobody) | None => TypedView::Nobody,
        }
    }

    /// Ends the agent, and nothing follows: whoever asks stands for a person.
    pub fn end_by_order(&self) -> bool {
        let agent = {
            let mut state = self.lock();
            state.person_exit = true;
            state.process
        };
        let Some(agent) = agent else {
            return false;
        };
        self.log(&format!("{} is ended with sm kill", self.setup.id));
        self.send(Control::End {
            agent,
            grace: GRACE,
        });
        true
    }
}

fn pasted(text: &str, marked: bool) -> Vec<u8> {
    match marked {
        true => [b"\x1b[200~", text.as_bytes(), b"\x1b[201~"].concat(),
        false => text.as_bytes().to_vec(),
    }
}

fn pressed(key: Key) -> &'static [u8] {
    match key {
        Key::Enter => b"\r",
        Key::Escape => b"\x1b",
        Key::Stash => b"\x13",
        Key::Erase => b"\x15",
    }
}
