//! The person's keys on their way to an agent: passed on as they come; kept while one agent is ended
//! and the next begins; then given to that one as if they were typed.
//!
//! It loses no key, and a goodbye is never kept from an agent that is to live on.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::Farewell;
use crate::typed::{Piece, Token, Typed, pieces};

/// More is not read from the person's terminal while keys are kept.
const MOST: usize = 4 << 20;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    PassedOn,
    Held,
    /// Held, and the agent that runs was told to end.
    Ending,
}

#[derive(Debug, Default)]
pub struct Typing {
    state: State,
    held: Vec<u8>,
    reader: Typed,
    goodbye: bool,
    replaying: VecDeque<Piece>,
    next_at: Option<Instant>,
}

impl Typing {
    /// Another agent begins. What is held stays so.
    pub fn begin(&mut self) {
        self.goodbye = false;
        if self.state == State::Ending {
            self.state = State::Held;
        }
        if self.state == State::PassedOn && self.replaying.is_empty() {
            // Nobody said when: at once.
            self.replay();
        }
    }

    pub fn hold(&mut self) {
        self.state = State::Held;
        self.goodbye = false;
        self.next_at = None;
        // It did not get the rest any more.
        let rest: Vec<u8> = self.replaying.drain(..).flat_map(|p| p.bytes).collect();
        self.held.splice(..0, rest);
    }

    pub fn ending(&mut self) {
        if self.state == State::Held {
            self.state = State::Ending;
        }
    }

    pub fn pass_on(&mut self) {
        self.state = State::PassedOn;
        self.goodbye = false;
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

    /// Whether a goodbye was said that the agent did not hear, or not before it was to end.
    pub fn goodbye(&self) -> bool {
        self.goodbye
    }

    /// Keys that are not passed on as they come; what goes on all the same.
    pub fn saw(&mut self, bytes: &[u8], goodbye: Option<Farewell>) -> Vec<u8> {
        if self.state == State::PassedOn {
            // Behind those that are being given.
            self.replaying.extend(pieces(bytes));
            return Vec::new();
        }
        let mut on = Vec::new();
        let held = &mut self.held;
        self.reader.feed(bytes, |token, bytes| match token {
            Token::Reply => on.extend_from_slice(bytes),
            Token::Text | Token::Enter | Token::Key | Token::Paste => held.extend_from_slice(bytes),
        });
        let Some(goodbye) = goodbye else {
            return on;
        };
        self.goodbye = true;
        if self.state == State::Held {
            // The agent lives: it is told, and so is everything that follows.
            self.state = State::PassedOn;
            self.complete();
            let said = match goodbye {
                Farewell::CtrlC | Farewell::CtrlD => last_key(&self.held).len(),
                Farewell::ExitCommand => self.held.len(),
            };
            on.extend(self.held.drain(self.held.len() - said..));
        }
        on
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

/// The key that a goodbye ended with: a control character, an Enter, or a sequence.
fn last_key(held: &[u8]) -> &[u8] {
    let at = held.iter().rposition(|byte| *byte == 0x1b);
    match (at, held.last()) {
        (_, Some(0..0x20)) => held.get(held.len() - 1..).unwrap_or_default(),
        (Some(at), _) => held.get(at..).unwrap_or_default(),
        (None, _) => &[],
    }
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

    #[test]
    fn keys_that_were_held_come_in_order_and_once() {
        let mut typing = Typing::default();
        assert!(typing.is_passed_on());
        typing.hold();
        assert_eq!(
            typing.saw(b"fix\x1b[?62c it\r", None),
            b"\x1b[?62c",
            "answers go on"
        );
        typing.ending();
        assert_eq!(typing.saw(b"now", None), b"");
        typing.not_taken(b"!\x1b[I");
        typing.begin();
        assert!(!typing.is_passed_on(), "it stays held until somebody says");
        assert_eq!(typing.saw(b"?", None), b"");
        typing.replay();
        assert!(!typing.is_passed_on());
        assert_eq!(typing.saw(b"live", None), b"", "behind the others");
        assert_eq!(given(&mut typing), b"fix it\rnow!?live");
        assert!(typing.is_passed_on());
        assert_eq!(typing.take(), b"");
    }

    #[test]
    fn what_is_not_given_is_given_back() {
        let mut typing = Typing::default();
        typing.hold();
        typing.saw(b"one", None);
        typing.pass_on();
        assert!(typing.is_passed_on(), "a dialog is answered");
        assert_eq!(typing.take(), b"one");
        typing.hold();
        typing.saw(b"two", None);
        typing.replay();
        let first = typing.next(Instant::now()).unwrap();
        assert_eq!(first, b"t");
        typing.hold();
        typing.saw(b"!", None);
        assert_eq!(typing.take(), b"wo!");
    }

    #[test]
    fn a_goodbye_is_one_whether_or_not_it_is_heard() {
        // The agent was told to end: it is the run's.
        let mut typing = Typing::default();
        typing.hold();
        typing.ending();
        assert_eq!(typing.saw(b"\x03", Some(Farewell::CtrlC)), b"");
        assert!(typing.goodbye());
        // It lives: it hears it, and what follows.
        for goodbye in [&b"\x03"[..], b"\x1b[99;5u", b"\x04"] {
            let mut typing = Typing::default();
            typing.hold();
            typing.saw(b"text", None);
            assert_eq!(typing.saw(goodbye, Some(Farewell::CtrlC)), goodbye);
            assert!(typing.goodbye() && typing.is_passed_on());
            assert_eq!(typing.take(), b"text");
        }
        let mut typing = Typing::default();
        typing.hold();
        typing.saw(b"/ex", None);
        assert_eq!(typing.saw(b"it\r", Some(Farewell::ExitCommand)), b"/exit\r");
        let mut typing = Typing::default();
        typing.hold();
        typing.saw(b"\x03", Some(Farewell::CtrlC));
        typing.replay();
        assert!(!typing.goodbye(), "the agent goes on after all");
    }
}
