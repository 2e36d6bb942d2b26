//! One test's world: a fresh home, a daemon and tmux of its own, fake agents in it, and a person
//! who runs `sm` and types. A failing test shows sessions, screens, events and the daemon's log.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::Value;
use sm_client::http::Request;
use sm_client::{Client, Paths};
use sm_testkit::clean::{CleanEnv, Record, RecordKind, binary};
use sm_testkit::process::Process;
use sm_testkit::wait_until;

/// Generous: many programs may be starting on a small machine.
pub const DEADLINE: Duration = Duration::from_secs(60);

pub struct World {
    pub env: CleanEnv,
}

/// What a run of `sm` gave.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }
    #[track_caller]
    pub fn says(self, part: &str) -> Self {
        assert!(self.out.contains(part), "no {part:?} in {}", self.out);
        self
    }
    #[track_caller]
    pub fn complains(self, part: &str) -> Self {
        assert!(self.err.contains(part), "no {part:?} in {}", self.err);
        self
    }
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).expect(&self.out)
    }
}

/// A draft that stays is what many tests are about: a message goes in beside it at once.
const NO_WAIT_FOR_DRAFTS: &str = "delivery.wait_for_draft = \"\"\n";

impl World {
    pub fn new() -> Self {
        Self::with_config("")
    }

    /// `more` is appended to a config that puts the fake agent in Claude Code's place.
    pub fn with_config(more: &str) -> Self {
        let mut env = CleanEnv::new().unwrap();
        env.record_fake_agents();
        env.set("SM_LOG", "debug");
        let world = Self { env };
        world.configure(more);
        world
    }

    pub fn configure(&self, more: &str) {
        let fake = binary("fake-agent").unwrap();
        // a fake agent must not look like one that is installed: the real ones are left alone
        let config = format!(
            "{NO_WAIT_FOR_DRAFTS}[agents.claude]\nprogram = {:?}\n{more}",
            fake.to_str().unwrap()
        );
        std::fs::create_dir_all(self.env.sm_home()).unwrap();
        std::fs::write(self.config_file(), config).unwrap();
    }

    pub fn config_file(&self) -> PathBuf {
        self.env.sm_home().join("config.toml")
    }

    /// Programs of sm's in a folder of their own, with a script in the place of the one that has a
    /// model write documents. Gives the `sm` there.
    pub fn install_writer(&mut self, script: &str) -> PathBuf {
        let programs = self.env.home().join("programs");
        std::fs::create_dir(&programs).unwrap();
        for name in ["sm", "sm-hook"] {
            let (from, to) = (binary(name).unwrap(), programs.join(name));
            if std::fs::hard_link(&from, &to).is_err() {
                std::fs::copy(&from, &to).unwrap();
            }
        }
        let writer = programs.join("sm-agent");
        std::fs::write(&writer, script).unwrap();
        std::fs::set_permissions(&writer, PermissionsExt::from_mode(0o755)).unwrap();
        let sm = programs.join("sm");
        self.env.set("SM_BIN", sm.to_string_lossy().into_owned());
        sm
    }

