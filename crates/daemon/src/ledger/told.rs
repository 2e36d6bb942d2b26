//! What was told to a context through sm, with a proof: the journal has it even where the agent died
//! before it wrote it down. Reads only; a journal that does not answer in time is done without.

use super::Kept;
use crate::hub::{Handle, Hub, lock};
use sm_core::{Message, MessageMeta, Purpose, Sender, Timestamp, words};
use sm_ledger::{Interrupt, Interrupts, Ledger, Told};
use sm_store::{MessageRow, Which};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// How many of the newest messages are looked at.
const LOOKED_AT: usize = 256;

/// The newest messages to a session. None: the journal did not answer in time.
pub(super) struct Messages(Option<Vec<MessageRow>>);

pub(super) async fn messages(hub: &Arc<Hub>, handle: &Handle, patience: Duration) -> Messages {
    let (hub, session) = (Arc::clone(hub), handle.id.to_string());
    let reading = tokio::task::spawn_blocking(move || {
        lock(&hub.reader).messages(&session, Which::All, LOOKED_AT)
    });
    let rows = match tokio::time::timeout(patience, reading).await {
        Ok(Ok(Ok(rows))) => Some(rows),
        Ok(Ok(Err(error))) => {
            tracing::debug!(session = %handle.id, %error, "its messages could not be read");
            None
        }
        Ok(Err(_)) | Err(_) => None,
    };
    Messages(rows)
}

impl Messages {
    pub(super) fn are_known(&self) -> bool {
        self.0.is_some()
    }

    /// When sm may have interrupted the agent, for which the record shows a person. None: nobody
    /// knows.
    pub(super) fn interrupts(&self) -> Option<Interrupts> {
        let rows = self.0.as_ref()?;
        let metas = rows.iter();
        let metas = metas.filter_map(|row| serde_json::from_str::<MessageMeta>(&row.meta).ok());
        let metas: Vec<MessageMeta> = metas.collect();
        // what came before the oldest of them was not looked at
        let oldest = metas.iter().map(|meta| meta.created_at).min();
        let by_sm = |meta: &&MessageMeta| meta.interrupted || meta.may_have_interrupted;
        let interrupts = metas.iter().filter(by_sm).map(|meta| Interrupt {
            from: meta.created_at,
            until: meta.taken.map(|(_, at)| at),
        });
        Some(Interrupts {
            by_sm: interrupts.collect(),
            known_since: oldest.filter(|_| rows.len() >= LOOKED_AT),
        })
    }

    /// What was told to that context, in the order in which it was.
    pub(super) fn told_to(&self, generation: u32) -> Vec<Told> {
        let rows = self.0.iter().flatten();
        let mut told: Vec<Told> = rows.filter_map(|row| of(row, generation)).collect();
        told.sort_by_key(|told| told.at); // stable: those told at once are in the order they came
        told
    }
}

/// None: it is not of this context, or nobody's words.
fn of(row: &MessageRow, generation: u32) -> Option<Told> {
    let meta: MessageMeta = serde_json::from_str(&row.meta).ok()?;
    let (taken_by, at) = meta.taken?;
    let words = match meta.purpose {
        Purpose::Said => match meta.from {
            Sender::Person | Sender::Session { .. } => true,
            Sender::Sm => false,
        },
        Purpose::Clear
        | Purpose::Wake
        | Purpose::Warning
        | Purpose::Alert
        | Purpose::Back
        | Purpose::Resume => false,
    };
    // a command without words of its own, typed as it is
    let bare = meta.raw && row.text.starts_with('/') && !row.text.trim().contains(' ');
    if taken_by.0 != generation || !words || bare {
        return None;
    }
    let text = words::spoken(&Message {
        meta,
        text: row.text.clone(),
    });
    Some(Told { text, at })
}

