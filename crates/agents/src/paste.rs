//! Whether a text survives being pasted into an agent's composer.

/// What would become of a text that is pasted and submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PasteFit {
    /// It arrives byte for byte. `paste` is what has to be pasted for that (nearly always the text).
    Exact { paste: String },
    /// It arrives, changed in ways that do not matter to most readers; the text that will arrive.
    Changed { paste: String, arrives: String },
    /// It would be taken for a command of the agent: another way has to be used.
    Command,
    /// Nothing would be submitted.
    Empty,
}
