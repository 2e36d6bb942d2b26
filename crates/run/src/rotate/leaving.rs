//! Leaving a context: its document is written, becomes a handoff of the channel, and only then is the
//! process told to end. And the other side: the handoff that a new context is given.
//!
//! Nothing here ends a process whose work is not in a handoff that is on disk.

use std::path::Path;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use sm_channel::{
    Channel, ChannelError, ChannelName, HandoffId, Kind, Loaded, NewHandoff, Occupied, Place, Put,
    RealFiles, Status, Which, header_of,
};
use sm_core::{AgentKind, Author, Trigger};
use sm_daemon::{Keeper, Source, clock, pins, repository_now};
use sm_ledger::{Frame, document as ledger_document};

use super::background;
use super::document::{self, Given, Heading, INLINE, LEDGER_BUDGET};
use super::folder::{Dead, last_dead};
use super::rotation::{Document, Moment, Why};
use super::session::Session;
use super::state::{Handed, Leaving, State};
use super::transcript::{dialect, last_words};
use crate::brain::Control;

/// An agent has this long to end by itself.
const GRACE: Duration = Duration::from_secs(10);
/// A handoff is made within this time: the lock is waited for 10 s.
const MAKING: Duration = Duration::from_secs(15);
/// Of what a context is told beside the document.
const MOST_PINS: usize = 2_000;
/// No record is so long.
const LARGEST_RECORD: u64 = 1 << 30;

/// Why a handoff was made, and who wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct By {
    pub trigger: Trigger,
    pub author: Author,
}

impl By {
    /// It lay there.
    pub const SOMEBODY: Self = Self {
        trigger: Trigger::Person,
        author: Author::Person,
    };
}

/// Whose document it is, where one was given.
pub fn writes(asked: Trigger) -> Author {
    match asked {
        Trigger::Agent | Trigger::CompactionImminent | Trigger::Compacted => Author::Agent,
        Trigger::Person => Author::Person,
        Trigger::Threshold => Author::Ledger,
    }
}

impl Session {
    fn channel(&self) -> Channel<RealFiles> {
        self.open(&self.setup.channel)
    }

    fn open(&self, name: &ChannelName) -> Channel<RealFiles> {
        let setup = &self.setup;
        Channel::new(
            setup.place.clone(),
            name.clone(),
            setup.expiry,
            RealFiles::new(Duration::from_secs(10)),
        )
    }

    /// Its own, and that of the agent's scripts.
    fn channels(&self) -> impl Iterator<Item = Channel<RealFiles>> {
        let names = std::iter::once(&self.setup.channel).chain(&self.setup.library);
        names.map(|name| self.open(name))
    }

    /// Makes the handoff, and has the process ended. If it cannot be made, the agent goes on.
    pub fn leave(&self, leaving: &Leaving) {
        if leaving.at == Moment::TurnEnd && self.turn_began() {
            self.log("a turn has begun: the context is left at its end");
            self.lock().rotation.go_on(&leaving.document);
            self.send(Control::Replay);
            return;
        }
        let earlier = self.lock().earlier.clone();
        let made = self.make(leaving);
        let mut state = self.lock();
        let process = state.process;
        match (made, process) {
            (Ok(handed), Some(agent)) => {
                let why = match leaving.why {
                    Why::Full => "its context is full",
                    Why::Agent => "the agent has handed over",
                    Why::Signal => "a restart was asked for",
                };
                self.log(&format!("{} leaves: {why} ({})", self.setup.id, handed.id));
                state.prepared = Some(handed);
                state.trouble = None;
                state.told_to_end = true;
                drop(state);
                self.take_draft();
                self.send(Control::End {
                    agent,
                    grace: GRACE,
                });
            }
            (Ok(handed), None) => state.prepared = Some(handed), // it has ended meanwhile
            (Err(error), _) => {
                state.rotation.not_left(&leaving.document);
                state.earlier = earlier; // it is said again with the next try
                let pause = state.failed_again();
                state.trouble = Some(error.to_string());
                drop(state);
                self.log(&format!(
                    "the handoff could not be made: {error}; the next try is at the end of a turn, or in {} s",
                    pause.as_secs()
                ));
                self.send(Control::Replay);
            }
        }
    }

