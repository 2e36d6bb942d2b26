//! A world for tests on real agent programs: a clean environment, a scripted model, and `sm` as a
//! person uses it. The person's hands are tmux keys; every wait is for evidence, with a deadline.
#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "each test file uses some of it"
)]

pub mod archive;
pub mod ask;
pub mod endings;
pub mod gate;
pub mod generate;
pub mod handoff;
pub mod joined;
pub mod ledger;
pub mod limits;
pub mod raw;
pub mod run;
pub mod terminal;
pub mod texts;
pub mod unattended;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use sm_client::http::Request as Ask;
use sm_client::{Client, Paths};
use sm_testkit::clean::{CleanEnv, binary};
use sm_testkit::model::{Request, ScriptedModel, is_main, texts_of};
use sm_testkit::process::Process;
use sm_testkit::real::{self, RealAgent};
use sm_testkit::wait_until;

/// Generous: several programs may be starting on a small machine.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Which program the sessions of a world run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agent {
    Claude,
    Codex,
}

impl Agent {
    fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }
}

/// Fields drop in order: first everything that runs, then the model it talks to.
pub struct World {
    pub env: CleanEnv,
    pub model: ScriptedModel,
    pub agent: Agent,
    client: Client,
    /// The `sm` that is run.
    program: PathBuf,
}

/// What a run of `sm` gave.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {}\n{}", self.out, self.err))
    }
}

impl World {
    /// A world with Claude Code, or `None` where it is not installed (which is said).
    pub fn claude(test: &str) -> Option<Self> {
        let agent = real::or_skip(test, real::claude())?;
        Some(Self::make(Agent::Claude, &agent, None))
    }

    /// A world with the newest Claude Code that was tried.
    pub fn claude_newest(test: &str) -> Option<Self> {
        let agent = real::or_skip(test, real::claude_newest())?;
        Some(Self::make(Agent::Claude, &agent, None))
    }

    /// As [`claude`](Self::claude), but `sm-hook` goes through a script: shell lines that may end it. `$hook` is the
    /// program itself, `$2` the event, `$state` a folder that the test writes to.
    pub fn claude_hooked(test: &str, script: &str) -> Option<Self> {
        let agent = real::or_skip(test, real::claude())?;
        Some(Self::make(Agent::Claude, &agent, Some(script)))
    }

    /// A world with Codex, or `None` where it is not installed (which is said).
    pub fn codex(test: &str) -> Option<Self> {
        let agent = real::or_skip(test, real::codex())?;
        Some(Self::make(Agent::Codex, &agent, None))
    }

    /// As [`claude_hooked`](Self::claude_hooked).
    pub fn codex_hooked(test: &str, script: &str) -> Option<Self> {
        let agent = real::or_skip(test, real::codex())?;
        Some(Self::make(Agent::Codex, &agent, Some(script)))
    }

    fn make(kind: Agent, agent: &RealAgent, script: Option<&str>) -> Self {
        let mut env = CleanEnv::new().unwrap();
        let hook = binary("sm-hook").unwrap();
        let mut program = binary("sm").unwrap();
        if let Some(script) = script {
            program = wrap(&mut env, &program, &hook, script);
        }
        let model = ScriptedModel::start().unwrap();
        let cwd = env.project();
        let vars = match kind {
            Agent::Claude => real::claude_home(agent, env.home(), &cwd, &model.url()),
            Agent::Codex => real::codex_home(env.home(), &cwd, &model.url()),
        };
        for (name, value) in vars.unwrap() {
            if !matches!(name.as_str(), "PATH" | "HOME") {
                env.set(&name, value);
            }
        }
        env.set("SM_LOG", "debug");
        // Codex runs its commands in a login shell, whose PATH is the profile's
        let programs = program.parent().unwrap().display();
        let profile = format!("PATH='{programs}':\"$PATH\"\nexport PATH\n");
        std::fs::write(env.home().join(".profile"), profile).unwrap();
        let its = json!(agent.program.to_string_lossy());
        // a draft that stays is what many tests are about: a message goes in beside it at once
        let config = format!(
            "delivery.wait_for_draft = \"\"\n[agents.{}]\nprogram = {its}\n",
            kind.word()
        );
        std::fs::write(env.sm_home().join("config.toml"), config).unwrap();
        let home = env.sm_home().as_os_str().to_owned();
        let uid = rustix::process::getuid().as_raw();
        let paths = Paths::resolve(|key| (key == "SM_HOME").then(|| home.clone()), uid).unwrap();
        Self {
            env,
            model,
            agent: kind,
            client: Client::new(paths),
            program,
        }
    }

    /// Drafts are waited for as they are by default. Before the first command.
    pub fn with_default_patience(self) -> Self {
        let path = self.env.sm_home().join("config.toml");
        let config = std::fs::read_to_string(&path).unwrap();
        let (first, rest) = config.split_once('\n').unwrap();
        assert!(first.starts_with("delivery.wait_for_draft"), "{first}");
        std::fs::write(path, rest).unwrap();
        self
    }

