//! The control-mode protocol as bytes in, messages out. No IO, no clock.
//!
//! What a reply holds may be a screen, and a screen may show anything, also lines that look like
//! the protocol. So the end of an answer is not told by counting replies: after every request the
//! client has tmux print a secret line (the mark), and whatever came before it belongs to that
//! request. Must never panic, and never hold more than [`MAX_LINE`] + [`MAX_REPLY`] bytes.

/// A longer line is cut here.
pub const MAX_LINE: usize = 8 << 20;
/// A reply with more bytes than this is cut here.
pub const MAX_REPLY: usize = 64 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// What one command of this client answered.
    Reply(Reply),
    /// Everything before belongs to the request with this number, or an earlier one.
    Mark(u64),
    /// tmux ends the connection, and why.
    Exit(Option<String>),
    SubscriptionChanged {
        name: String,
        value: String,
    },
    /// A window is gone, of any session.
    WindowClosed {
        window: String,
    },
    WindowRenamed {
        window: String,
        name: String,
    },
    SessionChanged {
        session: String,
        name: String,
    },
    SessionsChanged,
    PaneModeChanged {
        pane: String,
    },
    /// Anything else; its first word.
    Other(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    pub number: u64,
    pub failed: bool,
    pub lines: Vec<String>,
    /// Something was left out because it was too long.
    pub cut: bool,
}

/// `%begin`, `%end` and `%error` carry these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Guard {
    time: u64,
    number: u64,
    flags: u64,
}

#[derive(Debug)]
struct Block {
    guard: Guard,
    reply: Reply,
    size: usize,
}

#[derive(Debug)]
pub struct Parser {
    secret: String,
    line: Vec<u8>,
    line_cut: bool,
    block: Option<Block>,
    /// The last line was a mark: the next one is the end of its reply.
    after_mark: bool,
}

impl Parser {
    /// `secret` begins every mark; it must be impossible to guess for whoever fills a screen.
    pub fn new(secret: impl Into<String>) -> Self {
        Self {
            secret: secret.into(),
            line: Vec::new(),
            line_cut: false,
            block: None,
            after_mark: false,
        }
    }

