//! By which files other programs see this run: `.current-session`, `.context-status` and
//! `.restart-session` of its channel's place, and what lies in its own folder. A later run's are
//! never taken back.

use sm_channel::{DotFile, RealFiles, SessionLine};
use sm_client::process::Process;

use super::folder::About;
use super::level::status_line;
use super::session::Session;
use super::state::State;
use super::transcript::Follower;

impl Session {
    /// `.current-session` belongs to the newest wrapper: a later one's is not taken back.
    pub fn tell_current(&self, state: &mut State, line: SessionLine) {
        let file = DotFile::new(self.setup.place.current_session());
        let there = file.read(&mut RealFiles::default()).ok().flatten();
        let newest = state.line.is_none() || there.is_none() || there == state.line;
        if newest && let Err(error) = file.write(&mut RealFiles::default(), &line) {
            self.log(&format!(".current-session was not written: {error}"));
        }
        state.line = Some(line);
        state.shown = None;
    }

    pub fn write_about(&self, state: &State) {
        let Some(wrapper) = Process::this() else {
            return;
        };
        let about = About {
            pid: wrapper.pid,
            start: wrapper.start,
            agent: self.setup.agent.as_str().to_owned(),
            cwd: self.setup.cwd.to_string_lossy().into_owned(),
            channel: self.setup.channel.to_string(),
            generation: state.generation,
            conversation: state.conversation.as_ref().map(ToString::to_string),
            transcript: state.follower.as_ref().map(|f| f.path().to_path_buf()),
            earlier: state.earlier.clone(),
        };
        if let Err(error) = self.setup.folder.write(&about) {
            self.log(&format!(
                "what is known of this run was not written: {error}"
            ));
        }
    }

    /// Keeps `.context-status`, as long as the agent that others see is ours.
    pub(super) fn show(&self, state: &mut State) {
        let size = state.follower.as_ref().map_or(0, Follower::size);
        let line = status_line(state.rotation.level(), size);
        if state.shown.as_ref() == Some(&line) {
            return;
        }
        let file = DotFile::new(self.setup.place.current_session());
        let there = file.read(&mut RealFiles::default()).ok().flatten();
        if there.is_some() && there == state.line {
            let path = self.setup.place.context_status();
            let new = path.with_extension(self.setup.id.as_str());
            let written = std::fs::write(&new, &line).and_then(|()| std::fs::rename(&new, &path));
            if let Err(error) = written {
                self.log(&format!(".context-status was not written: {error}"));
            }
        }
        state.shown = Some(line);
    }

    /// Whether another program asks for a restart of the conversation that runs here.
    pub(super) fn is_restart_asked(&self, state: &mut State) -> bool {
        let file = DotFile::new(self.setup.place.restart_session());
        let asked = file.read(&mut RealFiles::default()).ok().flatten();
        let (Some(asked), Some(line)) = (asked, &state.line) else {
            return false;
        };
        if asked.session == line.session {
            // Gone before it is acted on: it is good for one restart.
            let removed = file.remove_of(&mut RealFiles::default(), &asked.session);
            return removed.unwrap_or_else(|error| {
                self.log(&format!(".restart-session: {error}"));
                false
            });
        }
        if state.ignored.as_ref() != Some(&asked) {
            self.log(&format!(
                ".restart-session names {}, but {} runs here: ignored",
                asked.session, line.session
            ));
            state.ignored = Some(asked);
        }
        false
    }
}
