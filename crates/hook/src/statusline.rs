//! `sm-hook <agent> statusline [--format text] [-- command]`: the agent's status line.
//!
//! The user's own command runs with the same stdin while the daemon is told; its output comes
//! first. It is never slower than the slower of the two, and never waits for a command that
//! hangs. Without a daemon the line is made from stdin alone, and the last sample is kept for the
//! next one.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use sm_client::{Client, Paths, json, platform};

use crate::Speaks;
use crate::caller::{self, Caller, Outcome};
use crate::hook::print;
use crate::input::{self, Input};

/// The user's command gets this long.
const PATIENCE: Duration = Duration::from_secs(2);
/// It has ended, but something it left behind holds its output open.
const LAST_WORDS: Duration = Duration::from_millis(50);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A status line is a line; more is not shown.
const MAX_OUTPUT: usize = 64 * 1024;
const SIGKILL: i32 = 9;
const EVENT: &str = "statusline";
const FORMAT: &str = "{percent}% ctx";

pub fn run(agent: &str, rest: &[OsString], who: Speaks) -> i32 {
    let input = input::read();
    let users = users_command(rest).and_then(|command| Users::start(&command, &input.bytes));
    let ours = our_text(agent, &input, who, format(rest).as_deref());
    let theirs = users.map(Users::finish).unwrap_or_default();
    print(&join(&theirs, &ours.text));
    if let Some(paths) = ours.nobody_listens_at {
        caller::revive(&paths); // when the line is out: nobody waits for this
    }
    0
}

/// What our own arguments say of the line, before the user's command.
fn format(rest: &[OsString]) -> Option<String> {
    let mut ours = rest.iter().take_while(|word| *word != "--");
    while let Some(word) = ours.next() {
        let word = word.to_str().unwrap_or_default();
        if word == "--format" {
            return Some(ours.next()?.to_string_lossy().into_owned());
        }
        if let Some(format) = word.strip_prefix("--format=") {
            return Some(format.to_owned());
        }
    }
    None
}

fn users_command(rest: &[OsString]) -> Option<OsString> {
    let at = rest.iter().position(|word| word == "--")?;
    let command = rest[at + 1..].join(" ".as_ref());
    (!command.is_empty()).then_some(command)
}

/// Our part of the line.
struct Ours {
    text: Vec<u8>,
    nobody_listens_at: Option<Paths>,
}

fn our_text(agent: &str, input: &Input, who: Speaks, format: Option<&str>) -> Ours {
    let own = || Ours {
        text: own_text(&input.bytes, format.unwrap_or(FORMAT)).into_bytes(),
        nobody_listens_at: None,
    };
    match who {
        Speaks::This => {}
        Speaks::Another => return own(),
    }
    let (Some(caller), Ok(paths)) = (Caller::from_env(), Paths::of_session()) else {
        return own();
    };
    let client = Client::new(paths);
    let keep = || caller.keep_sample(client.paths(), agent, EVENT, input);
    match caller::deliver(&caller, &client, agent, EVENT, input) {
        Outcome::Answered(text) if format.is_none() => Ours { text, ..own() },
        Outcome::Answered(_) | Outcome::Refused => own(),
        Outcome::Unanswered => {
            keep();
            own()
        }
        Outcome::NoDaemon => {
            keep();
            Ours {
                nobody_listens_at: Some(client.paths().clone()),
                ..own()
            }
        }
    }
}

