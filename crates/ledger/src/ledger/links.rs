//! Addresses that came up: pages, and ports of this machine.

use crate::redact::redact;
use crate::text;
use memchr::memmem;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

const MOST: usize = 40;
const LONGEST: usize = 200;

/// Newest last.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Links {
    pub urls: VecDeque<String>,
    pub ports: VecDeque<String>,
}

fn keep(list: &mut VecDeque<String>, found: &str) {
    if let Some(place) = list.iter().position(|known| known == found) {
        list.remove(place);
    }
    list.push_back(found.to_owned());
    if list.len() > MOST {
        list.pop_front();
    }
}

impl Links {
    pub fn take(&mut self, text: &str) {
        let bytes = text.as_bytes();
        for at in memmem::find_iter(bytes, b"://").take(200) {
            let scheme = ["https", "http", "postgres", "redis", "ws"]
                .into_iter()
                .find(|scheme| text[..at].ends_with(scheme));
            let Some(scheme) = scheme else { continue };
            let rest = &text[at..];
            let end = rest
                .find(|c: char| {
                    c.is_whitespace()
                        || matches!(c, '"' | '\'' | '`' | '<' | '>' | ')' | ']' | '\\')
                })
                .unwrap_or(rest.len());
            let rest = rest[..end].trim_end_matches(['.', ',', ';', ':', '*']);
            if rest.len() > 3 && rest.len() < LONGEST && !rest.contains(['{', '$', '%']) {
                let url = redact(&text[at - scheme.len()..at + rest.len()]).text;
                keep(&mut self.urls, &url);
            }
        }
        for host in ["localhost:", "127.0.0.1:", "0.0.0.0:"] {
            for at in memmem::find_iter(bytes, host.as_bytes()).take(50) {
                let rest = &text[at + host.len()..];
                let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                if (2..=5).contains(&digits) {
                    keep(&mut self.ports, text::head(rest, digits));
                }
            }
        }
    }
}
