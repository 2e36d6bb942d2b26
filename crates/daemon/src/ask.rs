//! A request that `sm handoff` prints when a sandbox lets it reach nobody: the agent's hook after the
//! tool call runs outside of the sandbox and carries what the tool printed to the daemon, which
//! answers by the same hook. Pure.
//!
//! Text that merely passes through a tool (a file, a page, an old log) must never ask for anything:
//! a line is proven with the session's secret, which does not stand in it, and is good for a moment
//! only.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sm_client::wire::ASK_MARK;

/// How an answer by the hook begins.
pub const BY_HOOK: &str = "[sm handoff]";
/// Wording that is promised.
pub const SCHEDULED: &str = "Handoff scheduled — will execute after current turn completes";

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

/// What is kept of a secret, and what requests are proven with.
pub fn secret_hash(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

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
    // every byte is looked at: how long it takes tells nothing
    let differ = right
        .iter()
        .zip(&given)
        .fold(0, |all, (a, b)| all | (a ^ b));
    if differ != 0 || given.len() != right.len() {
        return None;
    }
    serde_json::from_slice(&unhex(body)?).ok()
}

/// HMAC-SHA-256.
fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    let mut block = [0_u8; 64];
    match block.get_mut(..key.len()) {
        Some(start) => start.copy_from_slice(key),
        None => block[..32].copy_from_slice(&Sha256::digest(key)),
    }
    let pass = |pad: u8, text: &[u8]| {
        let mut hash = Sha256::new();
        hash.update(block.map(|byte| byte ^ pad));
        hash.update(text);
        hash.finalize()
    };
    pass(0x5c, &pass(0x36, text)).into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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

    /// RFC 4231, cases 1, 2 and 6.
    #[test]
    fn proofs_are_hmac_sha_256() {
        for (key, text, expected) in [
            (
                vec![0x0b; 20],
                &b"Hi There"[..],
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe".to_vec(),
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                vec![0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            assert_eq!(hex(&hmac(&key, text)), expected);
        }
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
