//! `sm output`.

use std::time::{Duration, Instant};

use clap::Args;

use crate::client::Daemon;
use crate::error::Result;
use crate::print::Printer;
use crate::text::many_lines;

/// Between two looks at a terminal that is followed.
const LOOK_EVERY: Duration = Duration::from_millis(300);
/// Lines that are compared while following.
const FOLLOWED: usize = 400;
/// How often the session itself is looked at: its end ends the following.
const ALIVE_EVERY: Duration = Duration::from_secs(2);

/// Prints what a session's terminal shows, as readable text.
///
/// Of an agent that is its screen, once; with `-n` also lines from before it. Everything that it has
/// ever shown: `sm archive`.
#[derive(Debug, Args)]
pub struct Output {
    /// The session.
    session: String,
    /// So many of the last lines: of the screen, and of what was shown before it.
    #[arg(long, short = 'n', value_name = "N")]
    lines: Option<usize>,
    /// Go on printing what is new, until the session ends.
    #[arg(long, short, conflicts_with = "json")]
    follow: bool,
    /// As JSON: `{text}`.
    #[arg(long)]
    json: bool,
}

impl Output {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?;
        if self.follow {
            return self.follow(&daemon, out);
        }
        let output = daemon.output(&self.session, self.lines)?;
        if self.json {
            return out.json(&output.json);
        }
        print_text(out, &many_lines(&output.value.text))
    }

    fn follow(&self, daemon: &Daemon, out: &mut Printer) -> Result<()> {
        let read = |lines| -> Result<Vec<String>> {
            let text = daemon.output(&self.session, Some(lines))?.value.text;
            Ok(many_lines(&text)
                .trim_end()
                .lines()
                .map(|line| line.trim_end().to_owned())
                .collect())
        };
        let mut shown = read(FOLLOWED)?;
        let first = shown.len().saturating_sub(self.lines.unwrap_or(20));
        for line in &shown[first..] {
            out.line(line)?;
        }
        let mut alive_at = Instant::now();
        loop {
            out.flush()?;
            let ended = alive_at.elapsed() >= ALIVE_EVERY && {
                alive_at = Instant::now();
                crate::attach::has_ended(&daemon.session(&self.session)?.value)
            };
            let current = read(FOLLOWED)?;
            for line in &current[first_new(&shown, &current)..] {
                out.line(line)?;
            }
            shown = current;
            if ended {
                return Ok(());
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// The first line of `current` that `shown` did not have, where `current` is `shown` moved on by
/// some lines and its end may have been drawn anew.
fn first_new(shown: &[String], current: &[String]) -> usize {
    let common = |skip: usize| {
        shown[skip..]
            .iter()
            .zip(current)
            .take_while(|(old, new)| old == new)
            .count()
    };
    let mut best = common(0);
    for skip in 1..shown.len() {
        // A longer match is impossible from here on.
        if best >= shown.len() - skip {
            break;
        }
        best = best.max(common(skip));
    }
    best
}

fn print_text(out: &mut Printer, text: &str) -> Result<()> {
    out.text(text)?;
    if !text.is_empty() && !text.ends_with('\n') {
        out.text("\n")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_new_is_printed_again() {
        for (shown, current, new) in [
            ("", "", ""),
            ("", "a b", "a b"),
            ("a b", "a b", ""),
            ("a b", "a b c", "c"),
            ("a b c", "b c d e", "d e"),
            // The last line was drawn anew.
            ("a b c", "a b d", "d"),
            ("a b c", "b d e", "d e"),
            ("a b c", "x y z", "x y z"),
            ("a a a", "a a a a", "a"),
        ] {
            let split = |text: &str| -> Vec<String> {
                text.split_whitespace().map(str::to_owned).collect()
            };
            let (shown, current) = (split(shown), split(current));
            assert_eq!(
                current[first_new(&shown, &current)..].join(" "),
                new,
                "{shown:?} -> {current:?}"
            );
        }
    }
}
