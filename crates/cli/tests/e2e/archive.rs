//! Everything a terminal has ever shown: complete, searchable, and rendered once.

use crate::world::{World, end, eventually, files, text};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use sm_testkit::process::Process;
use std::os::unix::fs::PermissionsExt;

/// A program that prints what is written into its file, as it grows.
fn printing(world: &World, name: &str) -> std::path::PathBuf {
    let source = world.gate(&format!("{name}.txt"));
    std::fs::write(&source, "").unwrap();
    let path = source.to_str().unwrap();
    let args = [
        "new", "--name", name, "--detach", "--", "tail", "-n", "+1", "-f", path,
    ];
    world.sm(&args).exits(0);
    source
}

fn append(path: &std::path::Path, text: &str) {
    use std::io::Write;
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn numbered(numbers: std::ops::Range<u32>) -> String {
    numbers.map(|n| format!("line {n} of many\n")).collect()
}

/// The archive, once its last line is there.
#[track_caller]
fn archived(world: &World, name: &str, last: &str) -> String {
    let mut archive = String::new();
    eventually(last, || {
        archive = world.sm(&["archive", name]).exits(0).out;
        archive.trim_end().ends_with(last)
    });
    archive
}

#[test]
fn an_archive_is_complete_and_searchable_while_it_runs_and_after() {
    let world = World::new();
    let source = printing(&world, "log");
    append(&source, &numbered(0..3_000));
    append(&source, "Needle in (brackets)\nend 1\n");
    let all = numbered(0..3_000) + "Needle in (brackets)\nend 1\n";
    assert_eq!(archived(&world, "log", "end 1"), all);
    // By id as well, and the same as the files that hold it.
    let shown = world.show("log");
    let id = text(&shown["id"]);
    assert_eq!(world.sm(&["archive", &id]).exits(0).out, all);
    let paths = world.sm(&["archive", "log", "--path"]).exits(0).out;
    let [texts, raws] = paths.lines().collect::<Vec<_>>()[..] else {
        panic!("two lines: {paths}");
    };
    for (glob, expected) in [(texts, "1\n"), (raws, "1\n")] {
        let mut grep = world.env.command("sh");
        grep.args([
            "-c",
            &format!("cat {glob} | grep -a -c 'Needle in (brackets)'"),
        ]);
        let found = grep.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&found.stdout), expected, "{glob}");
    }
    let folder = world.paths().session_dir(&id).join("archive");
    for file in files(&folder) {
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
    let raw = world
        .command(&["archive", "log", "--raw"])
        .output()
        .unwrap();
    assert_eq!(raw.stdout, world.log_of(&shown));

    let found = world.sm(&["archive", "log", "grep", r"needle in \(", "-i"]);
    let found = found.exits(0).out;
    assert!(
        found.starts_with("1  ") && found.ends_with("  Needle in (brackets)\n"),
        "{found}"
    );
    let found = world.sm(&["archive", "log", "grep", "Needle", "-C", "1", "--json"]);
    let lines: Vec<Value> = found
        .exits(0)
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told: Vec<(u64, bool, String)> = lines
        .iter()
        .map(|l| {
            (
                l["line"].as_u64().unwrap(),
                l["match"] == true,
                text(&l["text"]),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (3_000, false, "line 2999 of many".to_owned()),
            (3_001, true, "Needle in (brackets)".to_owned()),
            (3_002, false, "end 1".to_owned()),
        ]
    );
    assert!(
        lines
            .iter()
            .all(|l| l["generation"] == 1 && text(&l["at"]).ends_with('Z'))
    );
    // What is not there, and what cannot be asked.
    let nothing = world.sm(&["archive", "log", "grep", "needle"]).exits(1);
    assert_eq!((nothing.out, nothing.err), (String::new(), String::new()));
    world
        .sm(&["archive", "log", "grep", "(unclosed"])
        .exits(1)
        .complains("unclosed group");
    world
        .sm(&["archive", "log", "--generation", "7"])
        .exits(1)
        .complains("no generation 7");
    world
        .sm(&["archive", "nobody"])
        .exits(1)
        .complains("nobody");

    // After its end as before; and nothing is left of it when it is forgotten.
    world.sm(&["kill", "log"]).exits(0);
    assert!(world.sm(&["archive", "log"]).exits(0).out.starts_with(&all));
    world.sm(&["archive", "log", "grep", "Needle"]).exits(0);
    world.sm(&["kill", "log", "--purge"]).exits(0);
    assert!(!folder.exists());
    world.sm(&["archive", "log"]).exits(1);
}

#[test]
fn each_byte_is_rendered_once_even_over_a_crash() {
    let world = World::new();
    let source = printing(&world, "log");
    append(&source, &numbered(0..20_000));
    archived(&world, "log", "line 19999 of many");
    let about = "/sessions/log/archive/about";
    assert_eq!(world.get(about)["rendered"], 0);
    world.kill_daemon();
    world.sm(&["ls"]).exits(0);
    append(&source, "one more\n");
    let mut rendered = 0;
    eventually("the new line was rendered", || {
        rendered += world.get(about)["rendered"].as_u64().unwrap();
        rendered > 0
    });
    assert_eq!(rendered, "one more\r\n".len() as u64);
    assert_eq!(world.get(about)["lines"], 20_001);
    let archive = archived(&world, "log", "one more");
    assert_eq!(archive, numbered(0..20_000) + "one more\n");
}

#[test]
fn a_terminal_that_changes_its_size_is_followed() {
    let world = World::new();
    let source = printing(&world, "log");
    let pane = text(&world.show("log")["tmux"]["pane"]);
    let long = "0123456789".repeat(15);
    append(&source, &format!("{long}\nend 1\n"));
    archived(&world, "log", "end 1");
    for (n, (cols, rows)) in [("60", "12"), ("100", "30")].into_iter().enumerate() {
        world
            .tmux(&["resize-window", "-t", &pane, "-x", cols, "-y", rows])
            .exits(0);
        let noted = world.paths().session_dir(&text(&world.show("log")["id"]));
        eventually("the size is noted", || {
            let notes = std::fs::read_to_string(noted.join("terminal.notes")).unwrap();
            notes.ends_with(&format!("size {cols} {rows}\n"))
        });
        // Drawn at the end of a row that only has this many columns.
        let last = format!("end {}", n + 2);
        append(&source, &format!("{long}\n\x1b[{cols}Gx\r\n{last}\n"));
        archived(&world, "log", &last);
    }
    let archive = archived(&world, "log", "end 3");
    let at = |columns: usize| format!("{}x", " ".repeat(columns - 1));
    let expected = [
        &long,
        "end 1",
        &long,
        &at(60),
        "end 2",
        &long,
        &at(100),
        "end 3",
    ];
    assert_eq!(archive.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_generation_is_a_part_of_the_archive() {
    let world = World::new();
    world.agent("api");
    world.send_wait("api", "SAY: in the first context");
    world.wait_for("api", "idle");
    let pane = world.pane("api");
    pane.shows("in the first context");
    pane.types("/clear");
    pane.shows("/clear");
    pane.key("Enter");
    eventually("another context", || world.show("api")["generation"] == 2);
    world.wait_for("api", "idle");
    world.send_wait("api", "SAY: in the second context");
    pane.shows("in the second context");
    eventually("it is in the archive", || {
        let found = world.sm(&["archive", "api", "grep", "in the second context"]);
        found.code == Some(0) && found.out.lines().all(|line| line.starts_with("2  "))
    });
    let first = world.sm(&["archive", "api", "grep", "in the first context"]);
    assert!(
        first
            .exits(0)
            .out
            .lines()
            .all(|line| line.starts_with("1  "))
    );
    let second = world
        .sm(&["archive", "api", "--generation", "2"])
        .exits(0)
        .out;
    assert!(
        second.contains("second context") && !second.contains("first context"),
        "{second}"
    );
    world
        .sm(&["archive", "api", "grep", "first", "--generation", "2"])
        .exits(1);
}

/// The process that writes down the terminal of a session.
fn log_writer(folder: &std::path::Path) -> Option<Process> {
    let mut found = std::fs::read_dir("/proc").unwrap().flatten();
    found.find_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        let is_it = words.get(1) == Some(&b"log".as_slice())
            && words.get(2) == Some(&folder.as_os_str().as_encoded_bytes());
        is_it.then(|| Process::find(Pid::from_raw(pid)?)).flatten()
    })
}

#[test]
fn a_killed_log_writer_is_started_again_and_the_hole_is_told() {
    let world = World::new();
    let source = printing(&world, "log");
    append(&source, "before the hole\n");
    archived(&world, "log", "before the hole");
    let id = text(&world.show("log")["id"]);
    let folder = world.paths().session_dir(&id);
    let writer = log_writer(&folder).expect("somebody writes it down");
    writer.kill();
    eventually("its end", || !writer.is_alive());
    append(&source, "in the hole\n");
    eventually("it is written down again", || {
        sm_client::terminal_log::is_written(&folder) && log_writer(&folder).is_some()
    });
    append(&source, "after the hole\n");
    let archive = archived(&world, "log", "after the hole");
    let lines: Vec<&str> = archive.lines().collect();
    let gap = lines
        .iter()
        .position(|line| line.contains("the terminal was not written down"));
    let gap = gap.unwrap_or_else(|| panic!("the hole is not marked: {archive}"));
    assert!(lines[..gap].contains(&"before the hole"), "{archive}");
    // It was on the screen when the log went on.
    assert!(lines[gap..].contains(&"in the hole"), "{archive}");
    eventually("people are told", || {
        let told = world.get("/status")["problems"].to_string();
        told.contains("log: the program that writes down its terminal had ended")
    });
    // and nothing more happens to one that is well
    let now = log_writer(&folder).unwrap();
    append(&source, "and on\n");
    archived(&world, "log", "and on");
    assert!(now.is_alive());
}

/// The program that does it is gone: that is told, with what brings it back.
#[test]
fn a_log_writer_that_cannot_be_started_again_is_told() {
    let mut world = World::new();
    let sm = world.install_writer("#!/bin/sh\nexit 1\n");
    let api = world.agent("api");
    let id = text(&api["id"]);
    let folder = world.paths().session_dir(&id);
    let writer = log_writer(&folder).expect("somebody writes it down");
    std::fs::remove_file(sm.with_file_name("sm-hook")).unwrap();
    end(&writer, Signal::KILL);
    let problems = || world.sm(&["status", "--json"]).exits(0).json()["problems"].clone();
    eventually("it is told", || {
        let problems = problems();
        let mut problems = problems.as_array().into_iter().flatten();
        problems.any(|problem| {
            let problem = text(problem);
            problem.contains("could not be started again (it ended at once)")
                && problem.contains(&format!("sm kill {id} && sm restore {id}"))
        })
    });
    let claims = |line: &String| line.contains("had ended and was started again");
    assert!(!world.events("api").iter().any(claims), "nobody started it");
}
