//! `sm handoff --check`: the gate by hand.
//!
//! With a session, by what its daemon knows of it; without one, by the files that are there. Never
//! schedules anything.

use std::path::{Path, PathBuf};

use serde_json::json;
use sm_client::Paths;
use sm_daemon::api::types::{CheckView, FindingView};
use sm_daemon::handoff::{Sources, judge, read};
use sm_daemon::pins;

use crate::client::Daemon;
use crate::environment::Own;
use crate::error::{CommandError, ExitCode, Kind, Result};
use crate::print::Printer;
use crate::text::{Look, Tone, one_line};

/// As much as the daemon takes at most.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

pub fn run(
    file: &str,
    session: Option<&str>,
    as_json: bool,
    out: &mut Printer,
) -> Result<ExitCode> {
    // `sm run` knows no more of a document than its files tell.
    let own = match Paths::run_folder() {
        Some(_) => None,
        None => Own::from_env().map(|own| own.id),
    };
    let report = match session.or(own.as_deref()) {
        Some(session) => by_daemon(session, file)?,
        None => None,
    };
    let report = match report {
        Some(report) => report,
        None => by_files(file)?,
    };
    let grave = report
        .findings
        .iter()
        .any(|finding| finding.level == "error");
    if as_json {
        out.json(&json!(report))?;
    } else {
        for line in lines(&report, &out.look) {
            out.line(&line)?;
        }
    }
    Ok(match grave {
        true => Kind::Refused.exit_code(),
        false => ExitCode::SUCCESS,
    })
}

/// None: nobody can be asked.
fn by_daemon(session: &str, file: &str) -> Result<Option<CheckView>> {
    match Daemon::open().and_then(|daemon| daemon.check_handoff(session, file)) {
        Ok(answer) => Ok(Some(answer.value)),
        Err(error) => match error.kind {
            Kind::NotUsable | Kind::Sandboxed => Ok(None),
            Kind::Refused | Kind::NotInTime | Kind::Usage | Kind::ReaderLeft => Err(error),
        },
    }
}

fn by_files(file: &str) -> Result<CheckView> {
    let document =
        read(file, MOST_BYTES).map_err(|error| CommandError::refused(error.to_string()))?;
    let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let sources = Sources {
        pins: pins::of_project(&cwd).pins,
        folder: Path::new(file)
            .parent()
            .map(Path::to_path_buf)
            .unwrap_or_default(),
        cwd,
        known: None,
    };
    Ok(CheckView::from(&judge(&document.text, &sources)))
}

fn lines(report: &CheckView, look: &Look) -> Vec<String> {
    let mut lines = vec![format!("Score: {} of 100", report.score)];
    lines.extend(report.findings.iter().map(|finding| line(finding, look)));
    lines
}

fn line(finding: &FindingView, look: &Look) -> String {
    let tone = match finding.level.as_str() {
        "error" => Tone::Bad,
        "warning" => Tone::Busy,
        _ => Tone::Dim,
    };
    let at = finding
        .line
        .map_or_else(String::new, |line| format!("line {line}: "));
    let todo = match finding.todo.as_str() {
        "" => String::new(),
        todo => format!(": {}", one_line(todo)),
    };
    format!(
        "{} {at}{}{todo}",
        look.paint(tone, &one_line(&finding.level)),
        one_line(&finding.what)
    )
}
