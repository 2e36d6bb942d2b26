//! The tools of `sm mcp`: what an agent can do for the session it runs in, and for no other. Who asks is
//! proven as everywhere, by the session's secret in this program's environment.
//!
//! Every answer comes within two seconds: what did not work is said with what to do instead. A handoff
//! that got no answer keeps its id, so that asking again is asking for the same one.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use sm_agents::own_tools::TOOLS;
use sm_client::Paths;
use sm_client::http::Line;
use sm_core::template::handoff_template;
use sm_daemon::api::types::{FoundView, HandoffBody};
use sm_daemon::ask::secret_hash;

use super::handoff::told;
use crate::client::{ArchiveSearch, Daemon, fresh_id};
use crate::environment::Own;
use crate::error::{CommandError, Kind, Result};
use crate::text::one_line;

/// How long whoever is asked may take, so that all is said within two seconds.
const PATIENCE: Duration = Duration::from_millis(1_300);
/// What an agent takes whole, in bytes.
const LONGEST_ANSWER: usize = 9_000;
/// More lines found are said to be there, and not shown.
const MOST_LINES: usize = 60;
/// Of one line that was found.
const LONGEST_LINE: usize = 400;
/// Handoffs that got no answer; more than anybody asks for.
const MOST_UNANSWERED: usize = 32;
/// After this it is another wish, whatever it says.
const SAME_WISH: Duration = Duration::from_secs(600);

/// What a tool has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub text: String,
    pub is_failure: bool,
}

impl Said {
    fn done(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_failure: false,
        }
    }

    pub fn failed(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_failure: true,
        }
    }
}

impl From<CommandError> for Said {
    fn from(error: CommandError) -> Self {
        let mut text = format!("Error: {}", error.message);
        for hint in &error.hints {
            text.push_str("\nhint: ");
            text.push_str(hint);
        }
        Self::failed(text)
    }
}

/// The session that is asked for, and what got no answer.
pub struct Tools {
    own: Option<Own>,
    unanswered: Mutex<HashMap<String, (String, Instant)>>,
}

#[derive(Deserialize)]
struct Handoff {
    document: String,
    #[serde(default)]
    focus: Option<String>,
}

#[derive(Deserialize)]
struct Search {
    pattern: String,
    #[serde(default)]
    ignore_case: bool,
}

impl Tools {
    pub fn of_session() -> Self {
        Self {
            own: Own::from_env(),
            unanswered: Mutex::default(),
        }
    }

    /// What is said of a call that took too long all the same.
    pub fn too_slow(name: &str) -> Said {
        Said::failed(match name {
            "handoff" => format!("Error: sm did not answer in time. {SAME_AGAIN}"),
            _ => "Error: sm did not answer in time: call the tool again, or go on without it"
                .to_owned(),
        })
    }

    /// The same as words for a model.
    pub fn call(&self, name: &str, arguments: Value) -> Said {
        self.answer(name, arguments)
            .map_or_else(Said::from, Said::done)
    }

    /// May take up to two seconds.
    pub fn answer(&self, name: &str, arguments: Value) -> Result<String> {
        let Some(own) = &self.own else {
            return Err(CommandError::refused(
                "this is not inside a session of sm, so there is nothing to hand over or to show",
            )
            .hint("start the agent with `sm new` or `sm run`"));
        };
        let [handoff, template, context, search, whoami] = TOOLS;
        match name {
            _ if name == handoff => self.handoff(own, arguments),
            _ if name == template => Ok(handoff_template().to_owned()),
            _ if name == context => self::context(own),
            _ if name == search => self::search(own, arguments),
            _ if name == whoami => self::whoami(own),
            _ => Err(CommandError::usage("there is no such tool")),
        }
    }

    fn handoff(&self, own: &Own, arguments: Value) -> Result<String> {
        let wish: Handoff = read(arguments, "`document`: the text of the handoff document")?;
        let same = secret_hash(&wish.document);
        let body = HandoffBody {
            id: Some(self.id_of(&same)?),
            requester_session_id: Some(own.id.clone()),
            document: Some(wish.document),
            note: wish.focus.filter(|focus| !focus.trim().is_empty()),
            ..HandoffBody::default()
        };
        let asked = Daemon::of_session().and_then(|to| to.within(PATIENCE).handoff(&own.id, &body));
        let answer = match asked {
            Ok(answer) => answer.value,
            Err(error) => {
                // refused: asking again is another wish
                if error.kind == Kind::Refused {
                    self.answered(&same);
                    return Err(error);
                }
                return Err(error.hint(SAME_AGAIN).hint(match Paths::run_folder() {
                    Some(_) => "no answer again: write the document into a file and run `sm channel create FILE`",
                    None => "no answer again: write the document into a file and tell the user to run `sm doctor`",
                }));
            }
        };
        self.answered(&same);
        match &answer.error {
            Some(why) => Err(CommandError::refused(why.clone())),
            None => Ok(format!("{}\nEnd your turn now.", told(&answer).join("\n"))),
        }
    }

    /// The same for the same document, until it is answered.
    fn id_of(&self, same: &str) -> Result<String> {
        let mut unanswered = self
            .unanswered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        unanswered.retain(|_, (_, since)| since.elapsed() < SAME_WISH);
        if let Some((id, _)) = unanswered.get(same) {
            return Ok(id.clone());
        }
        let id = format!("h{}", fresh_id(10)?);
        if unanswered.len() < MOST_UNANSWERED {
            unanswered.insert(same.to_owned(), (id.clone(), Instant::now()));
        }
        Ok(id)
    }

