//! A real agent on the line that sm starts it with; what it tells its hooks is written down.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal as Kill};
use sm_agents::claude::settings;
use sm_agents::{Launch, LaunchRequest, Parsed, Start, kind};
use sm_core::ids::{ConversationId, Timestamp};
use sm_core::profile::AgentKind;
use sm_core::signal::{Activity, Composer, Signal, StatusReading};
use sm_testkit::model::ScriptedModel;
use sm_testkit::process::Process;
use sm_testkit::real::{self, RealAgent};
use sm_testkit::tmux::Tmux;
use sm_testkit::wait_until;

/// Generous: several programs may be starting on a small machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// One hook call.
#[derive(Debug, Clone, PartialEq)]
pub struct Heard {
    pub event: String,
    pub conversation: Option<ConversationId>,
    pub signal: Signal,
    /// `source` or `reason`, as the program words it.
    pub word: String,
}

/// Fields drop in order: terminal, then model, then home.
pub struct Agent {
    tmux: Tmux,
    pub model: ScriptedModel,
    agent: RealAgent,
    kind: AgentKind,
    env: Vec<(String, String)>,
    pane: String,
    panes: u32,
    pub cwd: PathBuf,
    home: tempfile::TempDir,
}

impl Agent {
    pub fn claude(agent: &RealAgent) -> Self {
        Self::place(agent, AgentKind::Claude)
    }

    pub fn codex(agent: &RealAgent) -> Self {
        Self::place(agent, AgentKind::Codex)
    }

    fn place(agent: &RealAgent, kind: AgentKind) -> Self {
        let home = tempfile::Builder::new()
            .prefix("tk-")
            .tempdir_in("/tmp")
            .unwrap();
        let cwd = home.path().join("project");
        std::fs::create_dir(&cwd).unwrap();
        let model = ScriptedModel::start().unwrap();
        let env = match kind {
            AgentKind::Claude => real::claude_home(agent, home.path(), &cwd, &model.url()),
            AgentKind::Codex | AgentKind::Native | AgentKind::Generic => {
                real::codex_home(home.path(), &cwd, &model.url())
            }
        };
        let hook = home.path().join("hook");
        let log = home.path().join("heard");
        let script = format!(
            "#!/bin/sh\n[ \"$2\" = mailbox ] && exit 0\n[ \"$2\" = statusline ] && exit 0\nprintf '%s\\t%s\\n' \"$2\" \"$(tr -d '\\n')\" >> {}\n",
            log.display()
        );
        std::fs::write(&hook, script).unwrap();
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::write(&log, "").unwrap();
        let settings = settings::build(hook.to_str().unwrap(), None, None, &[]);
        std::fs::write(home.path().join("settings.json"), settings.to_string()).unwrap();
        Self {
            tmux: Tmux::new().unwrap(),
            model,
            agent: agent.clone(),
            kind,
            env: env.unwrap(),
            pane: String::new(),
            panes: 0,
            cwd,
            home,
        }
    }

    /// Starts the program on sm's own line, in a terminal of its own that outlives it.
    pub fn start(&mut self, start: Start, args: &[&str], prompt: Option<&str>) -> Launch {
        let request = self.request(start, args, prompt);
        let launch = kind::launch(self.kind, &request).unwrap();
        self.run(&launch.argv);
        launch
    }

    fn request(&self, start: Start, args: &[&str], prompt: Option<&str>) -> LaunchRequest {
        let mut args: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
        if self.kind == AgentKind::Claude {
            args.extend(["--model".to_owned(), "claude-sonnet-4-5".to_owned()]);
        }
        LaunchRequest {
            program: vec![self.agent.program.to_str().unwrap().to_owned()],
            start,
            prompt: prompt.map(str::to_owned),
            args,
            hook_program: self.file("hook"),
            settings_path: self.file("settings.json"),
            tools: None,
        }
    }

    fn run(&mut self, argv: &[String]) {
        self.panes += 1;
        self.pane = format!("agent{}", self.panes);
        self.tmux
            .start(&self.pane, (120, 40), &self.cwd, &self.env, argv)
            .unwrap();
    }

