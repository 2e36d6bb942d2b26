//! `config.toml`.

use crate::PROGRAM;
use proptest::prelude::*;
use sm_agents::codex::install::{found, install, remove};
use sm_agents::codex::launch::EVENTS;
use sm_agents::surgery::After;

fn put_in(text: &str) -> String {
    install(Some(text), PROGRAM).unwrap().text
}

const USERS: &str = "# mine\nmodel = \"x\" # the best\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"say done\"\n\n[tui]\ntheme = 'dark'\n";

#[test]
fn a_configuration_before_and_after() {
    let after = put_in(USERS);
    assert!(after.starts_with(USERS));
    let ours = &after[USERS.len()..];
    assert!(
        ours.starts_with("\n# hooks of sm: `sm hooks remove codex` takes them out again\n[[hooks.SessionStart]]\n[[hooks.SessionStart.hooks]]\ntype = \"command\"\ncommand = \"exec '/opt/s m/sm-hook' codex SessionStart --installed\"\ntimeout = 3\n\n[[hooks.UserPromptSubmit]]\n"),
        "{ours}"
    );
    assert!(ours.contains(
        "codex PostToolUse --installed\"\ntimeout = 3\nadditionalContextLimit = 120000\n"
    ));
    let table: toml::Table = after.parse().unwrap();
    assert_eq!(table["hooks"]["Stop"].as_array().unwrap().len(), 2);
    let found = found(&after).unwrap();
    assert_eq!(found.hooks.len(), EVENTS.len());
    assert_eq!((found.programs(), found.trusted), (vec![PROGRAM], Some(0)));
    assert_eq!(put_in(&after), after, "twice is once");
    assert_eq!(remove(&after).unwrap(), After::Text(USERS.to_owned()));
}

#[test]
fn every_end_of_a_file_comes_back() {
    for text in [
        "",
        "\n",
        "a = 1",
        "a = 1\r\n[b]\r\nc = 2",
        "a = 1\n\n\n",
        "# only",
        "\u{feff}a = 1\n",
    ] {
        let after = put_in(text);
        assert_eq!(put_in(&after), after);
        assert_eq!(
            remove(&after).unwrap(),
            After::Text(text.to_owned()),
            "{text:?}"
        );
        if text.contains('\r') {
            assert_eq!(after.matches('\n').count(), after.matches("\r\n").count());
        }
    }
    let made = install(None, PROGRAM).unwrap().text;
    assert!(made.starts_with("# hooks of sm"));
    assert_eq!(put_in(&made), made);
    assert_eq!(remove(&made).unwrap(), After::NoFile);
}

/// Codex writes into the same file: what it remembers of our hooks goes with them.
#[test]
fn what_codex_wrote_stays_but_for_the_trust_in_ours() {
    use sm_agents::codex::trust;
    let after = put_in(USERS);
    let command = "exec '/opt/s m/sm-hook' codex Stop --installed";
    let state = |key: &str, hash: &str| {
        format!("\n[hooks.state.\"/h/config.toml:{key}\"]\ntrusted_hash = \"{hash}\"\n")
    };
    let ours = state("stop:1:0", &trust::hash("Stop", command, 3, None));
    let users = state("stop:0:0", "sha256:00");
    let written = format!("{after}{ours}{users}\n[notice]\nseen = true\n");
    assert_eq!(found(&written).unwrap().trusted, Some(1));
    assert_eq!(
        remove(&written).unwrap(),
        After::Text(format!("{USERS}{users}\n[notice]\nseen = true\n"))
    );
    // The table above goes if nothing else was below it.
    let above = "\n[hooks.state]\n";
    for (state, left) in [
        (format!("{above}{ours}"), String::new()),
        (format!("{above}{ours}{users}"), format!("{above}{users}")),
        (above.to_owned(), above.to_owned()),
    ] {
        let written = format!("{after}{state}");
        assert_eq!(
            remove(&written).unwrap(),
            After::Text(format!("{USERS}{left}"))
        );
    }
}

#[test]
fn what_cannot_be_added_to_is_refused_at_its_place() {
    for (text, expected) in [
        (
            "a = 1\nhooks = { Stop = [] }\n",
            "line 2, column 1: hooks that are written as a value cannot be added to; write them as [[hooks.…]]",
        ),
        (
            "[hooks]\nx = 1\nStop = []\n",
            "line 3, column 1: hooks that are written as a value cannot be added to; write them as [[hooks.…]]",
        ),
        (
            "a = 1\nhooks.PreCompact = []",
            "line 2, column 1: hooks that are written as a value cannot be added to; write them as [[hooks.…]]",
        ),
    ] {
        assert_eq!(
            install(Some(text), PROGRAM).unwrap_err().to_string(),
            expected,
            "{text}"
        );
    }
    for text in ["a = \n", "[x", "{\"a\": 1}", "a = 1\na = 2"] {
        let refused = install(Some(text), PROGRAM).unwrap_err().to_string();
        assert!(refused.starts_with("line "), "{refused}");
        assert!(remove(text).is_err());
    }
    // An event that is not ours may be written as its owner likes.
    assert!(put_in("[hooks]\nPreToolUse = []\n").contains("[[hooks.Stop]]"));
}

