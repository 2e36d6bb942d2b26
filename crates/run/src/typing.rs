//! The person's keys on their way to an agent: passed on as they come; kept while one agent is ended
//! and the next begins; then given to that one as if they were typed.
//!
//! It loses no key, and keeps a goodbye from no agent that is there.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::Farewell;
use crate::keys::Keys;
use crate::typed::{Piece, Token, Typed, pieces};

/// More is not read from the person's terminal while keys are kept.
const MOST: usize = 4 << 20;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    PassedOn,
    /// The agent is there and takes keys, and is to be left.
    Held,
    /// Its successor begins, and takes no text yet.
    Awaited,
}

#[derive(Debug, Default)]
pub struct Typing {
    state: State,
    held: Vec<u8>,
    reader: Typed,
    goodbye: Option<Farewell>,
    replaying: VecDeque<Piece>,
    next_at: Option<Instant>,
}

impl Typing {
    /// Another agent begins. What is held stays so.
    pub fn begin(&mut self) {
        self.goodbye = None;
        if self.state == State::Held {
            self.state = State::Awaited;
        }
        if self.state == State::PassedOn && self.replaying.is_empty() {
            // Nobody said when: at once.
            self.replay();
        }
    }

    pub fn hold(&mut self) {
        self.state = State::Held;
        self.goodbye = None;
        self.next_at = None;
        // It did not get the rest any more.
        let rest: Vec<u8> = self.replaying.drain(..).flat_map(|p| p.bytes).collect();
        self.held.splice(..0, rest);
    }

    pub fn pass_on(&mut self) {
        self.state = State::PassedOn;
        self.goodbye = None;
        self.complete();
    }

    pub fn replay(&mut self) {
        self.pass_on();
        self.replaying
            .extend(pieces(&std::mem::take(&mut self.held)));
        self.next_at = match self.replaying.is_empty() {
            true => None,
            false => Some(Instant::now()),
        };
    }

    /// Everything that no agent has got.
    pub fn take(&mut self) -> Vec<u8> {
        self.pass_on();
        self.next_at = None;
        let mut bytes: Vec<u8> = self.replaying.drain(..).flat_map(|p| p.bytes).collect();
        bytes.append(&mut self.held);
        bytes
    }

    /// Whether keys go on as they come.
    pub fn is_passed_on(&self) -> bool {
        self.state == State::PassedOn && self.replaying.is_empty()
    }

    pub fn has_room(&self) -> bool {
        self.held.len() < MOST
    }

    /// The last goodbye since keys were held back. The agent has heard it; whether it ends for it is
    /// its own affair, unless it is to end anyway.
    pub fn goodbye(&self) -> Option<Farewell> {
        self.goodbye
    }

