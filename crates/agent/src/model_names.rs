//! Which of the known models a person means by a part of a name. Pure; where models can be asked and
//! with which key is not decided here.

use crate::models::ModelError;

/// Of a part that is shown in a message.
const LONGEST_PART: usize = 100;
/// Candidates that are shown.
const MOST_NAMES: usize = 10;
/// A number of more digits is a date, not a version.
const LONGEST_NUMBER: usize = 4;

/// The one name that has this part, whatever its case; an id that is exactly it goes first. Of
/// several versions of one model the newest is meant.
pub fn matching(part: &str, names: &[String]) -> Result<String, ModelError> {
    let wanted = part.trim().to_lowercase();
    let id = |name: &&String| {
        let name = name.to_lowercase();
        name.split_once('/').is_some_and(|(_, id)| id == wanted)
    };
    let has = |name: &&String| !wanted.is_empty() && name.to_lowercase().contains(&wanted);
    let exact: Vec<&String> = names.iter().filter(id).collect();
    let found = match exact.as_slice() {
        [_] => exact,
        _ => names.iter().filter(has).collect(),
    };
    match found.as_slice() {
        [name] => Ok((*name).clone()),
        [] => Err(ModelError::NoName(
            part.chars().take(LONGEST_PART).collect(),
        )),
        several => newest(several).ok_or_else(|| ModelError::Several {
            part: part.chars().take(LONGEST_PART).collect(),
            names: several
                .iter()
                .take(MOST_NAMES)
                .map(|name| (*name).clone())
                .collect(),
        }),
    }
}

/// The name of this provider that a `PROVIDER/PART` fits, if it is none itself and fits one only.
pub fn only_of_provider<'a>(part: &str, names: &'a [String]) -> Option<&'a str> {
    let (provider, wanted) = part.split_once('/')?;
    let wanted = wanted.to_lowercase();
    let mut found = names.iter().filter(|name| {
        let own = name.split_once('/').filter(|(own, _)| *own == provider);
        own.is_some_and(|(_, id)| id.to_lowercase().contains(&wanted))
    });
    let only = found.next()?;
    let exact = names.iter().any(|name| name == part);
    (!exact && found.next().is_none()).then_some(only.as_str())
}

/// The newest of several, if they differ by their version only.
fn newest(names: &[&String]) -> Option<String> {
    let mut parsed = names.iter().map(|name| (version(name), name));
    let ((family, mut highest), mut newest) = parsed.next()?;
    for ((other, version), name) in parsed {
        if other != family || version == highest {
            return None;
        }
        if version > highest {
            (highest, newest) = (version, name);
        }
    }
    Some((**newest).clone())
}

/// `claude-sonnet-4-5`: the name of the model, and the numbers behind it.
fn version(name: &str) -> (&str, Vec<u32>) {
    let (mut family, mut numbers) = (name, Vec::new());
    while let Some((before, last)) = family.rsplit_once(['-', '.']) {
        let Ok(number) = last.parse::<u32>() else {
            break;
        };
        if last.len() <= LONGEST_NUMBER {
            numbers.insert(0, number);
        }
        family = before;
    }
    (family, numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 9] = [
        "anthropic/claude-sonnet-4-5",
        "anthropic/claude-sonnet-4-6",
        "anthropic/claude-opus-4-8",
        "anthropic/claude-opus-4-1",
        "anthropic/claude-haiku-4-5",
        "openai/gpt-5.1",
        "openai/gpt-5.1-codex-mini",
        "openai/gpt-4o",
        "bare/org/m",
    ];

    fn names() -> Vec<String> {
        NAMES.map(String::from).to_vec()
    }

    #[test]
    fn any_part_that_fits_one_model_is_its_name() {
        for (part, expected) in [
            ("HAIKU", "anthropic/claude-haiku-4-5"),
            // one that is exactly it, though others have it too
            ("gpt-5.1", "openai/gpt-5.1"),
            ("codex", "openai/gpt-5.1-codex-mini"),
            ("org/m", "bare/org/m"),
            ("sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ] {
            assert_eq!(matching(part, &names()).unwrap(), expected, "{part}");
        }
        let several = matching("claude", &names()).unwrap_err().to_string();
        assert!(
            several.contains("anthropic/claude-sonnet-4-5, anthropic/claude-sonnet-4-6"),
            "{several}"
        );
        for part in ["llama", "", " "] {
            let found = matching(part, &names());
            assert!(matches!(found, Err(ModelError::NoName(_))), "{found:?}");
        }
    }

    #[test]
    fn of_several_versions_of_one_model_the_newest_is_meant() {
        for (part, expected) in [
            ("sonnet", "anthropic/claude-sonnet-4-6"),
            ("opus", "anthropic/claude-opus-4-8"),
        ] {
            assert_eq!(matching(part, &names()).unwrap(), expected, "{part}");
        }
        // a date says nothing about what is newer
        let dated = ["a/m-4-20250514", "a/m-4-5-20251101", "a/m-4-6"].map(String::from);
        assert_eq!(matching("m-4", &dated).unwrap(), "a/m-4-6");
        for ambiguous in [
            &["a/m-4", "b/m-5"][..],
            &["a/m-4-20250514", "a/m-4"],
            &["a/m-mini", "a/m-pro"],
        ] {
            let all: Vec<String> = ambiguous.iter().map(|name| (*name).into()).collect();
            let found = matching("m", &all).unwrap_err();
            let lists = |error: &ModelError| match error {
                ModelError::Several { names, .. } => *names == all,
                _ => false,
            };
            assert!(lists(&found), "{found:?}");
        }
    }

    #[test]
    fn a_part_with_its_provider_is_a_name_if_it_fits_one() {
        for (part, expected) in [
            ("anthropic/claude-haiku", Some("anthropic/claude-haiku-4-5")),
            ("anthropic/Haiku", Some("anthropic/claude-haiku-4-5")),
            // itself
            ("anthropic/claude-haiku-4-5", None),
            ("openai/gpt-5.1", None),
            // several, none, and of another provider
            ("anthropic/claude", None),
            ("anthropic/claude-new", None),
            ("openai/claude-haiku", None),
            ("haiku", None),
        ] {
            assert_eq!(only_of_provider(part, &names()), expected, "{part}");
        }
    }
}
