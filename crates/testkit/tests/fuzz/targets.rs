//! The pure parsers, each with what must hold for any input.

use crate::corpus::Corpus;
use crate::harness::fuzz;
use sm_agents::{Tail, kind};
use sm_core::AgentKind;
use sm_core::ids::{ConversationId, Timestamp};
use sm_core::{Answer, signal};
use sm_daemon::ask::{Ask, What, secret_hash};
use sm_daemon::config::Config;
use sm_runtime::tmux::protocol::{Message, Parser};
use sm_runtime::tmux::{quote, sanitize};
use sm_term::{Readable, Size};
use std::path::Path;

const EVENTS: [&str; 16] = [
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolBatch",
    "PostToolUseFailure",
    "PermissionRequest",
    "Notification",
    "Stop",
    "SubagentStop",
    "StopFailure",
    "PreCompact",
    "PostCompact",
    "statusline",
    "mailbox",
];

fn hooks(name: &str, agent: AgentKind, folder: &str) {
    let mut seeds = Corpus::recorded(folder, "hook_");
    if agent == AgentKind::Claude {
        seeds.extend(Corpus::recorded(folder, "statusline"));
        seeds.extend(Corpus::recorded(folder, "sessions_pid"));
    }
    fuzz(name, &Corpus::of(seeds), |mut input| {
        let event = *input.rng.pick(&EVENTS);
        let parsed = kind::parse_hook(agent, event, input.bytes, Timestamp(1));
        assert_eq!(
            parsed,
            kind::parse_hook(agent, event, input.bytes, Timestamp(1))
        );
        if let signal::Signal::Other(what) = &parsed.signal {
            assert!(
                what.len() < 4096,
                "an unknown word is kept short: {} bytes",
                what.len()
            );
        }
        let warned: usize = parsed.warnings.iter().map(String::len).sum();
        assert!(warned < 4096, "warnings are short: {warned} bytes");
        let _ = kind::parse_status(agent, input.bytes);
        let printed = kind::tool_output(agent, event, input.bytes);
        assert!(printed.is_none() || (agent, event) == (AgentKind::Codex, "PostToolUse"));
        // and what goes back is what its reader understands
        let text = input.text();
        for answer in [
            Answer::Context { text: text.clone() },
            Answer::Continue { text },
        ] {
            let said = kind::answer(agent, event, &answer, Some("sm"));
            assert!(said.is_empty() || serde_json::from_slice::<serde_json::Value>(&said).is_ok());
        }
    });
}

#[test]
fn claude_hook_payloads() {
    hooks("claude_hook_payloads", AgentKind::Claude, "claude");
}

#[test]
fn codex_hook_payloads() {
    hooks("codex_hook_payloads", AgentKind::Codex, "codex");
}

/// What a tool printed asks for nothing unless the session itself has made the line.
#[test]
fn requests_in_what_tools_print() {
    let ask = |path: &str| Ask {
        id: "h0a1b2c3d4".into(),
        at: 1_000,
        what: What::Handoff {
            file_path: path.into(),
            force: false,
            auto: false,
        },
    };
    let own = secret_hash("own");
    let made: Vec<Ask> = ["/a.md", "/ü \"b\".md"].map(ask).into();
    let lines = made.iter().filter_map(|ask| ask.line(&own));
    let seeds = lines.map(|line| format!("done\n{line}\n").into_bytes());
    fuzz(
        "requests_in_what_tools_print",
        &Corpus::of(seeds),
        |input| {
            let printed = input.text();
            if let Some(found) = Ask::find(&printed, &own, 2_000) {
                assert!(made.contains(&found), "forged: {found:?}");
            }
            assert_eq!(Ask::find(&printed, &secret_hash("other"), 2_000), None);
        },
    );
}