    fn make(&self, leaving: &Leaving) -> Result<Handed, ChannelError> {
        let _one = self.one_at_a_time();
        let (session, transcript) = {
            let state = self.lock();
            let transcript = state.follower.as_ref().map(|f| f.path().to_path_buf());
            (self.session_name(&state), transcript)
        };
        let mut background = leaving.background.clone();
        if let (AgentKind::Codex, Some(transcript)) = (self.setup.agent, &transcript) {
            background.extend(background::terminals(transcript));
        }
        let background = background.as_slice();
        let mut trigger = match leaving.why {
            Why::Full => Trigger::Threshold,
            Why::Agent => Trigger::Agent,
            Why::Signal => Trigger::Person,
        };
        let (kind, author, text) = match &leaving.document {
            Document::Agents(asked) => {
                let asked = self.lock().documents.get(asked).cloned();
                let asked = asked.map(|(by, author, text)| {
                    trigger = by;
                    (author, text)
                });
                let ours = self.automatic(&session, background);
                match asked.filter(|(_, text)| !text.trim().is_empty()) {
                    Some((author, text)) => {
                        let text = document::agents(&text, background);
                        (Kind::Manual, author, text)
                    }
                    None => (Kind::Manual, Author::Ledger, ours), // without one (`--auto`)
                }
            }
            Document::Found => match self.found(&session)? {
                Some(loaded) => {
                    return Ok(Handed {
                        by: By {
                            trigger,
                            author: Author::Person,
                        },
                        ..self.handed(&loaded)
                    });
                }
                None => {
                    let text = self.automatic(&session, background);
                    (Kind::Auto, Author::Ledger, text)
                }
            },
            Document::Ledger => {
                let text = self.automatic(&session, background);
                (Kind::Auto, Author::Ledger, text)
            }
        };
        let handed = self.create(&session, kind, &text)?;
        Ok(Handed {
            by: By { trigger, author },
            ..handed
        })
    }

    /// What names the session in the channel: the conversation, where the agent has one.
    pub fn session_name(&self, state: &State) -> String {
        match &state.line {
            Some(line) => line.session.clone(),
            None => self.setup.id.clone(),
        }
    }

    /// The handoff that another program has made of this session, if it is still to be had.
    fn found(&self, session: &str) -> Result<Option<Loaded>, ChannelError> {
        if !self.setup.place.is_there() {
            return Ok(None);
        }
        for mut channel in self.channels() {
            if is_active_of(&mut channel, session, self.setup.expiry)? {
                let id = channel.active()?;
                let document = channel.active_document()?;
                return Ok(id
                    .zip(document)
                    .map(|(id, (_, document))| Loaded { id, document }));
            }
        }
        Ok(None)
    }

    fn create(&self, session: &str, kind: Kind, text: &str) -> Result<Handed, ChannelError> {
        self.setup.place.ensure()?;
        let mut channel = self.channel();
        let created = channel.create(&NewHandoff {
            session,
            pid: std::process::id(),
            working_dir: &self.setup.cwd.to_string_lossy(),
            kind,
            text: text.as_bytes(),
            occupied: Occupied::StepAside,
        })?;
        let document = self.read_by_id(&created.id)?;
        Ok(Handed {
            put: created.put,
            ..self.handed(&Loaded {
                id: created.id,
                document,
            })
        })
    }

    /// Where it is now, without consuming it.
    fn read_by_id(&self, id: &HandoffId) -> Result<Vec<u8>, ChannelError> {
        let mut channel = self.channel();
        if channel.active()?.as_ref() == Some(id)
            && let Some((_, document)) = channel.active_document()?
        {
            return Ok(document);
        }
        let which = Which::Id(id.clone());
        channel
            .load(&which, std::process::id())
            .map(|loaded| loaded.document)
    }

    /// As its successor is told of it.
    fn handed(&self, loaded: &Loaded) -> Handed {
        let inlines = super::document::gives_inline(self.setup.agent);
        let document = String::from_utf8_lossy(&loaded.document);
        let pins = match self.pinned(&document, MOST_PINS) {
            pins if pins.is_empty() => pins,
            pins => format!("\n\n{pins}"),
        };
        let room = INLINE.saturating_sub(pins.chars().count());
        given(&self.setup.place, &self.setup.channel, loaded, |given| {
            Handed {
                put: Put::Current,
                id: loaded.id.clone(),
                inline: given.inline(room) + &pins,
                by: By::SOMEBODY,
                prompt: match inlines {
                    true => given.prompt(),
                    false => given.prompt_with_document() + &pins,
                },
            }
        })
    }