    /// Claude Code is logged in with an account, not with a key. Before the first command.
    pub fn with_account(mut self) -> Self {
        real::claude_account(self.env.home()).unwrap();
        self.env.unset("ANTHROPIC_API_KEY");
        self
    }

    /// Nobody has logged in. Before the first command.
    pub fn without_login(mut self) -> Self {
        self.env.unset("ANTHROPIC_API_KEY");
        self
    }

    // ── sm

    pub fn sm(&self, args: &[&str]) -> Ran {
        self.sm_with(args, "")
    }

    pub fn sm_with(&self, args: &[&str], stdin: &str) -> Ran {
        let mut command = self.env.command(&self.program);
        command
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        // it may end without reading
        let _ = pipe.write_all(stdin.as_bytes());
        drop(pipe);
        let Output {
            status,
            stdout,
            stderr,
        } = child.wait_with_output().unwrap();
        Ran {
            code: status.code(),
            out: String::from_utf8(stdout).unwrap(),
            err: String::from_utf8(stderr).unwrap(),
        }
    }

    /// Starts a session in the project's folder; `args` go to `sm new` (after `--`: to the agent).
    #[track_caller]
    pub fn start(&self, name: &str, args: &[&str]) -> Value {
        let mut all = vec![
            "new",
            self.agent.word(),
            "--name",
            name,
            "--detach",
            "--json",
        ];
        all.extend(args);
        self.sm(&all).exits(0).json()
    }

    /// Starts a session and waits until it is idle.
    #[track_caller]
    pub fn start_idle(&self, name: &str, args: &[&str]) -> Value {
        self.start(name, args);
        self.wait_state(name, "idle")
    }

    #[track_caller]
    pub fn show(&self, session: &str) -> Value {
        self.sm(&["show", session, "--json"]).exits(0).json()
    }

    /// Waits by `sm wait`; what `sm show` says then.
    #[track_caller]
    pub fn wait_state(&self, session: &str, state: &str) -> Value {
        let seconds = DEADLINE.as_secs().to_string();
        let ran = self.sm(&["wait", session, "--for", state, "--timeout", &seconds]);
        assert_eq!(
            ran.code,
            Some(0),
            "{session} never became {state}: {}\n{}",
            ran.err,
            self.about(session)
        );
        self.show(session)
    }

    /// Sends with `sm send --json` and gives the message's id.
    #[track_caller]
    pub fn send(&self, session: &str, text: &str, args: &[&str]) -> String {
        let mut all = vec!["send", session, "--json"];
        all.extend(args);
        all.push("-");
        let sent = self.sm_with(&all, text).exits(0).json();
        sent["id"].as_str().unwrap().to_owned()
    }

    /// Sends with `sm send --wait` and gives the message, which the agent then has.
    #[track_caller]
    pub fn send_wait(&self, session: &str, text: &str, args: &[&str]) -> Value {
        let mut all = vec!["send", session, "--json", "--wait", "60"];
        all.extend(args);
        all.push("-");
        let ran = self.sm_with(&all, text);
        assert_eq!(ran.code, Some(0), "{}\n{}", ran.err, self.about(session));
        self.message(session, ran.json()["id"].as_str().unwrap())
    }

    /// Hands a message with an id of its own to the daemon, and comes back as soon as it was
    /// accepted.
    #[track_caller]
    pub fn post(&self, session: &str, id: &str, text: &str) {
        self.post_mode(session, id, text, "sequential");
    }

    #[track_caller]
    pub fn post_mode(&self, session: &str, id: &str, text: &str, mode: &str) {
        let body = json!({"id": id, "text": text, "mode": mode}).to_string();
        let target = format!("/sessions/{session}/messages");
        let request = Ask::post(&target).json(body.as_bytes());
        let until = Instant::now() + DEADLINE;
        let response = self.client.request(&request, until).unwrap();
        assert!(response.is_success(), "{}", response.text());
    }

    /// What is known of a message.
    #[track_caller]
    pub fn message(&self, session: &str, id: &str) -> Value {
        self.ask(&format!("/sessions/{session}/messages/{id}"))
    }

    /// Waits until a message has come this far.
    #[track_caller]
    pub fn wait_message(&self, session: &str, id: &str, until: &str) -> Value {
        let at = wait_until(DEADLINE, || {
            let message = self.message(session, id);
            (rank(&message) >= rank(&json!({"state": until}))).then_some(message)
        });
        let at = at.unwrap_or_else(|| {
            panic!(
                "{id} is not {until}: {}\n{}",
                self.message(session, id),
                self.about(session)
            )
        });
        assert_ne!(at["state"], "failed", "{at}\n{}", self.about(session));
        at
    }

    /// Waits until the message is held, and gives the reason.
    #[track_caller]
    pub fn wait_held(&self, session: &str, id: &str) -> String {
        let held = wait_until(DEADLINE, || {
            let message = self.message(session, id);
            (message["state"] == "held").then(|| message["reason"].as_str().unwrap().to_owned())
        });
        held.unwrap_or_else(|| panic!("{id} was not held\n{}", self.about(session)))
    }

