//! What the lower part of the screen shows: work in progress, queued texts, composer or dialog,
//! footer. Pure: state in, rows out.

use super::composer::{Composer, Mode};
use super::messages::Status;

const GREY: &str = "\x1b[38;5;244m";
const DIM: &str = "\x1b[2m";
const REVERSE: &str = "\x1b[7m";
const RESET: &str = "\x1b[0m";
/// After the prompt mark comes no ordinary space.
const NBSP: char = '\u{a0}';
const GLYPHS: [char; 6] = ['·', '✢', '*', '✶', '✻', '✽'];

/// Everything the rows depend on.
pub(super) struct View<'a> {
    pub cols: usize,
    pub rows: usize,
    pub status: &'a Status,
    pub composer: &'a Composer,
    pub queued: &'a [String],
    pub status_line: &'a str,
    /// What a key just did, such as arming the exit.
    pub notice: &'a str,
    /// How long the agent has been working.
    pub seconds: u64,
    pub tick: usize,
}

/// Rows, and where the cursor stands in them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub rows: Vec<String>,
    pub cursor: (usize, usize),
}

impl View<'_> {
    pub(super) fn frame(&self) -> Frame {
        let mut rows = Vec::new();
        let frame = match self.status {
            Status::Waiting { command } => {
                rows.extend(self.dialog(command));
                let last = rows.len() - 1;
                Frame {
                    rows,
                    cursor: (0, last),
                }
            }
            Status::Idle => self.with_composer(rows),
            Status::Busy { doing } => {
                rows.push(self.working(doing));
                rows.push(String::new());
                self.with_composer(rows)
            }
        };
        frame.cut(self.rows)
    }

    fn working(&self, doing: &str) -> String {
        let glyph = GLYPHS[self.tick % GLYPHS.len()];
        let seconds = self.seconds;
        if doing == "running stop hook" {
            format!("{glyph} Working… (running stop hook · {seconds}s · ↓ 25 tokens)")
        } else {
            format!("{glyph} {doing}… ({seconds}s · ↓ 25 tokens)")
        }
    }

    fn rule(&self) -> String {
        format!("{GREY}{}{RESET}", "─".repeat(self.cols))
    }

    fn with_composer(&self, mut rows: Vec<String>) -> Frame {
        if !self.queued.is_empty() {
            rows.push(String::new());
            rows.extend(
                self.queued
                    .iter()
                    .map(|text| cut(&format!("  ❯ {}", text.replace('\n', " ")), self.cols)),
            );
        }
        rows.push(self.rule());
        let mark = match self.composer.mode() {
            Mode::Prompt => '❯',
            Mode::Shell => '!',
        };
        let mut cursor = (2, rows.len());
        if self.composer.is_empty() && !self.queued.is_empty() {
            rows.push(format!(
                "{mark}{NBSP}{REVERSE}P{RESET}{DIM}ress up to edit queued messages{RESET}"
            ));
        } else {
            // only the end of a long draft is shown
            let all = self.composer.rows(self.cols.saturating_sub(4));
            let most = (self.rows / 2).max(1);
            let shown = &all[all.len().saturating_sub(most)..];
            for (at, row) in shown.iter().enumerate() {
                let lead = if at == 0 {
                    format!("{mark}{NBSP}")
                } else {
                    "  ".to_owned()
                };
                let end = if at + 1 == shown.len() {
                    format!("{REVERSE} {RESET}")
                } else {
                    String::new()
                };
                cursor = (2 + row.chars().count(), rows.len());
                rows.push(format!("{lead}{row}{end}"));
            }
        }
        rows.push(self.rule());
        rows.push(self.footer());
        rows.push(match self.status {
            Status::Busy { .. } if self.status_line.is_empty() => {
                "  esc to interrupt · ← for agents".to_owned()
            }
            Status::Busy { .. } | Status::Idle | Status::Waiting { .. } => {
                "  ← for agents".to_owned()
            }
        });
        Frame { rows, cursor }
    }

    fn footer(&self) -> String {
        let left = if self.notice.is_empty() {
            self.status_line
        } else {
            self.notice
        };
        let right = if self.composer.is_stashed() {
            "› stashed"
        } else {
            ""
        };
        let left = cut(&format!("  {left}"), self.cols.saturating_sub(14));
        let gap = self
            .cols
            .saturating_sub(left.chars().count() + right.chars().count() + 2);
        format!("{left}{}{right}", " ".repeat(gap))
            .trim_end()
            .to_owned()
    }

    fn dialog(&self, command: &str) -> Vec<String> {
        let mut rows = vec![self.rule()];
        rows.extend(
            [
                " Bash command",
                "",
                &format!("   {command}"),
                "   run a command",
                "",
                " This command requires approval",
                "",
                " Do you want to proceed?",
                " ❯ 1. Yes",
                "   2. Yes, and don't ask again for this command",
                "   3. No",
                "",
                " Esc to cancel · Tab to amend",
            ]
            .map(|row| cut(row, self.cols)),
        );
        rows
    }
}