    /// Its context has it: nobody else is to get it.
    pub fn consume(&self, id: &HandoffId) {
        let _one = self.one_at_a_time();
        let which = Which::Id(id.clone());
        let mut channels = self.channels();
        let consumed = channels.try_fold((), |(), mut channel| {
            match channel.load(&which, std::process::id()) {
                Ok(_) => Err(None),
                Err(ChannelError::Unknown { .. } | ChannelError::None { .. }) => Ok(()),
                Err(error) => Err(Some(error)),
            }
        });
        let trouble = match consumed {
            Err(None) => return,
            Err(Some(error)) => error.to_string(),
            Ok(()) => "no channel has it any more".to_owned(),
        };
        self.log(&format!("{id} was given to its successor, but: {trouble}"));
    }

    fn automatic(&self, session: &str, background: &[String]) -> String {
        let mut state = self.lock();
        let state = &mut *state;
        let transcript = state.follower.as_ref().map(|f| f.path().to_path_buf());
        let of = Of {
            agent: self.setup.agent,
            cwd: &self.setup.cwd.to_string_lossy(),
            channel: &self.setup.channel,
            session,
            generation: state.generation,
            transcript: transcript.as_deref(),
            earlier: &state.earlier,
            prompt: state.prompted.as_ref().map(|(_, text)| text.as_str()),
            title: FULL,
        };
        let (text, said) = of.document(&mut state.keeper, self.setup.folder.path(), background);
        state.earlier = said;
        text
    }

    /// What was handed over before the process ended by itself: it is not to be lost.
    pub fn keep_asked(&self) -> Result<Option<Handed>, ChannelError> {
        let (session, (trigger, author, text)) = {
            let state = self.lock();
            let asked = state.asked.as_ref().and_then(|id| state.documents.get(id));
            let Some(asked) = asked.cloned() else {
                return Ok(None);
            };
            (self.session_name(&state), asked)
        };
        let _one = self.one_at_a_time();
        let (author, text) = match text.trim().is_empty() {
            // asked for without one (`--auto`)
            true => (Author::Ledger, self.automatic(&session, &[])),
            false => (author, text),
        };
        let kept = self.create(&session, Kind::Manual, &text);
        let kept = kept.map(|handed| Handed {
            by: By { trigger, author },
            ..handed
        });
        if let Err(error) = &kept {
            self.log(&format!("what was handed over could not be kept: {error}"));
        }
        kept.map(Some)
    }

    /// An agent that ends while its handoff is being made: nothing may be taken away before.
    pub fn until_made(&self) {
        let until = Instant::now() + MAKING;
        while Instant::now() < until {
            let state = self.lock();
            if !state.rotation.is_leaving() || state.prepared.is_some() {
                return;
            }
            drop(state);
            std::thread::sleep(Duration::from_millis(20));
        }
        self.log("the handoff was not made in time");
    }

    /// The handoff to begin with: the channel's active one; else the one that has expired, or what a
    /// run that died has left, whichever is newer.
    pub fn first(&self) -> Result<Handed, ChannelError> {
        let _one = self.one_at_a_time();
        let mut channel = self.channel();
        let none = || ChannelError::None {
            channel: self.setup.channel.to_string(),
        };
        if self.setup.place.is_there()
            && let (Some(id), Some((_, document))) = (channel.active()?, channel.active_document()?)
        {
            return Ok(self.handed(&Loaded { id, document }));
        }
        let dead = last_dead(&self.setup.paths, self.setup.channel.as_str());
        let expired = match self.setup.place.is_there() {
            true => channel.expired()?,
            false => None,
        };
        if let Some((expired, made)) = expired
            && dead.as_ref().is_none_or(|dead| dead.heard < made)
        {
            self.lock().notes.push(format!(
                "sm run: handoff {} of channel {} has expired (it was made {}); as there is nothing newer, it is gone on from all the same",
                expired.id,
                self.setup.channel,
                made.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M")
            ));
            return Ok(self.handed(&expired));
        }
        let dead = dead.ok_or_else(none)?;
        let text = of_dead(&dead, &self.setup.channel).ok_or_else(none)?;
        let session = dead.about.conversation.clone().unwrap_or_default();
        let handed = self.create(&session, Kind::Auto, &text)?;
        dead.remove();
        Ok(handed)
    }
}

