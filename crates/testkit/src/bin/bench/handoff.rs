//! From the end of a turn to the successor's prompt, against the way it was done before and against
//! the same keys sent by hand at the first possible moment.
//!
//! All arms take turns on the same agent in the same run. The agent itself says when it was: hooks
//! of the person's own settings, beside those of sm, note the time of Stop, SessionStart and
//! UserPromptSubmit.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sm_testkit::model::ScriptedModel;
use sm_testkit::real::{self, RealAgent};

use crate::Result;
use crate::hands::Hands;
use crate::herd::Herd;
use crate::samples::{Samples, ms, spread};
use crate::stamps::Stamps;
use crate::table::{Row, Table};

const ROUNDS: usize = 25;
/// The recreated waits take most of a second each: a few of them tell enough.
const ROUNDS_BEFORE: usize = 8;
const ROUNDS_REAL: usize = 20;
const PATIENCE: Duration = Duration::from_secs(30);
/// By hand, Enter is pressed again after this time.
const AGAIN: Duration = Duration::from_secs(1);
/// How long the screen was given to settle before Enter, and how often it was looked at.
const SETTLE: Duration = Duration::from_millis(300);
const LOOK: Duration = Duration::from_millis(100);
/// What an earlier session manager took on a similar machine, milliseconds.
const RECORDED: f64 = 762.0;

pub fn run(table: &mut Table) -> Result<()> {
    table.section("End of turn to the successor's prompt (min / p50 / p95)");
    scripted(table)?;
    match real::claude() {
        Ok(agent) => claude(&agent, table),
        Err(why) => {
            eprintln!("bench:   Claude Code: skipped: {why}");
            Ok(())
        }
    }
}

/// On the scripted agent, whose clear takes 30 ms.
fn scripted(table: &mut Table) -> Result<()> {
    let mut herd = Herd::new()?;
    let stamps = Stamps::install(&herd.env)?;
    herd.start()?;
    herd.agent("api")?;
    herd.quiet()?;
    let bench = Bench {
        herd: &herd,
        stamps,
        turn: "RUN: echo half done > notes.md",
        then: "RUN: ",
    };
    let prompt = bench.warm_up()?;
    let line = prompt.lines().next().unwrap_or_default().to_owned();
    let (mut ours, mut hand, mut before) = (Times::default(), Times::default(), Times::default());
    for round in 0..ROUNDS {
        ours.add(bench.handed_off()?);
        hand.add(bench.by_hand(&prompt)?);
        if round < ROUNDS_BEFORE {
            before.add(bench.fixed_waits(&line)?);
        }
    }
    table.row(
        Row::new("scripted agent, clear 30 ms", spread(&ours.prompted))
            .against(
                format!(
                    "fixed waits: {}; recorded: {}",
                    spread(&before.prompted),
                    ms(RECORDED)
                ),
                before.prompted.p50() / ours.prompted.p50(),
            )
            .target("p50 at most 120 ms", ours.prompted.p50() <= 120.0),
    );
    ours.beside(&hand, "scripted agent", table);
    Ok(())
}

/// On Claude Code itself, whose model is scripted.
fn claude(agent: &RealAgent, table: &mut Table) -> Result<()> {
    let model = ScriptedModel::start()?;
    model.control(|control| control.reply = Some("ok".into()));
    let mut herd = Herd::real(agent, &model.url())?;
    let stamps = Stamps::install(&herd.env)?;
    herd.start()?;
    let free = [
        "--",
        "--model",
        "claude-sonnet-4-5",
        "--allowedTools",
        "Bash",
    ];
    herd.agent_with("api", &free)?;
    herd.quiet()?;
    let bench = Bench {
        herd: &herd,
        stamps,
        turn: "RUN: echo half done > notes.md",
        then: "THEN: ",
    };
    let prompt = bench.warm_up()?;
    let (mut ours, mut hand) = (Times::default(), Times::default());
    for _ in 0..ROUNDS_REAL {
        ours.add(bench.handed_off()?);
        hand.add(bench.by_hand(&prompt)?);
    }
    let times = ours.prompted.p50() / hand.prompted.p50();
    table.row(
        Row::new("Claude Code", spread(&ours.prompted))
            .against(
                format!("by hand: {}", spread(&hand.prompted)),
                hand.prompted.p50() / ours.prompted.p50(),
            )
            .target(format!("at most 1.5x by hand ({times:.2}x)"), times <= 1.5),
    );
    ours.parts(&hand, "Claude Code", table);
    Ok(())
}

