//! The figures as a table, and how they grow with the budget.

use sm_ledger::fidelity::{Arm, Figure, Places, Report, Row};

use crate::gauge;
use crate::text::{Cell, Look, Signs, Tone, count, table};

const HEADINGS: [&str; 6] = ["DOCUMENT", "BUDGET", "NAR", "LAR", "DIR", "SIZE"];

pub fn render(look: &Look, report: &Report, places: &Places) -> String {
    let what = match places {
        Places::Compactions | Places::Handoffs => "boundaries",
        Places::Cuts(_) => "cuts",
    };
    let mut text = format!(
        "{}, {} {what}\n\n",
        count(report.sessions, "transcript"),
        report.boundaries
    );
    let rows: Vec<Vec<Cell>> = report
        .rows
        .iter()
        .map(|row| cells(look, row, report))
        .collect();
    text.push_str(&table(look, &HEADINGS, &rows));
    text.push_str(&chart(look, report));
    if report.files_read > 0.0 {
        text.push_str(&format!(
            "\nAfter a boundary {:.1} files were read, {:.1} of them again.\n",
            report.files_read, report.files_reread
        ));
    }
    text
}

fn cells(look: &Look, row: &Row, report: &Report) -> Vec<Cell> {
    let figures = &row.figures;
    let mut name = row.arm.name().to_owned();
    if figures.documents != report.boundaries as usize {
        name.push_str(&format!(" ({})", figures.documents));
    }
    let tone = match row.arm {
        Arm::Ledger | Arm::Handoff => Tone::Good,
        Arm::NativeSummary => Tone::Plain,
        Arm::TranscriptTail | Arm::RandomAtoms | Arm::RankedAtoms => Tone::Dim,
    };
    vec![
        Cell::toned(name, tone),
        Cell::new(
            row.budget
                .map_or_else(|| "-".to_owned(), |budget| budget.to_string()),
        ),
        Cell::new(figure(look, &figures.nar)),
        Cell::new(figure(look, &figures.lar)),
        Cell::new(
            figures
                .dir
                .map_or_else(|| "-".to_owned(), |dir| figure(look, &dir)),
        ),
        Cell::new(format!(
            "{:.0}, at most {}",
            figures.size_median, figures.size_max
        )),
    ]
}

/// A narrower terminal has no room for intervals.
const WIDE: usize = 100;

/// `0.779 (0.67–0.87)`.
fn figure(look: &Look, figure: &Figure) -> String {
    if look.width.is_some_and(|width| width < WIDE) {
        return format!("{:.3}", figure.mean);
    }
    let dash = match look.signs {
        Signs::Unicode => "–",
        Signs::Ascii => "-",
    };
    format!(
        "{:.3} ({:.2}{dash}{:.2})",
        figure.mean, figure.low, figure.high
    )
}

const CELLS: usize = 8;

