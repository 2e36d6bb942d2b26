//! grep and find.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::support::{Place, fifo, said};

fn tree() -> Place {
    let place = Place::new()
        .with(".gitignore", "target/\n*.log\n")
        .with("src/main.rs", "fn main() {\n    needle();\n}\n")
        .with("src/deep/lib.rs", "// Needle\r\nfn needle() {}\r\n")
        .with("target/out.rs", "needle")
        .with("x.log", "needle")
        .with(".git/config", "needle")
        .with(".github/ci.yml", "run: needle\n")
        .with("image.bin", b"needle\0\0");
    fifo(&place.cwd.join("pipe"));
    symlink("/", place.cwd.join("everything")).unwrap();
    place
}

#[tokio::test]
async fn matches_are_told_with_their_places() {
    let place = tree();
    assert_eq!(
        place.ok("grep", json!({"pattern": "needle"})).await,
        ".github/ci.yml:1:run: needle\nsrc/deep/lib.rs:2:fn needle() {}\nsrc/main.rs:2:    needle();"
    );
    assert_eq!(
        place
            .ok(
                "grep",
                json!({"pattern": "^// needle$", "ignore_case": true, "path": "src"})
            )
            .await,
        "src/deep/lib.rs:1:// Needle"
    );
    assert_eq!(
        place
            .ok(
                "grep",
                json!({"pattern": "needle()", "literal": true, "glob": "main.*"})
            )
            .await,
        "src/main.rs:2:    needle();"
    );
    assert_eq!(
        place
            .ok(
                "grep",
                json!({"pattern": "needle", "path": "src/main.rs", "context": 1})
            )
            .await,
        "src/main.rs-1-fn main() {\nsrc/main.rs:2:    needle();\nsrc/main.rs-3-}"
    );
    assert_eq!(
        place.ok("grep", json!({"pattern": "haystack"})).await,
        "nothing found"
    );
    let two = place
        .ok("grep", json!({"pattern": "needle", "limit": 2}))
        .await;
    assert!(
        two.contains("[the first 2 matches; there may be more"),
        "{two}"
    );
}

#[tokio::test]
async fn context_is_told_once() {
    let place = Place::new().with("a", "1\nx\n3\nx\n5\n6\n7\n8\nx\n");
    assert_eq!(
        place
            .ok("grep", json!({"pattern": "x", "context": 1}))
            .await,
        "a-1-1\na:2:x\na-3-3\na:4:x\na-5-5\n--\na-8-8\na:9:x"
    );
}

#[tokio::test]
async fn a_search_that_cannot_be_made_is_explained() {
    let place = tree();
    for (arguments, wanted) in [
        (json!({"pattern": "a("}), "for plain text set literal"),
        (json!({"pattern": "(?:a{1000}){1000}"}), "not understood"),
        (json!({"pattern": ""}), "must not be empty"),
        (json!({"pattern": "x", "path": "scr"}), "did you mean src?"),
        (json!({"pattern": "x", "path": "pipe"}), "named pipe"),
        (
            json!({"pattern": "x", "glob": "a[b"}),
            "glob is not understood",
        ),
    ] {
        let text = place.fails("grep", arguments).await;
        assert!(text.contains(wanted), "{text}");
    }
    for (arguments, wanted) in [
        (json!({"pattern": "{a"}), "glob is not understood"),
        (
            json!({"pattern": "*", "path": "src/main.rs"}),
            "is not a directory",
        ),
        (json!({"pattern": "*", "path": "nowhere"}), "does not exist"),
    ] {
        let text = place.fails("find", arguments).await;
        assert!(text.contains(wanted), "{text}");
    }
}

#[tokio::test]
async fn long_lines_and_many_matches_stay_within_bounds() {
    let long = format!("{}needle{}", "a".repeat(1_000_000), "b".repeat(1_000_000));
    let place = Place::new().with("long.js", long).with(
        "many.txt",
        "needle in a line of some length\n".repeat(100_000),
    );
    let text = place
        .ok("grep", json!({"pattern": "needle", "limit": 100_000}))
        .await;
    assert!(text.len() < 52_000, "{}", text.len());
    assert!(text.starts_with("long.js:1:…aaa"));
    assert!(text.lines().next().unwrap().contains("needlebbb"));
    assert!(text.contains("there may be more"));
}

#[tokio::test]
async fn files_are_found_by_their_names() {
    let place = tree();
    let table = [
        ("*.rs", "src/deep/lib.rs\nsrc/main.rs"),
        ("src/**/*.rs", "src/deep/lib.rs\nsrc/main.rs"),
        ("src/*.rs", "src/main.rs"),
        ("deep", "src/deep/"),
        ("*.yml", ".github/ci.yml"),
        ("*.log", "nothing found"),
        ("!x", "nothing found"),
    ];
    for (pattern, wanted) in table {
        assert_eq!(
            place.ok("find", json!({"pattern": pattern})).await,
            wanted,
            "{pattern}"
        );
    }
    assert_eq!(
        place
            .ok("find", json!({"pattern": "*.rs", "path": "src/deep"}))
            .await,
        "src/deep/lib.rs"
    );
    let one = place
        .ok("find", json!({"pattern": "*.rs", "limit": 1}))
        .await;
    assert!(
        one.starts_with("src/deep/lib.rs\n[the first 1; there are more"),
        "{one}"
    );
}

#[tokio::test]
async fn a_cancelled_search_ends() {
    let place = tree();
    place.cancel.cancel();
    for tool in ["grep", "find", "read", "bash"] {
        let text = place
            .fails(
                tool,
                json!({"pattern": "x", "path": "src", "command": "true"}),
            )
            .await;
        assert!(text.contains("interrupted"), "{text}");
    }
}

#[tokio::test]
async fn what_is_found_is_shown_as_it_comes() {
    let place = tree();
    for (tool, pattern) in [("grep", "needle"), ("find", "*.rs")] {
        let mut shown = Vec::new();
        let mut on_output = |text: &str| shown.push(text.to_owned());
        let arguments = json!({"pattern": pattern});
        let outcome = place.watch(tool, arguments, &mut on_output).await;
        let told = said(&outcome);
        assert!(!shown.is_empty(), "{tool}: the first is shown at once");
        let shown = shown.concat();
        assert!(told.starts_with(shown.trim_end()), "{tool}: {shown:?}");
        assert!(told.lines().next() == shown.lines().next(), "{shown:?}");
    }
    let mut on_output = |text: &str| panic!("nothing was found: {text}");
    place
        .watch("grep", json!({"pattern": "nowhere"}), &mut on_output)
        .await;
}
