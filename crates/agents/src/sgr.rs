//! A captured screen: rows of characters, each dim, reverse or plain.
//!
//! Colours do not matter, but whether a text is dim tells a hint from a draft. The terminal writes
//! an attribute once and lets it run over line ends, so a screen is read as a whole.

/// One character of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    pub c: char,
    pub dim: bool,
    pub reverse: bool,
}

pub type Row = Vec<Cell>;

/// Reads rows with SGR sequences; other escape sequences are left out.
pub fn rows<S: AsRef<str>>(lines: &[S]) -> Vec<Row> {
    let (mut dim, mut reverse) = (false, false);
    lines
        .iter()
        .map(|line| {
            let mut row = Row::new();
            let mut chars = line.as_ref().chars().peekable();
            while let Some(c) = chars.next() {
                if c != '\u{1b}' {
                    if !c.is_control() {
                        row.push(Cell { c, dim, reverse });
                    }
                    continue;
                }
                match chars.next() {
                    Some('[') => {
                        let mut parameters = String::new();
                        let end = chars.by_ref().find(|c| {
                            let last = ('@'..='~').contains(c);
                            if !last && parameters.len() < 64 {
                                parameters.push(*c);
                            }
                            last
                        });
                        if end == Some('m') {
                            apply(&parameters, &mut dim, &mut reverse);
                        }
                    }
                    Some(']') => {
                        // A title or a link, up to BEL or ESC \.
                        while let Some(c) = chars.next() {
                            if c == '\u{7}' || (c == '\u{1b}' && chars.next().is_some()) {
                                break;
                            }
                        }
                    }
                    Some(_) | None => {}
                }
            }
            row
        })
        .collect()
}

fn apply(parameters: &str, dim: &mut bool, reverse: &mut bool) {
    let mut codes = parameters.split([';', ':']);
    while let Some(code) = codes.next() {
        match code {
            "" | "0" => (*dim, *reverse) = (false, false),
            "2" => *dim = true,
            "22" => *dim = false,
            "7" => *reverse = true,
            "27" => *reverse = false,
            // The parts of a colour are no attributes: 38;5;2 is green, not dim.
            "38" | "48" | "58" => match codes.next() {
                Some("5") => drop(codes.next()),
                Some("2") => drop((codes.next(), codes.next(), codes.next())),
                Some(_) | None => {}
            },
            _ => {}
        }
    }
}

/// The row as text, without white space at its end.
pub fn text(row: &[Cell]) -> String {
    let text: String = row.iter().map(|cell| cell.c).collect();
    // U+00A0 belongs to a prompt and stays.
    text.trim_end_matches(' ').to_owned()
}

/// How many columns a text takes: wide for East Asian characters and emoji, none for marks.
/// Rough, and used only to tell whether a row was full.
pub fn width(text: &str) -> usize {
    text.chars()
        .map(|c| match u32::from(c) {
            0x300..=0x36F | 0x200B..=0x200F | 0xFE00..=0xFE0F => 0,
            0x1100..=0x115F
            | 0x2E80..=0xA4CF
            | 0xAC00..=0xD7A3
            | 0xF900..=0xFAFF
            | 0xFE30..=0xFE6F
            | 0xFF00..=0xFF60
            | 0xFFE0..=0xFFE6
            | 0x1F300..=0x1FAFF
            | 0x20000..=0x3FFFD => 2,
            _ => 1,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_run_over_line_ends() {
        let rows = rows(&[
            "a\u{1b}[2mb",
            "c\u{1b}[0md\u{1b}[38;5;2me\u{1b}[7mf\u{1b}[27mg",
            "\u{1b}]0;t\u{7}h",
        ]);
        let marks = |row: &Row| {
            row.iter()
                .map(|c| {
                    format!(
                        "{}{}{}",
                        c.c,
                        if c.dim { "-" } else { "" },
                        if c.reverse { "!" } else { "" }
                    )
                })
                .collect::<String>()
        };
        assert_eq!(
            rows.iter().map(marks).collect::<Vec<_>>(),
            ["ab-", "c-def!g", "h"]
        );
    }

    #[test]
    fn widths() {
        assert_eq!(width("ab"), 2);
        assert_eq!(width("日本"), 4);
        assert_eq!(width("e\u{301}"), 1);
    }
}
