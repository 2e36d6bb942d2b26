//! Sessions under headings: by family (parent and child) or by directory. Pure.

use std::collections::HashMap;

use sm_daemon::api::types::SessionView;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grouping {
    #[default]
    None,
    Family,
    Directory,
}

impl Grouping {
    pub fn next(self) -> Self {
        match self {
            Self::None => Self::Family,
            Self::Family => Self::Directory,
            Self::Directory => Self::None,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Family => "family",
            Self::Directory => "directory",
        }
    }
}

/// Generations of a family that are told apart; a circle of parents ends here too.
const DEEPEST: usize = 8;

/// The places of a session's ancestors and of itself, the eldest that is known first.
pub fn lineage(sessions: &[SessionView], places: &HashMap<&str, usize>, at: usize) -> Vec<usize> {
    let mut line = vec![at];
    let mut next = at;
    while line.len() < DEEPEST {
        let parent = sessions
            .get(next)
            .and_then(|session| session.parent.as_deref());
        let Some(parent) = parent.and_then(|id| places.get(id)) else {
            break;
        };
        if line.contains(parent) {
            break;
        }
        next = *parent;
        line.push(next);
    }
    line.reverse();
    line
}

pub fn places(sessions: &[SessionView]) -> HashMap<&str, usize> {
    sessions
        .iter()
        .enumerate()
        .map(|(at, session)| (session.id.as_str(), at))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::ls::tests::session;

    #[test]
    fn a_lineage_goes_to_the_eldest_that_is_known_and_never_in_circles() {
        let child = |id: &str, parent: &str| {
            let mut one = session(id);
            (one.id, one.parent) = (id.into(), Some(parent.into()));
            one
        };
        let all = [
            child("a", "gone"),
            child("b", "a"),
            child("c", "b"),
            child("x", "y"),
            child("y", "x"),
            child("self", "self"),
        ];
        for (at, expected) in [
            (0, vec![0]),
            (2, vec![0, 1, 2]),
            (3, vec![4, 3]),
            (4, vec![3, 4]),
            (5, vec![5]),
        ] {
            assert_eq!(lineage(&all, &places(&all), at), expected, "{at}");
        }
    }
}
