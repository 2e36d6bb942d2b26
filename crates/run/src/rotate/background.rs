//! What an agent has left running, by its own record, where its hooks do not tell: Codex's
//! terminals. Only reads.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use serde_json::Value;
use sm_ledger::{Dialect, Reader, Record, first_chars};

/// Of a record; what stands behind it is not looked at.
const MOST: u64 = 256 << 20;
const PIECE: usize = 1 << 20;
/// Characters of a command.
const LONGEST: usize = 200;
const RUNS: &str = "Process running with session ID ";

/// Which terminals are open.
#[derive(Debug, Default)]
struct Terminals {
    /// Calls without an answer: the command, or the terminal that was written to.
    calls: BTreeMap<String, Call>,
    open: BTreeMap<u64, String>,
}

#[derive(Debug)]
enum Call {
    Command(String),
    Terminal(u64),
}

impl Terminals {
    fn record(&mut self, record: Record<'_>) {
        match record {
            Record::Called { id, tool, input } => {
                let input: Value = serde_json::from_str(input.get()).unwrap_or_default();
                let number = |key: &str| input.get(key).and_then(Value::as_u64);
                let call = match (tool.as_ref(), input.get("cmd"), number("session_id")) {
                    ("exec_command", Some(Value::String(cmd)), _) => Call::Command(short(cmd)),
                    ("write_stdin", _, Some(terminal)) => Call::Terminal(terminal),
                    _ => return,
                };
                self.calls.insert(id.into_owned(), call);
            }
            Record::Returned { id, text, .. } => {
                let Some(call) = self.calls.remove(id.as_ref()) else {
                    return;
                };
                match (call, terminal(&text)) {
                    (Call::Command(command), Some(terminal)) => {
                        self.open.insert(terminal, command);
                    }
                    (Call::Terminal(_), Some(_)) | (Call::Command(_), None) => {}
                    // It ended, or is not there any more.
                    (Call::Terminal(terminal), None) => {
                        self.open.remove(&terminal);
                    }
                }
            }
            Record::Said { .. }
            | Record::Spoke { .. }
            | Record::Thought
            | Record::Used { .. }
            | Record::Compacted { .. }
            | Record::Interrupted
            | Record::Place { .. }
            | Record::Aside
            | Record::Other => {}
        }
    }
}

/// The terminal in which the call goes on, by what stands before its output.
fn terminal(text: &str) -> Option<u64> {
    let head = text.split("\nOutput:").next()?;
    let (_, number) = head.split_once(RUNS)?;
    let digits = number.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

fn short(command: &str) -> String {
    let flat = command.split_whitespace().collect::<Vec<_>>().join(" ");
    first_chars(&flat, LONGEST).to_owned()
}

/// The commands that run in terminals of the agent's, by its record.
pub fn terminals(record: &Path) -> Vec<String> {
    let mut found = Terminals::default();
    let mut reader = Reader::new(Dialect::Codex);
    let Ok(file) = sm_client::files::open(record) else {
        return Vec::new();
    };
    let mut file = file.take(MOST);
    let mut piece = vec![0; PIECE];
    while let Ok(read @ 1..) = file.read(&mut piece) {
        let bytes = piece.get(..read).unwrap_or_default();
        reader.feed(bytes, &mut |_, record| found.record(record));
    }
    found.open.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn line(payload: Value) -> String {
        json!({"timestamp": "2026-03-01T11:00:07.000Z", "type": "response_item", "payload": payload})
            .to_string()
            + "\n"
    }

    fn call(id: &str, tool: &str, arguments: Value) -> String {
        let arguments = arguments.to_string();
        line(json!({"type": "function_call", "name": tool, "arguments": arguments, "call_id": id}))
    }

    fn output(id: &str, output: &str) -> String {
        line(json!({"type": "function_call_output", "call_id": id, "output": output}))
    }

    #[test]
    fn what_runs_and_what_has_ended() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rollout.jsonl");
        assert!(terminals(&path).is_empty(), "not there");
        let runs = |n: u32| {
            format!("Chunk ID: a\nWall time: 0.2 s\nProcess running with session ID {n}\nOutput:\n")
        };
        let text = [
            call("1", "exec_command", json!({"cmd": "make  watch"})),
            output("1", &runs(7)),
            call("2", "exec_command", json!({"cmd": "npm start"})),
            output("2", &runs(8)),
            call("3", "exec_command", json!({"cmd": "ls"})),
            // What a program prints says nothing.
            output(
                "3",
                &format!("Process exited with code 0\nOutput:\n{RUNS}9\n"),
            ),
            call("4", "write_stdin", json!({"session_id": 8, "chars": ""})),
            output("4", &runs(8)),
            call(
                "5",
                "write_stdin",
                json!({"session_id": 7, "chars": "\u{3}"}),
            ),
            output("5", "Process exited with code 130\nOutput:\n"),
            call("6", "exec_command", json!({"cmd": "not answered"})),
            call("7", "exec_command", json!({"odd": 1})),
            output("unknown", &runs(10)),
            "{\n".to_owned(),
        ];
        std::fs::write(&path, text.concat()).unwrap();
        assert_eq!(terminals(&path), ["npm start"]);
    }
}
