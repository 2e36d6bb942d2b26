//! `sm status`.

use clap::Args;
use sm_daemon::api::types::StatusView;

use crate::client::Daemon;
use crate::error::{CommandError, Result};
use crate::print::Printer;
use crate::text::{Look, Tone, count, duration, one_line};

/// Says how the daemon is; does not start it.
#[derive(Debug, Args)]
pub struct Status {
    /// As JSON.
    #[arg(long)]
    json: bool,
}

impl Status {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?;
        let Some(status) = daemon.status_now()? else {
            let stopped = if daemon.paths().stopped_marker().exists() {
                "the daemon is stopped, because somebody said `sm stop`; sessions go on without it"
            } else {
                "no daemon is running"
            };
            return Err(CommandError::refused(stopped)
                .hint("every other command starts it by itself; so does `sm serve`"));
        };
        if self.json {
            return out.json(&status.json);
        }
        let text = render(&out.look, &status.value);
        out.text(&text)
    }
}

fn render(look: &Look, status: &StatusView) -> String {
    let uptime = i64::try_from(status.uptime_ms / 1000).unwrap_or(i64::MAX);
    let mut text = format!(
        "the daemon runs (pid {}, version {}, since {})\n",
        status.pid,
        one_line(&status.version),
        duration(uptime)
    );
    let mut row = |label: &str, value: &str| {
        text.push_str(&format!(
            "{} {value}\n",
            look.paint(Tone::Dim, &format!("{label:<10}"))
        ));
    };
    row("socket", &one_line(&status.socket));
    row(
        "address",
        &status
            .address
            .as_deref()
            .map_or_else(|| "none: only the socket is served".to_owned(), one_line),
    );
    row("sessions", &count(status.sessions, "session"));
    for problem in &status.problems {
        row("problem", &look.paint(Tone::Bad, &one_line(problem)));
    }
    for attention in &status.attention {
        row("attention", &look.paint(Tone::Warn, &one_line(attention)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tests::look;

    #[test]
    fn what_a_daemon_says_of_itself() {
        let status = StatusView {
            pid: 77,
            version: "0.1.0".into(),
            protocol: 1,
            socket: "/run/sm.sock".into(),
            address: None,
            sessions: 2,
            uptime_ms: 200_000,
            attention: vec!["api waits".into()],
            problems: vec!["port 8420 is taken".into()],
        };
        insta::assert_snapshot!(render(&look(), &status), @r"
        the daemon runs (pid 77, version 0.1.0, since 3 min)
        socket     /run/sm.sock
        address    none: only the socket is served
        sessions   2 sessions
        problem    port 8420 is taken
        attention  api waits
        ");
    }
}
