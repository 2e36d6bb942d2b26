//! `make demo`: the main job of sm, shown on a throw-away instance with a real daemon, a real tmux
//! and a small scripted agent that speaks Claude Code's hooks. No account, no key, under a minute.
//!
//! It must never touch the person's own instance: everything happens below one temporary folder,
//! and everything that was started is ended.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use sm_testkit::clean::{CleanEnv, binary};
use sm_testkit::wait_until;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const PATIENCE: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    let began = Instant::now();
    match Demo::new().and_then(|mut demo| demo.run()) {
        Ok(()) => {
            println!(
                "\nThat took {:.0} seconds, and nothing of it is left behind.",
                began.elapsed().as_secs_f32()
            );
            println!("{NEXT}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("\nThe demo did not get to its end: {error}");
            eprintln!(
                "That is a bug, or something is missing here: `target/release/sm doctor` says more."
            );
            ExitCode::FAILURE
        }
    }
}

const NEXT: &str = "
What to try next:
  make install                         put sm into ~/.local/bin
  sm doctor                            see what works on this machine
  sm new claude --name api             start Claude Code as a durable session (or: codex, or -- any program)
  sm send api \"run the tests\" --wait   give it something to do, and see the proof
  sm                                   all sessions at a glance
  sm handoff --template                what an agent writes down before it hands off to a fresh context
  docs/guide.md#handing-off            the paragraph for your CLAUDE.md that tells agents of it";

/// What every successor is told, and the document it is told to read.
const WAKE: &str = "notes.md and continue from where you left off.";
const NOTES: &str = "Rotating the keys: staging is done; production is next, see step 3.";
/// The scripted agent clears its context this slowly, so that there is a moment to be killed in.
const SLOW_CLEAR: &str = "slow_clear_ms=1000";

struct Demo {
    env: CleanEnv,
    bold: bool,
}

impl Demo {
    fn new() -> Result<Self> {
        let mut env = CleanEnv::new()?;
        env.record_fake_agents();
        env.set("FAKE_AGENT", SLOW_CLEAR);
        env.serve_tcp()?;
        let agent = binary("fake-agent")?;
        let config = format!(
            "[agents.claude]\nprogram = {:?}\n",
            agent.display().to_string()
        );
        std::fs::write(env.sm_home().join("config.toml"), config)?;
        Ok(Self {
            env,
            bold: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        })
    }

    fn run(&mut self) -> Result<()> {
        self.start()?;
        self.first_message()?;
        self.while_it_works()?;
        self.a_draft()?;
        self.a_dialog()?;
        self.daemon_killed()?;
        let gate = self.hand_off()?;
        self.killed_between_contexts(&gate)?;
        self.history()?;
        self.account()?;
        self.dashboard()?;
        self.sm(&["stop", "--purge", "--yes"])?;
        Ok(())
    }

    fn start(&self) -> Result<()> {
        self.title("1. A session: an agent in tmux that outlives terminals and the daemon");
        self.say("The agent here is a small scripted stand-in for Claude Code; the daemon, tmux and hooks are real.");
        self.show(&["new", "claude", "--name", "worker", "--detach"])?;
        self.quiet(&["wait", "worker", "--for", "idle", "--timeout", "20"])?;
        self.show(&[])
    }

    fn first_message(&self) -> Result<()> {
        self.title("2. A message, and the proof that it arrived");
        self.say("\"Delivered\" means that the agent's own hook has reported the prompt, not that keys were pressed.");
        self.show(&["send", "worker", "SAY: I am on it", "--wait"])?;
        self.quiet(&["wait", "worker", "--for", "idle", "--timeout", "20"])
    }