    fn answered(&self, same: &str) {
        let mut unanswered = self
            .unanswered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        unanswered.remove(same);
    }
}

/// What to do about a handoff without an answer.
const SAME_AGAIN: &str =
    "call handoff again with the same document: it may have been taken already, and counts once";

fn read<T: for<'a> Deserialize<'a>>(arguments: Value, needed: &str) -> Result<T> {
    serde_json::from_value(arguments)
        .map_err(|error| CommandError::usage(format!("it needs {needed} ({error})")))
}

/// Whoever knows more of a session than its `sm run` does.
fn daemon() -> Result<Daemon> {
    Ok(Daemon::open()?.within(PATIENCE))
}

/// Why the daemon does not know this session, where that has a reason.
fn explained(error: CommandError) -> CommandError {
    match Paths::run_folder() {
        Some(_) => error.hint(
            "this session runs in `sm run`, which keeps only its handoffs: more is known of it while a daemon runs (`sm serve`)",
        ),
        None => error.hint("go on without it, or try again; `sm doctor` looks for the cause"),
    }
}

fn context(own: &Own) -> Result<String> {
    let report = daemon()?.context(&own.id).map_err(explained)?.value;
    let thresholds: Vec<Value> = report
        .thresholds
        .iter()
        .map(|threshold| json!({"percent": threshold.percent, "level": threshold.level, "said": threshold.said}))
        .collect();
    Ok(json!({
        "used_percentage": report.used_percentage,
        "tokens": report.tokens,
        "window": report.window,
        "usable": report.usable,
        "usable_percentage": report.usable_percentage,
        "measured_at": report.at,
        "generation": report.generation,
        "compactions": report.compactions,
        "thresholds": thresholds,
    })
    .to_string())
}

fn whoami(own: &Own) -> Result<String> {
    let session = daemon()?.session(&own.id).map_err(explained)?.value;
    Ok(json!({
        "id": session.id,
        "name": session.name,
        "agent": session.agent,
        "state": session.state,
        "generation": session.generation,
        "cwd": session.cwd,
        "parent": session.parent,
        "used_percentage": session.context.used_percentage,
        "handoff": session.handoff,
    })
    .to_string())
}

fn search(own: &Own, arguments: Value) -> Result<String> {
    let wish: Search = read(arguments, "`pattern`: a regular expression")?;
    let wanted = ArchiveSearch {
        pattern: &wish.pattern,
        ignore_case: wish.ignore_case,
        context: 0,
        generation: None,
    };
    let until = Instant::now() + PATIENCE;
    let mut lines = daemon()?
        .archive_search(&own.id, &wanted)
        .map_err(explained)?;
    let elsewhere = || format!("sm archive {} grep PATTERN", own.id);
    let mut text = String::new();
    let mut count = 0;
    loop {
        let line = match lines.next(Some(until)) {
            Ok(Line::Text(line)) => line,
            Ok(Line::End) if count == 0 => return Ok("nothing matches".to_owned()),
            Ok(Line::End) => return Ok(text),
            Ok(Line::Quiet) => {
                text.push_str(&format!(
                    "[there was no time for more: search again, or run `{}`]",
                    elsewhere()
                ));
                return Ok(text);
            }
            Err(error) => {
                return Err(explained(CommandError::not_usable(format!(
                    "the answer broke off: {error}"
                ))));
            }
        };
        let found: FoundView = serde_json::from_str(&line)
            .map_err(|_| CommandError::not_usable("the daemon's answer is not understood"))?;
        let shown: String = one_line(&found.text).chars().take(LONGEST_LINE).collect();
        let line = format!("{}:{}: {shown}\n", found.generation, found.line);
        if count == MOST_LINES || text.len() + line.len() > LONGEST_ANSWER {
            text.push_str(&format!(
                "[more matches than are shown: make the pattern narrower, or run `{}`]",
                elsewhere()
            ));
            return Ok(text);
        }
        text.push_str(&line);
        count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools() -> Tools {
        Tools {
            own: None,
            unanswered: Mutex::default(),
        }
    }

    #[test]
    fn outside_of_a_session_every_tool_says_so() {
        for name in TOOLS {
            let said = tools().call(name, json!({"document": "x", "pattern": "x"}));
            assert!(
                said.is_failure && said.text.contains("not inside a session"),
                "{said:?}"
            );
        }
    }

    #[test]
    fn a_wish_without_an_answer_keeps_its_id() {
        let tools = tools();
        let first = tools.id_of("a").unwrap();
        assert_eq!(tools.id_of("a").unwrap(), first);
        assert_ne!(tools.id_of("b").unwrap(), first);
        tools.answered("a");
        assert_ne!(tools.id_of("a").unwrap(), first);
        for number in 0..100 {
            tools.id_of(&number.to_string()).unwrap();
        }
        assert!(tools.unanswered.lock().unwrap().len() <= MOST_UNANSWERED);
    }

    #[test]
    fn what_is_missing_is_named() {
        let own = Own {
            id: "1a2b3c4d".to_owned(),
            secret: None,
        };
        let tools = Tools {
            own: Some(own),
            unanswered: Mutex::default(),
        };
        for (name, arguments, needed) in [
            ("handoff", json!({}), "document"),
            ("handoff", json!({"document": 5}), "document"),
            ("handoff", json!([1]), "document"),
            ("archive_search", json!({"pattern": null}), "pattern"),
        ] {
            let said = tools.call(name, arguments.clone());
            assert!(
                said.is_failure && said.text.contains(needed),
                "{arguments}: {said:?}"
            );
        }
    }
}
