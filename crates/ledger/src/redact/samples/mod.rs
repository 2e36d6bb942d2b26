//! Invented secrets and their look-alikes, to measure redaction with. Must never be used for
//! anything else: the lists are filled with characters from a seed.

const SECRETS: &str = include_str!("secrets.txt");
const LOOKALIKES: &str = include_str!("lookalikes.txt");

/// One line of a list, filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The rule that has to find it, or that it looks like.
    pub rule: &'static str,
    pub text: String,
    /// What must not be in the text afterwards. Nothing, in a look-alike.
    pub secret: Vec<String>,
}

/// Texts with a secret each.
pub fn secrets(seed: u64) -> Vec<Sample> {
    samples(SECRETS, seed)
}

/// Texts that hold none.
pub fn lookalikes(seed: u64) -> Vec<Sample> {
    samples(LOOKALIKES, seed)
}

fn samples(list: &'static str, seed: u64) -> Vec<Sample> {
    let mut dice = Dice(seed ^ 0x9e37_79b9_7f4a_7c15);
    list.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(" | "))
        .map(|(rule, template)| fill(rule, template, &mut dice))
        .collect()
}

/// Numbers from a seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn pick(&mut self, of: &str) -> char {
        let bytes = of.as_bytes();
        let at = usize::try_from(self.next() % bytes.len().max(1) as u64).unwrap_or(0);
        bytes.get(at).copied().map_or('?', char::from)
    }
}

fn fill(rule: &'static str, template: &str, dice: &mut Dice) -> Sample {
    let mut text = String::new();
    let mut secret = Vec::new();
    let mut marked = None;
    let mut rest = template;
    while let Some(c) = rest.chars().next() {
        if let Some((kind, len, after)) = generator(rest) {
            let made = roll(kind, len, dice);
            text.push_str(&made);
            if made.len() > 8 && !template.contains('⟦') {
                secret.push(made);
            }
            rest = after;
            continue;
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '⟦' => marked = Some(text.len()),
            '⟧' => {
                if let Some(part) = marked.take().and_then(|from| text.get(from..)) {
                    secret.push(part.to_owned());
                }
            }
            '\\' if rest.starts_with('n') => {
                rest = rest.get(1..).unwrap_or_default();
                text.push('\n');
            }
            '\\' if rest.starts_with("\\n") => {
                rest = rest.get(2..).unwrap_or_default();
                text.push_str("\\n");
            }
            _ => text.push(c),
        }
    }
    Sample { rule, text, secret }
}

/// `{kind:length}` or `{uuid}` at the beginning.
fn generator(text: &str) -> Option<(&str, usize, &str)> {
    let inside = text.strip_prefix('{')?;
    let (inside, after) = inside.split_once('}')?;
    if inside == "uuid" {
        return Some((inside, 36, after));
    }
    let (kind, len) = inside.split_once(':')?;
    Some((kind, len.parse().ok()?, after))
}

fn roll(kind: &str, len: usize, dice: &mut Dice) -> String {
    const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
    const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const DIGITS: &str = "0123456789";
    let of = |sets: &[&str]| sets.concat();
    let set = match kind {
        "hex" => of(&[DIGITS, "abcdef"]),
        "hexup" => of(&[DIGITS, "ABCDEF"]),
        "letters" => of(&[LOWER, UPPER]),
        "lowalnum" => of(&[LOWER, DIGITS]),
        "upper" => of(&[UPPER, DIGITS]),
        "upper32" => of(&[UPPER, "234567"]),
        "digits" => of(&[DIGITS]),
        "digits1" => of(&["123456789"]),
        "b64" => of(&[LOWER, UPPER, DIGITS, "+/"]),
        "url" => of(&[LOWER, UPPER, DIGITS, "_-"]),
        "pass" => of(&[LOWER, UPPER, DIGITS, "!#%^*+?=~"]),
        "pass2" => of(&[LOWER, UPPER, DIGITS, "!#%^*"]),
        _ => of(&[LOWER, UPPER, DIGITS]),
    };
    if kind == "uuid" {
        let hex = roll("hex", 32, dice);
        return [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)]
            .map(|(from, to)| hex.get(from..to).unwrap_or_default())
            .join("-");
    }
    let mut made: String = (0..len).map(|_| dice.pick(&set)).collect();
    // a made-up password has a digit and a sign, as those who ask for one demand
    if kind.starts_with("pass") && len > 8 {
        made.replace_range(1..3, &format!("{}{}", dice.pick(DIGITS), dice.pick("!#%")));
        made.replace_range(..1, &dice.pick(LOWER).to_string());
    }
    // nor does a separator stand at an end
    if made.ends_with(['-', '_', '=', '+', '/', '?', '!'])
        || made.starts_with(['-', '_', '=', '/', '+'])
    {
        let letter = dice.pick(LOWER).to_string();
        made.replace_range(..1, &letter);
        made.pop();
        made.push(dice.pick(LOWER));
    }
    made
}
