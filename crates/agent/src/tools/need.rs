//! What a call would do, said before it runs: what approvals are asked about.

use std::path::{Path, PathBuf};

use sm_agents::OwnTools;
use sm_agents::own_tools::{HANDOFF, of_full_name};
use sm_llm::ToolCall;

use super::args::Args;
use super::paths;

/// Paths are where they lead in the end, links followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// It touches nothing, or reads inside of the working directory only.
    Nothing,
    ReadsOutside(PathBuf),
    Writes {
        path: PathBuf,
        side: Side,
    },
    Runs(String),
}

/// On which side of the working directory's border something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Inside,
    Outside,
}

/// What a call would do. One that will be refused for its arguments does nothing. `own`: the tools of sm
/// that there are; to hand over with them leaves nothing behind but this context, and is allowed unless
/// the user has said otherwise.
pub fn needs(call: &ToolCall, cwd: &Path, own: Option<&OwnTools>) -> Need {
    let args = Args::new(&call.name, &call.arguments);
    match call.name.as_str() {
        "read" => args
            .path("path")
            .map_or(Need::Nothing, |path| reads(cwd, path)),
        "grep" | "find" => match args.maybe_text("path") {
            Ok(Some(path)) if !path.is_empty() => reads(cwd, path),
            _ => Need::Nothing,
        },
        "write" | "edit" => args.path("path").map_or(Need::Nothing, |path| {
            let path = paths::resolved(&paths::absolute(cwd, path));
            Need::Writes {
                side: side(cwd, &path),
                path,
            }
        }),
        "bash" => args
            .text("command")
            .map_or(Need::Nothing, |command| Need::Runs(command.to_string())),
        other if of_full_name(other) == Some(HANDOFF) => match own {
            Some(own) if !own.allowed => Need::Runs("sm handoff -".to_owned()),
            Some(_) | None => Need::Nothing,
        },
        _ => Need::Nothing,
    }
}

fn reads(cwd: &Path, path: &str) -> Need {
    let path = paths::resolved(&paths::absolute(cwd, path));
    match side(cwd, &path) {
        Side::Inside => Need::Nothing,
        Side::Outside => Need::ReadsOutside(path),
    }
}

fn side(cwd: &Path, path: &Path) -> Side {
    if path.starts_with(paths::resolved(cwd)) {
        Side::Inside
    } else {
        Side::Outside
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use serde_json::{Value, json};

    use super::*;

    fn call(name: &str, arguments: Value) -> ToolCall {
        let Value::Object(arguments) = arguments else {
            panic!("an object");
        };
        ToolCall {
            id: "1".into(),
            name: name.into(),
            arguments,
        }
    }

    #[test]
    fn a_call_says_what_it_would_do() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let cwd = root.join("work");
        fs::create_dir(&cwd).unwrap();
        symlink(&root, cwd.join("up")).unwrap();
        symlink("/etc/passwd", cwd.join("users")).unwrap();
        symlink("work", root.join("same")).unwrap();
        let inside = |path: &str| Need::Writes {
            path: cwd.join(path),
            side: Side::Inside,
        };
        let outside = |path: PathBuf| Need::Writes {
            path,
            side: Side::Outside,
        };
        let table = [
            ("read", json!({"path": "a"}), Need::Nothing),
            ("read", json!({"path": "./x/../a"}), Need::Nothing),
            ("read", json!({"path": "../same/a"}), Need::Nothing),
            (
                "read",
                json!({"path": "../b"}),
                Need::ReadsOutside(root.join("b")),
            ),
            (
                "read",
                json!({"path": "users"}),
                Need::ReadsOutside("/etc/passwd".into()),
            ),
            (
                "read",
                json!({"path": "/etc/passwd"}),
                Need::ReadsOutside("/etc/passwd".into()),
            ),
            ("read", json!({"path": 7}), Need::Nothing),
            ("grep", json!({"pattern": "x"}), Need::Nothing),
            (
                "grep",
                json!({"pattern": "x", "path": ".."}),
                Need::ReadsOutside(root.clone()),
            ),
            (
                "find",
                json!({"pattern": "x", "path": "up"}),
                Need::ReadsOutside(root.clone()),
            ),
            ("write", json!({"path": "a", "content": ""}), inside("a")),
            ("edit", json!({"path": "new/a"}), inside("new/a")),
            ("edit", json!({"path": "up/a"}), outside(root.join("a"))),
            (
                "write",
                json!({"path": "users"}),
                outside("/etc/passwd".into()),
            ),
            (
                "bash",
                json!({"command": "rm -rf x"}),
                Need::Runs("rm -rf x".into()),
            ),
            ("bash", json!({"command": null}), Need::Nothing),
            ("todo", json!({"todos": []}), Need::Nothing),
            ("dance", json!({}), Need::Nothing),
        ];
        for (name, arguments, wanted) in table {
            let call = call(name, arguments);
            assert_eq!(needs(&call, &cwd, None), wanted, "{call:?}");
        }
    }

    #[test]
    fn to_hand_over_needs_a_person_only_where_the_user_has_said_so() {
        let tools = |allowed| OwnTools {
            program: "/opt/sm".to_owned(),
            allowed,
        };
        let asked = Need::Runs("sm handoff -".to_owned());
        for (tool, allowed, wanted) in [
            ("mcp__sm__handoff", true, &Need::Nothing),
            ("mcp__sm__handoff", false, &asked),
            ("mcp__sm__context", false, &Need::Nothing),
        ] {
            let call = call(tool, json!({"document": "x"}));
            assert_eq!(&needs(&call, Path::new("/"), Some(&tools(allowed))), wanted);
        }
    }
}
