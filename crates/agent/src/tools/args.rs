//! Arguments as a model gives them: checked here, complained about in words it can act on.

use serde_json::{Map, Value};

/// The arguments of one call.
#[derive(Clone, Copy)]
pub(super) struct Args<'a> {
    tool: &'a str,
    map: &'a Map<String, Value>,
}

impl<'a> Args<'a> {
    pub(super) fn new(tool: &'a str, map: &'a Map<String, Value>) -> Self {
        Self { tool, map }
    }

    /// An argument that may be left out; null counts as left out.
    pub(super) fn value(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn maybe_text(&self, name: &str) -> Result<Option<&'a str>, String> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(name, "a string", other)),
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<&'a str, String> {
        self.maybe_text(name)?.ok_or_else(|| self.missing(name))
    }

    /// A path: some text, and no zero byte in it.
    pub(super) fn path(&self, name: &str) -> Result<&'a str, String> {
        match self.text(name)? {
            "" => Err(self.complaint(name, "must not be empty")),
            path if path.contains('\0') => Err(self.complaint(name, "must not hold a zero byte")),
            path => Ok(path),
        }
    }

    /// A number of at least 1. Models write `"10"` and `10.0` for 10.
    pub(super) fn maybe_count(&self, name: &str) -> Result<Option<u64>, String> {
        let Some(value) = self.value(name) else {
            return Ok(None);
        };
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        match number {
            None => Err(self.wrong(name, "a number", value)),
            Some(number) if number < 1.0 || number.is_nan() => {
                Err(self.complaint(name, &format!("must be at least 1, not {number}")))
            }
            Some(number) => Ok(Some(number as u64)),
        }
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, String> {
        match self.value(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(Value::String(text)) if text == "true" => Ok(true),
            Some(Value::String(text)) if text == "false" => Ok(false),
            Some(other) => Err(self.wrong(name, "true or false", other)),
        }
    }

    pub(super) fn missing(&self, name: &str) -> String {
        let given: Vec<&str> = self.map.keys().take(8).map(String::as_str).collect();
        let given = if given.is_empty() {
            "none were given".to_string()
        } else {
            format!("given: {}", super::paths::cut(&given.join(", "), 200))
        };
        self.complaint(name, &format!("is missing ({given})"))
    }

    pub(super) fn wrong(&self, name: &str, wanted: &str, got: &Value) -> String {
        let got = match got {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "other text",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        self.complaint(name, &format!("must be {wanted}, not {got}"))
    }

    pub(super) fn complaint(&self, name: &str, what: &str) -> String {
        format!("{}: the argument `{name}` {what}", self.tool)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_taken_as_meant_or_complained_about() {
        let value = json!({"s": "x", "n": 7, "f": 7.9, "t": "12", "b": true, "z": 0, "l": [], "e": "", "nul": "a\0b", "null": null, "bs": "false"});
        let Value::Object(map) = &value else {
            panic!("an object");
        };
        let args = Args::new("read", map);
        assert_eq!(args.text("s"), Ok("x"));
        assert_eq!(args.maybe_text("null"), Ok(None));
        assert_eq!(args.maybe_count("n"), Ok(Some(7)));
        assert_eq!(args.maybe_count("f"), Ok(Some(7)));
        assert_eq!(args.maybe_count("t"), Ok(Some(12)));
        assert_eq!(args.maybe_count("none"), Ok(None));
        assert_eq!(args.flag("b"), Ok(true));
        assert_eq!(args.flag("bs"), Ok(false));
        assert_eq!(
            args.text("n"),
            Err("read: the argument `n` must be a string, not a number".into())
        );
        assert_eq!(
            args.maybe_count("z"),
            Err("read: the argument `z` must be at least 1, not 0".into())
        );
        assert_eq!(
            args.maybe_count("s"),
            Err("read: the argument `s` must be a number, not other text".into())
        );
        assert!(args.flag("l").unwrap_err().contains("not a list"));
        assert!(args.path("e").unwrap_err().contains("empty"));
        assert!(args.path("nul").unwrap_err().contains("zero byte"));
        assert!(args.text("q").unwrap_err().contains("is missing (given: "));
        let empty = Map::new();
        assert_eq!(
            Args::new("read", &empty).text("path"),
            Err("read: the argument `path` is missing (none were given)".into())
        );
    }
}
