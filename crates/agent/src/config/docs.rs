//! The reference of all keys, for `docs/agent.md`.

use std::fmt::Write;

use super::keys::KEYS;

/// One row for each key.
pub fn reference() -> String {
    let mut out = String::from("| key | takes | default | what it does |\n|---|---|---|---|\n");
    for key in &KEYS {
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} |",
            key.path.replace('*', "NAME"),
            key.takes,
            match key.default {
                "by the name" => key.default.to_owned(),
                value => format!("`{value}`"),
            },
            key.doc
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn docs_hold_the_reference() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/agent.md");
        let text = std::fs::read_to_string(path).unwrap();
        let (begin, end) = ("<!-- keys -->\n", "<!-- /keys -->");
        let (before, rest) = text.split_once(begin).unwrap();
        let (inside, after) = rest.split_once(end).unwrap();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            let whole = format!("{before}{begin}{}{end}{after}", reference());
            std::fs::write(path, whole).unwrap();
            return;
        }
        assert_eq!(
            inside,
            reference(),
            "UPDATE_DOCS=1 cargo test -p sm-agent docs"
        );
    }
}
