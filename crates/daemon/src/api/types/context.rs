//! How full a context is, now and before.

use serde::{Deserialize, Serialize};

/// How full a context is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextReport {
    pub session: String,
    pub name: String,
    pub agent: String,
    pub generation: u32,
    pub compactions: u32,
    /// By the agent's own definition.
    pub used_percentage: Option<f64>,
    pub tokens: Option<u64>,
    pub window: Option<u64>,
    /// What can be used before the agent compacts or stops, and how much of that is used.
    pub usable: Option<u64>,
    pub usable_percentage: Option<f64>,
    pub source: Option<String>,
    pub at: Option<String>,
    pub last_sample_at: Option<String>,
    /// Percentage points per hour, over the last hour.
    pub trend: Option<f64>,
    /// The newest of every source.
    pub samples: Vec<SampleView>,
    /// The lowest and the highest, if they are more than five points apart.
    pub disagreement: Option<[f64; 2]>,
    pub watched: bool,
    pub on_compaction: String,
    /// Whether the agent lets a compaction be held up, if that is what is wanted.
    pub can_hold_up: bool,
    pub thresholds: Vec<ThresholdView>,
    pub history: Vec<PointView>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SampleView {
    pub source: String,
    pub used_percentage: Option<f64>,
    pub tokens: Option<u64>,
    pub at: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ThresholdView {
    pub percent: u8,
    pub level: String,
    /// It was reached and said in this context.
    pub said: bool,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PointView {
    pub at: String,
    pub generation: u32,
    pub used_percentage: f64,
    pub tokens: Option<u64>,
}

/// How full a context was, for a chart.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct UsagePointView {
    pub at: String,
    pub used_percentage: f64,
    pub tokens: Option<u64>,
    pub window: Option<u64>,
    pub generation: u32,
}
