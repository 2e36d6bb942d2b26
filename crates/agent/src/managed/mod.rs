//! The agent as a session of sm's daemon: it tells what it does, and is told what to do, over the
//! daemon's socket. Its person still has its terminal, and the two do not meet: nothing of this reads
//! or writes the editor.
//!
//! The daemon may be gone at any moment. What could not be told is kept in the spool and in a status
//! file, a text is taken only when the daemon has written down that it is, and nobody waits: the
//! agent goes on alone, and is a session again when a daemon answers.

mod caller;
mod listener;
mod person;
mod teller;

use std::path::PathBuf;
use std::time::Duration;

use sm_client::Paths;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use crate::host::{Command, Update};
use crate::setup::Folders;
use caller::Caller;
use listener::Desk;
use teller::Teller;

/// How long the end of the program waits for its last words to be told.
const FAREWELL: Duration = Duration::from_millis(600);

/// The link to the daemon.
pub struct Managed {
    told: std::sync::mpsc::Sender<caller::Line>,
    over: std::sync::mpsc::Receiver<()>,
}

impl Managed {
    /// Joins the agent to its daemon. `None`: no session of one is named in the environment.
    ///
    /// What the agent says to its front end passes through, unchanged and unhindered.
    pub fn join(
        folders: &Folders,
        cwd: PathBuf,
        commands: &UnboundedSender<Command>,
        mut updates: UnboundedReceiver<Update>,
    ) -> (Option<Self>, UnboundedReceiver<Update>) {
        let (Some(caller), Ok(paths)) = (Caller::from_env(), Paths::of_session()) else {
            return (None, updates);
        };
        let home = folders.sessions.parent().map(PathBuf::from);
        let (told, lines) = std::sync::mpsc::channel();
        let (ended, over) = std::sync::mpsc::channel();
        let status = home.unwrap_or_default();
        let desk = Desk {
            caller: caller.clone(),
            paths: paths.clone(),
            commands: commands.clone(),
            sessions: folders.sessions.clone(),
            cwd: cwd.clone(),
        };
        std::thread::spawn(move || {
            caller.tell_all(&paths, &status, &lines);
            let _ = ended.send(());
        });
        let (passed, outgoing) = mpsc::unbounded_channel();
        let mut teller = Teller::new(folders.sessions.clone(), cwd);
        let lines = told.clone();
        let mut desk = Some(desk);
        tokio::spawn(async move {
            while let Some(update) = updates.recv().await {
                for line in teller.hear(&update) {
                    let _ = lines.send(line);
                }
                // It takes texts from when it has said that it is there.
                if let Some(desk) = desk.take() {
                    std::thread::spawn(move || desk.serve());
                }
                if passed.send(update).is_err() {
                    break;
                }
            }
        });
        (Some(Self { told, over }), outgoing)
    }

    /// Says goodbye, and waits a moment for it to be heard or kept.
    pub fn leave(self) {
        let _ = self.told.send(caller::Line::Goodbye);
        let _ = self.over.recv_timeout(FAREWELL);
    }
}
