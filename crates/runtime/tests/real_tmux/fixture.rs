//! A server for one test.

use sm_runtime::{
    Capture, Events, NewPane, PaneId, RuntimeEvent, Screen, Socket, Tmux, TmuxConfig,
};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub const PATIENCE: Duration = Duration::from_secs(30);

pub struct Fixture {
    pub tmux: Tmux,
    pub events: Events,
    pub socket: PathBuf,
    /// Deleted after the server was killed.
    dir: tempfile::TempDir,
}

impl Fixture {
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut TmuxConfig)) -> Self {
        // Short: a socket's path has at most some 100 bytes.
        let dir = tempfile::Builder::new()
            .prefix("smrt")
            .tempdir_in("/tmp")
            .unwrap();
        let socket = dir.path().join("s");
        let mut config = TmuxConfig::new(Socket::Path(socket.clone()));
        config.keeper = vec!["cat".into()];
        config.deadline = PATIENCE;
        change(&mut config);
        let (tmux, events) = Tmux::new(config);
        Self {
            tmux,
            events,
            socket,
            dir,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn pane(&self, name: &str, script: &str) -> NewPane {
        self.pane_argv(name, &["sh", "-c", script])
    }

    pub fn pane_argv(&self, name: &str, argv: &[&str]) -> NewPane {
        NewPane {
            session_name: name.into(),
            cwd: self.dir.path().into(),
            command: argv.iter().map(|word| (*word).to_owned()).collect(),
            env: Vec::new(),
            log_command: Vec::new(),
            cols: 80,
            rows: 24,
            history_limit: None,
        }
    }

    /// The tmux program itself, as a person would use it.
    pub fn cli(&self, args: &[&str]) -> String {
        let output = Command::new("tmux")
            .arg("-S")
            .arg(&self.socket)
            .args(args)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    pub async fn screen_with(&self, pane: PaneId, text: &str) -> Screen {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.tmux.capture(pane, Capture::default()).await.unwrap();
            if screen.lines.iter().any(|line| line.contains(text)) {
                return screen;
            }
            assert!(Instant::now() < deadline, "no {text:?} in {screen:#?}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    pub async fn event(&mut self, wanted: impl Fn(&RuntimeEvent) -> bool) -> RuntimeEvent {
        let search = async {
            loop {
                let event = self.events.recv().await.unwrap();
                if wanted(&event) {
                    return event;
                }
            }
        };
        tokio::time::timeout(PATIENCE, search).await.unwrap()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        // There may be no server, and a test that failed should show its own failure.
        let _ = Command::new("tmux")
            .arg("-S")
            .arg(&self.socket)
            .arg("kill-server")
            .output();
    }
}

/// Waits for a file to have what is wanted, and returns it.
pub async fn file_with(path: &Path, wanted: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let content = std::fs::read(path).unwrap_or_default();
        if wanted(&content) {
            return content;
        }
        assert!(
            Instant::now() < deadline,
            "{} has {} bytes",
            path.display(),
            content.len()
        );
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// As a shell word.
pub fn sh(path: &Path) -> String {
    sm_runtime::tmux::quote::shell_word(path.to_str().unwrap())
}
