//! `sm` alone: the sessions, and what needs a person.

use clap::Args;
use sm_daemon::api::types::SessionView;

use crate::client::{Daemon, Which};
use crate::commands::ls::sessions_table;
use crate::error::Result;
use crate::gauge;
use crate::handoff::open_line;
use crate::print::Printer;
use crate::text::{Look, Tone, count, one_line};

/// Exited sessions are shown for so long.
const SHOWN_AFTER_EXIT: i64 = 24 * 3600;

#[derive(Debug, Default, Args)]
pub struct Overview {
    /// The overview as JSON: the same as `sm ls --json`.
    #[arg(long)]
    json: bool,
}

impl Overview {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?;
        if self.json {
            let sessions = daemon.sessions(Which::Live)?;
            return out.json(&sessions.json);
        }
        let sessions = daemon.sessions(Which::All)?.value;
        let problems = match daemon.status_now() {
            Ok(Some(status)) => status.value.problems,
            // The sessions are what was asked for.
            Ok(None) | Err(_) => Vec::new(),
        };
        let text = render(&out.look, &sessions, &problems);
        out.text(&text)
    }
}

fn render(look: &Look, sessions: &[SessionView], problems: &[String]) -> String {
    let mut text = String::new();
    let attention: Vec<String> = problems
        .iter()
        .map(|problem| one_line(problem))
        .chain(
            sessions
                .iter()
                .filter_map(|session| attention(look, session)),
        )
        .collect();
    if !attention.is_empty() {
        text.push_str(&look.paint(Tone::Bold, "needs attention"));
        text.push('\n');
        for line in attention {
            text.push_str(&format!("  {} {line}\n", look.paint(Tone::Warn, "!")));
        }
        text.push('\n');
    }
    let under_way: Vec<String> = sessions
        .iter()
        .filter_map(|session| {
            let open = session.handoff.as_ref()?;
            Some(format!(
                "{}: {}",
                one_line(&session.name),
                open_line(look, open, session)
            ))
        })
        .collect();
    if !under_way.is_empty() {
        text.push_str(&look.paint(Tone::Bold, "handing off"));
        text.push('\n');
        for line in under_way {
            text.push_str(&format!("  {line}\n"));
        }
        text.push('\n');
    }
    let (shown, hidden): (Vec<_>, Vec<_>) = sessions
        .iter()
        .cloned()
        .partition(|session| session.state != "exited" || is_news(look, session));
    if shown.is_empty() {
        text.push_str(EMPTY);
    } else {
        text.push_str(&sessions_table(look, &shown));
    }
    if !hidden.is_empty() {
        let line = format!(
            "and {} that exited earlier (sm ls --all)",
            count(hidden.len(), "session")
        );
        text.push_str(&look.paint(Tone::Dim, &line));
        text.push('\n');
    }
    text
}

const EMPTY: &str = "\
No sessions yet.
  sm new claude --name api      start Claude Code here (or codex, or -- any program)
  sm send api \"run the tests\"   give it something to do
  sm doctor                     see what works on this machine
";

/// Why a person should look at a session, and what to do.
fn attention(look: &Look, session: &SessionView) -> Option<String> {
    let name = one_line(&session.name);
    if let Some(why) = &session.attention {
        let why = one_line(why);
        if why.contains("sm ") {
            return Some(format!("{name}: {why}"));
        }
        let next = match session.state.as_str() {
            // Others may have its name by now.
            "lost" => format!("sm restore {}", one_line(&session.id)),
            "exited" => format!("sm output {}", one_line(&session.id)),
            _ => format!("sm attach {name}"),
        };
        return Some(format!("{name}: {why} ({next})"));
    }
    match session.state.as_str() {
        "waiting" => Some(format!(
            "{name}: waits for a person{} (sm attach {name})",
            because(session)
        )),
        "lost" => Some(format!(
            "{name}: lost{} (sm restore {})",
            because(session),
            one_line(&session.id)
        )),
        "exited" => None,
        _ => context(look, session, &name),
    }
}

/// What its context is in need of: it is seen from here, as it comes with time.
fn context(look: &Look, session: &SessionView, name: &str) -> Option<String> {
    if let Some(percent) = gauge::critical(&session.context)
        && session.handoff.is_none()
    {
        let next = format!("sm handoff --auto --session {name}");
        return Some(format!("{name}: context {percent:.0}% full ({next})"));
    }
    let quiet = gauge::quiet(look, &session.context)?;
    Some(format!("{name}: works, {quiet} (sm output {name})"))
}

fn because(session: &SessionView) -> String {
    match session.state_reason.as_str() {
        "" => String::new(),
        why => format!(": {}", one_line(why)),
    }
}

