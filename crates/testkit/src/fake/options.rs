//! The command line, and the faults switched on by `FAKE_AGENT`. Pure.
//!
//! `FAKE_AGENT` is a list of `name` or `name=number`, separated by commas:
//!
//! | knob | effect |
//! |---|---|
//! | `swallow_enter=N` | the first N Enter keys on a filled composer do nothing |
//! | `swallow_enter_after_clear=N` | the same, counted again after each `/clear` |
//! | `slow_start_ms=N`, `slow_clear_ms=N` | how long starting (0) and `/clear` (30) take |
//! | `no_stop_hook`, `no_prompt_hook`, `no_session_start_hook`, `no_session_end_hook` | these hooks are not run |
//! | `late_start_hook_ms=N`, `late_prompt_hook_ms=N` | SessionStart and UserPromptSubmit are run so much later, and nobody waits for them |
//! | `ignore_clear=N` | the first N `/clear` change nothing |
//! | `die_on_argument` | started with a prompt as its argument in a new conversation, it ends with code 1 |
//! | `no_mailbox` | background hooks that could wake it are not started |
//! | `no_status_file`, `no_transcript`, `no_title` | these sources are missing |
//! | `unrecorded_prompt=N` | from the Nth prompt of a conversation on nothing reaches the transcript |
//! | `late_record_ms=N` | what is said reaches the transcript so much later |
//! | `late_answer_ms=N` | what the model says is drawn so much later, also after the turn has ended |
//! | `restore_on_escape` | Escape during a stall puts the prompt back into the composer |
//! | `die_on_prompt=N` | the process kills itself when the Nth prompt is submitted |
//! | `deaf` | SIGTERM is shown and does not end it |
//! | `stop_cap=N` | answers of Stop hooks that are followed in a row (8) |
//! | `turn_tokens=N` | tokens each turn adds to the context (1000) |

/// How a conversation begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Beginning {
    Fresh { id: Option<String> },
    Resume { id: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Options {
    pub settings: Vec<String>,
    pub beginning: Beginning,
    pub model: String,
    pub prompt: Option<String>,
    pub print_version: bool,
}

impl Options {
    /// Unknown flags are ignored: the real program has many more.
    pub(super) fn parse(args: impl IntoIterator<Item = String>) -> Self {
        let mut args = args.into_iter();
        let mut options = Self {
            settings: Vec::new(),
            beginning: Beginning::Fresh { id: None },
            model: "claude-sonnet-4-5".into(),
            prompt: None,
            print_version: false,
        };
        while let Some(arg) = args.next() {
            let (flag, inline) = match arg.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") => {
                    (flag.to_owned(), Some(value.to_owned()))
                }
                _ => (arg.clone(), None),
            };
            let mut value = || inline.clone().or_else(|| args.next());
            match flag.as_str() {
                "--settings" => options.settings.extend(value()),
                "--session-id" => options.beginning = Beginning::Fresh { id: value() },
                "--resume" | "-r" => {
                    if let Some(id) = value() {
                        options.beginning = Beginning::Resume { id };
                    }
                }
                "--model" => options.model = value().unwrap_or(options.model),
                "--version" | "-v" => options.print_version = true,
                "--append-system-prompt"
                | "--permission-mode"
                | "--add-dir"
                | "--mcp-config"
                | "--name"
                | "-n" => {
                    value();
                }
                "--" => options.prompt = args.next().or(options.prompt),
                _ if flag.starts_with('-') => {}
                _ => options.prompt = Some(arg),
            }
        }
        options
    }

    /// The size of the model's context window.
    pub(super) fn window(&self) -> u64 {
        if self.model.ends_with("[1m]") {
            1_000_000
        } else {
            200_000
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Knobs {
    pub swallow_enter: u32,
    pub swallow_enter_after_clear: u32,
    pub slow_start_ms: u64,
    pub slow_clear_ms: u64,
    pub no_stop_hook: bool,
    pub no_prompt_hook: bool,
    pub no_session_start_hook: bool,
    pub no_session_end_hook: bool,
    pub late_start_hook_ms: u64,
    pub late_prompt_hook_ms: u64,
    pub ignore_clear: u32,
    pub die_on_argument: bool,
    pub no_mailbox: bool,
    pub no_status_file: bool,
    pub no_transcript: bool,
    pub no_title: bool,
    pub unrecorded_prompt: u32,
    pub late_record_ms: u64,
    pub late_answer_ms: u64,
    pub restore_on_escape: bool,
    pub die_on_prompt: u32,
    pub deaf: bool,
    pub stop_cap: u32,
    pub turn_tokens: u64,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            swallow_enter: 0,
            swallow_enter_after_clear: 0,
            slow_start_ms: 0,
            slow_clear_ms: 30,
            no_stop_hook: false,
            no_prompt_hook: false,
            no_session_start_hook: false,
            no_session_end_hook: false,
            late_start_hook_ms: 0,
            late_prompt_hook_ms: 0,
            ignore_clear: 0,
            die_on_argument: false,
            no_mailbox: false,
            no_status_file: false,
            no_transcript: false,
            no_title: false,
            unrecorded_prompt: u32::MAX,
            late_record_ms: 0,
            late_answer_ms: 0,
            restore_on_escape: false,
            die_on_prompt: 0,
            deaf: false,
            stop_cap: 8,
            turn_tokens: 1000,
        }
    }
}

