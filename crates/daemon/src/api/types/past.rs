//! What is written down of a session: its history, its ledger, the archive of its terminal.

use serde::{Deserialize, Serialize};

/// A line of a session's history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventView {
    pub seq: i64,
    pub at: String,
    pub session: String,
    pub generation: u32,
    pub turn: u64,
    pub kind: String,
    pub text: String,
}

/// What `GET /sessions/{s}/ledger` tells.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LedgerView {
    pub session: String,
    pub name: String,
    pub generation: u32,
    pub conversation_id: Option<String>,
    pub transcript_path: String,
    /// When the last thing it knows of happened, as the transcript says.
    pub last_at: Option<String>,
    /// When it was last written down.
    pub at: String,
    /// How the work began, in one line.
    pub goal: Option<String>,
    /// Files that were last changed, or read.
    pub files: Vec<String>,
    /// What failed last and was not seen to work since.
    pub failing: Option<String>,
    /// The document; empty if only the lines above were asked for.
    pub text: String,
}

/// What `GET /sessions/{s}/archive/about` tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveView {
    /// Where the text lies.
    pub folder: String,
    /// The files that can be searched: text, and the terminal's own bytes.
    pub text: String,
    pub raw: String,
    pub lines: u64,
    /// How many bytes of the log had to be rendered for this answer.
    pub rendered: u64,
    pub generations: Vec<GenerationView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenerationView {
    pub generation: u32,
    pub at: Option<String>,
}

/// A line that was found, or one near it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundView {
    pub line: u64,
    pub generation: u32,
    pub at: Option<String>,
    #[serde(rename = "match")]
    pub matches: bool,
    pub text: String,
}
