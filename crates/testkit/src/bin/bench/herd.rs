//! A throw-away instance with a daemon of its own, and as many sessions as asked for.
//!
//! A few thousand agents do not fit on a machine. One scripted agent is really started; the other
//! sessions are copies of its journaled row that share its terminal, so that the daemon, started
//! again, takes every one of them for alive and idle. Their agent process is the bench itself, so
//! that a hook started from here comes from "their" agent.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sm_client::Paths;
use sm_store::{Commit, OpenOptions, SessionRow, SqliteStore, Store};
use sm_testkit::clean::{CleanEnv, binary};
use sm_testkit::real::RealAgent;
use sm_testkit::wait_until;

use crate::link::Link;
use crate::{Result, cost};

const PATIENCE: Duration = Duration::from_secs(20);

/// The secret of every copied session, and its SHA-256 as the daemon keeps it.
pub const SECRET: &str = "bench-secret";
const SECRET_HASH: &str = "0159438a9235d6abde38e49fb98944660d067d6b9b03d8a8f4ee4e522feb62cb";

pub struct Herd {
    pub env: CleanEnv,
    daemon: Option<Child>,
    paths: Paths,
}

impl Herd {
    /// An empty instance, its daemon not yet started.
    pub fn new() -> Result<Self> {
        let mut env = CleanEnv::new()?;
        env.record_fake_agents();
        Self::place(env, &binary("fake-agent")?)
    }

    /// The same with Claude Code itself, which talks to the model at that address.
    pub fn real(agent: &RealAgent, model: &str) -> Result<Self> {
        let mut env = CleanEnv::new()?;
        let vars = sm_testkit::real::claude_home(agent, env.home(), &env.project(), model)?;
        for (name, value) in vars {
            if !matches!(name.as_str(), "PATH" | "HOME") {
                env.set(&name, value);
            }
        }
        Self::place(env, &agent.program)
    }

    fn place(env: CleanEnv, agent: &Path) -> Result<Self> {
        let config = format!(
            "[agents.claude]\nprogram = {:?}\n",
            agent.display().to_string()
        );
        std::fs::write(env.sm_home().join("config.toml"), config)?;
        let home = env.sm_home().as_os_str().to_owned();
        let paths = Paths::resolve(
            |key| (key == "SM_HOME").then(|| home.clone()),
            sm_client::platform::uid(),
        )?;
        Ok(Self {
            env,
            daemon: None,
            paths,
        })
    }

    /// With that many idle sessions, and its daemon running.
    pub fn of(count: usize) -> Result<Self> {
        Self::new()?.with(count)
    }

    /// The same, with an address for browsers.
    pub fn served(count: usize) -> Result<Self> {
        let mut herd = Self::new()?;
        herd.env.serve_tcp()?;
        herd.with(count)
    }

    fn with(self, count: usize) -> Result<Self> {
        let mut herd = self;
        herd.start()?;
        herd.agent("s0")?;
        herd.stop()?;
        herd.multiply(count)?;
        herd.start()?;
        herd.settle(count)?;
        Ok(herd)
    }

