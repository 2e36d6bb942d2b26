//! Pins: constraints that are told word for word to every context of a session or a project.
//!
//! Pure. Must never change the words of a pin, nor let pins crowd out everything else.

use crate::words::sanitize;

/// A session has so many of its own.
pub const MOST: usize = 32;
/// Characters of one.
pub const LONGEST: usize = 1_000;
/// Characters of all that is told of them in one context.
pub const TOLD: usize = 4_000;

/// Where a project keeps its own, below its folder.
pub const FILE: &str = ".sm/pins.md";

/// Why a text cannot be pinned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PinRefusal {
    #[error("there is nothing to pin: the text is empty")]
    Empty,
    #[error(
        "the text has {0} characters, a pin at most {LONGEST}: name a file that holds the rest"
    )]
    TooLong(usize),
    #[error("the session has {MOST} pins; remove one first: sm pin rm NUMBER")]
    TooMany,
    /// By the rule that found it.
    #[error("this looks like a secret ({0}), and a pin is told to every context")]
    Secret(&'static str),
}

impl PinRefusal {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Empty => "say what is pinned: sm pin add \"…\"",
            Self::TooLong(_) => "say it shorter: sm pin add \"…\"",
            Self::TooMany => "list them with: sm pin ls",
            Self::Secret(_) => "pin where it is kept instead",
        }
    }
}

/// The text as it is kept: without control characters and white space around it.
pub fn clean(text: &str) -> Result<String, PinRefusal> {
    let text = sanitize(text).trim().to_owned();
    let length = text.chars().count();
    match length {
        0 => Err(PinRefusal::Empty),
        1..=LONGEST => Ok(text),
        _ => Err(PinRefusal::TooLong(length)),
    }
}

/// The pins of a project's file: its list items. Headings and what stands around a list are for
/// people.
pub fn of_file(text: &str) -> Vec<String> {
    let mut pins: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.trim_start_matches('\u{feff}').lines() {
        if let Some(begun) = item(line) {
            pins.push(begun.to_owned());
            open = true;
        } else if open && line.starts_with([' ', '\t']) && !line.trim().is_empty() {
            if let Some(last) = pins.last_mut() {
                last.push('\n');
                last.push_str(line.trim());
            }
        } else {
            open = false;
        }
    }
    let pins = pins.into_iter().filter_map(|pin| {
        let cut: String = pin.chars().take(LONGEST).collect();
        clean(&cut).ok()
    });
    pins.take(MOST).collect()
}

fn item(line: &str) -> Option<&str> {
    let line = line.trim_end();
    let rest = line
        .strip_prefix("- ")
        .or_else(|| line.strip_prefix("* "))?;
    let rest = rest.trim();
    (!rest.is_empty()).then_some(rest)
}

/// What a new context is told of them, in at most `room` characters; empty without any.
pub fn told(pins: &[String], room: usize) -> String {
    if pins.is_empty() {
        return String::new();
    }
    let room = room.min(TOLD);
    let mut text = String::from("Constraints that hold in every context (pins), word for word:");
    let mut left = 0;
    for pin in pins {
        let line = format!("\n- {}", pin.replace('\n', "\n  "));
        let rest = text.chars().count() + line.chars().count() + MORE;
        if left == 0 && rest <= room {
            text.push_str(&line);
        } else {
            left += 1;
        }
    }
    if left > 0 {
        text.push_str(&format!(
            "\n- … and {left} more, to be read with: sm pin ls"
        ));
    }
    if text.chars().count() > room {
        return String::new();
    }
    text
}

/// Room for the line that says how many were left out.
const MORE: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_keeps_its_words() {
        assert_eq!(clean("  never touch prod\n").unwrap(), "never touch prod");
        assert_eq!(clean("two\r\nlines\x1b[31m").unwrap(), "two\nlines[31m");
        assert_eq!(clean(" \n"), Err(PinRefusal::Empty));
        assert_eq!(clean(&"x".repeat(1001)), Err(PinRefusal::TooLong(1001)));
        assert!(clean(&"ä".repeat(1000)).is_ok());
    }

    #[test]
    fn what_a_projects_file_says() {
        for (text, expected) in [
            ("", vec![]),
            (
                "# Pins\n\nFor all of us:\n\n- never touch prod\n* no new dependencies\n",
                vec!["never touch prod", "no new dependencies"],
            ),
            ("never touch prod\n-\nno new dependencies\n", vec![]),
            (
                "- one that\n  goes on\n\n  not any more\n- two\nprose\n",
                vec!["one that\ngoes on", "two"],
            ),
            ("\u{feff}- first\n-\n- \n", vec!["first"]),
        ] {
            assert_eq!(of_file(text), expected, "{text:?}");
        }
        assert_eq!(of_file(&"- x\n".repeat(100)).len(), MOST);
        assert_eq!(
            of_file(&format!("- {}", "x".repeat(5000)))[0].len(),
            LONGEST
        );
    }

    #[test]
    fn what_is_told_of_them_is_bounded() {
        assert_eq!(told(&[], 4000), "");
        let one = ["never\ntouch prod".to_owned()];
        assert_eq!(
            told(&one, 4000),
            "Constraints that hold in every context (pins), word for word:\n- never\n  touch prod"
        );
        let many = vec!["ü".repeat(1000); 32];
        for room in [0, 10, 100, 1500, 4000, 100_000] {
            let text = told(&many, room);
            assert!(text.chars().count() <= room.min(TOLD), "{room}");
        }
        assert!(told(&many, 4000).ends_with("… and 29 more, to be read with: sm pin ls"));
    }
}