impl Knobs {
    /// A misspelt knob is an error: a test that believes in a fault that never comes proves nothing.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut knobs = Self::default();
        for item in text
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
        {
            let (name, value) = item.split_once('=').unwrap_or((item, "1"));
            let number: u64 = value
                .parse()
                .map_err(|_| format!("FAKE_AGENT: {item}: not a number"))?;
            let small = u32::try_from(number).unwrap_or(u32::MAX);
            let on = number != 0;
            match name {
                "swallow_enter" => knobs.swallow_enter = small,
                "swallow_enter_after_clear" => knobs.swallow_enter_after_clear = small,
                "slow_start_ms" => knobs.slow_start_ms = number,
                "slow_clear_ms" => knobs.slow_clear_ms = number,
                "no_stop_hook" => knobs.no_stop_hook = on,
                "no_prompt_hook" => knobs.no_prompt_hook = on,
                "no_session_start_hook" => knobs.no_session_start_hook = on,
                "no_session_end_hook" => knobs.no_session_end_hook = on,
                "late_start_hook_ms" => knobs.late_start_hook_ms = number,
                "late_prompt_hook_ms" => knobs.late_prompt_hook_ms = number,
                "ignore_clear" => knobs.ignore_clear = small,
                "die_on_argument" => knobs.die_on_argument = on,
                "no_mailbox" => knobs.no_mailbox = on,
                "no_status_file" => knobs.no_status_file = on,
                "no_transcript" => knobs.no_transcript = on,
                "no_title" => knobs.no_title = on,
                "unrecorded_prompt" => knobs.unrecorded_prompt = small,
                "late_record_ms" => knobs.late_record_ms = number,
                "late_answer_ms" => knobs.late_answer_ms = number,
                "restore_on_escape" => knobs.restore_on_escape = on,
                "die_on_prompt" => knobs.die_on_prompt = small,
                "deaf" => knobs.deaf = on,
                "stop_cap" => knobs.stop_cap = small,
                "turn_tokens" => knobs.turn_tokens = number,
                _ => return Err(format!("FAKE_AGENT: unknown knob {name}")),
            }
        }
        Ok(knobs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Options {
        Options::parse(args.iter().map(|a| (*a).to_owned()))
    }

    #[test]
    fn the_command_line_is_read_like_claudes() {
        let options = parse(&[
            "--settings",
            "/s.json",
            "--session-id=abc",
            "--model",
            "m",
            "--new-flag",
            "hello\nyou",
        ]);
        assert_eq!(options.settings, ["/s.json"]);
        assert_eq!(
            options.beginning,
            Beginning::Fresh {
                id: Some("abc".into())
            }
        );
        assert_eq!(
            (options.model.as_str(), options.prompt.as_deref()),
            ("m", Some("hello\nyou"))
        );
        assert_eq!(
            parse(&["--resume", "x"]).beginning,
            Beginning::Resume { id: "x".into() }
        );
        assert_eq!(
            parse(&["--", "--dashed prompt"]).prompt.as_deref(),
            Some("--dashed prompt")
        );
        assert_eq!(parse(&["a = b"]).prompt.as_deref(), Some("a = b"));
        assert_eq!(
            parse(&["--model", "claude-opus-4-8[1m]"]).window(),
            1_000_000
        );
    }

    #[test]
    fn knobs_are_checked() {
        let knobs = Knobs::parse("swallow_enter=2, no_stop_hook").unwrap();
        assert_eq!(
            (knobs.swallow_enter, knobs.no_stop_hook, knobs.slow_clear_ms),
            (2, true, 30)
        );
        assert_eq!(Knobs::parse("").unwrap(), Knobs::default());
        assert!(Knobs::parse("no_stop_hok").is_err());
        assert!(Knobs::parse("stop_cap=many").is_err());
    }
}
