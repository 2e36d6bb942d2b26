//! The person at the terminal: what they see, and what they type.

use super::{DEADLINE, World};
use sm_testkit::wait_until;

impl World {
    pub(super) fn try_screen(&self, session: &str) -> Result<String, String> {
        self.tmux(session, &["capture-pane", "-p"])
    }

    #[track_caller]
    pub fn screen(&self, session: &str) -> String {
        self.try_screen(session).unwrap()
    }

    /// Everything that tmux still has of the terminal; lines that were wrapped are whole.
    #[track_caller]
    pub fn history(&self, session: &str) -> String {
        self.tmux(session, &["capture-pane", "-pJ", "-S", "-"])
            .unwrap()
    }

    /// The terminal gets another size, as when a person attaches.
    #[track_caller]
    pub fn resize(&self, session: &str, cols: &str, rows: &str) {
        self.tmux(session, &["resize-window", "-x", cols, "-y", rows])
            .unwrap();
    }

    /// Waits until the screen shows this text.
    #[track_caller]
    pub fn wait_screen(&self, session: &str, text: &str) {
        let shows = wait_until(DEADLINE, || {
            self.screen(session).contains(text).then_some(())
        });
        assert!(
            shows.is_some(),
            "never saw {text:?}\n{}",
            self.about(session)
        );
    }

    /// Presses a key, by tmux's name for it.
    #[track_caller]
    pub fn key(&self, session: &str, key: &str) {
        self.tmux(session, &["send-keys", key]).unwrap();
    }

    /// Answers a dialog with a key, again as long as it stands there: Claude Code 2.1.325 drops keys
    /// in the first moments of a dialog.
    #[track_caller]
    pub fn answer_dialog(&self, session: &str, dialog: &str, key: &str) {
        let closed = (0..10).any(|_| {
            self.key(session, key);
            let gone = || (!self.screen(session).contains(dialog)).then_some(());
            wait_until(DEADLINE / 20, gone).is_some()
        });
        assert!(closed, "it stays open\n{}", self.about(session));
    }

    /// Types characters.
    #[track_caller]
    pub fn type_text(&self, session: &str, text: &str) {
        self.tmux(session, &["send-keys", "-l", text]).unwrap();
    }

    /// A tmux command on the session's pane; works without a daemon once the pane is known.
    fn tmux(&self, session: &str, args: &[&str]) -> Result<String, String> {
        let (first, rest) = args.split_first().ok_or("no command")?;
        let target = format!("={session}:");
        let mut command = self.env.command("tmux");
        command
            .arg("-S")
            .arg(self.env.tmux_socket())
            .args([first, "-t", target.as_str()])
            .args(rest);
        let output = command.output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
