//! What stands behind a key, as the type it should have. None: it is something else.

use std::time::Duration;

use toml::de::DeValue;

const LONGEST_LIST: usize = 1024;

/// NUL can be in a TOML text, but in no argument, path or environment.
pub fn text<'a>(value: &'a DeValue<'_>) -> Option<&'a str> {
    match value {
        DeValue::String(text) if !text.contains('\0') => Some(text),
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => None,
    }
}

/// A list of texts.
pub fn list(value: &DeValue<'_>) -> Option<Vec<String>> {
    let DeValue::Array(items) = value else {
        return None;
    };
    let texts = items.iter().map(|item| text(item.get_ref()));
    let texts = texts.map(|text| text.map(str::to_owned));
    (items.len() <= LONGEST_LIST).then(|| texts.collect())?
}

pub fn number(value: &DeValue<'_>) -> Option<u64> {
    let DeValue::Integer(number) = value else {
        return None;
    };
    u64::from_str_radix(number.as_str(), number.radix()).ok()
}

pub fn boolean(value: &DeValue<'_>) -> Option<bool> {
    let DeValue::Boolean(value) = value else {
        return None;
    };
    Some(*value)
}

/// A number and a unit: `90s`, `5m`. Neither nothing nor more than `longest`.
pub fn duration(text: &str, longest: Duration) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let ms = match unit.trim() {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let time = Duration::from_millis(number.parse::<u64>().ok()?.checked_mul(ms)?);
    (!time.is_zero() && time <= longest).then_some(time)
}

/// In words, for a message.
pub(crate) fn described(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text {:?}", bounded(text)),
        DeValue::Integer(number) => format!("the number {}", bounded(number.as_str())),
        DeValue::Float(number) => format!("the number {}", bounded(number.as_str())),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(_) => "a date".into(),
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
    }
}

/// What is repeated in a message stays short and on one line.
pub fn bounded(text: &str) -> String {
    const MOST: usize = 60;
    let mut out: String = text
        .chars()
        .take(MOST)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(MOST).is_some() {
        out.push('…');
    }
    out
}
