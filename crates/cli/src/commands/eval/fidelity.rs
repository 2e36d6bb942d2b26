//! `sm eval fidelity`.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use sm_ledger::fidelity::Places;

use super::history::{self, History};
use super::score::{self, Scored};
use super::show;
use crate::error::{CommandError, Result};
use crate::print::{self, Printer};
use crate::text::count;

/// Measures how much of what an agent needs after the end of a context is in what it was given.
///
/// At every compaction in your transcripts, and at every handoff that sm kept, these are compared: the
/// summary that the agent's own program wrote, sm's ledger, your handoff documents, the end of the
/// transcript, and bare lists of names in random and in ranked order.
///
/// NAR: of the paths, identifiers and hashes of the old context that the agent used afterwards before
/// anything showed them again, how many are in the document. LAR: of those it used at any time
/// afterwards. DIR: of the person's messages, how many are in it word for word. Averages over all
/// boundaries, with 95 % intervals. docs/fidelity.md has more.
///
/// Nothing is sent anywhere, no model is asked, and no daemon is needed.
#[derive(Debug, Args)]
pub struct Fidelity {
    /// Transcripts, or folders of them; without one: those of Claude Code and Codex, and sm's handoffs.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// How long a document may be, in characters; several are compared.
    #[arg(long, value_name = "N", value_delimiter = ',', num_args = 1)]
    #[arg(default_values_t = [1_000, 2_000, 4_000, 9_500])]
    #[arg(value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    budget: Vec<u32>,
    /// Instead of real boundaries: as if each context had ended after these shares of it.
    #[arg(long, value_name = "SHARES", value_delimiter = ',', value_parser = share)]
    cuts: Option<Vec<f64>>,
    /// As JSON: `{places, sessions, boundaries, files_read, files_reread, rows: [{arm, budget,
    /// documents, nar, lar, dir, size_median, size_max}], skipped}`.
    #[arg(long)]
    json: bool,
}

fn share(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        Ok(_) | Err(_) => Err("a share is between 0 and 1, as 0.5".to_owned()),
    }
}

impl Fidelity {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let history = if self.paths.is_empty() {
            History::own()
        } else {
            History::of(&self.paths)?
        };
        if history.transcripts.is_empty() && history.handoffs.is_empty() {
            return Err(nothing(&history));
        }
        let places = self.cuts.map_or(Places::Compactions, Places::Cuts);
        let budgets = self.budget.iter().map(|&budget| budget as usize).collect();
        let Scored { report, skipped } = score::score(&history, &places, budgets);
        if self.json {
            let mut value = serde_json::to_value(&report)
                .map_err(|error| CommandError::refused(format!("cannot write JSON: {error}")))?;
            value["places"] = json!(match &places {
                Places::Compactions | Places::Handoffs => "boundaries",
                Places::Cuts(_) => "cuts",
            });
            value["skipped"] = json!(skipped);
            return out.json(&value);
        }
        for skipped in &skipped {
            print::note(skipped);
        }
        if report.boundaries == 0 {
            let found = count(history.transcripts.len(), "transcript");
            let mut error = CommandError::refused(format!(
                "nothing to score: in {found} no context ended with enough before it and after it"
            ));
            if let Places::Compactions = places {
                error = error
                    .hint("sm eval fidelity --cuts 0.5,0.8   as if each context had ended there");
            }
            return Err(error);
        }
        let text = show::render(&out.look, &report, &places);
        out.text(&text)
    }
}

fn nothing(history: &History) -> CommandError {
    let looked: Vec<String> = history
        .looked
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    CommandError::refused(format!("there are no transcripts in {}", looked.join(", "))).hint(
        format!(
            "name files or folders: sm eval fidelity PATH…   ({} files)",
            history::ENDING
        ),
    )
}
