//! Reading, writing, editing.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;
use sm_llm::Block;

use crate::support::{Place, fifo};

#[tokio::test]
async fn a_file_is_read_in_pieces() {
    let lines: String = (1..=2500).map(|n| format!("line {n}\n")).collect();
    let place = Place::new().with("a.txt", &lines);
    let first = place.ok("read", json!({"path": "a.txt"})).await;
    assert!(first.starts_with("line 1\n"));
    assert!(
        first.ends_with("line 2000\n[lines 1 to 2000 of a file of 23.9 kB; rest: offset 2001]"),
        "{}",
        &first[first.len() - 100..]
    );
    let rest = place
        .ok("read", json!({"path": "a.txt", "offset": 2001}))
        .await;
    assert!(rest.starts_with("line 2001\n"));
    assert!(rest.ends_with("line 2500\n"));
    let few = place
        .ok("read", json!({"path": "a.txt", "offset": "3", "limit": 2}))
        .await;
    assert!(few.starts_with("line 3\nline 4\n[lines 3 to 4 of"), "{few}");
    let beyond = place
        .fails("read", json!({"path": "a.txt", "offset": 2501}))
        .await;
    assert_eq!(beyond, "a.txt has 2500 lines: there is no line 2501");
}

#[tokio::test]
async fn a_piece_is_never_too_large() {
    let place = Place::new()
        .with("wide.txt", format!("{}\n", "x".repeat(999)).repeat(100))
        .with("one-line.js", "y".repeat(5_000_000))
        .with("empty", "");
    let wide = place.ok("read", json!({"path": "wide.txt"})).await;
    assert!(wide.ends_with("[lines 1 to 50 of a file of 100.0 kB; rest: offset 51]"));
    let one = place.ok("read", json!({"path": "one-line.js"})).await;
    assert!(one.len() < 51_000);
    assert!(one.contains("only its beginning is shown"));
    assert_eq!(
        place.ok("read", json!({"path": "empty"})).await,
        "[empty is empty]"
    );
}

#[tokio::test]
async fn a_huge_file_is_read_without_being_held() {
    let place = Place::new();
    let file = fs::File::create(place.cwd.join("huge")).unwrap();
    fs::write(place.cwd.join("huge"), "first\nsecond\n").unwrap();
    // Holes take no room on the disk.
    file.set_len(200 << 30).unwrap();
    let text = place.fails("read", json!({"path": "huge"})).await;
    assert_eq!(text, "huge is binary, 214.7 GB");
    assert!(
        place
            .fails(
                "edit",
                json!({"path": "huge", "old_text": "a", "new_text": "b"})
            )
            .await
            .contains("too large to edit")
    );
}

#[tokio::test]
async fn what_is_no_text_is_said_to_be_none() {
    let place = Place::new()
        .with("program", b"\x7fELF\x02\x01\x01\0\0\0")
        .with("wide.txt", b"\xff\xfeh\0i\0")
        .with("latin1.txt", b"caf\xe9\n")
        .with("dos.txt", "\u{feff}a\r\nb\r\n")
        .with("p.png", b"\x89PNG\r\n\x1a\n\0\0\0");
    assert_eq!(
        place.fails("read", json!({"path": "program"})).await,
        "program is binary, 10 B"
    );
    assert!(
        place
            .fails("read", json!({"path": "wide.txt"}))
            .await
            .contains("UTF-16")
    );
    assert_eq!(
        place.ok("read", json!({"path": "latin1.txt"})).await,
        "caf\u{fffd}\n[not all of it is UTF-8: other bytes are shown as \u{fffd}]"
    );
    assert_eq!(place.ok("read", json!({"path": "dos.txt"})).await, "a\nb\n");
    let picture = place.run("read", json!({"path": "p.png"})).await;
    assert!(
        matches!(&picture.content[1], Block::Image { data, mime_type }
        if mime_type == "image/png" && data == "iVBORw0KGgoAAAA=")
    );
}

#[tokio::test]
async fn what_is_no_file_is_refused_at_once() {
    let place = Place::new().with("src/main.rs", "").with("src/lib.rs", "");
    fifo(&place.cwd.join("pipe"));
    let _socket = std::os::unix::net::UnixListener::bind(place.cwd.join("socket")).unwrap();
    symlink("loop", place.cwd.join("loop")).unwrap();
    let table = [
        ("pipe", "pipe is a named pipe, not a file"),
        ("socket", "socket is a socket"),
        ("/dev/zero", "/dev/zero is a device, not a file"),
        ("/dev/tty", "/dev/tty"),
        ("src", "src is a directory; it holds:\nlib.rs\nmain.rs"),
        (
            "src/mian.rs",
            "src/mian.rs does not exist; did you mean src/main.rs?",
        ),
        (
            "scr/main.rs",
            "scr/main.rs does not exist; did you mean src/main.rs?",
        ),
        ("SRC/Main.rs", "did you mean src/Main.rs?"),
        ("nothing/like/it", "nothing/like/it does not exist"),
        ("src/main.rs/x", "does not exist"),
        ("loop", "loop is a link that leads to itself"),
    ];
    for (path, wanted) in table {
        for (tool, more) in [("read", ""), ("edit", "x")] {
            let text = place
                .fails(
                    tool,
                    json!({"path": path, "old_text": "a", "new_text": more}),
                )
                .await;
            // A folder's file is only suggested where it really is.
            if path == "SRC/Main.rs" {
                assert!(text.contains("does not exist"), "{text}");
            } else {
                assert!(text.contains(wanted), "{text}");
            }
        }
    }
    for path in ["pipe", "/dev/null", "src"] {
        let text = place
            .fails("write", json!({"path": path, "content": "x"}))
            .await;
        assert!(text.contains(" is a"), "{text}");
    }
    let long = "x/".repeat(5_000);
    assert_eq!(
        place.fails("read", json!({"path": long})).await,
        "the path is too long"
    );
}