/// Needed atoms by budget, for those that have one, and the summary to compare with.
fn chart(look: &Look, report: &Report) -> String {
    let mut budgets: Vec<usize> = report.rows.iter().filter_map(|row| row.budget).collect();
    budgets.sort_unstable();
    budgets.dedup();
    if budgets.len() < 2 {
        return String::new();
    }
    let nar = |arm: Arm, budget: Option<usize>| {
        let row = report
            .rows
            .iter()
            .find(|row| row.arm == arm && row.budget == budget);
        row.map(|row| gauge::gauge(look.signs, row.figures.nar.mean * 100.0, CELLS))
    };
    let mut rows = Vec::new();
    for arm in Arm::ALL {
        let mut row = vec![Cell::new(arm.name())];
        if arm.has_budget() {
            let by_budget = budgets.iter().map(|&budget| nar(arm, Some(budget)));
            row.extend(by_budget.map(|bar| Cell::new(bar.unwrap_or_default())));
        } else {
            row.extend(nar(arm, None).map(Cell::new));
        }
        if row.iter().skip(1).any(|cell| !cell.text.is_empty()) {
            row.resize(budgets.len() + 1, Cell::new(""));
            rows.push(row);
        }
    }
    let budgets: Vec<String> = budgets.iter().map(usize::to_string).collect();
    let mut headings = vec!["NAR BY BUDGET"];
    headings.extend(budgets.iter().map(String::as_str));
    format!("\n{}", table(look, &headings, &rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tests::look;
    use sm_ledger::fidelity::Figures;

    fn row(arm: Arm, budget: Option<usize>, nar: f64) -> Row {
        let figure = |mean: f64| Figure {
            mean,
            low: mean - 0.1,
            high: mean + 0.1,
        };
        Row {
            arm,
            budget,
            figures: Figures {
                documents: if arm == Arm::Handoff { 2 } else { 7 },
                nar: figure(nar),
                lar: figure(nar / 2.0),
                dir: (arm != Arm::RankedAtoms).then(|| figure(0.8)),
                size_median: 1900.5,
                size_max: 2000,
            },
        }
    }

    #[test]
    fn a_table_and_a_chart() {
        let report = Report {
            sessions: 3,
            boundaries: 7,
            files_read: 6.9,
            files_reread: 3.61,
            rows: vec![
                row(Arm::NativeSummary, None, 0.779),
                row(Arm::RankedAtoms, Some(2000), 0.8),
                row(Arm::RankedAtoms, Some(4000), 1.0),
                row(Arm::Ledger, Some(2000), 0.75),
                row(Arm::Ledger, Some(4000), 0.9),
                row(Arm::Handoff, None, 0.5),
            ],
        };
        let mut wide = look();
        wide.width = None;
        insta::assert_snapshot!(render(&wide, &report, &Places::Compactions), @r"
        3 transcripts, 7 boundaries

        DOCUMENT            BUDGET  NAR                LAR                DIR                SIZE
        native summary      -       0.779 (0.68–0.88)  0.390 (0.29–0.49)  0.800 (0.70–0.90)  1900, at most 2000
        ranked atoms        2000    0.800 (0.70–0.90)  0.400 (0.30–0.50)  -                  1900, at most 2000
        ranked atoms        4000    1.000 (0.90–1.10)  0.500 (0.40–0.60)  -                  1900, at most 2000
        sm ledger           2000    0.750 (0.65–0.85)  0.375 (0.28–0.47)  0.800 (0.70–0.90)  1900, at most 2000
        sm ledger           4000    0.900 (0.80–1.00)  0.450 (0.35–0.55)  0.800 (0.70–0.90)  1900, at most 2000
        your documents (2)  -       0.500 (0.40–0.60)  0.250 (0.15–0.35)  0.800 (0.70–0.90)  1900, at most 2000

        NAR BY BUDGET   2000          4000
        native summary  78% ▰▰▰▰▰▰▱▱
        ranked atoms    80% ▰▰▰▰▰▰▱▱  100% ▰▰▰▰▰▰▰▰
        sm ledger       75% ▰▰▰▰▰▰▱▱  90% ▰▰▰▰▰▰▰▱
        your documents  50% ▰▰▰▰▱▱▱▱

        After a boundary 6.9 files were read, 3.6 of them again.
        ");
        let narrow = render(&look(), &report, &Places::Compactions);
        assert!(
            narrow.lines().all(|line| crate::text::width(line) <= 80),
            "{narrow}"
        );
        assert!(
            narrow.contains("sm ledger           2000    0.750  0.375  0.800"),
            "{narrow}"
        );
        let one = Report {
            rows: vec![row(Arm::Ledger, Some(2000), 0.75)],
            files_read: 0.0,
            ..report
        };
        insta::assert_snapshot!(render(&wide, &one, &Places::Cuts(vec![0.5])), @r"
        3 transcripts, 7 cuts

        DOCUMENT   BUDGET  NAR                LAR                DIR                SIZE
        sm ledger  2000    0.750 (0.65–0.85)  0.375 (0.28–0.47)  0.800 (0.70–0.90)  1900, at most 2000
        ");
    }
}
