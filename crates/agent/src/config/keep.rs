//! A rule that a person wants kept, put into `agent.toml`; every other byte stays.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use sm_client::Footprint;
use sm_client::footprint::TraceKind;
use toml::de::{DeTable, DeValue};

use super::{Config, ConfigError};

/// Adds the rule to the file. What comes out is read before it takes the file's place.
pub fn keep(path: &Path, rule: &str, footprint: Option<&Footprint>) -> Result<(), ConfigError> {
    let failed = |source| ConfigError::Write {
        path: path.to_path_buf(),
        source,
    };
    let file = sm_settings::load(path)?;
    let before = file.clone().unwrap_or_default();
    let config = Config::parse(&before, path)?;
    if config.approvals.allow.iter().any(|have| have == rule) {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&before);
    let after = with_rule(&text, rule);
    Config::parse(after.as_bytes(), path)?;
    if let Some(footprint) = footprint {
        // a list that cannot be written keeps nobody from working
        let _ = footprint.note_replaced(
            TraceKind::AgentRules,
            path,
            file.as_deref(),
            after.as_bytes(),
        );
    }
    // A link stays one: what it leads to is replaced.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let folder = target.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let new = folder.join(format!(".agent.toml.{}", std::process::id()));
    let write = || -> std::io::Result<()> {
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(after.as_bytes())?;
        file.sync_all()?;
        if let Ok(meta) = std::fs::metadata(&target) {
            std::fs::set_permissions(&new, meta.permissions())?;
        }
        std::fs::rename(&new, &target)
    };
    write().map_err(|error| {
        let _ = std::fs::remove_file(&new);
        failed(error)
    })
}

/// The text with one more rule in `approvals.allow`.
pub fn with_rule(text: &str, rule: &str) -> String {
    // A text of JSON is one of TOML.
    let quoted = serde_json::Value::from(rule).to_string();
    let table = DeTable::parse(text).ok();
    let approvals = table.as_ref().and_then(|table| {
        let (_, value) = table
            .get_ref()
            .iter()
            .find(|(name, _)| name.get_ref() == "approvals")?;
        match value.get_ref() {
            DeValue::Table(inner) => Some(inner),
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_) => None,
        }
    });
    let allow = approvals.and_then(|inner| {
        let (_, value) = inner.iter().find(|(name, _)| name.get_ref() == "allow")?;
        match value.get_ref() {
            DeValue::Array(items) => Some((value.span(), items.last().map(|item| item.span().end))),
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Table(_) => None,
        }
    });
    if let Some((span, last)) = allow {
        // Behind the last item; before a comma that may already stand there.
        let (at, added) = match last {
            Some(last) => (last, format!(", {quoted}")),
            None => (span.start + 1, quoted),
        };
        return format!("{}{added}{}", &text[..at], &text[at..]);
    }
    let line = format!("allow = [{quoted}]\n");
    if let Some(inner) = approvals {
        // Before the table's first key, which stands at the beginning of its line.
        let first = inner.iter().map(|(name, _)| name.span().start).min();
        if let Some(first) = first {
            let start = text[..first].rfind('\n').map_or(0, |at| at + 1);
            if text[start..first].trim().is_empty() {
                return format!("{}{line}{}", &text[..start], &text[start..]);
            }
        }
        let header = text
            .lines()
            .find(|l| l.trim_start().starts_with("[approvals]"));
        if let Some(header) = header
            && let Some(at) = text.find(header)
        {
            let end = at + header.len();
            return format!("{}\n{}{}", &text[..end], line.trim_end(), &text[end..]);
        }
        // `approvals.mode = …` at the top: a dotted key beside it.
        return format!("approvals.allow = [{quoted}]\n{text}");
    }
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    format!("{text}{gap}[approvals]\n{line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_added_and_every_other_byte_stays() {
        for text in [
            "",
            "model = \"a/b\"",
            "# mine\n[approvals]\nmode = \"ask\" # yes\n\n[handoff]\nauto = true\n",
            "[approvals]\nallow = []\n",
            "[approvals]\nallow = [ \"bash:ls\" ]\n",
            "[approvals]\nallow = [\n  \"bash:ls\", # mine\n  \"write:src\",\n]\nmode = \"ask\"\n",
            "approvals.mode = \"ask\"\nmodel = \"a/b\"\n",
            "approvals = { mode = \"ask\" }\n",
            "[approvals]\n",
            "[approvals] # empty\n[handoff]\nauto = false\n",
        ] {
            for rule in ["bash:cargo test", "bash:a \"b\" \\ 'c'", "write:/tmp/ü x"] {
                let after = with_rule(text, rule);
                let path = Path::new("agent.toml");
                let Ok(config) = Config::parse(after.as_bytes(), path) else {
                    // An inline table cannot be added to from outside: it is refused, not broken.
                    assert!(text.starts_with("approvals = {"), "{text}\n->\n{after}");
                    continue;
                };
                let had = Config::parse(text.as_bytes(), path).unwrap();
                assert_eq!(
                    config.approvals.allow.last().map(String::as_str),
                    Some(rule),
                    "{after}"
                );
                assert_eq!(config.approvals.allow.len(), had.approvals.allow.len() + 1);
                assert_eq!(config.approvals.mode, had.approvals.mode);
                let rest = |text: &str| text.lines().filter(|l| l.contains('#')).count();
                assert_eq!(rest(&after), rest(text), "{after}");
            }
        }
    }

    #[test]
    fn it_is_kept_once_and_a_file_with_a_mistake_is_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("sm/agent.toml");
        keep(&path, "bash:make", None).unwrap();
        keep(&path, "bash:make", None).unwrap();
        keep(&path, "bash:ls", None).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "[approvals]\nallow = [\"bash:make\", \"bash:ls\"]\n");
        std::fs::write(&path, "modle = 1").unwrap();
        assert!(keep(&path, "bash:x", None).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "modle = 1");
    }

    #[test]
    fn what_was_kept_can_be_taken_back() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("config/agent.toml");
        let home = temp.path().join("sm").into_os_string();
        let paths = sm_client::Paths::resolve(|key| (key == "SM_HOME").then(|| home.clone()), 0);
        let list = Footprint::of(&paths.unwrap());
        let undo = || list.traces().pop().unwrap().undo().unwrap();
        keep(&path, "bash:make", Some(&list)).unwrap();
        keep(&path, "bash:ls", Some(&list)).unwrap();
        assert_eq!(undo(), sm_client::footprint::Undone::Removed);
        assert!(!temp.path().join("config").exists());
        list.forget(&list.traces()[0]);
        // a person's own is put back to the byte
        let own = "# mine";
        std::fs::create_dir(temp.path().join("config")).unwrap();
        std::fs::write(&path, own).unwrap();
        keep(&path, "bash:make", Some(&list)).unwrap();
        assert_eq!(undo(), sm_client::footprint::Undone::Restored);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), own);
    }
}
