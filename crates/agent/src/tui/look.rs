//! How things look: which colours, which characters, drawn or line by line.
//!
//! What a thing *is* ([`Role`]) is said everywhere else; only here it becomes an escape sequence.
//! Nothing may be told by colour alone: with `NO_COLOR` every screen must still make sense.

/// What the person's terminal can show, and how they want it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    pub colours: Colours,
    pub background: Background,
    pub glyphs: Glyphs,
    pub mode: Mode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// Bold, underline and reverse only.
    None,
    Sixteen,
    Many,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    Dark,
    Light,
    /// The terminal's own sixteen colours are used then: they fit its background.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glyphs {
    Unicode,
    Ascii,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A small region at the bottom is redrawn.
    Screen,
    /// Line by line, nothing is ever redrawn: for screen readers and terminals that cannot.
    Plain,
}

impl Look {
    /// Decides by the environment, which is asked through `get`.
    pub fn of(get: impl Fn(&str) -> Option<String>, plain: bool) -> Self {
        let set = |name: &str| get(name).filter(|value| !value.is_empty());
        let term = get("TERM").unwrap_or_default();
        let mode = match plain || term.is_empty() || term == "dumb" {
            true => Mode::Plain,
            false => Mode::Screen,
        };
        let many = set("COLORTERM").is_some_and(|v| v == "truecolor" || v == "24bit")
            || [
                "256color",
                "direct",
                "kitty",
                "ghostty",
                "alacritty",
                "foot",
            ]
            .iter()
            .any(|word| term.contains(word));
        let colours = match (set("NO_COLOR").is_some() || mode == Mode::Plain, many) {
            (true, _) => Colours::None,
            (false, true) => Colours::Many,
            (false, false) => Colours::Sixteen,
        };
        let background = match set("SM_AGENT_BACKGROUND").as_deref() {
            Some("light") => Background::Light,
            Some("dark") => Background::Dark,
            Some(_) | None => background(set("COLORFGBG").as_deref()),
        };
        Self {
            colours,
            background,
            glyphs: glyphs(set("LC_ALL").or(set("LC_CTYPE")).or(set("LANG")), &term),
            mode,
        }
    }

    /// The same, line by line.
    pub(crate) fn plain(self) -> Self {
        Self {
            colours: Colours::None,
            mode: Mode::Plain,
            ..self
        }
    }

    /// Chooses between a Unicode and an ASCII spelling.
    pub fn pick<'a>(self, unicode: &'a str, ascii: &'a str) -> &'a str {
        match self.glyphs {
            Glyphs::Unicode => unicode,
            Glyphs::Ascii => ascii,
        }
    }

    /// The sequence that begins a style, always from a clean state; empty for plain text.
    pub(crate) fn sgr(self, style: Style) -> String {
        if self.mode == Mode::Plain {
            return String::new();
        }
        let mut codes: Vec<String> = Vec::new();
        let mut style = style;
        let colour = match (self.colours, self.background) {
            (Colours::None, _) => {
                style = style.role.without_colour(style);
                None
            }
            (Colours::Sixteen, _) | (Colours::Many, Background::Unknown) => {
                let (code, dim) = style.role.sixteen();
                style.dim |= dim;
                code.map(|code| code.to_string())
            }
            (Colours::Many, Background::Dark) => {
                style.role.many().map(|(dark, _)| foreground(dark))
            }
            (Colours::Many, Background::Light) => {
                style.role.many().map(|(_, light)| foreground(light))
            }
        };
        for (on, code) in [
            (style.bold, "1"),
            (style.dim, "2"),
            (style.italic, "3"),
            (style.underline, "4"),
            (style.reverse, "7"),
            (style.strike, "9"),
        ] {
            if on {
                codes.push(code.to_owned());
            }
        }
        codes.extend(colour);
        match codes.is_empty() {
            true => String::new(),
            false => format!("\x1b[{}m", codes.join(";")),
        }
    }
}

fn foreground(index: u8) -> String {
    format!("38;5;{index}")
}

/// `COLORFGBG` ends with the number of the background's colour.
fn background(value: Option<&str>) -> Background {
    let last = value.and_then(|value| value.rsplit(';').next()?.parse::<u8>().ok());
    match last {
        Some(7 | 9..=15) => Background::Light,
        Some(0..=6 | 8) => Background::Dark,
        Some(_) | None => Background::Unknown,
    }
}

fn glyphs(locale: Option<String>, term: &str) -> Glyphs {
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    match (locale.contains("utf-8") || locale.contains("utf8")) && term != "linux" {
        true => Glyphs::Unicode,
        false => Glyphs::Ascii,
    }
}

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Role {
    #[default]
    Text,
    /// Of less interest.
    Faint,
    Accent,
    Heading,
    Code,
    Link,
    Keyword,
    Literal,
    Comment,
    Number,
    Added,
    Removed,
    Error,
    Warning,
    Success,
}

