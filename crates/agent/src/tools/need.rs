//! What a call would do, said before it runs: what approvals are asked about.

use std::path::{Path, PathBuf};

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

/// What a call would do. One that will be refused for its arguments does nothing.
pub fn needs(call: &ToolCall, cwd: &Path) -> Need {
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
            assert_eq!(needs(&call, &cwd), wanted, "{call:?}");
        }
    }
}
