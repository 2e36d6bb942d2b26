//! `sm alias`: shown first, written when wanted, and taken out to the byte; real shells take it.

use crate::fake::Home;
use sm_testkit::clean::binary;
use sm_testkit::tmux::Tmux;
use sm_testkit::wait_until;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

const BASHRC: &str = "export A=1\nalias ll='ls -l'";

#[test]
fn aliases_go_in_and_come_out_to_the_byte() {
    let home = Home::new();
    let file = home.path().join(".bashrc");
    home.run(&["alias", "install", "--yes"])
        .exits(1)
        .complains("no shell has a start file here");
    fs::write(&file, BASHRC).unwrap();
    let read = || fs::read_to_string(&file).unwrap();
    // Shown, and nothing written: also if nobody can be asked.
    home.run(&["alias", "install", "--dry-run"])
        .exits(0)
        .says("+alias claude='sm run claude'");
    home.run(&["alias", "install"]).exits(1).complains("--yes");
    assert_eq!(read(), BASHRC);
    home.run(&["alias", "install", "--yes"])
        .exits(0)
        .says("done");
    assert!(read().starts_with(BASHRC), "{}", read());
    home.run(&["alias", "install", "--yes"])
        .exits(0)
        .says("nothing to change");
    home.run(&["alias", "remove", "--yes"]).exits(0);
    assert_eq!(read(), BASHRC);
    // One that was made for it goes with it.
    let fish = ["alias", "install", "codex", "--shell", "fish", "--yes"];
    home.run(&fish).exits(0);
    let made = home.path().join(".config/fish/config.fish");
    assert!(
        fs::read_to_string(&made)
            .unwrap()
            .contains("alias codex='sm run codex'")
    );
    home.run(&["alias", "remove", "--shell", "fish", "--yes"])
        .exits(0);
    assert!(!made.exists());
}

#[test]
fn a_question_is_answered_by_a_line_of_its_own_after_it_was_asked() {
    let home = Home::new();
    let file = home.path().join(".bashrc");
    fs::write(&file, BASHRC).unwrap();
    let sm = binary("sm").unwrap();
    let dir = home.path().to_string_lossy().into_owned();
    let env = [
        ("HOME".to_owned(), dir.clone()),
        ("SM_HOME".to_owned(), format!("{dir}/sm")),
        ("PATH".to_owned(), std::env::var("PATH").unwrap()),
    ];
    // What is typed, how it comes, and whether the file is changed.
    for (name, ahead, typed, changed) in [
        ("ahead", "y\n", "\n", false),
        ("sentence", "", "yarn, please\n", false),
        ("pasted", "", "y\nrm -r all\n", false),
        ("yes", "", "y\n", true),
    ] {
        let tmux = Tmux::new().unwrap();
        // `read` shows that the keys are in the terminal before sm asks.
        let gate = home.path().join(name);
        let script = format!(
            "until [ -e '{}' ]; do :; done; '{}' alias install; echo \"left with $?\"; exec sh",
            gate.display(),
            sm.display()
        );
        let argv = ["sh", "-c", &script];
        tmux.start("t", (100, 30), home.path(), &env, &argv)
            .unwrap();
        let sees = |what: &str| {
            let found = wait_until(Duration::from_secs(60), || {
                tmux.screen("t").unwrap().contains(what).then_some(())
            });
            assert!(
                found.is_some(),
                "{name}: {what}:\n{}",
                tmux.screen("t").unwrap()
            );
        };
        let type_lines = |text: &str| {
            let target = ["send-keys", "-t", "=t:", "-l", "--", text];
            tmux.call(&target).unwrap();
        };
        if !ahead.is_empty() {
            type_lines(ahead);
            sees("y");
        }
        fs::write(&gate, "").unwrap();
        sees("[y/N]");
        type_lines(typed);
        sees("left with");
        let is_changed = fs::read_to_string(&file).unwrap() != BASHRC;
        assert_eq!(
            is_changed,
            changed,
            "{name}:\n{}",
            tmux.screen("t").unwrap()
        );
    }
}

#[test]
fn a_shell_understands_its_aliases() {
    let home = Home::new();
    let file = home.path().join(".bashrc");
    fs::write(&file, BASHRC).unwrap();
    home.run(&["alias", "install", "--yes"]).exits(0);
    let told = Command::new("bash")
        .args(["--rcfile"])
        .arg(&file)
        .args(["-i", "-c", "alias claude codex"])
        .env("HOME", home.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert_eq!(
        told,
        "alias claude='sm run claude'\nalias codex='sm run codex'\n"
    );
}
