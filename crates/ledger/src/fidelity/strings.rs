//! All strings inside a piece of JSON, in their order, one below the other; what is no string is an empty line.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// The values, not the keys.
#[derive(Debug, Default)]
pub(super) struct Strings(pub(super) String);

impl<'de> Deserialize<'de> for Strings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any)
    }
}

struct Any;

/// Joins as they come.
#[derive(Default)]
struct Joined(Option<String>);

impl Joined {
    fn add(&mut self, next: Strings) {
        match &mut self.0 {
            Some(all) => {
                all.push('\n');
                all.push_str(&next.0);
            }
            None => self.0 = Some(next.0),
        }
    }

    fn done(self) -> Strings {
        Strings(self.0.unwrap_or_default())
    }
}

impl<'de> Visitor<'de> for Any {
    type Value = Strings;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_str<E>(self, text: &str) -> Result<Strings, E> {
        Ok(Strings(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Strings, E> {
        Ok(Strings(text))
    }

    fn visit_unit<E>(self) -> Result<Strings, E> {
        Ok(Strings::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Strings, E> {
        Ok(Strings::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Strings, E> {
        Ok(Strings::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Strings, E> {
        Ok(Strings::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Strings, E> {
        Ok(Strings::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Strings, A::Error> {
        let mut joined = Joined::default();
        while let Some(next) = list.next_element()? {
            joined.add(next);
        }
        Ok(joined.done())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Strings, A::Error> {
        let mut joined = Joined::default();
        while let Some((IgnoredAny, next)) = map.next_entry()? {
            joined.add(next);
        }
        Ok(joined.done())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_their_order() {
        for (json, expected) in [
            (r#""one""#, "one"),
            ("12", ""),
            ("null", ""),
            ("[]", ""),
            ("{}", ""),
            (r#"{"b":"one","a":"two"}"#, "one\ntwo"),
            (r#"{"b":true,"a":["x",1.5,{"c":"y\nz"}]}"#, "\nx\n\ny\nz"),
        ] {
            let strings: Strings = serde_json::from_str(json).unwrap();
            assert_eq!(strings.0, expected, "{json}");
        }
    }
}
