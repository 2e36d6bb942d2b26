//! A transcript as the scorer sees it: who said, did and was shown what, record by record.

use super::strings::Strings;
use crate::atoms::atoms;
use crate::record::{At, Record, Speaker};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;

/// Of a directive that many characters have to survive.
const DIRECTIVE: usize = 400;

/// Who an entry is by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Agent,
    /// A person or a program: prompts, what tools gave back.
    Others,
}

/// One record of a transcript.
#[derive(Debug)]
pub struct Entry {
    /// 1-based.
    pub line: u64,
    pub role: Role,
    /// What was said.
    pub text: String,
    /// What tools were called with.
    pub calls: String,
    /// What they gave back.
    pub results: String,
    /// What a person wants of the agent.
    pub directive: Option<String>,
    /// The context before this is gone, and the text is what stands in its place.
    pub is_summary: bool,
    /// Files that were read with a tool for that.
    pub reads: Vec<String>,
    /// The atoms of the three texts, by number.
    pub(super) said: Vec<u32>,
    pub(super) called: Vec<u32>,
    pub(super) returned: Vec<u32>,
}

/// Whether it is worth taking apart: whatever an agent calls it, the word is in it.
#[must_use]
pub fn may_have_compactions(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, b"ompact").is_some()
}

/// What can be scored.
#[derive(Debug, Default)]
pub struct Transcript {
    pub entries: Vec<Entry>,
    /// Where each further transcript begins, if several contexts follow each other.
    pub(super) parts: Vec<usize>,
    /// Atoms by number.
    pub(super) names: Vec<Box<str>>,
}

impl Transcript {
    /// A transcript of Claude Code. Lines that are broken are left out.
    #[must_use]
    pub fn claude(bytes: &[u8]) -> Self {
        let mut builder = Builder::default();
        builder.claude(bytes);
        builder.finish()
    }
}

/// Puts a transcript together, also from what a dialect's reader tells: for agents that the reference scorer does
/// not know.
#[derive(Debug, Default)]
pub struct Builder {
    transcript: Transcript,
    numbers: HashMap<Box<str>, u32>,
    open: Option<Entry>,
}

impl Builder {
    /// All of a transcript of Claude Code.
    pub fn claude(&mut self, bytes: &[u8]) {
        self.close();
        for (line, number) in bytes.split(|&byte| byte == b'\n').zip(1..) {
            if let Some(entry) = claude_line(&String::from_utf8_lossy(line), number) {
                self.push(entry);
            }
        }
    }

    /// What follows is the transcript of the next context, which has not seen this one.
    pub fn next_part(&mut self) {
        self.close();
        self.transcript.parts.push(self.transcript.entries.len());
    }

    /// Records of one line and one author are one entry.
    pub fn add(&mut self, at: At, record: &Record<'_>) {
        let (role, is_summary) = match record {
            Record::Said { .. } | Record::Returned { .. } => (Role::Others, false),
            Record::Spoke { .. } | Record::Called { .. } | Record::Thought => (Role::Agent, false),
            Record::Compacted { .. } => (Role::Others, true),
            Record::Used { .. }
            | Record::Interrupted
            | Record::Place { .. }
            | Record::Aside
            | Record::Other => return,
        };
        let same = |open: &Entry| {
            open.line == at.line && open.role == role && !open.is_summary && !is_summary
        };
        if !self.open.as_ref().is_some_and(same) {
            self.close();
        }
        let entry = self.open.get_or_insert_with(|| Entry::new(at.line, role));
        entry.is_summary = is_summary;
        match record {
            Record::Said { by, text } => {
                add_line(&mut entry.text, text);
                if *by == Speaker::Person {
                    entry.directive = directive(&entry.text);
                }
            }
            Record::Spoke { text } => add_line(&mut entry.text, text),
            Record::Called { tool, input, .. } => entry.call(tool, input),
            Record::Returned { text, .. } => add_line(&mut entry.results, text),
            Record::Compacted { summary } => {
                entry.text = summary.as_deref().unwrap_or_default().to_owned()
            }
            Record::Thought
            | Record::Used { .. }
            | Record::Interrupted
            | Record::Place { .. }
            | Record::Aside
            | Record::Other => {}
        }
    }

    #[must_use]
    pub fn finish(mut self) -> Transcript {
        self.close();
        self.transcript
    }

    fn close(&mut self) {
        if let Some(entry) = self.open.take() {
            self.push(entry);
        }
    }

    fn push(&mut self, mut entry: Entry) {
        entry.said = self.numbered(&entry.text);
        entry.called = self.numbered(&entry.calls);
        entry.returned = self.numbered(&entry.results);
        self.transcript.entries.push(entry);
    }

