//! A session as a page or a text that people read, or as a file that `pi` and `sm agent` open.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sm_llm::{Block, Content, Message};

use super::error::SessionError;
use crate::handoff::text_of;

use super::open::{self, Opened, Shown};

/// What is written, by how the name ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Html,
    Markdown,
    /// The file itself.
    Session,
}

/// Writes the session of `path` to `to`, or to a page in `cwd`; what is there is not written over.
pub fn export(path: &Path, to: Option<&Path>, cwd: &Path) -> Result<PathBuf, SessionError> {
    let opened = open::read(path)?;
    let to = match to {
        Some(to) => cwd.join(to),
        None => cwd.join(format!("sm-session-{}.html", opened.header.id)),
    };
    let form = match to.extension().and_then(|end| end.to_str()) {
        Some("md" | "markdown") => Form::Markdown,
        Some("jsonl") => Form::Session,
        _ => Form::Html,
    };
    let failed = |source| SessionError::Io {
        doing: "export to",
        path: to.clone(),
        source,
    };
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&to)
        .map_err(failed)?;
    let written = match form {
        Form::Html => file.write_all(html(&opened).as_bytes()),
        Form::Markdown => file.write_all(markdown(&opened).as_bytes()),
        Form::Session => std::fs::File::open(path)
            .and_then(|mut source| std::io::copy(&mut source, &mut file))
            .map(|_| ()),
    };
    written.map_err(failed)?;
    Ok(to)
}

/// Who speaks, and what.
fn parts(opened: &Opened) -> Vec<(&'static str, String)> {
    let mut parts = Vec::new();
    for shown in &opened.shown {
        match shown {
            Shown::Message { message, .. } => match opened.messages.get(*message) {
                Some(Message::User(user)) => parts.push(("You", text_of(&user.content))),
                Some(Message::Assistant(answer)) => blocks("Agent", &answer.content, &mut parts),
                Some(Message::ToolResult(result)) => {
                    let text = text_of(&Content::Blocks(result.content.clone()));
                    parts.push(("Result", text));
                }
                None => {}
            },
            Shown::Unsent { answer, .. } => blocks("Agent", &answer.content, &mut parts),
            Shown::Bash { execution, .. } => parts.push((
                "Command",
                format!("$ {}\n{}", execution.command, execution.output),
            )),
            Shown::Custom { display: false, .. } => {}
            Shown::Custom { message, .. } | Shown::Summary { message, .. } => {
                if let Some(Message::User(user)) = opened.messages.get(*message) {
                    parts.push(("Context", text_of(&user.content)));
                }
            }
        }
    }
    parts.retain(|(_, text)| !text.trim().is_empty());
    parts
}

fn blocks(who: &'static str, content: &[Block], parts: &mut Vec<(&'static str, String)>) {
    for block in content {
        match block {
            Block::Text { text, .. } => parts.push((who, text.clone())),
            Block::ToolCall(call) => {
                let arguments = serde_json::Value::Object(call.arguments.clone());
                parts.push(("Call", format!("{} {arguments}", call.name)));
            }
            Block::Thinking { .. } | Block::Image { .. } | Block::Other => {}
        }
    }
}

fn title(opened: &Opened) -> String {
    let title = opened.title.clone();
    title.unwrap_or_else(|| format!("Session {}", opened.header.id))
}

fn markdown(opened: &Opened) -> String {
    let mut out = format!("# {}\n", title(opened));
    for (who, text) in parts(opened) {
        match who {
            "You" | "Agent" | "Context" => {
                out.push_str(&format!("\n## {who}\n\n{}\n", text.trim()))
            }
            _ => {
                // Longer than any fence inside of it.
                let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
                let fence = "`".repeat(longest.max(2) + 1);
                out.push_str(&format!(
                    "\n{who}:\n\n{fence}\n{}\n{fence}\n",
                    text.trim_end()
                ));
            }
        }
    }
    out
}

/// One page without anything from elsewhere; what was said is only ever text in it.
fn html(opened: &Opened) -> String {
    const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}\
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#8881;padding:.8em;border-radius:.4em;font:13px/1.45 ui-monospace,monospace}\
h2{font-size:.9em;margin:1.6em 0 .3em;opacity:.7}";
    let title = escape(&title(opened));
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"color-scheme\" content=\"light dark\"><title>{title}</title><style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n"
    );
    for (who, text) in parts(opened) {
        out.push_str(&format!(
            "<h2>{who}</h2>\n<pre>{}</pre>\n",
            escape(text.trim_end())
        ));
    }
    out.push_str("</body></html>\n");
    out
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
