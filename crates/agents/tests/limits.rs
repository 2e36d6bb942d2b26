//! What the real programs say when their provider refuses: recorded from runs against a provider that
//! did.

#![expect(clippy::unwrap_used, reason = "tests")]

use sm_agents::{Tail, parse_hook, read_screen};
use sm_core::ids::{ConversationId, Timestamp};
use sm_core::limit::{LimitKind, ResetSource};
use sm_core::profile::AgentKind;
use sm_core::signal::{Activity, BreakReason, Composer, Fact, PersonNeed, Signal};

const AT: Timestamp = Timestamp(1_795_101_584_000);
const RESETS: Timestamp = Timestamp(1_795_110_883_000);

fn facts(kind: AgentKind, file: &str, id: &str) -> Vec<Fact> {
    let path = format!("{}/tests/fixtures/{file}", env!("CARGO_MANIFEST_DIR"));
    let mut tail = Tail::new(kind, ConversationId::new(id).unwrap());
    tail.feed(&std::fs::read(path).unwrap())
}

fn ends(facts: Vec<Fact>) -> Vec<BreakReason> {
    let broken = |fact| match fact {
        Fact::TurnEnded { broken, .. } => broken,
        _ => None,
    };
    facts.into_iter().filter_map(broken).collect()
}

#[test]
fn hooks_of_claude_name_limits_and_errors() {
    let heard = |error: &str, said: &str| {
        let body = serde_json::json!({
            "session_id": "s", "hook_event_name": "StopFailure",
            "error": error, "last_assistant_message": said,
        });
        let body = body.to_string();
        match parse_hook(AgentKind::Claude, "StopFailure", body.as_bytes(), AT).signal {
            Signal::TurnBroken(reason) => reason,
            other => panic!("{other:?}"),
        }
    };
    let overloaded = "API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1:7801).";
    let refused = "API Error: Request rejected (429) · This request would exceed your account's rate limit. Please try again later.";
    for (error, said, kind) in [
        (
            "rate_limit",
            "You've hit your session limit · resets 5:19pm (UTC)",
            LimitKind::Usage,
        ),
        (
            "rate_limit",
            "You've hit your 5-hour limit · resets 5:19pm (UTC)",
            LimitKind::Usage,
        ),
        ("rate_limit", refused, LimitKind::Overloaded),
        ("server_error", overloaded, LimitKind::Overloaded),
        (
            "server_error",
            "API Error: Unable to connect to API (ConnectionRefused)",
            LimitKind::Network,
        ),
        (
            "server_error",
            "API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)",
            LimitKind::Network,
        ),
    ] {
        let BreakReason::Limit(limit) = heard(error, said) else {
            panic!("{said}");
        };
        assert_eq!((limit.kind, limit.text.as_str()), (kind, said));
        assert_eq!(limit.resets_at, None, "its sentence is read elsewhere");
    }
    for (error, said) in [
        ("billing_error", "Credit balance is too low"),
        ("authentication_failed", "Not logged in · Please run /login"),
        ("max_output_tokens", "API Error: too long"),
    ] {
        let reason = heard(error, said);
        assert!(matches!(reason, BreakReason::ApiError(_)), "{reason:?}");
    }
}

#[test]
fn the_status_line_of_claude_tells_its_windows() {
    let body = br#"{"session_id":"s","rate_limits":{"five_hour":{"used_percentage":100,"resets_at":1795110883},"seven_day":{"used_percentage":40.5},"odd":7}}"#;
    let windows = parse_hook(AgentKind::Claude, "statusline", body, AT).windows;
    let told = |at: usize| (windows[at].name.as_str(), windows[at].used_percentage);
    assert_eq!(windows.len(), 2, "{windows:?}");
    assert_eq!(
        (told(0), windows[0].resets_at),
        (("five_hour", 100.0), Some(RESETS))
    );
    assert_eq!((told(1), windows[1].resets_at), (("seven_day", 40.5), None));
    for odd in ["7", "[]", "null", "{\"five_hour\":{}}"] {
        let body = format!("{{\"session_id\":\"s\",\"rate_limits\":{odd}}}");
        let parsed = parse_hook(AgentKind::Claude, "statusline", body.as_bytes(), AT);
        assert!(parsed.windows.is_empty(), "{odd}");
    }
}

#[test]
fn records_of_claude_tell_a_limit_and_newer_ones_its_end() {
    let file = "claude/transcript_limits.jsonl";
    let older = ends(facts(
        AgentKind::Claude,
        file,
        "83499854-f803-434b-8be1-56e8e5428be2",
    ));
    let newer = ends(facts(
        AgentKind::Claude,
        file,
        "10c88706-268f-4dcc-9a0d-1720397ccfdb",
    ));
    let [BreakReason::Limit(older)] = &older[..] else {
        panic!("{older:?}");
    };
    let [BreakReason::Limit(newer)] = &newer[..] else {
        panic!("{newer:?}");
    };
    let (older, newer) = match older.resets_at {
        None => (older, newer),
        Some(_) => (newer, older),
    };
    assert_eq!(older.kind, LimitKind::Usage);
    assert!(older.text.starts_with("You've hit your session limit"));
    assert_eq!((older.resets_at, older.continues_itself), (None, false));
    assert_eq!(newer.kind, LimitKind::Usage);
    assert_eq!(newer.resets_at, Some((RESETS, ResetSource::Transcript)));
    assert!(newer.continues_itself);
}

#[test]
fn records_of_codex_tell_a_limit_and_its_windows() {
    let facts = facts(AgentKind::Codex, "codex/rollout_limits.jsonl", "x");
    let windows = facts.iter().find_map(|fact| match fact {
        Fact::Windows(windows) => Some(windows.clone()),
        _ => None,
    });
    let windows = windows.unwrap();
    assert_eq!(windows.len(), 2, "{windows:?}");
    assert_eq!(windows[0].resets_at, Some(RESETS));
    let ends = ends(facts);
    let [BreakReason::Limit(usage), BreakReason::Limit(overload)] = &ends[..] else {
        panic!("{ends:?}");
    };
    assert_eq!(usage.kind, LimitKind::Usage);
    assert_eq!(overload.kind, LimitKind::Overloaded);
}

#[test]
fn the_menu_about_a_limit_is_told_from_other_questions() {
    for name in ["claude_limit_menu", "claude_limit_menu_newest"] {
        let path = format!(
            "{}/tests/fixtures/screens/{name}.screen",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = std::fs::read_to_string(path).unwrap();
        let lines = text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            read_screen(AgentKind::Claude, &lines, 0, 0, None),
            (Composer::Hidden, Activity::Waiting(PersonNeed::Limit)),
            "{name}"
        );
    }
}
