//! Which of a person's arguments belong to every start of an agent, and which to the first only:
//! its prompt, and whatever chooses a conversation. Pure.
//!
//! Nothing is ever added here, so no permission can become wider. An option that is not known is
//! kept; a word behind it is taken for its value only if a value can follow it at all, and for the
//! prompt if it is the last word. Where that is wrong the prompt would be given again, which is why
//! the programs' options are listed.

use sm_core::AgentKind;

/// What follows an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    One,
    /// A value if the next word is none of the program's options.
    Perhaps,
    /// All words up to the next option.
    Many,
}

use Takes::{Many, Nothing, One, Perhaps};

/// What becomes of an option at the next start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    /// It belongs to the first start.
    Dropped,
}

use Fate::{Dropped, Kept};

type Row = (&'static [&'static str], Takes, Fate);

const CLAUDE: &[Row] = &[
    (&["--continue", "-c"], Nothing, Dropped),
    (&["--resume", "-r"], Perhaps, Dropped),
    (&["--from-pr"], Perhaps, Dropped),
    (&["--session-id"], One, Dropped),
    (&["--fork-session"], Nothing, Dropped),
    (&["--resume-session-at"], One, Dropped),
    (&["--prefill"], One, Dropped),
    (&["--teleport"], Perhaps, Dropped),
    (&["--worktree", "-w"], Perhaps, Kept),
    (&["--add-dir"], Many, Kept),
    (&["--agent"], One, Kept),
    (&["--agents"], One, Kept),
    (&["--allowedTools", "--allowed-tools"], Many, Kept),
    (&["--append-system-prompt"], One, Kept),
    (&["--append-system-prompt-file"], One, Kept),
    (&["--betas"], Many, Kept),
    (&["--debug", "-d"], Perhaps, Kept),
    (&["--debug-file"], One, Kept),
    (&["--disallowedTools", "--disallowed-tools"], Many, Kept),
    (&["--effort"], One, Kept),
    (&["--fallback-model"], One, Kept),
    (&["--file"], Many, Dropped),
    (&["--input-format"], One, Kept),
    (&["--json-schema"], One, Kept),
    (&["--max-budget-usd"], One, Kept),
    (&["--max-turns"], One, Kept),
    (&["--mcp-config"], Many, Kept),
    (&["--model"], One, Kept),
    (&["--name", "-n"], One, Kept),
    (&["--output-format"], One, Kept),
    (&["--permission-mode"], One, Kept),
    (&["--permission-prompt-tool"], One, Kept),
    (&["--plugin-dir"], One, Kept),
    (&["--plugin-url"], One, Kept),
    (&["--prompt-suggestions"], Perhaps, Kept),
    (&["--remote-control"], Perhaps, Kept),
    (&["--remote-control-session-name-prefix"], One, Kept),
    (&["--setting-sources"], One, Kept),
    (&["--settings"], One, Kept),
    (&["--system-prompt"], One, Kept),
    (&["--system-prompt-file"], One, Kept),
    (&["--tools"], Many, Kept),
];

const CODEX: &[Row] = &[
    (&["--config", "-c"], One, Kept),
    (&["--enable"], One, Kept),
    (&["--disable"], One, Kept),
    (&["--remote"], One, Kept),
    (&["--remote-auth-token-env"], One, Kept),
    (&["--image", "-i"], Many, Dropped),
    (&["--model", "-m"], One, Kept),
    (&["--local-provider"], One, Kept),
    (&["--profile", "-p"], One, Kept),
    (&["--sandbox", "-s"], One, Kept),
    (&["--cd", "-C"], One, Kept),
    (&["--add-dir"], One, Kept),
    (&["--ask-for-approval", "-a"], One, Kept),
    (&["--last"], Nothing, Dropped),
    (&["--all"], Nothing, Dropped),
    (&["--include-non-interactive"], Nothing, Dropped),
    // Of the worktree that the first start has made.
    (&["--worktree"], Nothing, Kept),
];

/// Codex's words for going on with a conversation; a conversation and a prompt may follow.
const CODEX_CHOOSES: [&str; 2] = ["resume", "fork"];

/// The arguments of every further start.
pub fn kept(agent: AgentKind, args: &[String]) -> Vec<String> {
    match agent {
        AgentKind::Claude => filtered(CLAUDE, args, false),
        AgentKind::Codex => filtered(CODEX, args, true),
        // Nobody knows what its words mean.
        AgentKind::Native | AgentKind::Generic => args.to_vec(),
    }
}

