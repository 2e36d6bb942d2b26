//! Tables of Markdown, made to fit.

use super::super::line::{Line, Span, wrap};
use super::super::look::{Look, Role, Style};
use super::inline::inline;

/// Columns narrower than this cannot be read: the rows become lists then.
const NARROWEST: usize = 6;
/// Beyond that it is no table a person reads.
const MOST_COLUMNS: usize = 24;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

pub(crate) fn is_row(line: &str) -> bool {
    line.trim_start().starts_with('|') && line.trim().len() > 1
}

/// The rows of a table as they were written.
pub(crate) fn table(rows: &[String], columns: usize, look: Look) -> Vec<Line> {
    let mut cells: Vec<Vec<String>> = rows.iter().map(|row| split(row)).collect();
    let sides = match cells.get(1).and_then(|row| separator(row)) {
        Some(sides) => {
            cells.remove(1);
            sides
        }
        None => Vec::new(),
    };
    let headed = !sides.is_empty();
    let count = cells
        .iter()
        .map(Vec::len)
        .max()
        .unwrap_or(0)
        .min(MOST_COLUMNS);
    let styled: Vec<Vec<Line>> = cells
        .iter()
        .enumerate()
        .map(|(index, row)| {
            let style = match headed && index == 0 {
                true => Style::default().bold(),
                false => Style::default(),
            };
            let cell = |at| inline(row.get(at).map_or("", String::as_str), style);
            (0..count).map(cell).collect()
        })
        .collect();
    match widths(&styled, count, columns) {
        Some(widths) => grid(&styled, &widths, &sides, headed, look),
        None => records(&styled, columns),
    }
}

fn split(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let mut cells = vec![String::new()];
    let mut code = false;
    let mut chars = row.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&'|') => {
                chars.next();
                push(&mut cells, '|');
            }
            '|' if !code => cells.push(String::new()),
            c => {
                code ^= c == '`';
                push(&mut cells, c);
            }
        }
    }
    if cells.len() > 1 && cells.last().is_some_and(|last| last.trim().is_empty()) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

fn push(cells: &mut [String], c: char) {
    if let Some(last) = cells.last_mut() {
        last.push(c);
    }
}

fn separator(row: &[String]) -> Option<Vec<Side>> {
    row.iter()
        .map(|cell| {
            let dashes = cell.trim_matches(':');
            let only = !dashes.is_empty() && dashes.chars().all(|c| c == '-');
            let right = cell.ends_with(':') && !cell.starts_with(':');
            only.then_some(if right { Side::Right } else { Side::Left })
        })
        .collect()
}

/// How wide each column may be; `None` if they cannot stand beside each other.
fn widths(rows: &[Vec<Line>], count: usize, columns: usize) -> Option<Vec<usize>> {
    let room = columns.checked_sub(count.saturating_sub(1) * 3)?;
    let wide = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        cells.map(Line::width).max().unwrap_or(0).max(1)
    };
    let mut widths: Vec<usize> = (0..count).map(wide).collect();
    while widths.iter().sum::<usize>() > room {
        let widest = widths.iter_mut().max()?;
        if *widest <= NARROWEST {
            return None;
        }
        *widest -= 1;
    }
    Some(widths)
}

fn grid(
    rows: &[Vec<Line>],
    widths: &[usize],
    sides: &[Side],
    headed: bool,
    look: Look,
) -> Vec<Line> {
    let bar = look.pick(" │ ", " | ");
    let mut out = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let cells: Vec<Vec<Line>> = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| wrap(cell, *width, &[], &[]))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        for y in 0..height {
            let mut line = Line::blank();
            for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
                if at > 0 {
                    line.push(Span::new(bar, Role::Faint));
                }
                let piece = cell.get(y).cloned().unwrap_or_default();
                let gap = " ".repeat(width.saturating_sub(piece.width()));
                let right = sides.get(at) == Some(&Side::Right);
                if right {
                    line.push(Span::new(gap.clone(), Role::Text));
                }
                for span in piece.spans {
                    line.push(span);
                }
                if !right && at + 1 < cells.len() {
                    line.push(Span::new(gap, Role::Text));
                }
            }
            out.push(line);
        }
        if headed && index == 0 {
            let dash = look.pick("─", "-");
            let parts: Vec<String> = widths.iter().map(|width| dash.repeat(*width)).collect();
            out.push(Line::of(parts.join(look.pick("─┼─", "-+-")), Role::Faint));
        }
    }
    out
}

/// Each row as a list of what its cells are.
fn records(rows: &[Vec<Line>], columns: usize) -> Vec<Line> {
    let mut out = Vec::new();
    let header = rows.first();
    for row in rows.iter().skip(1) {
        if !out.is_empty() {
            out.push(Line::blank());
        }
        for (at, cell) in row.iter().enumerate() {
            let mut line = header.and_then(|h| h.get(at)).cloned().unwrap_or_default();
            line.push(Span::new(": ", Role::Faint));
            for span in &cell.spans {
                line.push(span.clone());
            }
            out.extend(wrap(&line, columns, &[], &super::super::line::indent(2)));
        }
    }
    out
}
