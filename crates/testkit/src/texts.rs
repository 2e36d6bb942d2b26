//! Texts from all of Unicode that agents and terminals draw, strip or rewrite in their own way: the
//! corpus of what once went wrong, and made-up ones by a seed.

use crate::sim::Rng;

/// What is special about a text, and the text.
pub const UNICODE: [(&str, &str); 82] = [
    ("emoji variation", "⚠\u{fe0f} careful"),
    ("arrow", "go ➡\u{fe0f} there"),
    ("keycap", "1\u{fe0f}\u{20e3} first"),
    ("keycap hash", "press #\u{fe0f}\u{20e3} now"),
    ("stray variation selector", "ab\u{fe0f}cd"),
    ("zero width space", "ab\u{200b}cd"),
    ("zero width non-joiner", "ab\u{200c}cd"),
    ("zero width joiner", "ab\u{200d}cd"),
    ("left-to-right mark", "ab\u{200e}cd"),
    ("right-to-left mark", "ab\u{200f}cd"),
    ("arabic letter mark", "ab\u{61c}cd"),
    ("embedding", "ab\u{202a}cd\u{202c}ef"),
    ("override", "ab\u{202e}cd\u{202c}ef"),
    ("isolate", "ab\u{2066}cd\u{2069}ef"),
    ("word joiner", "ab\u{2060}cd"),
    ("invisible times", "ab\u{2062}cd"),
    ("byte order mark", "ab\u{feff}cd"),
    ("byte order mark first", "\u{feff}head"),
    ("zero width first", "\u{200b}head"),
    ("soft hyphen", "ab\u{ad}cd"),
    ("line separator", "ab\u{2028}cd"),
    ("paragraph separator", "ab\u{2029}cd"),
    ("combining grapheme joiner", "ab\u{34f}cd"),
    ("tag", "ab\u{e0041}cd"),
    ("variation selector 17", "ab\u{e0100}cd"),
    ("variation selector 1", "ab\u{fe00}cd"),
    ("hangul filler", "ab\u{3164}cd"),
    ("halfwidth filler", "ab\u{ffa0}cd"),
    ("choseong filler", "ab\u{115f}cd"),
    ("khmer inherent vowel", "ab\u{17b4}cd"),
    ("mongolian selector", "ab\u{180b}cd"),
    ("mongolian separator", "ab\u{180e}cd"),
    ("braille blank", "ab\u{2800}cd"),
    ("no-break space", "ab\u{a0}cd"),
    ("ideographic space", "ab\u{3000}cd"),
    ("thin space", "ab\u{2009}cd"),
    ("narrow no-break space", "ab\u{202f}cd"),
    ("annotation anchor", "ab\u{fff9}cd"),
    ("object replacement", "ab\u{fffc}cd"),
    ("replacement", "ab\u{fffd}cd"),
    ("private use", "ab\u{e000}cd"),
    ("private plane", "ab\u{100000}cd"),
    ("noncharacter", "ab\u{ffff}cd"),
    ("noncharacter in arabic", "ab\u{fdd0}cd"),
    ("unassigned", "ab\u{378}cd"),
    ("next line", "ab\u{85}cd"),
    ("musical control", "ab\u{1d173}cd"),
    ("shorthand control", "ab\u{1bca0}cd"),
    ("arabic number sign", "ab\u{600}cd"),
    ("deseret", "ab\u{10400}cd"),
    (
        "conjoining jamo",
        "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}",
    ),
    ("hangul", "한글"),
    ("decomposed", "e\u{301}te\u{301} nai\u{308}ve"),
    ("many marks", "a\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}"),
    ("mark first", "\u{301}abc"),
    ("family", "👩\u{200d}👩\u{200d}👧 at home"),
    ("flag", "🇩🇪 flag"),
    ("skin tone", "👍🏽 tone"),
    (
        "flag of tags",
        "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} flag",
    ),
    ("rainbow flag", "🏳\u{fe0f}\u{200d}🌈 flag"),
    ("text and emoji heart", "❤ and ❤\u{fe0f}"),
    ("thai", "กำลังดี"),
    ("devanagari", "क्षि नमस्ते"),
    ("tamil", "நிலை"),
    ("tibetan", "བོད་"),
    ("arabic", "مرحبا بالعالم"),
    ("persian with joiner", "می\u{200c}خواهم بروم"),
    ("hebrew", "שלום עולם"),
    ("mathematical", "𝔘𝔫𝔦 x\u{304}"),
    ("compatibility", "\u{f900} \u{212b} \u{2126}"),
    ("halfwidth kana", "ﾊﾝｶｸ ｶﾞ"),
    ("fullwidth", "ＦＵＬＬ"),
    ("ambiguous width", "§ ± × ÷ ─ █ ● ☎ ©®™ ‼ ⁉ ℹ"),
    ("old emoji", "☀ ☁ ☂ ✂ ✈ ⌚ ⏰ ⚡ 🀄 🃏"),
    ("new emoji", "🫠 🫨 🪿 🫩"),
    ("several lines", "⚠\u{fe0f} one\ntwo ➡\u{fe0f}\nthree"),
    ("separated lines", "one\u{2028}two\u{2028}three\u{2028}four"),
    (
        "wrapped",
        "⚠\u{fe0f} warnung und 日本語テキスト ⚠\u{fe0f} warnung und 日本語テキスト ⚠\u{fe0f} warnung und 日本語テキスト ⚠\u{fe0f} warnung und 日本語テキスト ⚠\u{fe0f} warnung und 日本語テキスト ⚠\u{fe0f} warnung",
    ),
    ("ideograph of Unicode 15", "ab\u{32487}cd"),
    ("newer arrows", "ab\u{1f859}cd\u{1f8c4}ef"),
    (
        "letters that vanish and widths in dispute",
        "\u{32487}\u{5641}\u{2dea5}\u{14b4}\u{2efd}\u{adc}\u{e6b2}\u{1f38a}\u{318c1}\u{1f859}\u{1f8c4}'\u{1f83a}\u{1f1b6}\u{b2c42}\u{15d7}",
    ),
    (
        "wrapped thai",
        "กำลังดีน้ำใจคนไทย กำลังดีน้ำใจคนไทย กำลังดีน้ำใจคนไทย กำลังดีน้ำใจคนไทย กำลังดีน้ำใจคนไทย กำลังดีน้ำใจคนไทย กำลังดีน้ำใจคนไทย",
    ),
];

/// A text of characters from all of Unicode; those of everyday texts more often.
pub fn random(seed: u64) -> String {
    let mut rng = Rng::new(seed.rotate_left(23) ^ 0x7E_8752);
    let length = 1 + rng.below(24);
    let mut text = String::new();
    while (text.chars().count() as u64) < length {
        let (first, last) = match rng.below(8) {
            0 | 1 => (0x20, 0x7e),
            2 => (0xa0, 0x36f),
            3 => (0x370, 0x1fff),
            4 => (0x2000, 0x2fff),
            5 => (0x3000, 0xffff),
            6 => (0x1f000, 0x1faff),
            _ => (0x10000, 0x10_ffff),
        };
        let code = first + rng.below(last - first + 1);
        text.extend(u32::try_from(code).ok().and_then(char::from_u32));
    }
    text
}