    /// Whether nothing waits for an agent.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty() && self.replaying.is_empty()
    }

    /// Keys that are not passed on as they come; what goes on all the same: answers of the terminal,
    /// Ctrl+C and its like, and from a goodbye to an agent that is to be left on everything.
    pub fn saw(&mut self, bytes: &[u8], keys: &mut Keys, now: Instant) -> Vec<u8> {
        if self.state == State::PassedOn {
            // Behind those that are being given.
            keys.saw(bytes, now);
            self.replaying.extend(pieces(bytes));
            return Vec::new();
        }
        let mut on = Vec::new();
        for (at, byte) in bytes.iter().enumerate() {
            let held = &mut self.held;
            self.reader.feed(&[*byte], |token, bytes| match token {
                Token::Reply => on.extend_from_slice(bytes),
                Token::Text | Token::Enter | Token::Key | Token::Paste => {
                    held.extend_from_slice(bytes);
                }
            });
            match (self.state, keys.hears(*byte, now)) {
                (_, None) => {}
                // A line would be lost before there is a composer: it waits with the others.
                (State::Awaited, Some(Farewell::ExitCommand)) => {}
                (State::Awaited, Some(key @ (Farewell::CtrlC | Farewell::CtrlD))) => {
                    self.complete();
                    on.append(&mut self.said(key));
                }
                (State::Held | State::PassedOn, Some(goodbye)) => {
                    self.pass_on();
                    self.goodbye = Some(goodbye);
                    on.append(&mut self.said(goodbye));
                    let rest = bytes.get(at + 1..).unwrap_or_default();
                    keys.saw(rest, now);
                    on.extend_from_slice(rest);
                    break;
                }
            }
        }
        on
    }

    /// Keys that came when no agent was there; whether they say goodbye.
    pub fn between(&mut self, bytes: &[u8], keys: &mut Keys, now: Instant) -> Option<Farewell> {
        let mut goodbye = None;
        for byte in bytes {
            self.not_taken(&[*byte]);
            if let Some(heard) = keys.hears(*byte, now) {
                self.complete();
                self.said(heard);
                goodbye = Some(heard);
            }
        }
        goodbye
    }

    /// Takes a goodbye that was just said out of what is held: a key, or a line.
    fn said(&mut self, goodbye: Farewell) -> Vec<u8> {
        let from = match goodbye {
            Farewell::CtrlC | Farewell::CtrlD => last_key(&self.held),
            Farewell::ExitCommand => last_line(&self.held),
        };
        self.held.split_off(from)
    }

    /// Keys that an agent has not taken, or that came when none was there.
    pub fn not_taken(&mut self, bytes: &[u8]) {
        let held = &mut self.held;
        self.reader.feed(bytes, |token, bytes| match token {
            Token::Reply => {} // to a question of the one that is gone
            Token::Text | Token::Enter | Token::Key | Token::Paste => held.extend_from_slice(bytes),
        });
    }

    fn complete(&mut self) {
        let held = &mut self.held;
        self.reader.rest(|_, bytes| held.extend_from_slice(bytes));
    }

    /// When the next of the keys that are given again is due.
    pub fn next_at(&self) -> Option<Instant> {
        self.next_at
    }

    /// The next of them, if it is due.
    pub fn next(&mut self, now: Instant) -> Option<Vec<u8>> {
        if self.state != State::PassedOn || self.next_at.is_none_or(|at| at > now) {
            return None;
        }
        let piece = self.replaying.pop_front();
        self.next_at = self
            .replaying
            .front()
            .map(|next| now + Duration::from_millis(next.pause));
        piece.map(|piece| piece.bytes)
    }
}

/// Where the last key begins.
fn last_key(held: &[u8]) -> usize {
    let (mut at, mut last) = (0, 0);
    tokens(held, |_, length| {
        last = at;
        at += length;
    });
    last
}

/// Where the last line begins, which is ended.
fn last_line(held: &[u8]) -> usize {
    let (mut at, mut begins, mut last) = (0, 0, 0);
    tokens(held, |token, length| {
        at += length;
        if token == Token::Enter {
            (last, begins) = (begins, at);
        }
    });
    last
}

