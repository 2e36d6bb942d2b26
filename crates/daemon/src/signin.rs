//! Browsers that were let in: a link that works once, and the cookie it is changed for.
//!
//! A link is in memory only and for a minute. Of a cookie only its hash is kept, in a file of our
//! own, so that a browser stays signed in when the daemon is replaced. Time comes in from outside.
//! What is here decides nothing: a known cookie is one of the things `api/access.rs` goes by.

use crate::hub::lock;
use crate::private;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sm_core::Timestamp;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;

/// How long a link works.
pub const LINK_MS: i64 = 60_000;
/// How long a browser stays signed in.
pub const COOKIE_MS: i64 = 30 * 24 * 3600 * 1000;
/// Random bytes in a link and in a cookie; both are written as hex.
const SECRET_BYTES: usize = 32;
/// More than this are not kept: the oldest go.
const LINKS: usize = 16;
const COOKIES: usize = 64;
/// Nothing we write is longer.
const FILE_BYTES: u64 = 64 * 1024;

/// Why a link does not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoEntry {
    #[error("this link has been used already, or was never made")]
    Unknown,
    #[error("this link has expired")]
    Expired,
    #[error("the system gives no random numbers")]
    NoRandom,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    /// SHA-256, hex.
    hash: String,
    /// Milliseconds since the epoch.
    expires: i64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Stored {
    cookies: Vec<Kept>,
}

#[derive(Debug, Default)]
struct Known {
    links: Vec<Kept>,
    cookies: Vec<Kept>,
}

#[derive(Debug)]
pub struct SignIns {
    file: PathBuf,
    known: Mutex<Known>,
    /// Held while the file is written, so that the newest is the last.
    saving: Mutex<()>,
}

impl SignIns {
    /// What is not readable is as if nobody was signed in.
    pub fn load(file: PathBuf) -> Self {
        let cookies = match private::read(&file, FILE_BYTES) {
            Ok(Some(bytes)) => {
                serde_json::from_slice::<Stored>(&bytes)
                    .unwrap_or_default()
                    .cookies
            }
            Ok(None) => Vec::new(),
            Err(error) => {
                tracing::warn!("{} cannot be read: {error}", file.display());
                Vec::new()
            }
        };
        let known = Known {
            cookies,
            ..Known::default()
        };
        Self {
            file,
            known: Mutex::new(known),
            saving: Mutex::new(()),
        }
    }

    /// The secret of a new link.
    pub fn link(&self, now: Timestamp) -> io::Result<String> {
        let secret = private::secret(SECRET_BYTES)?;
        let mut known = lock(&self.known);
        keep(&mut known.links, &secret, now, LINK_MS, LINKS);
        Ok(secret)
    }

    /// Changes a link for a cookie. Whatever comes of it, the link does not work again.
    pub fn enter(&self, link: &str, now: Timestamp) -> Result<String, NoEntry> {
        let mut known = lock(&self.known);
        let hash = hash(link);
        let at = known.links.iter().position(|kept| kept.hash == hash);
        let found = known.links.remove(at.ok_or(NoEntry::Unknown)?);
        if found.expires <= now.0 {
            return Err(NoEntry::Expired);
        }
        let cookie = private::secret(SECRET_BYTES).map_err(|_| NoEntry::NoRandom)?;
        keep(&mut known.cookies, &cookie, now, COOKIE_MS, COOKIES);
        Ok(cookie)
    }

    pub fn is_known(&self, cookie: &str, now: Timestamp) -> bool {
        if cookie.len() != SECRET_BYTES * 2 {
            return false; // most are not ours at all
        }
        let hash = hash(cookie);
        let known = lock(&self.known);
        let mut all = known.cookies.iter();
        all.any(|kept| kept.hash == hash && kept.expires > now.0)
    }

    pub fn leave(&self, cookie: &str) {
        let hash = hash(cookie);
        lock(&self.known).cookies.retain(|kept| kept.hash != hash);
    }

    /// Writes down who is signed in. Waits for the disk.
    pub fn save(&self, now: Timestamp) -> io::Result<()> {
        let _saving = lock(&self.saving);
        let cookies = {
            let mut known = lock(&self.known);
            known.cookies.retain(|kept| kept.expires > now.0);
            known.cookies.clone()
        };
        let text = serde_json::to_vec(&Stored { cookies })?;
        private::write(&self.file, &text)
    }
}

