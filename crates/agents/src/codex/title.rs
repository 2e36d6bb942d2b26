//! What Codex's window title says.

use sm_core::signal::{Activity, PersonNeed};

/// `proj` when idle, a braille spinner before it when busy, `[ ! ] Action Required` at an approval.
/// A title without a mark may also be the shell's from before, so it proves nothing.
pub fn read_title(title: &str) -> Activity {
    if title.contains("Action Required") {
        return Activity::Waiting(PersonNeed::Permission(String::new()));
    }
    match title.chars().next() {
        Some('\u{2801}'..='\u{28FF}') => Activity::Busy,
        Some(_) => Activity::IdleOrWaiting,
        None => Activity::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles() {
        let approval = Activity::Waiting(PersonNeed::Permission(String::new()));
        for (title, expected) in [
            ("proj", Activity::IdleOrWaiting),
            ("⠙ proj", Activity::Busy),
            ("[ ! ] Action Required | proj", approval.clone()),
            ("[ . ] Action Required | proj", approval),
            ("", Activity::Unknown),
        ] {
            assert_eq!(read_title(title), expected, "{title}");
        }
    }
}
