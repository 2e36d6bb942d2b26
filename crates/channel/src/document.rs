//! The document of a handoff: six header comments, an empty line, the text. Pure.

use jiff::Timestamp;

use crate::names::{ChannelName, HandoffId, Kind};

/// The header must be among the first lines; a document's text may hold anything.
const HEADER_LINES: usize = 12;
const LONGEST_LINE: usize = 8 * 1024;

/// What the six comments say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header<'a> {
    pub id: &'a HandoffId,
    pub session: &'a str,
    pub channel: &'a ChannelName,
    pub created: Timestamp,
    pub kind: Kind,
    pub working_dir: &'a str,
}

impl Header<'_> {
    /// The whole document.
    pub fn document(&self, text: &[u8]) -> Vec<u8> {
        let mut document = String::new();
        for (key, value) in [
            ("HANDOFF-ID", self.id.as_str()),
            ("SESSION", &comment(self.session)),
            ("CHANNEL", self.channel.as_str()),
            ("CREATED", &time(self.created)),
            ("TYPE", self.kind.as_str()),
            ("WORKING-DIR", &comment(self.working_dir)),
        ] {
            document.push_str(&format!("<!-- {key}: {value} -->\n"));
        }
        document.push('\n');
        let mut document = document.into_bytes();
        document.extend_from_slice(text);
        if !document.ends_with(b"\n") {
            document.push(b'\n');
        }
        document
    }
}

/// As the files have it: seconds, in UTC.
pub(crate) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// What can stand inside a comment without ending it or its line.
fn comment(value: &str) -> String {
    value.replace(['\n', '\r'], " ").replace("-->", "--&gt;")
}

/// The value of one header comment.
pub fn header_of<'a>(document: &'a [u8], key: &str) -> Option<&'a str> {
    document
        .split(|byte| *byte == b'\n')
        .take(HEADER_LINES)
        .filter(|line| line.len() <= LONGEST_LINE)
        .filter_map(|line| std::str::from_utf8(line).ok())
        .find_map(|line| {
            line.trim()
                .strip_prefix("<!--")?
                .strip_suffix("-->")?
                .trim()
                .strip_prefix(key)?
                .strip_prefix(':')
                .map(str::trim)
        })
}

/// The id a document says it has.
pub(crate) fn id_of(document: &[u8]) -> Option<HandoffId> {
    header_of(document, "HANDOFF-ID")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_six_comments_and_the_text() {
        let id: HandoffId = "HO-20260202-064530-c74cc080".parse().unwrap();
        let header = Header {
            id: &id,
            session: "c74cc080-94b9-4841-b82f-a62cfb8efdc0",
            channel: &ChannelName::global(),
            created: "2026-02-02T06:45:30.7Z".parse().unwrap(),
            kind: Kind::Auto,
            working_dir: "/home/jesse",
        };
        let document = header.document(b"# Auto-Handoff\n\ntext");
        assert_eq!(
            String::from_utf8(document.clone()).unwrap(),
            "<!-- HANDOFF-ID: HO-20260202-064530-c74cc080 -->\n\
             <!-- SESSION: c74cc080-94b9-4841-b82f-a62cfb8efdc0 -->\n\
             <!-- CHANNEL: global -->\n\
             <!-- CREATED: 2026-02-02T06:45:30Z -->\n\
             <!-- TYPE: auto -->\n\
             <!-- WORKING-DIR: /home/jesse -->\n\
             \n\
             # Auto-Handoff\n\ntext\n"
        );
        assert_eq!(id_of(&document), Some(id.clone()));
        assert_eq!(header_of(&document, "TYPE"), Some("auto"));
        assert_eq!(header_of(&document, "OTHER"), None);
        // A folder can have any name.
        let odd = Header {
            working_dir: "/a --> b\n<!-- HANDOFF-ID: x -->",
            ..header
        };
        let document = odd.document(b"");
        assert_eq!(id_of(&document), Some(id));
        assert_eq!(
            header_of(&document, "WORKING-DIR"),
            Some("/a --&gt; b <!-- HANDOFF-ID: x --&gt;")
        );
    }

    #[test]
    fn an_id_counts_only_at_the_beginning() {
        let late = "\n".repeat(20) + "<!-- HANDOFF-ID: HO-20260202-064530-a -->";
        for none in [
            "",
            "text",
            "<!-- HANDOFF-ID: HO-1 -->",
            "<!-- HANDOFF-ID: HO-20260202-064530-a",
            &late,
        ] {
            assert_eq!(id_of(none.as_bytes()), None, "{none}");
        }
        assert!(id_of(b"<!--HANDOFF-ID:HO-20260202-064530-a-->\r\n").is_some());
    }
}
