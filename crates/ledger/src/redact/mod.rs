//! Secrets taken out of a text before it is written down or put into a context.
//!
//! A table of shapes (`rules`) for what providers issue, and a reading of names and values for
//! what people write down themselves: assignments, flags, addresses, headers. What it must never
//! do: touch hashes, uuids, ordinary code or a placeholder. A document without its identifiers is
//! as useless as one with secrets is harmful.
//!
//! One pass over the bytes; a table of byte pairs says where a look is worth it.
//!
//! | module | what it knows |
//! |---|---|
//! | `rules` | names and shapes of issued secrets |
//! | `samples` | invented secrets and look-alikes, to measure with |
//! | `scan` | the pass; tokens that have a beginning of their own |
//! | `shapes` | keys in blocks, signed tokens, passwords in addresses, headers, command lines |
//! | `assign` | names with values: code, JSON, YAML, environment, flags, queries |
//! | `keys` | which names stand for a secret |
//! | `value` | whether a value is one, or a reference, a word, a placeholder |
//! | `spoken` | passwords that people say in a sentence, in their own language |
//! | `cookies` | the values of cookies that stand for a login |
//! | `structured` | JSON, string by string, each with the name it stands under |

mod assign;
mod cookies;
mod keys;
mod rules;
pub mod samples;
mod scan;
mod shapes;
mod spoken;
mod structured;
mod value;

use std::borrow::Cow;

use rules::name;

pub use rules::rule_names;
pub use structured::redact_json;

/// Where a text comes from: it decides how much the name of a value says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// Code, prose, output: a value behind the name of a secret may be an expression.
    #[default]
    Any,
    /// A file of settings: what stands behind the name of a secret is that secret.
    Settings,
}

/// One secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What it is, in the words of the replacement.
    pub rule: &'static str,
    /// Bytes of the text.
    pub start: usize,
    pub end: usize,
}

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'a> {
    pub text: Cow<'a, str>,
    /// How many by rule, in the order in which they first stood in the text.
    pub found: Vec<(&'static str, usize)>,
}

impl Redacted<'_> {
    /// How many secrets were taken out.
    pub fn count(&self) -> usize {
        self.found.iter().map(|(_, count)| count).sum()
    }
}

/// Takes the secrets out. Doing it again changes nothing.
pub fn redact(text: &str) -> Redacted<'_> {
    redact_from(text, Origin::Any)
}

/// As [`redact`], for a text of which one knows where it comes from.
pub fn redact_from(text: &str, origin: Origin) -> Redacted<'_> {
    let mut redacted = Redacted {
        text: Cow::Borrowed(text),
        found: Vec::new(),
    };
    // What was taken out is a boundary for what stands beside it; a look at the outcome finds
    // that. Nearly every text needs one pass or two.
    for pass in 0..=2 * PASSES {
        let mut found = find_from(&redacted.text, origin);
        if found.is_empty() {
            break;
        }
        if pass >= PASSES {
            found = wider(&redacted.text, &found, pass == 2 * PASSES);
        }
        let mut text = String::with_capacity(redacted.text.len());
        let mut from = 0;
        for secret in &found {
            text.push_str(redacted.text.get(from..secret.start).unwrap_or_default());
            text.push_str("[redacted: ");
            text.push_str(secret.rule);
            text.push(']');
            from = secret.end;
            match redacted.found.iter_mut().find(|(r, _)| *r == secret.rule) {
                Some((_, count)) => *count += 1,
                None => redacted.found.push((secret.rule, 1)),
            }
        }
        text.push_str(redacted.text.get(from..).unwrap_or_default());
        redacted.text = Cow::Owned(text);
    }
    redacted
}

const PASSES: usize = 6;

/// No text that anybody wrote comes this far: each secret that goes makes one of what stands before
/// it, without end. Their lines go as a whole, and in the end the text, so that there is one.
fn wider(text: &str, found: &[Found], all: bool) -> Vec<Found> {
    let mut lines: Vec<Found> = Vec::new();
    for secret in found {
        let (before, after) = (text.get(..secret.start), text.get(secret.end..));
        let start = before.and_then(|before| before.rfind('\n'));
        let end = after.and_then(|after| after.find('\n'));
        let line = Found {
            rule: secret.rule,
            start: start.filter(|_| !all).map_or(0, |start| start + 1),
            end: end
                .filter(|_| !all)
                .map_or(text.len(), |end| secret.end + end),
        };
        match lines.last_mut() {
            Some(last) if last.end >= line.start => last.end = last.end.max(line.end),
            Some(_) | None => lines.push(line),
        }
    }
    lines
}

/// The secrets of a text, in order, none over another.
pub fn find(text: &str) -> Vec<Found> {
    find_from(text, Origin::Any)
}

/// As [`find`], for a text of which one knows where it comes from.
pub fn find_from(text: &str, origin: Origin) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    scan::scan(text, origin, &mut |secret| found.push(secret));
    found.retain(|f| {
        f.start < f.end && text.is_char_boundary(f.start) && text.is_char_boundary(f.end)
    });
    // what has a shape of its own says more than the name before it; then the one that begins
    // first, then the longer one
    found.sort_by(|a, b| (rank(a), a.start, b.end).cmp(&(rank(b), b.start, a.end)));
    let mut kept: Vec<Found> = Vec::with_capacity(found.len());
    for one in found {
        let at = kept.partition_point(|k| k.start < one.start);
        let free = at
            .checked_sub(1)
            .and_then(|i| kept.get(i))
            .is_none_or(|k| k.end <= one.start)
            && kept.get(at).is_none_or(|k| k.start >= one.end);
        if free {
            kept.insert(at, one);
        }
    }
    kept
}

/// The secrets of a text themselves: whoever has them knows what must not come up again.
pub fn values(text: &str, origin: Origin) -> Vec<String> {
    let found = find_from(text, origin);
    let values = found.iter().filter_map(|f| text.get(f.start..f.end));
    values.map(str::to_owned).collect()
}

fn rank(found: &Found) -> u8 {
    match found.rule {
        name::PRIVATE_KEY => 0,
        name::URL_PASSWORD | name::URL_TOKEN | name::BEARER | name::COMMAND => 2,
        name::PASSWORD
        | name::SECRET
        | name::API_KEY
        | name::TOKEN
        | name::SIGNATURE
        | name::COOKIE => 3,
        _ => 1,
    }
}
