//! What is known of models by their names. Pure. What a person writes in their settings goes
//! before it; a price that is not known is zero.

use crate::model::{Api, Model, Prices, Thinking};

/// Where Anthropic answers.
pub const ANTHROPIC_URL: &str = "https://api.anthropic.com";
/// Where OpenAI answers.
pub const OPENAI_URL: &str = "https://api.openai.com/v1";
/// Where OpenRouter answers.
pub const OPENROUTER_URL: &str = "https://openrouter.ai/api/v1";

struct Known {
    /// The id begins with it; the longest that fits counts.
    id: &'static str,
    window: u64,
    max_output: u64,
    thinks: bool,
    images: bool,
    /// Input, output, cache read, cache write.
    prices: [f64; 4],
}

const fn known(
    id: &'static str,
    window: u64,
    max_output: u64,
    thinks: bool,
    images: bool,
    prices: [f64; 4],
) -> Known {
    Known {
        id,
        window,
        max_output,
        thinks,
        images,
        prices,
    }
}

const K: u64 = 1_000;
const TABLE: [Known; 45] = [
    known("claude-", 200 * K, 32 * K, true, true, [0.0; 4]),
    known(
        "claude-3-haiku",
        200 * K,
        4_096,
        false,
        true,
        [0.25, 1.25, 0.03, 0.3],
    ),
    known(
        "claude-3-opus",
        200 * K,
        4_096,
        false,
        true,
        [15.0, 75.0, 1.5, 18.75],
    ),
    known(
        "claude-3-sonnet",
        200 * K,
        4_096,
        false,
        true,
        [3.0, 15.0, 0.3, 3.75],
    ),
    known(
        "claude-3-5-haiku",
        200 * K,
        8_192,
        false,
        true,
        [0.8, 4.0, 0.08, 1.0],
    ),
    known(
        "claude-3-5-sonnet",
        200 * K,
        8_192,
        false,
        true,
        [3.0, 15.0, 0.3, 3.75],
    ),
    known(
        "claude-3-7-sonnet",
        200 * K,
        64 * K,
        true,
        true,
        [3.0, 15.0, 0.3, 3.75],
    ),
    known(
        "claude-haiku-4-5",
        200 * K,
        64 * K,
        true,
        true,
        [1.0, 5.0, 0.1, 1.25],
    ),
    known(
        "claude-sonnet-4",
        200 * K,
        64 * K,
        true,
        true,
        [3.0, 15.0, 0.3, 3.75],
    ),
    known(
        "claude-sonnet-4-6",
        1_000 * K,
        64 * K,
        true,
        true,
        [3.0, 15.0, 0.3, 3.75],
    ),
    known("claude-opus-4", 200 * K, 32 * K, true, true, [0.0; 4]),
    known(
        "claude-opus-4-0",
        200 * K,
        32 * K,
        true,
        true,
        [15.0, 75.0, 1.5, 18.75],
    ),
    known(
        "claude-opus-4-20250514",
        200 * K,
        32 * K,
        true,
        true,
        [15.0, 75.0, 1.5, 18.75],
    ),
    known(
        "claude-opus-4-1",
        200 * K,
        32 * K,
        true,
        true,
        [15.0, 75.0, 1.5, 18.75],
    ),
    known(
        "claude-opus-4-5",
        200 * K,
        64 * K,
        true,
        true,
        [5.0, 25.0, 0.5, 6.25],
    ),
    known(
        "claude-opus-4-6",
        1_000 * K,
        128 * K,
        true,
        true,
        [5.0, 25.0, 0.5, 6.25],
    ),
    known(
        "claude-opus-4-7",
        1_000 * K,
        128 * K,
        true,
        true,
        [5.0, 25.0, 0.5, 6.25],
    ),
    known("claude-opus-4-8", 1_000 * K, 128 * K, true, true, [0.0; 4]),
    known("gpt-", 128 * K, 16_384, false, true, [0.0; 4]),
    known(
        "gpt-4-turbo",
        128 * K,
        4_096,
        false,
        true,
        [10.0, 30.0, 0.0, 0.0],
    ),
    known(
        "gpt-4.1",
        1_047_576,
        32_768,
        false,
        true,
        [2.0, 8.0, 0.5, 0.0],
    ),
    known(
        "gpt-4.1-mini",
        1_047_576,
        32_768,
        false,
        true,
        [0.4, 1.6, 0.1, 0.0],
    ),
    known(
        "gpt-4.1-nano",
        1_047_576,
        32_768,
        false,
        true,
        [0.1, 0.4, 0.03, 0.0],
    ),
    known(
        "gpt-4o",
        128 * K,
        16_384,
        false,
        true,
        [2.5, 10.0, 1.25, 0.0],
    ),
    known(
        "gpt-4o-mini",
        128 * K,
        16_384,
        false,
        true,
        [0.15, 0.6, 0.08, 0.0],
    ),
    known(
        "gpt-5",
        400 * K,
        128 * K,
        true,
        true,
        [1.25, 10.0, 0.125, 0.0],
    ),
    known(
        "gpt-5-chat",
        128 * K,
        16_384,
        false,
        true,
        [1.25, 10.0, 0.125, 0.0],
    ),
    known(
        "gpt-5-mini",
        400 * K,
        128 * K,
        true,
        true,
        [0.25, 2.0, 0.025, 0.0],
    ),
    known(
        "gpt-5-nano",
        400 * K,
        128 * K,
        true,
        true,
        [0.05, 0.4, 0.005, 0.0],
    ),
    known(
        "gpt-5-pro",
        400 * K,
        272 * K,
        true,
        true,
        [15.0, 120.0, 0.0, 0.0],
    ),
    known("gpt-5.", 272 * K, 128 * K, true, true, [0.0; 4]),
    known(
        "gpt-5.1",
        400 * K,
        128 * K,
        true,
        true,
        [1.25, 10.0, 0.125, 0.0],
    ),
    known(
        "gpt-5.1-codex-mini",
        400 * K,
        128 * K,
        true,
        true,
        [0.25, 2.0, 0.025, 0.0],
    ),
    known(
        "gpt-5.2",
        400 * K,
        128 * K,
        true,
        true,
        [1.75, 14.0, 0.175, 0.0],
    ),
    known(
        "gpt-5.2-pro",
        400 * K,
        128 * K,
        true,
        true,
        [21.0, 168.0, 0.0, 0.0],
    ),
    known(
        "gpt-5.3-codex",
        400 * K,
        128 * K,
        true,
        true,
        [1.75, 14.0, 0.175, 0.0],
    ),
    known(
        "gpt-5.4",
        272 * K,
        128 * K,
        true,
        true,
        [2.5, 15.0, 0.25, 0.0],
    ),
    known(
        "gpt-5.4-mini",
        400 * K,
        128 * K,
        true,
        true,
        [0.75, 4.5, 0.075, 0.0],
    ),
    known(
        "gpt-5.4-nano",
        400 * K,
        128 * K,
        true,
        true,
        [0.2, 1.25, 0.02, 0.0],
    ),
    known(
        "gpt-5.5",
        272 * K,
        128 * K,
        true,
        true,
        [5.0, 30.0, 0.5, 0.0],
    ),
    known("o1", 200 * K, 100 * K, true, true, [15.0, 60.0, 7.5, 0.0]),
    known("o3", 200 * K, 100 * K, true, true, [2.0, 8.0, 0.5, 0.0]),
    known(
        "o3-mini",
        200 * K,
        100 * K,
        true,
        false,
        [1.1, 4.4, 0.55, 0.0],
    ),
    known(
        "o4-mini",
        200 * K,
        100 * K,
        true,
        true,
        [1.1, 4.4, 0.28, 0.0],
    ),
    known("gpt-oss", 131_072, 32_768, true, false, [0.0; 4]),
];