#[tokio::test]
async fn a_file_without_permission_stays_closed() {
    if rustix::process::geteuid().is_root() {
        // Nothing is closed to root but what the file system itself refuses.
        let place = Place::new();
        let text = place
            .fails("write", json!({"path": "/proc/version", "content": "x"}))
            .await;
        assert!(text.contains("/proc/version"), "{text}");
        return;
    }
    let place = Place::new().with("closed", "x").with("fixed", "old");
    let mode = |name: &str, mode| {
        fs::set_permissions(place.cwd.join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("closed", 0);
    mode("fixed", 0o444);
    assert_eq!(
        place.fails("read", json!({"path": "closed"})).await,
        "closed: no permission"
    );
    let text = place
        .fails("write", json!({"path": "fixed", "content": "new"}))
        .await;
    assert_eq!(text, "fixed: no permission");
    assert_eq!(place.text("fixed"), "old");
}

#[tokio::test]
async fn a_file_is_written_whole_with_its_folders() {
    let place = Place::new().with("old.sh", "a\nb\n");
    fs::set_permissions(place.cwd.join("old.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(
        place
            .ok(
                "write",
                json!({"path": "new/deep/a.txt", "content": "x\ny\n"})
            )
            .await,
        "made new/deep/a.txt (2 lines, 4 B)"
    );
    assert_eq!(place.text("new/deep/a.txt"), "x\ny\n");
    let outcome = place
        .run("write", json!({"path": "old.sh", "content": "a\nc\n"}))
        .await;
    let details = outcome.details.unwrap();
    assert_eq!(details["created"], false);
    assert!(details["diff"].as_str().unwrap().contains("-b\n+c\n"));
    let mode = fs::metadata(place.cwd.join("old.sh"))
        .unwrap()
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o750);
    let left: Vec<_> = fs::read_dir(&place.cwd).unwrap().collect();
    assert_eq!(left.len(), 2, "nothing is left beside them: {left:?}");
}

#[tokio::test]
async fn links_and_other_names_of_a_file_stay_what_they_are() {
    let place = Place::new().with("real", "a").with("one", "a");
    symlink("real", place.cwd.join("link")).unwrap();
    symlink("not-yet", place.cwd.join("dangling")).unwrap();
    fs::hard_link(place.cwd.join("one"), place.cwd.join("two")).unwrap();
    for (path, other) in [("link", "real"), ("two", "one"), ("dangling", "not-yet")] {
        place
            .ok("write", json!({"path": path, "content": "b"}))
            .await;
        assert_eq!(place.text(other), "b", "{path}");
    }
    for link in ["link", "dangling"] {
        assert!(place.cwd.join(link).is_symlink());
    }
}

#[tokio::test]
async fn an_edit_changes_what_is_named_and_shows_it() {
    let place = Place::new().with("a.rs", "fn a() {}\r\nfn b() {}\r\n");
    let outcome = place
        .run(
            "edit",
            json!({"path": "a.rs", "old_text": "fn b() {}\n", "new_text": "fn c() {}\nfn d() {}\n"}),
        )
        .await;
    assert!(!outcome.is_error, "{outcome:?}");
    assert_eq!(
        place.text("a.rs"),
        "fn a() {}\r\nfn c() {}\r\nfn d() {}\r\n"
    );
    let details = outcome.details.unwrap();
    assert_eq!(details["firstChangedLine"], 2);
    assert!(details["diff"].as_str().unwrap().contains("+fn d() {}"));

    let before = place.text("a.rs");
    let text = place
        .fails(
            "edit",
            json!({"path": "a.rs", "old_text": "fn ", "new_text": "x"}),
        )
        .await;
    assert!(text.contains("3 times, at lines 1, 2, 3"), "{text}");
    for (old, new, wanted) in [
        ("", "x", "must not be empty"),
        ("fn a", "fn a", "nothing to change"),
        ("quux", "x", "not in the file"),
    ] {
        let text = place
            .fails(
                "edit",
                json!({"path": "a.rs", "old_text": old, "new_text": new}),
            )
            .await;
        assert!(text.contains(wanted), "{text}");
    }
    assert_eq!(place.text("a.rs"), before);
    place
        .ok(
            "edit",
            json!({"path": "a.rs", "old_text": "fn ", "new_text": "pub fn ", "replace_all": true}),
        )
        .await;
    assert_eq!(place.text("a.rs").matches("pub fn").count(), 3);
}
