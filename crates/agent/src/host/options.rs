//! What a host needs to know before it begins.

use std::path::PathBuf;
use std::sync::Arc;

use sm_agents::OwnTools;
use sm_client::Footprint;
use sm_llm::{Client, Limits, Model, Thinking};

use crate::approval::Approvals;
use crate::config::Config;
use crate::models;
use crate::tools::Managed;

/// Reads the environment; tests give their own.
pub type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

pub struct Options {
    pub config: Config,
    /// Where `agent.toml` is, for rules that a person wants kept.
    pub config_path: PathBuf,
    /// Where it is written down that `agent.toml` was changed.
    pub footprint: Option<Footprint>,
    /// The folder of all sessions.
    pub sessions: PathBuf,
    /// Where outputs that are too long for a model are kept.
    pub outputs: PathBuf,
    pub cwd: PathBuf,
    pub model: Model,
    pub thinking: Thinking,
    pub approvals: Approvals,
    /// The system prompt, the same for as long as the program runs.
    pub system: String,
    pub client: Arc<Client>,
    pub variables: Variables,
    /// What of sm its model can call, for a session of sm's.
    pub own_tools: Option<OwnTools>,
}

impl Options {
    pub(super) fn limits(&self) -> Limits {
        let request = &self.config.request;
        Limits {
            deadline: request.deadline,
            idle: request.idle,
            attempts: request.attempts,
        }
    }

    pub(super) fn handoff_limits(&self) -> Limits {
        Limits {
            deadline: self.config.handoff.deadline,
            ..self.limits()
        }
    }

    /// One answer has this many tokens at most; the same in every request.
    pub(super) fn max_output(&self) -> u64 {
        models::max_output(&self.model)
    }

    pub(super) fn limit(&self) -> Option<u64> {
        let handoff = &self.config.handoff;
        handoff
            .auto
            .then(|| handoff.threshold.limit(self.model.window))
    }

    pub(super) fn managed(&self) -> Managed {
        match self.own_tools {
            Some(_) => Managed::BySm,
            None => Managed::ByNobody,
        }
    }

    pub(super) fn model_name(&self) -> String {
        format!("{}/{}", self.model.provider, self.model.id)
    }
}