fn filtered(rows: &[Row], args: &[String], short_joined: bool) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = args.iter().peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            break; // what follows is the prompt
        }
        if !is_option(word) {
            continue; // the prompt, or a word that chooses a conversation
        }
        let (takes, fate, has_value) = look_up(rows, word, short_joined);
        let mut put = |word: &String| {
            if fate == Kept {
                kept.push(word.clone());
            }
        };
        put(word);
        if has_value {
            continue;
        }
        match takes {
            Nothing => {}
            One => {
                if let Some(value) = words.next() {
                    put(value);
                }
            }
            Perhaps => {
                if let Some(value) = words.next_if(|next| !is_option(next) && *next != "--") {
                    put(value);
                }
            }
            Many => {
                while let Some(value) = words.next_if(|next| !is_option(next) && *next != "--") {
                    put(value);
                }
            }
        }
    }
    kept
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && word != "--"
}

/// What an option takes, what becomes of it, and whether its value is in the same word.
fn look_up(rows: &[Row], word: &str, short_joined: bool) -> (Takes, Fate, bool) {
    let (name, has_value) = match word.split_once('=') {
        Some((name, _)) if word.starts_with("--") => (name, true),
        Some(_) | None => (word, false),
    };
    let row = rows.iter().find(|(names, _, _)| names.contains(&name));
    if let Some((_, takes, fate)) = row {
        return (*takes, *fate, has_value);
    }
    // `-mgpt`: one word. Only where the program reads it so.
    let short = word.get(..2).filter(|_| !word.starts_with("--"));
    let row = rows
        .iter()
        .find(|(names, takes, _)| short.is_some_and(|s| names.contains(&s)) && *takes != Nothing);
    match row {
        Some((_, takes, fate)) if short_joined => (*takes, *fate, true),
        Some(_) | None => (Nothing, Kept, has_value),
    }
}

/// Whether the agent is not going to have a conversation with a person at all: a subcommand, or
/// one answer and the end. Such a run is never begun again.
pub fn is_one_shot(agent: AgentKind, args: &[String]) -> bool {
    let before_prompt = || args.iter().take_while(|word| *word != "--");
    match agent {
        AgentKind::Claude => {
            let commands = [
                "agents",
                "auth",
                "auto-mode",
                "config",
                "doctor",
                "gateway",
                "install",
                "mcp",
                "migrate-installer",
                "plugin",
                "plugins",
                "project",
                "setup-token",
                "ultrareview",
                "update",
                "upgrade",
            ];
            args.first()
                .is_some_and(|first| commands.contains(&first.as_str()))
                || before_prompt().any(|word| {
                    matches!(
                        word.as_str(),
                        "-p" | "--print"
                            | "-h"
                            | "--help"
                            | "-v"
                            | "--version"
                            | "--bg"
                            | "--background"
                    )
                })
        }
        AgentKind::Codex => {
            let first = words_of(CODEX, args).into_iter().next();
            let commands = [
                "agents",
                "exec",
                "e",
                "review",
                "login",
                "logout",
                "mcp",
                "mcp-server",
                "plugin",
                "app-server",
                "remote-control",
                "completion",
                "update",
                "doctor",
                "sandbox",
                "debug",
                "apply",
                "a",
                "queue",
                "archive",
                "delete",
                "migrate-rollouts",
                "migrate-nfs-db",
                "unarchive",
                "cloud",
                "exec-server",
                "features",
                "help",
            ];
            first.is_some_and(|first| {
                commands.contains(&first.as_str()) && !CODEX_CHOOSES.contains(&first.as_str())
            }) || before_prompt()
                .any(|word| matches!(word.as_str(), "-h" | "--help" | "-V" | "--version"))
        }
        AgentKind::Native | AgentKind::Generic => false,
    }
}