impl Frame {
    /// The lower end of a frame that does not fit; a frame must never scroll by itself.
    fn cut(mut self, rows: usize) -> Self {
        let over = self
            .rows
            .len()
            .saturating_sub(rows.saturating_sub(1).max(1));
        self.rows.drain(..over);
        self.cursor.1 = self.cursor.1.saturating_sub(over);
        self
    }
}

fn cut(text: &str, cols: usize) -> String {
    text.chars().take(cols).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(row: &str) -> String {
        let mut out = String::new();
        let mut escape = false;
        for character in row.chars() {
            match (escape, character) {
                (false, '\x1b') => escape = true,
                (true, 'm') => escape = false,
                (true, _) => {}
                (false, _) => out.push(character),
            }
        }
        out.trim_end_matches(' ').to_owned()
    }

    fn frame(status: &Status, composer: &Composer, queued: &[String]) -> Frame {
        let view = View {
            cols: 20,
            rows: 24,
            status,
            composer,
            queued,
            status_line: "SL",
            notice: "",
            seconds: 3,
            tick: 1,
        };
        view.frame()
    }

    fn shown(frame: &Frame) -> Vec<String> {
        frame.rows.iter().map(|row| plain(row)).collect()
    }

    #[test]
    fn an_idle_empty_composer_is_one_row_between_two_rules() {
        let frame = frame(&Status::Idle, &Composer::default(), &[]);
        let rule = "─".repeat(20);
        assert_eq!(
            shown(&frame),
            [rule.as_str(), "❯\u{a0}", &rule, "  SL", "  ← for agents"]
        );
        assert_eq!(frame.cursor, (2, 1));
    }

    #[test]
    fn a_draft_moves_the_cursor() {
        let mut composer = Composer::default();
        composer.paste("ab\ncde");
        let frame = frame(&Status::Idle, &composer, &[]);
        assert_eq!(shown(&frame)[1..3], ["❯\u{a0}ab", "  cde"]);
        assert_eq!(frame.cursor, (5, 2));
    }

    #[test]
    fn work_and_queued_texts_stand_above_the_composer() {
        let queued = ["one\ntwo".to_owned()];
        let frame = frame(
            &Status::Busy { doing: "Working" },
            &Composer::default(),
            &queued,
        );
        let rows = shown(&frame);
        assert_eq!(rows[0], "✢ Working… (3s · ↓ 25 tokens)");
        assert_eq!(rows[3], "  ❯ one two");
        assert_eq!(rows[5], "❯\u{a0}Press up to edit queued messages");
        assert_eq!(frame.cursor, (2, 5));
    }

    #[test]
    fn a_dialog_replaces_the_composer() {
        let frame = frame(
            &Status::Waiting {
                command: "rm x".into(),
            },
            &Composer::default(),
            &[],
        );
        let rows = shown(&frame);
        assert!(
            rows.contains(&" ❯ 1. Yes".to_owned())
                && rows.contains(&" Do you want to proc".to_owned())
        );
        assert!(!rows.iter().any(|row| row.contains('\u{a0}')));
    }

    #[test]
    fn a_frame_never_fills_the_screen() {
        let queued: Vec<String> = (0..50).map(|n| n.to_string()).collect();
        let frame = frame(&Status::Idle, &Composer::default(), &queued);
        assert_eq!(frame.rows.len(), 23);
        assert!(plain(&frame.rows[frame.cursor.1]).starts_with('❯'));
    }
}
