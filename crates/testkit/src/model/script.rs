//! What to answer: the directives of the last real user message. Pure.
//!
//! | line in the prompt | effect |
//! |---|---|
//! | `RUN: <command>` | a shell tool call, then `RUN done` after its result |
//! | `THEN: <command>` | one more call, after the result of the one before; as many as there are |
//! | `THENREPLY:` | after the results the sticky reply, in the place of `RUN done` |
//! | `RUNMANY: <n> <command>` | n such calls, one for each round trip |
//! | `TOOL: <name> <json>` | any tool call; `<group>/<name>` for one of a group of tools |
//! | `SAY: <text>` | that text |
//! | `SLEEP: <seconds>` | streams a first part, then stalls this long |
//! | `HOLD: <name>` | streams a first part, then waits until the test releases that name |
//! | `HOLDAFTER: <name>` | the same, but only in answers to tool results |
//! | `HOLDEND: <name>` | the same, but only in the answer that ends the turn |
//! | `HOLDSTART: <name>` | says nothing at all until the test releases that name |
//! | `DRIP: <milliseconds>` | the text comes word by word, each so much after the one before (Anthropic) |
//! | `THINK: <text>` | thoughts before the answer |
//! | `FAIL: <status>` | answers with this HTTP status |
//!
//! A prompt that the test does not write itself is given its lines by [`Control::when`]. Without any
//! line the answer is [`Control::reply`]'s, or that of a model that obeys ([`Control::obey`]).

use std::time::Duration;

use serde_json::{Value, json};

use super::control::Control;
use super::obey;
use super::request::item_texts;

/// Parts of a user message that the agent wrote, not the person.
const WRAPPERS: [&str; 8] = [
    "system-reminder",
    "environment_context",
    "user_instructions",
    "local-command-caveat",
    "command-name",
    "command-message",
    "command-args",
    "local-command-stdout",
];

/// What the protocols read out of a request for the script.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Conversation {
    /// The last message a person wrote, wrappers removed.
    pub last_user: String,
    /// Tool results since then.
    pub results: usize,
    /// The tools on offer.
    pub tools: Vec<String>,
    /// The agent asks for a summary of its own context.
    pub compacting: bool,
    /// A side call that wants an object of this schema and must never be held up.
    pub schema: Option<Value>,
    /// Everything the model was told: instructions, prompts, results of its calls.
    pub told: Vec<String>,
    /// What it said and called itself, as JSON.
    pub own: String,
    /// Messages of the conversation.
    pub messages: usize,
}

impl Conversation {
    /// Keeps one message of the conversation.
    pub(super) fn keep(&mut self, message: &Value, own: bool) {
        self.messages += 1;
        if own {
            self.own.push_str(&message.to_string());
        } else {
            self.told.extend(item_texts(message));
        }
    }
}

/// How long an answer stalls after its first part.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Stall {
    /// Before the first byte.
    pub start: Option<String>,
    pub sleep: Duration,
    pub hold: Option<String>,
}