    // ── sm

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.env.sm().unwrap();
        command.args(args);
        command
    }

    pub fn sm(&self, args: &[&str]) -> Ran {
        Ran::from(self.command(args).output().unwrap())
    }

    /// With a text on its standard input.
    pub fn sm_given(&self, args: &[&str], text: &str) -> Ran {
        let mut command = self.command(args);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(text.as_bytes()).unwrap();
        drop(stdin);
        Ran::from(child.wait_with_output().unwrap())
    }

    /// A fake agent that has reached idle, with all that is known of it then.
    #[track_caller]
    pub fn agent(&self, name: &str) -> Value {
        self.sm(&["new", "claude", "--name", name, "--detach"])
            .exits(0);
        self.ready(name)
    }

    /// Waits until a session is idle, and its process and terminal are known: an agent's own first
    /// hook may be faster than the report of its start.
    #[track_caller]
    pub fn ready(&self, name: &str) -> Value {
        self.wait_for(name, "idle");
        eventually("its process and terminal are known", || {
            let shown = self.show(name);
            shown["pid"].is_u64() && shown["tmux"]["pane"].is_string()
        });
        self.show(name)
    }

    #[track_caller]
    pub fn show(&self, session: &str) -> Value {
        self.sm(&["show", session, "--json"]).exits(0).json()
    }

    #[track_caller]
    pub fn wait_for(&self, session: &str, states: &str) -> Value {
        let seconds = DEADLINE.as_secs().to_string();
        let wait = [
            "wait",
            session,
            "--for",
            states,
            "--timeout",
            &seconds,
            "--json",
        ];
        self.sm(&wait).exits(0).json()
    }

    /// Sends a text and gives its receipt at once.
    #[track_caller]
    pub fn send(&self, session: &str, mode: &str, text: &str) -> Value {
        let args = ["send", session, "--mode", mode, "--json", "-"];
        self.sm_given(&args, text).exits(0).json()
    }

    /// Sends a text and waits for the proof that the agent has it.
    #[track_caller]
    pub fn send_wait(&self, session: &str, text: &str) -> Value {
        let args = ["send", session, "--wait", "60", "--json", "-"];
        self.sm_given(&args, text).exits(0).json()
    }

    #[track_caller]
    pub fn message(&self, session: &str, id: &str) -> Value {
        self.get(&format!("/sessions/{session}/messages/{id}"))
    }

    /// Waits until a message has one of these states.
    #[track_caller]
    pub fn wait_for_message(&self, session: &str, id: &str, states: &[&str]) -> Value {
        let mut last = Value::Null;
        let found = wait_until(DEADLINE, || {
            last = self.message(session, id);
            states
                .contains(&text(&last["state"]).as_str())
                .then(|| last.clone())
        });
        found.unwrap_or_else(|| panic!("not one of {states:?}: {last}"))
    }

    /// What the daemon recorded of a session: `kind: text` in order.
    #[track_caller]
    pub fn events(&self, session: &str) -> Vec<String> {
        let events = self.get(&format!("/sessions/{session}/events?limit=1000"));
        let lines = events.as_array().cloned().unwrap_or_default();
        lines
            .iter()
            .map(|e| format!("{}: {}", text(&e["kind"]), text(&e["text"])))
            .collect()
    }

    #[track_caller]
    pub fn get(&self, target: &str) -> Value {
        self.ask(&Request::get(target)).1
    }

    /// Status and JSON of an answer.
    #[track_caller]
    pub fn ask(&self, request: &Request<'_>) -> (u16, Value) {
        let client = Client::new(self.paths());
        let until = Instant::now() + Duration::from_secs(20);
        let answer = client.request(request, until).unwrap();
        let json = serde_json::from_str(&answer.text()).unwrap_or(Value::Null);
        (answer.status(), json)
    }

    pub fn paths(&self) -> Paths {
        let home = self
            .env
            .env()
            .into_iter()
            .find(|(name, _)| name == "SM_HOME")
            .map(|(_, value)| OsString::from(value));
        let get = |name: &str| (name == "SM_HOME").then(|| home.clone()).flatten();
        Paths::resolve(get, rustix::process::getuid().as_raw()).unwrap()
    }

    // ── the daemon

    #[track_caller]
    pub fn daemon(&self) -> Process {
        process(&self.sm(&["status", "--json"]).exits(0).json()["pid"])
    }

    /// `kill -9`, and nothing of it is left.
    #[track_caller]
    pub fn kill_daemon(&self) {
        end(&self.daemon(), Signal::KILL);
    }

    /// Whether a daemon answers now; starts none.
    pub fn is_served(&self) -> bool {
        self.sm(&["status"]).code == Some(0)
    }

    // ── what the agents were given

    pub fn records(&self) -> Vec<Record> {
        self.env.fake_agent_records()
    }

    /// How often a text was given to an agent, by whatever way.
    pub fn times(&self, part: &str) -> usize {
        self.records()
            .iter()
            .map(|record| record.text.matches(part).count())
            .sum()
    }

    #[track_caller]
    pub fn given(&self, part: &str) -> Record {
        let found = wait_until(DEADLINE, || {
            self.records().into_iter().find(|r| r.text.contains(part))
        });
        found.unwrap_or_else(|| panic!("no agent was given {part:?}: {:?}", self.records()))
    }

    /// The text was given once, exactly as it is, this way.
    #[track_caller]
    pub fn once(&self, kind: RecordKind, part: &str) {
        let found = self.given(part);
        assert_eq!((self.times(part), found.kind), (1, kind), "{part:?}");
    }

    // ── the person at the terminal

    #[track_caller]
    pub fn pane(&self, session: &str) -> Pane<'_> {
        let pane = text(&self.show(session)["tmux"]["pane"]);
        assert!(!pane.is_empty(), "{session} has no pane");
        Pane { world: self, pane }
    }

    pub fn tmux(&self, args: &[&str]) -> Ran {
        let mut command = self.env.command("tmux");
        command.arg("-S").arg(self.paths().tmux_socket()).args(args);
        Ran::from(command.output().unwrap())
    }

    /// The names of all terminals there are.
    pub fn terminals(&self) -> Vec<String> {
        let listed = self.tmux(&["list-panes", "-a", "-F", "#{session_name}"]);
        listed.out.lines().map(str::to_owned).collect()
    }

    // ── files

    /// A path in the project; a prompt `HOLD: path` works until it exists.
    pub fn gate(&self, name: &str) -> PathBuf {
        self.env.project().join(name)
    }

    /// The session is at work until the file that is returned exists.
    #[track_caller]
    pub fn held_turn(&self, session: &str) -> PathBuf {
        let gate = self.gate("go");
        let hold = format!("HOLD: {}", gate.display());
        self.sm(&["send", session, &hold]).exits(0);
        self.wait_for(session, "working");
        gate
    }

    /// All that the session's terminal has ever shown.
    pub fn log_of(&self, session: &Value) -> Vec<u8> {
        let folder = self.paths().session_dir(&text(&session["id"]));
        let mut parts = files(&folder);
        parts.retain(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.starts_with("terminal.") && name.ends_with(".log")
        });
        parts.sort();
        parts
            .iter()
            .flat_map(|part| std::fs::read(part).unwrap())
            .collect()
    }

    fn diagnosis(&self) -> String {
        let mut out = String::new();
        if self.is_served() {
            let all = self.sm(&["ls", "--all", "--json"]);
            let sessions: Value = serde_json::from_str(&all.out).unwrap_or_default();
            for session in sessions.as_array().into_iter().flatten() {
                out += &format!("── {session}\n");
                let pane = text(&session["tmux"]["pane"]);
                out += &self.tmux(&["capture-pane", "-p", "-t", &pane]).out;
                let id = text(&session["id"]);
                out += &self.sm(&["events", &id, "-n", "60"]).out;
                out += &self.sm(&["queue", "ls", &id, "--all"]).out;
                let raw = self.log_of(session);
                let end = &raw[raw.len().saturating_sub(800)..];
                out += &format!("── its terminal wrote: {}\n", end.escape_ascii());
            }
        }
        let log = std::fs::read_to_string(self.paths().daemon_log()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let last = &lines[lines.len().saturating_sub(80)..];
        out += &format!("── daemon.log\n{}\n", last.join("\n"));
        for record in self.records().iter().rev().take(20).rev() {
            out += &format!("── given {:?} {:.200}\n", record.kind, record.text);
        }
        out
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.diagnosis());
        }
    }
}

