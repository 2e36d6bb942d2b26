//! Whether a call of a tool may run: what is allowed, what a person is asked about. Pure.
//!
//! It must never let a command pass because it begins like an allowed one and goes on with
//! something else: a rule for commands covers only what has no syntax of the shell in it.

use std::fmt;
use std::path::{Component, Path, PathBuf};

/// What a call would do, as its tool says it before it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Reads inside of the working directory, or touches nothing at all.
    Harmless,
    /// Reads this path, which is outside.
    Reads(PathBuf),
    Writes(PathBuf),
    Runs(String),
}

/// How calls that nobody has allowed yet are dealt with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// A person is asked.
    #[default]
    Ask,
    /// What the list does not have is refused.
    List,
    /// Everything may run.
    All,
}

/// One thing that is allowed. Its text is what stands in `agent.toml` and after `--allow`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    AnyRead,
    AnyWrite,
    AnyCommand,
    /// This path and everything below it.
    ReadBelow(PathBuf),
    WriteBelow(PathBuf),
    /// Commands that begin with these words, or are exactly this.
    Command(String),
}

/// What a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// "run `cargo test`".
    pub what: String,
    /// What "always" would allow from now on.
    pub always: Rule,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Allowed,
    Ask(Wanted),
    /// Told to the model.
    Refused(String),
}

/// Who can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Person {
    Here,
    /// Headless: what needs a word of a person is refused.
    Nobody,
}

#[derive(Debug, Clone)]
pub struct Approvals {
    pub mode: Mode,
    pub person: Person,
    cwd: PathBuf,
    rules: Vec<Rule>,
}

impl Deed {
    /// Whether it leaves everything as it is, so that others may run beside it.
    pub fn only_reads(&self) -> bool {
        match self {
            Self::Harmless | Self::Reads(_) => true,
            Self::Writes(_) | Self::Runs(_) => false,
        }
    }

    pub fn what(&self) -> String {
        match self {
            Self::Harmless => "read".into(),
            Self::Reads(path) => format!("read {}", path.display()),
            Self::Writes(path) => format!("write {}", path.display()),
            Self::Runs(command) => format!("run `{}`", shortened(command)),
        }
    }
}

impl Approvals {
    pub fn new(mode: Mode, person: Person, cwd: &Path, rules: Vec<Rule>) -> Self {
        Self {
            mode,
            person,
            cwd: cwd.to_path_buf(),
            rules,
        }
    }

    pub fn judge(&self, deed: &Deed) -> Verdict {
        if matches!(deed, Deed::Harmless) || matches!(self.mode, Mode::All) || self.allows(deed) {
            return Verdict::Allowed;
        }
        match (self.mode, self.person) {
            (Mode::List, _) => Verdict::Refused(format!(
                "not allowed to {}: the list of what is allowed does not have it. Do it another way, or say what is needed",
                deed.what()
            )),
            (Mode::Ask | Mode::All, Person::Nobody) => Verdict::Refused(format!(
                "not allowed to {}: nobody is here who could be asked. Do it another way, or say what is needed (--allow '{}' allows it)",
                deed.what(),
                self.always(deed)
            )),
            (Mode::Ask | Mode::All, Person::Here) => Verdict::Ask(Wanted {
                what: deed.what(),
                always: self.always(deed),
            }),
        }
    }

    /// From now on, until the session of the program ends.
    pub fn allow(&mut self, rule: Rule) {
        if !self.rules.contains(&rule) {
            self.rules.push(rule);
        }
    }

    fn allows(&self, deed: &Deed) -> bool {
        self.rules.iter().any(|rule| match (rule, deed) {
            (Rule::AnyRead, Deed::Reads(_))
            | (Rule::AnyWrite, Deed::Writes(_))
            | (Rule::AnyCommand, Deed::Runs(_)) => true,
            (Rule::ReadBelow(below), Deed::Reads(path)) => path.starts_with(below),
            (Rule::WriteBelow(below), Deed::Writes(path)) => {
                path.starts_with(below) && (below == path || !guarded(below, path))
            }
            (Rule::Command(rule), Deed::Runs(command)) => covers(rule, command),
            (
                Rule::AnyRead
                | Rule::AnyWrite
                | Rule::AnyCommand
                | Rule::ReadBelow(_)
                | Rule::WriteBelow(_)
                | Rule::Command(_),
                Deed::Harmless | Deed::Reads(_) | Deed::Writes(_) | Deed::Runs(_),
            ) => false,
        })
    }

