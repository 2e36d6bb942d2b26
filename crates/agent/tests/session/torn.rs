//! A writer that is killed: what it had said was kept is there.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use jiff::Timestamp;
use sm_agent::session::{NewEntry, SessionFile, Shown, read};
use sm_llm::Message;

use crate::life::answer;

fn shown(path: &Path) -> Vec<String> {
    read(path)
        .unwrap()
        .shown
        .iter()
        .map(|shown| match shown {
            Shown::Message { entry, .. } => entry.to_string(),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn a_line_cut_at_any_byte_costs_that_line_alone() {
    let home = tempfile::tempdir().unwrap();
    let mut file =
        SessionFile::create(home.path(), Path::new("/w"), None, &[], Timestamp::now()).unwrap();
    let mut ids = Vec::new();
    for message in [
        Message::user("first", 1),
        answer("wörds\n\"quoted\" \u{1f980}"),
    ] {
        ids.push(
            file.append(&NewEntry::Message(message))
                .unwrap()
                .to_string(),
        );
    }
    let path = file.path().to_path_buf();
    let before = fs::metadata(&path).unwrap().len() as usize;
    let last = NewEntry::Message(answer(
        "{\"type\":\"message\",\"id\":\"x\"} größer\t}\u{1f980}",
    ));
    ids.push(file.append(&last).unwrap().to_string());
    drop(file);
    let whole = fs::read(&path).unwrap();
    let torn = path.with_extension("jsonl.torn");

    for cut in before..=whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let _ = fs::remove_file(&torn);
        // A line is whole without its newline too.
        let there = if cut + 1 >= whole.len() { 3 } else { 2 };
        assert_eq!(shown(&path), ids[..there], "read at {cut}");
        assert_eq!(
            fs::read(&path).unwrap(),
            whole[..cut],
            "reading repairs nothing"
        );

        let (mut file, opened) = SessionFile::open(&path).unwrap();
        assert_eq!(opened.messages.len(), there, "opened at {cut}");
        assert_eq!(opened.damaged, 0, "opened at {cut} of {}", whole.len());
        let half = there == 2 && cut > before;
        assert_eq!(opened.torn.is_some(), half);
        if half {
            let kept = fs::read(&torn).unwrap();
            assert_eq!(kept[..kept.len() - 1], whole[before..cut]);
        }
        let added = file.append(&NewEntry::Message(Message::user("on", 1)));
        drop(file);
        let mut wanted = ids[..there].to_vec();
        wanted.push(added.unwrap().to_string());
        assert_eq!(shown(&path), wanted, "after {cut}");
    }
}

const WRITER: &str = "SM_TEST_WRITES_SESSIONS_IN";

/// The test runs itself a second time as the writer, and kills it.
#[test]
fn a_killed_writer_loses_nothing_that_it_has_told() {
    if let Some(folder) = std::env::var_os(WRITER) {
        write_for_ever(Path::new(&folder));
    }
    let home = tempfile::tempdir().unwrap();
    for round in 0..8_usize {
        let sessions = home.path().join(round.to_string());
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args([
                "torn::a_killed_writer_loses_nothing_that_it_has_told",
                "--exact",
                "--nocapture",
            ])
            .env(WRITER, &sessions)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(writer.stdout.take().unwrap());
        let mut told = Vec::new();
        let mut path = None;
        loop {
            let mut line = String::new();
            if lines.read_line(&mut line).unwrap() == 0 || !line.ends_with('\n') {
                break;
            }
            if let Some(at) = line.trim().strip_prefix("file ") {
                path = Some(at.to_string());
            } else if let Some(id) = line.trim().strip_prefix("kept ") {
                told.push(id.to_string());
                if told.len() == 3 + round * 7 {
                    writer.kill().unwrap();
                }
            }
        }
        writer.wait().unwrap();
        let path = path.unwrap();
        let (mut file, opened) = SessionFile::open(Path::new(&path)).unwrap();
        assert_eq!(opened.damaged, 0);
        let there = shown(Path::new(&path));
        assert!(told.len() >= 3 + round * 7);
        assert_eq!(there[..told.len()], told, "round {round}");
        file.append(&NewEntry::Message(Message::user("on", 1)))
            .unwrap();
    }
}

fn write_for_ever(sessions: &Path) -> ! {
    let mut file =
        SessionFile::create(sessions, Path::new("/w"), None, &[], Timestamp::now()).unwrap();
    let mut out = std::io::stdout();
    // The test runner has written half a line before.
    writeln!(out, "\nfile {}", file.path().display()).unwrap();
    loop {
        let id = file.append(&NewEntry::Message(Message::user("x".repeat(20_000), 1)));
        writeln!(out, "kept {}", id.unwrap()).unwrap();
    }
}