impl Role {
    /// The sixteen colours, without those that vanish on a light or a dark background.
    fn sixteen(self) -> (Option<u8>, bool) {
        match self {
            Self::Text => (None, false),
            Self::Faint | Self::Comment => (None, true),
            Self::Accent | Self::Heading | Self::Link | Self::Number | Self::Code => {
                (Some(36), false)
            }
            Self::Keyword | Self::Warning => (Some(35), false),
            Self::Literal | Self::Added | Self::Success => (Some(32), false),
            Self::Removed | Self::Error => (Some(31), false),
        }
    }

    /// For a dark and for a light background.
    fn many(self) -> Option<(u8, u8)> {
        match self {
            Self::Text => None,
            Self::Faint => Some((245, 242)),
            Self::Comment => Some((246, 242)),
            Self::Accent | Self::Heading | Self::Link => Some((75, 25)),
            Self::Code => Some((180, 94)),
            Self::Keyword => Some((176, 90)),
            Self::Literal | Self::Added | Self::Success => Some((114, 28)),
            Self::Number => Some((80, 30)),
            Self::Removed | Self::Error => Some((210, 124)),
            Self::Warning => Some((221, 94)),
        }
    }

    /// What stands for the colour where there is none.
    fn without_colour(self, style: Style) -> Style {
        match self {
            Self::Heading | Self::Error | Self::Warning => Style {
                bold: true,
                ..style
            },
            Self::Link => Style {
                underline: true,
                ..style
            },
            Self::Text
            | Self::Faint
            | Self::Accent
            | Self::Code
            | Self::Keyword
            | Self::Literal
            | Self::Comment
            | Self::Number
            | Self::Added
            | Self::Removed
            | Self::Success => style,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Style {
    pub role: Role,
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub underline: bool,
    pub strike: bool,
    pub reverse: bool,
}

impl From<Role> for Style {
    fn from(role: Role) -> Self {
        Self {
            role,
            ..Self::default()
        }
    }
}

impl Style {
    pub fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    pub fn italic(self) -> Self {
        Self {
            italic: true,
            ..self
        }
    }

    pub fn reverse(self) -> Self {
        Self {
            reverse: true,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Look {
        Look::of(
            |name| {
                let found = pairs.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            },
            false,
        )
    }

    #[test]
    fn the_environment_decides() {
        let utf8 = ("LANG", "C.UTF-8");
        for (pairs, expected) in [
            (
                vec![("TERM", "xterm-256color"), utf8],
                (
                    Colours::Many,
                    Background::Unknown,
                    Glyphs::Unicode,
                    Mode::Screen,
                ),
            ),
            (
                vec![("TERM", "xterm"), utf8, ("COLORFGBG", "15;0")],
                (
                    Colours::Sixteen,
                    Background::Dark,
                    Glyphs::Unicode,
                    Mode::Screen,
                ),
            ),
            (
                vec![("TERM", "xterm"), utf8, ("COLORFGBG", "0;default;15")],
                (
                    Colours::Sixteen,
                    Background::Light,
                    Glyphs::Unicode,
                    Mode::Screen,
                ),
            ),
            (
                vec![("TERM", "xterm"), ("NO_COLOR", "1"), ("LANG", "C")],
                (
                    Colours::None,
                    Background::Unknown,
                    Glyphs::Ascii,
                    Mode::Screen,
                ),
            ),
            (
                vec![
                    ("TERM", "xterm"),
                    ("NO_COLOR", ""),
                    ("LANG", "C"),
                    ("LC_ALL", "de_DE.utf8"),
                ],
                (
                    Colours::Sixteen,
                    Background::Unknown,
                    Glyphs::Unicode,
                    Mode::Screen,
                ),
            ),
            (
                vec![("TERM", "dumb"), utf8],
                (
                    Colours::None,
                    Background::Unknown,
                    Glyphs::Unicode,
                    Mode::Plain,
                ),
            ),
            (
                vec![("TERM", "linux"), utf8],
                (
                    Colours::Sixteen,
                    Background::Unknown,
                    Glyphs::Ascii,
                    Mode::Screen,
                ),
            ),
        ] {
            let look = of(&pairs);
            let found = (look.colours, look.background, look.glyphs, look.mode);
            assert_eq!(found, expected, "{pairs:?}");
        }
    }

    #[test]
    fn without_colours_no_colour_is_sent() {
        let look = of(&[("TERM", "xterm-256color"), ("NO_COLOR", "1")]);
        assert_eq!(look.sgr(Role::Error.into()), "\x1b[1m");
        assert_eq!(look.sgr(Role::Added.into()), "");
        let look = of(&[("TERM", "xterm-256color"), ("SM_AGENT_BACKGROUND", "light")]);
        assert_eq!(look.sgr(Role::Error.into()), "\x1b[38;5;124m");
        let look = of(&[("TERM", "xterm-256color")]);
        assert_eq!(look.sgr(Role::Error.into()), "\x1b[31m");
    }
}