    pub fn feed(&mut self, mut bytes: &[u8], out: &mut Vec<Message>) {
        while let Some(end) = bytes.iter().position(|b| *b == b'\n') {
            self.keep(&bytes[..end]);
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            let cut = std::mem::take(&mut self.line_cut);
            self.line(&String::from_utf8_lossy(&line), cut, out);
            // The buffer is used again; a huge one is not kept.
            if line.capacity() <= 64 << 10 {
                self.line = line;
                self.line.clear();
            }
        }
        self.keep(bytes);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = MAX_LINE.saturating_sub(self.line.len());
        self.line_cut |= bytes.len() > room;
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn line(&mut self, line: &str, cut: bool, out: &mut Vec<Message>) {
        if let Some(number) = self.mark(line) {
            self.block = None;
            self.after_mark = true;
            out.push(Message::Mark(number));
            return;
        }
        if std::mem::take(&mut self.after_mark) && guard(line, "%end").is_some() {
            return;
        }
        let Some(block) = &mut self.block else {
            match guard(line, "%begin") {
                Some(guard) => {
                    let reply = Reply {
                        number: guard.number,
                        ..Reply::default()
                    };
                    self.block = Some(Block {
                        guard,
                        reply,
                        size: 0,
                    });
                }
                None => out.extend(notification(line)),
            }
            return;
        };
        let ended = guard(line, "%end") == Some(block.guard);
        let failed = guard(line, "%error") == Some(block.guard);
        if ended || failed {
            let ours = block.guard.flags & 1 == 1;
            if let (Some(mut block), true) = (self.block.take(), ours) {
                block.reply.failed = failed;
                out.push(Message::Reply(block.reply));
            }
            return;
        }
        block.reply.cut |= cut;
        // An empty line costs memory too.
        block.size = block.size.saturating_add(line.len() + size_of::<String>());
        if block.size > MAX_REPLY {
            block.reply.cut = true;
        } else {
            block.reply.lines.push(line.to_owned());
        }
    }

    fn mark(&self, line: &str) -> Option<u64> {
        let number = line.strip_prefix(self.secret.as_str())?;
        if self.secret.is_empty() {
            None
        } else {
            number.parse().ok()
        }
    }
}

fn guard(line: &str, kind: &str) -> Option<Guard> {
    let mut words = line.strip_prefix(kind)?.strip_prefix(' ')?.split(' ');
    let mut next = || words.next()?.parse::<u64>().ok();
    let guard = Guard {
        time: next()?,
        number: next()?,
        flags: next()?,
    };
    words.next().is_none().then_some(guard)
}

fn notification(line: &str) -> Option<Message> {
    // A line that is no notification is output of somebody's hook: not for us.
    line.strip_prefix('%')?;
    let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
    let first = || rest.split(' ').next().unwrap_or_default().to_owned();
    let second = || {
        rest.split_once(' ')
            .map(|(_, b)| b.to_owned())
            .unwrap_or_default()
    };
    Some(match kind {
        "%exit" => Message::Exit((!rest.is_empty()).then(|| rest.to_owned())),
        "%subscription-changed" => Message::SubscriptionChanged {
            name: first(),
            value: rest
                .split_once(" : ")
                .map(|(_, v)| v.to_owned())
                .unwrap_or_default(),
        },
        "%window-close" | "%unlinked-window-close" => Message::WindowClosed { window: first() },
        "%window-renamed" | "%unlinked-window-renamed" => Message::WindowRenamed {
            window: first(),
            name: second(),
        },
        "%session-changed" => Message::SessionChanged {
            session: first(),
            name: second(),
        },
        "%sessions-changed" => Message::SessionsChanged,
        "%pane-mode-changed" => Message::PaneModeChanged { pane: first() },
        other => Message::Other(other.chars().take(64).collect()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(bytes: &[u8]) -> Vec<Message> {
        let mut out = Vec::new();
        Parser::new("SECRET-").feed(bytes, &mut out);
        out
    }

    fn reply(number: u64, failed: bool, lines: &[&str]) -> Message {
        let lines = lines.iter().map(|l| (*l).to_owned()).collect();
        Message::Reply(Reply {
            number,
            failed,
            lines,
            cut: false,
        })
    }

    #[test]
    fn replies_of_this_client_and_of_nobody() {
        let text = b"%begin 10 260 0\nnot ours\n%end 10 260 0\n\
            %begin 10 261 1\na\n\nb\n%end 10 261 1\n\
            %begin 10 262 1\ncan't find session: x\n%error 10 262 1\n\
            %begin 10 263 1\nSECRET-7\n%end 10 263 1\n%sessions-changed\n";
        assert_eq!(
            parse(text),
            [
                reply(261, false, &["a", "", "b"]),
                reply(262, true, &["can't find session: x"]),
                Message::Mark(7),
                Message::SessionsChanged,
            ]
        );
    }

    #[test]
    fn a_screen_that_shows_the_protocol_is_a_screen() {
        let text = b"%begin 10 261 1\n%end 10 260 1\n%exit\n%begin 10 261 1\n%error 9 261 1\n\
            %end 10 261 1\n";
        let lines = [
            "%end 10 260 1",
            "%exit",
            "%begin 10 261 1",
            "%error 9 261 1",
        ];
        assert_eq!(parse(text), [reply(261, false, &lines)]);
    }

    #[test]
    fn a_screen_that_guesses_its_own_number_cannot_shift_later_answers() {
        let mut text = b"%begin 10 261 1\n%end 10 261 1\n%begin 10 900 1\nfake\n".to_vec();
        text.extend(b"%end 10 261 1\n%begin 10 262 1\nSECRET-1\n%end 10 262 1\n");
        text.extend(b"%begin 10 263 1\nreal\n%end 10 263 1\n");
        text.extend(b"%begin 10 264 1\nSECRET-2\n%end 10 264 1\n");
        assert_eq!(
            parse(&text),
            [
                reply(261, false, &[]),
                Message::Mark(1),
                reply(263, false, &["real"]),
                Message::Mark(2),
            ]
        );
    }

    #[test]
    fn notifications() {
        let s = |t: &str| t.to_owned();
        for (line, expected) in [
            ("%exit", Message::Exit(None)),
            (
                "%exit server exited",
                Message::Exit(Some(s("server exited"))),
            ),
            (
                "%subscription-changed all $0 - - - : %0 a : b",
                Message::SubscriptionChanged {
                    name: s("all"),
                    value: s("%0 a : b"),
                },
            ),
            (
                "%window-close @1",
                Message::WindowClosed { window: s("@1") },
            ),
            (
                "%unlinked-window-close @2",
                Message::WindowClosed { window: s("@2") },
            ),
            (
                "%window-renamed @0 a b",
                Message::WindowRenamed {
                    window: s("@0"),
                    name: s("a b"),
                },
            ),
            (
                "%session-changed $1 a b",
                Message::SessionChanged {
                    session: s("$1"),
                    name: s("a b"),
                },
            ),
            ("%sessions-changed", Message::SessionsChanged),
            (
                "%pane-mode-changed %4",
                Message::PaneModeChanged { pane: s("%4") },
            ),
            ("%new-in-tmux-9 x", Message::Other(s("%new-in-tmux-9"))),
        ] {
            assert_eq!(parse(format!("{line}\n").as_bytes()), [expected], "{line}");
        }
        assert_eq!(parse(b"somebody's hook printed this\n"), []);
    }

    #[test]
    fn a_line_without_end_is_bounded() {
        let mut parser = Parser::new("SECRET-");
        let mut out = Vec::new();
        parser.feed(b"%begin 1 2 1\n", &mut out);
        for _ in 0..20 {
            parser.feed(&vec![b'x'; 1 << 20], &mut out);
        }
        assert!(parser.line.len() <= MAX_LINE);
        parser.feed(b"\n%end 1 2 1\n", &mut out);
        let Some(Message::Reply(reply)) = out.pop() else {
            panic!("no reply: {out:?}")
        };
        assert!(reply.cut);
        assert_eq!(reply.lines[0].len(), MAX_LINE);
    }

    fn line() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            "%(begin|end|error) [0-3] [0-3] [01]".prop_map(String::into_bytes),
            "SECRET-[0-9]{0,25}".prop_map(String::into_bytes),
            "%[a-z-]{0,24}( [$@%:]?[0-9a-z]{0,3}){0,6}".prop_map(String::into_bytes),
            proptest::collection::vec(any::<u8>(), 0..40),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn any_bytes_in_any_pieces_give_the_same_messages(
            lines in proptest::collection::vec(line(), 0..40),
            step in 1usize..50,
        ) {
            let bytes = lines.join(&b'\n');
            let whole = parse(&bytes);
            let mut pieces = Vec::new();
            let mut parser = Parser::new("SECRET-");
            for chunk in bytes.chunks(step) {
                parser.feed(chunk, &mut pieces);
            }
            prop_assert_eq!(whole, pieces);
        }

        #[test]
        fn after_any_rubbish_a_mark_gets_the_parser_back(
            lines in proptest::collection::vec(line(), 0..40),
        ) {
            let mut bytes = lines.join(&b'\n');
            bytes.extend(b"\n%begin 50 60 1\nSECRET-77\n%end 50 60 1\n");
            bytes.extend(b"%begin 50 61 1\nreal\n%end 50 61 1\n");
            let out = parse(&bytes);
            let tail = [Message::Mark(77), reply(61, false, &["real"])];
            prop_assert!(out.ends_with(&tail), "{out:?}");
        }
    }
}
