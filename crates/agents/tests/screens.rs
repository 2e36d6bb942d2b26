//! Screens recorded from the real programs: the cursor on the first line, then rows with SGR.

#![expect(clippy::unwrap_used, reason = "tests")]

use sm_agents::read_screen;
use sm_core::profile::AgentKind;
use sm_core::signal::{Activity, Composer, PersonNeed};

fn screen(name: &str) -> (u32, u32, Vec<String>) {
    let path = format!(
        "{}/tests/fixtures/screens/{name}.screen",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let (x, y) = lines.next().unwrap().split_once(' ').unwrap();
    (
        x.parse().unwrap(),
        y.parse().unwrap(),
        lines.map(str::to_owned).collect(),
    )
}

fn check(kind: AgentKind, name: &str, ours: Option<&str>, expected: (Composer, Activity)) {
    let (x, y, lines) = screen(&format!("{}_{name}", kind.as_str()));
    assert_eq!(
        read_screen(kind, &lines, x, y, ours),
        expected,
        "{name} {ours:?}"
    );
}

fn first_run(what: &str) -> Activity {
    Activity::Waiting(PersonNeed::FirstRun(what.to_owned()))
}

#[test]
fn claude_screens() {
    use Activity::{Busy, Idle, Unknown, Waiting};
    use Composer::{Draft, DraftOverStash, Empty, Hidden, Shell, Stashed};
    let permission = || Waiting(PersonNeed::Permission(String::new()));
    let question = || Waiting(PersonNeed::Question);
    for (name, expected) in [
        ("idle_fresh", (Empty, Idle)),
        ("idle_after_turn", (Empty, Idle)),
        ("denied", (Empty, Idle)),
        ("accept_edits", (Empty, Idle)),
        ("plan_mode", (Empty, Idle)),
        ("ctrlc_armed", (Empty, Idle)),
        ("shortcuts", (Empty, Idle)),
        ("working", (Empty, Busy)),
        ("queued", (Empty, Busy)),
        ("working_draft", (Draft, Busy)),
        ("draft", (Draft, Idle)),
        ("draft_multi", (Draft, Idle)),
        ("draft_wrapped", (Draft, Idle)),
        ("draft_lead", (Draft, Idle)),
        ("placeholder_lines", (Draft, Idle)),
        // a list hides whether something is stashed
        ("slash_menu", (DraftOverStash, Idle)),
        ("at_menu", (DraftOverStash, Idle)),
        ("menu_over_stash", (DraftOverStash, Idle)),
        ("draft_over_stash", (DraftOverStash, Idle)),
        ("draft_over_stash_narrow", (DraftOverStash, Idle)),
        ("stashed", (Stashed, Idle)),
        ("stashed_narrow", (Stashed, Idle)),
        ("newest_stashed", (Stashed, Idle)),
        ("newest_stashed_beside_a_note", (Stashed, Idle)),
        ("newest_draft_over_stash", (DraftOverStash, Idle)),
        ("newest_draft_over_stash_narrow", (DraftOverStash, Idle)),
        (
            "newest_draft_over_stash_beside_status",
            (DraftOverStash, Busy),
        ),
        ("after_clear", (Empty, Idle)),
        ("shell", (Shell, Idle)),
        ("history_search", (Hidden, Idle)),
        ("permission", (Hidden, permission())),
        ("question", (Hidden, question())),
        ("rewind", (Hidden, question())),
        ("rewind_or_escesc", (Hidden, question())),
        ("model_picker", (Hidden, question())),
        ("resume_picker", (Hidden, question())),
        ("transcript_view", (Hidden, Unknown)),
        ("trust", (Hidden, first_run("folder trust"))),
        ("apikey", (Hidden, first_run("API key"))),
        ("onboarding", (Hidden, first_run("first-run setup"))),
    ] {
        check(AgentKind::Claude, name, None, expected);
    }
}

#[test]
fn claude_holds_our_text_or_somebody_elses() {
    use Composer::{Draft, DraftOverStash, Ours};
    let wrapped = "word ".repeat(50);
    let wide = "日本語テキスト".repeat(20);
    let long = "abcdefghij".repeat(40);
    let one_line = "y".repeat(900);
    let woken = "Read /work/notes.md and continue from where you left off.\n\nThis is all of it:\n\n# Goal\nship it\n".to_owned();
    for (name, ours, expected) in [
        ("draft", "half draft", Ours),
        ("draft", "half draft ", Ours),
        ("draft", "half", Draft),
        ("draft", "half draft and more", Draft),
        ("draft_multi", "line one\nline two\nline three", Ours),
        ("draft_multi", "line one\r\nline two\r\nline three", Ours),
        ("draft_multi", "line one line two line three", Draft),
        ("draft_wrapped", &wrapped, Ours),
        ("draft_wrapped", &wrapped[..200], Draft),
        ("draft_wide", &wide, Ours),
        ("draft_long_word", &long, Ours),
        ("draft_long_word", &long[1..], Draft),
        ("draft_lead", "  lead\n\n  x", Ours),
        ("placeholder_one_line", &one_line, Ours),
        ("placeholder_one_line", "two\nlines", Draft),
        ("placeholder_lines", "a\nb\nc\nd\ne\nf", Ours),
        ("placeholder_lines", "a\nb\nc\nd\ne", Draft),
        ("four_lines", "1\n2\n3\n4", Ours),
        ("newest_words_and_placeholder", &woken, Ours),
        ("newest_words_and_placeholder", &woken[1..], Draft),
        ("newest_words_and_placeholder", &woken[..70], Draft),
        (
            "newest_words_and_placeholder",
            "Read /work/notes.md and continue from where you left off.\n[Pasted text #1 +5 lines]",
            Ours,
        ),
        ("clear_pasted", "/clear", Ours),
        ("clear_over_stash", "/clear", Ours),
        ("clear_over_stash", "/cl", DraftOverStash),
        (
            "resume_pasted",
            "/resume 45159738-25d0-4f0d-80b4-e3a497541060",
            Ours,
        ),
    ] {
        check(
            AgentKind::Claude,
            name,
            Some(ours),
            (expected, Activity::Idle),
        );
    }
    // An empty composer and a dialog stay what they are.
    check(
        AgentKind::Claude,
        "idle_fresh",
        Some("half draft"),
        (Composer::Empty, Activity::Idle),
    );
    check(
        AgentKind::Claude,
        "shell",
        Some("ls"),
        (Composer::Shell, Activity::Idle),
    );
}

#[test]
fn what_a_killed_claude_left_on_the_screen_is_not_what_the_next_one_does() {
    let (_, _, left) = screen("claude_working");
    let (x, y, next) = screen("claude_idle_fresh");
    let kept = left
        .iter()
        .rposition(|line| !line.trim().is_empty())
        .unwrap()
        + 1;
    let composer = y as usize - 1; // without the welcome, as in a small terminal
    let lines = [&left[..kept], &next[composer..]].concat();
    let y = u32::try_from(kept + 1).unwrap();
    assert_eq!(
        read_screen(AgentKind::Claude, &lines, x, y, None),
        (Composer::Empty, Activity::Idle)
    );
}

#[test]
fn a_draft_with_the_cursor_at_its_start_is_no_hint() {
    let (_, y, lines) = screen("claude_draft");
    assert_eq!(
        read_screen(AgentKind::Claude, &lines, 2, y, None).0,
        Composer::Draft
    );
    // One typed character under the cursor looks like the first of a hint, but nothing dim follows.
    let rule = "─".repeat(40);
    let one = [rule.clone(), "❯\u{a0}\u{1b}[7mx\u{1b}[0m".to_owned(), rule];
    assert_eq!(
        read_screen(AgentKind::Claude, &one, 2, 1, None).0,
        Composer::Draft
    );
}

#[test]
fn codex_screens() {
    use Activity::{Busy, IdleOrWaiting, Waiting};
    use Composer::{Draft, Empty, Hidden, Shell};
    let permission = || Waiting(PersonNeed::Permission(String::new()));
    for (name, expected) in [
        ("idle_fresh", (Empty, IdleOrWaiting)),
        ("idle", (Empty, IdleOrWaiting)),
        ("after_ctx", (Empty, IdleOrWaiting)),
        ("esc_tool", (Empty, IdleOrWaiting)),
        ("api_error", (Empty, IdleOrWaiting)),
        ("after_clear", (Empty, IdleOrWaiting)),
        ("clear_refused", (Empty, IdleOrWaiting)),
        ("working_tool", (Empty, Busy)),
        ("working_steered", (Empty, Busy)),
        ("working_before_output", (Empty, Busy)),
        // Nothing but the title tells that an answer is streaming.
        ("working_streaming", (Empty, IdleOrWaiting)),
        ("draft", (Draft, IdleOrWaiting)),
        ("draft_multi", (Draft, IdleOrWaiting)),
        ("draft_blank", (Draft, IdleOrWaiting)),
        ("draft_placeholder", (Draft, IdleOrWaiting)),
        ("slash_menu", (Draft, IdleOrWaiting)),
        ("shell", (Shell, IdleOrWaiting)),
        ("approval", (Hidden, permission())),
        ("model_picker", (Hidden, Waiting(PersonNeed::Question))),
    ] {
        check(AgentKind::Codex, name, None, expected);
    }
    for (file, expected) in [
        ("screen_hook_trust", first_run("hooks to review")),
        ("screen_new_picker", Waiting(PersonNeed::Question)),
    ] {
        let path = format!(
            "{}/tests/fixtures/codex/{file}.txt",
            env!("CARGO_MANIFEST_DIR")
        );
        let lines = std::fs::read_to_string(path)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>();
        let seen = read_screen(AgentKind::Codex, &lines, 120, 39, None);
        assert_eq!(seen, (Hidden, expected), "{file}");
    }
}

#[test]
fn codex_holds_our_text_or_somebody_elses() {
    use Composer::{Draft, Ours};
    let wrapped = "word ".repeat(60);
    let long = "z".repeat(1500);
    let slash = format!(" /{}", "y".repeat(1300));
    for (name, ours, expected) in [
        ("draft", "half draft", Ours),
        ("draft", "half draft 2", Draft),
        ("draft_multi", "line one\nline two", Ours),
        ("draft_blank", "a\n\nb", Ours),
        ("draft_wrapped", wrapped.as_str(), Ours),
        ("draft_placeholder", &long, Ours),
        ("draft_placeholder", &long[1..], Draft),
        ("space_placeholder", &slash, Ours),
        // the list stands above, its choice with the same sign
        ("clear_pasted", "/clear", Ours),
        ("clear_pasted", "/clear  clear the terminal", Draft),
        // no key puts it aside
        ("draft_after_ctrl_s", "my draft", Ours),
    ] {
        check(
            AgentKind::Codex,
            name,
            Some(ours),
            (expected, Activity::IdleOrWaiting),
        );
    }
}

#[test]
fn codex_before_it_has_drawn_its_footer() {
    use Composer::{Draft, Empty, Ours};
    let hint = "\u{1b}[1m›\u{1b}[0m \u{1b}[2mAsk Codex to do anything\u{1b}[0m";
    let half = "\u{1b}[1m›\u{1b}[0m half";
    let keys = "  \u{1b}[1m?\u{1b}[0m for shortcuts";
    for (row, footer, cursor, ours, expected) in [
        (hint, "", 2, None, Empty),
        (hint, keys, 2, None, Empty),
        (hint, keys, 2, Some("half"), Empty),
        (half, "", 6, None, Draft),
        (half, keys, 6, None, Draft),
        (half, "", 6, Some("half"), Ours),
        (half, keys, 6, Some("half"), Ours),
        // perhaps somebody's empty lines
        ("\u{1b}[1m›\u{1b}[0m", keys, 2, None, Draft),
    ] {
        // the row above the keys is for the model's name, which comes last
        let lines = ["", "  >_ OpenAI Codex", "", row, "\u{1b}[0m", "", footer];
        let lines = lines.map(str::to_owned);
        let seen = read_screen(AgentKind::Codex, &lines, cursor, 3, ours);
        assert_eq!(
            seen,
            (expected, Activity::IdleOrWaiting),
            "{row:?} {footer:?}"
        );
    }
}

#[test]
fn codex_shows_a_tab_as_one_blank() {
    let lines = [
        "\u{1b}[1m›\u{1b}[0m  lead",
        "    two x",
        "",
        "  fake-gpt default",
    ]
    .map(str::to_owned);
    let ours = Some("\tlead\n\t\ttwo\tx");
    let seen = read_screen(AgentKind::Codex, &lines, 9, 1, ours).0;
    assert_eq!(seen, Composer::Ours);
}
