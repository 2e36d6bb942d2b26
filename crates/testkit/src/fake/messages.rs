//! What the two threads tell each other: the queue of jobs, interrupts, and news for the screen.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

/// A text for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Input {
    /// As the model sees it.
    pub text: String,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    Typed,
    /// Typed while the agent worked.
    Queued,
    /// A background hook woke the agent with this text, before it was wrapped.
    Mail {
        raw: String,
    },
}

/// Something the agent does from beginning to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Job {
    Begin,
    Turn(Vec<Input>),
    Shell(String),
    Clear,
    Compact { instructions: String },
    Resume { id: String },
    Unknown { command: String },
    Exit { code: i32, reason: &'static str },
}

/// What the agent is doing, for the screen, the title and the status file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Status {
    Idle,
    Busy {
        doing: &'static str,
    },
    /// A permission dialog is open for this command.
    Waiting {
        command: String,
    },
}

/// News for the screen's thread.
pub(super) enum Msg {
    Bytes(Vec<u8>),
    /// The terminal is gone, or this signal came.
    Leave {
        code: i32,
    },
    Resized,
    /// Lines that stay.
    Lines(Vec<String>),
    Status(Status),
    StatusLine(String),
    Mail(Input),
    /// A prompt that goes back into the composer.
    Restore(String),
    Cleared,
    Exited {
        code: i32,
    },
}

/// What both threads and those of background hooks reach.
#[derive(Default)]
pub(super) struct Shared {
    queue: Mutex<VecDeque<Job>>,
    filled: Condvar,
    interrupted: AtomicBool,
    /// Leaders of the process groups that an interrupt ends.
    children: Mutex<Vec<Pid>>,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, VecDeque<Job>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, job: Job) {
        self.queue().push_back(job);
        self.filled.notify_all();
    }

    /// For what cannot wait: the end.
    pub(super) fn push_first(&self, job: Job) {
        self.queue().push_front(job);
        self.filled.notify_all();
    }

    /// The next job; prompts that follow each other become one turn.
    pub(super) fn next(&self) -> Job {
        let mut queue = self.queue();
        loop {
            match queue.pop_front() {
                Some(Job::Turn(mut inputs)) => {
                    while let Some(Job::Turn(more)) = queue.front_mut() {
                        inputs.append(more);
                        queue.pop_front();
                    }
                    return Job::Turn(inputs);
                }
                Some(job) => return job,
                None => {
                    queue = self
                        .filled
                        .wait(queue)
                        .unwrap_or_else(PoisonError::into_inner)
                }
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue().is_empty()
    }

    /// Every text in the queue; commands stay in it, and so are overtaken.
    pub(super) fn take_texts(&self) -> Vec<Input> {
        let mut taken = Vec::new();
        self.queue().retain_mut(|job| match job {
            Job::Turn(inputs) => {
                taken.append(inputs);
                false
            }
            Job::Begin
            | Job::Shell(_)
            | Job::Clear
            | Job::Compact { .. }
            | Job::Resume { .. }
            | Job::Unknown { .. }
            | Job::Exit { .. } => true,
        });
        taken
    }

    /// What waits, as the screen shows it.
    pub(super) fn waiting(&self) -> Vec<String> {
        let show = |job: &Job| match job {
            Job::Turn(inputs) => inputs
                .iter()
                .filter(|i| i.origin == Origin::Queued)
                .map(|i| i.text.clone())
                .collect(),
            Job::Clear => vec!["/clear".to_owned()],
            Job::Compact { .. } => vec!["/compact".to_owned()],
            Job::Shell(command) => vec![format!("!{command}")],
            Job::Resume { id } => vec![format!("/resume {id}")],
            Job::Begin | Job::Unknown { .. } | Job::Exit { .. } => Vec::new(),
        };
        self.queue().iter().flat_map(show).collect()
    }

    pub(super) fn interrupt(&self) {
        self.interrupted.store(true, Ordering::SeqCst);
        for child in self.children().iter() {
            // it may have ended by itself in this moment
            let _ = kill_process_group(*child, Signal::TERM);
        }
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }

    /// A new job begins: an Escape that came too late is forgotten.
    pub(super) fn forget_interrupt(&self) {
        self.interrupted.store(false, Ordering::SeqCst);
    }

    pub(super) fn children(&self) -> MutexGuard<'_, Vec<Pid>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Job {
        Job::Turn(vec![Input {
            text: text.into(),
            origin: Origin::Queued,
        }])
    }

    #[test]
    fn prompts_in_a_row_are_one_turn_and_a_command_parts_them() {
        let shared = Shared::default();
        [typed("a"), typed("b"), Job::Clear, typed("c")]
            .into_iter()
            .for_each(|job| shared.push(job));
        assert_eq!(shared.waiting(), ["a", "b", "/clear", "c"]);
        let Job::Turn(inputs) = shared.next() else {
            panic!("prompts come first")
        };
        assert_eq!(
            inputs.iter().map(|i| i.text.as_str()).collect::<Vec<_>>(),
            ["a", "b"]
        );
        assert_eq!(shared.next(), Job::Clear);
    }

    #[test]
    fn texts_overtake_a_command() {
        let shared = Shared::default();
        [Job::Clear, typed("c")]
            .into_iter()
            .for_each(|job| shared.push(job));
        assert_eq!(shared.take_texts().len(), 1);
        assert_eq!(shared.next(), Job::Clear);
        assert!(shared.is_empty());
    }
}