fn tokens(bytes: &[u8], mut tell: impl FnMut(Token, usize)) {
    let mut reader = Typed::default();
    reader.feed(bytes, |token, bytes| tell(token, bytes.len()));
    reader.rest(|token, bytes| tell(token, bytes.len()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(typing: &mut Typing) -> Vec<u8> {
        let mut given = Vec::new();
        let mut now = Instant::now();
        while let Some(at) = typing.next_at() {
            now = now.max(at);
            assert_eq!(
                typing
                    .next(now - Duration::from_millis(1))
                    .filter(|_| at > now),
                None
            );
            given.extend(typing.next(now).unwrap_or_default());
        }
        given
    }

    fn typed(typing: &mut Typing, bytes: &[u8]) -> Vec<u8> {
        typing.saw(bytes, &mut Keys::default(), Instant::now())
    }

    #[test]
    fn keys_that_were_held_come_in_order_and_once() {
        let mut typing = Typing::default();
        assert!(typing.is_passed_on());
        typing.hold();
        assert_eq!(
            typed(&mut typing, b"fix\x1b[?62c it\r"),
            b"\x1b[?62c",
            "answers go on"
        );
        assert_eq!(typed(&mut typing, b"now"), b"");
        typing.not_taken(b"!\x1b[I");
        typing.begin();
        assert!(!typing.is_passed_on(), "it stays held until somebody says");
        assert_eq!(typed(&mut typing, b"?"), b"");
        typing.replay();
        assert!(!typing.is_passed_on());
        assert_eq!(typed(&mut typing, b"live"), b"", "behind the others");
        assert_eq!(given(&mut typing), b"fix it\rnow!?live");
        assert!(typing.is_passed_on());
        assert_eq!(typing.take(), b"");
    }

    #[test]
    fn what_is_not_given_is_given_back() {
        let mut typing = Typing::default();
        typing.hold();
        typed(&mut typing, b"one");
        typing.pass_on();
        assert!(typing.is_passed_on(), "a dialog is answered");
        assert_eq!(typing.take(), b"one");
        typing.hold();
        typed(&mut typing, b"two");
        typing.replay();
        let first = typing.next(Instant::now()).unwrap();
        assert_eq!(first, b"t");
        typing.hold();
        typed(&mut typing, b"!");
        assert_eq!(typing.take(), b"wo!");
    }

    #[test]
    fn a_goodbye_is_heard_and_what_was_typed_before_it_is_kept() {
        use Farewell::{CtrlC, CtrlD, ExitCommand};
        for (bytes, heard, goodbye, kept) in [
            (&b"\x03"[..], &b"\x03"[..], CtrlC, &b""[..]),
            (b"text\x03", b"\x03", CtrlC, b"text"),
            (b"text\x1b[99;5u", b"\x1b[99;5u", CtrlC, b"text"),
            (b"\x1b[A\x04", b"\x04", CtrlD, b"\x1b[A"),
            (b"/exit\r", b"/exit\r", ExitCommand, b""),
            (b"do it\r/exit\r", b"/exit\r", ExitCommand, b"do it\r"),
            // as often as it was pressed, and with what follows
            (b"text\x03\x03", b"\x03\x03", CtrlC, b"text"),
            (b"\x03\x03\x03", b"\x03\x03\x03", CtrlC, b""),
            (b"\x03ls\r", b"\x03ls\r", CtrlC, b""),
            (b"\x1b[?62ca\x03", b"\x1b[?62c\x03", CtrlC, b"a"),
        ] {
            for cut in 0..=bytes.len() {
                let (mut typing, mut keys) = (Typing::default(), Keys::default());
                typing.hold();
                let mut told = Vec::new();
                for part in [&bytes[..cut], &bytes[cut..]] {
                    match typing.is_passed_on() {
                        true => told.extend_from_slice(part),
                        false => told.extend(typing.saw(part, &mut keys, Instant::now())),
                    }
                }
                assert_eq!(told, heard, "{bytes:?} cut at {cut}");
                assert_eq!(typing.goodbye(), Some(goodbye));
                assert!(typing.is_passed_on(), "so is everything that follows");
                assert_eq!(typing.take(), kept, "{bytes:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn a_goodbye_is_over_when_the_agent_goes_on() {
        let mut typing = Typing::default();
        typing.hold();
        assert_eq!(typed(&mut typing, b"\x03"), b"\x03");
        typing.replay();
        assert_eq!(typing.goodbye(), None);
        typing.hold();
        typed(&mut typing, b"\x03");
        typing.begin();
        assert_eq!(typing.goodbye(), None, "another agent");
    }

    #[test]
    fn an_agent_that_begins_hears_keys_at_once_and_lines_when_it_can() {
        let (mut typing, mut keys) = (Typing::default(), Keys::default());
        let mut types = |typing: &mut Typing, bytes: &[u8]| {
            let on = typing.saw(bytes, &mut keys, Instant::now());
            assert!(!typing.is_passed_on() && typing.goodbye().is_none());
            on
        };
        typing.hold();
        types(&mut typing, b"first");
        typing.begin();
        assert_eq!(
            types(&mut typing, b" thing\x03\x03, then\x04"),
            b"\x03\x03\x04"
        );
        assert_eq!(types(&mut typing, b"\r/exit\r"), b"");
        typing.replay();
        assert_eq!(given(&mut typing), b"first thing, then\r/exit\r");
    }

    #[test]
    fn a_goodbye_to_nobody_is_one_wherever_it_was_begun() {
        let (mut typing, mut keys) = (Typing::default(), Keys::default());
        let now = Instant::now();
        typing.hold();
        typing.saw(b"fix it\r/ex", &mut keys, now);
        assert_eq!(typing.between(b"i", &mut keys, now), None);
        let said = typing.between(b"t\rls", &mut keys, now);
        assert_eq!(said, Some(Farewell::ExitCommand));
        assert_eq!(typing.take(), b"fix it\rls");
    }
}
