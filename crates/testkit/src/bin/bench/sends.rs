//! From `send` to the proof that the agent has it, against fixed waits: the way it was done before.
//!
//! Before: the text typed by a forked `tmux send-keys`, a pause for the screen to settle, Enter;
//! one message after the other. That is recreated on the same agents in the same run, with the
//! shortest pause it had (its longer ones for long texts and interrupts are left out).

use std::io::{Read, Seek, SeekFrom};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::herd::Herd;
use crate::link::Link;
use crate::samples::{Samples, ms, spread};
use crate::table::{Row, Table};
use crate::{Result, cost};

const ROUNDS: usize = 30;
const CROWD: usize = 8;
const CROWD_ROUNDS: usize = 15;
/// How long an agent rests before it is sent something: its last turn is over for everybody.
const REST: Duration = Duration::from_millis(100);
const HOOKS: usize = 300;
/// Between two hooks of one agent: tools take longer than this.
const BETWEEN: Duration = Duration::from_millis(20);
/// How long the screen was given to settle before Enter.
const SETTLE: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_secs(30);

/// What is sent, and to an agent in which state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Line,
    Long,
    /// A line, and the turn it begins takes as long as the quickest answer of a model does.
    Turn,
    /// The agent is at work and has to be interrupted.
    Urgent,
}

pub fn run(table: &mut Table) -> Result<()> {
    let mut herd = Herd::new()?;
    herd.start()?;
    for number in 0..=CROWD {
        herd.agent(&name(number))?;
    }
    herd.quiet()?;
    let bench = Bench {
        herd: &herd,
        sent: AtomicUsize::new(0),
    };
    table.section("`send` to submitted (min / p50 / p95)");
    for (kind, what) in [
        (Kind::Line, "one line"),
        (Kind::Long, "4 KB"),
        (Kind::Urgent, "urgent, the agent works"),
    ] {
        let (mut ours, mut before) = (Samples::default(), Samples::default());
        for _ in 0..ROUNDS {
            bench.ready(0, kind)?;
            ours.add(bench.send(0, kind)?);
            bench.herd.wait_for(&name(0), "idle")?;
            bench.ready(0, kind)?;
            before.add(bench.send_as_before(0, kind)?);
            bench.herd.wait_for(&name(0), "idle")?;
        }
        table.row(
            Row::new(what, spread(&ours))
                .against(
                    format!("fixed waits: {}", spread(&before)),
                    before.p50() / ours.p50(),
                )
                .target("p50 at most 60 ms", ours.p50() <= 60.0),
        );
    }
    command(&bench, table)?;
    crowd(&bench, table)?;
    hooks_meanwhile(&bench, table)
}

