//! The document of a session of sm's own agent: its model is asked with just what the agent itself
//! asks it with, so that the provider's cached prefix is used, as `/handoff` does.
//!
//! The session's file is only read: the agent that talks in it is not disturbed, whatever it does,
//! and a document that fails leaves it as it was.

use std::path::{Path, PathBuf};

use sm_llm::{Client, Places};
use tokio_util::sync::CancellationToken;

use super::document::{Document, DocumentError, from_cache, took};
use crate::config::Config;
use crate::handoff::{self, Order, Prefix, Progress};
use crate::host::Variables;
use crate::models;
use crate::session::{self, Opened};
use crate::setup;
use crate::tools;

/// With fewer messages there is nothing to hand off.
const LEAST: usize = 2;

/// A session as it stands in its file.
pub struct Own {
    path: PathBuf,
    opened: Opened,
}

/// Why there is no document by this way.
#[derive(Debug, thiserror::Error)]
pub enum OwnError {
    /// Another way may be open.
    #[error("its model cannot be asked: {0}")]
    NotPossible(String),
    #[error(transparent)]
    Over(#[from] DocumentError),
}

impl Own {
    pub fn read(path: &Path) -> Result<Self, OwnError> {
        let opened =
            session::read(path).map_err(|error| OwnError::NotPossible(error.to_string()))?;
        if opened.message_entries < LEAST {
            return Err(DocumentError::TooLittle.into());
        }
        Ok(Self {
            path: path.to_owned(),
            opened,
        })
    }

    pub async fn document(
        &self,
        config: &Config,
        (variables, places): (&Variables, &Places),
        order: &Order,
        cancel: &CancellationToken,
        on: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Document, OwnError> {
        let opened = &self.opened;
        let named = opened
            .model
            .as_ref()
            .map(|(provider, id)| format!("{provider}/{id}"));
        let model = models::choose(named.as_deref(), config, &**variables, places)
            .await
            .map_err(|error| OwnError::NotPossible(error.to_string()))?;
        let prefix = Prefix {
            model: &model,
            system: &setup::system(&opened.header.cwd, config),
            // it runs as a session of sm's
            tools: &tools::definitions(tools::Managed::BySm),
            messages: &opened.messages,
            thinking: opened.thinking.unwrap_or(config.thinking),
            max_output: models::max_output(&model),
            session: &opened.header.id,
            tokens: opened.tokens(),
        };
        let draft = handoff::generate(&Client::new(), prefix, order, cancel, on)
            .await
            .map_err(DocumentError::from)?;
        let usage = draft.usage;
        let read = usage.input + usage.cache_read + usage.cache_write;
        let told = format!(
            "Written by the session's own model, {}/{}, as /handoff does: {}{}",
            model.provider,
            model.id,
            took(read, usage.output, usage.cost.total),
            from_cache(usage.cache_read, read)
        );
        let text = draft.document();
        let ledger = handoff::ledger_of(&self.path);
        let facts = handoff::facts(&ledger, &opened.todos, &text, config.handoff.facts);
        Ok(Document::by_model(&text, &facts, told))
    }
}
