//! What runs beside the driver: requests, tools, documents. Each ends by itself or when it is
//! cancelled, and always says that it has ended.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sm_agents::OwnTools;
use sm_ledger::redact::redact;
use sm_llm::{
    Assistant, Client, Delta, Failure, Limits, Message, Model, Request, Thinking, Tool, ToolCall,
    ToolChoice,
};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::handoff::{self, Draft, Order, Prefix, Progress};
use crate::models::ModelError;
use crate::tools::{self, Todo, ToolContext, ToolOutcome};
use crate::turn::{Ticket, Unanswered, Unwritten};

/// How long a tool may take to end after it was cancelled.
const PATIENCE: Duration = Duration::from_secs(5);

/// What comes back to the driver.
pub(super) enum Done {
    Delta(Ticket, Delta),
    Answer(Ticket, Box<Result<Assistant, Failure>>),
    Output { call_id: String, text: String },
    Tool(ToolCall, ToolOutcome),
    Shell(String, ToolOutcome),
    Progress(Ticket, Progress),
    Document(Ticket, Box<Result<Written, Unwritten>>),
    Model(Box<Result<Model, ModelError>>),
}

/// A finished document and what it cost.
pub(super) struct Written {
    pub document: String,
    pub cost: f64,
    /// What the person has to know of it: that it is not the model's.
    pub note: Option<String>,
}

pub(super) type Results = UnboundedSender<Done>;

/// What a model is asked with, held for as long as the request takes.
#[derive(Clone)]
pub(super) struct Question {
    pub client: Arc<Client>,
    pub model: Model,
    pub system: Arc<str>,
    pub tools: Arc<[Tool]>,
    pub messages: Arc<Vec<Message>>,
    pub thinking: Thinking,
    pub max_output: u64,
    pub session: String,
    pub tokens: Option<u64>,
    pub limits: Limits,
}

impl Question {
    pub fn ask(self, ticket: Ticket, cancel: CancellationToken, results: Results) {
        tokio::spawn(async move {
            let request = Request {
                system: &self.system,
                messages: &self.messages,
                tools: &self.tools,
                tool_choice: ToolChoice::Auto,
                thinking: self.thinking,
                max_output: self.max_output,
                session: &self.session,
            };
            let tell = results.clone();
            let mut on = move |delta| {
                let _ = tell.send(Done::Delta(ticket, delta));
            };
            let answer = self
                .client
                .ask(&self.model, &request, self.limits, &cancel, &mut on)
                .await;
            let _ = results.send(Done::Answer(ticket, Box::new(answer)));
        });
    }

    pub fn generate(
        self,
        ticket: Ticket,
        order: Order,
        record: Record,
        cancel: CancellationToken,
        results: Results,
    ) {
        tokio::spawn(async move {
            // The ledger is read while the model writes, but not before it has been asked.
            let path = record.path.clone();
            let ledger = async move {
                let read = move || path.map(|path| handoff::ledger_of(&path));
                let ledger = tokio::task::spawn_blocking(read).await;
                ledger.ok().flatten().unwrap_or_default()
            };
            let prefix = Prefix {
                model: &self.model,
                system: &self.system,
                tools: &self.tools,
                messages: &self.messages,
                thinking: self.thinking,
                max_output: self.max_output,
                session: &self.session,
                tokens: self.tokens,
            };
            let tell = results.clone();
            let mut on = move |progress| {
                let _ = tell.send(Done::Progress(ticket, progress));
            };
            let draft = handoff::generate(&self.client, prefix, &order, &cancel, &mut on);
            let written = draft_and(draft, ledger)
                .await
                .map(|(draft, ledger)| finish(&draft, &ledger, &record));
            let _ = results.send(Done::Document(ticket, Box::new(written)));
        });
    }
}

/// Both, begun in this order; a draft that fails is not held up.
async fn draft_and<T>(
    draft: impl Future<Output = Result<Draft, Unwritten>>,
    ledger: impl Future<Output = T>,
) -> Result<(Draft, T), Unwritten> {
    let ledger = async { Ok(ledger.await) };
    tokio::try_join!(draft, ledger)
}

/// What the session's own record has to add.
pub(super) struct Record {
    pub path: Option<PathBuf>,
    pub todos: Vec<Todo>,
    pub budget: usize,
}

