//! The calls of one answer: which may run now, which wait, what is told of those that will not.

use sm_llm::{Block, ToolCall, ToolResult};

use crate::approval::{Approvals, Deed, Verdict, Wanted};

/// What the model is told of a call that a person broke off.
pub const INTERRUPTED: &str = "interrupted by the person before it was done";
const CUT: &str = "not run: the answer was cut at its limit of output, so the call may not be whole. Make a shorter one";

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Calls {
    calls: Vec<Pending>,
    /// Nothing new is started.
    pub stopping: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Pending {
    call: ToolCall,
    deed: Deed,
    stage: Stage,
}

#[derive(Debug, Clone, PartialEq)]
enum Stage {
    Waiting,
    /// A person is asked, and what "always" would mean.
    Wanted(Wanted),
    /// Has a person's word.
    Cleared,
    Running,
    Done,
}

/// What is to be done next about the calls.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Move {
    Run(ToolCall),
    Want(ToolCall, Wanted),
    /// It will not run: this is its result.
    Tell(ToolResult),
}

impl Calls {
    pub fn new(calls: Vec<ToolCall>, deeds: Vec<Deed>) -> Self {
        // A deed that nobody told is the worst there is.
        let deeds = deeds.into_iter().map(Some).chain(std::iter::repeat(None));
        let calls = calls.into_iter().zip(deeds).map(|(call, deed)| Pending {
            deed: deed.unwrap_or_else(|| Deed::Runs(call.name.clone())),
            call,
            stage: Stage::Waiting,
        });
        Self {
            calls: calls.collect(),
            stopping: false,
        }
    }

    pub fn done(&self) -> bool {
        self.calls.iter().all(|call| call.stage == Stage::Done)
    }

    pub fn wants_a_person(&self) -> bool {
        self.calls
            .iter()
            .any(|call| matches!(call.stage, Stage::Wanted(_)))
    }

    /// In the order of the calls: what only reads runs side by side, everything else alone.
    pub fn advance(&mut self, approvals: &Approvals, now: u64) -> Vec<Move> {
        let mut moves = Vec::new();
        let mut running = self.calls.iter().any(|c| c.stage == Stage::Running);
        for pending in &mut self.calls {
            let alone = !pending.deed.only_reads();
            match pending.stage {
                Stage::Done => continue,
                Stage::Running if alone => break,
                Stage::Running => continue,
                Stage::Wanted(_) => break,
                Stage::Waiting | Stage::Cleared => {}
            }
            if alone && running {
                break;
            }
            let verdict = match pending.stage {
                Stage::Cleared => Verdict::Allowed,
                Stage::Waiting | Stage::Wanted(_) | Stage::Running | Stage::Done => {
                    approvals.judge(&pending.deed)
                }
            };
            match verdict {
                Verdict::Allowed => {
                    pending.stage = Stage::Running;
                    running = true;
                    moves.push(Move::Run(pending.call.clone()));
                    if alone {
                        break;
                    }
                }
                Verdict::Ask(wanted) => {
                    pending.stage = Stage::Wanted(wanted.clone());
                    moves.push(Move::Want(pending.call.clone(), wanted));
                    break;
                }
                Verdict::Refused(why) => {
                    pending.stage = Stage::Done;
                    moves.push(Move::Tell(refusal(&pending.call, &why, now)));
                }
            }
        }
        moves
    }

    /// The call that a person was asked about.
    pub fn wanted(&self, call_id: &str) -> Option<&Wanted> {
        self.calls.iter().find_map(|pending| match &pending.stage {
            Stage::Wanted(wanted) if pending.call.id == call_id => Some(wanted),
            Stage::Wanted(_) | Stage::Waiting | Stage::Cleared | Stage::Running | Stage::Done => {
                None
            }
        })
    }

    pub fn clear(&mut self, call_id: &str) {
        for pending in &mut self.calls {
            if pending.call.id == call_id && matches!(pending.stage, Stage::Wanted(_)) {
                pending.stage = Stage::Cleared;
            }
        }
    }

    pub fn refuse(&mut self, call_id: &str, why: &str, now: u64) -> Option<ToolResult> {
        let pending = self.calls.iter_mut().find(|pending| {
            pending.call.id == call_id && matches!(pending.stage, Stage::Wanted(_))
        })?;
        pending.stage = Stage::Done;
        Some(refusal(&pending.call, why, now))
    }

    /// Whether this result was waited for.
    pub fn finish(&mut self, result: &ToolResult) -> bool {
        let found = self.calls.iter_mut().find(|pending| {
            pending.call.id == result.tool_call_id && pending.stage == Stage::Running
        });
        found.is_some_and(|pending| {
            pending.stage = Stage::Done;
            true
        })
    }

    /// What has not begun will not; what runs is waited for.
    pub fn stop(&mut self, now: u64) -> Vec<ToolResult> {
        self.stopping = true;
        let begun = |stage: &Stage| matches!(stage, Stage::Running | Stage::Done);
        let waiting = self.calls.iter_mut().filter(|p| !begun(&p.stage));
        waiting
            .map(|pending| {
                pending.stage = Stage::Done;
                refusal(&pending.call, INTERRUPTED, now)
            })
            .collect()
    }
}

/// The results of calls that will not run at all.
pub(super) fn broken_off(calls: &[ToolCall], cut: bool, now: u64) -> Vec<ToolResult> {
    let why = if cut { CUT } else { INTERRUPTED };
    calls.iter().map(|call| refusal(call, why, now)).collect()
}

fn refusal(call: &ToolCall, why: &str, now: u64) -> ToolResult {
    ToolResult {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        content: vec![Block::text(why)],
        details: None,
        is_error: true,
        timestamp: now,
    }
}
