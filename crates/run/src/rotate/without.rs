//! Agents that were started without `sm run`, by their installed hooks: a fresh one picks up the
//! channel's handoff, and one that compacts its context leaves itself one.
//!
//! A hook must never keep an agent from its work: whatever is missing here is nothing to say.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use sm_channel::{
    Channel, ChannelError, ChannelName, Kind, Loaded, NewHandoff, Occupied, Place, RealFiles, Which,
};
use sm_core::AgentKind;
use sm_core::effect::Answer;

use super::document::INLINE;
use super::leaving::{Of, given, is_active_of};

/// A hook has ten seconds.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);
const LARGEST: usize = 4096;

/// What the payload of a hook says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Payload {
    session: String,
    transcript: Option<PathBuf>,
    source: String,
}

impl Payload {
    fn read(body: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let text = |key: &str| {
            let text = body.get(key)?.as_str()?;
            (!text.is_empty() && text.len() <= LARGEST).then(|| text.to_owned())
        };
        Some(Self {
            session: text("session_id")?,
            transcript: text("transcript_path").map(PathBuf::from),
            source: text("source").unwrap_or_default(),
        })
    }
}

/// Where such an agent's handoffs are.
#[derive(Debug)]
pub struct Without<'a> {
    pub agent: AgentKind,
    pub place: &'a Place,
    pub channel: &'a ChannelName,
    /// A handoff of other work, and how it is taken: only told of.
    pub offer: Option<&'a str>,
    pub expiry: Option<Duration>,
    pub cwd: &'a Path,
    /// Who loads or creates.
    pub pid: u32,
}

impl Without<'_> {
    fn channel(&self) -> Channel<RealFiles> {
        Channel::new(
            self.place.clone(),
            self.channel.clone(),
            self.expiry,
            RealFiles::new(LOCK_PATIENCE),
        )
    }

    /// What the hook at the start of a context prints. A conversation that goes on after its own
    /// compaction gets what it left itself, and nobody else's; one that is resumed has its own.
    pub fn context_started(&self, body: &[u8]) -> Result<Vec<u8>, ChannelError> {
        let Some(payload) = Payload::read(body).filter(|_| self.place.is_there()) else {
            return Ok(Vec::new());
        };
        let wanted = match payload.source.as_str() {
            "startup" | "clear" => true,
            "compact" => is_active_of(&mut self.channel(), &payload.session, self.expiry)?,
            _ => false,
        };
        if !wanted {
            return Ok(Vec::new());
        }
        let text = match self.channel().load(&Which::Active, self.pid) {
            Ok(loaded) => self.inline(&loaded),
            // there is none
            Err(error) if error.is_answer() => match self.offer {
                Some(offer) if payload.source != "compact" => offered(offer),
                Some(_) | None => return Ok(Vec::new()),
            },
            Err(error) => return Err(error),
        };
        let answer = Answer::Context { text };
        Ok(sm_agents::answer(self.agent, "SessionStart", &answer, None))
    }

    fn inline(&self, loaded: &Loaded) -> String {
        given(self.place, self.channel, loaded, |given| {
            given.inline(INLINE)
        })
    }

    /// The context is about to be compacted: what it holds becomes a handoff, unless another
    /// session's is waiting.
    pub fn compaction_near(&self, body: &[u8]) -> Result<(), ChannelError> {
        let Some(payload) = Payload::read(body) else {
            return Ok(());
        };
        self.place.ensure()?;
        let folder = self.place.handoffs();
        let of = Of {
            agent: self.agent,
            cwd: &self.cwd.to_string_lossy(),
            channel: self.channel,
            session: &payload.session,
            generation: 1,
            transcript: payload.transcript.as_deref(),
            earlier: &[],
            prompt: None,
            title: "Auto-Handoff (Pre-Compaction)",
        };
        let (text, _) = of.document(&mut None, &folder, &[]);
        self.channel()
            .create(&NewHandoff {
                session: &payload.session,
                pid: self.pid,
                working_dir: &self.cwd.to_string_lossy(),
                kind: Kind::Auto,
                text: text.as_bytes(),
                occupied: Occupied::StepAside,
            })
            .map(|_| ())
    }
}

/// What an agent is told of a handoff that is not for its folder.
fn offered(offer: &str) -> String {
    format!(
        "[sm] No handoff is waiting for this folder; one of another folder is: {offer}. Do not take it unless the user asks for it."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(session: &str, source: &str) -> Vec<u8> {
        serde_json::json!({"session_id": session, "source": source, "transcript_path": "/nowhere"})
            .to_string()
            .into_bytes()
    }

    #[test]
    fn a_fresh_one_picks_up_what_is_there_and_a_compacted_one_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::new(dir.path());
        let channel = ChannelName::global();
        let without = Without {
            agent: AgentKind::Claude,
            place: &place,
            channel: &channel,
            offer: None,
            expiry: None,
            cwd: Path::new("/src"),
            pid: 1,
        };
        let started = |session: &str, source: &str| {
            let printed = without.context_started(&payload(session, source)).unwrap();
            String::from_utf8(printed).unwrap()
        };
        assert_eq!(started("a", "startup"), "", "there is nothing");
        without.compaction_near(&payload("a", "")).unwrap();
        // Not for one that is resumed, nor for another's compaction.
        assert_eq!(started("a", "resume"), "");
        assert_eq!(started("b", "compact"), "");
        let own = started("a", "compact");
        assert!(own.contains("=== HANDOFF LOADED (ID: HO-"), "{own}");
        assert!(own.contains("# Auto-Handoff (Pre-Compaction)"), "{own}");
        assert!(own.contains("additionalContext") && own.contains("SessionStart"));
        assert_eq!(started("a", "compact"), "", "once");
        without.compaction_near(&payload("a", "")).unwrap();
        assert!(started("b", "startup").contains("Previous Session: a"));
        assert_eq!(started("c", "clear"), "", "once");
        // one of another folder is told of, where a context begins and nothing else is there
        let offering = Without {
            offer: Some("channel global has HO-1, made in /other"),
            ..without
        };
        let told = |source: &str| {
            let printed = offering.context_started(&payload("d", source)).unwrap();
            String::from_utf8(printed).unwrap()
        };
        for source in ["startup", "clear"] {
            let told = told(source);
            assert!(told.contains("HO-1, made in /other"), "{told}");
            assert!(told.contains("additionalContext"), "{told}");
        }
        assert_eq!(told("resume") + &told("compact"), "");
        for odd in ["", "{", "[]", "{\"session_id\":3}"] {
            assert_eq!(offering.context_started(odd.as_bytes()).unwrap(), b"");
            offering.compaction_near(odd.as_bytes()).unwrap();
        }
    }
}