/// What can be said without a daemon; nothing, if the input is not a status line's.
fn own_text(input: &[u8], format: &str) -> String {
    let value = json::parse(input);
    let Some(context) = value.as_ref().and_then(|value| value.get("context_window")) else {
        return String::new();
    };
    if context.get("used_percentage").is_none() {
        return String::new();
    }
    let number = |key: &str| context.get(key)?.as_f64().filter(|n| n.is_finite());
    let percent = number("used_percentage").map(|percent| percent.clamp(0.0, 999.0));
    let (tokens, window) = (number("total_input_tokens"), number("context_window_size"));
    let left = tokens
        .zip(window)
        .map(|(tokens, window)| (window - tokens).max(0.0));
    let or_dash = |known: Option<String>| known.unwrap_or_else(|| "–".to_owned());
    let percent = or_dash(percent.map(|percent| format!("{percent:.0}")));
    let count = |count: Option<f64>| or_dash(count.map(short));
    format
        .replace("{percent}", &percent)
        .replace("{tokens}", &count(tokens))
        .replace("{window}", &count(window))
        .replace("{left}", &count(left))
}

/// `86k`.
fn short(count: f64) -> String {
    match count {
        n if n < 1_000.0 => format!("{:.0}", n.max(0.0)),
        n if n < 999_500.0 => format!("{:.0}k", n / 1_000.0),
        n => format!("{:.1}M", n / 1_000_000.0).replace(".0M", "M"),
    }
}

/// The user's lines as they are, ours behind the last of them.
fn join(theirs: &[u8], ours: &[u8]) -> Vec<u8> {
    let (theirs, ours) = (trimmed(theirs), trimmed(ours));
    let mut line = theirs.to_vec();
    if !theirs.is_empty() && !ours.is_empty() {
        // Their colour must not become ours.
        if theirs.contains(&0x1b) {
            line.extend_from_slice(b"\x1b[0m");
        }
        line.extend_from_slice(" · ".as_bytes());
    }
    line.extend_from_slice(ours);
    if !line.is_empty() {
        line.push(b'\n');
    }
    line
}

fn trimmed(text: &[u8]) -> &[u8] {
    let end = text
        .iter()
        .rposition(|byte| !matches!(byte, b'\n' | b'\r'))
        .map_or(0, |at| at + 1);
    &text[..end]
}

/// The user's command while it runs, in a process group of its own so that all of it can be
/// ended.
struct Users {
    child: Child,
    output: Receiver<Vec<u8>>,
    deadline: Instant,
}

impl Users {
    fn start(command: &OsString, input: &[u8]) -> Option<Self> {
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .ok()?;
        let (mut stdin, mut stdout) = (child.stdin.take()?, child.stdout.take()?);
        let bytes = input.to_vec();
        // Both ends at once: a command may answer before it has read everything.
        std::thread::spawn(move || {
            let _ = stdin.write_all(&bytes);
        });
        let (sender, output) = mpsc::channel();
        std::thread::spawn(move || {
            let mut chunk = vec![0; 8 * 1024];
            // Read to the end, even what nobody keeps: a full pipe would stop the command.
            while let Ok(read @ 1..) = stdout.read(&mut chunk) {
                let _ = sender.send(chunk[..read].to_vec());
            }
        });
        Some(Self {
            child,
            output,
            deadline: Instant::now() + PATIENCE,
        })
    }

