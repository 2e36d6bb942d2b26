//! Whether a text survives being pasted into an agent's composer.

/// What would become of a text that is pasted and submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PasteFit {
    /// It arrives byte for byte, if these are pasted one after the other (nearly always just the
    /// text).
    Exact { pastes: Vec<String> },
    /// It arrives with white space changed: `arrives` is what the model will get.
    Changed {
        pastes: Vec<String>,
        arrives: String,
    },
    /// It would be taken for a command of the agent: another way has to be used.
    Command,
    /// Nothing would be submitted.
    Empty,
}
