//! A question that one key answers.
//!
//! A letter is an answer only if it comes alone: the keyboard was quiet before it, and nothing
//! follows it for a moment. Every other key makes the input a text, which never says yes. So a
//! sentence that somebody types, whatever letters are in it, approves nothing.
//!
//! Pure: the caller says what time it is, draws, and asks for the answer when it is due.

use std::time::{Duration, Instant};

/// So long the keyboard must have been quiet, with the question on the screen, before a key counts.
pub const QUIET: Duration = Duration::from_millis(400);

/// So long a letter must stay alone. Longer than people pause between two keys of a word.
pub const ALONE: Duration = Duration::from_millis(700);

/// Which key answers, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfirmKey<A> {
    /// From when on a key counts; `None`: the question is not on the screen yet.
    opens: Option<Instant>,
    held: Option<Held<A>>,
}

/// A letter that is the answer, unless another key follows it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Held<A> {
    letter: char,
    answer: A,
    due: Instant,
}

/// How a key was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// Nothing else was there to be read, as with the keys of a person.
    Alone,
    /// Other keys were read with it, as with a paste that nothing marks as one.
    InBatch,
}

impl Arrival {
    /// Of the keys that one read has given.
    pub fn of_read(keys: usize) -> Self {
        match keys {
            0 | 1 => Self::Alone,
            _ => Self::InBatch,
        }
    }
}

/// What became of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressed {
    /// It answers when it has been alone for a moment: [`ConfirmKey::take_due`].
    Held,
    /// It is part of a text, and so is the letter that was held before it.
    Text { held: Option<char> },
}

impl<A> Default for ConfirmKey<A> {
    fn default() -> Self {
        Self {
            opens: None,
            held: None,
        }
    }
}

impl<A> ConfirmKey<A> {
    /// The question is on the screen.
    pub fn drawn(&mut self, now: Instant) {
        self.opens.get_or_insert(now + QUIET);
    }

    pub fn is_drawn(&self) -> bool {
        self.opens.is_some()
    }

    /// Whether a key counts now.
    pub fn is_open(&self, now: Instant) -> bool {
        self.opens.is_some_and(|opens| opens <= now)
    }

    /// The letter that will be the answer in a moment.
    pub fn held(&self) -> Option<char> {
        self.held.as_ref().map(|held| held.letter)
    }

    /// A key, and what it says if it stays alone. However late it is read, a key that comes while
    /// another is held was typed behind it.
    pub fn press(&mut self, letter: Option<(char, A)>, now: Instant) -> Pressed {
        if let Some(held) = self.held.take() {
            self.disturb(now);
            return Pressed::Text {
                held: Some(held.letter),
            };
        }
        match letter {
            Some((letter, answer)) if self.is_open(now) => {
                let due = now + ALONE;
                self.held = Some(Held {
                    letter,
                    answer,
                    due,
                });
                Pressed::Held
            }
            Some(_) | None => {
                self.disturb(now);
                Pressed::Text { held: None }
            }
        }
    }

    /// Enter says that the letter before it is all, if a person has pressed it: one that was read
    /// together with other keys ends a line of a pasted text.
    pub fn enter(&mut self, arrival: Arrival, now: Instant) -> Option<A> {
        match arrival {
            Arrival::Alone => self.held.take().map(|held| held.answer),
            Arrival::InBatch => {
                self.disturb(now);
                None
            }
        }
    }

    /// The answer, if it has been alone for long enough. Everything typed has to be read first.
    pub fn take_due(&mut self, now: Instant) -> Option<A> {
        self.held
            .take_if(|held| held.due <= now)
            .map(|held| held.answer)
    }

    /// A key that was meant for something else: the keyboard has to be quiet anew.
    pub fn disturb(&mut self, now: Instant) {
        self.held = None;
        if let Some(opens) = &mut self.opens {
            *opens = now + QUIET;
        }
    }

