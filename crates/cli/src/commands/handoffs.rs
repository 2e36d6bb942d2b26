//! `sm handoffs`.

use std::collections::HashMap;

use clap::{Args, Subcommand};
use sm_daemon::api::types::{ArtifactView, HandoffView};

use crate::client::{Daemon, Which};
use crate::error::Result;
use crate::handoff::{Told, milliseconds, span, tokens};
use crate::print::Printer;
use crate::text::{Cell, Look, Tone, bytes, many_lines, one_line, table_giving};

/// Lists handoffs, newest first, and shows single ones.
///
/// When and why, who wrote the document, from which context to which, what came of it, how long it took from the end of the
/// turn to the new context's prompt, and how full the context was before and after.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Handoffs {
    #[command(subcommand)]
    command: Option<Command>,
    /// Only those of this session; without one: of all sessions.
    session: Option<String>,
    /// At most so many.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// As JSON: an array.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Show(Show),
}

/// Shows one handoff: its document, what was kept, every step with its time, the prompt.
#[derive(Debug, Args)]
struct Show {
    /// The handoff's id, or its beginning; `sm handoffs` lists them.
    id: String,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

impl Handoffs {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        if let Some(Command::Show(command)) = self.command {
            return command.run(out);
        }
        let daemon = Daemon::open()?;
        let handoffs = daemon.handoffs(self.session.as_deref(), self.limit)?;
        if self.json {
            return out.json(&handoffs.json);
        }
        if handoffs.value.is_empty() {
            out.line("no handoffs yet")?;
            return out.line("  sm handoff --help   what they are and how an agent makes one");
        }
        let names: HashMap<String, String> = daemon
            .sessions(Which::All)?
            .value
            .into_iter()
            .map(|session| (session.id, session.name))
            .collect();
        let text = render(&out.look, &handoffs.value, &names);
        out.text(&text)
    }
}

impl Show {
    fn run(self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?;
        let handoff = daemon.one_handoff(&self.id)?;
        if self.json {
            return out.json(&handoff.json);
        }
        let handoff = handoff.value;
        // A session that was forgotten has only its id.
        let (name, called) = match daemon.session(&handoff.session) {
            Ok(session) => {
                let called = daemon.called(&session.value);
                (session.value.name, called)
            }
            Err(_) => (handoff.session.clone(), handoff.session.clone()),
        };
        let text = render_one(&out.look, &handoff, &name, &called);
        out.text(&text)
    }
}

const HEADINGS: [&str; 8] = [
    "WHEN", "SESSION", "HANDOFF", "CONTEXT", "STATE", "WHY", "TOOK", "TOKENS",
];
/// The names of sessions give way in a narrow terminal.
const GIVES_WAY: usize = 1;

fn render(look: &Look, handoffs: &[HandoffView], names: &HashMap<String, String>) -> String {
    let rows: Vec<Vec<Cell>> = handoffs
        .iter()
        .map(|handoff| {
            let name = names.get(&handoff.session).unwrap_or(&handoff.session);
            let took = match handoff.took() {
                Some(took) => took,
                None if handoff.is_open() => look.since(&handoff.created_at) + " …",
                None => "-".to_owned(),
            };
            vec![
                Cell::new(look.clock(&handoff.created_at)),
                Cell::new(one_line(name)),
                Cell::new(one_line(&handoff.id)),
                Cell::new(handoff.generations()),
                state(handoff),
                Cell::new(why(handoff)),
                Cell::new(took),
                Cell::toned(tokens_of(handoff), Tone::Dim),
            ]
        })
        .collect();
    table_giving(look, &HEADINGS, &rows, GIVES_WAY)
}

/// How far it has come; that it cannot go on by itself is more than that.
fn state(handoff: &HandoffView) -> Cell {
    let state = one_line(&handoff.state);
    match handoff.waits_for_person {
        Some(_) => Cell::toned(format!("{state}, waits for you"), Tone::Warn),
        None => Cell::toned(state, handoff.tone()),
    }
}

/// Who wanted it, and who wrote the document if that is somebody else: `person, by model`.
fn why(handoff: &HandoffView) -> String {
    let trigger = one_line(&handoff.trigger);
    let asked = match trigger.as_str() {
        "person" => "person",
        _ => "agent",
    };
    match handoff.author == asked {
        true => trigger,
        false => format!("{trigger}, by {}", one_line(&handoff.author)),
    }
}

/// `83.2k→4.1k`.
fn tokens_of(handoff: &HandoffView) -> String {
    let known = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), tokens);
    match (handoff.tokens_before, handoff.tokens_after) {
        (None, None) => "-".to_owned(),
        (before, after) => format!("{}→{}", known(before), known(after)),
    }
}