/// A run in a person's own terminal ended before their eyes: only what went wrong is news.
fn is_news(look: &Look, session: &SessionView) -> bool {
    let seen = session.run.is_some() && session.attention.is_none();
    let lately = session
        .state_since
        .parse::<jiff::Timestamp>()
        .is_ok_and(|at| look.now.as_second() - at.as_second() < SHOWN_AFTER_EXIT);
    lately && !seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::ls::tests::session;
    use crate::handoff::tests::open;
    use crate::text::tests::look;
    use sm_core::Hold;
    use sm_daemon::api::types::RunView;

    #[test]
    fn nothing_yet_says_how_to_start() {
        insta::assert_snapshot!(render(&look(), &[], &[]), @r#"
        No sessions yet.
          sm new claude --name api      start Claude Code here (or codex, or -- any program)
          sm send api "run the tests"   give it something to do
          sm doctor                     see what works on this machine
        "#);
    }

    #[test]
    fn what_needs_a_person_comes_first() {
        let mut waiting = session("web");
        waiting.state = "waiting".into();
        waiting.attention = Some("permission to run Bash(rm -rf build)".into());
        let mut held = session("db");
        held.queue.queued = 1;
        held.queue.held = 1;
        held.queue.held_reason = Some("somebody's half-typed text is in the composer".into());
        held.attention = Some(
            "1 message held: somebody's half-typed text is in the composer; see: sm queue ls db"
                .into(),
        );
        let mut lost = session("old");
        lost.state = "lost".into();
        lost.attention = Some("lost: tmux is gone; bring it back: sm restore old".into());
        let mut exited = session("done");
        exited.state = "exited".into();
        let run = RunView {
            pid: 7,
            tty: Some("/dev/pts/3".into()),
            channel: "web".into(),
        };
        let mut run_over = session("run-over");
        run_over.state = "exited".into();
        run_over.run = Some(run.clone());
        let mut run_failed = session("run-failed");
        run_failed.state = "exited".into();
        run_failed.run = Some(run.clone());
        run_failed.attention = Some("the agent ended with exit code 3".into());
        let mut running = session("running");
        running.run = Some(run);
        let mut long_ago = session("older");
        long_ago.state = "exited".into();
        long_ago.state_since = "2026-02-01T00:00:00Z".into();
        let mut rolled_back = session("docs");
        rolled_back.attention = Some(
            "handoff rolled back, the old conversation goes on: no prompt; see: sm handoffs show ho-1"
                .into(),
        );
        let mut full = session("full");
        full.context.used_percentage = Some(91.2);
        let mut quiet = session("quiet");
        quiet.state = "working".into();
        quiet.context.quiet_since = Some("2026-03-01T11:30:00Z".into());
        let sessions = [
            session("api"),
            waiting,
            held,
            lost,
            exited,
            run_over,
            run_failed,
            running,
            long_ago,
            rolled_back,
            full,
            quiet,
        ];
        let problems = ["port 8420 is taken by nginx (pid 7): set SM_PORT".to_owned()];
        insta::assert_snapshot!(render(&look(), &sessions, &problems), @r"
        needs attention
          ! port 8420 is taken by nginx (pid 7): set SM_PORT
          ! web: permission to run Bash(rm -rf build) (sm attach web)
          ! db: 1 message held: somebody's half-typed text is in the composer; see: sm queue ls db
          ! old: lost: tmux is gone; bring it back: sm restore old
          ! run-failed: the agent ended with exit code 3 (sm output 1a2b3c4d)
          ! docs: handoff rolled back, the old conversation goes on: no prompt; see: sm handoffs show ho-1
          ! full: context 91% full (sm handoff --auto --session full)
          ! quiet: works, no sample for 30 min (sm output quiet)

        NAME        AGENT   STATE          CONTEXT                   QUEUE   DIR
        api         claude  idle 3 min     42% ▰▰▱▱▱ 83k/200k        -       ~/src/api
        web         claude  waiting 3 min  42% ▰▰▱▱▱ 83k/200k        -       ~/src/api
        db          claude  idle 3 min     42% ▰▰▱▱▱ 83k/200k        1 held  ~/src/api
        old         claude  lost 3 min     42% ▰▰▱▱▱ 83k/200k        -       ~/src/api
        done        claude  exited 3 min   42% ▰▰▱▱▱ 83k/200k        -       ~/src/api
        run-failed  claude  exited 3 min   42% ▰▰▱▱▱ 83k/200k        -       ~/src/api
        running     claude  idle 3 min     42% ▰▰▱▱▱ 83k/200k        -       ~/src/api
        docs        claude  idle 3 min     42% ▰▰▱▱▱ 83k/200k        -       ~/src/api
        full        claude  idle 3 min     91% ▰▰▰▰▰ 83k/200k        -       ~/src/api
        quiet       claude  working 3 min  42% no sample for 30 min  -       ~/src/api
        and 2 sessions that exited earlier (sm ls --all)
        ");
    }

    /// The daemon says who needs a person: what is held by something that passes is no alarm.
    #[test]
    fn what_is_held_and_flows_by_itself_needs_nobody() {
        for state in ["starting", "compacting", "idle"] {
            let mut api = session("api");
            api.state = state.into();
            api.queue.queued = 1;
            api.queue.held = 1;
            api.queue.held_reason = Some("the agent is compacting its context".into());
            let shown = render(&look(), &[api], &[]);
            assert!(!shown.contains("needs attention"), "{shown}");
            assert!(shown.contains("1 held"), "{shown}");
        }
    }

    #[test]
    fn a_handoff_under_way_is_told_and_needs_nobody() {
        let mut api = session("api");
        api.state = "handing_off".into();
        api.queue.queued = 1;
        api.queue.held = 1;
        api.queue.held_reason = Some(Hold::HandingOff.explain().into());
        api.handoff = Some(open("cleared"));
        let web = session("web");
        insta::assert_snapshot!(render(&look(), &[api, web], &[]), @r"
        handing off
          api: cleared: gives the successor its prompt (begun 10 min ago; sm handoffs show ho-1a2b)

        NAME  AGENT   STATE              CONTEXT             QUEUE   DIR
        api   claude  handing_off 3 min  42% ▰▰▱▱▱ 83k/200k  1 held  ~/src/api
        web   claude  idle 3 min         42% ▰▰▱▱▱ 83k/200k  -       ~/src/api
        ");
    }
}