    /// Starts the daemon; the time until `/health` was answered.
    pub fn start(&mut self) -> Result<Duration> {
        let mut command = self.env.sm()?;
        command
            .arg("serve")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let began = Instant::now();
        let mut child = command.spawn()?;
        loop {
            let healthy = Link::open(self.paths.socket()).and_then(|mut link| link.get("/health"));
            if healthy.is_ok_and(|answer| answer.status == 200) {
                break;
            }
            if began.elapsed() > PATIENCE || child.try_wait()?.is_some() {
                let log = std::fs::read_to_string(self.paths.daemon_log()).unwrap_or_default();
                return Err(format!("the daemon did not start: {log}").into());
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        let took = began.elapsed();
        self.daemon = Some(child);
        Ok(took)
    }

    /// Stops the daemon as a person would, so that no hook starts it again; its sessions go on.
    pub fn stop(&mut self) -> Result<()> {
        let Some(mut daemon) = self.daemon.take() else {
            return Ok(());
        };
        self.link()?.post("/stop", "{}")?;
        wait_until(PATIENCE, || daemon.try_wait().ok().flatten())
            .map(drop)
            .ok_or_else(|| "the daemon did not stop".into())
    }

    pub fn pid(&self) -> u32 {
        self.daemon.as_ref().map_or(0, Child::id)
    }

    pub fn link(&self) -> Result<Link> {
        Link::open(self.paths.socket())
    }

    /// An agent of that name, idle.
    pub fn agent(&self, name: &str) -> Result<()> {
        self.agent_with(name, &[])
    }

    pub fn agent_with(&self, name: &str, args: &[&str]) -> Result<()> {
        let new = self
            .env
            .sm()?
            .args(["new", "claude", "--detach", "--name", name])
            .args(args)
            .output()?;
        if !new.status.success() {
            return Err(format!("sm new: {}", String::from_utf8_lossy(&new.stderr)).into());
        }
        self.wait_for(name, "idle")
    }

    pub fn wait_for(&self, name: &str, state: &str) -> Result<()> {
        let target = format!("/sessions/{name}/wait?for={state}&timeout_ms=30000");
        self.link()?.get(&target)?.json().map(drop)
    }

    pub fn session(&self, name: &str) -> Result<Value> {
        self.link()?.get(&format!("/sessions/{name}"))?.json()
    }

    /// Copies the one session until there are `count`, named `s0`, `s1`, ….
    fn multiply(&self, count: usize) -> Result<()> {
        let mut opened = SqliteStore::open(&self.paths.database(), &OpenOptions::new("bench"))?;
        let row = opened
            .loaded
            .sessions
            .first()
            .cloned()
            .ok_or("the session was not journaled")?;
        let own = sm_client::Process::this().ok_or("this process has no start time")?;
        let rows = (0..count).map(|number| {
            let mut state: Value = serde_json::from_str(&row.state)?;
            let (id, name) = match number {
                0 => (row.id.clone(), row.name.clone()),
                _ => (format!("{number:08x}"), format!("s{number}")),
            };
            state["record"]["id"] = json!(id);
            state["record"]["name"] = json!(name);
            state["record"]["process"] = json!({"pid": own.pid, "start": own.start});
            // as many hook calls as are remembered: a session that has worked for a while
            let seen: Vec<u64> = (0..64).map(|call| u64::MAX / 100 * (call + 1)).collect();
            state["record"]["seen"] = json!(seen);
            state["extra"]["secret_hash"] = json!(SECRET_HASH);
            Ok(SessionRow {
                id,
                name,
                state: state.to_string(),
                ..row.clone()
            })
        });
        let sessions = rows.collect::<Result<Vec<_>>>()?;
        opened.store.commit(&Commit {
            sessions,
            ..Commit::default()
        })?;
        Ok(())
    }

    /// Waits until every session is known to live and the daemon has nothing left to do.
    pub fn settle(&self, count: usize) -> Result<()> {
        let mut link = self.link()?;
        let idle = wait_until(PATIENCE, || {
            let sessions = link.get("/sessions").ok()?.json().ok()?;
            let idle = sessions
                .as_array()?
                .iter()
                .filter(|s| s["state"] == "idle")
                .count();
            (idle == count).then_some(())
        });
        if idle.is_none() {
            let sessions = link.get("/sessions?all=true")?.json()?;
            let some: Vec<_> = sessions.as_array().into_iter().flatten().take(3).collect();
            return Err(format!("not all sessions became idle: {some:?}").into());
        }
        self.quiet()
    }

    /// Waits until the daemon uses next to no CPU.
    pub fn quiet(&self) -> Result<()> {
        let mut before = cost::cpu_of(self.pid())?;
        let quiet = wait_until(PATIENCE, || {
            std::thread::sleep(Duration::from_millis(300));
            let now = cost::cpu_of(self.pid()).ok()?;
            let used = now.saturating_sub(std::mem::replace(&mut before, now));
            (used < Duration::from_millis(3)).then_some(())
        });
        quiet.ok_or_else(|| "the daemon does not come to rest".into())
    }
}

impl Drop for Herd {
    fn drop(&mut self) {
        // told first, so that it is waited for; the environment ends everything else
        let _ = self.stop();
    }
}
