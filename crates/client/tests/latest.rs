//! The last sample of each session, kept while no daemon listens.
#![expect(clippy::unwrap_used, reason = "tests")]

use sm_client::latest::Latest;
use sm_client::spool::{Completeness, Entry};
use std::fs;

fn entry<'a>(session: &'a str, body: &'a [u8]) -> Entry<'a> {
    Entry {
        id: "1-a",
        at: 7,
        agent: "claude",
        event: "statusline",
        session,
        ancestors: "",
        secret: None,
        body,
        completeness: Completeness::Whole,
    }
}

fn names(dir: &std::path::Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|e| e.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn the_newest_of_each_session_is_kept_and_no_more() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("spool");
    let latest = Latest::new(&dir);
    assert!(latest.take().unwrap().is_empty(), "there is no folder yet");
    for n in 0..200 {
        latest
            .keep(&entry("api", format!("{{\"n\":{n}}}").as_bytes()))
            .unwrap();
    }
    latest.keep(&entry("web", b"{}")).unwrap();
    assert_eq!(names(&dir), ["latest.api.jsonl", "latest.web.jsonl"]);
    let mut taken = latest.take().unwrap();
    taken.sort_by(|a, b| a.path().cmp(b.path()));
    let line = String::from_utf8(taken[0].line.clone()).unwrap();
    assert!(line.contains(r#""body":"{\"n\":199}""#), "{line}");
    assert!(line.contains(r#""at":7"#) && line.ends_with("}\n"));

    // a daemon that died here finds them again, unless there is a newer one
    latest.keep(&entry("web", b"newer")).unwrap();
    let again = latest.take().unwrap();
    assert_eq!(again.len(), 2);
    let all: Vec<String> = again
        .iter()
        .map(|t| String::from_utf8_lossy(&t.line).into_owned())
        .collect();
    assert!(all.iter().any(|line| line.contains("newer")));
    for sample in again {
        sample.done().unwrap();
    }
    assert_eq!(names(&dir), [] as [String; 0]);
}

#[test]
fn what_is_no_sample_is_not_kept_and_leftovers_go() {
    let home = tempfile::tempdir().unwrap();
    let latest = Latest::new(home.path());
    latest.keep(&entry("../up", b"{}")).unwrap();
    latest.keep(&entry("", b"{}")).unwrap();
    latest.keep(&entry(&"x".repeat(65), b"{}")).unwrap();
    latest.keep(&entry("api", &vec![b' '; 65 * 1024])).unwrap();
    assert_eq!(names(home.path()), [] as [String; 0]);
    fs::write(home.path().join("latest.api.123.tmp"), "half").unwrap();
    assert!(latest.take().unwrap().is_empty());
    assert_eq!(names(home.path()), [] as [String; 0]);
}