    /// Starts it where it refuses: the code it exits with.
    pub fn refused(&mut self, start: Start) -> String {
        let code = PathBuf::from(self.file("code"));
        let _ = std::fs::remove_file(&code);
        let request = self.request(start, &[], Some("SAY: no"));
        let launch = kind::launch(self.kind, &request).unwrap();
        let script = "code=$1; shift; \"$@\"; echo $? > \"$code\"";
        let mut argv = ["sh", "-c", script, "sh"].map(str::to_owned).to_vec();
        argv.push(self.file("code"));
        argv.extend(launch.argv);
        self.run(&argv);
        self.wait("its exit", || {
            let code = std::fs::read_to_string(&code).ok()?;
            code.strip_suffix('\n').map(str::to_owned)
        })
    }

    /// A first turn; its conversation.
    pub fn first_turn(&mut self, prompt: &str) -> ConversationId {
        let from = self.heard().len();
        self.start(Start::New(None), &[], Some(prompt));
        let prompted = self.wait_heard("UserPromptSubmit", from);
        self.wait_heard("Stop", from);
        self.wait_idle();
        prompted.conversation.unwrap()
    }

    fn file(&self, name: &str) -> String {
        self.home.path().join(name).to_string_lossy().into_owned()
    }

    pub fn agent_home(&self) -> PathBuf {
        let value = |key: &str| {
            self.env
                .iter()
                .find(|(k, _)| k == key)
                .map(|(_, v)| v.clone())
        };
        kind::agent_home(self.kind, value).unwrap()
    }

    // ── what it tells

    pub fn heard(&self) -> Vec<Heard> {
        let log = std::fs::read_to_string(self.home.path().join("heard")).unwrap();
        let whole = log.rfind('\n').map_or("", |end| &log[..end]);
        whole.lines().map(|line| self.parse(line)).collect()
    }

    fn parse(&self, line: &str) -> Heard {
        let (event, body) = line.split_once('\t').unwrap();
        let Parsed {
            conversation,
            signal,
            ..
        } = kind::parse_hook(self.kind, event, body.as_bytes(), Timestamp(1));
        let body: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
        let word = body["source"].as_str().or(body["reason"].as_str());
        Heard {
            event: event.to_owned(),
            conversation,
            signal,
            word: word.unwrap_or_default().to_owned(),
        }
    }

    pub fn wait_heard(&self, event: &str, from: usize) -> Heard {
        self.wait(event, || {
            let heard = self.heard();
            heard.into_iter().skip(from).find(|h| h.event == event)
        })
    }

    /// The next prompt it accepts: conversation and text.
    pub fn wait_prompt(&self, from: usize) -> (ConversationId, String) {
        let heard = self.wait_heard("UserPromptSubmit", from);
        match heard.signal {
            Signal::PromptAccepted { text, .. } => (heard.conversation.unwrap(), text),
            other => panic!("not a prompt: {other:?}"),
        }
    }

    // ── what it shows

    pub fn read(&self, ours: Option<&str>) -> (Composer, Activity) {
        let target = format!("={}:", self.pane);
        let shown = self.tmux.call(&[
            "display-message",
            "-p",
            "-t",
            &target,
            "#{cursor_x} #{cursor_y}",
            ";",
            "capture-pane",
            "-p",
            "-e",
            "-t",
            &target,
        ]);
        let shown = shown.unwrap();
        let mut lines = shown.lines().map(str::to_owned);
        let cursor = lines.next().unwrap();
        let (x, y) = cursor.split_once(' ').unwrap();
        let lines: Vec<String> = lines.collect();
        kind::read_screen(
            self.kind,
            &lines,
            x.parse().unwrap(),
            y.parse().unwrap(),
            ours,
        )
    }

    pub fn composer(&self, ours: Option<&str>) -> Composer {
        self.read(ours).0
    }

    pub fn wait_composer(&self, ours: Option<&str>, wanted: &Composer) {
        self.wait(&format!("{wanted:?} with {ours:?}"), || {
            (self.composer(ours) == *wanted).then_some(())
        });
    }

