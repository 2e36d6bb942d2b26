//! Which folder belongs to which channel: `{"/path": "name"}`, one pair a line, as the shell
//! library reads it. Pure.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::names::ChannelName;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Registry {
    /// In the order of the file. What is not a pair of path and name stays, and means nothing.
    entries: Map<String, Value>,
}

impl Registry {
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.trim_ascii().is_empty() {
            return Ok(Self::default());
        }
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(entries)) => Ok(Self { entries }),
            Ok(_) => Err("it is not an object".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        if self.entries.is_empty() {
            return b"{}\n".to_vec();
        }
        let lines: Vec<String> = self
            .entries
            .iter()
            .map(|(path, name)| format!("  {}: {name}", json!(path)))
            .collect();
        format!("{{\n{}\n}}\n", lines.join(",\n")).into_bytes()
    }

    /// The pairs, by path.
    pub fn pairs(&self) -> BTreeMap<&str, ChannelName> {
        self.entries
            .iter()
            .filter_map(|(path, name)| Some((path.as_str(), name.as_str()?.parse().ok()?)))
            .collect()
    }

    /// The longest registered path that holds this one, and its channel. Whole folder names
    /// count: `/a/b` does not hold `/a/bc`.
    pub fn channel_of(&self, place: &Path) -> Option<(&str, ChannelName)> {
        self.pairs()
            .into_iter()
            .filter(|(path, _)| path.starts_with('/') && place.starts_with(path))
            .max_by_key(|(path, _)| Path::new(path).components().count())
    }

    pub fn register(&mut self, path: &str, name: &ChannelName) {
        let known = self.spelled(path).unwrap_or_else(|| path.to_owned());
        self.entries.insert(known, json!(name.as_str()));
    }

    /// Whether it was there.
    pub fn unregister(&mut self, path: &str) -> bool {
        self.spelled(path)
            .is_some_and(|known| self.entries.shift_remove(&known).is_some())
    }

    /// How the file spells this path: a final `/` makes no difference.
    fn spelled(&self, path: &str) -> Option<String> {
        self.entries
            .keys()
            .find(|known| Path::new(known.as_str()) == Path::new(path))
            .cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_path_wins() {
        let registry = Registry::parse(
            br#"{"/home/me": "home", "/home/me/src/app/": "app", "/home/me/src/app/web": "web",
                 "relative": "no", "/bad": "a/b", "/number": 3}"#,
        )
        .unwrap();
        for (place, channel) in [
            ("/home/me", Some("home")),
            ("/home/me/src", Some("home")),
            ("/home/me/src/app", Some("app")),
            ("/home/me/src/app/web/x", Some("web")),
            ("/home/me/src/app/website", Some("app")),
            ("/home/meadow", None),
            ("/bad", None),
            ("/number", None),
            ("/", None),
        ] {
            let found = registry.channel_of(Path::new(place)).map(|(_, name)| name);
            assert_eq!(found.as_ref().map(ChannelName::as_str), channel, "{place}");
        }
    }

    #[test]
    fn one_pair_a_line_and_nothing_else_is_touched() {
        let mut registry = Registry::parse(br#"{"/b":"bee","note":[1,2],"/a/":"ay"}"#).unwrap();
        registry.register("/c \"x\"", &"sea".parse().unwrap());
        registry.register("/a", &"other".parse().unwrap());
        assert_eq!(
            String::from_utf8(registry.bytes()).unwrap(),
            "{\n  \"/b\": \"bee\",\n  \"note\": [1,2],\n  \"/a/\": \"other\",\n  \"/c \\\"x\\\"\": \"sea\"\n}\n"
        );
        assert_eq!(Registry::parse(&registry.bytes()).unwrap(), registry);
        assert!(registry.unregister("/b/"));
        assert!(!registry.unregister("/b"));
        assert_eq!(registry.pairs().len(), 2);
        assert_eq!(Registry::parse(b" \n").unwrap().bytes(), b"{}\n");
        assert!(Registry::parse(b"[]").is_err());
        assert!(Registry::parse(b"{").is_err());
    }
}