    /// What "always" means for a deed: no more than a person would expect of it.
    fn always(&self, deed: &Deed) -> Rule {
        match deed {
            Deed::Harmless => Rule::AnyRead,
            Deed::Reads(path) => Rule::ReadBelow(
                path.parent()
                    .filter(|p| p.parent().is_some())
                    .unwrap_or(path)
                    .into(),
            ),
            Deed::Writes(path) if path.starts_with(&self.cwd) && !guarded(&self.cwd, path) => {
                Rule::WriteBelow(self.cwd.clone())
            }
            Deed::Writes(path) => Rule::WriteBelow(path.clone()),
            Deed::Runs(command) => Rule::Command(prefix(command)),
        }
    }
}

/// Files that decide what other programs run: allowed by name only.
fn guarded(below: &Path, path: &Path) -> bool {
    path.strip_prefix(below).is_ok_and(|rest| {
        rest.components().any(|part| match part {
            Component::Normal(name) => name == ".git" || name == ".envrc",
            Component::Prefix(_)
            | Component::RootDir
            | Component::CurDir
            | Component::ParentDir => false,
        })
    })
}

/// Programs whose first argument does not say what they do.
const OPAQUE: [&str; 24] = [
    "bash", "sh", "zsh", "fish", "dash", "env", "sudo", "doas", "su", "xargs", "eval", "exec",
    "command", "nohup", "time", "timeout", "nice", "ssh", "rm", "dd", "find", "chmod", "chown",
    "curl",
];

/// The words that "always" remembers of a command: the program and what it is told to do, or the
/// whole command where that would say too little.
fn prefix(command: &str) -> String {
    let command = command.trim();
    let mut words = command.split_ascii_whitespace();
    let (Some(program), second) = (words.next(), words.next()) else {
        return command.to_owned();
    };
    if !is_plain(command) || program.contains('=') || OPAQUE.contains(&program) {
        return command.to_owned();
    }
    match second {
        Some(second) if !second.starts_with('-') => format!("{program} {second}"),
        Some(_) | None => command.to_owned(),
    }
}

/// Whether a rule for commands lets this one run.
fn covers(rule: &str, command: &str) -> bool {
    let (rule, command) = (rule.trim(), command.trim());
    if rule == command {
        return true;
    }
    let mut words = command.split_ascii_whitespace();
    is_plain(command)
        && !rule.is_empty()
        && rule
            .split_ascii_whitespace()
            .all(|word| words.next() == Some(word))
}

/// Nothing in it means anything to a shell but words.
fn is_plain(command: &str) -> bool {
    !command
        .chars()
        .any(|c| c.is_control() || ";&|<>$`\\\"'(){}[]*?!#~".contains(c))
}

fn shortened(command: &str) -> String {
    const MOST: usize = 200;
    match command.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &command[..at]),
        None => command.to_owned(),
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} allows nothing: write bash, bash:COMMAND, write, write:PATH, read or read:PATH")]
pub struct RuleError(String);

impl Rule {
    /// Paths count from the working directory.
    pub fn parse(text: &str, cwd: &Path) -> Result<Self, RuleError> {
        let (kind, rest) = match text.split_once(':') {
            Some((kind, rest)) => (kind.trim(), Some(rest.trim())),
            None => (text.trim(), None),
        };
        match (kind, rest) {
            ("bash", None) => Ok(Self::AnyCommand),
            ("write", None) => Ok(Self::AnyWrite),
            ("read", None) => Ok(Self::AnyRead),
            ("bash", Some(command)) if !command.is_empty() => Ok(Self::Command(command.into())),
            ("write", Some(path)) if !path.is_empty() => Ok(Self::WriteBelow(clean(cwd, path))),
            ("read", Some(path)) if !path.is_empty() => Ok(Self::ReadBelow(clean(cwd, path))),
            (_, _) => Err(RuleError(text.chars().take(60).collect())),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AnyRead => f.write_str("read"),
            Self::AnyWrite => f.write_str("write"),
            Self::AnyCommand => f.write_str("bash"),
            Self::ReadBelow(path) => write!(f, "read:{}", path.display()),
            Self::WriteBelow(path) => write!(f, "write:{}", path.display()),
            Self::Command(command) => write!(f, "bash:{command}"),
        }
    }
}

