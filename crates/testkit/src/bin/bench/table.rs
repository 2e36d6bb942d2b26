//! The table of a run: what was measured, what it is compared with, the ratio, the target.

use std::fmt::Write as _;

/// Whether a figure is what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Met,
    Missed,
    /// There is no target for it.
    Shown,
}

impl Verdict {
    pub fn of(met: bool) -> Self {
        if met { Self::Met } else { Self::Missed }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "NOT MET",
            Self::Shown => "",
        }
    }
}

#[derive(Debug, Clone)]
pub struct Row {
    pub what: String,
    pub figure: String,
    pub against: String,
    pub ratio: String,
    pub target: String,
    pub verdict: Verdict,
}

impl Row {
    pub fn new(what: impl Into<String>, figure: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            figure: figure.into(),
            against: String::new(),
            ratio: String::new(),
            target: String::new(),
            verdict: Verdict::Shown,
        }
    }

    /// What it is compared with, and how many times more that takes.
    pub fn against(mut self, other: impl Into<String>, ratio: f64) -> Self {
        self.against = other.into();
        self.ratio = if ratio < 10.0 {
            format!("{ratio:.1}x")
        } else {
            format!("{ratio:.0}x")
        };
        self
    }

    pub fn target(mut self, target: impl Into<String>, met: bool) -> Self {
        self.target = target.into();
        self.verdict = Verdict::of(met);
        self
    }

    fn cells(&self) -> [&str; 6] {
        [
            &self.what,
            &self.figure,
            &self.against,
            &self.ratio,
            &self.target,
            self.verdict.word(),
        ]
    }
}

const HEAD: [&str; 6] = ["what", "sm", "compared with", "ratio", "target", ""];

#[derive(Debug, Default)]
pub struct Table {
    sections: Vec<(String, Vec<Row>)>,
}

impl Table {
    pub fn section(&mut self, title: impl Into<String>) {
        self.sections.push((title.into(), Vec::new()));
    }

    pub fn row(&mut self, row: Row) {
        eprintln!(
            "bench:   {}: {} {} {}",
            row.what,
            row.figure,
            row.ratio,
            row.verdict.word()
        );
        if let Some((_, rows)) = self.sections.last_mut() {
            rows.push(row);
        }
    }

    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.sections.iter().flat_map(|(_, rows)| rows)
    }

    pub fn text(&self) -> String {
        let mut widths = HEAD.map(|head| head.chars().count());
        for row in self.rows() {
            for (width, cell) in widths.iter_mut().zip(row.cells()) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let line = |cells: [&str; 6]| {
            let mut line = String::new();
            for (cell, width) in cells.iter().zip(widths) {
                let _ = write!(line, "{cell:width$}  ");
            }
            format!("  {}\n", line.trim_end())
        };
        let mut out = String::new();
        for (title, rows) in &self.sections {
            let _ = write!(out, "\n{title}\n{}", line(HEAD));
            out.extend(rows.iter().map(|row| line(row.cells())));
        }
        out
    }

    pub fn markdown(&self) -> String {
        let line = |cells: [&str; 6]| format!("| {} |\n", cells.join(" | "));
        let mut out = line(HEAD) + &line(["---"; 6]);
        for (title, rows) in &self.sections {
            let bold = format!("**{title}**");
            out.push_str(&line([&bold, "", "", "", "", ""]));
            out.extend(rows.iter().map(|row| line(row.cells())));
        }
        out
    }

    /// How many targets are met, and which are not.
    pub fn summary(&self) -> String {
        let count = |wanted| self.rows().filter(|row| row.verdict == wanted).count();
        let mut out = format!(
            "{} of {} targets met",
            count(Verdict::Met),
            count(Verdict::Met) + count(Verdict::Missed)
        );
        for row in self.rows().filter(|row| row.verdict == Verdict::Missed) {
            let _ = write!(
                out,
                "\n  not met: {}: {} (target: {})",
                row.what, row.figure, row.target
            );
        }
        out
    }
}
