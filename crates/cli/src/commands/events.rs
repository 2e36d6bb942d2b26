//! `sm events`.

use std::time::{Duration, Instant};

use clap::Args;
use serde_json::Value;
use sm_client::http::Line;
use sm_client::sse::SseReader;
use sm_daemon::api::types::EventView;

use crate::client::Daemon;
use crate::error::{CommandError, Result};
use crate::print::Printer;
use crate::text::{Look, Tone, one_line};

/// A stream that ends at once is not asked for again at once.
const BETWEEN_STREAMS: Duration = Duration::from_millis(500);

/// Shows what happened in a session.
#[derive(Debug, Args)]
pub struct Events {
    /// The session; inside a session: itself; with --follow and none: all of them.
    session: Option<String>,
    /// Go on showing what happens.
    #[arg(long, short)]
    follow: bool,
    /// So many of the last ones.
    #[arg(long, short = 'n', default_value_t = 50)]
    last: usize,
    /// As JSON: an array; with --follow one event a line.
    #[arg(long)]
    json: bool,
}

impl Events {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?;
        let session = match (&self.session, self.follow) {
            (None, true) => daemon.own().map(|own| own.id.clone()),
            (named, _) => Some(daemon.session_or_own(
                named.as_deref(),
                "sm events <session>, or sm events --follow for all sessions",
            )?),
        };
        let mut after = None;
        if let Some(session) = &session {
            let events = daemon.events(session, self.last)?;
            let all = events.json.as_array().map_or(&[][..], Vec::as_slice);
            let first = all.len().saturating_sub(self.last);
            if self.json && !self.follow {
                return out.json(&Value::Array(all[first..].to_vec()));
            }
            for (json, event) in all.iter().zip(&events.value).skip(first) {
                self.show(out, json, event, Some(session))?;
            }
            after = events.value.last().map(|event| event.seq);
        }
        if self.follow {
            self.follow(&daemon, session.as_deref(), after, out)?;
        }
        Ok(())
    }

    /// Until somebody ends this program: a stream that breaks is taken up where it broke.
    fn follow(
        &self,
        daemon: &Daemon,
        session: Option<&str>,
        mut after: Option<i64>,
        out: &mut Printer,
    ) -> Result<()> {
        loop {
            out.flush()?;
            let began = Instant::now();
            let mut lines = daemon.event_stream(session, after)?;
            let mut reader = SseReader::default();
            while let Ok(Line::Text(line)) = lines.next(None) {
                let Some(event) = reader.line(&line) else {
                    continue;
                };
                // What is not an event of ours is the business of a newer version.
                let Ok(json) = serde_json::from_str::<Value>(&event.data) else {
                    continue;
                };
                let Ok(event) = serde_json::from_value::<EventView>(json.clone()) else {
                    continue;
                };
                if after.is_some_and(|after| event.seq <= after) {
                    continue;
                }
                after = Some(event.seq);
                out.tick();
                self.show(out, &json, &event, session)?;
                out.flush()?;
            }
            // The daemon was stopped or replaced. Not a busy loop if it ends every stream.
            if began.elapsed() < BETWEEN_STREAMS {
                std::thread::sleep(BETWEEN_STREAMS);
            }
            if daemon.paths().stopped_marker().exists() {
                return Err(CommandError::not_usable(
                    "the daemon was stopped, so there is nothing to follow",
                ));
            }
        }
    }

    fn show(
        &self,
        out: &mut Printer,
        json: &Value,
        event: &EventView,
        session: Option<&str>,
    ) -> Result<()> {
        if self.json {
            return out.json_line(json);
        }
        let line = render(&out.look, event, session.is_none());
        out.line(&line)
    }
}

fn render(look: &Look, event: &EventView, with_session: bool) -> String {
    let session = match with_session {
        true => format!("{}  ", one_line(&event.session)),
        false => String::new(),
    };
    format!(
        "{}  {session}{} {}",
        look.paint(Tone::Dim, &look.clock(&event.at)),
        look.paint(Tone::Busy, &format!("{:<12}", one_line(&event.kind))),
        one_line(&event.text)
    )
    .trim_end()
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tests::look;

    #[test]
    fn one_line_an_event() {
        let event = EventView {
            seq: 3,
            at: "2026-03-01T11:00:07Z".into(),
            session: "1a2b3c4d".into(),
            generation: 1,
            turn: 2,
            kind: "state".into(),
            text: "working:\nrun the tests\x1b[2J".into(),
        };
        insta::assert_snapshot!(render(&look(), &event, false), @"11:00:07  state        working: run the tests[2J");
        insta::assert_snapshot!(render(&look(), &event, true), @"11:00:07  1a2b3c4d  state        working: run the tests[2J");
    }
}
