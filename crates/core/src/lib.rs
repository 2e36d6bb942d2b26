//! The state machines of `sm`, pure: events and time come in, effects go out.
//!
//! Nothing here touches a file, a clock, a process, the environment or the network, and nothing
//! here knows a particular agent program: `agents` translates, [`Profile`] describes.

pub mod carried;
pub mod comparable;
pub mod confirm_key;
pub mod effect;
pub mod event;
mod framing;
pub mod handoff;
pub mod ids;
pub mod limit;
pub mod lines;
pub mod message;
pub mod monitor;
pub mod nearest;
pub mod pasted;
pub mod pins;
pub mod profile;
pub mod session;
pub mod shown;
pub mod signal;
pub mod template;
pub mod words;

pub use effect::{Answer, Effect, Entry, EntryKind, Handing, Key, LaunchPlan, Notice, NoticeKind};
pub use event::{Event, KeyOutcome};
pub use handoff::{
    Artifact, ArtifactKind, Author, Carrier, Course, Failure, Guards, Handoff, HandoffState,
    NewHandoff, PersonWait, Prepared, Refusal, Trigger,
};
pub use ids::{
    ConversationId, EventId, Generation, HandoffId, IdError, MessageId, Process, RequestId,
    SessionId, SessionName, Timestamp, TurnId, WaiterId,
};
pub use limit::{
    LimitKind, LimitPhase, LimitPolicy, Limited, ProviderLimit, ResetSource, UsageWindow,
};
pub use message::{
    Hold, Message, MessageMeta, MessageState, Mode, NewMessage, Proof, Purpose, Sender, Way,
};
pub use monitor::{Gauge, Level, Monitor, OnCompaction, Taken, Texts, Threshold};
pub use profile::{AgentKind, Clear, ClearProof, Input, PasteFit, Profile, StopAnswer};
pub use session::{
    Flight, Host, Hosted, HostedHandoff, MessageChange, NewSession, Opening, Outcome, Persist,
    Phase, Record, Session, State, ToolCalls,
};
