//! Code with its keywords, strings, comments and numbers told apart, line by line.
//!
//! A small lexer over a table of languages, not a parser: what it does not know it leaves plain,
//! and a line costs what its length is. Between two lines it keeps only whether a comment or a
//! string goes on.

use super::line::{Line, Span};
use super::look::Role;

#[derive(Debug)]
struct Language {
    names: &'static [&'static str],
    line_comments: &'static [&'static str],
    block_comment: Option<(&'static str, &'static str)>,
    /// What begins and ends a string; those of three characters go over lines.
    quotes: &'static [&'static str],
    keywords: &'static [&'static str],
    case: Case,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Matters,
    Ignored,
}

const C_BLOCK: Option<(&str, &str)> = Some(("/*", "*/"));

macro_rules! language {
    ($names:expr, $lines:expr, $block:expr, $quotes:expr, $keywords:expr) => {
        language!($names, $lines, $block, $quotes, $keywords, Case::Matters)
    };
    ($names:expr, $lines:expr, $block:expr, $quotes:expr, $keywords:expr, $case:expr) => {
        Language {
            names: &$names,
            line_comments: &$lines,
            block_comment: $block,
            quotes: &$quotes,
            keywords: &$keywords,
            case: $case,
        }
    };
}

#[rustfmt::skip]
const LANGUAGES: [Language; 18] = [
    language!(["rust", "rs"], ["//"], C_BLOCK, ["\""], [
        "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "false", "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self", "Self", "static", "struct", "super", "trait", "true", "type", "unsafe", "use", "where", "while"]),
    language!(["python", "py"], ["#"], None, ["\"\"\"", "'''", "\"", "'"], [
        "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except", "False", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "match", "None", "nonlocal", "not", "or", "pass", "raise", "return", "self", "True", "try", "while", "with", "yield"]),
    language!(["javascript", "js", "jsx", "mjs", "typescript", "ts", "tsx"], ["//"], C_BLOCK, ["\"", "'", "`"], [
        "abstract", "as", "async", "await", "break", "case", "catch", "class", "const", "continue", "default", "delete", "do", "else", "enum", "export", "extends", "false", "finally", "for", "from", "function", "if", "implements", "import", "in", "instanceof", "interface", "let", "new", "null", "of", "private", "protected", "public", "readonly", "return", "static", "super", "switch", "this", "throw", "true", "try", "type", "typeof", "undefined", "var", "void", "while", "yield"]),
    language!(["go", "golang"], ["//"], C_BLOCK, ["\"", "'", "`"], [
        "break", "case", "chan", "const", "continue", "default", "defer", "else", "fallthrough", "false", "for", "func", "go", "goto", "if", "import", "interface", "map", "nil", "package", "range", "return", "select", "struct", "switch", "true", "type", "var"]),
    language!(["java", "kotlin", "kt", "scala"], ["//"], C_BLOCK, ["\"\"\"", "\"", "'"], [
        "abstract", "boolean", "break", "case", "catch", "class", "const", "continue", "data", "def", "default", "do", "double", "else", "enum", "extends", "false", "final", "finally", "float", "for", "fun", "if", "implements", "import", "in", "instanceof", "int", "interface", "is", "long", "new", "null", "object", "override", "package", "private", "protected", "public", "return", "sealed", "static", "super", "switch", "synchronized", "this", "throw", "throws", "true", "try", "val", "var", "void", "when", "while"]),
    language!(["c", "h", "cpp", "c++", "cc", "hpp", "objc"], ["//"], C_BLOCK, ["\"", "'"], [
        "auto", "bool", "break", "case", "catch", "char", "class", "const", "constexpr", "continue", "default", "delete", "do", "double", "else", "enum", "extern", "false", "float", "for", "goto", "if", "inline", "int", "long", "namespace", "new", "noexcept", "NULL", "nullptr", "operator", "override", "private", "protected", "public", "return", "short", "signed", "sizeof", "static", "struct", "switch", "template", "this", "throw", "true", "try", "typedef", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "while"]),
    language!(["csharp", "cs", "c#"], ["//"], C_BLOCK, ["\"", "'"], [
        "abstract", "as", "async", "await", "base", "bool", "break", "case", "catch", "class", "const", "continue", "default", "do", "else", "enum", "false", "finally", "for", "foreach", "if", "in", "int", "interface", "internal", "is", "namespace", "new", "null", "out", "override", "private", "protected", "public", "readonly", "record", "ref", "return", "sealed", "static", "string", "struct", "switch", "this", "throw", "true", "try", "using", "var", "virtual", "void", "while"]),
    language!(["ruby", "rb"], ["#"], None, ["\"", "'"], [
        "alias", "and", "begin", "break", "case", "class", "def", "do", "else", "elsif", "end", "ensure", "false", "for", "if", "in", "module", "next", "nil", "not", "or", "raise", "require", "rescue", "return", "self", "super", "then", "true", "unless", "until", "when", "while", "yield"]),
    language!(["php"], ["//", "#"], C_BLOCK, ["\"", "'"], [
        "abstract", "array", "as", "break", "case", "catch", "class", "const", "continue", "default", "echo", "else", "elseif", "extends", "false", "final", "finally", "fn", "for", "foreach", "function", "if", "implements", "interface", "match", "namespace", "new", "null", "private", "protected", "public", "return", "static", "switch", "this", "throw", "true", "try", "use", "var", "while"]),
    language!(["swift"], ["//"], C_BLOCK, ["\"\"\"", "\""], [
        "as", "async", "await", "break", "case", "catch", "class", "continue", "default", "defer", "do", "else", "enum", "extension", "false", "for", "func", "guard", "if", "import", "in", "init", "inout", "is", "let", "nil", "private", "protocol", "public", "return", "self", "static", "struct", "switch", "throw", "throws", "true", "try", "var", "where", "while"]),
    language!(["bash", "sh", "shell", "zsh", "console", "fish"], ["#"], None, ["\"", "'"], [
        "case", "cd", "do", "done", "echo", "elif", "else", "esac", "exit", "export", "fi", "for", "function", "if", "in", "local", "return", "set", "source", "then", "until", "while"]),
    language!(["sql", "sqlite", "postgresql", "mysql"], ["--"], C_BLOCK, ["'", "\""], [
        "add", "all", "alter", "and", "as", "asc", "between", "by", "case", "create", "delete", "desc", "distinct", "drop", "else", "end", "exists", "foreign", "from", "group", "having", "in", "index", "inner", "insert", "into", "is", "join", "key", "left", "like", "limit", "not", "null", "on", "or", "order", "outer", "primary", "references", "right", "select", "set", "table", "then", "union", "unique", "update", "values", "view", "when", "where", "with"], Case::Ignored),
    language!(["json", "jsonc", "json5"], ["//"], C_BLOCK, ["\""], ["true", "false", "null"]),
    language!(["yaml", "yml"], ["#"], None, ["\"", "'"], ["true", "false", "null", "yes", "no"]),
    language!(["toml", "ini", "conf", "properties"], ["#", ";"], None, ["\"\"\"", "'''", "\"", "'"], ["true", "false"]),
    language!(["css", "scss", "less"], ["//"], C_BLOCK, ["\"", "'"], ["important", "import", "media", "from", "to"]),
    language!(["lua"], ["--"], Some(("--[[", "]]")), ["\"", "'"], [
        "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while"]),
    language!(["html", "xml", "svg", "vue"], [], Some(("<!--", "-->")), ["\""], []),
];

/// What goes on in the next line, and what ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Open {
    role: Role,
    end: &'static str,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Lexer {
    language: Option<&'static Language>,
    is_diff: bool,
    open: Option<Open>,
}

impl Lexer {
    /// By the word after a fence, or the ending of a file's name.
    pub fn of(name: &str) -> Self {
        let name = name.trim().to_ascii_lowercase();
        let language = LANGUAGES
            .iter()
            .find(|language| language.names.contains(&name.as_str()));
        Self {
            language,
            is_diff: name == "diff" || name == "patch",
            open: None,
        }
    }

    pub fn of_path(path: &str) -> Self {
        let ending = path.rsplit('/').next().unwrap_or(path).rsplit_once('.');
        Self::of(ending.map_or("", |(_, ending)| ending))
    }

    /// One line, which was cleaned before.
    pub fn line(&mut self, text: &str) -> Line {
        if self.is_diff {
            return Line::of(text, diff_role(text));
        }
        let Some(language) = self.language else {
            return Line::of(text, Role::Text);
        };
        let mut line = Line::blank();
        let mut rest = text;
        while !rest.is_empty() {
            let (length, role) = self.token(language, rest);
            let (token, left) = rest.split_at(length);
            line.push(Span::new(token, role));
            rest = left;
        }
        line
    }

    /// How long the next token is, at least one character, and what it is.
    fn token(&mut self, language: &'static Language, rest: &str) -> (usize, Role) {
        if let Some(open) = self.open {
            return match rest.find(open.end) {
                Some(at) => {
                    self.open = None;
                    (at + open.end.len(), open.role)
                }
                None => (rest.len(), open.role),
            };
        }
        if let Some((begin, end)) = language.block_comment
            && rest.starts_with(begin)
        {
            return self.begin(rest, begin, end, Role::Comment);
        }
        if language
            .line_comments
            .iter()
            .any(|sign| rest.starts_with(sign))
        {
            return (rest.len(), Role::Comment);
        }
        if let Some(quote) = language
            .quotes
            .iter()
            .find(|quote| rest.starts_with(**quote))
        {
            return match quote.len() {
                3 => self.begin(rest, quote, quote, Role::Literal),
                _ => (string_end(rest, quote), Role::Literal),
            };
        }
        let first = rest.chars().next().unwrap_or(' ');
        if first.is_ascii_digit() {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '_'));
            return (end.unwrap_or(rest.len()), Role::Number);
        }
        if is_name(first) {
            let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
            let word = rest.get(..end).unwrap_or_default();
            return (end, word_role(language, word));
        }
        // A run of what is nothing of all this. A `#` inside of a word is no comment.
        (first.len_utf8(), Role::Text)
    }

    fn begin(&mut self, rest: &str, begin: &str, end: &'static str, role: Role) -> (usize, Role) {
        let body = rest.get(begin.len()..).unwrap_or_default();
        match body.find(end) {
            Some(at) => (begin.len() + at + end.len(), role),
            None => {
                self.open = Some(Open { role, end });
                (rest.len(), role)
            }
        }
    }
}

