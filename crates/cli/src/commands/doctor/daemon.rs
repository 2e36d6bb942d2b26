//! The daemon: whether it answers, which version it is, what it complains about; its port.

use std::time::{Duration, SystemTime};

use sm_client::http::HttpError;
use sm_client::wire;
use sm_daemon::api::types::SessionView;

use super::{Check, port};
use crate::client::Daemon;
use crate::text::{count, one_line};

pub fn check(daemon: &Daemon, wanted: u16) -> Vec<Check> {
    match daemon.health_now() {
        Ok(health) => {
            let mut checks = vec![version(&health.version, health.protocol, health.pid)];
            checks.extend(running(daemon, wanted));
            checks
        }
        Err(error) => {
            let mut checks = vec![absent(daemon, &error)];
            if error.is_no_daemon() {
                checks.extend(port::check_free(wanted));
            }
            checks
        }
    }
}

fn version(version: &str, protocol: u32, pid: u32) -> Check {
    let own = env!("CARGO_PKG_VERSION");
    let text = format!("runs (pid {pid}, version {})", one_line(version));
    if protocol != wire::PROTOCOL {
        return Check::broken(
            "daemon",
            format!(
                "{text} and speaks protocol {protocol}; this sm speaks {}",
                wire::PROTOCOL
            ),
            "sm stop; the next command starts the daemon of this version",
        );
    }
    if version != own {
        return Check::warning(
            "daemon",
            format!("{text}, but this sm is {own}"),
            "sm stop; the next command starts the daemon of this version",
        );
    }
    Check::ok("daemon", text)
}

fn absent(daemon: &Daemon, error: &HttpError) -> Check {
    let log = daemon.paths().daemon_log();
    match error {
        HttpError::NoDaemon(_) if daemon.paths().stopped_marker().exists() => Check::ok(
            "daemon",
            "stopped by `sm stop`; the next command starts it again",
        ),
        HttpError::NoDaemon(_) => {
            Check::ok("daemon", "not running; it is started when it is needed")
        }
        HttpError::Timeout => Check::broken(
            "daemon",
            "is there but does not answer",
            format!(
                "end it ({}), and the next command starts a new one; its log: {}",
                holder(daemon).map_or_else(
                    || "its pid is not known".to_owned(),
                    |pid| format!("kill -CONT {pid}; kill {pid}")
                ),
                log.display()
            ),
        ),
        HttpError::Untrusted(_)
        | HttpError::Forbidden(_)
        | HttpError::BadRequest(_)
        | HttpError::Closed
        | HttpError::TooLarge
        | HttpError::Malformed(_)
        | HttpError::Io(_) => Check::broken(
            "daemon",
            error.to_string(),
            format!(
                "something else may listen on {}; the daemon's log: {}",
                daemon.paths().socket().display(),
                log.display()
            ),
        ),
    }
}

/// A daemon goes by the configuration of when it was started.
fn stale(changed: Option<SystemTime>, now: SystemTime, running: Duration) -> Option<Check> {
    let age = now.duration_since(changed?).unwrap_or_default();
    (age < running).then(|| {
        Check::warning(
            "config",
            "was changed after the daemon was started, which does not know it yet",
            "sm stop; the next command takes it in, and sessions go on",
        )
    })
}

/// The pid that the lock file names: informative only.
fn holder(daemon: &Daemon) -> Option<u32> {
    let text = std::fs::read_to_string(daemon.paths().lock_file()).ok()?;
    text.split(|c: char| !c.is_ascii_digit())
        .find(|digits| !digits.is_empty())?
        .parse()
        .ok()
}

fn running(daemon: &Daemon, wanted: u16) -> Vec<Check> {
    let mut checks = Vec::new();
    match daemon.status_now() {
        Ok(Some(status)) => {
            let status = status.value;
            match (&status.address, wanted) {
                (Some(address), _) => {
                    checks.push(Check::ok(
                        "port",
                        format!("served at {}", one_line(address)),
                    ));
                }
                (None, 0) => {
                    checks.push(Check::ok("port", "not served, as configured"));
                }
                (None, wanted) => checks.push(port::not_served(wanted)),
            }
            let changed = daemon.paths().config_file().metadata();
            let changed = changed.and_then(|found| found.modified()).ok();
            let running = Duration::from_millis(status.uptime_ms);
            checks.extend(stale(changed, SystemTime::now(), running));
            checks.extend(status.problems.iter().map(|problem| {
                Check::warning(
                    "problem",
                    one_line(problem),
                    "the daemon says this of itself; it goes on without",
                )
            }));
        }
        Ok(None) => {}
        Err(error) => checks.push(Check::warning(
            "daemon",
            error.message,
            "sm stop; the next command starts the daemon of this version",
        )),
    }
    if let Ok(Some(sessions)) = daemon.sessions_now() {
        checks.push(lost(&sessions.value));
    }
    checks
}

fn lost(sessions: &[SessionView]) -> Check {
    let lost: Vec<&SessionView> = sessions
        .iter()
        .filter(|session| session.state == "lost")
        .collect();
    let Some(first) = lost.first() else {
        return Check::ok("sessions", count(sessions.len(), "session"));
    };
    let names: Vec<String> = lost.iter().map(|session| one_line(&session.name)).collect();
    // By its id: others may have its name.
    let id = one_line(&first.id);
    Check::warning(
        "sessions",
        format!("lost, their terminal is gone: {}", names.join(", ")),
        format!("sm restore {id}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::ls::tests::session;

    #[test]
    fn a_lost_session_is_named_by_what_only_it_has() {
        let mut gone = session("api");
        gone.state = "lost".into();
        gone.id = "9f8e7d6c".into();
        let check = lost(&[session("api"), gone.clone(), gone]);
        let said = format!("{check:?}");
        assert!(said.contains("sm restore 9f8e7d6c"), "{said}");
        assert!(
            said.contains("lost, their terminal is gone: api, api"),
            "{said}"
        );
        assert!(!format!("{:?}", lost(&[session("api")])).contains("restore"));
    }

    #[test]
    fn a_configuration_that_the_daemon_has_not_read_is_told() {
        let now = SystemTime::now();
        let ago = |seconds| now.checked_sub(Duration::from_secs(seconds));
        let running = Duration::from_secs(60);
        for (changed, told) in [
            (ago(61), false),
            (ago(59), true),
            (ago(0), true),
            (None, false),
        ] {
            assert_eq!(stale(changed, now, running).is_some(), told, "{changed:?}");
        }
    }
}