    fn numbered(&mut self, text: &str) -> Vec<u32> {
        let (numbers, names) = (&mut self.numbers, &mut self.transcript.names);
        let mut found = Vec::new();
        atoms(text, &mut |atom| {
            let number = numbers.get(atom).copied().unwrap_or_else(|| {
                let number = names.len() as u32;
                names.push(atom.into());
                numbers.insert(atom.into(), number);
                number
            });
            found.push(number);
        });
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl Entry {
    fn new(line: u64, role: Role) -> Self {
        Self {
            line,
            role,
            text: String::new(),
            calls: String::new(),
            results: String::new(),
            directive: None,
            is_summary: false,
            reads: Vec::new(),
            said: Vec::new(),
            called: Vec::new(),
            returned: Vec::new(),
        }
    }

    fn call(&mut self, tool: &str, input: &RawValue) {
        let strings: Strings = serde_json::from_str(input.get()).unwrap_or_default();
        add_line(&mut self.calls, &strings.0);
        let reads = ["read", "view", "notebookread", "read_file"];
        if reads.iter().any(|name| tool.eq_ignore_ascii_case(name)) {
            self.reads.extend(named_file(input));
        }
    }
}

fn named_file(input: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        #[serde(alias = "path", alias = "notebook_path")]
        file_path: String,
    }
    let named: Named = serde_json::from_str(input.get()).ok()?;
    Some(named.file_path)
}

fn add_line(all: &mut String, text: &str) {
    if !all.is_empty() {
        all.push('\n');
    }
    all.push_str(text);
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    is_sidechain: Flag,
    #[serde(default)]
    is_meta: Flag,
    #[serde(default)]
    is_compact_summary: Flag,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

/// Anything may stand there; only `true` counts.
#[derive(Default)]
struct Flag(bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(from)?;
        Ok(Self(value == serde_json::Value::Bool(true)))
    }
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type")]
    kind: Option<String>,
    text: Option<Strings>,
    name: Option<String>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    content: Option<Strings>,
}

fn claude_line(text: &str, number: u64) -> Option<Entry> {
    let text = mended(text);
    let line: Line<'_> = serde_json::from_str(&text).ok()?;
    let role = match line.kind.as_deref() {
        Some("assistant") => Role::Agent,
        Some("user") => Role::Others,
        _ => return None,
    };
    if line.is_sidechain.0 {
        return None;
    }
    let mut entry = Entry::new(number, role);
    entry.is_summary = line.is_compact_summary.0;
    let message = line
        .message
        .and_then(|message| serde_json::from_str(message.get()).ok());
    let content = message.and_then(|message: Message<'_>| message.content);
    let mut results = Vec::new();
    if let Some(content) = content {
        if let Ok(text) = serde_json::from_str::<String>(content.get()) {
            entry.text = text;
        } else if let Ok(blocks) = serde_json::from_str::<Vec<&RawValue>>(content.get()) {
            let blocks = blocks
                .into_iter()
                .filter_map(|block| serde_json::from_str(block.get()).ok());
            let (mut texts, mut calls) = (Vec::new(), Vec::new());
            for block in blocks {
                let block: Block<'_> = block;
                match block.kind.as_deref() {
                    Some("text") => texts.push(block.text.unwrap_or_default().0),
                    Some("tool_use") => {
                        let input = block.input.unwrap_or(RawValue::NULL);
                        // for the file that is read; the text is joined below
                        entry.call(block.name.as_deref().unwrap_or_default(), input);
                        calls.push(
                            serde_json::from_str(input.get())
                                .unwrap_or(Strings::default())
                                .0,
                        );
                    }
                    Some("tool_result") => results.push(block.content.unwrap_or_default().0),
                    _ => {}
                }
            }
            entry.text = texts.join("\n");
            entry.calls = calls.join("\n");
            entry.results = results.join("\n");
        }
    }
    let ours = role == Role::Others && !line.is_meta.0 && !entry.is_summary;
    if ours && entry.results.is_empty() {
        entry.directive = directive(&entry.text);
    }
    Some(entry)
}

/// Half a character, as a program leaves it that cuts a text in the middle of one, is no reason to lose the line: it
/// becomes the character that stands for a broken one.
fn mended(line: &str) -> Cow<'_, str> {
    let bytes = line.as_bytes();
    let half = |at: usize| -> Option<u16> {
        let digits = line.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(next) = memchr::memchr(b'\\', &bytes[at..]) {
        at += next;
        at += match half(at) {
            Some(0xd800..=0xdbff) if matches!(half(at + 6), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => {
                out.push_str(&line[copied..at]);
                out.push_str("\\ufffd");
                copied = at + 6;
                6
            }
            Some(_) => 6,
            None => 2,
        };
        if at >= bytes.len() {
            break;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(line);
    }
    out.push_str(&line[copied..]);
    Cow::Owned(out)
}

/// What Python's `\s` and `strip` take for white space.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

/// What a person's text asks for, without what programs put around it.
fn directive(text: &str) -> Option<String> {
    const OPEN: &str = "<system-reminder>";
    const CLOSE: &str = "</system-reminder>";
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN)
        && let Some((_, after)) = after.split_once(CLOSE)
    {
        kept.push_str(before);
        rest = after;
    }
    kept.push_str(rest);
    let text = kept.trim_matches(is_space);
    let by_program = [
        "<command",
        "<local-command",
        "<bash-",
        "[Request interrupted",
        "Caveat:",
    ];
    if text.is_empty() || by_program.iter().any(|start| text.starts_with(start)) {
        return None;
    }
    Some(text.chars().take(DIRECTIVE).collect())
}