    /// Asks the daemon by its socket, starting it if need be, as every command does.
    #[track_caller]
    pub fn ask(&self, target: &str) -> Value {
        for _ in 0..3 {
            let until = Instant::now() + Duration::from_secs(10);
            match self.client.request(&Ask::get(target), until) {
                Ok(response) => {
                    assert!(response.is_success(), "{target}: {}", response.text());
                    return serde_json::from_slice(&response.body).unwrap();
                }
                // a command starts it again
                Err(_) => drop(self.sm(&["ls"])),
            }
        }
        panic!("the daemon does not answer {target}")
    }

    /// The same, but the daemon may be away, or not know of it yet.
    pub fn seek(&self, target: &str) -> Option<Value> {
        let until = Instant::now() + Duration::from_secs(10);
        let response = self.client.request(&Ask::get(target), until).ok()?;
        let found = response.is_success().then_some(response.body)?;
        serde_json::from_slice(&found).ok()
    }

    /// The texts of the session's events, oldest first.
    pub fn events(&self, session: &str) -> Vec<String> {
        let events = self.ask(&format!("/sessions/{session}/events?limit=1000"));
        let events = events.as_array().cloned().unwrap_or_default();
        events
            .iter()
            .map(|e| {
                format!(
                    "{} {} {}",
                    e["at"].as_str().unwrap_or_default(),
                    e["kind"].as_str().unwrap_or_default(),
                    e["text"].as_str().unwrap_or_default()
                )
            })
            .collect()
    }

    /// For the message of a failed test.
    pub fn about(&self, session: &str) -> String {
        let show = self.sm(&["show", session, "--json"]);
        format!(
            "── session\n{}{}── events\n{}\n── screen\n{}",
            show.out,
            show.err,
            self.events(session).join("\n"),
            self.try_screen(session).unwrap_or_else(|why| why)
        )
    }

    // ── the daemon

    /// The daemon that holds the lock.
    pub fn daemon(&self) -> Option<Process> {
        let text = std::fs::read_to_string(self.client.paths().lock_file()).ok()?;
        Process::find(Pid::from_raw(text.trim().parse().ok()?)?).filter(Process::is_alive)
    }

    /// `kill -9`, and its end awaited.
    #[track_caller]
    pub fn kill_daemon(&self) {
        let daemon = self.daemon().expect("a daemon runs");
        daemon.kill();
        let gone = wait_until(DEADLINE, || (!daemon.is_alive()).then_some(()));
        assert!(gone.is_some(), "the daemon survives SIGKILL");
    }

    #[track_caller]
    pub fn signal_daemon(&self, signal: Signal) {
        self.daemon().expect("a daemon runs").signal(signal);
    }

    // ── what the model was given

    /// Waits for the first request of a main conversation that holds this text.
    #[track_caller]
    pub fn request_with(&self, text: &str) -> Request {
        let found = self
            .model
            .wait_for_request(|r| is_main(r) && occurrences(r, text) > 0, DEADLINE);
        found.unwrap_or_else(|| panic!("the model never got {:?}", shorten(text)))
    }

    /// The requests of main conversations so far.
    pub fn main_requests(&self) -> Vec<Request> {
        let all = self.model.requests().into_iter();
        all.filter(is_main).collect()
    }

    #[track_caller]
    pub fn hold(&self, name: &str) {
        assert!(self.model.wait_for_hold(name, DEADLINE), "no hold {name}");
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.client.paths().daemon_log()).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            eprintln!("── daemon.log");
            for line in &lines[lines.len().saturating_sub(60)..] {
                eprintln!("{}", shorten(line));
            }
        }
    }
}

/// An `sm` of its own, beside which a script lies in the place of `sm-hook`.
fn wrap(env: &mut CleanEnv, sm: &Path, hook: &Path, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let dir = env.path().join("bin");
    std::fs::create_dir(&dir).unwrap();
    let program = dir.join("sm");
    // a link: a copy of a program that is being run elsewhere may find it busy
    if std::fs::hard_link(sm, &program).is_err() {
        std::fs::copy(sm, &program).unwrap();
    }
    let state = dir.display();
    let hook = hook.display();
    let text =
        format!("#!/bin/sh\nhook='{hook}'\nstate='{state}'\n{script}\nexec \"$hook\" \"$@\"\n");
    let script = dir.join("sm-hook");
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = env.env().into_iter().find(|(name, _)| name == "PATH");
    let path = path.map(|(_, value)| value).unwrap_or_default();
    env.set("PATH", format!("{}:{path}", dir.display()));
    program
}

/// How often a text stands in what the model was shown.
pub fn occurrences(request: &Request, text: &str) -> usize {
    texts_of(request)
        .iter()
        .map(|t| t.matches(text).count())
        .sum()
}

fn rank(message: &Value) -> usize {
    match message["state"].as_str().unwrap_or_default() {
        "written" => 1,
        "submitted" => 2,
        "consumed" => 3,
        "failed" | "expired" | "withdrawn" => 4,
        _ => 0,
    }
}

pub fn shorten(text: &str) -> String {
    text.chars().take(300).collect()
}
