//! Names of channels, ids of handoffs and their kinds. Pure. Both become parts of file names, so
//! nothing that could leave a folder is ever taken.

use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::str::FromStr;

use jiff::Timestamp;

use crate::error::ChannelError;

/// The channel that is nobody's own: what the shell library uses where nothing is registered.
const GLOBAL: &str = "global";
const LONGEST_NAME: usize = 64;
const LONGEST_ID: usize = 128;
/// Characters of a folder's name in the name of its own channel.
const OWN_NAME: usize = 40;
/// How much of the session's id goes into a handoff's.
const SESSION_PART: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChannelName(String);

impl ChannelName {
    pub fn global() -> Self {
        Self(GLOBAL.to_owned())
    }

    /// The channel of a folder that no entry of the registry covers: its own. The same folder has
    /// the same one in every program, and no two share one.
    pub fn of_folder(folder: &Path) -> Self {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let plain: String = name
            .chars()
            .map(|c| match c {
                c if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') => c,
                _ => '-',
            })
            .take(OWN_NAME)
            .collect();
        let plain = match plain.trim_start_matches('.') {
            "" => "folder",
            plain => plain,
        };
        Self(format!("{plain}-{:08x}", fold(folder)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A short number for a path (FNV-1a): it becomes a part of a file's name, so it must not change
/// from one version to the next.
fn fold(path: &Path) -> u32 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in path.as_os_str().as_bytes() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    (hash ^ (hash >> 32)) as u32
}

impl FromStr for ChannelName {
    type Err = ChannelError;

    fn from_str(text: &str) -> Result<Self, ChannelError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let fine = !text.is_empty()
            && text.len() <= LONGEST_NAME
            && !text.starts_with('.')
            && text.chars().all(plain);
        if fine {
            Ok(Self(text.to_owned()))
        } else {
            Err(ChannelError::Name(text.chars().take(80).collect()))
        }
    }
}

impl fmt::Display for ChannelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `HO-20260202-064530-c74cc080`
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HandoffId(String);

impl HandoffId {
    /// Time and the beginning of the session's id. Not yet unique: see [`HandoffId::extended`].
    pub fn new(now: Timestamp, session: &str) -> Self {
        let part: String = session
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(SESSION_PART)
            .collect();
        let part = if part.is_empty() { "unknown" } else { &part };
        Self(format!("HO-{}-{part}", now.strftime("%Y%m%d-%H%M%S")))
    }

    /// The same id with a longer last part, for the `n`th handoff within one second.
    #[must_use]
    pub fn extended(&self, n: u32) -> Self {
        Self(format!("{}x{n}", self.0))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for HandoffId {
    type Err = ChannelError;

    fn from_str(text: &str) -> Result<Self, ChannelError> {
        let mut parts = text.split('-');
        let digits = |part: Option<&str>, length| {
            part.is_some_and(|part| {
                part.len() == length && part.bytes().all(|b| b.is_ascii_digit())
            })
        };
        let fine = text.len() <= LONGEST_ID
            && parts.next() == Some("HO")
            && digits(parts.next(), 8)
            && digits(parts.next(), 6)
            && parts.next().is_some_and(|part| {
                !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric())
            })
            && parts.next().is_none();
        if fine {
            Ok(Self(text.to_owned()))
        } else {
            Err(ChannelError::Id(text.chars().take(LONGEST_ID).collect()))
        }
    }
}

impl fmt::Display for HandoffId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who wanted the handoff.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kind {
    /// The context was full.
    Auto,
    #[default]
    Manual,
    /// The end of a day's work.
    Bye,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Auto, Self::Manual, Self::Bye];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Manual => "manual",
            Self::Bye => "bye",
        }
    }

    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_has_a_channel_of_its_own() {
        let of = |path: &str| ChannelName::of_folder(Path::new(path)).to_string();
        assert_eq!(of("/home/me/src/app"), of("/home/me/src/app"));
        assert_ne!(of("/home/me/src/app"), of("/home/you/src/app"));
        assert!(of("/home/me/src/app").starts_with("app-"));
        for path in ["/", "/x/.config", "/x/mein Ordner/日本", "/x/...", "/a/b\n"] {
            let name = of(path);
            assert_eq!(
                name.parse::<ChannelName>().unwrap().as_str(),
                name,
                "{path}"
            );
        }
        let long = format!("/{}", "x".repeat(300));
        assert!(of(&long).parse::<ChannelName>().is_ok());
    }

    #[test]
    fn ids_are_what_the_shell_library_recognises() {
        let now: Timestamp = "2026-02-02T06:45:30Z".parse().unwrap();
        for (session, id) in [
            (
                "c74cc080-94b9-4841-b82f-a62cfb8efdc0",
                "HO-20260202-064530-c74cc080",
            ),
            ("ab-c", "HO-20260202-064530-abc"),
            ("", "HO-20260202-064530-unknown"),
            ("../é", "HO-20260202-064530-unknown"),
        ] {
            let made = HandoffId::new(now, session);
            assert_eq!(made.as_str(), id);
            for id in [made.clone(), made.extended(2), made.extended(31)] {
                assert_eq!(id.as_str().parse::<HandoffId>().unwrap(), id);
            }
        }
        for bad in [
            "",
            "HO",
            "HO-20260202-064530-",
            "HO-20260202-064530",
            "HO-2026020-064530-a",
            "HO-20260202-06453-a",
            "HO-20260202-064530-a-b",
            "HO-20260202-064530-a/b",
            "HO-20260202-064530-é",
            "ho-20260202-064530-a",
        ] {
            assert!(bad.parse::<HandoffId>().is_err(), "{bad}");
        }
        let long = format!("HO-20260202-064530-{}", "a".repeat(200));
        assert!(long.parse::<HandoffId>().is_err());
    }

    #[test]
    fn a_channels_name_is_a_plain_file_name() {
        for fine in ["global", "my-app", "a.b_c", "A1"] {
            assert_eq!(fine.parse::<ChannelName>().unwrap().as_str(), fine);
        }
        let long = "a".repeat(65);
        for bad in ["", ".", "..", ".x", "a/b", "a b", "é", "a\n", &long] {
            assert!(bad.parse::<ChannelName>().is_err(), "{bad:?}");
        }
    }
}