/// A model by its provider's name, its protocol and its id, with what is known of it. The key is
/// the caller's to add.
pub fn model(provider: &str, api: Api, id: &str) -> Model {
    // `anthropic/claude-sonnet-4.5`, as a router of providers calls it
    let bare = id.rsplit('/').next().unwrap_or(id).replace('.', "-");
    let dotted = id.rsplit('/').next().unwrap_or(id);
    let found = TABLE
        .iter()
        .filter(|known| dotted.starts_with(known.id) || bare.starts_with(known.id))
        .max_by_key(|known| known.id.len());
    let base_url = match api {
        Api::AnthropicMessages => ANTHROPIC_URL,
        Api::OpenAiResponses => OPENAI_URL,
        Api::OpenAiCompletions if provider == "openrouter" => OPENROUTER_URL,
        Api::OpenAiCompletions => OPENAI_URL,
    };
    let (window, max_output, thinks, images, prices) = match found {
        Some(known) => (
            known.window,
            known.max_output,
            known.thinks,
            known.images,
            known.prices,
        ),
        // a server of one's own, most likely: little enough not to be refused
        None => (32_768, 8_192, false, false, [0.0; 4]),
    };
    let [input, output, cache_read, cache_write] = prices;
    Model {
        provider: provider.to_owned(),
        api,
        id: id.to_owned(),
        base_url: base_url.to_owned(),
        key: None,
        window,
        max_output,
        thinks,
        images,
        prices: Prices {
            input,
            output,
            cache_read,
            cache_write,
        },
    }
}

/// The variable of the environment in which a provider's key is looked for.
pub(crate) fn key_variable(provider: &str) -> Option<&'static str> {
    match provider {
        "anthropic" => Some("ANTHROPIC_API_KEY"),
        "openai" => Some("OPENAI_API_KEY"),
        "openrouter" => Some("OPENROUTER_API_KEY"),
        _ => None,
    }
}

/// A model of Anthropic's, by the version in its name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Claude {
    version: (u32, u32),
    opus: bool,
}