/// What the model does in this round trip.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    Fail { status: u16, message: String },
    Tool { name: String, input: Value },
    Text(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Act {
    pub stall: Stall,
    /// What the model thinks before it answers.
    pub thoughts: Option<String>,
    /// How much later each word of a text comes.
    pub drip: Option<Duration>,
    pub outcome: Outcome,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Directives {
    run: Option<String>,
    then: Vec<String>,
    then_reply: bool,
    run_many: Option<(usize, String)>,
    tool: Option<(String, Value)>,
    say: Option<String>,
    sleep: Option<Duration>,
    hold: Option<String>,
    hold_after: Option<String>,
    hold_end: Option<String>,
    hold_start: Option<String>,
    drip: Option<Duration>,
    think: Option<String>,
    fail: Option<u16>,
}

impl Directives {
    /// The last line of each kind wins, but for `THEN`.
    pub(super) fn parse(text: &str) -> Self {
        let mut found = Self::default();
        for line in text.lines() {
            let Some((word, value)) = line.trim_start().split_once(':') else {
                continue;
            };
            let value = value.trim();
            match word {
                "RUN" => found.run = Some(value.to_owned()),
                "THEN" => found.then.push(value.to_owned()),
                "THENREPLY" => found.then_reply = true,
                "RUNMANY" => {
                    found.run_many = value
                        .split_once(' ')
                        .and_then(|(n, command)| Some((n.parse().ok()?, command.to_owned())));
                }
                "TOOL" => {
                    found.tool = value.split_once(' ').and_then(|(name, input)| {
                        Some((name.to_owned(), serde_json::from_str(input).ok()?))
                    });
                }
                "SAY" => found.say = Some(value.to_owned()),
                "SLEEP" => found.sleep = seconds(value.parse().ok()),
                "HOLD" => found.hold = Some(value.to_owned()),
                "HOLDAFTER" => found.hold_after = Some(value.to_owned()),
                "HOLDEND" => found.hold_end = Some(value.to_owned()),
                "HOLDSTART" => found.hold_start = Some(value.to_owned()),
                "DRIP" => found.drip = value.parse().ok().map(Duration::from_millis),
                "THINK" => found.think = Some(value.to_owned()),
                "FAIL" => found.fail = value.parse().ok(),
                _ => {}
            }
        }
        found
    }

    /// The call of this round trip, if the script has so many.
    fn call(&self, results: usize, tools: &[String]) -> Option<Outcome> {
        let first = match (&self.run, &self.tool) {
            (Some(command), _) => Some(shell_call(tools, command)),
            (None, Some((name, input))) => Some(Outcome::Tool {
                name: name.clone(),
                input: input.clone(),
            }),
            (None, None) => None,
        };
        let then = self.then.iter().map(|command| shell_call(tools, command));
        first.into_iter().chain(then).nth(results)
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Removes what the agent wrapped around the person's own words.
pub(super) fn strip_wrappers(text: &str) -> String {
    let mut text = text.to_owned();
    for tag in WRAPPERS {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        while let Some(start) = text.find(&open) {
            let Some(length) = text[start..].find(&close) else {
                break;
            };
            text.replace_range(start..start + length + close.len(), "");
        }
    }
    text.trim().to_owned()
}

/// Whether a request's last item asks the model for a summary of the conversation.
pub(super) fn asks_for_summary(last: Option<&Value>) -> bool {
    let last = last.map(Value::to_string).unwrap_or_default();
    last.contains("Respond with TEXT ONLY") || last.contains("CONTEXT CHECKPOINT COMPACTION")
}

/// Decides one round trip.
pub(super) fn decide(conversation: &Conversation, control: &mut Control) -> Act {
    let text = |text: &str| Outcome::Text(text.to_owned());
    if let Some(schema) = &conversation.schema {
        return Act {
            stall: Stall::default(),
            thoughts: None,
            drip: None,
            outcome: Outcome::Text(fill(schema)),
        };
    }
    if !conversation.tools.is_empty()
        && let Some(fail) = control.take_failure()
    {
        let outcome = Outcome::Fail {
            status: fail.status,
            message: fail.message,
        };
        return Act {
            stall: Stall::default(),
            thoughts: None,
            drip: None,
            outcome,
        };
    }
    if conversation.compacting {
        let sleep = seconds(Some(control.compact_sleep)).unwrap_or_default();
        let summary =
            "<analysis>fake analysis</analysis>\n<summary>\nFAKE COMPACT SUMMARY\n</summary>";
        return Act {
            stall: Stall {
                start: None,
                sleep,
                hold: control.compact_hold.clone(),
            },
            thoughts: None,
            drip: None,
            outcome: text(summary),
        };
    }
    let directives = Directives::parse(&control.told(&conversation.last_user));
    let offered = !conversation.tools.is_empty();
    if control.obey && offered && directives.is_empty() {
        return Act {
            stall: Stall::default(),
            thoughts: None,
            drip: None,
            outcome: obey::next(conversation, control),
        };
    }
    let first = conversation.results == 0;
    let after = directives.hold_after.clone().filter(|_| !first);
    let call = directives.call(conversation.results, &conversation.tools);
    let call = call.filter(|_| offered);
    let end = directives.hold_end.clone().filter(|_| call.is_none());
    let stall = Stall {
        start: directives.hold_start.clone(),
        sleep: directives.sleep.unwrap_or_default(),
        hold: end.or(after).or_else(|| directives.hold.clone()),
    };
    let outcome = if let Some(status) = directives.fail {
        Outcome::Fail {
            status,
            message: "fake failure".into(),
        }
    } else if let Some((times, command)) = directives.run_many.filter(|_| offered) {
        if conversation.results < times {
            shell_call(&conversation.tools, &command)
        } else {
            text("RUNMANY done")
        }
    } else if let Some(call) = call {
        call
    } else if let Some(reply) = control.reply.as_ref().filter(|_| directives.then_reply) {
        text(reply)
    } else if !first {
        text("RUN done")
    } else if let Some(say) = directives.say {
        Outcome::Text(say)
    } else if let Some(reply) = &control.reply {
        text(reply)
    } else {
        let start: String = conversation.last_user.chars().take(60).collect();
        let start = if start.is_empty() {
            "(nothing)".to_owned()
        } else {
            start.replace('\n', " ")
        };
        Outcome::Text(format!("Fake reply to: {start}"))
    };
    Act {
        stall,
        thoughts: directives.think,
        drip: directives.drip,
        outcome,
    }
}

fn seconds(value: Option<f64>) -> Option<Duration> {
    value.and_then(|s| Duration::try_from_secs_f64(s).ok())
}

/// The call of whichever shell tool this agent offers.
pub(super) fn shell_call(tools: &[String], command: &str) -> Outcome {
    let known = [
        "Bash",
        "bash",
        "exec_command",
        "shell_command",
        "shell",
        "local_shell",
    ];
    let name = known
        .into_iter()
        .find(|name| tools.iter().any(|t| t == name))
        .unwrap_or("Bash");
    let input = match name {
        "exec_command" => json!({"cmd": command}),
        "shell_command" => json!({"command": command}),
        "shell" | "local_shell" => json!({"command": ["bash", "-lc", command]}),
        _ => json!({"command": command, "description": "run a command"}),
    };
    Outcome::Tool {
        name: name.to_owned(),
        input,
    }
}

/// An object with a value for each property of the schema.
fn fill(schema: &Value) -> String {
    let mut object = serde_json::Map::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let value = if property["type"] == "string" {
            json!("Fake title")
        } else {
            json!(true)
        };
        object.insert(name.clone(), value);
    }
    Value::Object(object).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::control::When;
    use super::*;

    fn talk(last_user: &str, results: usize) -> Conversation {
        let tools = vec!["Bash".to_owned()];
        Conversation {
            last_user: last_user.into(),
            results,
            tools,
            ..Conversation::default()
        }
    }

    fn outcome(last_user: &str, results: usize) -> Outcome {
        decide(&talk(last_user, results), &mut Control::default()).outcome
    }

    fn bash(command: &str) -> Outcome {
        let input = json!({"command": command, "description": "run a command"});
        Outcome::Tool {
            name: "Bash".into(),
            input,
        }
    }

    #[test]
    fn directives_decide_the_answer() {
        let text = |t: &str| Outcome::Text(t.into());
        for (prompt, results, expected) in [
            ("SAY: hi", 0, text("hi")),
            ("first line\n  SAY: hi there ", 0, text("hi there")),
            ("RUN: ls -l: x", 0, bash("ls -l: x")),
            ("RUN: ls", 1, text("RUN done")),
            ("RUN: ls\nTHEN: pwd\nTHEN: who", 0, bash("ls")),
            ("RUN: ls\nTHEN: pwd\nTHEN: who", 1, bash("pwd")),
            ("RUN: ls\nTHEN: pwd\nTHEN: who", 2, bash("who")),
            ("RUN: ls\nTHEN: pwd\nTHEN: who", 3, text("RUN done")),
            ("RUNMANY: 2 ls", 1, bash("ls")),
            ("RUNMANY: 2 ls", 2, text("RUNMANY done")),
            (
                "TOOL: Read {\"p\":1}",
                0,
                Outcome::Tool {
                    name: "Read".into(),
                    input: json!({"p":1}),
                },
            ),
            (
                "FAIL: 500",
                0,
                Outcome::Fail {
                    status: 500,
                    message: "fake failure".into(),
                },
            ),
            ("hello\nyou", 0, text("Fake reply to: hello you")),
            ("", 0, text("Fake reply to: (nothing)")),
        ] {
            assert_eq!(outcome(prompt, results), expected, "{prompt}");
        }
    }

    #[test]
    fn the_sticky_reply_can_follow_a_result() {
        let mut control = Control {
            reply: Some("the document".into()),
            ..Control::default()
        };
        let talk = |results| talk("RUN: ls\nTHENREPLY:", results);
        assert_eq!(decide(&talk(0), &mut control).outcome, bash("ls"));
        let told = decide(&talk(1), &mut control).outcome;
        assert_eq!(told, Outcome::Text("the document".into()));
    }

    #[test]
    fn a_prompt_of_somebody_else_is_given_its_lines() {
        let mut control = Control::default();
        control.when.push(When {
            has: "Read /a.md".into(),
            act: "RUN: cat /a.md".into(),
        });
        let decide = |text: &str, control: &mut Control| decide(&talk(text, 0), control).outcome;
        assert_eq!(
            decide("Read /a.md and go on.", &mut control),
            bash("cat /a.md")
        );
        assert_ne!(
            decide("Read /b.md and go on.", &mut control),
            bash("cat /a.md")
        );
    }

    #[test]
    fn stalls_are_kept_apart_from_the_answer() {
        let act = decide(
            &talk("SLEEP: 1.5\nHOLD: gate\nSAY: x", 0),
            &mut Control::default(),
        );
        assert_eq!(act.stall.sleep, Duration::from_millis(1500));
        assert_eq!(act.stall.hold.as_deref(), Some("gate"));
        let held = |results| {
            let after = talk("HOLDAFTER: later\nRUN: ls", results);
            decide(&after, &mut Control::default()).stall.hold
        };
        assert_eq!((held(0), held(1).as_deref()), (None, Some("later")));
        let held = |results| {
            let end = talk("HOLDEND: last\nRUN: ls\nTHEN: pwd", results);
            decide(&end, &mut Control::default()).stall.hold
        };
        assert_eq!((held(1), held(2).as_deref()), (None, Some("last")));
        let negative = decide(&talk("SLEEP: -1", 0), &mut Control::default());
        assert_eq!(negative.stall, Stall::default());
    }

    #[test]
    fn side_calls_are_never_held_up() {
        let schema =
            json!({"properties": {"title": {"type": "string"}, "ok": {"type": "boolean"}}});
        let side = Conversation {
            schema: Some(schema),
            ..talk("HOLD: x\nFAIL: 500", 0)
        };
        let act = decide(&side, &mut Control::default());
        assert_eq!(act.stall, Stall::default());
        assert_eq!(
            act.outcome,
            Outcome::Text(r#"{"title":"Fake title","ok":true}"#.into())
        );
    }

    #[test]
    fn wrappers_are_removed() {
        let text =
            "<system-reminder>SAY: no</system-reminder>\n SAY: yes <command-name>/x</command-name>";
        assert_eq!(strip_wrappers(text), "SAY: yes");
        assert_eq!(
            strip_wrappers("<system-reminder>open"),
            "<system-reminder>open"
        );
    }
}
