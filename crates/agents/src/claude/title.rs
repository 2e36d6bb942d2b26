//! What Claude's window title says: cheap, but a permission dialog looks like idle.

use sm_core::signal::Activity;

/// `✳ title` when idle or waiting, a braille spinner and the title when busy.
pub fn read_title(title: &str) -> Activity {
    match title.chars().next() {
        Some('✳') => Activity::IdleOrWaiting,
        Some('\u{2801}'..='\u{28FF}') => Activity::Busy,
        _ => Activity::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles() {
        for (title, expected) in [
            ("✳ Claude Code", Activity::IdleOrWaiting),
            ("⠂ Fix the tests", Activity::Busy),
            ("⠐ Fix the tests", Activity::Busy),
            ("host", Activity::Unknown),
            ("", Activity::Unknown),
        ] {
            assert_eq!(read_title(title), expected, "{title}");
        }
    }
}
