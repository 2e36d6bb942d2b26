//! The daemon itself: its health, signing in, what it refuses.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatusView {
    pub pid: u32,
    pub version: String,
    pub protocol: u32,
    pub socket: String,
    /// Where TCP is served; null if the port could not be had.
    pub address: Option<String>,
    pub sessions: usize,
    pub uptime_ms: u64,
    pub attention: Vec<String>,
    /// What does not work, each with its remedy.
    pub problems: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HealthView {
    pub ok: bool,
    pub version: String,
    pub protocol: u32,
    pub pid: u32,
}

/// A link that signs a browser in, once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SignInView {
    pub url: String,
    pub expires_at: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorView {
    pub error: String,
    pub hint: String,
}