impl Claude {
    /// `claude-opus-4-7`, `claude-sonnet-4.6`, `claude-3-7-sonnet-20250219`: two short numbers.
    pub(crate) fn of(id: &str) -> Self {
        let mut numbers = id
            .split(['-', '.', '/', '@', ':'])
            .filter(|word| word.len() <= 2)
            .filter_map(|word| word.parse().ok());
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        Self {
            version,
            opus: id.contains("opus"),
        }
    }

    /// Whether it says itself how long it thinks, being told only how hard to try.
    pub(crate) fn decides_itself(self) -> bool {
        self.version >= (4, 6)
    }

    pub(crate) fn highest_effort(self) -> &'static str {
        if self.version >= (4, 7) {
            "xhigh"
        } else if self.opus {
            "max"
        } else {
            "high"
        }
    }
}

/// The word for how hard a model of OpenAI's, or of one who speaks like it, should think; `None`
/// where it is better not told.
pub(crate) fn effort(id: &str, thinking: Thinking) -> Option<&'static str> {
    use Thinking::{High, Low, Medium, Minimal, Off, Xhigh};
    let id = id.rsplit('/').next().unwrap_or(id);
    let openai = id.starts_with("gpt-5")
        || (id.starts_with('o') && id[1..].starts_with(|c: char| c.is_ascii_digit()));
    let minor: u32 = id
        .strip_prefix("gpt-5.")
        .map(|rest| {
            rest.chars()
                .take_while(char::is_ascii_digit)
                .collect::<String>()
        })
        .and_then(|digits| digits.parse().ok())
        .unwrap_or(0);
    let (codex, pro) = (id.contains("codex"), id.contains("-pro"));
    match thinking {
        // these think hard or not at all
        Off | Minimal | Low if pro => None,
        Off if minor >= 1 && !codex => Some("none"),
        Off | Minimal if id.starts_with("gpt-5") && minor == 0 && !codex => Some("minimal"),
        Off if openai => Some("low"),
        Off => None,
        Minimal | Low => Some("low"),
        Medium => Some("medium"),
        Xhigh if minor >= 2 || id.contains("codex-max") => Some("xhigh"),
        High | Xhigh => Some("high"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_known_by_the_longest_beginning() {
        let window = |id: &str| {
            let model = model("x", Api::OpenAiCompletions, id);
            (model.window, model.thinks, model.prices.input)
        };
        for (id, expected) in [
            ("claude-opus-4-20250514", (200_000, true, 15.0)),
            ("claude-opus-4-5-20251101", (200_000, true, 5.0)),
            ("claude-opus-4-6", (1_000_000, true, 5.0)),
            ("claude-sonnet-4-5", (200_000, true, 3.0)),
            ("anthropic/claude-sonnet-4.6", (1_000_000, true, 3.0)),
            ("claude-unheard-of", (200_000, true, 0.0)),
            ("gpt-5.1-codex", (400_000, true, 1.25)),
            ("gpt-5.9", (272_000, true, 0.0)),
            ("gpt-4o-2024-11-20", (128_000, false, 2.5)),
            ("openai/gpt-oss-120b", (131_072, true, 0.0)),
            ("qwen3:8b", (32_768, false, 0.0)),
        ] {
            assert_eq!(window(id), expected, "{id}");
        }
    }

    #[test]
    fn the_version_is_read_out_of_every_kind_of_name() {
        for (id, decides, highest) in [
            ("claude-3-7-sonnet-20250219", false, "high"),
            ("claude-opus-4-20250514", false, "max"),
            ("claude-opus-4-5", false, "max"),
            ("claude-haiku-4-5", false, "high"),
            ("claude-opus-4-6", true, "max"),
            ("claude-sonnet-4.6", true, "high"),
            ("claude-opus-4-7", true, "xhigh"),
            ("anthropic/claude-opus-4.8", true, "xhigh"),
            ("claude-opus-5", true, "xhigh"),
            ("something", false, "high"),
        ] {
            let claude = Claude::of(id);
            assert_eq!(
                (claude.decides_itself(), claude.highest_effort()),
                (decides, highest),
                "{id}"
            );
        }
    }

    #[test]
    fn the_effort_is_one_that_the_model_takes() {
        let levels = [
            Thinking::Off,
            Thinking::Minimal,
            Thinking::Low,
            Thinking::Medium,
            Thinking::High,
            Thinking::Xhigh,
        ];
        let words = |id: &str| {
            levels
                .map(|level| effort(id, level).unwrap_or("-"))
                .join(" ")
        };
        for (id, expected) in [
            ("gpt-5", "minimal minimal low medium high high"),
            ("gpt-5-codex", "low low low medium high high"),
            ("gpt-5.1", "none low low medium high high"),
            ("gpt-5.1-codex-max", "low low low medium high xhigh"),
            ("gpt-5.4", "none low low medium high xhigh"),
            ("gpt-5.2-pro", "- - - medium high xhigh"),
            ("o4-mini", "low low low medium high high"),
            ("olmo", "- low low medium high high"),
            ("", "- low low medium high high"),
        ] {
            assert_eq!(words(id), expected, "{id}");
        }
    }
}
