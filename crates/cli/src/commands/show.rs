//! `sm show`.

use clap::Args;
use sm_daemon::api::types::{
    HandoffView, LedgerView, LimitView, PinView, SessionView, WaitingView,
};

use crate::client::Daemon;
use crate::commands::ls::tone_of;
use crate::error::Result;
use crate::gauge;
use crate::handoff::{Told, open_line};
use crate::print::Printer;
use crate::text::{Look, Tone, count, one_line};

/// Shows everything about one session.
#[derive(Debug, Args)]
pub struct Show {
    /// The session; inside a session: itself.
    session: Option<String>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

impl Show {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?;
        let named = daemon.session_or_own(self.session.as_deref(), "sm show <session>")?;
        let session = daemon.session(&named)?;
        if self.json {
            return out.json(&session.json);
        }
        let text = render(
            &out.look,
            &session.value,
            latest(&daemon, &session.value).as_ref(),
            known(&daemon, &session.value).as_ref(),
            &pinned(&daemon, &session.value),
        );
        out.text(&text)
    }
}

/// Its latest handoff. A daemon that cannot say keeps nothing else from being shown.
pub fn latest(daemon: &Daemon, session: &SessionView) -> Option<HandoffView> {
    let handoffs = daemon.handoffs(Some(&session.id), 1).ok()?;
    handoffs.value.into_iter().next()
}

/// What its ledger says in a few lines, if it has one.
fn known(daemon: &Daemon, session: &SessionView) -> Option<LedgerView> {
    daemon
        .ledger_brief(&session.id)
        .ok()
        .map(|ledger| ledger.value)
}

/// What every context of it is told. A daemon that cannot say keeps nothing else from being shown.
fn pinned(daemon: &Daemon, session: &SessionView) -> Vec<PinView> {
    let pins = daemon.pins(&session.id);
    pins.map(|pins| pins.value.pins).unwrap_or_default()
}

/// Pins that are shown; `sm pin ls` shows all.
const PINS: usize = 8;
const LONGEST_PIN: usize = 160;

pub fn render(
    look: &Look,
    session: &SessionView,
    handoff: Option<&HandoffView>,
    ledger: Option<&LedgerView>,
    pins: &[PinView],
) -> String {
    let mut text = String::new();
    let mut row = |label: &str, value: &str| text.push_str(&look.row(label, value));
    row(
        "session",
        &format!(
            "{} ({})",
            look.paint(Tone::Bold, &one_line(&session.name)),
            one_line(&session.id)
        ),
    );
    row("agent", &one_line(&session.agent));
    let why = match session.state_reason.as_str() {
        "" => String::new(),
        why => format!(": {}", one_line(why)),
    };
    row(
        "state",
        &format!(
            "{}{why} ({})",
            look.paint(tone_of(&session.state), &one_line(&session.state)),
            look.ago(&session.state_since)
        ),
    );
    if let Some(attention) = &session.attention {
        row("attention", &look.paint(Tone::Warn, &one_line(attention)));
    }
    let line = |text: &Option<String>| text.as_deref().map(one_line).unwrap_or_default();
    if let Some(waiting) = &session.waiting_for {
        row("waits for", &look.paint(Tone::Warn, &asked(waiting)));
    } else {
        row("doing", &line(&session.activity));
    }
    if let Some(limit) = &session.limit {
        row(
            "limit",
            &look.paint(Tone::Warn, &limited(look, session, limit)),
        );
    }
    let known = ledger.and_then(|ledger| ledger.goal.as_ref());
    row("goal", &line(&known.or(session.goal.as_ref()).cloned()));
    if let Some(ledger) = ledger {
        row("last files", &one_line(&ledger.files.join(", ")));
        row("failing", &look.paint(Tone::Warn, &line(&ledger.failing)));
    }
    for (at, pin) in pins.iter().take(PINS).enumerate() {
        let whose = match pin.of.as_str() {
            "session" => "",
            _ => " (the project's)",
        };
        let label = if at == 0 { "pinned" } else { "" };
        row(label, &format!("{}{whose}", shortened(&pin.text)));
    }
    if pins.len() > PINS {
        row("", &format!("{} more: sm pin ls", pins.len() - PINS));
    }
    row("directory", &look.path(&session.cwd));
    row("context", &context(look, session));
    row(
        "generation",
        &match session.compactions {
            0 => session.generation.to_string(),
            some => format!("{}, compacted {some}×", session.generation),
        },
    );
    row("turn", &session.turn.to_string());
    row("queue", &queue(session));
    let optional = |value: &Option<String>| value.as_deref().map(one_line).unwrap_or_default();
    row("conversation", &optional(&session.conversation_id));
    row(
        "transcript",
        &session
            .transcript_path
            .as_deref()
            .map(|path| look.path(path))
            .unwrap_or_default(),
    );
    let open = session.handoff.as_ref();
    let ended = handoff.filter(|handoff| !handoff.is_open());
    row(
        "handoff",
        &open
            .map(|open| open_line(look, open, session))
            .unwrap_or_default(),
    );
    let needs = session.handoff_needs_person.as_deref();
    row(
        "handoffs",
        &needs
            .map(|why| look.paint(Tone::Warn, &format!("need a person: {}", one_line(why))))
            .unwrap_or_default(),
    );
    row(
        "last handoff",
        &ended
            .map(|ended| ended.ended_line(look))
            .unwrap_or_default(),
    );
    row(
        "handoff doc",
        &session
            .last_handoff_path
            .as_deref()
            .map(|path| look.path(path))
            .unwrap_or_default(),
    );
    row("parent", &optional(&session.parent));
    row("children", &one_line(&session.children.join(", ")));
    row(
        "process",
        &session.pid.map(|pid| pid.to_string()).unwrap_or_default(),
    );
    row(
        "exit code",
        &session
            .exit_code
            .map(|code| code.to_string())
            .unwrap_or_default(),
    );
    row("terminal", &optional(&session.tmux.pane));
    row("created", &look.ago(&session.created_at));
    text
}

