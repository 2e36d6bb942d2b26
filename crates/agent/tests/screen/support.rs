//! A terminal with an agent in it.

use std::path::PathBuf;
use std::time::Duration;

use sm_testkit::model::{ScriptedModel, When};
use sm_testkit::tmux::Tmux;
use sm_testkit::wait_until;

/// Long enough for a machine with much else to do; nothing waits for it to pass.
pub const DEADLINE: Duration = Duration::from_secs(60);

pub const DOCUMENT: &str = "## Objective\nBuild the frobnicator.\n\n## Constraints and preferences\nNone.\n\n## Progress\nDone: hello. Not started: all else.\n\n## Decisions\nUse Rust.\n\n## Technical state\n/repo/src/main.rs\n\n## Next actions\n1. Frobnicate.";

/// In the request for a document, and in nothing a person says here.
pub const ASKS_FOR_DOCUMENT: &str = "Write a handoff document now";

pub struct Person {
    pub tmux: Tmux,
    pub model: ScriptedModel,
    pub home: tempfile::TempDir,
}

impl Person {
    pub fn new(more: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let model = ScriptedModel::start().unwrap();
        std::fs::create_dir(home.path().join("repo")).unwrap();
        let config = format!(
            "model = \"fake/fake-1\"\n[providers.fake]\napi = \"anthropic-messages\"\nbase_url = \"{}\"\nkey = \"sk-test\"\n{more}",
            model.url()
        );
        std::fs::write(home.path().join("agent.toml"), config).unwrap();
        model.control(|c| c.reply = Some(DOCUMENT.to_owned()));
        let tmux = Tmux::new().unwrap();
        Self { tmux, model, home }
    }

    /// At 80x24, waiting until it can be typed into.
    pub fn sits_down(more: &str) -> Self {
        let person = Self::new(more);
        person.starts((80, 24), &[], &[]);
        person.sees("fake/fake-1");
        person
    }

    pub fn repo(&self) -> PathBuf {
        self.home.path().join("repo")
    }

    pub fn starts(&self, size: (u16, u16), env: &[(&str, &str)], args: &[&str]) {
        // A shell after it shows how the terminal was left.
        let agent = env!("CARGO_BIN_EXE_sm-agent");
        let script = format!(
            "PS1='shell$ '; '{agent}' agent {}; echo \"left with $?\"; exec sh",
            args.join(" ")
        );
        self.runs(size, env, &["sh", "-c", &script]);
    }

    /// With a shell around it that has job control.
    pub fn starts_in_a_shell(&self) {
        let shell = ["bash", "--norc", "--noprofile", "-i"];
        self.runs((80, 24), &[("PS1", "shell$ ")], &shell);
        self.sees("shell$");
        self.types(&format!("'{}' agent", env!("CARGO_BIN_EXE_sm-agent")));
        self.presses("Enter");
    }

    fn runs(&self, size: (u16, u16), env: &[(&str, &str)], argv: &[&str]) {
        let home = self.home.path().to_str().unwrap().to_owned();
        let path = std::env::var("PATH").unwrap();
        let usual = [
            ("HOME", home.as_str()),
            ("SM_HOME", home.as_str()),
            ("PATH", path.as_str()),
            ("LANG", "C.UTF-8"),
        ];
        let all: Vec<(String, String)> = usual
            .into_iter()
            .filter(|(name, _)| !env.iter().any(|(other, _)| other == name))
            .chain(env.iter().copied())
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        self.tmux
            .start("t", size, &self.repo(), &all, argv)
            .unwrap();
    }

    pub fn screen(&self) -> String {
        self.tmux.screen("t").unwrap()
    }

    /// Scrollback and screen, wrapped lines rejoined.
    pub fn all(&self) -> String {
        let args = ["capture-pane", "-p", "-J", "-S", "-", "-t", "=t:"];
        let text = self.tmux.call(&args).unwrap();
        text.lines()
            .map(|line| format!("{}\n", line.trim_end()))
            .collect()
    }

    /// Waits for a text on the screen.
    pub fn sees(&self, text: &str) -> String {
        let found = wait_until(DEADLINE, || {
            Some(self.screen()).filter(|s| s.contains(text))
        });
        found.unwrap_or_else(|| panic!("{text:?} never came:\n{}", self.all()))
    }

    /// Waits until a text is not on the screen.
    pub fn sees_no(&self, text: &str) {
        let gone = wait_until(DEADLINE, || (!self.screen().contains(text)).then_some(()));
        gone.unwrap_or_else(|| panic!("{text:?} stayed:\n{}", self.screen()));
    }

    pub fn types(&self, text: &str) {
        self.tmux.type_text("t", text).unwrap();
    }

    pub fn presses(&self, key: &str) {
        self.tmux.key("t", key).unwrap();
    }

    /// Types a line and waits until it stands in the editor before it is sent.
    pub fn says(&self, text: &str) {
        self.types(text);
        self.sees(text);
        self.presses("Enter");
    }

    /// Waits for a line that begins with a text: an answer, not the prompt that asks for it.
    pub fn reads(&self, text: &str) {
        let found = wait_until(DEADLINE, || {
            self.screen()
                .lines()
                .any(|line| line.starts_with(text))
                .then_some(())
        });
        found.unwrap_or_else(|| panic!("no line {text:?}:\n{}", self.all()));
    }

    /// A prompt and its whole answer.
    pub fn talks(&self, prompt: &str, answer: &str) {
        self.says(prompt);
        self.reads(answer);
        self.sees_no("Working");
    }

    /// Allows with a key what is asked about, once the question is open.
    pub fn allows(&self, what: &str) {
        let open = wait_until(DEADLINE, || {
            let screen = self.screen();
            let (_, question) = screen.rsplit_once("Allow to ")?;
            (question.contains(what) && question.contains("y yes · n no · a always")).then_some(())
        });
        open.unwrap_or_else(|| panic!("{what:?} was not asked about:\n{}", self.all()));
        self.presses("y");
    }

    pub fn when(&self, has: &str, act: &str) {
        let (has, act) = (has.to_owned(), act.to_owned());
        self.model.control(|c| c.when.push(When { has, act }));
    }

    pub fn resizes(&self, columns: u16, rows: u16) {
        let (x, y) = (columns.to_string(), rows.to_string());
        self.tmux
            .call(&["resize-window", "-t", "=t:", "-x", &x, "-y", &y])
            .unwrap();
    }

    /// The session files.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.home.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ext| ext == "jsonl") {
                    found.push(path);
                }
            }
        }
        found.sort();
        found
    }

    /// How many requests a model has had.
    pub fn asked(&self) -> usize {
        let requests = self.model.requests();
        requests
            .iter()
            .filter(|request| request.method == "POST")
            .count()
    }
}