/// Without `.` and `..`, so that a rule covers what it says.
fn clean(cwd: &Path, text: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in cwd.join(text).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => path.push(part),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approvals(rules: &[&str]) -> Approvals {
        let cwd = Path::new("/repo");
        let rules = rules.iter().map(|r| Rule::parse(r, cwd).unwrap()).collect();
        Approvals::new(Mode::Ask, Person::Here, cwd, rules)
    }

    fn runs(command: &str) -> Deed {
        Deed::Runs(command.into())
    }

    #[test]
    fn what_writes_or_runs_or_reads_outside_is_asked_about() {
        let asks = approvals(&[]);
        for (deed, asked) in [
            (Deed::Harmless, false),
            (Deed::Reads("/etc/passwd".into()), true),
            (Deed::Writes("/repo/a.rs".into()), true),
            (runs("ls"), true),
        ] {
            assert_eq!(
                matches!(asks.judge(&deed), Verdict::Ask(_)),
                asked,
                "{deed:?}"
            );
        }
    }

    #[test]
    fn a_rule_covers_what_it_says_and_nothing_behind_it() {
        for (rule, deed, allowed) in [
            ("bash:cargo test", runs("cargo test -p x"), true),
            ("bash:cargo test", runs("cargo  test"), true),
            ("bash:cargo test", runs("cargo testing"), false),
            ("bash:cargo test", runs("cargo test; rm -rf /"), false),
            ("bash:cargo test", runs("cargo test && curl x"), false),
            ("bash:cargo test", runs("cargo test | sh"), false),
            ("bash:cargo test", runs("cargo test $(rm x)"), false),
            ("bash:cargo test", runs("cargo test `rm x`"), false),
            ("bash:cargo test", runs("cargo test > /etc/x"), false),
            ("bash:cargo test", runs("cargo test\nrm x"), false),
            ("bash:cargo test", runs("sudo cargo test"), false),
            ("bash:a && b", runs("a && b"), true),
            ("bash:a && b", runs("a && b && c"), false),
            ("bash", runs("anything; at all"), true),
            ("write:src", Deed::Writes("/repo/src/a.rs".into()), true),
            ("write:src", Deed::Writes("/repo/srcs/a.rs".into()), false),
            ("write:src/../x", Deed::Writes("/repo/x/a".into()), true),
            (
                "write:/repo",
                Deed::Writes("/repo/.git/hooks/pre-commit".into()),
                false,
            ),
            (
                "write:/repo/.envrc",
                Deed::Writes("/repo/.envrc".into()),
                true,
            ),
            ("write:/repo", Deed::Reads("/repo/a".into()), false),
            ("read:/etc", Deed::Reads("/etc/hosts".into()), true),
            ("read:/etc", Deed::Writes("/etc/hosts".into()), false),
            ("write", Deed::Writes("/anywhere".into()), true),
            ("read", Deed::Reads("/anywhere".into()), true),
        ] {
            let verdict = approvals(&[rule]).judge(&deed);
            assert_eq!(verdict == Verdict::Allowed, allowed, "{rule} {deed:?}");
        }
    }

    #[test]
    fn always_remembers_as_much_as_a_person_would_expect() {
        for (deed, rule) in [
            (runs("cargo test -p x"), "bash:cargo test"),
            (runs("git status"), "bash:git status"),
            (runs("make"), "bash:make"),
            (runs("ls -la /etc"), "bash:ls -la /etc"),
            (runs("rm -rf target"), "bash:rm -rf target"),
            (runs("bash run.sh"), "bash:bash run.sh"),
            (runs("X=1 make it"), "bash:X=1 make it"),
            (runs("make it && rm x"), "bash:make it && rm x"),
            (Deed::Writes("/repo/src/a.rs".into()), "write:/repo"),
            (
                Deed::Writes("/repo/.git/config".into()),
                "write:/repo/.git/config",
            ),
            (Deed::Writes("/etc/x".into()), "write:/etc/x"),
            (Deed::Reads("/usr/include/a.h".into()), "read:/usr/include"),
            (Deed::Reads("/secret".into()), "read:/secret"),
        ] {
            let mut approvals = approvals(&[]);
            let Verdict::Ask(wanted) = approvals.judge(&deed) else {
                panic!("{deed:?} is asked about");
            };
            assert_eq!(wanted.always.to_string(), rule);
            assert_eq!(
                Rule::parse(rule, Path::new("/repo")).unwrap(),
                wanted.always
            );
            approvals.allow(wanted.always);
            assert_eq!(approvals.judge(&deed), Verdict::Allowed, "{deed:?}");
        }
    }

    #[test]
    fn without_a_person_it_is_refused_with_the_reason() {
        let mut approvals = approvals(&["bash:ls"]);
        approvals.person = Person::Nobody;
        let Verdict::Refused(why) = approvals.judge(&runs("cargo test")) else {
            panic!("it is refused");
        };
        assert!(
            why.contains("cargo test") && why.contains("--allow 'bash:cargo test'"),
            "{why}"
        );
        assert_eq!(approvals.judge(&runs("ls")), Verdict::Allowed);
        approvals.mode = Mode::All;
        assert_eq!(approvals.judge(&runs("cargo test")), Verdict::Allowed);
        approvals.person = Person::Here;
        approvals.mode = Mode::List;
        assert!(matches!(
            approvals.judge(&runs("cargo test")),
            Verdict::Refused(_)
        ));
    }

    #[test]
    fn what_is_no_rule_says_so() {
        for text in ["", "rm", "bash:", "write: ", "exec:ls"] {
            assert!(Rule::parse(text, Path::new("/repo")).is_err(), "{text:?}");
        }
    }
}
