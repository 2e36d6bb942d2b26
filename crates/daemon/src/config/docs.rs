//! `docs/config.md`, made from the table of keys.

use std::fmt::Write;

use super::keys::{KEYS, TABLES};

/// The reference of all keys, as Markdown.
pub fn reference() -> String {
    let mut out = String::from(
        "# config.toml\n\
         \n\
         `$SM_HOME/config.toml`, or `$XDG_CONFIG_HOME/sm/config.toml` (default `~/.config/sm/config.toml`).\n\
         The file may be missing, and every key in it has a default. It is read when the daemon starts:\n\
         `sm stop` and the next `sm` command take a change in; sessions go on meanwhile. A key that sm does not know, or a value\n\
         that it cannot use, is an error that names the line; `sm doctor` shows it.\n\
         \n\
         Paths may start with `~/`; relative ones count from the folder of the file. Durations are a number\n\
         and a unit: `ms`, `s`, `m`, `h` or `d`.\n\
         \n\
         All keys with their defaults:\n\
         \n\
         ```toml\n",
    );
    for (n, (table, _)) in TABLES.iter().enumerate() {
        let _ = writeln!(out, "{}[{table}]", if n == 0 { "" } else { "\n" });
        for key in KEYS.iter().filter(|key| key.table() == *table) {
            let _ = writeln!(out, "{} = {}", key.name(), key.default);
        }
    }
    out.push_str("```\n");
    for (table, about) in TABLES {
        let _ = write!(out, "\n## [{table}]\n\n{about}\n\n");
        out.push_str("| key | takes | default | what it does |\n|---|---|---|---|\n");
        for key in KEYS.iter().filter(|key| key.table() == *table) {
            let _ = writeln!(
                out,
                "| `{}` | {} | `{}` | {} |",
                key.name(),
                key.takes,
                key.default,
                key.doc
            );
        }
    }
    out
}
