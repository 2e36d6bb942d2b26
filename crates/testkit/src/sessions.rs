//! Session files of format version 3 of any size, for benchmarks and tests: made up, the same for
//! the same size, and shaped like real ones (short questions, answers with thoughts and calls, tool
//! results from a line to a hundred kilobytes).

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

/// How large a session is, and how much of it still counts.
#[derive(Debug, Clone, Copy)]
pub struct Synthetic<'a> {
    /// As its header has it.
    pub cwd: &'a Path,
    /// At least; the file ends with the turn that reaches it.
    pub bytes: u64,
    pub shape: Shape,
}

/// What of a session is sent to the model when it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Every turn.
    Straight,
    /// The second half: every other turn of it is on a branch that was left.
    Branched,
    /// The last turn: everything before was compacted.
    Compacted,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    pub bytes: u64,
    /// Lines without the header.
    pub entries: usize,
    /// `message` entries that hang together with the last one.
    pub message_entries: usize,
    /// Messages that the model is to be sent.
    pub messages: usize,
}

/// Messages of one turn: a question, an answer with a call, its result, an answer.
const TURN: usize = 4;
const TIME: &str = "2026-11-15T06:33:13.963Z";

impl Synthetic<'_> {
    pub fn write(&self, path: &Path) -> io::Result<Written> {
        let mut out = Out {
            file: BufWriter::new(File::create(path)?),
            bytes: 0,
            entries: 0,
            parent: Value::Null,
            random: 0x9e37_79b9_7f4a_7c15,
        };
        out.line(&json!({
            "type": "session", "version": 3, "id": "01a1dde8-f3eb-7743-a9e6-e9f288a8ab5f",
            "timestamp": TIME, "cwd": self.cwd,
        }))?;
        out.entry(json!({"type": "model_change", "provider": "fake", "modelId": "fake-1"}))?;
        out.entry(json!({"type": "thinking_level_change", "thinkingLevel": "medium"}))?;
        let mut turns = 0;
        let mut left = 0;
        while out.bytes < self.bytes {
            let before = out.parent.clone();
            out.turn(turns)?;
            turns += 1;
            if self.shape == Shape::Branched && turns % 2 == 1 && out.bytes < self.bytes {
                out.parent = before;
                left += 1;
            }
        }
        let mut messages = (turns - left) * TURN;
        let mut message_entries = messages;
        if self.shape == Shape::Compacted {
            out.entry(json!({
                "type": "compaction", "summary": "All of it.", "tokensBefore": 100_000,
                "firstKeptEntryId": "ffffffff",
            }))?;
            out.turn(turns)?;
            message_entries += TURN;
            messages = 1 + TURN;
        }
        out.file.flush()?;
        Ok(Written {
            bytes: out.bytes,
            entries: out.entries,
            message_entries,
            messages,
        })
    }
}

struct Out {
    file: BufWriter<File>,
    bytes: u64,
    entries: usize,
    parent: Value,
    random: u64,
}

impl Out {
    fn line(&mut self, value: &Value) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.bytes += line.len() as u64;
        self.file.write_all(&line)
    }

    /// Adds an entry after the last one.
    fn entry(&mut self, mut entry: Value) -> io::Result<()> {
        let id = json!(format!("{:08x}", self.entries));
        entry["id"] = id.clone();
        entry["parentId"] = self.parent.clone();
        entry["timestamp"] = json!(TIME);
        self.parent = id;
        self.entries += 1;
        self.line(&entry)
    }

    fn message(&mut self, message: Value) -> io::Result<()> {
        self.entry(json!({"type": "message", "message": message}))
    }

    fn turn(&mut self, number: usize) -> io::Result<()> {
        let call = format!("toolu_{number:08}");
        let size = match self.below(20) {
            0 => 100_000,
            1..=4 => 12_000,
            5..=11 => 2_000,
            _ => 80,
        };
        let (thought, output, answer) = (self.text(400), self.text(size), self.text(900));
        self.message(json!({
            "role": "user", "timestamp": 1_794_724_447_153_u64,
            "content": [{"type": "text", "text": format!("Question {number}: what does it do?")}],
        }))?;
        self.answer(
            json!([
                {"type": "thinking", "thinking": thought, "thinkingSignature": "c2lnbmF0dXJl"},
                {"type": "toolCall", "id": call, "name": "bash", "arguments": {"command": "cargo test"}},
            ]),
            "toolUse",
        )?;
        self.message(json!({
            "role": "toolResult", "toolCallId": call, "toolName": "bash", "isError": false,
            "content": [{"type": "text", "text": output}],
            "details": {"exitCode": 0}, "timestamp": 1_794_724_448_204_u64,
        }))?;
        self.answer(json!([{"type": "text", "text": answer}]), "stop")
    }

    fn answer(&mut self, content: Value, stop: &str) -> io::Result<()> {
        self.message(json!({
            "role": "assistant", "content": content, "api": "anthropic-messages",
            "provider": "fake", "model": "fake-1", "stopReason": stop,
            "usage": {
                "input": 1200, "output": 50, "cacheRead": 9000, "cacheWrite": 300,
                "totalTokens": 10_550,
                "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
            },
            "timestamp": 1_794_724_448_236_u64,
        }))
    }

    /// Words and lines as a compiler prints them, quotes and tabs among them.
    fn text(&mut self, size: usize) -> String {
        const WORDS: [&str; 12] = [
            "error",
            "src/main.rs:42",
            "\"quoted\"",
            "fn",
            "the",
            "test",
            "ok",
            "größer",
            "->",
            "\tat",
            "0x7f3a",
            "warning:",
        ];
        let mut text = String::with_capacity(size + 16);
        while text.len() < size {
            text.push_str(WORDS[self.below(WORDS.len() as u64)]);
            text.push(if self.below(9) == 0 { '\n' } else { ' ' });
        }
        text
    }

    fn below(&mut self, limit: u64) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        usize::try_from((self.random >> 11) % limit).unwrap_or(0)
    }
}