/// Whether the channel's active handoff is this session's.
pub fn is_active_of(
    channel: &mut Channel<RealFiles>,
    session: &str,
    expiry: Option<Duration>,
) -> Result<bool, ChannelError> {
    let manifest = channel.manifest()?;
    let current = manifest.as_ref().and_then(|manifest| manifest.current());
    Ok(current.is_some_and(|current| {
        current.session == session
            && current.status_at(jiff::Timestamp::now(), expiry) == Status::Active
    }))
}

/// A handoff as it is told: by what its own header says.
pub fn given<T>(
    place: &Place,
    channel: &ChannelName,
    loaded: &Loaded,
    tell: impl FnOnce(&Given<'_>) -> T,
) -> T {
    let document = String::from_utf8_lossy(&loaded.document);
    let of = |key| header_of(&loaded.document, key);
    let named = of("CHANNEL").and_then(|name| name.parse::<ChannelName>().ok());
    let path = place.archived(&loaded.id);
    tell(&Given {
        id: &loaded.id,
        channel: named.as_ref().unwrap_or(channel),
        session: of("SESSION").unwrap_or("unknown"),
        kind: match of("TYPE") {
            Some("manual") => Kind::Manual,
            Some("bye") => Kind::Bye,
            Some(_) | None => Kind::Auto,
        },
        document: &document,
        path: &path.to_string_lossy(),
    })
}

fn of_dead(dead: &Dead, channel: &ChannelName) -> Option<String> {
    let about = &dead.about;
    let of = Of {
        agent: about.kind()?,
        cwd: &about.cwd,
        channel,
        session: about.conversation.as_deref()?,
        generation: about.generation,
        transcript: about.transcript.as_deref(),
        earlier: &about.earlier,
        prompt: None,
        title: ENDED,
    };
    Some(of.document(&mut None, &dead.folder, &[]).0)
}

/// Whose document is written.
pub struct Of<'a> {
    pub agent: AgentKind,
    pub cwd: &'a str,
    pub channel: &'a ChannelName,
    pub session: &'a str,
    pub generation: u32,
    pub transcript: Option<&'a Path>,
    /// What people have said in the contexts before this one.
    pub earlier: &'a [String],
    /// What was said last: the record may not have it yet.
    pub prompt: Option<&'a str>,
    pub title: &'a str,
}

const FULL: &str = "Auto-Handoff (Context Full)";
const ENDED: &str = "Auto-Handoff (Session Ended)";

impl Of<'_> {
    /// The document, and what people have said until now.
    pub fn document(
        &self,
        keeper: &mut Option<Keeper>,
        folder: &Path,
        background: &[String],
    ) -> (String, Vec<String>) {
        let (recent, ledger, said) = match (dialect(self.agent), self.transcript) {
            (Some(dialect), Some(transcript)) => {
                let keeper = Keeper::of(
                    keeper,
                    folder,
                    Source {
                        dialect,
                        generation: self.generation,
                        conversation: Some(self.session.to_owned()),
                        transcript: transcript.to_path_buf(),
                    },
                );
                // What cannot be read is not known; the rest is said all the same.
                let read = keeper.advance(LARGEST_RECORD);
                let cwd = Path::new(self.cwd);
                let frame = Frame {
                    now: Some(clock::now()),
                    pins: pins::of_project(cwd).pins,
                    repository: repository_now(cwd),
                    in_flight: background.to_vec(),
                    rest: Some(transcript.to_string_lossy().into_owned()),
                    ..Frame::default()
                };
                let kept = keeper.kept();
                let mut now = kept.compacted().clone();
                now.say_last(self.prompt.unwrap_or_default());
                let (known, said) = (now.after(self.earlier), now.remembered(self.earlier));
                let known = (!kept.is_empty() && read.is_ok())
                    .then(|| ledger_document(&known, &frame, LEDGER_BUDGET));
                (last_words(dialect, transcript), known, said)
            }
            (Some(_) | None, Some(_) | None) => (String::new(), None, self.earlier.to_vec()),
        };
        let now = jiff::Timestamp::now().to_zoned(TimeZone::system());
        let text = document::automatic(
            &Heading {
                title: self.title,
                time: &now.strftime("%Y-%m-%d %H:%M").to_string(),
                project: self.cwd,
                channel: self.channel,
                session: self.session,
            },
            &recent,
            ledger.as_deref(),
            background,
        );
        (text, said)
    }
}