/// Characters of the ledger's document, where the model's is of no use.
const LEDGER_DOCUMENT: usize = 9_500;

/// The document as it is handed over: what was forgotten added, secrets taken out.
fn finish(draft: &Draft, ledger: &sm_ledger::Ledger, record: &Record) -> Written {
    let mut document = draft.document();
    // a document that nobody could go on from must not take the place of this context
    let unfit = handoff::unfit(&document);
    let mut note = None;
    if !unfit.is_empty() && ledger.steps > 0 {
        let frame = sm_ledger::Frame {
            rest: record.path.as_ref().map(|path| path.display().to_string()),
            ..sm_ledger::Frame::default()
        };
        let unfit = unfit.join("; ");
        note = Some(format!(
            "The model's document was not fit to go on from ({unfit}): sm's own, made from the record, takes its place."
        ));
        document = format!(
            "> The model's document was not fit to go on from ({unfit}); this one is made by sm from the record.\n\n{}",
            sm_ledger::document(ledger, &frame, LEDGER_DOCUMENT)
        );
    }
    let facts = handoff::facts(ledger, &record.todos, &document, record.budget);
    if !facts.is_empty() {
        document = format!("{}\n\n{facts}", document.trim_end());
    }
    Written {
        document: redact(&document).text.into_owned(),
        cost: draft.usage.cost.total,
        note: note.map(|note| redact(&note).text.into_owned()),
    }
}

/// Where calls of tools run.
#[derive(Clone)]
pub(super) struct Place {
    pub cwd: PathBuf,
    pub outputs: PathBuf,
    pub own: Option<OwnTools>,
}

pub(super) fn tool(place: Place, call: ToolCall, cancel: CancellationToken, results: Results) {
    tokio::spawn(async move {
        let outcome = run(place, call.clone(), cancel, results.clone()).await;
        let _ = results.send(Done::Tool(call, outcome));
    });
}

/// A command of the person's own.
pub(super) fn shell(place: Place, command: String, cancel: CancellationToken, results: Results) {
    tokio::spawn(async move {
        let mut arguments = serde_json::Map::new();
        arguments.insert("command".into(), command.clone().into());
        let call = ToolCall {
            id: "shell".into(),
            name: "bash".into(),
            arguments,
        };
        let outcome = run(place, call, cancel, results.clone()).await;
        let _ = results.send(Done::Shell(command, outcome));
    });
}

async fn run(
    place: Place,
    call: ToolCall,
    cancel: CancellationToken,
    results: Results,
) -> ToolOutcome {
    let over = cancel.clone();
    // A task of its own: a fault in a tool must not leave its call without a result.
    let running = tokio::spawn(async move {
        let call_id = call.id.clone();
        let mut on_output = move |text: &str| {
            let _ = results.send(Done::Output {
                call_id: call_id.clone(),
                text: text.to_owned(),
            });
        };
        let mut context = ToolContext {
            cwd: &place.cwd,
            outputs: &place.outputs,
            own: place.own.as_ref(),
            cancel: &cancel,
            on_output: &mut on_output,
        };
        tools::run(&call, &mut context).await
    });
    let patience = async {
        over.cancelled().await;
        tokio::time::sleep(PATIENCE).await;
    };
    tokio::select! {
        done = running => done.unwrap_or_else(|_| ToolOutcome::failed("the tool itself failed; this is a fault of sm's")),
        () = patience => ToolOutcome::cancelled(),
    }
}

/// Why there is no answer, in the machine's words, and what there is of it.
pub(super) fn unanswered(failure: Failure) -> (Unanswered, Option<Assistant>) {
    let partial = failure.partial().cloned();
    let why = match &failure {
        Failure::Cancelled { .. } => Unanswered::Cancelled,
        Failure::ContextTooLong { .. } => Unanswered::TooLong(failure.to_string()),
        Failure::KeyMissing { .. }
        | Failure::Unauthorized { .. }
        | Failure::ModelUnknown { .. }
        | Failure::RateLimited { .. }
        | Failure::QuotaExhausted { .. }
        | Failure::ToolChoiceUnsupported { .. }
        | Failure::Overloaded { .. }
        | Failure::Status { .. }
        | Failure::Transport { .. }
        | Failure::Deadline { .. }
        | Failure::Broken { .. }
        | Failure::Setup(_) => Unanswered::Failed(failure.to_string()),
    };
    (why, partial)
}