/// A session's pane, as a person at it sees and uses it.
pub struct Pane<'a> {
    world: &'a World,
    pane: String,
}

impl Pane<'_> {
    pub fn screen(&self) -> String {
        self.world
            .tmux(&["capture-pane", "-p", "-t", &self.pane])
            .out
    }
    pub fn key(&self, key: &str) {
        self.world
            .tmux(&["send-keys", "-t", &self.pane, key])
            .exits(0);
    }
    pub fn types(&self, text: &str) {
        self.world
            .tmux(&["send-keys", "-t", &self.pane, "-l", text])
            .exits(0);
    }
    #[track_caller]
    pub fn shows(&self, part: &str) {
        let seen = wait_until(DEADLINE, || self.screen().contains(part).then_some(()));
        assert!(seen.is_some(), "never saw {part:?}:\n{}", self.screen());
    }
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[track_caller]
pub fn process(pid: &Value) -> Process {
    let pid = pid
        .as_i64()
        .and_then(|pid| i32::try_from(pid).ok())
        .expect("a pid");
    Process::find(Pid::from_raw(pid).unwrap()).expect("it runs")
}

/// Signals a process and waits for its end.
#[track_caller]
pub fn end(process: &Process, signal: Signal) {
    process.signal(signal);
    let dead = wait_until(DEADLINE, || (!process.is_alive()).then_some(()));
    assert!(dead.is_some(), "it survived {signal:?}");
}

#[track_caller]
pub fn eventually(what: &str, mut look: impl FnMut() -> bool) {
    let seen = wait_until(DEADLINE, || look().then_some(()));
    assert!(seen.is_some(), "never: {what}");
}

/// Every file below a folder.
pub fn files(dir: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() && !path.is_symlink() {
            true => all.extend(files(&path)),
            false => all.push(path),
        }
    }
    all
}