    pub fn screen(&self) -> String {
        let screen = self.tmux.screen(&self.pane);
        screen.unwrap_or_else(|error| error.to_string())
    }

    pub fn wait_screen(&self, text: &str) {
        self.wait(text, || self.screen().contains(text).then_some(()));
    }

    /// Claude's own status; `None` where there is none.
    pub fn status(&self) -> Option<StatusReading> {
        let path = kind::status_path(self.kind, &self.agent_home(), self.pid())?;
        kind::parse_status(self.kind, &std::fs::read(path).ok()?)
    }

    fn title(&self) -> Activity {
        let title = self.tmux.show(&self.pane, "#{pane_title}");
        kind::read_title(self.kind, &title.unwrap())
    }

    pub fn wait_idle(&self) {
        self.wait("idle", || {
            let resting = match self.kind {
                AgentKind::Claude => self.status().is_some_and(|s| s.activity == Activity::Idle),
                AgentKind::Codex | AgentKind::Native | AgentKind::Generic => {
                    self.title() == Activity::IdleOrWaiting
                }
            };
            let shown = matches!(self.read(None).1, Activity::Idle | Activity::IdleOrWaiting);
            (resting && shown && self.composer(None) != Composer::Hidden).then_some(())
        });
    }

    /// Its status says that it rests in another conversation than this one: in which.
    pub fn wait_elsewhere(&self, old: &ConversationId) -> ConversationId {
        self.wait("another conversation", || {
            let status = self.status()?;
            let moved = status.activity == Activity::Idle;
            status.conversation.filter(|new| moved && new != old)
        })
    }

    pub fn wait<T>(&self, what: &str, look: impl FnMut() -> Option<T>) -> T {
        wait_until(DEADLINE, look).unwrap_or_else(|| {
            panic!(
                "never saw {what}; heard: {:#?}; screen:\n{}",
                self.heard(),
                self.screen()
            )
        })
    }

    // ── its process

    pub fn pid(&self) -> u32 {
        let pid = self.tmux.show(&self.pane, "#{pane_pid}").unwrap();
        pid.parse().unwrap()
    }

    /// What it and its children have open.
    pub fn open_files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut pids = vec![self.pid().to_string()];
        while let Some(pid) = pids.pop() {
            let fds = std::fs::read_dir(format!("/proc/{pid}/fd"));
            let fds = fds.into_iter().flatten().flatten();
            files.extend(fds.filter_map(|fd| std::fs::read_link(fd.path()).ok()));
            let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
            for task in tasks.into_iter().flatten().flatten() {
                let children = std::fs::read_to_string(task.path().join("children"));
                let children = children.unwrap_or_default();
                pids.extend(children.split_whitespace().map(str::to_owned));
            }
        }
        files
    }

    /// Ends it and waits for its end.
    pub fn end(&self, signal: Kill) {
        let pid = Pid::from_raw(i32::try_from(self.pid()).unwrap()).unwrap();
        let process = Process::find(pid).unwrap();
        process.signal(signal);
        let gone = wait_until(DEADLINE, || (!process.is_alive()).then_some(()));
        assert!(gone.is_some(), "it does not end");
    }

    /// A terminal outlives its program, so that the server does too.
    pub fn keep_dead_panes(&self) {
        self.tmux
            .call(&["set-option", "-g", "remain-on-exit", "on"])
            .unwrap();
    }

    // ── keys

    pub fn paste(&self, text: &str) {
        self.tmux.paste(&self.pane, text).unwrap();
    }

    pub fn type_text(&self, text: &str) {
        self.tmux.type_text(&self.pane, text).unwrap();
    }

    pub fn key(&self, key: &str) {
        self.tmux.key(&self.pane, key).unwrap();
    }

    /// Pastes a text, looks that it stands in the composer, and enters it.
    pub fn enter(&self, text: &str) {
        self.paste(text);
        self.wait_composer(Some(text), &Composer::Ours);
        self.key("Enter");
    }
}

/// A repository with one commit.
pub fn make_repository(at: &Path) {
    let git = |args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@localhost"]);
        let done = git.args(args).current_dir(at).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
}