/// The whole command, as a person or an agent runs it.
fn command(bench: &Bench<'_>, table: &mut Table) -> Result<()> {
    let mut samples = Samples::default();
    for _ in 0..ROUNDS {
        let text = bench.text(Kind::Line).1;
        let began = Instant::now();
        let output = bench
            .herd
            .env
            .sm()?
            .args(["send", &name(0), &text, "--wait", "20"])
            .output()?;
        samples.add(began.elapsed());
        if !output.status.success() {
            return Err(format!("sm send: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        bench.herd.wait_for(&name(0), "idle")?;
    }
    let row = Row::new("one line, the command `sm send --wait`", spread(&samples));
    table.row(row.target("p50 at most 60 ms", samples.p50() <= 60.0));
    Ok(())
}

/// Eight messages to eight agents at rest at once, until the last is submitted, and by turns with
/// them a single one to an agent at rest. Then the same back to back, with turns of no length: those
/// served first end their turns while the last still wait.
fn crowd(bench: &Bench<'_>, table: &mut Table) -> Result<()> {
    let (mut single, mut ours) = (Samples::default(), Samples::default());
    let (mut blind_single, mut blind) = (Samples::default(), Samples::default());
    let mut cpu = [Duration::ZERO; 3];
    let mut messages = 0;
    for _ in 0..CROWD_ROUNDS {
        for (agents, samples) in [(1, &mut blind_single), (CROWD, &mut blind)] {
            std::thread::sleep(REST);
            samples.add(bench.blindly(agents)?);
            bench.all_idle()?;
        }
        std::thread::sleep(REST);
        single.add(bench.at_once(1, Kind::Turn)?);
        bench.all_idle()?;
        std::thread::sleep(REST);
        let before = bench.cpu()?;
        ours.add(bench.at_once(CROWD, Kind::Turn)?);
        bench.all_idle()?;
        std::thread::sleep(REST);
        for ((sum, now), before) in cpu.iter_mut().zip(bench.cpu()?).zip(before) {
            *sum += now.saturating_sub(before);
        }
        messages += CROWD;
    }
    let (mut hasty, mut before) = (Samples::default(), Samples::default());
    for round in 0..CROWD_ROUNDS {
        hasty.add(bench.at_once(CROWD, Kind::Line)?);
        bench.all_idle()?;
        // three seconds each: a few of them tell enough
        if round < 3 {
            let began = Instant::now();
            for number in 0..CROWD {
                bench.send_as_before(number, Kind::Line)?;
            }
            before.add(began.elapsed());
            bench.all_idle()?;
        }
    }
    let within = ours.p50() / single.p50();
    table.row(
        Row::new("8 to 8 agents at rest at once, the last", spread(&ours))
            .against(
                format!(
                    "one alone: {}; one after the other, fixed waits: {}",
                    spread(&single),
                    ms(before.p50())
                ),
                before.p50() / ours.p50(),
            )
            .target(format!("within 2x one alone ({within:.1}x)"), within <= 2.0),
    );
    table.row(
        Row::new("the same by one tmux command, nobody looks", spread(&blind)).against(
            format!(
                "one alone: {} ({:.1}x)",
                spread(&blind_single),
                blind.p50() / blind_single.p50()
            ),
            blind.p50() / ours.p50(),
        ),
    );
    let [daemon, tmux, agents] =
        cpu.map(|time| ms(time.as_secs_f64() * 1e3 / messages.max(1) as f64));
    table.row(Row::new(
        "CPU of each, its turn included",
        format!("daemon {daemon}, tmux {tmux}, agent and hooks {agents}"),
    ));
    table.row(
        Row::new("8 to 8 agents back to back, the last", spread(&hasty)).against(
            format!("one after the other, fixed waits: {}", ms(before.p50())),
            before.p50() / hasty.p50(),
        ),
    );
    Ok(())
}

/// How soon a hook of one session is answered while eight others are typed into.
fn hooks_meanwhile(bench: &Bench<'_>, table: &mut Table) -> Result<()> {
    let quiet = bench.hooks()?;
    let stop = AtomicBool::new(false);
    let (busy, typed) = std::thread::scope(|scope| -> Result<(Samples, usize)> {
        let before = bench.sent.load(Ordering::Relaxed);
        let senders: Vec<_> = (0..CROWD)
            .map(|number| {
                let stop = &stop;
                scope.spawn(move || -> Result<()> {
                    while !stop.load(Ordering::Relaxed) {
                        bench.send(number, Kind::Line)?;
                        bench.herd.wait_for(&name(number), "idle")?;
                    }
                    Ok(())
                })
            })
            .collect();
        let busy = bench.hooks();
        stop.store(true, Ordering::Relaxed);
        for sender in senders {
            sender.join().map_err(|_| "a sender panicked")??;
        }
        Ok((busy?, bench.sent.load(Ordering::Relaxed) - before))
    })?;
    table.row(
        Row::new(
            format!("a hook meanwhile ({typed} messages typed)"),
            spread(&busy),
        )
        .against(
            format!("quiet: {}; recorded: p95 346 ms", spread(&quiet)),
            346.0 / busy.p95(),
        )
        .target("p95 at most 5 ms", busy.p95() <= 5.0),
    );
    Ok(())
}

fn name(number: usize) -> String {
    format!("a{number}")
}

struct Bench<'a> {
    herd: &'a Herd,
    sent: AtomicUsize,
}

impl Bench<'_> {
    /// A mark that is nowhere else, and a text that begins with it.
    fn text(&self, kind: Kind) -> (String, String) {
        let mark = format!("m{:06}", self.sent.fetch_add(1, Ordering::Relaxed));
        let text = match kind {
            Kind::Line | Kind::Urgent => format!("{mark} run the tests and fix what fails"),
            Kind::Turn => format!("{mark} run the tests and fix what fails\nSLEEP: 0.2"),
            Kind::Long => {
                let mut text = mark.clone();
                while text.len() < 4096 {
                    text.push_str(" and then look at the next file");
                }
                text.truncate(4096);
                text
            }
        };
        (mark, text)
    }

    /// Brings the agent into the state that the message is meant for.
    fn ready(&self, number: usize, kind: Kind) -> Result<()> {
        if kind == Kind::Urgent {
            self.post(
                &mut self.herd.link()?,
                number,
                "HOLD: /nonexistent/gate",
                "sequential",
            )?;
            self.herd.wait_for(&name(number), "working")?;
            // an agent that has only just begun shows it a moment later
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Sends, and waits for the proof.
    fn send(&self, number: usize, kind: Kind) -> Result<Duration> {
        let (_, text) = self.text(kind);
        let mode = if kind == Kind::Urgent {
            "urgent"
        } else {
            "sequential"
        };
        let mut link = self.herd.link()?;
        let began = Instant::now();
        self.post(&mut link, number, &text, mode)?;
        Ok(began.elapsed())
    }

    /// Sends to that many agents in the same moment: how long the last took.
    fn at_once(&self, agents: usize, kind: Kind) -> Result<Duration> {
        let barrier = Barrier::new(agents);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..agents)
                .map(|number| {
                    let barrier = &barrier;
                    scope.spawn(move || {
                        barrier.wait();
                        self.send(number, kind)
                    })
                })
                .collect();
            let mut last = Duration::ZERO;
            for thread in threads {
                last = last.max(thread.join().map_err(|_| "a sender panicked")??);
            }
            Ok(last)
        })
    }

    /// The least that it takes: one tmux command pastes and presses Enter for all of them, without a
    /// look before or after, and nothing is written down. Until the last agent's hook has told that
    /// its turn has begun.
    fn blindly(&self, agents: usize) -> Result<Duration> {
        let mut tmux = self.herd.env.command("tmux");
        tmux.arg("-S").arg(self.herd.env.tmux_socket());
        for number in 0..agents {
            let (target, text) = (format!("={}:", name(number)), self.text(Kind::Turn).1);
            if number > 0 {
                tmux.arg(";");
            }
            tmux.args(["set-buffer", "-b", "blind", "--", &text, ";"]);
            tmux.args(["paste-buffer", "-d", "-p", "-r", "-b", "blind", "-t"]);
            tmux.args([&target, ";", "send-keys", "-t", &target, "Enter"]);
        }
        let links = (0..agents)
            .map(|_| self.herd.link())
            .collect::<Result<Vec<_>>>()?;
        let asked = Barrier::new(agents + 1);
        std::thread::scope(|scope| {
            let told: Vec<_> = links
                .into_iter()
                .enumerate()
                .map(|(number, mut link)| {
                    let asked = &asked;
                    scope.spawn(move || -> Result<Instant> {
                        let target = format!(
                            "/sessions/{}/wait?for=working&timeout_ms=20000",
                            name(number)
                        );
                        asked.wait();
                        link.get(&target)?.json()?;
                        Ok(Instant::now())
                    })
                })
                .collect();
            asked.wait();
            let began = Instant::now();
            let typed = tmux.status()?;
            if !typed.success() {
                return Err("tmux refused".into());
            }
            let mut last = began;
            for thread in told {
                last = last.max(thread.join().map_err(|_| "who waits panicked")??);
            }
            Ok(last.duration_since(began))
        })
    }

    /// CPU time so far of the daemon, of tmux, and of the agents with all they have started.
    fn cpu(&self) -> Result<[Duration; 3]> {
        let mut tmux = self.herd.env.command("tmux");
        tmux.arg("-S").arg(self.herd.env.tmux_socket());
        let told = tmux.args(["display-message", "-p", "#{pid}"]).output()?;
        let server = String::from_utf8_lossy(&told.stdout).trim().parse()?;
        let mut agents = Duration::ZERO;
        for number in 0..CROWD {
            let pid = self.herd.session(&name(number))?["pid"]
                .as_u64()
                .and_then(|pid| u32::try_from(pid).ok())
                .ok_or("an agent without a process")?;
            agents += cost::cpu_of(pid)? + cost::cpu_of_ended_children(pid);
        }
        Ok([
            cost::cpu_of(self.herd.pid())?,
            cost::cpu_of(server)?,
            agents,
        ])
    }

    fn post(&self, link: &mut Link, number: usize, text: &str, mode: &str) -> Result<()> {
        let name = name(number);
        let id = format!("b{}-{number}", self.sent.fetch_add(1, Ordering::Relaxed));
        let body = json!({"id": id, "text": text, "mode": mode}).to_string();
        link.post(&format!("/sessions/{name}/messages"), &body)?
            .json()?;
        let target = format!("/sessions/{name}/messages/{id}?wait_ms=20000&until=submitted");
        let message = link.get(&target)?.json()?;
        match message["state"].as_str() {
            Some("submitted" | "consumed") => Ok(()),
            state => Err(format!("{id} to {name} is {state:?}: {}", message["reason"]).into()),
        }
    }

    /// As it was done before; until the agent has recorded the prompt.
    fn send_as_before(&self, number: usize, kind: Kind) -> Result<Duration> {
        let (mark, text) = self.text(kind);
        let mut log = Log::open(self.herd)?;
        let began = Instant::now();
        if kind == Kind::Urgent {
            self.keys(number, &["Escape"])?;
            std::thread::sleep(SETTLE);
        }
        self.keys(number, &["-l", &text])?;
        std::thread::sleep(SETTLE);
        self.keys(number, &["Enter"])?;
        log.wait_for(&mark)?;
        Ok(began.elapsed())
    }

    fn keys(&self, number: usize, keys: &[&str]) -> Result<()> {
        let mut tmux = self.herd.env.command("tmux");
        tmux.arg("-S").arg(self.herd.env.tmux_socket());
        let target = format!("={}:", name(number));
        let status = tmux
            .args(["send-keys", "-t", &target])
            .args(keys)
            .status()?;
        if status.success() {
            Ok(())
        } else {
            Err("tmux refused".into())
        }
    }

    fn all_idle(&self) -> Result<()> {
        (0..CROWD).try_for_each(|number| self.herd.wait_for(&name(number), "idle"))
    }

    /// Hooks of the last agent: turns that begin, use a tool and end.
    fn hooks(&self) -> Result<Samples> {
        let session = self.herd.session(&name(CROWD))?;
        let id = session["id"].as_str().unwrap_or_default().to_owned();
        let conversation = session["conversation_id"].clone();
        let mut link = self.herd.link()?;
        let mut samples = Samples::default();
        for number in 0..HOOKS {
            let event = ["UserPromptSubmit", "PostToolUse", "Stop"][number % 3];
            let body = json!({
                "session_id": conversation, "hook_event_name": event, "prompt": "go on",
                "tool_name": "Bash", "tool_input": {"command": "make"}, "stop_hook_active": false,
            });
            let headers = [
                (sm_client::wire::SESSION_HEADER, id.as_str()),
                (sm_client::wire::SECRET_HEADER, crate::herd::SECRET),
            ];
            let answer = link.ask(
                "POST",
                &format!("/hooks/claude/{event}"),
                &headers,
                &body.to_string(),
            )?;
            if answer.status != 200 {
                return Err(format!("a hook was answered with {}", answer.status).into());
            }
            samples.add(answer.took);
            std::thread::sleep(BETWEEN);
        }
        Ok(samples)
    }
}

/// What agents have recorded, from now on.
struct Log {
    file: std::fs::File,
    text: String,
}

impl Log {
    fn open(herd: &Herd) -> Result<Self> {
        let path = herd.env.fake_agent_log();
        let mut file = std::fs::File::options()
            .read(true)
            .append(true)
            .create(true)
            .open(path)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self {
            file,
            text: String::new(),
        })
    }

    fn wait_for(&mut self, mark: &str) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        while !self.text.contains(mark) {
            if Instant::now() > until {
                return Err(format!("{mark} did not reach the agent").into());
            }
            std::thread::sleep(Duration::from_micros(200));
            self.file.read_to_string(&mut self.text)?;
        }
        Ok(())
    }
}
