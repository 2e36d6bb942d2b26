//! A call of a tool and what came of it, folded up or whole.

use serde_json::{Map, Value};
use sm_llm::{Block, ToolCall, ToolResult};

use super::diff;
use super::highlight::Lexer;
use super::line::{Line, indent, wrap, wrap_hard};
use super::look::{Look, Role, Style};
use super::text::{clean, clean_lines, shorten, shorten_front};
use super::transcript::{Fold, Told};

/// Folded up, a result has at most so many lines.
const FEW: usize = 6;
/// The diff of an edit is what a person wants to see.
const DIFF: usize = 24;
/// Whole, it still ends somewhere.
const MOST: usize = 2_000;

/// What the call is about, in one line: a path, a command, a pattern.
pub(crate) fn subject(call: &ToolCall) -> String {
    let text = |name| text_of(&call.arguments, name);
    let said = match call.name.as_str() {
        "bash" => text("command").to_owned(),
        "grep" | "find" => match text("path") {
            "" => text("pattern").to_owned(),
            path => format!("{} in {path}", text("pattern")),
        },
        "todo" => String::new(),
        "read" | "write" | "edit" => text("path").to_owned(),
        _ if call.arguments.is_empty() => String::new(),
        _ => Value::Object(call.arguments.clone()).to_string(),
    };
    clean(said.trim())
}

fn text_of<'a>(arguments: &'a Map<String, Value>, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or("")
}

/// The line above a result, or above what still runs.
pub(crate) fn title(call: &ToolCall, role: Role, sign: &str, columns: usize, look: Look) -> Line {
    let name = clean(&call.name);
    let room = columns.saturating_sub(super::text::width(&name) + 3);
    let subject = match call.name.as_str() {
        "read" | "write" | "edit" => shorten_front(&subject(call), room, look.pick("…", "~")),
        _ => shorten(&subject(call), room, look.pick("…", "~")),
    };
    Line::of(format!("{sign} "), role)
        .with(format!("{name} "), Style::default().bold())
        .with(subject, Role::Text)
}

/// What a call would do, for the person who is asked: the whole command, the whole change.
pub(crate) fn intended(call: &ToolCall, columns: usize) -> Vec<Line> {
    let text = |name| text_of(&call.arguments, name);
    match call.name.as_str() {
        "edit" => diff::between(text("old_text"), text("new_text"), columns),
        "write" => diff::between("", text("content"), columns),
        "bash" => code(text("command"), "bash", columns),
        _ => {
            let line = Line::of(subject(call), Role::Text);
            wrap_hard(&line, columns, &indent(2), &indent(2))
        }
    }
}

pub(crate) fn done(
    call: &ToolCall,
    result: &ToolResult,
    fold: Fold,
    columns: usize,
    look: Look,
) -> Told {
    let (sign, role) = match result.is_error {
        true => (look.pick("✗", "x"), Role::Error),
        false => (look.pick("●", "*"), Role::Success),
    };
    let mut lines = vec![title(call, role, sign, columns, look)];
    let text = content(&result.content);
    let detail = |name: &str| result.details.as_ref().and_then(|d| d.get(name));
    let (body, few, end) = match (call.name.as_str(), result.is_error) {
        (_, true) => (plain(&text, Role::Error, columns), FEW, End::Bottom),
        ("edit" | "write", false) => {
            let made = detail("diff")
                .and_then(Value::as_str)
                .filter(|d| !d.is_empty());
            let body = made.map_or_else(|| intended(call, columns), |d| diff::made(d, columns));
            (body, DIFF, End::Top)
        }
        ("read", false) => {
            let path = text_of(&call.arguments, "path");
            let count = detail("lines")
                .and_then(Value::as_u64)
                .unwrap_or(text.lines().count() as u64);
            let said = match detail("mimeType") {
                Some(_) => "an image".to_owned(),
                None => format!("{count} line{}", if count == 1 { "" } else { "s" }),
            };
            lines.push(Line::of(format!("  {said}"), Role::Faint));
            (source(&text, path, columns), 0, End::Top)
        }
        ("bash", false) => (plain(&text, Role::Faint, columns), FEW, End::Bottom),
        ("todo", false) => (todos(&call.arguments, columns, look), usize::MAX, End::Top),
        (_, false) => (plain(&text, Role::Faint, columns), FEW, End::Top),
    };
    let hidden = append(&mut lines, body, fold, few, end, look);
    Told { lines, hidden }
}