/// `called`: what a command has to say to mean its session.
fn render_one(look: &Look, handoff: &HandoffView, name: &str, called: &str) -> String {
    let (name, called) = (one_line(name), one_line(called));
    let mut text = String::new();
    let mut row = |label: &str, value: &str| text.push_str(&look.row(label, value));
    row(
        "handoff",
        &format!(
            "{} of {name}: {}",
            look.paint(Tone::Bold, &one_line(&handoff.id)),
            look.paint(handoff.tone(), &one_line(&handoff.state))
        ),
    );
    row("context", &format!("generation {}", handoff.generations()));
    row(
        "why",
        &format!(
            "{} (document by {}; carried over by {})",
            one_line(&handoff.trigger),
            one_line(&handoff.author),
            one_line(&handoff.carrier)
        ),
    );
    if let Some(waits) = &handoff.waits_for_person {
        let waits = format!(
            "a person: {}; answer it: sm attach {called}",
            one_line(waits)
        );
        row("waits for", &look.paint(Tone::Warn, &waits));
    }
    if let Some(note) = &handoff.note {
        row("written", &one_line(note));
    }
    let took = handoff.took().map_or_else(String::new, |took| {
        format!(", {took} from the end of the turn to the prompt")
    });
    row(
        "when",
        &format!(
            "{} ({}){took}",
            look.clock(&handoff.created_at),
            look.ago(&handoff.created_at)
        ),
    );
    row("tokens", &tokens_of(handoff));
    row("document", &look.path(&handoff.document));
    if let Some(in_context) = &handoff.in_context {
        row("", &one_line(&in_context.text));
    }
    if handoff.copy != handoff.document {
        row("copy", &look.path(&handoff.copy));
    }
    let given = handoff.given.as_deref();
    if let Some(given) = given.filter(|given| *given != handoff.document) {
        row("given", &look.path(given)); // the author's file was gone
    }
    for (at, artifact) in handoff.artifacts.iter().enumerate() {
        let label = if at == 0 { "kept" } else { "" };
        row(label, &artifact_line(look, artifact));
    }
    let log = handoff
        .artifacts
        .iter()
        .find(|artifact| artifact.kind == "log" && artifact.problem.is_none());
    row("search", &format!("sm archive {called} grep \"pattern\""));
    if let Some(log) = log {
        // A path as it is: it is copied into a shell.
        row("", &format!("grep -a \"pattern\" {}", one_line(&log.path)));
    }
    if !handoff.steps.is_empty() {
        text.push_str(&format!("\n{}\n", look.paint(Tone::Bold, "steps")));
    }
    for step in &handoff.steps {
        let after = milliseconds(&handoff.created_at, &step.at).map_or_else(String::new, span);
        text.push_str(&format!(
            "  {}  {}  {}\n",
            look.clock(&step.at),
            look.paint(Tone::Dim, &format!("{:>8}", format!("+{after}"))),
            one_line(&step.text)
        ));
    }
    if let Some(prompt) = handoff.prompt.as_deref().filter(|text| !text.is_empty()) {
        text.push_str(&format!("\n{}\n", look.paint(Tone::Bold, "prompt")));
        for line in many_lines(prompt).lines() {
            text.push_str(format!("  {line}").trim_end());
            text.push('\n');
        }
    }
    text
}

