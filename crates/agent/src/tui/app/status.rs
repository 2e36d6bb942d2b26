//! The last line of the screen, and the line that says that something is going on.

use std::time::Duration;

use super::super::line::Line;
use super::super::look::{Look, Role, Style};
use super::super::text::{clean, shorten_front, width};

/// What the status line tells.
#[derive(Debug, Clone, Default)]
pub(crate) struct Status {
    /// `provider/id`.
    pub model: String,
    pub thinking: Option<&'static str>,
    pub tokens: u64,
    pub window: u64,
    pub cost: f64,
    /// Shortened by the home folder.
    pub cwd: String,
    /// The branch that is checked out there.
    pub branch: Option<String>,
    pub queued: usize,
}

/// From here on a context is called full.
const FULL: u64 = 80;

impl Status {
    /// Fits into the columns by leaving out what matters least.
    pub fn line(&self, columns: usize, look: Look) -> Line {
        let dot = look.pick(" · ", " | ");
        let mut parts = vec![(self.model_part(), Role::Faint), self.gauge(look)];
        if self.queued > 0 {
            parts.push((format!("{} queued", self.queued), Role::Accent));
        }
        if self.cost > 0.0 {
            parts.push((cost(self.cost), Role::Faint));
        }
        let used = |parts: &[(String, Role)]| {
            let text: usize = parts.iter().map(|(text, _)| width(text)).sum();
            text + parts.len().saturating_sub(1) * width(dot)
        };
        while parts.len() > 1 && used(&parts) > columns {
            parts.pop();
        }
        let room = columns.saturating_sub(used(&parts) + width(dot));
        if room >= 12 && !self.cwd.is_empty() {
            let place = match &self.branch {
                Some(branch) => format!("{} ({branch})", self.cwd),
                None => self.cwd.clone(),
            };
            let cwd = shorten_front(&clean(&place), room, look.pick("…", "~"));
            parts.push((cwd, Role::Faint));
        }
        let mut line = Line::blank();
        for (index, (text, role)) in parts.into_iter().enumerate() {
            if index > 0 {
                line = line.with(dot, Role::Faint);
            }
            line = line.with(text, role);
        }
        line
    }

    fn model_part(&self) -> String {
        let model = clean(&self.model);
        match self.thinking {
            Some(level) => format!("{model} ({level})"),
            None => model,
        }
    }

    fn percent(&self) -> u64 {
        match self.window {
            0 => 0,
            window => self.tokens.saturating_mul(100) / window,
        }
    }

    fn gauge(&self, look: Look) -> (String, Role) {
        const CELLS: u64 = 8;
        if self.window == 0 {
            return (format!("{} tokens", short(self.tokens)), Role::Faint);
        }
        let percent = self.percent();
        let filled = (percent * CELLS).div_ceil(100).min(CELLS);
        let bar: String = (0..CELLS)
            .map(|cell| match cell < filled {
                true => look.pick("█", "#"),
                false => look.pick("░", "."),
            })
            .collect();
        let role = match percent >= FULL {
            true => Role::Warning,
            false => Role::Faint,
        };
        (format!("{bar} {percent}% of {}", short(self.window)), role)
    }

    /// For `/context`.
    pub fn told(&self) -> String {
        let percent = match self.window {
            0 => String::new(),
            window => format!(" of {} ({}%)", short(window), self.percent()),
        };
        format!(
            "context: {} tokens{percent}; cost so far: {}; model: {}",
            short(self.tokens),
            cost(self.cost),
            self.model_part()
        )
    }
}

fn cost(dollars: f64) -> String {
    match dollars < 0.01 && dollars > 0.0 {
        true => format!("${dollars:.4}"),
        false => format!("${dollars:.2}"),
    }
}

fn short(tokens: u64) -> String {
    match tokens {
        0..=9_999 => tokens.to_string(),
        10_000..=999_999 => format!("{}k", tokens / 1_000),
        _ => format!("{:.1}M", tokens as f64 / 1e6),
    }
}

/// The line of what is under way: a sign that turns, what it is, for how long.
pub(crate) fn loader(text: &str, elapsed: Duration, note: &str, look: Look) -> Line {
    let turn = usize::try_from(elapsed.as_millis() / 100).unwrap_or(0);
    let signs: &[&str] = match look.pick("u", "a") {
        "u" => &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
        _ => &["|", "/", "-", "\\"],
    };
    let sign = signs.get(turn % signs.len()).copied().unwrap_or("*");
    let text = text.replace('…', look.pick("…", "..."));
    Line::of(format!("{sign} "), Role::Accent)
        .with(text, Style::default().bold())
        .with(format!(" {}", seconds(elapsed)), Role::Faint)
        .with(note.to_owned(), Role::Warning)
}

fn seconds(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        _ => format!("{}m {:02}s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look() -> Look {
        Look::of(|name| (name == "LANG").then(|| "C.UTF-8".to_owned()), false)
    }

    #[test]
    fn what_matters_least_goes_first() {
        let status = Status {
            model: "anthropic/claude-sonnet-4-5".into(),
            thinking: Some("high"),
            tokens: 84_500,
            window: 200_000,
            cost: 1.234,
            cwd: "~/projects/session-manager".into(),
            branch: None,
            queued: 2,
        };
        for (columns, expected) in [
            (
                110,
                "anthropic/claude-sonnet-4-5 (high) · ████░░░░ 42% of 200k · 2 queued · $1.23 · ~/projects/session-manager",
            ),
            (
                90,
                "anthropic/claude-sonnet-4-5 (high) · ████░░░░ 42% of 200k · 2 queued · $1.23",
            ),
            (
                60,
                "anthropic/claude-sonnet-4-5 (high) · ████░░░░ 42% of 200k",
            ),
            (40, "anthropic/claude-sonnet-4-5 (high)"),
        ] {
            let text = status.line(columns, look()).text();
            assert_eq!(text, expected, "{columns}");
        }
        assert_eq!(
            status.told(),
            "context: 84k tokens of 200k (42%); cost so far: $1.23; model: anthropic/claude-sonnet-4-5 (high)"
        );
    }

    #[test]
    fn the_loader_tells_how_long() {
        let text = loader(
            "Generating handoff… (esc to cancel)",
            Duration::from_secs(75),
            "",
            look(),
        );
        assert_eq!(text.text(), "⠋ Generating handoff… (esc to cancel) 1m 15s");
        let ascii = Look::of(|_| None, false);
        let text = loader(
            "Working… (esc to cancel)",
            Duration::from_millis(150),
            ", attempt 2",
            ascii,
        );
        assert_eq!(text.text(), "/ Working... (esc to cancel) 0s, attempt 2");
    }
}