    fn while_it_works(&self) -> Result<()> {
        self.title("3. The agent is working: nothing is typed into it");
        let gate = self.env.path().join("gate");
        let work = format!(
            "RUN: while [ ! -e {} ]; do sleep 0.05; done",
            gate.display()
        );
        self.quiet(&["send", "worker", &work, "--wait"])?;
        self.quiet(&["wait", "worker", "--for", "working", "--timeout", "20"])?;
        self.show(&["send", "worker", "and then update the changelog"])?;
        self.say("An important one does not wait: it joins the running turn through the agent's next hook.");
        self.show(&[
            "send",
            "worker",
            "the API key was rotated, re-read .env",
            "--mode",
            "important",
        ])?;
        std::fs::write(&gate, "")?;
        self.arrived("the API key was rotated")?;
        self.arrived("update the changelog")?;
        self.quiet(&["wait", "worker", "--for", "idle", "--timeout", "20"])?;
        self.say("Both arrived: one inside the turn, one at its end.");
        self.show(&["queue", "ls", "worker"])
    }

    fn a_draft(&self) -> Result<()> {
        self.title("4. You are typing: your half-typed line is sacred");
        let draft = "please DO NOT delete the prod";
        self.type_as_person(draft)?;
        self.say(&format!(
            "You have typed \"{draft}\" and not pressed Enter. Somebody sends a message:"
        ));
        self.show(&["send", "worker", "hi from the other session", "--wait"])?;
        self.quiet(&["wait", "worker", "--for", "idle", "--timeout", "20"])?;
        let screen = self.output(&["output", "worker", "--lines", "12"])?;
        let kept = screen
            .lines()
            .any(|line| line.contains('❯') && line.trim_end().ends_with(draft));
        if !kept {
            return Err("the draft is not in the composer any more".into());
        }
        self.say("It went in through the agent's mailbox; your line still stands there, unsent:");
        self.print(
            screen
                .lines()
                .rfind(|line| line.contains(draft))
                .unwrap_or_default(),
        );
        self.person_key("C-c")
    }

    fn a_dialog(&self) -> Result<()> {
        self.title("5. The agent asks for permission: nobody answers it but you");
        self.quiet(&["send", "worker", "ASK: echo deployed", "--wait"])?;
        self.quiet(&["wait", "worker", "--for", "waiting", "--timeout", "20"])?;
        self.show(&["send", "worker", "one more thing"])?;
        self.show(&[])?;
        self.say("You answer the dialog yourself; the message follows by itself.");
        self.person_key("Enter")?;
        self.arrived("one more thing")?;
        self.quiet(&["wait", "worker", "--for", "idle", "--timeout", "20"])
    }

    fn daemon_killed(&self) -> Result<()> {
        self.title("6. The daemon is killed (kill -9) in the middle of it all");
        let gate = self.env.path().join("second-gate");
        let work = format!(
            "RUN: while [ ! -e {} ]; do sleep 0.05; done",
            gate.display()
        );
        self.quiet(&["send", "worker", &work, "--wait"])?;
        self.quiet(&["send", "worker", "queued before the crash"])?;
        self.kill_daemon()?;
        self.say("The agent does not notice. The turn ends while there is no daemon; then a command starts it again:");
        std::fs::write(&gate, "")?;
        self.show(&["send", "worker", "sent after the crash", "--wait"])?;
        self.arrived("queued before the crash")?;
        self.arrived("sent after the crash")?;
        self.quiet(&["wait", "worker", "--for", "idle", "--timeout", "20"])
    }

    /// The agent hands its work to a fresh context, by its own tool calls; until its turn ends.
    fn hand_off(&self) -> Result<PathBuf> {
        self.title("7. The context is full: the agent hands its work to a fresh one, by itself");
        let gate = self.env.path().join("third-gate");
        let write = format!("echo '{NOTES}' > notes.md");
        let work = format!(
            "RUN: {write}\nRUN: sm handoff notes.md\nHOLD: {}\nSAY: I have handed off",
            gate.display()
        );
        self.say("In its turn the agent writes down where the work stands, and then runs its last command:");
        self.quiet(&["send", "worker", &work, "--wait"])?;
        self.command_line(&write);
        self.command_line("sm handoff notes.md");
        self.until_handoff("scheduled")?;
        self.print("Handoff scheduled — will execute after current turn completes");
        self.say(
            "It is on disk. From now on every message waits for the successor, whatever its mode:",
        );
        self.show(&["send", "worker", "and tell ops when it is done"])?;
        Ok(gate)
    }

