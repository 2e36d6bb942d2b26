//! What every context of a session is told.

use serde::{Deserialize, Serialize};

/// A constraint to pin, or a pin to take back.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PinBody {
    pub text: String,
}

/// What every context of a session is told.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PinsView {
    pub session: String,
    pub name: String,
    /// Where the project's pins are, or would be.
    pub file: String,
    /// The session's own first.
    pub pins: Vec<PinView>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PinView {
    pub text: String,
    /// `session` or `project`.
    pub of: String,
}
