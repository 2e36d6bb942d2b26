//! What the agent's updates mean for the daemon. Pure, but for finding a session's file when it has
//! just been made.

use std::path::PathBuf;

use sm_agents::native::told::{Place, Told, What};
use sm_agents::tool_call::describe;
use sm_core::ids::ConversationId;
use sm_core::signal::{Activity, ContextSource, PersonNeed, ToolCall};

use super::caller::Line;
use crate::host::{SessionView, State, Update};
use crate::session;
use crate::turn::End;

/// Hears every update, and says what is to be told.
#[derive(Debug)]
pub struct Teller {
    sessions: PathBuf,
    cwd: PathBuf,
    place: Place,
    doing: Doing,
    /// A session was begun by a handoff in the middle of the work. If the work goes on there, its
    /// first prompt says so, and nobody takes the moment in between for an idle agent.
    begun: Option<ContextSource>,
    /// What the status file says.
    shown: Option<(String, Doing)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Doing {
    Nothing,
    Work,
    /// A call of this tool waits for a person.
    Waiting(String),
}

impl Teller {
    pub fn new(sessions: PathBuf, cwd: PathBuf) -> Self {
        Self {
            sessions,
            cwd,
            place: Place::default(),
            doing: Doing::Nothing,
            begun: None,
            shown: None,
        }
    }

    pub fn hear(&mut self, update: &Update) -> Vec<Line> {
        let mut whats = self.whats(update);
        if let [first, ..] = whats.as_slice()
            && let Some(source) = self.begun
            && !matches!(first, What::Usage { .. })
        {
            self.begun = None;
            if !matches!(first, What::Prompt(_)) {
                whats.insert(0, What::Started(source));
            }
        }
        let mut lines: Vec<Line> = whats
            .into_iter()
            .map(|what| {
                Line::Told(Told {
                    place: self.place.clone(),
                    what,
                })
            })
            .collect();
        let now = (self.place.id.clone(), self.doing.clone());
        if self.begun.is_none() && self.shown.as_ref() != Some(&now) && !self.place.id.is_empty() {
            self.shown = Some(now);
            lines.push(self.status());
        }
        lines
    }

    fn whats(&mut self, update: &Update) -> Vec<What> {
        match update {
            Update::Started(view) => {
                let source = match view.path {
                    Some(_) => ContextSource::Resume,
                    None => ContextSource::Startup,
                };
                self.moved(view, source)
            }
            Update::Rebuilt(view) if view.id != self.place.id => {
                let source = match (&view.parent, &view.path) {
                    // Made by a handoff: it has its file from the beginning.
                    (Some(parent), Some(_)) if self.is_here(parent) => ContextSource::Fork,
                    (_, None) => ContextSource::Clear,
                    (_, Some(_)) => ContextSource::Resume,
                };
                self.moved(view, source)
            }
            Update::UserMessage(text) => {
                self.find();
                self.doing = Doing::Work;
                vec![What::Prompt(text.clone())]
            }
            Update::ApprovalWanted { call, .. } => {
                self.doing = Doing::Waiting(call.name.clone());
                let input = serde_json::Value::Object(call.arguments.clone());
                let described = describe(&call.name, &input);
                vec![What::Approval(described.unwrap_or(ToolCall {
                    tool: call.name.clone(),
                    text: String::new(),
                }))]
            }
            Update::ToolDone(_) if self.doing == Doing::Work => vec![What::Working],
            Update::TurnEnded(end) => {
                self.doing = Doing::Nothing;
                vec![match end {
                    End::Done => What::Done,
                    End::Interrupted => What::Interrupted,
                    End::Failed(why) => What::Failed(why.clone()),
                }]
            }
            Update::State(State::Idle) if self.doing != Doing::Nothing => {
                self.doing = Doing::Nothing;
                vec![What::Done]
            }
            Update::State(State::Working | State::HandingOff { .. })
                if self.doing != Doing::Work =>
            {
                self.doing = Doing::Work;
                vec![What::Working]
            }
            Update::Usage { tokens, window, .. } if *tokens > 0 => vec![What::Usage {
                tokens: *tokens,
                window: *window,
            }],
            Update::Rebuilt(_)
            | Update::Delta(_)
            | Update::Assistant(_)
            | Update::ToolStarted(_)
            | Update::ToolOutput { .. }
            | Update::ToolDone(_)
            | Update::Queued { .. }
            | Update::Returned(_)
            | Update::Usage { .. }
            | Update::State(_)
            | Update::HandoffText(_)
            | Update::EditWanted(_)
            | Update::Handoff { .. }
            | Update::Title(_)
            | Update::Model { .. }
            | Update::Todos(_)
            | Update::Prompts(_)
            | Update::ShellDone { .. }
            | Update::Notice(_)
            | Update::Error(_)
            | Update::Ended => Vec::new(),
        }
    }

