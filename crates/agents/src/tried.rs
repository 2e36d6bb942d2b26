//! The versions of the agents' programs that were tried: the one table of them. A newer one may label,
//! draw or record things differently, and nobody has looked yet.

use sm_core::AgentKind;

/// The newest version of each program that the tests were run with.
const NEWEST: [(AgentKind, Version); 2] = [
    (AgentKind::Claude, Version([2, 1, 328])),
    (AgentKind::Codex, Version([0, 169, 0])),
];

/// `major.minor.patch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub [u32; 3]);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

impl Version {
    /// The first version in what a program says of itself (`2.1.325 (Claude Code)`, `codex-cli 0.166.0`).
    pub fn find(said: &str) -> Option<Self> {
        said.split(|c: char| c.is_whitespace() || c == ',')
            .find_map(Self::parse)
    }

    fn parse(word: &str) -> Option<Self> {
        let word = word.strip_prefix('v').unwrap_or(word);
        let mut parts = word.splitn(3, '.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?.parse().ok()?;
        let digits = |text: &str| {
            text.chars()
                .take_while(char::is_ascii_digit)
                .collect::<String>()
        };
        let patch = digits(parts.next()?).parse().ok()?;
        Some(Self([major, minor, patch]))
    }
}

/// The newest version that was tried.
pub fn newest(agent: AgentKind) -> Option<Version> {
    let mut known = NEWEST.iter();
    known
        .find(|(kind, _)| *kind == agent)
        .map(|(_, version)| *version)
}

/// The newest version that was tried, if that one is newer still.
pub fn newer_than_tried(agent: AgentKind, said: &str) -> Option<Version> {
    let tried = newest(agent)?;
    (Version::find(said)? > tried).then_some(tried)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_newer_than_any_that_was_tried_is_known() {
        let claude = Version([2, 1, 328]);
        for (said, expected) in [
            ("2.1.328 (Claude Code)", None),
            ("2.1.197 (Claude Code)", None),
            ("2.1.329 (Claude Code)", Some(claude)),
            ("2.2.0 (Claude Code)", Some(claude)),
            ("v3.0.0-beta.1", Some(claude)),
            ("10.0.0", Some(claude)),
            ("unknown", None),
            ("", None),
            ("99999999999.1.1", None),
        ] {
            assert_eq!(
                newer_than_tried(AgentKind::Claude, said),
                expected,
                "{said}"
            );
        }
        let codex = newer_than_tried(AgentKind::Codex, "codex-cli 0.170.0-alpha.2");
        assert_eq!(codex, Some(Version([0, 169, 0])));
        assert_eq!(newer_than_tried(AgentKind::Generic, "9.9.9"), None);
    }
}
