//! A person's hands: keys and pastes by the tmux command, one process each.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use sm_testkit::clean::CleanEnv;

use crate::Result;

const PATIENCE: Duration = Duration::from_secs(30);

pub struct Hands<'a> {
    env: &'a CleanEnv,
    target: String,
}

impl<'a> Hands<'a> {
    /// On the terminal of that session.
    pub fn new(env: &'a CleanEnv, session: &str) -> Self {
        Self {
            env,
            target: format!("={session}:"),
        }
    }

    pub fn key(&self, key: &str) -> Result<()> {
        self.tmux(&["send-keys", "-t", &self.target, key], "")
            .map(drop)
    }

    /// Characters one by one.
    pub fn type_text(&self, text: &str) -> Result<()> {
        self.tmux(&["send-keys", "-t", &self.target, "-l", text], "")
            .map(drop)
    }

    /// A bracketed paste.
    pub fn paste(&self, text: &str) -> Result<()> {
        let load = ["load-buffer", "-b", "hand", "-", ";"];
        let paste = [
            "paste-buffer",
            "-d",
            "-p",
            "-r",
            "-b",
            "hand",
            "-t",
            &self.target,
        ];
        self.tmux(&[&load[..], &paste[..]].concat(), text).map(drop)
    }

    pub fn screen(&self) -> Result<String> {
        self.tmux(&["capture-pane", "-p", "-t", &self.target], "")
    }

    /// Looks until the composer shows this text, or that a long one was pasted.
    pub fn until_typed(&self, text: &str) -> Result<()> {
        let head: String = text.chars().take(20).collect();
        let until = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen()?;
            let composer = screen.lines().rfind(|line| line.starts_with('❯'));
            let typed = |line: &str| line.contains(&head) || line.contains("[Pasted text");
            if composer.is_some_and(typed) {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(format!("{head:?} is not to be seen:\n{screen}").into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Looks at the screen until it shows a prompt, this often.
    pub fn until_prompt(&self, pause: Duration) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        while !self.screen()?.contains('❯') {
            if Instant::now() > until {
                return Err("the screen shows no prompt".into());
            }
            std::thread::sleep(pause);
        }
        Ok(())
    }

    fn tmux(&self, args: &[&str], stdin: &str) -> Result<String> {
        let mut tmux = self.env.command("tmux");
        tmux.arg("-S").arg(self.env.tmux_socket()).args(args);
        tmux.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = tmux.spawn()?;
        if let Some(mut pipe) = child.stdin.take() {
            pipe.write_all(stdin.as_bytes())?;
        }
        let output = child.wait_with_output()?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(format!("tmux {args:?} failed").into())
        }
    }
}
