//! Which session a person means by an id, the beginning of one, or a name; and which names are free.
//!
//! Pure. It never guesses: what fits more than one session is an error that lists them, because a
//! message to the wrong agent cannot be taken back.

use std::fmt;

use sm_core::nearest::distance;

/// Most sessions that an error lists.
const LISTED: usize = 8;
/// As much of an id is meant as one: a name of that length must not be the beginning of another's.
const ABBREVIATION: usize = 4;
/// Longest name, as `sm_core` has it.
const LONGEST: usize = 64;

/// A session as far as naming goes.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub standing: Standing,
}

/// How much a session still claims its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    Live,
    /// It waits to be restored, and so do its messages.
    Lost,
    Ended,
}

/// A session in an error's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub id: String,
    pub name: String,
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.id, self.name)
    }
}

/// Says what happened; [`NameError::hint`] what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("there is no session {wanted:?}")]
    NotFound {
        wanted: String,
        /// Names that look like it, best first.
        nearest: Vec<String>,
    },
    #[error("{wanted:?} fits {count} sessions: {}", list(.candidates, *.count))]
    Ambiguous {
        wanted: String,
        candidates: Vec<Listed>,
        /// More than are listed, maybe.
        count: usize,
    },
    #[error("the name {name:?} is taken by session {by}")]
    Taken { name: String, by: String },
    #[error("the name {name:?} is the id of a session")]
    IsAnId { name: String },
    #[error("the name {name:?} is the beginning of the id of session {id}")]
    BeginsAnId { name: String, id: String },
    #[error("the id {id:?} is the name of session {by}, or begins with it")]
    IdIsAName { id: String, by: String },
}

impl NameError {
    pub fn hint(&self) -> String {
        match self {
            Self::NotFound { nearest, .. } => match nearest.as_slice() {
                [] => "`sm ls --all` shows all sessions".into(),
                [one] => format!("did you mean {one}? `sm ls --all` shows all sessions"),
                several => format!(
                    "did you mean one of {}? `sm ls --all` shows all sessions",
                    several.join(", ")
                ),
            },
            Self::Ambiguous { .. } => {
                "name one by its id, or more of it; `sm ls --all` shows them".into()
            }
            Self::Taken { by, .. } => {
                format!("choose another name, or end or rename session {by} first")
            }
            Self::IsAnId { .. } => "choose another name".into(),
            Self::BeginsAnId { .. } => {
                "choose another name: whoever means that session would reach this one".into()
            }
            Self::IdIsAName { .. } => {
                "leave the id out, or draw another one: whoever means that session would reach this one".into()
            }
        }
    }
}

fn list(candidates: &[Listed], count: usize) -> String {
    let shown: Vec<String> = candidates.iter().map(Listed::to_string).collect();
    let mut out = shown.join(", ");
    if count > candidates.len() {
        out.push_str(&format!(" and {} more", count - candidates.len()));
    }
    out
}

/// An exact id goes before the name of a live session, that before the name of a lost one, that
/// before the name of one that has ended (if only one has it), and that before the beginning of an
/// id (if only one has it). Four characters or more that are a name and the beginning of another
/// session's id may mean either, so they mean none.
pub fn resolve<'a>(
    wanted: &str,
    sessions: impl Iterator<Item = Candidate<'a>> + Clone,
) -> Result<&'a str, NameError> {
    let mut live = None;
    let (mut lost, mut past) = (Found::default(), Found::default());
    let mut prefix = Found::default();
    for session in sessions.clone() {
        if session.id == wanted {
            return Ok(session.id);
        }
        if session.name == wanted {
            match session.standing {
                Standing::Live => live = Some(session),
                Standing::Lost => lost.add(session),
                Standing::Ended => past.add(session),
            }
        }
        if !wanted.is_empty() && session.id.starts_with(wanted) {
            prefix.add(session);
        }
    }
    if let Some(session) = live {
        let mut named = Found::default();
        named.add(session);
        return unless_abbreviated(wanted, session.id, named, prefix);
    }
    for found in [lost, past] {
        if let (1, Some(id)) = (found.count, found.first) {
            return unless_abbreviated(wanted, id, found, prefix);
        }
        if found.count > 1 {
            return Err(found.ambiguous(wanted));
        }
    }
    match (prefix.count, prefix.first) {
        (0, _) | (_, None) => {}
        (1, Some(id)) => return Ok(id),
        (_, Some(_)) => return Err(prefix.ambiguous(wanted)),
    }
    Err(NameError::NotFound {
        wanted: bounded(wanted),
        nearest: nearest_names(wanted, sessions),
    })
}

/// The session of that name, unless another's id begins so and may be meant.
fn unless_abbreviated<'a>(
    wanted: &str,
    named: &'a str,
    mut found: Found<'a>,
    prefix: Found<'a>,
) -> Result<&'a str, NameError> {
    let others = prefix.candidates.iter().filter(|other| other.id != named);
    let others: Vec<Listed> = others.cloned().collect();
    if wanted.len() < ABBREVIATION || others.is_empty() {
        return Ok(named);
    }
    found.count += others.len();
    found.candidates.extend(others);
    found.candidates.truncate(LISTED);
    Err(found.ambiguous(wanted))
}

