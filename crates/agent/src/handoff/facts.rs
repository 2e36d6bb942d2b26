//! What the session's ledger knows and the document does not say.
//!
//! Found mechanically: files that were changed, tests that fail, things still to do, what the
//! person said. Pure but for [`ledger_of`], which reads the session's file.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use sm_client::files;
use sm_ledger::{At, Dialect, Ledger, Record, whole};

use crate::tools::{Todo, TodoStatus};

/// Where the facts stand in the document.
pub const HEADING: &str = "## Facts from the session's record";
const LONGEST: usize = 400;
/// So many characters of a text are compared with the document.
const JUDGED: usize = 2_000;

/// Reads the session's file; what cannot be read is not known.
pub fn ledger_of(path: &Path) -> Ledger {
    let mut ledger = Ledger::default();
    if let Ok(mut file) = files::open(path) {
        let more = |buffer: &mut [u8]| file.read(buffer);
        let tell = &mut |at: At, record: Record<'_>| ledger.add(at, &record);
        // What was read before it failed counts.
        let _ = whole(Some(Dialect::Native), u64::MAX, more, tell);
    }
    ledger
}

/// The section, in at most `budget` characters; empty if the document says it all.
pub fn facts(ledger: &Ledger, todos: &[Todo], document: &str, budget: usize) -> String {
    let known = document.to_lowercase();
    let mut said = Said::by(&known);
    let mut lines: Vec<String> = Vec::new();
    // What matters most first: the budget cuts at the end.
    for directive in ledger.directives().filter(|d| !d.is_notice()) {
        if !said.holds(&directive.text) {
            lines.push(format!("- The person said: {}", short(&directive.text)));
        }
    }
    let open = todos.iter().filter(|todo| todo.status != TodoStatus::Done);
    for todo in open.filter(|todo| !said.holds(&todo.text)) {
        let state = match todo.status {
            TodoStatus::InProgress => "under way",
            TodoStatus::Pending | TodoStatus::Done => "to do",
        };
        lines.push(format!("- On the list, {state}: {}", short(&todo.text)));
    }
    if let Some(tests) = ledger.work.tests.as_ref().filter(|tests| !tests.passed) {
        let failing: Vec<&str> = tests
            .failing
            .iter()
            .map(String::as_str)
            .filter(|name| !known.contains(&name.to_lowercase()))
            .collect();
        let told = known.contains(&tests.command.to_lowercase());
        if !failing.is_empty() || !told {
            let names = match failing.is_empty() {
                true => String::new(),
                false => format!(": {}", failing.join(", ")),
            };
            lines.push(format!(
                "- Tests failed in the last run of `{}`{names}",
                short(&tests.command)
            ));
        }
    }
    let changed = ledger
        .files
        .all
        .iter()
        .filter(|(_, f)| f.changed > 0 || f.created);
    for (path, file) in changed {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        if !known.contains(&name) {
            let how = if file.created { "Created" } else { "Changed" };
            lines.push(format!("- {how}: {}", short(path)));
        }
    }
    section(&lines, budget)
}

fn section(lines: &[String], budget: usize) -> String {
    let mut text = format!(
        "{HEADING}\n\nNot written by the model: found in the session's record, not mentioned above.\n\n"
    );
    let mut used = text.chars().count();
    let mut taken = 0;
    for line in lines {
        let size = line.chars().count() + 1;
        // Room for saying that there is more.
        if used + size + 40 > budget {
            break;
        }
        used += size;
        taken += 1;
        text.push_str(line);
        text.push('\n');
    }
    if taken == 0 {
        return String::new();
    }
    if taken < lines.len() {
        text.push_str(&format!("- … and {} more\n", lines.len() - taken));
    }
    text
}

/// What stands in a document. People repeat their words: each is looked for once.
struct Said<'a> {
    document: &'a str,
    words: HashMap<String, bool>,
}

impl<'a> Said<'a> {
    fn by(document: &'a str) -> Self {
        Self {
            document,
            words: HashMap::new(),
        }
    }

    /// Most words of the text stand there; of a long one those at its beginning count, of which more
    /// is never told anyway.
    fn holds(&mut self, text: &str) -> bool {
        let end = text.char_indices().nth(JUDGED).map(|(at, _)| at);
        let text = text[..end.unwrap_or(text.len())].to_lowercase();
        let text = text.trim();
        if self.document.contains(text) {
            return true;
        }
        let (mut all, mut said) = (0, 0);
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        for word in words.filter(|word| word.chars().nth(3).is_some()) {
            all += 1;
            said += usize::from(self.knows(word));
        }
        all >= 3 && said * 10 >= all * 7
    }

