//! A person's own terminal with `sm run` in it, for tests: it is tmux's, which the daemon knows
//! nothing of.

use crate::world::{DEADLINE, World, text};
use serde_json::Value;
use sm_testkit::clean::binary;
use sm_testkit::tmux::Tmux;
use sm_testkit::wait_until;
use std::path::{Path, PathBuf};

pub struct Own {
    pub world: World,
    pub tmux: Tmux,
}

pub const PANE: &str = "person";

impl Own {
    /// With a daemon that runs already.
    pub fn new() -> Self {
        Self::with_config("")
    }

    pub fn with_config(more: &str) -> Self {
        let world = World::with_config(more);
        world.sm(&["ls"]).exits(0);
        Self {
            world,
            tmux: Tmux::new().unwrap(),
        }
    }

    /// `knobs` are those of the fake agent.
    pub fn without_daemon(more: &str, knobs: &str) -> Self {
        let mut world = World::with_config(more);
        if !knobs.is_empty() {
            world.env.set("FAKE_AGENT", knobs);
        }
        Self {
            world,
            tmux: Tmux::new().unwrap(),
        }
    }

    /// Everything that was to be seen; lines that the terminal has wrapped are whole.
    pub fn all(&self) -> String {
        let target = format!("={PANE}:");
        self.tmux
            .call(&["capture-pane", "-p", "-J", "-S", "-", "-t", &target])
            .unwrap_or_default()
    }

    pub fn log(&self) -> String {
        let log = self.world.env.home().join(".claude/handoff/handoff.log");
        std::fs::read_to_string(log).unwrap_or_default()
    }

    /// What is typed is seen, and then entered.
    #[track_caller]
    pub fn enters(&self, text: &str) {
        self.tmux.type_text(PANE, text).unwrap();
        self.shows(text);
        self.tmux.key(PANE, "Enter").unwrap();
    }

    fn code_file(&self) -> PathBuf {
        self.world.env.home().join("code")
    }

    pub fn start(&self, args: &[&str]) {
        self.start_in(&self.world.env.project(), args);
    }

    pub fn start_in(&self, cwd: &Path, args: &[&str]) {
        // (tmux gives what it starts the path of whoever asks)
        let script = "PATH=$1; shift; \"$@\"; echo $? > \"$HOME/code\"; exec cat";
        let sm = binary("sm").unwrap();
        let env = self.world.env.env();
        let path = env.iter().find(|(key, _)| key == "PATH").unwrap().1.clone();
        let mut argv: Vec<String> = ["sh", "-c", script, "x", &path].map(str::to_owned).into();
        argv.push(sm.to_string_lossy().into_owned());
        argv.extend(args.iter().map(|arg| (*arg).to_owned()));
        self.tmux.start(PANE, (100, 30), cwd, &env, &argv).unwrap();
    }

    /// Another run in a new terminal of the same name; the one before is over.
    pub fn start_again(&self, args: &[&str]) {
        self.start_again_in(&self.world.env.project(), args);
    }

    pub fn start_again_in(&self, cwd: &Path, args: &[&str]) {
        std::fs::remove_file(self.code_file()).unwrap();
        let env = self.world.env.env();
        // tmux ends with its last session
        self.tmux
            .start("beside", (80, 24), cwd, &env, &["cat"])
            .unwrap();
        self.tmux
            .call(&["kill-session", "-t", &format!("={PANE}")])
            .unwrap();
        self.start_in(cwd, args);
    }

    /// `sm run claude`, known to the daemon and idle: what is known of it.
    #[track_caller]
    pub fn claude(&self) -> Value {
        self.start(&["run", "claude"]);
        self.registered()
    }

    #[track_caller]
    pub fn registered(&self) -> Value {
        let found = || {
            let all = self.world.sm(&["ls", "--json"]).json();
            let first = all.as_array()?.first()?.clone();
            (first["state"] == "idle" && first["pid"].is_u64()).then_some(first)
        };
        wait_until(DEADLINE, found).unwrap_or_else(|| panic!("not registered\n{}", self.about()))
    }

    pub fn screen(&self) -> String {
        self.tmux
            .call(&["capture-pane", "-p", "-t", &format!("={PANE}:")])
            .unwrap_or_default()
    }

    #[track_caller]
    pub fn shows(&self, part: &str) {
        let there = || self.screen().contains(part).then_some(());
        assert!(
            wait_until(DEADLINE, there).is_some(),
            "{part:?} is not to be seen\n{}",
            self.about()
        );
    }

    #[track_caller]
    pub fn code(&self) -> i32 {
        let file = self.code_file();
        let ended = || std::fs::read_to_string(&file).ok()?.trim().parse().ok();
        wait_until(DEADLINE, ended).unwrap_or_else(|| panic!("it goes on\n{}", self.about()))
    }

    pub fn about(&self) -> String {
        let served = self.world.is_served();
        let sessions = served.then(|| self.world.sm(&["ls", "--json"]).out);
        format!(
            "── screen\n{}\n── handoff.log\n{}\n── sessions\n{}",
            self.screen(),
            self.log(),
            sessions.unwrap_or_default(),
        )
    }
}

pub fn name(session: &Value) -> String {
    text(&session["name"])
}
