//! What is said of a handoff, and which files can be one.

use super::*;
use sm_daemon::api::types::When;
use sm_daemon::ask::SCHEDULED;

#[test]
fn what_is_said_of_a_scheduled_handoff() {
    let mut answer = HandoffAnswer {
        id: Some("ho-2".into()),
        ..HandoffAnswer::default()
    };
    assert_eq!(lines(&answer), [SCHEDULED]);
    for (when, word) in [(When::Now, "now"), (When::Start, "started again")] {
        let told = lines(&HandoffAnswer {
            when: Some(when),
            ..HandoffAnswer::default()
        });
        assert!(
            told[0].contains(word) && !told[0].contains("current turn"),
            "{told:?}"
        );
    }
    answer.replaced = Some("ho-1".into());
    answer.warnings = vec!["the document is older\x1b[31m\nthan the turn".into()];
    assert_eq!(
        lines(&answer),
        [
            SCHEDULED,
            "It replaces handoff ho-1, which was scheduled before and will not run",
            "Warning: the document is older[31m than the turn",
        ]
    );
}

#[test]
fn text_and_what_is_not() {
    let whole = vec![b'a'; LOOKED_AT as usize];
    let mut cut = whole.clone();
    cut[LOOKED_AT as usize - 1] = 0xc3;
    for (bytes, at) in [
        (&b""[..], None),
        (b"plain", None),
        ("ü → 日".as_bytes(), None),
        (b"ab\xffcd", Some(2)),
        (b"ab\xc3", Some(2)),
        (&whole, None),
        (&cut, None),
    ] {
        assert_eq!(first_not_text(bytes), at);
    }
}

#[test]
fn paths_become_absolute() {
    let cwd = std::env::current_dir().unwrap();
    for (given, absolute_path) in [
        ("notes.md", cwd.join("notes.md")),
        ("./a/notes.md", cwd.join("a/notes.md")),
        ("/x/notes.md", PathBuf::from("/x/notes.md")),
        (
            "../notes.md",
            cwd.parent()
                .unwrap()
                .canonicalize()
                .unwrap()
                .join("notes.md"),
        ),
        // no such directory: as it is
        (
            "/nowhere/../notes.md",
            PathBuf::from("/nowhere/../notes.md"),
        ),
    ] {
        assert_eq!(absolute(Path::new(given)).unwrap(), absolute_path);
    }
}