/// Whether a session (`by`; None: a new one) may have this name: live ones have different names.
pub fn check_free<'a>(
    name: &str,
    by: Option<&str>,
    sessions: impl Iterator<Item = Candidate<'a>>,
) -> Result<(), NameError> {
    for session in sessions {
        if Some(session.id) == by {
            continue;
        }
        // It could never be reached by that name: ids go first.
        if session.id == name {
            return Err(NameError::IsAnId {
                name: name.to_string(),
            });
        }
        if name.len() >= ABBREVIATION && session.id.starts_with(name) {
            return Err(NameError::BeginsAnId {
                name: name.to_string(),
                id: session.id.to_string(),
            });
        }
        if session.standing == Standing::Live && session.name == name {
            return Err(NameError::Taken {
                name: name.to_string(),
                by: session.id.to_string(),
            });
        }
    }
    Ok(())
}

/// Whether a new session may have this id: ids go before names, so that one which is a name that
/// somebody still claims would take what is meant for that session.
pub fn check_id<'a>(
    id: &str,
    sessions: impl Iterator<Item = Candidate<'a>>,
) -> Result<(), NameError> {
    for session in sessions {
        let claimed = match session.standing {
            Standing::Live | Standing::Lost => true,
            Standing::Ended => false,
        };
        let begins = session.name.len() >= ABBREVIATION && id.starts_with(session.name);
        if claimed && (begins || id == session.name) {
            return Err(NameError::IdIsAName {
                id: id.to_string(),
                by: session.id.to_string(),
            });
        }
    }
    Ok(())
}

/// A name for a session that was given none: `claude-api`, then `claude-api-2`, …
/// `agent` is its kind or, for any other program, the program's file name; `folder` its working
/// directory, of which the last part counts.
pub fn default_name(agent: &str, folder: &str, taken: &[&str]) -> String {
    let folder = folder.trim_end_matches('/');
    let folder = folder.rsplit_once('/').map_or(folder, |(_, last)| last);
    let parts: Vec<String> = [agent, folder]
        .into_iter()
        .map(clean)
        .filter(|part| !part.is_empty())
        .collect();
    let mut base = parts.join("-");
    if base.is_empty() {
        base = "session".into();
    }
    // Cleaned text is ASCII, so that any byte is a place to cut. Room for a number stays.
    base.truncate(LONGEST - 12);
    if !taken.contains(&base.as_str()) {
        return base;
    }
    (2u32..)
        .map(|n| format!("{base}-{n}"))
        .find(|name| !taken.contains(&name.as_str()))
        .unwrap_or(base)
}

/// Letters, digits and `_` stay, everything else becomes a single `-`; none at the ends.
fn clean(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().take(200) {
        match c {
            c if c.is_ascii_alphanumeric() => out.push(c),
            '_' | '.' if !out.is_empty() => out.push(c),
            _ if !out.is_empty() && !out.ends_with('-') => out.push('-'),
            _ => {}
        }
    }
    out.truncate(40);
    out.trim_end_matches(['-', '_', '.']).to_string()
}

#[derive(Default)]
struct Found<'a> {
    first: Option<&'a str>,
    candidates: Vec<Listed>,
    count: usize,
}

impl<'a> Found<'a> {
    fn add(&mut self, session: Candidate<'a>) {
        self.first.get_or_insert(session.id);
        self.count += 1;
        if self.candidates.len() < LISTED {
            self.candidates.push(Listed {
                id: session.id.to_string(),
                name: session.name.to_string(),
            });
        }
    }

    fn ambiguous(self, wanted: &str) -> NameError {
        NameError::Ambiguous {
            wanted: bounded(wanted),
            candidates: self.candidates,
            count: self.count,
        }
    }
}

/// At most three, and only those that a slip of the fingers explains.
fn nearest_names<'a>(wanted: &str, sessions: impl Iterator<Item = Candidate<'a>>) -> Vec<String> {
    let most = (wanted.chars().take(LONGEST).count() / 3).clamp(1, 4);
    let mut near: Vec<(usize, Standing, &str)> = sessions
        .filter_map(|session| {
            let name = session.name;
            let begins = wanted.len() >= 2 && name.starts_with(wanted);
            let edits = if begins { 1 } else { distance(wanted, name) };
            (edits <= most).then_some((edits, session.standing, session.name))
        })
        .collect();
    near.sort();
    near.dedup_by(|a, b| a.2 == b.2);
    near.into_iter()
        .take(3)
        .map(|(_, _, name)| name.to_string())
        .collect()
}

fn bounded(text: &str) -> String {
    text.chars().take(LONGEST * 2).collect()
}
