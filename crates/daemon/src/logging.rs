//! The daemon's own log: one file, started anew when it is big.

use crate::config::Config;
use sm_client::paths::Paths;
use sm_core::{Effect, Outcome, Session, Timestamp};
use std::fs::File;
use std::sync::Mutex;
use tracing_subscriber::EnvFilter;

const BIG: u64 = 8 << 20;

/// Without a writable log file the daemon runs silently: logging is no reason to fail.
pub fn start(paths: &Paths, config: &Config, foreground: bool) {
    let filter = EnvFilter::try_from_env("SM_LOG")
        .unwrap_or_else(|_| EnvFilter::new(config.daemon.log_level.as_str()));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false);
    if foreground {
        let _ = builder.with_writer(std::io::stderr).try_init();
        return;
    }
    let path = paths.daemon_log();
    if std::fs::metadata(&path).is_ok_and(|m| m.len() > BIG) {
        let _ = std::fs::rename(&path, path.with_extension("log.old"));
    }
    if let Ok(file) = File::options().create(true).append(true).open(&path) {
        let _ = builder
            .with_ansi(false)
            .with_writer(Mutex::new(file))
            .try_init();
    }
}

/// What a session made of an event, for whoever wants to know where the time went.
pub fn step(session: &Session, event: &str, outcome: &Outcome, now: Timestamp) {
    let record = session.record();
    tracing::trace!(
        session = %record.id,
        event,
        state = record.word(),
        flight = ?record.flight.as_ref().map(|flight| (flight.no, flight.phase)),
        effects = ?outcome.effects.iter().map(Effect::word).collect::<Vec<_>>(),
        next_ms = ?session.next_deadline().map(|at| at.since(now)),
        "step"
    );
}