/// The words that are neither options nor their values.
fn words_of(rows: &[Row], args: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut words = args.iter().peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            break;
        }
        if !is_option(word) {
            found.push(word.clone());
            continue;
        }
        let (takes, _, has_value) = look_up(rows, word, true);
        match takes {
            _ if has_value => {}
            Nothing => {}
            One => {
                words.next();
            }
            Perhaps => {
                words.next_if(|next| !is_option(next));
            }
            Many => while words.next_if(|next| !is_option(next)).is_some() {},
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        // `_` stands for a space inside one word.
        text.split_whitespace()
            .map(|word| word.replace('_', " "))
            .collect()
    }

    #[test]
    fn what_claude_is_started_with_again() {
        for (given, again) in [
            ("", ""),
            ("fix_the_tests", ""),
            ("--model opus fix_it", "--model opus"),
            ("fix_it --model opus", "--model opus"),
            ("--model=opus -- --fix_it", "--model=opus"),
            ("-c", ""),
            ("-c go_on --verbose", "--verbose"),
            ("--continue --model opus", "--model opus"),
            ("-r", ""),
            ("-r 8460b0ea go_on", ""),
            ("--resume=8460b0ea --verbose", "--verbose"),
            ("--resume --model opus", "--model opus"),
            ("--session-id 8460b0ea --fork-session x", ""),
            ("--from-pr 12 --effort high", "--effort high"),
            ("--permission-mode plan x", "--permission-mode plan"),
            (
                "--dangerously-skip-permissions x",
                "--dangerously-skip-permissions",
            ),
            (
                "--allowedTools Bash(git_*) Edit --model opus x",
                "--allowedTools Bash(git_*) Edit --model opus",
            ),
            // The program takes all of these words for folders, too.
            ("--add-dir ../a ../b", "--add-dir ../a ../b"),
            ("--add-dir ../a -- x", "--add-dir ../a"),
            ("--debug api x", "--debug api"),
            (
                "--append-system-prompt be_brief x",
                "--append-system-prompt be_brief",
            ),
            // One that is not known keeps nothing behind it.
            ("--shiny x", "--shiny"),
            ("--shiny=x y", "--shiny=x"),
            ("--settings {\"a\":1} x", "--settings {\"a\":1}"),
            ("- x", ""),
        ] {
            assert_eq!(
                kept(AgentKind::Claude, &words(given)),
                words(again),
                "{given}"
            );
        }
    }

    #[test]
    fn what_codex_is_started_with_again() {
        for (given, again) in [
            ("", ""),
            ("fix_it", ""),
            ("-m gpt fix_it", "-m gpt"),
            ("-mgpt fix_it", "-mgpt"),
            // Not as with Claude.
            ("-c model=\"o3\" fix_it", "-c model=\"o3\""),
            ("-p work -s read-only x", "-p work -s read-only"),
            ("--sandbox=read-only x", "--sandbox=read-only"),
            ("resume --last go_on", ""),
            ("resume 8460b0ea go_on -m gpt", "-m gpt"),
            ("-m gpt fork --all", "-m gpt"),
            ("-i a.png b.png -m gpt x", "-m gpt"),
            ("-a never --search x", "-a never --search"),
            (
                "--dangerously-bypass-approvals-and-sandbox x",
                "--dangerously-bypass-approvals-and-sandbox",
            ),
            ("-C /src -- -x", "-C /src"),
        ] {
            assert_eq!(
                kept(AgentKind::Codex, &words(given)),
                words(again),
                "{given}"
            );
        }
    }

    #[test]
    fn other_programs_keep_all_their_words() {
        let given = words("--continue x -- y");
        assert_eq!(kept(AgentKind::Generic, &given), given);
    }

    #[test]
    fn what_is_no_conversation() {
        for (agent, given, expected) in [
            (AgentKind::Claude, "", false),
            (AgentKind::Claude, "mcp list", true),
            (AgentKind::Claude, "-p say_hi", true),
            (AgentKind::Claude, "--model opus --print x", true),
            (AgentKind::Claude, "--version", true),
            (AgentKind::Claude, "-- -p", false),
            (AgentKind::Claude, "explain_mcp", false),
            (AgentKind::Codex, "", false),
            (AgentKind::Codex, "exec say_hi", true),
            (AgentKind::Codex, "-m gpt exec say_hi", true),
            (AgentKind::Codex, "-m exec say_hi", false),
            (AgentKind::Codex, "resume --last", false),
            (AgentKind::Codex, "--help", true),
            (AgentKind::Generic, "--help", false),
        ] {
            assert_eq!(is_one_shot(agent, &words(given)), expected, "{given}");
        }
    }

    /// Whatever is given: nothing is added, and nothing changes its order.
    #[test]
    fn what_is_kept_was_given() {
        let some = [
            "-c",
            "x",
            "--model",
            "--",
            "-r",
            "--add-dir",
            "--resume=1",
            "-",
        ];
        for n in 0..some.len().pow(4) {
            let args: Vec<String> = (0..4)
                .scan(n, |rest, _| {
                    let word = some[*rest % some.len()];
                    *rest /= some.len();
                    Some(word.to_owned())
                })
                .collect();
            for agent in [AgentKind::Claude, AgentKind::Codex] {
                let mut given = args.iter();
                for word in kept(agent, &args) {
                    assert!(given.any(|g| *g == word), "{args:?}");
                }
            }
        }
    }
}