    fn killed_between_contexts(&self, gate: &Path) -> Result<()> {
        self.title("8. The daemon is killed again: in the middle of the handoff");
        self.say("The turn ends. Terminal and transcript are saved, then the context is cleared …");
        std::fs::write(gate, "")?;
        let clearing = wait_until(PATIENCE, || {
            let screen = self.output(&["output", "worker", "--lines", "30"]).ok()?;
            screen.contains("❯ /clear").then_some(())
        });
        clearing.ok_or("the context was not cleared")?;
        self.kill_daemon()?;
        self.say("… and nobody is there to see it. The hook of the new context starts the daemon again, which goes on:");
        // no command of ours brings it back
        self.arrived(WAKE)?;
        self.until_handoff("done")?;
        self.arrived("tell ops")?;
        self.quiet(&["wait", "worker", "--for", "idle", "--timeout", "20"])?;
        let given = self.env.fake_agent_records();
        let wake = given.iter().position(|r| r.text.contains(WAKE));
        let ops = given.iter().rposition(|r| r.text.contains("tell ops"));
        let (Some(wake), Some(ops)) = (wake, ops) else {
            return Err("the agent did not record its prompt".into());
        };
        let fresh = given[wake].conversation.as_str();
        let before = given[..wake].iter().any(|r| r.conversation == fresh);
        if before || ops <= wake || given[ops].conversation != fresh {
            return Err("the successor did not get its prompt first".into());
        }
        self.say("What the successor was told, first of all:");
        given[wake].text.lines().for_each(|line| self.print(line));
        self.say("Only then, after its first turn, the message that had waited.");
        Ok(())
    }

