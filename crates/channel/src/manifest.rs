//! The manifest of a channel and what may become of its one current handoff. Pure.
//!
//! Fields that are not known here stay as they are: another program may have written them.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::document::time;
use crate::names::{ChannelName, HandoffId, Kind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Active,
    Consumed,
    Expired,
    Cleared,
}

impl Status {
    const ALL: [Self; 4] = [Self::Active, Self::Consumed, Self::Expired, Self::Cleared];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Consumed => "consumed",
            Self::Expired => "expired",
            Self::Cleared => "cleared",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The handoff that a manifest names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Current {
    pub id: HandoffId,
    pub session: String,
    pub created_at: Option<Timestamp>,
    /// The folder it was made in; may be empty.
    pub working_dir: String,
    pub status: Status,
}

impl Current {
    /// What the handoff is at this moment: an active one may be too old by now. One whose age
    /// nobody knows does not age.
    pub fn status_at(&self, now: Timestamp, expiry: Option<Duration>) -> Status {
        let old = |limit: Duration| {
            self.created_at
                .is_some_and(|made| now.duration_since(made).unsigned_abs() > limit && made < now)
        };
        match self.status {
            Status::Active if expiry.is_some_and(old) => Status::Expired,
            status @ (Status::Active | Status::Consumed | Status::Expired | Status::Cleared) => {
                status
            }
        }
    }
}

/// What a new handoff's entry says.
pub(crate) struct Entry<'a> {
    pub id: &'a HandoffId,
    pub session: &'a str,
    pub created: Timestamp,
    pub pid: u32,
    pub working_dir: &'a str,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    whole: Map<String, Value>,
    current: Option<Current>,
}

impl Manifest {
    /// `Err` says what is wrong with it. A manifest without a current handoff is fine.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let value: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let Value::Object(whole) = value else {
            return Err("it is not an object".to_owned());
        };
        let current = match whole.get("current") {
            None | Some(Value::Null) => None,
            Some(Value::Object(entry)) if entry.is_empty() => None,
            Some(Value::Object(entry)) => Some(current(entry)?),
            Some(_) => return Err("current is not an object".to_owned()),
        };
        Ok(Self { whole, current })
    }

    pub(crate) fn new(channel: &ChannelName, entry: &Entry<'_>) -> Self {
        let mut whole = Map::new();
        whole.insert("channel".to_owned(), json!(channel.as_str()));
        whole.insert(
            "current".to_owned(),
            json!({
                "id": entry.id.as_str(),
                "session_id": entry.session,
                "created_at": time(entry.created),
                "created_by_pid": entry.pid,
                "working_dir": entry.working_dir,
                "type": entry.kind.as_str(),
                "status": Status::Active.as_str(),
            }),
        );
        Self {
            whole,
            current: Some(Current {
                id: entry.id.clone(),
                session: entry.session.to_owned(),
                created_at: Some(entry.created),
                working_dir: entry.working_dir.to_owned(),
                status: Status::Active,
            }),
        }
    }

    pub fn current(&self) -> Option<&Current> {
        self.current.as_ref()
    }

    pub fn value(&self) -> Value {
        Value::Object(self.whole.clone())
    }

    pub(crate) fn consumed(&self, pid: u32, now: Timestamp) -> Self {
        self.with(
            Status::Consumed,
            &[
                ("consumed_by_pid", json!(pid)),
                ("consumed_at", json!(time(now))),
            ],
        )
    }

    pub(crate) fn expired(&self, now: Timestamp) -> Self {
        self.with(Status::Expired, &[("expired_at", json!(time(now)))])
    }

    pub(crate) fn cleared(&self, now: Timestamp) -> Self {
        self.with(Status::Cleared, &[("cleared_at", json!(time(now)))])
    }

    fn with(&self, status: Status, fields: &[(&str, Value)]) -> Self {
        let mut next = self.clone();
        if let Some(Value::Object(entry)) = next.whole.get_mut("current") {
            entry.insert("status".to_owned(), json!(status.as_str()));
            for (key, value) in fields {
                entry.insert((*key).to_owned(), value.clone());
            }
        }
        if let Some(current) = &mut next.current {
            current.status = status;
        }
        next
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        // `{:#}` of a JSON value cannot fail.
        format!("{:#}\n", self.value()).into_bytes()
    }
}

