//! The JSON of the API: a contract. A field is added, never renamed or removed.

mod context;
mod daemon;
mod handoff;
mod message;
mod past;
mod pins;
mod run;
mod session;

pub use context::{ContextReport, PointView, SampleView, ThresholdView, UsagePointView};
pub use daemon::{ErrorView, HealthView, SignInView, StatusView};
pub use handoff::{
    ArtifactView, CancelBody, CheckBody, CheckView, FindingView, GenerateBody, HandoffAnswer,
    HandoffBody, HandoffView, InContextView, StepView, TemplateView, When,
};
pub use message::{MessageView, ReplyView, SendBody, SenderView};
pub use past::{ArchiveView, EventView, FoundView, GenerationView, LedgerView};
pub use pins::{PinBody, PinView, PinsView};
pub use run::{EndBody, ProcessBody, RunBody};
pub use session::{
    AttachView, ContextView, FailedHandoffView, LimitView, NewSessionBody, OpenHandoffView,
    OutputView, PatchBody, QueueView, RestoreBody, RunView, SessionView, TmuxView, WaitingView,
};