    fn moved(&mut self, view: &SessionView, source: ContextSource) -> Vec<What> {
        let path = view.path.as_ref();
        self.place = Place {
            id: view.id.clone(),
            path: path.map(|path| path.to_string_lossy().into_owned()),
        };
        if source == ContextSource::Fork && self.doing == Doing::Work {
            self.begun = Some(source);
            return Vec::new();
        }
        self.doing = Doing::Nothing;
        let mut whats = vec![What::Started(source)];
        if view.tokens > 0 {
            whats.push(What::Usage {
                tokens: view.tokens,
                window: view.window,
            });
        }
        whats
    }

    fn is_here(&self, path: &std::path::Path) -> bool {
        let here = self.place.path.as_ref();
        here.is_some_and(|here| path == std::path::Path::new(here))
    }

    /// A file is made with the first thing that is said.
    fn find(&mut self) {
        if self.place.path.is_none() {
            let found = session::find(&self.sessions, &self.cwd, &self.place.id);
            let path = found.ok();
            self.place.path = path.map(|path| path.to_string_lossy().into_owned());
        }
    }

    fn status(&self) -> Line {
        Line::Status {
            conversation: ConversationId::new(self.place.id.clone()).ok(),
            activity: match &self.doing {
                Doing::Nothing => Activity::Idle,
                Doing::Work => Activity::Busy,
                Doing::Waiting(tool) => Activity::Waiting(PersonNeed::Permission(tool.clone())),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sm_llm::ToolCall;

    fn view(id: &str, path: Option<&str>, parent: Option<&str>) -> SessionView {
        SessionView {
            id: id.to_owned(),
            path: path.map(PathBuf::from),
            parent: parent.map(PathBuf::from),
            ..SessionView::default()
        }
    }

    /// What is told, in a few words; `=` before what the status file says.
    fn hear(teller: &mut Teller, update: Update) -> String {
        let lines = teller.hear(&update);
        let words = lines.iter().map(|line| match line {
            Line::Told(told) => format!("{} {:?}", told.place.id, told.what),
            Line::Status {
                conversation,
                activity,
            } => format!("={} {activity:?}", conversation.as_ref().unwrap()),
            Line::Goodbye => "goodbye".to_owned(),
        });
        words.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn every_change_is_told_once_and_the_status_follows() {
        let mut teller = Teller::new("/nothing".into(), "/w".into());
        let call = ToolCall {
            id: "1".to_owned(),
            name: "bash".to_owned(),
            arguments: [("command".to_owned(), "make".into())]
                .into_iter()
                .collect(),
        };
        let wanted = crate::approval::Wanted {
            what: "run it".to_owned(),
            always: crate::approval::Rule::parse("bash:true", "/w".as_ref()).unwrap(),
        };
        let handing = State::HandingOff {
            goal: crate::turn::Goal::NextSession,
            automatic: true,
            attempt: 1,
        };
        let rows = [
            (
                Update::Started(view("a", None, None)),
                "a Started(Startup); =a Idle",
            ),
            (
                Update::UserMessage("go".to_owned()),
                "a Prompt(\"go\"); =a Busy",
            ),
            (Update::State(State::Working), ""),
            (
                Update::ApprovalWanted { call, wanted },
                "a Approval(ToolCall { tool: \"bash\", text: \"make\" }); =a Waiting(Permission(\"bash\"))",
            ),
            (Update::State(State::Waiting), ""),
            (Update::State(State::Working), "a Working; =a Busy"),
            (
                Update::Usage {
                    tokens: 5,
                    window: 10,
                    cost: 0.0,
                },
                "a Usage { tokens: 5, window: 10 }",
            ),
            (Update::TurnEnded(End::Done), "a Done; =a Idle"),
            (Update::State(State::Idle), ""),
            // a handoff that comes to nothing
            (Update::State(handing), "a Working; =a Busy"),
            (Update::State(State::Idle), "a Done; =a Idle"),
            // a person's own `/new`, and the way back
            (
                Update::Rebuilt(view("b", None, None)),
                "b Started(Clear); =b Idle",
            ),
            (
                Update::Rebuilt(view("a", Some("/s/a"), None)),
                "a Started(Resume); =a Idle",
            ),
            (Update::Rebuilt(view("a", Some("/s/a"), None)), ""),
            // the agent's own handoff, which goes on in the middle of a turn
            (Update::State(handing), "a Working; =a Busy"),
            (Update::Rebuilt(view("c", Some("/s/c"), Some("/s/a"))), ""),
            (
                Update::UserMessage("go on".to_owned()),
                "c Prompt(\"go on\"); =c Busy",
            ),
            (
                Update::TurnEnded(End::Failed("offline".to_owned())),
                "c Failed(\"offline\"); =c Idle",
            ),
            // and one that does not
            (Update::State(handing), "c Working; =c Busy"),
            (Update::Rebuilt(view("d", Some("/s/d"), Some("/s/c"))), ""),
            (
                Update::State(State::Idle),
                "d Started(Fork); d Done; =d Idle",
            ),
        ];
        for (update, expected) in rows {
            let shown = format!("{update:?}");
            assert_eq!(hear(&mut teller, update), expected, "after {shown}");
        }
    }
}