#[test]
fn a_hook_somebody_put_into_our_group_stays() {
    let after = put_in("a = 1\n");
    let own = "[[hooks.Interrupt.hooks]]\ntype = \"command\"\ncommand = \"mine\"\n";
    let with = format!("{after}{own}");
    let After::Text(left) = remove(&with).unwrap() else {
        panic!("it is all gone");
    };
    assert_eq!(left, format!("a = 1\n\n[[hooks.Interrupt]]\n{own}"));
}

// ── any configuration

fn line_of_settings() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "k = 1 # [[hooks.Stop]]",
        "k = \"[[hooks.Stop]]\"",
        "k = '''\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = \"exec sm-hook codex Stop --installed\"\n'''",
        "k = \"\"\"a\n\\\"\"\"\"\"",
        "k = [\n  1, # ]\n  '[', \"]\",\n]",
        "k = { a = [1, { b = 2 }], \"c#\" = '#' }",
        "a.\"b c\".d = 1979-05-27",
        "\tk = 'ünïcödé' ",
        "# sm: hooks of mine",
        "# hooks of sm",
        "",
    ])
    .prop_map(str::to_owned)
}

fn section() -> impl Strategy<Value = String> {
    let header = prop::sample::select(vec![
        "[tui]",
        "[ mcp . 'x]y' ] # c",
        "[[profiles]]",
        "[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]",
        "[[hooks.Stop]]\nmatcher = \"*\"\n[[hooks.Stop.hooks]]\ncommand = \"exec sm-hook codex Stop\"\n[[hooks.Stop.hooks]]",
        "[hooks.state.\"/h/.codex/config.toml:stop:0:0\"]\ntrusted_hash = \"sha256:1\"",
        "# a comment before it\n  [projects.\"/home/x\"]",
    ]);
    (header, prop::collection::vec(line_of_settings(), 0..4))
        .prop_map(|(header, lines)| format!("{header}\n{}\n", lines.join("\n")))
}

/// A configuration that is one: what is chosen twice is not.
fn config() -> impl Strategy<Value = String> {
    let top = prop::collection::vec(line_of_settings(), 0..3);
    let sections = prop::collection::vec(section(), 0..4);
    let ends = (prop::bool::ANY, prop::bool::ANY, prop::bool::ANY);
    (top, sections, ends)
        .prop_map(|(top, sections, (windows, bom, whole))| {
            let mut text = format!("{}\n{}", top.join("\n"), sections.concat());
            if !whole {
                text.truncate(text.trim_end_matches('\n').len());
            }
            if windows {
                text = text.replace('\n', "\r\n");
            }
            format!("{}{text}", if bom { "\u{feff}" } else { "" })
        })
        .prop_filter("not TOML", |text| text.parse::<toml::Table>().is_ok())
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 20_000, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn ours_comes_out_and_everything_else_stays(text in config(), first in prop::bool::ANY, last in prop::bool::ANY) {
        let installed = put_in(&text);
        prop_assert_eq!(&put_in(&installed), &installed, "twice is once");
        prop_assert_eq!(found(&installed).unwrap().missing.len(), 0);
        prop_assert!(found(&text).unwrap().is_empty());
        let before: toml::Table = text.parse().unwrap();
        let after: toml::Table = installed.parse().unwrap();
        for (key, value) in before.iter().filter(|(key, _)| *key != "hooks") {
            prop_assert_eq!(after.get(key), Some(value));
        }
        prop_assert_eq!(remove(&installed).unwrap(), After::Text(text.clone()));
        // Another tool writes at the beginning and at the end, on lines of its own.
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let whole = text.is_empty() || text.ends_with('\n') || !last;
        let edit = |text: &str| {
            let (bom, rest) = match text.strip_prefix('\u{feff}') {
                Some(rest) => ("\u{feff}", rest),
                None => ("", text),
            };
            let first = if first { format!("first_of_all = 1{newline}") } else { String::new() };
            let last = if last { format!("{newline}[last_of_all]{newline}x = 1{newline}") } else { String::new() };
            format!("{bom}{first}{rest}{last}")
        };
        let expected = if whole { edit(&text) } else { edit(&format!("{text}{newline}")) };
        prop_assert_eq!(remove(&edit(&installed)).unwrap(), After::Text(expected));
    }

    #[test]
    fn any_text_is_answered(text in prop_oneof![".{0,60}", config(), "[\\[\\]a=\"'{}#,. \n]{0,40}"]) {
        if let Ok(installed) = install(Some(&text), PROGRAM) {
            prop_assert_eq!(remove(&installed.text), remove(&text));
        }
        let _ = found(&text);
    }
}