#[test]
fn transcripts() {
    let mut seeds = Corpus::recorded("claude", ".jsonl");
    seeds.extend(Corpus::recorded("codex", ".jsonl"));
    let lines: Vec<Vec<u8>> = seeds
        .iter()
        .flat_map(|text| text.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec))
        .collect();
    seeds.extend(lines);
    fuzz("transcripts", &Corpus::of(seeds), |mut input| {
        let agent = *input.rng.pick(&[AgentKind::Claude, AgentKind::Codex]);
        let tail = || Tail::new(agent, ConversationId::new("s").unwrap());
        let (mut whole, mut parts) = (tail(), tail());
        let facts = whole.feed(input.bytes);
        let pieces: Vec<_> = input
            .pieces()
            .into_iter()
            .flat_map(|p| parts.feed(p))
            .collect();
        assert_eq!(facts, pieces, "a file is read the same however it grows");
    });
}

#[test]
fn control_mode() {
    let seeds = [
        "%begin 1700000000 1 0\n%0 $1 @1 100\nsecond line\n%end 1700000000 1 0\n%sm-secret 7\n",
        "%begin 1 2 1\nno such pane: %7\n%error 1 2 1\n%exit server exited\n",
        "%subscription-changed panes $1 @2 3 %4 : title of it\n%window-close @3\n%unlinked-window-close @4\n",
        "%session-changed $2 api\n%sessions-changed\n%window-renamed @1 new name\n%pane-mode-changed %1\n",
        "%output %1 \\033[1mhello\\015\\012\n%layout-change @1 b25d,80x24,0,0,1\n%extended-output %1 5 : x\n",
        "sm-secret 12\n%end 1 2 1\n%begin 1 3 1\nsm-secret 3\n%end 1 3 1\n",
    ];
    let mut seeds: Vec<Vec<u8>> = seeds.iter().map(|s| s.as_bytes().to_vec()).collect();
    seeds.extend(Corpus::recorded("screens", ".screen"));
    fuzz("control_mode", &Corpus::of(seeds), |mut input| {
        let read = |pieces: &[&[u8]]| -> Vec<Message> {
            let (mut parser, mut out) = (Parser::new("sm-secret "), Vec::new());
            pieces.iter().for_each(|piece| parser.feed(piece, &mut out));
            out
        };
        let whole = read(&[input.bytes]);
        assert_eq!(whole, read(&input.pieces()), "however it arrives");
        let text = input.text();
        let safe = sanitize(&text);
        assert!(
            !safe.contains('\x1b'),
            "nothing that ends a paste gets into it"
        );
        assert!(!quote::quote(&text).contains('\n'), "a command is one line");
        let _ = (quote::format_literal(&text), quote::shell_word(&text));
    });
}