    fn finish(mut self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut deadline = self.deadline;
        let mut ended = false;
        loop {
            let now = Instant::now();
            match self
                .output
                .recv_timeout(LOOK_EVERY.min(deadline.saturating_duration_since(now)))
            {
                Ok(chunk) => {
                    let room = MAX_OUTPUT - text.len();
                    text.extend_from_slice(&chunk[..chunk.len().min(room)]);
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if !ended && self.has_ended() {
                ended = true;
                deadline = deadline.min(now + LAST_WORDS);
            }
            if now >= deadline {
                break;
            }
        }
        // It closed its output; most then end at once.
        while !self.has_ended() {
            if Instant::now() >= self.deadline {
                // Not reaped yet, so the group is still its own.
                let _ = platform::signal_group(self.child.id(), SIGKILL);
                let _ = self.child.wait();
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        text
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentage_is_found_or_nothing_is_said() {
        for (input, expected) in [
            (r#"{"context_window":{"used_percentage":31}}"#, "31% ctx"),
            (
                r#"{"x":[{}],"context_window":{"size":1,"used_percentage":30.6}}"#,
                "31% ctx",
            ),
            (r#"{"context_window":{"used_percentage":null}}"#, "–% ctx"),
            (r#"{"context_window":{"used_percentage":-4}}"#, "0% ctx"),
            (r#"{"context_window":{"used_percentage":1e999}}"#, "–% ctx"),
            (r#"{"context_window":{"used_percentage":"x"}}"#, "–% ctx"),
            (r#"{"context_window":{}}"#, ""),
            (r#"{"used_percentage":31}"#, ""),
            (r#"{"context_window":31}"#, ""),
            (r#"{"context_window":{"used_percentage":31"#, ""),
            ("", ""),
            ("\u{0}\u{1}garbage", ""),
        ] {
            assert_eq!(own_text(input.as_bytes(), FORMAT), expected, "{input}");
        }
    }

    #[test]
    fn the_line_has_the_form_that_is_asked_for() {
        let input = br#"{"context_window":{"total_input_tokens":86400,
            "context_window_size":200000,"used_percentage":43}}"#;
        for (format, expected) in [
            ("{percent}% ctx", "43% ctx"),
            ("{tokens}/{window}, {left} left", "86k/200k, 114k left"),
            ("{other} {{percent}}", "{other} {43}"),
            ("", ""),
        ] {
            assert_eq!(own_text(input, format), expected);
        }
        let unknown = br#"{"context_window":{"used_percentage":null}}"#;
        assert_eq!(own_text(unknown, "{percent} {left}"), "– –");
        for (count, expected) in [
            (0.0, "0"),
            (999.0, "999"),
            (86_400.0, "86k"),
            (999_700.0, "1M"),
            (1_250_000.0, "1.2M"),
        ] {
            assert_eq!(short(count), expected);
        }
    }

    #[test]
    fn the_format_is_ours_and_the_users_command_is_his() {
        let words = |words: &[&str]| -> Vec<OsString> { words.iter().map(Into::into).collect() };
        for (rest, expected) in [
            (&[][..], None),
            (&["--format", "x y"][..], Some("x y")),
            (&["--format=x"][..], Some("x")),
            (&["--installed", "--format", "x", "--", "a"][..], Some("x")),
            (&["--format"][..], None),
            (&["--", "--format", "x"][..], None),
        ] {
            assert_eq!(format(&words(rest)).as_deref(), expected, "{rest:?}");
        }
    }

    #[test]
    fn their_line_comes_first() {
        for (theirs, ours, expected) in [
            ("", "", ""),
            ("me\n", "", "me\n"),
            ("", "31% ctx", "31% ctx\n"),
            ("me\n", "31% ctx\n", "me · 31% ctx\n"),
            ("one\ntwo\n\n", "x", "one\ntwo · x\n"),
            ("\x1b[31mred", "x", "\x1b[31mred\x1b[0m · x\n"),
        ] {
            assert_eq!(
                String::from_utf8(join(theirs.as_bytes(), ours.as_bytes())).unwrap(),
                expected
            );
        }
    }

    #[test]
    fn the_command_is_what_follows_two_dashes() {
        let words = |words: &[&str]| -> Vec<OsString> { words.iter().map(Into::into).collect() };
        for (rest, expected) in [
            (&[][..], None),
            (&["--"][..], None),
            (&["--", ""][..], None),
            (&["x"][..], None),
            (&["--installed", "--was", "x", "--", "a"][..], Some("a")),
            (&["--installed", "--", "--", "a"][..], Some("-- a")),
            (&["--", "a | b"][..], Some("a | b")),
            (&["--", "a", "b"][..], Some("a b")),
        ] {
            assert_eq!(
                users_command(&words(rest)),
                expected.map(OsString::from),
                "{rest:?}"
            );
        }
    }
}