fn keep(list: &mut Vec<Kept>, secret: &str, now: Timestamp, for_ms: i64, most: usize) {
    list.push(Kept {
        hash: hash(secret),
        expires: now.0.saturating_add(for_ms),
    });
    let more = list.len().saturating_sub(most);
    list.drain(..more);
}

fn hash(secret: &str) -> String {
    let digest = Sha256::digest(secret.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_700_000_000_000);

    fn later(ms: i64) -> Timestamp {
        Timestamp(NOW.0 + ms)
    }

    fn sign_ins() -> (tempfile::TempDir, SignIns) {
        let dir = tempfile::tempdir().unwrap();
        let sign_ins = SignIns::load(dir.path().join("signed-in"));
        (dir, sign_ins)
    }

    #[test]
    fn a_link_works_once() {
        let (_dir, all) = sign_ins();
        let link = all.link(NOW).unwrap();
        assert_eq!(link.len(), 64);
        let cookie = all.enter(&link, later(1)).unwrap();
        assert_ne!(cookie, link);
        assert!(all.is_known(&cookie, later(2)));
        assert_eq!(all.enter(&link, later(2)), Err(NoEntry::Unknown));
        for nothing in ["", "0", &"0".repeat(64), &cookie, &link] {
            assert_eq!(all.enter(nothing, later(2)), Err(NoEntry::Unknown));
        }
        assert!(!all.is_known(&link, later(2)), "a link is no cookie");
    }

    #[test]
    fn a_link_works_for_a_minute_and_an_expired_one_never_again() {
        let (_dir, all) = sign_ins();
        let in_time = all.link(NOW).unwrap();
        assert!(all.enter(&in_time, later(LINK_MS - 1)).is_ok());
        let late = all.link(NOW).unwrap();
        assert_eq!(all.enter(&late, later(LINK_MS)), Err(NoEntry::Expired));
        // a clock that is set back does not bring it back
        assert_eq!(all.enter(&late, NOW), Err(NoEntry::Unknown));
    }

    #[test]
    fn a_cookie_survives_the_daemon_by_its_hash_alone() {
        use std::os::unix::fs::PermissionsExt;
        let (dir, all) = sign_ins();
        let cookie = all.enter(&all.link(NOW).unwrap(), NOW).unwrap();
        let link = all.link(NOW).unwrap();
        all.save(NOW).unwrap();
        let file = dir.path().join("signed-in");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains(&cookie) && !text.contains(&hash(&link)));
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let next = SignIns::load(file.clone());
        assert!(next.is_known(&cookie, later(COOKIE_MS - 1)));
        assert!(!next.is_known(&cookie, later(COOKIE_MS)));
        assert_eq!(next.enter(&link, NOW), Err(NoEntry::Unknown));
        next.leave(&cookie);
        assert!(!next.is_known(&cookie, NOW));
        next.save(NOW).unwrap();
        assert!(!SignIns::load(file.clone()).is_known(&cookie, NOW));
        // a file that others could have written signs nobody in
        all.save(NOW).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        assert!(!SignIns::load(file.clone()).is_known(&cookie, NOW));
        for junk in ["", "{", "[]", r#"{"cookies":[{}]}"#] {
            std::fs::remove_file(&file).unwrap();
            private::write(&file, junk.as_bytes()).unwrap();
            assert!(!SignIns::load(file.clone()).is_known(&cookie, NOW));
        }
    }

    #[test]
    fn their_number_is_bounded_and_the_expired_are_dropped() {
        let (dir, all) = sign_ins();
        let links: Vec<_> = (0..LINKS + 1).map(|_| all.link(NOW).unwrap()).collect();
        assert_eq!(all.enter(&links[0], NOW), Err(NoEntry::Unknown));
        assert!(all.enter(&links[1], NOW).is_ok());
        let enter = || all.enter(&all.link(NOW).unwrap(), NOW).unwrap();
        let cookies: Vec<_> = (0..COOKIES + 1).map(|_| enter()).collect();
        assert!(!all.is_known(&cookies[0], NOW));
        assert!(all.is_known(&cookies[1], NOW) && all.is_known(&cookies[COOKIES], NOW));
        all.save(NOW).unwrap();
        let file = dir.path().join("signed-in");
        assert!(file.metadata().unwrap().len() < FILE_BYTES);
        all.save(later(COOKIE_MS)).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), r#"{"cookies":[]}"#);
    }
}