#[test]
fn terminal_bytes() {
    let mut seeds = Corpus::recorded("screens", ".screen");
    seeds.extend(Corpus::recorded("codex", "screen_"));
    seeds.push(
        b"\x1b[?1049h\x1b[2J\x1b[5;1Hrow\x1b[1;5r\x1b[3S\x1b[?1049l\x1bc\x1b(0qqq\x1b(B\r\n"
            .to_vec(),
    );
    seeds.push(
        "❯\u{a0}text\r\n────\r\n\x1b]0;✳ title\x07\x1b[38;5;246m✻ Worked for 0s"
            .as_bytes()
            .to_vec(),
    );
    fuzz("terminal_bytes", &Corpus::of(seeds), |mut input| {
        let (cols, rows) = (input.rng.below(200), input.rng.below(60));
        let small = |n: usize| u16::try_from(n).unwrap_or(1);
        let size = Size::new(small(cols), small(rows));
        let mut readable = Readable::new(size);
        let mut said = Vec::new();
        let resized = Size::new(small(input.rng.below(200)), small(input.rng.below(60)));
        for piece in input.pieces() {
            said.extend(readable.feed(piece));
        }
        said.extend(readable.resize(resized));
        said.extend(readable.rest());
        // what is no saved state is refused; what is one goes on as it was
        let _ = Readable::load(input.bytes);
        let mut state = readable.save();
        let again = Readable::load(&state).map(Readable::finish);
        assert_eq!(again, Some(readable.finish()), "a saved state goes on");
        let spoiled = input.rng.below(state.len());
        if let Some(byte) = state.get_mut(spoiled) {
            *byte = byte.wrapping_add(small(input.rng.below(255)) as u8);
        }
        if let Some(mut readable) = Readable::load(&state) {
            said.extend(readable.feed(input.bytes));
            said.extend(readable.resize(resized));
            said.extend(readable.finish());
        }
        let mut lines: Vec<String> = said.into_iter().map(|line| line.text).collect();
        lines.push(sm_term::tail(input.bytes, size, 50));
        let text = input.text();
        lines.push(sm_term::sanitize_for_display(&text));
        for line in &lines {
            let bad = line.chars().find(|c| *c == '\x1b' || *c == '\u{9b}');
            assert_eq!(bad, None, "readable text has no escape codes: {line:?}");
        }
        // the same bytes as rows of a screen
        let rows: Vec<String> = text.lines().take(200).map(str::to_owned).collect();
        let (x, y) = (
            u32::from(small(cols)),
            u32::from(small(input.rng.below(60))),
        );
        for agent in AgentKind::ALL {
            let ours = rows.first().map(String::as_str);
            let read = kind::read_screen(agent, &rows, x, y, ours);
            assert_eq!(read, kind::read_screen(agent, &rows, x, y, ours));
            let _ = kind::read_title(agent, ours.unwrap_or_default());
            let _ = kind::paste_fit(agent, &text);
        }
    });
}

#[test]
fn config() {
    let seeds = [
        "[daemon]\nport = 8420\n\n[tmux]\nsocket = \"own\"\nprogram = \"tmux\"\nhistory_limit = 50000\n",
        "[agents.claude]\nprogram = \"~/bin/claude\"\nargs = [\"--model\", \"x\"]\n[agents.codex]\nprogram = \"codex\"\n",
        "[retention]\nlogs_days = 30\nlogs_max_mb = 500\nevents_days = 90\n[generic]\nquiet_ms = 700\n",
        "[notify]\ncommand = [\"notify-send\", \"{text}\"]\n[store]\ndurability = \"full\"\n[log]\nlevel = \"info\"\n",
    ];
    let mut seeds: Vec<Vec<u8>> = seeds.iter().map(|s| s.as_bytes().to_vec()).collect();
    seeds.push(sm_daemon::config::reference().into_bytes());
    fuzz("config", &Corpus::of(seeds), |input| {
        let path = Path::new("/home/me/config.toml");
        if let Err(error) = Config::parse(input.bytes, path, Some(Path::new("/home/me"))) {
            assert!(!error.to_string().is_empty() && !error.hint().is_empty());
        }
    });
}

#[test]
fn small_readers() {
    let mut seeds = Corpus::recorded("claude", "hook_");
    seeds.push(b"id: 7\nevent: turn\ndata: {\"seq\":7}\n\n: hi\nretry: 5\n".to_vec());
    seeds.push(br#"{"v":1,"id":"1-2","at":1,"agent":"claude","event":"Stop","session":"s","ancestors":"1:2","body":"{}"}"#.to_vec());
    fuzz("small_readers", &Corpus::of(seeds), |input| {
        if let Some(value) = sm_client::json::parse(input.bytes) {
            let known = serde_json::from_slice::<serde_json::Value>(input.bytes);
            if let Ok(known) = known {
                assert_eq!(value.as_str(), known.as_str());
            }
        }
        let mut reader = sm_client::sse::SseReader::default();
        let text = input.text();
        let data: usize = text
            .lines()
            .filter_map(|l| reader.line(l))
            .map(|e| e.data.len())
            .sum();
        assert!(data <= text.len());
    });
}