fn artifact_line(look: &Look, artifact: &ArtifactView) -> String {
    let kind = format!("{:<11}", one_line(&artifact.kind));
    if let Some(problem) = &artifact.problem {
        return format!(
            "{kind} {}",
            look.paint(Tone::Warn, &format!("none: {}", one_line(problem)))
        );
    }
    let sizes: Vec<String> = artifact
        .lines
        .map(|lines| match lines {
            1 => "1 line".to_owned(),
            _ => format!("{lines} lines"),
        })
        .into_iter()
        .chain(artifact.bytes.map(bytes))
        .collect();
    let sizes = match sizes.is_empty() {
        true => String::new(),
        false => format!(" ({})", sizes.join(", ")),
    };
    format!("{kind} {}{sizes}", look.path(&artifact.path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handoff::tests::handoff;
    use crate::text::tests::look;
    use sm_daemon::api::types::StepView;

    #[test]
    fn the_history_in_a_table() {
        let open = HandoffView {
            id: "ho-2".into(),
            session: "gone".into(),
            state: "cleared".into(),
            trigger: "compaction_imminent".into(),
            to_generation: None,
            tokens_before: None,
            tokens_after: None,
            created_at: "2026-03-01T11:59:18Z".into(),
            done_at: None,
            took_ms: None,
            ..handoff()
        };
        let stuck = HandoffView {
            waits_for_person: Some("it asks a question: which one?".into()),
            ..open.clone()
        };
        let alone = render(&look(), std::slice::from_ref(&stuck), &HashMap::new());
        assert!(alone.contains("cleared, waits for you"), "{alone}");
        let one = render_one(&look(), &stuck, "api", "api");
        let row =
            "waits for     a person: it asks a question: which one?; answer it: sm attach api";
        assert!(one.contains(row), "{one}");
        let back = HandoffView {
            state: "rolled_back".into(),
            created_at: "2026-02-28T11:50:00Z".into(),
            took_ms: Some(120_000),
            tokens_after: None,
            ..handoff()
        };
        let names = HashMap::from([("1a2b3c4d".to_owned(), "a-session-of-mine".to_owned())]);
        let wide = Look {
            width: None,
            ..look()
        };
        insta::assert_snapshot!(render(&wide, &[open.clone(), handoff(), back.clone()], &names), @r"
        WHEN                 SESSION            HANDOFF  CONTEXT  STATE        WHY                  TOOK    TOKENS
        11:59:18             gone               ho-2     1→-      cleared      compaction_imminent  42 s …  -
        11:50:00             a-session-of-mine  ho-1a2b  1→2      done         agent                1.2 s   83.2k→830
        2026-02-28 11:50:00  a-session-of-mine  ho-1a2b  1→2      rolled_back  agent                2 min   83.2k→-
        ");
        insta::assert_snapshot!(render(&look(), &[open, handoff(), back], &names), @r"
        WHEN                 SESSION       HANDOFF  CONTEXT  STATE        WHY                  TOOK    TOKENS
        11:59:18             gone          ho-2     1→-      cleared      compaction_imminent  42 s …  -
        11:50:00             a-session-o…  ho-1a2b  1→2      done         agent                1.2 s   83.2k→830
        2026-02-28 11:50:00  a-session-o…  ho-1a2b  1→2      rolled_back  agent                2 min   83.2k→-
        ");
    }

    #[test]
    fn one_handoff_with_all_that_is_known() {
        let artifact = |kind: &str, path: &str| ArtifactView {
            kind: kind.into(),
            path: path.into(),
            bytes: None,
            lines: None,
            problem: None,
        };
        let step = |at: &str, text: &str| StepView {
            at: format!("2026-03-01T{at}Z"),
            text: text.into(),
        };
        let one = HandoffView {
            given: Some(handoff().copy),
            artifacts: vec![
                ArtifactView {
                    lines: Some(2000),
                    bytes: Some(76_800),
                    ..artifact("snapshot", "/home/ann/.local/share/sm/handoffs/x/dump.txt")
                },
                ArtifactView {
                    bytes: Some(1 << 20),
                    ..artifact("log", "/data/sessions/1a2b3c4d/terminal.*.log")
                },
                ArtifactView {
                    problem: Some("the transcript\x1b[2J is gone".into()),
                    ..artifact("transcript", "")
                },
            ],
            steps: vec![
                step("11:50:00", "scheduled; it runs when the turn is over"),
                step("11:50:04.2", "document and artifacts are safe"),
                step("11:50:12.345", "done: the successor's first turn is over"),
            ],
            prompt: Some("Read /home/ann/src/api/notes.md and continue.\n\nFull log: x\x07".into()),
            ..handoff()
        };
        insta::assert_snapshot!(render_one(&look(), &one, "api", "1a2b3c4d"), @r#"
        handoff       ho-1a2b of api: done
        context       generation 1→2
        why           agent (document by agent; carried over by clear)
        when          11:50:00 (10 min ago), 1.2 s from the end of the turn to the prompt
        tokens        83.2k→830
        document      ~/src/api/notes.md
                      in context, 6,412 of 6,412 characters, proven by transcript
        copy          /data/handoffs/1a2b/document.md
        given         /data/handoffs/1a2b/document.md
        kept          snapshot    ~/.local/share/sm/handoffs/x/dump.txt (2000 lines, 75.0 KiB)
                      log         /data/sessions/1a2b3c4d/terminal.*.log (1.0 MiB)
                      transcript  none: the transcript[2J is gone
        search        sm archive 1a2b3c4d grep "pattern"
                      grep -a "pattern" /data/sessions/1a2b3c4d/terminal.*.log

        steps
          11:50:00    +0.0 s  scheduled; it runs when the turn is over
          11:50:04    +4.2 s  document and artifacts are safe
          11:50:12     +12 s  done: the successor's first turn is over

        prompt
          Read /home/ann/src/api/notes.md and continue.

          Full log: x
        "#);
    }
}
