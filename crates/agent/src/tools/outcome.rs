//! What a call came to.

use std::time::{Duration, Instant};

use serde_json::Value;
use sm_llm::Block;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio_util::sync::CancellationToken;

use super::ToolContext;
use super::output::{PAUSE, readable};
use super::todo::Todo;

/// For the model, and for the screen.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome {
    /// What the model is told.
    pub content: Vec<Block>,
    /// What the screen needs beside that.
    pub details: Option<Value>,
    pub is_error: bool,
    /// The list of things to do, where the call has changed it.
    pub todos: Option<Vec<Todo>>,
}

impl ToolOutcome {
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![Block::text(text)],
            details: None,
            is_error: false,
            todos: None,
        }
    }

    pub fn failed(text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::text(text)
        }
    }

    pub fn cancelled() -> Self {
        Self::failed("interrupted by the user before it was done")
    }

    pub(super) fn with(self, details: Value) -> Self {
        Self {
            details: Some(details),
            ..self
        }
    }
}

/// How long a cancelled call may take to say how far it got.
const GRACE: Duration = Duration::from_millis(300);

/// Runs what touches files off the threads that everything else runs on: a file system that hangs
/// holds up this call alone, and only until it is cancelled.
pub(super) async fn blocking(
    cancel: &CancellationToken,
    work: impl FnOnce() -> Result<ToolOutcome, String> + Send + 'static,
) -> Result<ToolOutcome, String> {
    let mut working = tokio::task::spawn_blocking(work);
    let done = tokio::select! {
        done = &mut working => done,
        () = cancel.cancelled() => match tokio::time::timeout(GRACE, working).await {
            Ok(done) => done,
            Err(_) => return Err(
                "interrupted by the user while the file system did not answer; whether it was done is not known".to_string(),
            ),
        },
    };
    done.unwrap_or_else(|_| Err("the tool itself failed; this is a fault of sm's".to_string()))
}

/// The same for work whose findings are shown as they come.
pub(super) async fn streaming(
    context: &mut ToolContext<'_>,
    work: impl FnOnce(Trickle) -> Result<ToolOutcome, String> + Send + 'static,
) -> Result<ToolOutcome, String> {
    let (tell, mut told) = mpsc::unbounded_channel();
    let working = blocking(context.cancel, move || work(Trickle::new(tell)));
    tokio::pin!(working);
    let done = loop {
        tokio::select! {
            biased;
            Some(text) = told.recv() => (context.on_output)(&text),
            done = &mut working => break done,
        }
    };
    while let Ok(text) = told.try_recv() {
        (context.on_output)(&text);
    }
    done
}

/// What has been found so far, for the screen: the first of it at once, then now and then.
pub(super) struct Trickle {
    tell: UnboundedSender<String>,
    /// How much of the text has been told, and when.
    told: usize,
    at: Option<Instant>,
}

impl Trickle {
    fn new(tell: UnboundedSender<String>) -> Self {
        Self {
            tell,
            told: 0,
            at: None,
        }
    }

    /// `text` is all that was found: whole lines, only ever more.
    pub(super) fn look(&mut self, text: &str) {
        let now = Instant::now();
        let due = self.at.is_none_or(|at| now.duration_since(at) >= PAUSE);
        let Some(new) = text.get(self.told..).filter(|new| due && !new.is_empty()) else {
            return;
        };
        let _ = self.tell.send(readable(new.as_bytes())); // nobody looks any more
        self.told = text.len();
        self.at = Some(now);
    }
}