/// Until when its provider answers nothing, how sure that is, and what happens then.
fn limited(look: &Look, session: &SessionView, limit: &LimitView) -> String {
    let text = one_line(&limit.text);
    let again = match limit.tries {
        0 => String::new(),
        tries => format!("; met again {tries}×"),
    };
    let then = match (limit.phase.as_str(), &limit.prompt) {
        ("waiting" | "due", Some(prompt)) => format!(
            "; goes on by itself then (cancel: sm queue rm {} {})",
            one_line(&session.name),
            one_line(prompt)
        ),
        ("waiting" | "due", None) if limit.continues_itself => {
            "; it says that it goes on by itself then".to_owned()
        }
        ("waiting" | "due", None) => "; nobody tells it to go on".to_owned(),
        ("trying", _) => "; it was told to go on".to_owned(),
        _ => "; it should be over".to_owned(),
    };
    format!(
        "{} until {} (told by: {}){again}{then}: {text}",
        one_line(&limit.kind),
        look.clock(&limit.until),
        one_line(&limit.source),
    )
}

/// What the dialog asks, as whole as it is known.
fn asked(waiting: &WaitingView) -> String {
    let tool = waiting
        .tool
        .as_deref()
        .unwrap_or(match waiting.kind.as_str() {
            "permission" => "permission",
            "question" => "an answer",
            _ => "a first-run dialog",
        });
    let mut text = one_line(tool);
    if let Some(request) = &waiting.request {
        text.push_str(&format!(": {}", one_line(request)));
    }
    if waiting.more > 0 {
        text.push_str(&format!(" (and {} more)", waiting.more));
    }
    text
}