/// With what was told and is not in it, and with what sm itself has interrupted.
pub(super) fn completed<'a>(kept: &'a Kept, messages: &Messages) -> Cow<'a, Kept> {
    let told = messages.told_to(kept.generation);
    let told = told.as_slice();
    // what came before the last compaction is missing from what was known then
    let compacted = match kept.before {
        Some(_) => kept.ledger.since.unwrap_or(Timestamp(i64::MIN)),
        None => Timestamp(i64::MIN),
    };
    let now = told.partition_point(|told| told.at < compacted);
    let (earlier, later) = told.split_at(now);
    let mut ledger = kept.ledger.with_told(later);
    let mut before = kept.before.as_ref().map(|before| before.with_told(earlier));
    if let Some(interrupts) = messages.interrupts() {
        ledger = attributed(ledger, &interrupts);
        before = before.map(|before| attributed(before, &interrupts));
    }
    kept.with_ledgers(ledger, before)
}

fn attributed<'a>(ledger: Cow<'a, Ledger>, interrupts: &Interrupts) -> Cow<'a, Ledger> {
    let attributed = match ledger.with_interrupts(interrupts) {
        Cow::Borrowed(_) => None,
        Cow::Owned(attributed) => Some(attributed),
    };
    attributed.map_or(ledger, Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, text: &str, meta: &str) -> MessageRow {
        let head = format!(
            r#"{{"id":"{id}","mode":"sequential","notify":false,"expires_at":null,"created_at":1,"changed_at":9,"attempts":0,"interrupted":false,"state":"consumed","way":"paste","proof":"hook",{meta}}}"#
        );
        MessageRow {
            id: id.into(),
            session: "s".into(),
            seq: 1,
            is_final: true,
            meta: head,
            changed_at: 9,
            text: text.into(),
        }
    }

    #[test]
    fn only_what_somebody_said_to_this_context_counts() {
        let person = r#""from":{"kind":"person"},"raw":false,"taken":[2,70]"#;
        let rows = vec![
            row("m1", "second", person),
            row("m2", "first", &person.replace("70", "60")),
            row("m3", "of another", &person.replace("[2,70]", "[1,70]")),
            row(
                "m4",
                "never proven",
                &person.replace(r#","taken":[2,70]"#, ""),
            ),
            row("m5", "a notice", &person.replace("person", "sm")),
            row(
                "m6",
                "/clear",
                &person.replace(r#""raw":false"#, r#""raw":true,"purpose":"clear""#),
            ),
            row(
                "m7",
                "/cost",
                &person.replace(r#""raw":false"#, r#""raw":true"#),
            ),
            row(
                "m8",
                "/review the harbour",
                &person.replace(r#""raw":false"#, r#""raw":true"#),
            ),
            row(
                "m9",
                "from a friend",
                r#""from":{"kind":"session","id":"abc","name":"web"},"raw":false,"taken":[2,90]"#,
            ),
        ];
        let told = Messages(Some(rows)).told_to(2);
        let texts: Vec<&str> = told.iter().map(|told| told.text.as_str()).collect();
        assert_eq!(texts[..3], ["first", "second", "/review the harbour"]);
        assert!(texts[3].starts_with("[sm: message from web;"), "{texts:?}");
        assert!(texts[3].ends_with("\nfrom a friend"), "{texts:?}");
        assert_eq!(texts.len(), 4);
    }

    #[test]
    fn what_is_older_than_the_messages_that_were_looked_at_is_nobodys() {
        let at = |id: usize, created: usize, more: &str| {
            let id = format!("m{id}");
            let one = row(&id, "go on", r#""from":{"kind":"person"},"raw":false"#);
            let created = format!(r#""created_at":{created}{more},"#);
            MessageRow {
                meta: one.meta.replace(r#""created_at":1,"#, &created),
                ..one
            }
        };
        let few = vec![
            at(1, 500, ""),
            at(2, 600, r#","may_have_interrupted":true"#),
        ];
        let known = Messages(Some(few)).interrupts().unwrap();
        assert_eq!(known.known_since, None, "these are all");
        let from: Vec<i64> = known.by_sm.iter().map(|one| one.from.0).collect();
        assert_eq!(from, [600]);
        let many = (0..LOOKED_AT).map(|n| at(n, 1_000 + n, "")).collect();
        let known = Messages(Some(many)).interrupts().unwrap();
        assert_eq!(known.known_since, Some(Timestamp(1_000)));
        assert_eq!(Messages(None).interrupts(), None);
    }
}