/// When the old context was left and when the next was prompted, from the end of the turn.
struct Round {
    left: Duration,
    prompted: Duration,
}

#[derive(Default)]
struct Times {
    left: Samples,
    prompted: Samples,
}

impl Times {
    fn add(&mut self, round: Round) {
        self.left.add(round.left);
        self.prompted.add(round.prompted);
    }

    fn beside(&self, hand: &Self, agent: &str, table: &mut Table) {
        table.row(
            Row::new(
                format!("{agent}, the same keys by hand"),
                spread(&hand.prompted),
            )
            .against(
                format!("sm: {}", ms(self.prompted.p50())),
                self.prompted.p50() / hand.prompted.p50(),
            ),
        );
        self.parts(hand, agent, table);
    }

    fn parts(&self, hand: &Self, agent: &str, table: &mut Table) {
        table.row(
            Row::new(
                format!("{agent}, of it until the new context"),
                spread(&self.left),
            )
            .against(
                format!("by hand: {}", spread(&hand.left)),
                hand.left.p50() / self.left.p50(),
            ),
        );
    }
}

struct Bench<'a> {
    herd: &'a Herd,
    stamps: Stamps,
    /// What a turn does, and what its second command begins with.
    turn: &'a str,
    then: &'a str,
}

impl Bench<'_> {
    /// A first handoff, that nobody counts; the prompt it gave.
    fn warm_up(&self) -> Result<String> {
        self.handed_off()?;
        let handoff = self.latest()?;
        let id = handoff["id"].as_str().ok_or("a handoff without an id")?;
        let whole = self.herd.link()?.get(&format!("/handoffs/{id}"))?.json()?;
        let prompt = whole["prompt"].as_str().ok_or("a handoff without prompt")?;
        Ok(prompt.to_owned())
    }

    fn latest(&self) -> Result<Value> {
        let all = self.herd.link()?.get("/handoffs?session=api&limit=1")?;
        Ok(all.json()?[0].clone())
    }

    /// A turn that ends with these commands. Returns when it has begun.
    fn begin(&self, last: &str) -> Result<usize> {
        let from = self.stamps.count();
        let text = format!("{}\n{}{last}", self.turn, self.then);
        let body = json!({"id": format!("b{from}"), "text": text});
        let mut link = self.herd.link()?;
        link.post("/sessions/api/messages", &body.to_string())?
            .json()?;
        // its own prompt is not the successor's
        let began = self.stamps.wait("UserPromptSubmit", from, PATIENCE)?;
        Ok(began.number + 1)
    }

    fn idle(&self) -> Result<()> {
        self.herd.wait_for("api", "idle")
    }

    /// What the agent noted from the end of the turn on.
    fn round(&self, from: usize) -> Result<Round> {
        let stop = self.stamps.wait("Stop", from, PATIENCE)?;
        let start = self.stamps.wait("SessionStart", stop.number, PATIENCE)?;
        let prompt = self
            .stamps
            .wait("UserPromptSubmit", start.number, PATIENCE)?;
        Ok(Round {
            left: start.at.saturating_sub(stop.at),
            prompted: prompt.at.saturating_sub(stop.at),
        })
    }

    /// The agent hands itself off.
    fn handed_off(&self) -> Result<Round> {
        let from = self.begin("sm handoff notes.md")?;
        let round = self.round(from).map_err(|error| self.about(&*error))?;
        let until = Instant::now() + PATIENCE;
        loop {
            let handoff = self.latest()?;
            match handoff["state"].as_str() {
                Some("done") => break,
                Some("scheduled" | "prepared" | "cleared" | "prompted")
                    if Instant::now() < until =>
                {
                    std::thread::sleep(Duration::from_millis(20));
                }
                other => return Err(format!("the handoff is {other:?}: {handoff:#}").into()),
            }
        }
        self.idle()?;
        Ok(round)
    }

    /// What was last given to the agent, and what it shows.
    fn about(&self, error: &dyn std::error::Error) -> String {
        let target = "/sessions/api/messages?all=true";
        let all = self.herd.link().and_then(|mut link| link.get(target));
        let all = all.and_then(|answer| answer.json()).unwrap_or_default();
        let last = all.as_array().and_then(|all| all.last()).cloned();
        let screen = Hands::new(&self.herd.env, "api").screen();
        format!(
            "{error}; {:#}\n{}",
            last.unwrap_or_default(),
            screen.unwrap_or_default()
        )
    }

    /// The same keys, each as soon as the agent can take it.
    fn by_hand(&self, prompt: &str) -> Result<Round> {
        let hands = Hands::new(&self.herd.env, "api");
        let status = self.status()?;
        let from = self.begin("true")?;
        let stop = self.stamps.wait("Stop", from, PATIENCE)?;
        let until = Instant::now() + PATIENCE;
        while !is_idle(&status) {
            if Instant::now() > until {
                return Err("the agent does not become idle".into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        hands.paste("/clear")?;
        self.enter(&hands, "/clear", "SessionStart", stop.number)?;
        hands.paste(prompt)?;
        self.enter(&hands, prompt, "UserPromptSubmit", stop.number)?;
        let round = self.round(from)?;
        self.over(from)?;
        Ok(round)
    }

    /// Enter, as soon as the text is to be seen: an agent that is still at its clear, or at the
    /// paste, would miss it. If it missed it all the same, once more.
    fn enter(&self, hands: &Hands<'_>, text: &str, event: &str, from: usize) -> Result<()> {
        hands.until_typed(text)?;
        hands.key("Enter")?;
        if self.stamps.wait(event, from, AGAIN).is_err() {
            hands.key("Enter")?;
            self.stamps.wait(event, from, PATIENCE)?;
        }
        Ok(())
    }

    /// As it was done before: each text typed by a forked `tmux send-keys`, a pause for the screen
    /// to settle, Enter; before each a look whether the prompt is to be seen.
    fn fixed_waits(&self, line: &str) -> Result<Round> {
        let hands = Hands::new(&self.herd.env, "api");
        let from = self.begin("true")?;
        self.stamps.wait("Stop", from, PATIENCE)?;
        hands.key("Escape")?;
        std::thread::sleep(LOOK); // typed at once, the text would be taken for a part of the key
        hands.until_prompt(LOOK)?;
        hands.type_text("/clear")?;
        std::thread::sleep(SETTLE);
        hands.key("Enter")?;
        hands.until_prompt(LOOK)?;
        hands.type_text(line)?;
        std::thread::sleep(SETTLE);
        hands.key("Enter")?;
        let round = self.round(from)?;
        self.over(from)?;
        Ok(round)
    }

    /// Waits for the end of the successor's first turn.
    fn over(&self, from: usize) -> Result<()> {
        let stop = self.stamps.wait("Stop", from, PATIENCE)?;
        let prompt = self
            .stamps
            .wait("UserPromptSubmit", stop.number, PATIENCE)?;
        self.stamps.wait("Stop", prompt.number, PATIENCE)?;
        self.idle()
    }

    /// The agent's own status file.
    fn status(&self) -> Result<PathBuf> {
        let session = self.herd.session("api")?;
        let pid = session["pid"].as_u64().ok_or("a session without pid")?;
        let folder = self.herd.env.home().join(".claude/sessions");
        Ok(folder.join(format!("{pid}.json")))
    }
}

fn is_idle(status: &std::path::Path) -> bool {
    let text = std::fs::read(status).unwrap_or_default();
    let read: Option<Value> = serde_json::from_slice(&text).ok();
    read.is_some_and(|status| status["status"] == "idle")
}