    fn history(&self) -> Result<()> {
        self.title("9. The history: what was handed over, and everything from before");
        self.show(&["handoffs", "worker"])?;
        let id = self.handoff()?["id"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        self.show(&["handoffs", "show", &id])?;
        self.say("Nothing of the old context is gone: the whole terminal can be searched, from the first byte.");
        self.show(&["archive", "worker", "grep", "I am on it"])
    }

    /// The newest handoff.
    fn handoff(&self) -> Result<serde_json::Value> {
        let all = self.output(&["handoffs", "worker", "--json"])?;
        let all: serde_json::Value = serde_json::from_str(&all)?;
        Ok(all[0].clone())
    }

    fn until_handoff(&self, state: &str) -> Result<()> {
        let mut last = serde_json::Value::Null;
        let reached = wait_until(PATIENCE, || {
            last = self.handoff().ok()?;
            (last["state"] == state).then_some(())
        });
        reached.ok_or_else(|| format!("the handoff is not {state}: {last:#}").into())
    }

    /// Everything that was sent, counted in the agent's own record.
    fn account(&self) -> Result<()> {
        self.title("10. The account: what the agent itself says it was given");
        let sent = [
            "I am on it",
            "update the changelog",
            "the API key was rotated",
            "hi from the other session",
            "one more thing",
            "queued before the crash",
            "sent after the crash",
            WAKE,
            "tell ops when it is done",
        ];
        let mut wrong = String::new();
        for text in sent {
            let count = self.times(text);
            self.print(&format!("{count} × {text}"));
            if count != 1 {
                let _ = write!(wrong, "{text:?} {count} times; ");
            }
        }
        if !wrong.is_empty() {
            return Err(format!("not exactly once: {wrong}").into());
        }
        self.say("Each exactly once: nothing lost, nothing doubled, no draft touched, no dialog answered.");
        self.show(&["events", "worker", "--last", "10"])
    }

    /// Offered, not opened: somebody who runs this over ssh or in a script wants no browser.
    fn dashboard(&self) -> Result<()> {
        self.title("11. The same in a browser");
        let asks = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        if !asks {
            self.say(
                "At a terminal, the demo now offers its dashboard. For your own sessions: sm open",
            );
            return Ok(());
        }
        loop {
            print!("  o and Enter: open the dashboard of this demo; Enter alone: end it. ");
            std::io::stdout().flush()?;
            let mut answer = String::new();
            std::io::stdin().read_line(&mut answer)?;
            if !answer.trim().eq_ignore_ascii_case("o") {
                return Ok(());
            }
            self.command_line("sm open");
            let mut open = self.env.sm()?;
            open.arg("open");
            // a browser of the person's own needs their screen
            for name in [
                "DISPLAY",
                "WAYLAND_DISPLAY",
                "XAUTHORITY",
                "XDG_RUNTIME_DIR",
                "BROWSER",
                "SSH_CONNECTION",
            ] {
                if let Some(value) = std::env::var_os(name) {
                    open.env(name, value);
                }
            }
            open.status()?;
        }
    }

    // ── the person at the terminal

    fn type_as_person(&self, text: &str) -> Result<()> {
        self.tmux(&["send-keys", "-t", "=worker:", "-l", text])?;
        let typed = wait_until(PATIENCE, || {
            self.output(&["output", "worker", "--lines", "12"])
                .ok()?
                .contains(text)
                .then_some(())
        });
        typed.ok_or_else(|| "the typed text did not appear".into())
    }

    fn person_key(&self, key: &str) -> Result<()> {
        self.tmux(&["send-keys", "-t", "=worker:", key])
    }

    fn tmux(&self, args: &[&str]) -> Result<()> {
        let mut tmux = self.env.command("tmux");
        tmux.arg("-S").arg(self.env.tmux_socket()).args(args);
        if tmux.status()?.success() {
            Ok(())
        } else {
            Err("tmux refused".into())
        }
    }

    // ── what the agent got

    fn times(&self, text: &str) -> usize {
        // a successor's prompt tells of the messages that wait for it; that is not their arrival
        let arrival = |given: &str| text == WAKE || !given.contains(WAKE);
        let records = self.env.fake_agent_records();
        let arrivals = records.iter().filter(|record| arrival(&record.text));
        arrivals
            .map(|record| record.text.matches(text).count())
            .sum()
    }

    fn arrived(&self, text: &str) -> Result<()> {
        wait_until(PATIENCE, || (self.times(text) > 0).then_some(()))
            .ok_or_else(|| format!("{text:?} did not arrive").into())
    }

    fn kill_daemon(&self) -> Result<()> {
        let pid = self.daemon_pid()?.to_string();
        self.command_line(&format!("kill -9 {pid}"));
        Command::new("kill").args(["-9", &pid]).status()?;
        Ok(())
    }

    fn daemon_pid(&self) -> Result<u32> {
        let status = self.output(&["status", "--json"])?;
        let status: serde_json::Value = serde_json::from_str(&status)?;
        let pid = status
            .get("pid")
            .and_then(serde_json::Value::as_u64)
            .ok_or("no pid in the status")?;
        Ok(u32::try_from(pid)?)
    }

    // ── sm

    fn output(&self, args: &[&str]) -> Result<String> {
        let output = self.env.sm()?.args(args).output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("sm {}: {}", args.join(" "), said.trim()).into());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn sm(&self, args: &[&str]) -> Result<()> {
        self.output(args).map(drop)
    }

    fn quiet(&self, args: &[&str]) -> Result<()> {
        self.sm(args)
    }

    /// Runs a command as a person would and shows what it says.
    fn show(&self, args: &[&str]) -> Result<()> {
        let quoted: Vec<String> = args
            .iter()
            .map(|arg| {
                if arg.contains([' ', '$']) {
                    format!("\"{arg}\"")
                } else {
                    (*arg).to_string()
                }
            })
            .collect();
        self.command_line(&format!("sm {}", quoted.join(" ")));
        for line in self.output(args)?.lines() {
            self.print(line);
        }
        Ok(())
    }

    // ── telling

    fn title(&self, text: &str) {
        if self.bold {
            println!("\n\x1b[1m{text}\x1b[0m")
        } else {
            println!("\n{text}")
        }
        let _ = std::io::stdout().flush();
    }

    fn say(&self, text: &str) {
        println!("  {text}");
    }

    fn command_line(&self, text: &str) {
        if self.bold {
            println!("  \x1b[36m$ {}\x1b[0m", text.trim_end())
        } else {
            println!("  $ {}", text.trim_end())
        }
    }

    fn print(&self, line: &str) {
        println!("    {line}");
    }
}