    fn knows(&mut self, word: &str) -> bool {
        if let Some(known) = self.words.get(word) {
            return *known;
        }
        let known = self.document.contains(word);
        self.words.insert(word.to_owned(), known);
        known
    }
}

fn short(text: &str) -> String {
    let mut short = String::new();
    for word in text.split_whitespace() {
        if short.len() > LONGEST * 4 {
            break; // no character has more bytes
        }
        if !short.is_empty() {
            short.push(' ');
        }
        short.push_str(word);
    }
    match short.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &short[..at]),
        None => short,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = r#"{"type":"session","version":3,"id":"x","timestamp":"2026-11-15T10:00:00.000Z","cwd":"/repo"}
{"type":"message","id":"1","parentId":null,"timestamp":"2026-11-15T10:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"Fix the parser, and never touch generated files"}],"timestamp":0}}
{"type":"message","id":"2","parentId":"1","timestamp":"2026-11-15T10:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"a","name":"edit","arguments":{"path":"src/parser.rs"}},{"type":"toolCall","id":"b","name":"bash","arguments":{"command":"cargo test"}}],"stopReason":"toolUse","timestamp":0}}
{"type":"message","id":"3","parentId":"2","timestamp":"2026-11-15T10:00:03.000Z","message":{"role":"toolResult","toolCallId":"a","toolName":"edit","content":[{"type":"text","text":"done"}],"isError":false,"timestamp":0}}
{"type":"message","id":"4","parentId":"3","timestamp":"2026-11-15T10:00:04.000Z","message":{"role":"toolResult","toolCallId":"b","toolName":"bash","content":[{"type":"text","text":"test parse::empty ... FAILED\n\ntest result: FAILED. 1 passed; 1 failed"}],"isError":true,"timestamp":0}}
"#;

    fn ledger() -> Ledger {
        let temp = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(temp.path(), SESSION).unwrap();
        ledger_of(temp.path())
    }

    fn todo(text: &str, status: TodoStatus) -> Todo {
        Todo {
            text: text.into(),
            status,
        }
    }

    #[test]
    fn a_pipe_in_the_place_of_the_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert_eq!(ledger_of(&pipe).line, 0, "nothing is known");
    }

    #[test]
    fn what_the_document_does_not_say_is_added() {
        let todos = [
            todo("write the changelog", TodoStatus::Pending),
            todo("read the parser", TodoStatus::Done),
        ];
        let text = facts(&ledger(), &todos, "# Objective\nWork.", 4_000);
        for line in [
            "- The person said: Fix the parser, and never touch generated files",
            "- On the list, to do: write the changelog",
            "cargo test",
            "- Changed: src/parser.rs",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(!text.contains("read the parser"));
        assert!(text.starts_with(HEADING));
    }

    #[test]
    fn what_it_says_is_not_repeated() {
        let document = "Fix the parser and never touch generated files. src/parser.rs. `cargo test` fails: parse::empty. Write the changelog.";
        let todos = [todo("write the changelog", TodoStatus::Pending)];
        assert_eq!(facts(&ledger(), &todos, document, 4_000), "");
    }

    #[test]
    fn a_text_is_said_if_most_of_its_words_are() {
        let long = format!("{} unsaid", "parser generated files ".repeat(200));
        for (text, expected) in [
            ("The Parser; generated FILES!", true),
            ("parser generated files unknown", true),
            ("parser generated unknown words", false),
            ("parser", true),
            ("a new word", false),
            (long.as_str(), true),
        ] {
            let document = "the parser, and never touch generated files";
            let mut said = Said::by(document);
            assert_eq!(said.holds(text), expected, "{text}");
            assert_eq!(said.holds(text), expected, "the second time: {text}");
        }
        assert_eq!(short(&"ä ".repeat(1_000)).chars().count(), LONGEST + 1);
    }

    #[test]
    fn it_keeps_to_its_budget() {
        let todos: Vec<Todo> = (0..50)
            .map(|n| todo(&format!("step number {n} of many"), TodoStatus::Pending))
            .collect();
        for budget in [0, 100, 300, 1_000] {
            let text = facts(&ledger(), &todos, "", budget);
            assert!(text.chars().count() <= budget, "{budget}: {text}");
        }
        assert!(facts(&ledger(), &todos, "", 1_000).contains("more\n"));
    }

    #[test]
    fn a_file_that_is_not_there_is_not_known() {
        let ledger = ledger_of(Path::new("/nothing/here"));
        assert_eq!(facts(&ledger, &[], "", 1_000), "");
    }
}