fn word_role(language: &Language, word: &str) -> Role {
    let known = match language.case {
        Case::Matters => language.keywords.contains(&word),
        Case::Ignored => {
            let lower = word.to_ascii_lowercase();
            language.keywords.contains(&lower.as_str())
        }
    };
    match known {
        true => Role::Keyword,
        false => Role::Text,
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where a string ends that cannot go over lines.
fn string_end(rest: &str, quote: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match (escaped, c) {
            (true, _) => escaped = false,
            (false, '\\') => escaped = true,
            (false, c) if quote.starts_with(c) => return at + c.len_utf8(),
            (false, _) => {}
        }
    }
    rest.len()
}

pub(crate) fn diff_role(line: &str) -> Role {
    match line.as_bytes().first() {
        Some(b'+') => Role::Added,
        Some(b'-') => Role::Removed,
        Some(b'@') => Role::Accent,
        Some(_) | None => Role::Text,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Each token that is not plain, with the first letter of what it is.
    fn told(name: &str, text: &str) -> String {
        let mut lexer = Lexer::of(name);
        let mark = |span: &Span| match span.style.role {
            Role::Text => span.text.clone(),
            role => format!("{}⟨{}⟩", &format!("{role:?}")[..1], span.text),
        };
        let line = |line: &str| lexer.line(line).spans.iter().map(mark).collect::<String>();
        text.lines().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn languages() {
        for (name, text, expected) in [
            ("rust", "let x = 1; // n", "K⟨let⟩ x = N⟨1⟩; C⟨// n⟩"),
            ("rs", "f(\"a\\\"b\")", "f(L⟨\"a\\\"b\"⟩)"),
            ("rust", "/* a\nb */ fn", "C⟨/* a⟩\nC⟨b */⟩ K⟨fn⟩"),
            (
                "python",
                "\"\"\"a\nb\"\"\" def",
                "L⟨\"\"\"a⟩\nL⟨b\"\"\"⟩ K⟨def⟩",
            ),
            ("sql", "SELECT 1 -- x", "K⟨SELECT⟩ N⟨1⟩ C⟨-- x⟩"),
            ("diff", "+a\n-b\n@@ 1\n c", "A⟨+a⟩\nR⟨-b⟩\nA⟨@@ 1⟩\n c"),
            (
                "html",
                "<!-- a\n--><b id=\"x\">",
                "C⟨<!-- a⟩\nC⟨-->⟩<b id=L⟨\"x\"⟩>",
            ),
            ("klingon", "let x = \"1\"", "let x = \"1\""),
            ("", "plain", "plain"),
        ] {
            assert_eq!(told(name, text), expected, "{name}: {text}");
        }
        assert_eq!(Lexer::of_path("a/b.rs").language.unwrap().names[0], "rust");
        assert!(Lexer::of_path("a.rs/Makefile").language.is_none());
    }

    proptest! {
        #[test]
        fn no_character_is_lost(name in "(rust|python|js|sql|html|lua|x)", text in "[a-z0-9\"'`#/*\\-\\\\\\[\\]<>! 日é\n]{0,80}") {
            let mut lexer = Lexer::of(&name);
            for line in text.lines() {
                prop_assert_eq!(lexer.line(line).text(), line);
            }
        }
    }
}