fn current(entry: &Map<String, Value>) -> Result<Current, String> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let id = text("id").ok_or("current has no id")?;
    let status = text("status").ok_or("current has no status")?;
    Ok(Current {
        id: id.parse().map_err(|_| format!("{id:?} is no id"))?,
        session: text("session_id").unwrap_or_default().to_owned(),
        created_at: text("created_at").and_then(|at| at.parse().ok()),
        working_dir: text("working_dir").unwrap_or_default().to_owned(),
        status: Status::ALL
            .into_iter()
            .find(|known| known.as_str() == status)
            .ok_or_else(|| format!("{status:?} is no status"))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: &str = r#"{
  "channel": "global",
  "current": {
    "id": "HO-20260202-064530-c74cc080",
    "session_id": "c74cc080-94b9-4841-b82f-a62cfb8efdc0",
    "created_at": "2026-02-02T06:45:30Z",
    "created_by_pid": 12345,
    "working_dir": "/home/jesse",
    "type": "auto",
    "status": "active"
  }
}
"#;

    fn at(time: &str) -> Timestamp {
        time.parse().unwrap()
    }

    #[test]
    fn written_as_the_shell_library_writes_it() {
        let id = "HO-20260202-064530-c74cc080".parse().unwrap();
        let made = Manifest::new(
            &ChannelName::global(),
            &Entry {
                id: &id,
                session: "c74cc080-94b9-4841-b82f-a62cfb8efdc0",
                created: at("2026-02-02T06:45:30Z"),
                pid: 12345,
                working_dir: "/home/jesse",
                kind: Kind::Auto,
            },
        );
        assert_eq!(String::from_utf8(made.bytes()).unwrap(), SEED);
        assert_eq!(Manifest::parse(SEED.as_bytes()).unwrap(), made);
    }

    #[test]
    fn what_becomes_of_a_handoff_is_written_beside_what_was_there() {
        let foreign = SEED.replace("\"type\"", "\"mood\": [1], \"type\"");
        let active = Manifest::parse(foreign.as_bytes()).unwrap();
        let now = at("2026-02-02T07:00:00Z");
        for (next, status, fields) in [
            (
                active.consumed(7, now),
                Status::Consumed,
                &["consumed_by_pid", "consumed_at"][..],
            ),
            (active.expired(now), Status::Expired, &["expired_at"]),
            (active.cleared(now), Status::Cleared, &["cleared_at"]),
        ] {
            let again = Manifest::parse(&next.bytes()).unwrap();
            assert_eq!(again, next);
            assert_eq!(again.current().unwrap().status, status);
            let entry = &again.value()["current"];
            assert_eq!(entry["mood"], json!([1]));
            for field in fields {
                assert!(!entry[field].is_null(), "{field}");
            }
        }
    }

    #[test]
    fn an_active_one_grows_too_old() {
        let current = Manifest::parse(SEED.as_bytes()).unwrap().current.unwrap();
        let two_hours = Some(Duration::from_secs(7200));
        for (now, expiry, status) in [
            ("2026-02-02T08:45:30Z", two_hours, Status::Active),
            ("2026-02-02T08:45:31Z", two_hours, Status::Expired),
            ("2036-02-02T08:45:31Z", None, Status::Active),
            // A clock that was set back does not make it old.
            ("2026-01-01T00:00:00Z", two_hours, Status::Active),
        ] {
            assert_eq!(current.status_at(at(now), expiry), status, "{now}");
        }
    }

    #[test]
    fn what_is_no_manifest() {
        for none in ["{}", r#"{"current": null}"#, r#"{"current": {}}"#] {
            assert!(
                Manifest::parse(none.as_bytes())
                    .unwrap()
                    .current()
                    .is_none()
            );
        }
        for bad in [
            "",
            "{",
            "[]",
            "null",
            r#"{"current": 1}"#,
            r#"{"current": {"id": "x", "status": "active"}}"#,
            r#"{"current": {"id": "HO-20260202-064530-a", "status": "odd"}}"#,
            r#"{"current": {"id": "../../x", "status": "active"}}"#,
            r#"{"current": {"status": "active"}}"#,
        ] {
            assert!(Manifest::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
