//! tmux's own ids. They are unique for the life of a server and never match by prefix, so they
//! are what targets are made of.

use std::fmt;
use std::str::FromStr;

macro_rules! tmux_id {
    ($(#[$doc:meta])* $name:ident, $sigil:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl FromStr for $name {
            type Err = crate::Error;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                // `u32::from_str` would take a leading '+'.
                text.strip_prefix($sigil)
                    .filter(|n| n.bytes().all(|b| b.is_ascii_digit()))
                    .and_then(|n| n.parse().ok())
                    .map(Self)
                    .ok_or_else(|| crate::Error::BadArgument(format!("{text:?} is no id of tmux")))
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", $sigil, self.0)
            }
        }
    };
}

tmux_id!(
    /// A pane, as `%3`.
    PaneId,
    '%'
);
tmux_id!(
    /// A window, as `@3`.
    WindowId,
    '@'
);
tmux_id!(
    /// A session of tmux (not of ours), as `$3`.
    TmuxSessionId,
    '$'
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_ids_are_ids() {
        assert_eq!(
            "%17".parse::<PaneId>().map(|p| p.to_string()),
            Ok("%17".into())
        );
        for bad in [
            "",
            "%",
            "17",
            "@17",
            "%+1",
            "%1 ",
            "%-1",
            "%99999999999",
            "%1;kill-server",
        ] {
            assert!(bad.parse::<PaneId>().is_err(), "{bad:?}");
        }
    }
}
