//! A request that `sm handoff` prints when a sandbox lets it reach nobody: the agent's hook after the
//! tool call runs outside of the sandbox and carries what the tool printed to the daemon, which
//! answers by the same hook. Pure.
//!
//! Text that merely passes through a tool (a file, a page, an old log) must never ask for anything:
//! a line is proven with the session's secret, which does not stand in it, and is good for a moment
//! only.

use serde::{Deserialize, Serialize};
use sm_client::proof::{hex, hmac};
use sm_client::wire::ASK_MARK;

use crate::api::types::When;

/// How an answer by the hook begins.
pub const BY_HOOK: &str = "[sm handoff]";
/// Wording that is promised.
pub const SCHEDULED: &str = "Handoff scheduled — will execute after current turn completes";

/// What is going to happen, in one line.
pub fn scheduled(when: Option<When>) -> &'static str {
    match when {
        None | Some(When::TurnEnd | When::Other) => SCHEDULED,
        Some(When::Now) => "Handoff scheduled — no turn runs, so the context is left now",
        Some(When::Ready) => {
            "Handoff scheduled — its agent is being started; the context is left once that is ready"
        }
        Some(When::Compacted) => {
            "Handoff scheduled — it compacts its context, which is left when that is over"
        }
        Some(When::Answered) => {
            "Handoff scheduled — a dialog waits for a person's answer; the context is left after that"
        }
        Some(When::Start) => {
            "Handoff scheduled — its agent has ended and is started again, in a new context"
        }
    }
}

/// A line that is older than this is a quotation.
pub const GOOD_FOR: i64 = 30_000;
/// No path is so long.
const MAX_LINE: usize = 32 * 1024;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The same id is the same handoff.
    pub id: String,
    /// Milliseconds since the epoch.
    pub at: i64,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    Handoff {
        file_path: String,
        force: bool,
        #[serde(default)]
        auto: bool,
    },
    Cancel,
}

pub use sm_client::proof::secret_hash;

impl Ask {
    /// As it is printed. None: it cannot be written down.
    pub fn line(&self, secret_hash: &str) -> Option<String> {
        let body = hex(&serde_json::to_vec(self).ok()?);
        let proof = hex(&hmac(secret_hash.as_bytes(), body.as_bytes()));
        let line = format!("{ASK_MARK}{body}:{proof}");
        (line.len() <= MAX_LINE).then_some(line)
    }

    /// The last request in what a tool printed that this session has made, if it is a new one.
    pub fn find(printed: &str, secret_hash: &str, now: i64) -> Option<Self> {
        if secret_hash.is_empty() {
            return None;
        }
        let after = |(at, _): (usize, &str)| &printed[at + ASK_MARK.len()..];
        let found = printed.rmatch_indices(ASK_MARK).map(after);
        found
            .filter_map(|line| read(line, secret_hash))
            .next()
            .filter(|ask| {
                let age = now.saturating_sub(ask.at);
                (-GOOD_FOR..=GOOD_FOR).contains(&age)
            })
    }
}

fn read(line: &str, secret_hash: &str) -> Option<Ask> {
    let end = line.find(|c: char| !c.is_ascii_hexdigit() && c != ':');
    let line = line.get(..end.unwrap_or(line.len()))?;
    let (body, proof) = line.split_once(':').filter(|_| line.len() <= MAX_LINE)?;
    let right = hmac(secret_hash.as_bytes(), body.as_bytes());
    let given = unhex(proof.get(..right.len() * 2)?)?;
    if !sm_client::proof::is_same(&given, &right) {
        return None;
    }
    serde_json::from_slice(&unhex(body)?).ok()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let value = |digit: u8| {
        char::from(digit)
            .to_digit(16)
            .and_then(|d| u8::try_from(d).ok())
    };
    let pairs = digits.chunks_exact(2);
    pairs
        .map(|pair| Some(value(pair[0])? << 4 | value(pair[1])?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(path: &str, at: i64) -> Ask {
        let what = What::Handoff {
            file_path: path.into(),
            force: false,
            auto: false,
        };
        let id = "h0a1b2c3d4".into();
        Ask { id, at, what }
    }

    #[test]
    fn only_the_session_itself_asks_and_only_now() {
        let (own, other) = (secret_hash("own"), secret_hash("other"));
        let asked = ask("/a/\"b\" ü.md", 1_000);
        let line = asked.line(&own).unwrap();
        assert!(!line.contains("own") && line.is_ascii() && !line.contains(' '));
        let printed = format!("noise\n{line}\r\nmore");
        let found = |text: &str, hash: &str, now| Ask::find(text, hash, now);
        assert_eq!(found(&printed, &own, 2_000), Some(asked.clone()));
        assert_eq!(found(&printed, &other, 2_000), None, "of another session");
        assert_eq!(found(&printed, "", 2_000), None, "nobody's");
        assert_eq!(found(&printed, &own, 40_000), None, "quoted later");
        let forged = printed.replacen("7b", "7c", 1);
        assert_eq!(found(&forged, &own, 2_000), None, "changed on the way");
        // the last one counts; what is none is looked past
        let second = ask("/second.md", 1_000);
        let both = format!("{line}\n{}\nsm-ask:00:11", second.line(&own).unwrap());
        assert_eq!(found(&both, &own, 2_000), Some(second));
        for noise in [
            "",
            "sm-ask:",
            "sm-ask::",
            "sm-ask:zz:zz",
            "sm-ask:0:0",
            "sm-ask:ä",
        ] {
            assert_eq!(found(noise, &own, 2_000), None, "{noise}");
        }
    }

    #[test]
    fn what_is_far_too_long_is_not_asked() {
        assert_eq!(ask(&"x".repeat(20_000), 0).line("k"), None);
    }
}
