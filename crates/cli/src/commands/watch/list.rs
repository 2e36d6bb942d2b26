//! Which sessions are listed, in which order, and which of them need a person. Pure.

use std::cmp::Reverse;
use std::collections::HashMap;

use sm_daemon::api::types::SessionView;

use super::group::{self, Grouping};
use crate::gauge;
use crate::text::{Look, Tone, one_line};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    #[default]
    Name,
    State,
    Context,
    Activity,
}

impl Sort {
    pub fn next(self) -> Self {
        match self {
            Self::Name => Self::State,
            Self::State => Self::Context,
            Self::Context => Self::Activity,
            Self::Activity => Self::Name,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::State => "state",
            Self::Context => "context",
            Self::Activity => "activity",
        }
    }
}

/// Why a session needs a person; the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gravity {
    Waiting,
    Lost,
    Failed,
    /// A handoff that left no successor.
    RolledBack,
    Critical,
    Held,
    Quiet,
    Other,
}

impl Gravity {
    pub fn tone(self) -> Tone {
        match self {
            Self::Lost | Self::Failed | Self::RolledBack | Self::Critical => Tone::Bad,
            Self::Waiting | Self::Held | Self::Quiet | Self::Other => Tone::Warn,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attention {
    pub gravity: Gravity,
    pub why: String,
}

/// Whether a session needs a person, and why. What the daemon says counts first; how full a context
/// is and whether its agent has gone quiet is seen here.
pub fn attention(look: &Look, session: &SessionView) -> Option<Attention> {
    let said = session.attention.is_some();
    let reason = &session.state_reason;
    let found = |gravity, why: String| Some(Attention { gravity, why });
    match session.state.as_str() {
        "waiting" => {
            let why = asked(session).unwrap_or_else(|| format!("waits for you: {reason}"));
            return found(Gravity::Waiting, why);
        }
        "lost" => return found(Gravity::Lost, format!("lost: {reason}")),
        "exited" if said => return found(Gravity::Failed, format!("ended badly: {reason}")),
        "exited" => return None,
        _ => {}
    }
    if let Some(failed) = &session.failed_handoff {
        let why = format!("handoff {}: {}", failed_word(&failed.state), failed.reason);
        return found(Gravity::RolledBack, why);
    }
    if let Some(percent) = gauge::critical(&session.context) {
        return found(Gravity::Critical, format!("context {percent:.0}% full"));
    }
    if let (true, Some(why)) = (said && session.queue.held > 0, &session.queue.held_reason) {
        return found(Gravity::Held, format!("{} held: {why}", session.queue.held));
    }
    if let Some(quiet) = gauge::quiet(look, &session.context) {
        return found(Gravity::Quiet, quiet);
    }
    let why = session.attention.clone()?;
    found(Gravity::Other, why)
}

/// What a person is asked, the telling words first: a list has no room for a sentence.
pub fn asked(session: &SessionView) -> Option<String> {
    let waiting = session.waiting_for.as_ref();
    let waiting = waiting.filter(|_| session.state == "waiting")?;
    let request = waiting.request.as_deref()?;
    let tool = match (waiting.kind.as_str(), waiting.tool.as_deref()) {
        // The words of a question say that it is one.
        ("question", _) | (_, None) => String::new(),
        (_, Some(tool)) => format!("{tool}: "),
    };
    let more = match waiting.more {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    Some(format!("{tool}{request}{more}"))
}

fn failed_word(state: &str) -> String {
    state.replace('_', " ")
}

/// What a session that needs nobody is waiting for, or doing.
pub fn waits_for(session: &SessionView) -> String {
    if let Some(handoff) = &session.handoff {
        return format!("handoff {}", handoff.state);
    }
    match (session.queue.queued, &session.queue.held_reason) {
        (0, _) => session
            .activity
            .as_ref()
            .unwrap_or(&session.state_reason)
            .clone(),
        (queued, None) => format!("{queued} queued"),
        (queued, Some(why)) => format!("{queued} queued: {why}"),
    }
}

/// Whether it has every word that is looked for; `state:waiting` and `agent:codex` are exact.
pub fn matches(session: &SessionView, filter: &str) -> bool {
    let all = [
        session.name.as_str(),
        &session.agent,
        &session.state,
        &session.cwd,
        &session.id,
    ]
    .join("\n")
    .to_lowercase();
    filter
        .to_lowercase()
        .split_whitespace()
        .all(|word| match word.split_once(':') {
            Some(("state", state)) => session.state == state,
            Some(("agent", agent)) => session.agent == agent,
            Some(_) | None => all.contains(word),
        })
}

/// One session of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its place among all sessions.
    pub at: usize,
    pub attention: Option<Attention>,
    /// What it stands under, and how deep. Nothing: all stand together.
    pub under: Option<Under>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Under {
    pub title: String,
    pub depth: usize,
}

/// What decides among sessions that need nobody, or need somebody equally.
type Wanted = (i64, Reverse<String>, String, String);

fn wanted(session: &SessionView, sort: Sort) -> Wanted {
    let (first, newest) = match sort {
        Sort::Name => (0, String::new()),
        Sort::State => (rank(&session.state), String::new()),
        Sort::Context => {
            let full = gauge::known(session.context.used_percentage);
            // fuller ones first, unknown ones last
            let full = full.map_or(i64::MAX, |percent| -(percent * 100.0) as i64);
            (full, String::new())
        }
        Sort::Activity => (0, session.state_since.clone()),
    };
    let name = one_line(&session.name).to_lowercase();
    (first, Reverse(newest), name, session.id.clone())
}

/// Those that need a person first, by gravity; then the others under their headings, in the order
/// that is wanted. Of a family each parent is followed by its children.
pub fn listed(
    look: &Look,
    sessions: &[SessionView],
    filter: &str,
    sort: Sort,
    grouping: Grouping,
) -> Vec<Listed> {
    let places = match grouping {
        Grouping::Family => group::places(sessions),
        Grouping::None | Grouping::Directory => HashMap::new(),
    };
    let mut all: Vec<_> = sessions
        .iter()
        .enumerate()
        .filter(|(_, session)| matches(session, filter))
        .map(|(at, session)| {
            let attention = attention(look, session);
            let gravity = attention.as_ref().map(|found| found.gravity);
            let own = || vec![wanted(session, sort)];
            let (under, order) = match (grouping, gravity) {
                (Grouping::None, _) | (_, Some(_)) => (None, own()),
                (Grouping::Directory, None) => {
                    let title = look.path(&session.cwd);
                    (Some(Under { title, depth: 0 }), own())
                }
                (Grouping::Family, None) => {
                    let line = group::lineage(sessions, &places, at);
                    let members = line.iter().filter_map(|at| sessions.get(*at));
                    let title = line.first().and_then(|eldest| sessions.get(*eldest));
                    let under = Under {
                        title: title.map_or_else(String::new, |eldest| eldest.name.clone()),
                        depth: line.len() - 1,
                    };
                    (Some(under), members.map(|s| wanted(s, sort)).collect())
                }
            };
            let title = under.as_ref().map(|under| under.title.to_lowercase());
            let listed = Listed {
                at,
                attention,
                under,
            };
            ((gravity.is_none(), gravity, title, order), listed)
        })
        .collect();
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    all.into_iter().map(|(_, listed)| listed).collect()
}

fn rank(state: &str) -> i64 {
    match state {
        "waiting" => 0,
        "working" => 1,
        "handing_off" => 2,
        "compacting" => 3,
        "starting" => 4,
        "limited" => 5,
        "idle" => 6,
        "lost" => 7,
        "exited" => 8,
        _ => 9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::ls::tests::session;
    use crate::text::tests::look;
    use sm_daemon::api::types::WaitingView;

    fn state(name: &str, state: &str) -> SessionView {
        let mut session = session(name);
        session.state = state.into();
        session.state_reason = "why".into();
        session
    }

    #[test]
    fn who_needs_a_person() {
        let mut failed = state("a", "exited");
        failed.attention = Some("exit code 1".into());
        let mut full = state("a", "working");
        full.context.used_percentage = Some(91.2);
        let mut held = state("a", "idle");
        held.attention = Some("1 message held: a draft; see: sm queue ls db".into());
        (held.queue.queued, held.queue.held) = (2, 1);
        held.queue.held_reason = Some("a draft".into());
        let mut starting = state("a", "starting");
        starting.queue = held.queue.clone();
        let mut quiet = state("a", "working");
        quiet.context.quiet_since = Some("2026-03-01T11:30:00Z".into());
        let mut rolled_back = full.clone();
        rolled_back.attention = Some("as the daemon says it".into());
        rolled_back.failed_handoff = Some(crate::handoff::tests::failed("rolled_back"));
        let mut newer = state("a", "dreaming");
        newer.attention = Some("wake it".into());
        for (session, expected) in [
            (
                state("a", "waiting"),
                Some((Gravity::Waiting, "waits for you: why")),
            ),
            (state("a", "lost"), Some((Gravity::Lost, "lost: why"))),
            (failed, Some((Gravity::Failed, "ended badly: why"))),
            (state("a", "exited"), None),
            (
                rolled_back,
                Some((
                    Gravity::RolledBack,
                    "handoff rolled back: the successor could not be given its prompt",
                )),
            ),
            (full, Some((Gravity::Critical, "context 91% full"))),
            (held, Some((Gravity::Held, "1 held: a draft"))),
            (starting, None),
            (quiet, Some((Gravity::Quiet, "no sample for 30 min"))),
            (newer, Some((Gravity::Other, "wake it"))),
            (state("a", "idle"), None),
        ] {
            let found = attention(&look(), &session);
            let found = found.as_ref().map(|a| (a.gravity, a.why.as_str()));
            assert_eq!(found, expected, "{}", session.state);
        }
    }

    #[test]
    fn what_a_person_is_asked_comes_first() {
        let waiting = |kind: &str, tool: Option<&str>, request: Option<&str>, more| {
            let mut session = state("a", "waiting");
            session.state_reason = "it asks for permission".into();
            session.waiting_for = Some(WaitingView {
                kind: kind.into(),
                tool: tool.map(Into::into),
                request: request.map(Into::into),
                more,
            });
            attention(&look(), &session).unwrap().why
        };
        let bash = Some("Bash");
        for (found, expected) in [
            (
                waiting("permission", bash, Some("rm -rf build"), 0),
                "Bash: rm -rf build",
            ),
            (
                waiting("permission", bash, Some("make"), 2),
                "Bash: make (and 2 more)",
            ),
            (
                waiting("question", Some("AskUserQuestion"), Some("Which one?"), 0),
                "Which one?",
            ),
            (
                waiting("permission", bash, None, 0),
                "waits for you: it asks for permission",
            ),
        ] {
            assert_eq!(found, expected);
        }
        // an answer from before is nobody's question
        let mut working = state("a", "working");
        working.waiting_for = Some(WaitingView {
            kind: "permission".into(),
            tool: None,
            request: Some("make".into()),
            more: 0,
        });
        assert_eq!(asked(&working), None);
    }

    #[test]
    fn the_order_of_the_list() {
        let mut all = vec![
            state("b", "idle"),
            state("A", "working"),
            state("c", "lost"),
            state("d", "waiting"),
            state("e", "idle"),
        ];
        all[0].context.used_percentage = Some(10.0);
        all[1].context.used_percentage = None;
        all[4].context.used_percentage = Some(70.0);
        all[4].state_since = "2026-03-01T11:59:00Z".into();
        let names = |sort, filter| -> String {
            let listed = listed(&look(), &all, filter, sort, Grouping::None);
            listed.iter().map(|l| all[l.at].name.as_str()).collect()
        };
        assert_eq!(names(Sort::Name, ""), "dcAbe");
        assert_eq!(names(Sort::State, ""), "dcAbe");
        assert_eq!(names(Sort::Context, ""), "dcebA");
        assert_eq!(names(Sort::Activity, ""), "dceAb");
        assert_eq!(names(Sort::Name, "IDLE claude"), "be");
        assert_eq!(names(Sort::Name, "nothing"), "");
        assert_eq!(names(Sort::Name, "state:idle"), "be");
        assert_eq!(names(Sort::Name, "state:id"), "");
        assert_eq!(names(Sort::Name, "agent:claude e"), "dcAbe");
    }

    #[test]
    fn groups_come_after_those_who_need_somebody() {
        let of = |name: &str, parent: Option<&str>, cwd: &str| {
            let mut one = state(name, "idle");
            one.id = name.into();
            one.parent = parent.map(Into::into);
            one.cwd = cwd.into();
            one
        };
        let mut all = vec![
            of("b", None, "/y"),
            of("lead", None, "/x"),
            of("child", Some("lead"), "/y"),
            of("grandchild", Some("child"), "/x"),
            of("aunt", Some("lead"), "/x"),
            of("asks", Some("lead"), "/x"),
        ];
        all[5].state = "waiting".into();
        let shown = |grouping| -> Vec<String> {
            listed(&look(), &all, "", Sort::Name, grouping)
                .iter()
                .map(|listed| {
                    let name = &all[listed.at].name;
                    match &listed.under {
                        Some(under) => format!("{}/{}{name}", under.title, "-".repeat(under.depth)),
                        None => name.clone(),
                    }
                })
                .collect()
        };
        assert_eq!(
            shown(Grouping::Family),
            [
                "asks",
                "b/b",
                "lead/lead",
                "lead/-aunt",
                "lead/-child",
                "lead/--grandchild"
            ]
        );
        assert_eq!(
            shown(Grouping::Directory),
            [
                "asks",
                "/x/aunt",
                "/x/grandchild",
                "/x/lead",
                "/y/b",
                "/y/child"
            ]
        );
        assert_eq!(
            shown(Grouping::None),
            ["asks", "aunt", "b", "child", "grandchild", "lead"]
        );
    }

    #[test]
    fn what_it_waits_for() {
        let mut session = state("a", "idle");
        assert_eq!(waits_for(&session), "why");
        session.queue.queued = 2;
        assert_eq!(waits_for(&session), "2 queued");
        session.handoff = Some(crate::handoff::tests::open("scheduled"));
        assert_eq!(waits_for(&session), "handoff scheduled");
    }
}