/// A command that the person ran themselves.
pub(crate) fn shell(command: &str, output: &str, fold: Fold, columns: usize, look: Look) -> Told {
    let sign = Line::of("! ", Style::from(Role::Warning).bold());
    let command = shorten(
        &clean(command),
        columns.saturating_sub(2),
        look.pick("…", "~"),
    );
    let mut lines = vec![sign.with(command, Style::default().bold())];
    let body = plain(output, Role::Text, columns);
    let hidden = append(&mut lines, body, fold, FEW * 4, End::Bottom, look);
    Told { lines, hidden }
}

/// Which end of a text tells most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Top,
    Bottom,
}

/// Adds so much of the body as is wanted; answers how many lines were left out.
fn append(
    lines: &mut Vec<Line>,
    body: Vec<Line>,
    fold: Fold,
    few: usize,
    end: End,
    look: Look,
) -> usize {
    let most = match fold {
        Fold::Up => few,
        Fold::Whole => MOST,
    };
    let hidden = body.len().saturating_sub(most);
    // One line more takes no more room than saying that it is left out.
    if hidden <= 1 && few > 0 {
        lines.extend(body);
        return 0;
    }
    let how = match fold {
        Fold::Up if few == 0 => {
            return hidden;
        }
        Fold::Up => " (ctrl+o shows them)",
        Fold::Whole => "",
    };
    let said = format!("  {} {hidden} more lines{how}", look.pick("…", "..."));
    let said = Line::of(said, Role::Faint);
    match end {
        End::Top => {
            lines.extend(body.into_iter().take(most));
            lines.push(said);
        }
        End::Bottom => {
            lines.push(said);
            lines.extend(body.into_iter().skip(hidden));
        }
    }
    hidden
}

/// The text of a result; what is no text is named.
pub(crate) fn content(blocks: &[Block]) -> String {
    let texts: Vec<String> = blocks
        .iter()
        .map(|block| match block {
            Block::Text { text, .. } => text.clone(),
            Block::Image { mime_type, .. } => format!("[{mime_type}]"),
            Block::Thinking { .. } | Block::ToolCall(_) | Block::Other => String::new(),
        })
        .collect();
    texts.join("\n")
}

/// Output as it is, so much of it as can be shown at all.
pub(crate) fn plain(text: &str, role: Role, columns: usize) -> Vec<Line> {
    let mut out = Vec::new();
    for line in clean_lines(text.trim_end_matches('\n')) {
        let line = Line::of(line, role);
        out.extend(wrap_hard(&line, columns.max(10), &indent(2), &indent(2)));
        if out.len() > MOST * 2 {
            break;
        }
    }
    match text.trim().is_empty() {
        true => Vec::new(),
        false => out,
    }
}

fn code(text: &str, language: &str, columns: usize) -> Vec<Line> {
    let mut lexer = Lexer::of(language);
    clean_lines(text)
        .iter()
        .flat_map(|line| wrap_hard(&lexer.line(line), columns.max(10), &indent(2), &indent(2)))
        .collect()
}

fn source(text: &str, path: &str, columns: usize) -> Vec<Line> {
    let mut lexer = Lexer::of_path(path);
    let mut out = Vec::new();
    for line in clean_lines(text).iter().take(MOST) {
        out.extend(wrap_hard(
            &lexer.line(line),
            columns.max(10),
            &indent(2),
            &indent(2),
        ));
    }
    out
}

fn todos(arguments: &Map<String, Value>, columns: usize, look: Look) -> Vec<Line> {
    let list = arguments.get("todos").and_then(Value::as_array);
    let mut out = Vec::new();
    for todo in list.into_iter().flatten().take(100) {
        let field = |name| todo.get(name).and_then(Value::as_str).unwrap_or("");
        let (sign, style) = match field("status") {
            "done" | "completed" => (look.pick("☑ ", "[x] "), Style::from(Role::Faint)),
            "in_progress" => (look.pick("▸ ", "[>] "), Style::default().bold()),
            _ => (look.pick("☐ ", "[ ] "), Style::default()),
        };
        let line = Line::of(sign, style).with(clean(field("text")), style);
        out.extend(wrap(&line, columns.max(10), &indent(2), &indent(4)));
    }
    out
}
