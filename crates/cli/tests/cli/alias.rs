//! `sm alias`: shown first, written when wanted, and taken out to the byte; real shells take it.

use crate::fake::Home;
use std::fs;
use std::process::{Command, Stdio};

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
