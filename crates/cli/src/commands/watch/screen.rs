//! What ratatui draws, as bytes: the 16 colours by their own codes, and no others. Each frame is one
//! write, so that a slow line shows no half of it.

use std::io::{self, Write};

use ratatui::backend::{Backend, ClearType, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use ratatui::style::{Color, Modifier};

/// A terminal that is written to, and who knows its size.
pub struct Screen<W: Write, S: Fn() -> Size> {
    out: W,
    size: S,
    frame: Vec<u8>,
    cursor: Position,
}

impl<W: Write, S: Fn() -> Size> Screen<W, S> {
    pub fn new(out: W, size: S) -> Self {
        Self {
            out,
            size,
            frame: Vec::new(),
            cursor: Position::ORIGIN,
        }
    }

    fn add(&mut self, text: &str) {
        self.frame.extend_from_slice(text.as_bytes());
    }
}

/// The codes of a look, from none.
fn codes(fg: Color, bg: Color, modifier: Modifier) -> String {
    let mut codes = String::from("\x1b[0");
    for (wanted, code) in [
        (Modifier::BOLD, ";1"),
        (Modifier::DIM, ";2"),
        (Modifier::REVERSED, ";7"),
    ] {
        if modifier.contains(wanted) {
            codes.push_str(code);
        }
    }
    for (color, base) in [(fg, 30), (bg, 40)] {
        if let Some(code) = code(color) {
            codes.push_str(&format!(";{}", base + code));
        }
    }
    codes.push('m');
    codes
}

/// Any other colour is the terminal's own.
fn code(color: Color) -> Option<u8> {
    Some(match color {
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 60,
        Color::LightRed => 61,
        Color::LightGreen => 62,
        Color::LightYellow => 63,
        Color::LightBlue => 64,
        Color::LightMagenta => 65,
        Color::LightCyan => 66,
        Color::White => 67,
        Color::Reset | Color::Rgb(..) | Color::Indexed(_) => return None,
    })
}

impl<W: Write, S: Fn() -> Size> Backend for Screen<W, S> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut next = None;
        let mut worn = None;
        for (x, y, cell) in content {
            if next != Some((x, y)) {
                self.add(&format!("\x1b[{};{}H", y + 1, x + 1));
            }
            let look = (cell.fg, cell.bg, cell.modifier);
            if worn != Some(look) {
                self.add(&codes(look.0, look.1, look.2));
                worn = Some(look);
            }
            let symbol = cell.symbol();
            // What is drawn was cleaned before: this is the last door.
            let symbol = if symbol.contains(char::is_control) {
                " "
            } else {
                symbol
            };
            self.add(symbol);
            // Terminals disagree about how wide some signs are: after those the place is said anew.
            next = symbol.is_ascii().then_some((x + 1, y));
        }
        if worn.is_some() {
            self.add("\x1b[0m");
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.add("\x1b[?25l");
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.add("\x1b[?25h");
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(self.cursor)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.cursor = position.into();
        self.add(&format!(
            "\x1b[{};{}H",
            self.cursor.y + 1,
            self.cursor.x + 1
        ));
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.add("\x1b[0m");
        self.add(match clear_type {
            ClearType::All => "\x1b[2J",
            ClearType::AfterCursor => "\x1b[0J",
            ClearType::BeforeCursor => "\x1b[1J",
            ClearType::CurrentLine => "\x1b[2K",
            ClearType::UntilNewLine => "\x1b[0K",
        });
        Ok(())
    }

    fn size(&self) -> io::Result<Size> {
        Ok((self.size)())
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize {
            columns_rows: (self.size)(),
            pixels: Size::default(),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        let frame = std::mem::take(&mut self.frame);
        self.out.write_all(&frame)?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::style::Style;

    #[test]
    fn colours_by_their_own_codes_and_no_others() {
        let mut bytes = Vec::new();
        let mut screen = Screen::new(&mut bytes, || Size::new(20, 2));
        let cell = |text: &str, style: Style| {
            let mut cell = Cell::default();
            cell.set_symbol(text).set_style(style);
            cell
        };
        let red = cell(
            "a",
            Style::new().fg(Color::Red).add_modifier(Modifier::BOLD),
        );
        let more = cell(
            "b",
            Style::new().fg(Color::Red).add_modifier(Modifier::BOLD),
        );
        let wide = cell("日", Style::new());
        let strange = cell("\x1b[2J", Style::new().fg(Color::Rgb(1, 2, 3)));
        let all = [(0, 0, &red), (1, 0, &more), (2, 0, &wide), (4, 0, &strange)];
        screen.draw(all.into_iter()).unwrap();
        screen.flush().unwrap();
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "\x1b[1;1H\x1b[0;1;31mab\x1b[0m日\x1b[1;5H\x1b[0m \x1b[0m"
        );
    }
}
