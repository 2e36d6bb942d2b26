//! Looking at a pane.
//!
//! What is shown, where the cursor is and what the title says are taken in one step of the server:
//! they belong to the same moment, and the mark stands for exactly the lines it comes with.

use super::connect::Start;
use super::handle::Tmux;
use super::ids::PaneId;
use super::pane::{fields_format, parse_dead};
use super::quote::quote;
use super::watch::ExitStatus;
use crate::error::Error;
use sm_core::signal::ScreenMark;

/// What to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capture {
    /// With SGR escapes. They go on from one line to the next: only changes are written.
    pub colours: bool,
    /// So many lines above the screen, if there are.
    pub history_lines: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screen {
    /// What has scrolled off, as far as asked for, oldest first.
    pub history: Vec<String>,
    /// The rows of the screen, all of them, without blanks at their ends.
    pub lines: Vec<String>,
    pub cols: u32,
    pub rows: u32,
    pub mark: ScreenMark,
    /// Copy mode or another mode of tmux: keys would not reach the program.
    pub in_mode: bool,
    pub cursor_visible: bool,
    pub dead: Option<ExitStatus>,
    pub pid: u32,
}

const LOOKED_AT: [&str; 13] = [
    "cursor_x",
    "cursor_y",
    "history_size",
    "alternate_on",
    "pane_in_mode",
    "pane_width",
    "pane_height",
    "pane_pid",
    "cursor_flag",
    "pane_dead",
    "pane_dead_status",
    "pane_dead_signal",
    "pane_title",
];

impl Tmux {
    pub async fn capture(&self, pane: PaneId, what: Capture) -> Result<Screen, Error> {
        let colours = if what.colours { " -e" } else { "" };
        // -S 0 is the first row of the screen, negative numbers are history.
        let how = format!("{colours} -S {}", -i64::from(what.history_lines));
        self.captured(pane, &how, &LOOKED_AT, parse_screen).await
    }

    /// What a pane shows and what is told of it, at one moment, as `read` understands the two.
    pub(super) async fn captured<T>(
        &self,
        pane: PaneId,
        how: &str,
        told: &[&str],
        read: impl FnOnce(&[String], &str) -> Option<T>,
    ) -> Result<T, Error> {
        let line = format!(
            "capture-pane -p{how} -t {pane} ; display-message -p -t {pane} {}",
            quote(&fields_format(told)),
        );
        let replies = self.run(line, Start::Never).await?;
        let [shown, told] = &replies[..] else {
            return Err(Error::Unexpected(format!(
                "{} replies to a capture",
                replies.len()
            )));
        };
        let told = told.lines.first().map(String::as_str).unwrap_or_default();
        read(&shown.lines, told)
            .ok_or_else(|| Error::Unexpected(format!("a pane described as {told:?}")))
    }
}

fn parse_screen(shown: &[String], told: &str) -> Option<Screen> {
    let fields: Vec<&str> = told.splitn(LOOKED_AT.len(), '\t').collect();
    let [
        x,
        y,
        history,
        alternate,
        mode,
        width,
        height,
        pid,
        cursor,
        dead,
        status,
        signal,
        title,
    ] = fields[..]
    else {
        return None;
    };
    let rows: u32 = height.parse().ok()?;
    let count = usize::try_from(rows).ok()?;
    // All rows are printed, so what is more than the screen is history.
    let (history_part, screen) = shown.split_at(shown.len().saturating_sub(count));
    let mut lines = screen.to_vec();
    lines.resize(count.min(10_000), String::new());
    Some(Screen {
        history: history_part.to_vec(),
        lines,
        cols: width.parse().ok()?,
        rows,
        mark: ScreenMark {
            cursor_x: x.parse().ok()?,
            cursor_y: y.parse().ok()?,
            title: title.to_owned(),
            history: history.parse().ok()?,
            alternate: alternate == "1",
        },
        in_mode: mode != "0" && !mode.is_empty(),
        cursor_visible: cursor == "1",
        dead: parse_dead(dead, status, signal),
        pid: pid.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_history_are_told_apart() {
        let shown = ["old", "a", "b"].map(str::to_owned);
        let screen = parse_screen(&shown, "2\t1\t7\t0\t0\t80\t2\t5\t1\t0\t\t\tt\tx").unwrap();
        assert_eq!(
            (screen.history, screen.lines),
            (vec!["old".into()], vec!["a".into(), "b".into()])
        );
        let mark = ScreenMark {
            cursor_x: 2,
            cursor_y: 1,
            title: "t\tx".into(),
            history: 7,
            alternate: false,
        };
        assert_eq!(screen.mark, mark);
        assert_eq!(
            (
                screen.in_mode,
                screen.cursor_visible,
                screen.dead,
                screen.pid
            ),
            (false, true, None, 5)
        );
    }

    #[test]
    fn rubbish_is_no_screen() {
        for told in ["", "\t\t\t", "a\tb\tc\t0\t0\t80\t2\t5\t1\t0\t\t\tt"] {
            assert_eq!(parse_screen(&[], told), None, "{told:?}");
        }
    }
}