    /// When something happens by itself: the answer falls due, or a key begins to count.
    pub fn next_change(&self, now: Instant) -> Option<Instant> {
        match &self.held {
            Some(held) => Some(held.due),
            None => self.opens.filter(|opens| *opens > now),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::{ALONE, Arrival, ConfirmKey, QUIET};

    fn meaning(key: char) -> Option<(char, bool)> {
        match key {
            'y' => Some((key, true)),
            'n' => Some((key, false)),
            _ => None,
        }
    }

    /// Presses keys at times after the question was drawn (in ms), reading them late by nothing, and
    /// gives what was answered in the end.
    fn answered(keys: &[(u64, char)]) -> Option<bool> {
        let start = Instant::now();
        let mut question = ConfirmKey::default();
        question.drawn(start);
        for (at, key) in keys {
            let now = start + Duration::from_millis(*at);
            if let Some(answer) = question.take_due(now) {
                return Some(answer);
            }
            let answer = match key {
                '\r' => question.enter(Arrival::Alone, now),
                key => {
                    question.press(meaning(*key), now);
                    None
                }
            };
            if answer.is_some() {
                return answer;
            }
        }
        question.take_due(start + Duration::from_secs(3600))
    }

    #[test]
    fn a_letter_answers_only_if_it_is_alone() {
        for (keys, expected) in [
            // alone, on an open question
            (&[(400, 'y')][..], Some(true)),
            (&[(5_000, 'n')], Some(false)),
            // Enter says that this is all
            (&[(400, 'y'), (450, '\r')], Some(true)),
            (&[(400, '\r')], None),
            // too early
            (&[(0, 'y')], None),
            (&[(399, 'y')], None),
            (&[(399, 'y'), (600, 'y')], None),
            (&[(399, 'y'), (800, 'y')], Some(true)),
            // a second key within a moment
            (&[(400, 'y'), (500, 'a')], None),
            (&[(400, 'y'), (1_099, 'y')], None),
            (&[(400, 'y'), (500, 'a'), (550, '\r')], None),
            (&[(400, 'n'), (500, 'o')], None),
            // after that moment it has answered
            (&[(400, 'y'), (1_100, 'a')], Some(true)),
            // another first key
            (&[(400, 's'), (600, 'y')], None),
            (&[(400, 's'), (800, 'y')], Some(true)),
        ] {
            assert_eq!(answered(keys), expected, "{keys:?}");
        }
    }

    #[test]
    fn an_enter_that_was_read_with_other_keys_answers_nothing() {
        for (reads, expected) in [
            (&["y", "\r"][..], Some(true)),
            (&["y\r"], None),
            (&["y\rmore"], None),
            (&["y", "\rmore"], None),
            (&["y\r", "\r"], None),
        ] {
            let start = Instant::now();
            let mut question = ConfirmKey::default();
            question.drawn(start);
            let mut answer = None;
            let mut now = start + QUIET;
            for read in reads {
                let arrival = Arrival::of_read(read.chars().count());
                for key in read.chars() {
                    answer = answer.or(match key {
                        '\r' => question.enter(arrival, now),
                        key => {
                            question.press(meaning(key), now);
                            None
                        }
                    });
                }
                now += Duration::from_millis(50);
            }
            let late = question.take_due(now + Duration::from_secs(3600));
            assert_eq!(answer.or(late), expected, "{reads:?}");
        }
    }

    #[test]
    fn what_is_typed_before_it_is_drawn_never_answers() {
        let now = Instant::now();
        let mut question = ConfirmKey::default();
        question.press(meaning('y'), now);
        assert_eq!(question.take_due(now + ALONE * 2), None);
        assert_eq!(question.next_change(now), None);
        question.drawn(now);
        assert_eq!(question.next_change(now), Some(now + QUIET));
        assert_eq!(question.take_due(now + ALONE * 2), None);
    }

    #[test]
    fn a_key_that_is_read_late_is_still_behind_the_one_that_is_held() {
        let start = Instant::now();
        let mut question = ConfirmKey::default();
        question.drawn(start);
        question.press(meaning('y'), start + QUIET);
        // The program stood still: it reads the second key before it looks at the clock.
        question.press(None, start + Duration::from_secs(60));
        assert_eq!(question.take_due(start + Duration::from_secs(120)), None);
    }

    proptest! {
        #[test]
        fn no_sentence_typed_in_one_go_answers(
            before in 0_u64..20_000,
            keys in prop::collection::vec((prop_oneof![Just('y'), Just('n'), any::<char>()], 0_u64..400), 2..60),
        ) {
            let mut at = before;
            let typed: Vec<(u64, char)> = keys
                .into_iter()
                .filter(|(key, _)| *key != '\r')
                .map(|(key, pause)| {
                    at += pause;
                    (at, key)
                })
                .collect();
            prop_assume!(typed.len() >= 2);
            prop_assert_eq!(answered(&typed), None);
        }
    }
}