fn shortened(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(LONGEST_PIN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn context(look: &Look, session: &SessionView) -> String {
    let context = &session.context;
    if context.used_percentage.is_none() && context.tokens.is_none() {
        return match (session.agent.as_str(), gauge::quiet(look, context)) {
            ("generic", _) => "none: it tells nothing of its context".to_owned(),
            (_, Some(quiet)) => look.paint(Tone::Warn, &quiet),
            (_, None) => "not known".to_owned(),
        };
    }
    // alone on its line there is room for all of it
    let roomy = Look {
        width: None,
        ..look.clone()
    };
    let gauge = gauge::cell(&roomy, session);
    let mut parts = vec![look.paint(gauge.tone, &gauge.text)];
    if let Some(source) = &context.source {
        parts.push(format!("from {}", one_line(source)));
    }
    if let Some(at) = &context.at {
        parts.push(look.ago(at));
    }
    parts.join(", ")
}

fn queue(session: &SessionView) -> String {
    let queue = &session.queue;
    match (queue.queued, queue.held) {
        (0, _) => "empty".to_owned(),
        (queued, 0) => count(queued, "message"),
        (queued, held) => format!(
            "{}, {held} held{}",
            count(queued, "message"),
            queue
                .held_reason
                .as_deref()
                .map_or_else(String::new, |why| format!(": {}", one_line(why)))
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::ls::tests::session;
    use crate::handoff::tests::{handoff, open};
    use crate::text::tests::look;

    #[test]
    fn all_that_is_known() {
        let mut api = session("api");
        api.compactions = 2;
        api.parent = Some("99aabbcc".into());
        api.queue.queued = 2;
        api.queue.held = 1;
        api.queue.held_reason = Some("the agent is compacting its context".into());
        insta::assert_snapshot!(render(&look(), &api, None, None, &[]), @r"
        session       api (1a2b3c4d)
        agent         claude
        state         idle: the turn ended (3 min ago)
        directory     ~/src/api
        context       42% ▰▰▰▰▱▱▱▱▱▱ 83k/200k, from statusline, 1 min ago
        generation    1, compacted 2×
        turn          7
        queue         2 messages, 1 held: the agent is compacting its context
        conversation  c0ffee
        parent        99aabbcc
        process       4242
        created       3 h ago
        ");
    }

    #[test]
    fn what_waits_is_shown_whole() {
        let mut api = session("api");
        api.state = "waiting".into();
        api.state_reason = "it asks for permission (Bash): rm -rf build".into();
        api.goal = Some("ship the\nparser".into());
        api.waiting_for = Some(WaitingView {
            kind: "permission".into(),
            tool: Some("Bash".into()),
            request: Some("rm -rf build\x1b[2J".into()),
            more: 1,
        });
        let text = render(&look(), &api, None, None, &[]);
        let lines: Vec<&str> = text.lines().take(5).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        session       api (1a2b3c4d)
        agent         claude
        state         waiting: it asks for permission (Bash): rm -rf build (3 min ago)
        waits for     Bash: rm -rf build[2J (and 1 more)
        goal          ship the parser
        ");
        api.state = "working".into();
        (api.waiting_for, api.activity) = (None, Some("Bash: make".into()));
        let text = render(&look(), &api, None, None, &[]);
        assert!(text.contains("doing         Bash: make"), "{text}");
    }

    #[test]
    fn its_pins_in_a_few_lines() {
        let pin = |text: &str, of: &str| PinView {
            text: text.into(),
            of: of.into(),
        };
        let lines = |pins: &[PinView]| {
            let text = render(&look(), &session("api"), None, None, pins);
            let from = text.lines().skip_while(|line| !line.starts_with("pinned"));
            let until = from.take_while(|line| !line.starts_with("directory"));
            until.collect::<Vec<_>>().join("\n")
        };
        let two = [
            pin("never touch prod,\nnot even to look", "session"),
            pin("no new dependencies", "project"),
        ];
        insta::assert_snapshot!(lines(&two), @r"
        pinned        never touch prod, not even to look
                      no new dependencies (the project's)
        ");
        assert_eq!(lines(&[]), "");
        let many = vec![pin(&"ä".repeat(900), "session"); 11];
        let shown = lines(&many);
        assert_eq!(shown.lines().count(), PINS + 1);
        assert!(shown.ends_with("3 more: sm pin ls"), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() < 180));
    }

    #[test]
    fn an_open_handoff_and_the_last_one() {
        let mut api = session("api");
        api.state = "working".into();
        api.generation = 2;
        api.last_handoff_path = Some("/home/ann/src/api/notes.md".into());
        let latest = HandoffView {
            state: "scheduled".into(),
            ..handoff()
        };
        let lines = |api: &SessionView, handoff| {
            let text = render(&look(), api, Some(handoff), None, &[]);
            let about = |line: &&str| line.contains("hand");
            text.lines().filter(about).collect::<Vec<_>>().join("\n")
        };
        let mut handing = api.clone();
        handing.handoff = Some(open("scheduled"));
        insta::assert_snapshot!(lines(&handing, &latest), @r"
        handoff       scheduled: waits for the end of the turn (begun 10 min ago; sm handoffs show ho-1a2b)
        handoff doc   ~/src/api/notes.md
        ");
        let last = handoff();
        let mut denied = api.clone();
        denied.handoff_needs_person = Some("its settings deny `Bash(sm *)`".into());
        insta::assert_snapshot!(lines(&denied, &last), @r"
        handoffs      need a person: its settings deny `Bash(sm *)`
        last handoff  done 9 min ago, generation 1→2 (sm handoffs show ho-1a2b)
        handoff doc   ~/src/api/notes.md
        ");
        insta::assert_snapshot!(lines(&api, &last), @r"
        last handoff  done 9 min ago, generation 1→2 (sm handoffs show ho-1a2b)
        handoff doc   ~/src/api/notes.md
        ");
    }
}
