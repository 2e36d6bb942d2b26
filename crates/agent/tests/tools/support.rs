//! A working directory and calls in it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sm_agent::tools::{ToolContext, ToolOutcome, run};
use sm_llm::{Block, ToolCall};
use tokio_util::sync::CancellationToken;

pub struct Place {
    folder: tempfile::TempDir,
    pub cwd: PathBuf,
    pub cancel: CancellationToken,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let cwd = root.join("work");
        fs::create_dir(&cwd).unwrap();
        Self {
            folder,
            cwd,
            cancel: CancellationToken::new(),
        }
    }

    pub fn with(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.cwd.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub fn outputs(&self) -> PathBuf {
        self.folder.path().join("outputs")
    }

    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.cwd.join(path)).unwrap()
    }

    /// Runs a call; what it puts out goes to `on_output`.
    pub async fn watch(
        &self,
        name: &str,
        arguments: Value,
        on_output: &mut (dyn FnMut(&str) + Send),
    ) -> ToolOutcome {
        let call = call(name, arguments);
        let outputs = self.outputs();
        let mut context = ToolContext {
            own: None,
            cwd: &self.cwd,
            outputs: &outputs,
            cancel: &self.cancel,
            on_output,
        };
        run(&call, &mut context).await
    }

    pub async fn run(&self, name: &str, arguments: Value) -> ToolOutcome {
        self.watch(name, arguments, &mut |_| {}).await
    }

    /// What a call that works tells the model.
    pub async fn ok(&self, name: &str, arguments: Value) -> String {
        let outcome = self.run(name, arguments).await;
        assert!(!outcome.is_error, "{outcome:?}");
        said(&outcome)
    }

    /// What one that fails tells it.
    pub async fn fails(&self, name: &str, arguments: Value) -> String {
        let outcome = self.run(name, arguments).await;
        assert!(outcome.is_error, "{outcome:?}");
        said(&outcome)
    }
}

pub fn call(name: &str, arguments: Value) -> ToolCall {
    let Value::Object(arguments) = arguments else {
        panic!("an object");
    };
    ToolCall {
        id: "1".into(),
        name: name.into(),
        arguments,
    }
}

pub fn said(outcome: &ToolOutcome) -> String {
    outcome
        .content
        .iter()
        .filter_map(|block| match block {
            Block::Text { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

pub fn fifo(path: &Path) {
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
}
