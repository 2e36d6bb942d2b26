//! `sm ls`.

use std::collections::HashMap;

use clap::Args;
use sm_daemon::api::types::SessionView;

use crate::client::{Daemon, Which};
use crate::error::Result;
use crate::gauge;
use crate::print::Printer;
use crate::text::{Cell, Look, Tone, one_line, table};

/// Lists the sessions.
#[derive(Debug, Args)]
pub struct Ls {
    /// Also those that have exited.
    #[arg(long, short)]
    all: bool,
    /// As JSON: an array of sessions, as `sm show --json` prints one.
    #[arg(long)]
    json: bool,
}

impl Ls {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let sessions = Daemon::open()?.sessions(Which::from_all(self.all))?;
        if self.json {
            return out.json(&sessions.json);
        }
        if sessions.value.is_empty() {
            return out.line("no sessions. Start one: sm new claude");
        }
        let table = sessions_table(&out.look, &sessions.value);
        out.text(&table)
    }
}

/// One line for each session.
pub fn sessions_table(look: &Look, sessions: &[SessionView]) -> String {
    let mut called: HashMap<&str, usize> = HashMap::new();
    for session in sessions {
        *called.entry(&session.name).or_default() += 1;
    }
    // Those that have ended may be called like others: then only the id says which one it is.
    let name = |session: &SessionView| match called.get(session.name.as_str()) {
        Some(0 | 1) | None => one_line(&session.name),
        Some(_) => one_line(&format!("{} {}", session.name, session.id)),
    };
    let rows: Vec<Vec<Cell>> = sessions
        .iter()
        .map(|session| {
            vec![
                Cell::toned(name(session), Tone::Bold),
                Cell::new(one_line(&session.agent)),
                state(look, session),
                gauge::cell(look, session),
                queue(session),
                Cell::toned(look.path(&session.cwd), Tone::Dim),
            ]
        })
        .collect();
    table(
        look,
        &["NAME", "AGENT", "STATE", "CONTEXT", "QUEUE", "DIR"],
        &rows,
    )
}

fn state(look: &Look, session: &SessionView) -> Cell {
    let since = look.since(&session.state_since);
    Cell::toned(
        format!("{} {since}", one_line(&session.state))
            .trim_end()
            .to_owned(),
        tone_of(&session.state),
    )
}

pub fn tone_of(state: &str) -> Tone {
    match state {
        "idle" => Tone::Good,
        "working" | "starting" | "compacting" | "handing_off" => Tone::Busy,
        "waiting" | "limited" => Tone::Warn,
        "lost" => Tone::Bad,
        "exited" => Tone::Dim,
        _ => Tone::Plain,
    }
}

fn queue(session: &SessionView) -> Cell {
    match (session.queue.queued, session.queue.held) {
        (0, _) => Cell::toned("-", Tone::Dim),
        (queued, 0) => Cell::new(queued.to_string()),
        (queued, held) if queued == held => Cell::toned(format!("{held} held"), Tone::Warn),
        (queued, held) => Cell::toned(format!("{queued}, {held} held"), Tone::Warn),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::text::tests::look;
    use sm_daemon::api::types::{ContextView, QueueView, TmuxView};

    /// An idle session of Claude.
    pub fn session(name: &str) -> SessionView {
        SessionView {
            id: "1a2b3c4d".into(),
            name: name.into(),
            agent: "claude".into(),
            state: "idle".into(),
            state_reason: "the turn ended".into(),
            state_since: "2026-03-01T11:57:00Z".into(),
            waiting_for: None,
            limit: None,
            turn_error: None,
            goal: None,
            activity: None,
            generation: 1,
            compactions: 0,
            conversation_id: Some("c0ffee".into()),
            transcript_path: None,
            cwd: "/home/ann/src/api".into(),
            parent: None,
            children: vec![],
            context: ContextView {
                used_percentage: Some(41.6),
                tokens: Some(83_200),
                window: Some(200_000),
                source: Some("statusline".into()),
                at: Some("2026-03-01T11:59:00Z".into()),
                ..ContextView::default()
            },
            tmux: TmuxView::default(),
            run: None,
            pid: Some(4242),
            exit_code: None,
            last_handoff_path: None,
            failed_handoff: None,
            handoff: None,
            tokens_used: 83_200,
            log_file: None,
            turn: 7,
            created_at: "2026-03-01T09:00:00Z".into(),
            changed_at: "2026-03-01T11:57:00Z".into(),
            queue: QueueView::default(),
            attention: None,
            handoff_needs_person: None,
        }
    }

    #[test]
    fn sessions_of_one_name_are_told_apart() {
        let mut old = session("api");
        old.id = "5e6f7a8b".into();
        old.state = "exited".into();
        insta::assert_snapshot!(sessions_table(&look(), &[session("api"), session("web"), old]), @r"
        NAME          AGENT   STATE         CONTEXT             QUEUE  DIR
        api 1a2b3c4d  claude  idle 3 min    42% ▰▰▱▱▱ 83k/200k  -      ~/src/api
        web           claude  idle 3 min    42% ▰▰▱▱▱ 83k/200k  -      ~/src/api
        api 5e6f7a8b  claude  exited 3 min  42% ▰▰▱▱▱ 83k/200k  -      ~/src/api
        ");
    }

    #[test]
    fn sessions_in_a_table() {
        let mut working = session("a-rather-long-name-for-a-session-of-mine");
        working.state = "working".into();
        working.queue.queued = 3;
        working.queue.held = 1;
        let mut strange = session("fk2\x1b]0;title\x07");
        strange.agent = "generic".into();
        strange.context = ContextView::default();
        strange.cwd = "/srv/somewhere/far/away/from/home/in/a/deep/place".into();
        insta::assert_snapshot!(sessions_table(&look(), &[session("api"), working, strange]), @r"
        NAME          AGENT    STATE          CONTEXT             QUEUE      DIR
        api           claude   idle 3 min     42% ▰▰▱▱▱ 83k/200k  -          ~/src/api
        a-rather-lo…  claude   working 3 min  42% ▰▰▱▱▱ 83k/200k  3, 1 held  ~/src/api
        fk2]0;title   generic  idle 3 min     none                -          …/deep/place
        ");
    }
}
