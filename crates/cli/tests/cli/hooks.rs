//! `sm hooks`: what it does to files, and what it leaves alone.

use crate::fake::{Home, Ran};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const CLAUDE: &str = "{\n    \"model\": \"opus\",\n    \"statusLine\": {\"type\": \"command\", \"command\": \"echo me\", \"padding\": 0},\n    \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]}\n}";
const CODEX: &str = "# mine\r\nmodel = \"x\" # good\r\n";

/// A home with an agent's settings in it.
fn home(agent: &str, text: &str) -> (Home, PathBuf) {
    // It lies beside `sm`, or there is nothing to install.
    sm_testkit::clean::binary("sm-hook").unwrap();
    let home = Home::new();
    let file = home.path().join(match agent {
        "claude" => ".claude/settings.json",
        _ => ".codex/config.toml",
    });
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, text).unwrap();
    (home, file)
}

fn names(folder: &Path) -> Vec<String> {
    let mut all: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    all.sort();
    all
}

fn beside(file: &Path) -> Vec<String> {
    names(file.parent().unwrap())
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap()
}

#[test]
fn in_and_out_again_to_the_byte() {
    for (agent, text, added) in [
        ("claude", CLAUDE, "10 hooks added"),
        ("codex", CODEX, "9 hooks added"),
    ] {
        let (home, file) = home(agent, text);
        let alone = beside(&file);
        let sm = |args: &[&str]| home.run(args).exits(0);
        // Shown, and nothing written.
        sm(&["hooks", "install", agent, "--dry-run"])
            .says("+++ ~/.")
            .says("\n+")
            .says("--installed");
        assert_eq!((read(&file).as_str(), beside(&file)), (text, alone.clone()));
        sm(&["hooks", "remove", agent]).says("sm's hooks are not in it");
        assert_eq!((read(&file).as_str(), beside(&file)), (text, alone.clone()));

        sm(&["hooks", "install", agent])
            .says(added)
            .says(".sm-backup-")
            .says(&format!("sm hooks remove {agent}"));
        let installed = read(&file);
        let with_backup = beside(&file);
        assert_eq!(with_backup.len(), 2, "{with_backup:?}");
        assert_eq!(read(&file.with_file_name(&with_backup[1])), text);
        // Twice is once: no byte, no backup more.
        sm(&["hooks", "install", agent]).says("there already");
        sm(&["hooks", "install"]).says("there already");
        sm(&["hooks", "install", agent, "--dry-run"]).says("there already");
        assert_eq!(
            (read(&file), beside(&file)),
            (installed.clone(), with_backup.clone())
        );

        sm(&["hooks", "remove", agent, "--dry-run"]).says("\n-");
        assert_eq!((read(&file), beside(&file)), (installed, with_backup));
        sm(&["hooks", "remove", agent]).says("byte for byte");
        assert_eq!((read(&file).as_str(), beside(&file)), (text, alone));
    }
}

#[test]
fn the_users_own_is_kept_and_what_others_change_stays() {
    let (home, file) = home("claude", CLAUDE);
    home.run(&["hooks", "install", "claude"])
        .exits(0)
        .says("your status line is run by sm's");
    let installed = read(&file);
    let settings: serde_json::Value = serde_json::from_str(&installed).unwrap();
    let line = settings["statusLine"]["command"].as_str().unwrap();
    assert!(
        line.ends_with("sm-hook claude statusline --installed -- 'echo me'"),
        "{line}"
    );
    assert_eq!(settings["statusLine"]["padding"], 0);
    assert_eq!(
        settings["hooks"]["Stop"][0]["hooks"][0]["command"],
        "say done"
    );
    fs::write(&file, installed.replace("opus", "haiku")).unwrap();
    home.run(&["hooks", "install", "claude"])
        .exits(0)
        .says("there already");
    home.run(&["hooks", "remove"])
        .exits(0)
        .says("other changes made since they were installed stay")
        .says("as it was before sm: ~/.claude/settings.json.sm-backup-");
    assert_eq!(read(&file), CLAUDE.replace("opus", "haiku"));
    assert_eq!(beside(&file).len(), 2, "the backup stays");
}

#[test]
fn what_cannot_be_read_is_refused_and_not_touched() {
    for (agent, text, place) in [
        (
            "claude",
            "{\n  // mine\n}",
            "settings.json: line 2, column 3: a comment",
        ),
        ("claude", "{\"a\": 1,}", "settings.json: line 1, column 8: "),
        ("claude", "", "settings.json: line 1, column 1: "),
        (
            "claude",
            "{\"hooks\": 3}",
            "settings.json: line 1, column 11: ",
        ),
        ("codex", "a = 1\nb = ]\n", "config.toml: line 2, column 5: "),
        (
            "codex",
            "[hooks]\nStop = []\n",
            "config.toml: line 2, column 1: ",
        ),
    ] {
        let (home, file) = home(agent, text);
        let alone = beside(&file);
        for what in ["install", "remove"] {
            let ran = home.run(&["hooks", what, agent]);
            // What only cannot be added to has nothing to take out either.
            if what == "remove" && ran.code == Some(0) {
                assert!(ran.out.contains("not in it"), "{}", ran.out);
                continue;
            }
            ran.exits(1)
                .complains(place)
                .complains("nothing was written");
        }
        assert_eq!((read(&file).as_str(), beside(&file)), (text, alone));
    }
    // One that cannot be read does not keep the other from it.
    let (home, _) = home("claude", "{");
    let config = home.path().join(".codex/config.toml");
    fs::create_dir(home.path().join(".codex")).unwrap();
    home.run(&["hooks", "install"])
        .exits(1)
        .says("config.toml: 9 hooks added")
        .complains("settings.json: line 1, column 2");
    assert!(config.exists());
    home.run(&["hooks", "remove"])
        .exits(1)
        .says("removed, as it was made for");
    assert!(!config.exists());
}

#[test]
fn a_file_that_was_not_there_goes_again() {
    let (home, file) = home("claude", "{}");
    fs::remove_file(&file).unwrap();
    home.run(&["hooks", "install", "claude"])
        .exits(0)
        .says("a status line that shows");
    assert_eq!(
        beside(&file),
        ["settings.json"],
        "there was nothing to keep"
    );
    home.run(&["hooks", "remove", "claude"])
        .exits(0)
        .says("removed");
    assert_eq!(beside(&file), [""; 0]);
    home.run(&["hooks", "remove", "claude"])
        .exits(0)
        .says("no such file");
    // Nobody has settings: whose is meant has to be said.
    fs::remove_dir(file.parent().unwrap()).unwrap();
    home.run(&["hooks", "install"])
        .exits(1)
        .complains("name the agent");
    home.run(&["hooks", "install", "claude"]).exits(0);
    assert!(file.exists());
}

#[test]
fn a_link_is_written_through_and_a_mode_is_kept() {
    let (home, file) = home("claude", CLAUDE);
    let real = home.path().join("dotfiles.json");
    fs::rename(&file, &real).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o604)).unwrap();
    std::os::unix::fs::symlink(&real, &file).unwrap();
    for what in ["install", "remove"] {
        home.run(&["hooks", what, "claude"]).exits(0);
        assert_eq!(fs::read_link(&file).unwrap(), real);
        assert_eq!(
            fs::metadata(&real).unwrap().permissions().mode() & 0o7777,
            0o604
        );
        assert_eq!(read(&real) == CLAUDE, what == "remove");
    }
}

#[test]
fn codex_will_ask_and_the_person_is_told_why() {
    let (home, file) = home("codex", CODEX);
    home.run(&["hooks", "install", "codex"])
        .exits(0)
        .says("Hooks need review")
        .says("sm does not answer that");
    assert!(!read(&file).contains("trusted_hash"));
    home.run(&["hooks", "status", "codex"])
        .exits(0)
        .says("not trusted")
        .says("0 of 9 hooks are trusted");
}

#[test]
fn status_tells_where_they_are_and_what_is_wrong() {
    let (home, file) = home("claude", CLAUDE);
    let project = home.path().join("project");
    fs::create_dir(&project).unwrap();
    let status = |home: &Home| {
        let mut sm = home.sm(&["hooks", "status", "--json"]);
        let ran = Ran::from(sm.current_dir(&project).output().unwrap()).exits(0);
        let all: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        all.as_array()
            .unwrap()
            .iter()
            .map(|one| {
                format!(
                    "{} {} {}",
                    one["agent"].as_str().unwrap(),
                    one["scope"].as_str().unwrap(),
                    one["state"].as_str().unwrap()
                )
            })
            .collect::<Vec<_>>()
    };
    let none = [
        "claude user not installed",
        "claude project not installed",
        "codex user not installed",
        "codex project not installed",
    ];
    assert_eq!(status(&home), none);
    // In the home itself there is no other file.
    let at_home = home.run(&["hooks", "status"]).exits(0);
    assert!(!at_home.out.contains("project"), "{}", at_home.out);
    home.run(&["hooks", "install", "claude"]).exits(0);
    assert_eq!(status(&home)[0], "claude user installed");
    home.run(&["hooks", "status", "claude"])
        .exits(0)
        .says("installed");
    let installed = read(&file);
    for (text, state, problem) in [
        (
            installed.replace("claude PreCompact --installed", "claude PreCompact"),
            "incomplete",
            "no hook for PreCompact; run: sm hooks install claude",
        ),
        (
            installed.replace("/sm-hook claude Stop", "/gone/sm-hook claude Stop"),
            "broken",
            "/gone/sm-hook is not there",
        ),
        ("{ // }".to_owned(), "unreadable", "line 1, column 3"),
    ] {
        fs::write(&file, text).unwrap();
        assert_eq!(status(&home)[0], format!("claude user {state}"));
        home.run(&["hooks", "status", "claude"])
            .exits(0)
            .says(problem);
    }
}

#[test]
fn a_project_has_settings_of_its_own() {
    let (home, _) = home("claude", CLAUDE);
    let project = home.path().join("project");
    fs::create_dir(&project).unwrap();
    let sm = |args: &[&str]| Ran::from(home.sm(args).current_dir(&project).output().unwrap());
    let file = project.join(".claude/settings.json");
    sm(&["hooks", "install", "claude", "--scope", "project"])
        .exits(0)
        .says("one of a project would hide your own")
        .says("shared with others")
        .says("sm hooks remove claude --scope project");
    assert!(!read(&file).contains("statusLine"));
    sm(&["hooks", "remove", "claude", "--scope", "project"]).exits(0);
    assert!(!file.exists());
    // Where they are for every project, they are for this one.
    sm(&["hooks", "install", "claude"]).exits(0);
    sm(&["hooks", "install", "claude", "--scope", "project"])
        .exits(1)
        .complains("has sm's hooks already");
    assert!(!file.exists());
}

#[test]
fn without_any_settings_there_is_nothing_to_remove_and_nothing_wrong() {
    let home = Home::new();
    home.run(&["hooks", "remove"]).exits(0).says("in none");
    home.run(&["hooks", "install"]).exits(1);
}

/// What `make uninstall` runs takes the hooks out before the programs they name are gone.
#[test]
fn an_uninstall_leaves_no_hook_behind() {
    let (home, file) = home("claude", CLAUDE);
    home.run(&["hooks", "install"]).exits(0);
    assert_ne!(read(&file), CLAUDE);
    let prefix = home.path().join("prefix");
    let bin = prefix.join("bin");
    fs::create_dir_all(&bin).unwrap();
    for program in ["sm", "sm-hook"] {
        fs::copy(
            sm_testkit::clean::binary(program).unwrap(),
            bin.join(program),
        )
        .unwrap();
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/install.sh");
    let uninstall = || {
        std::process::Command::new("sh")
            .args([script, "uninstall"])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", home.path())
            .env("PREFIX", &prefix)
            .output()
            .unwrap()
    };
    // settings that cannot be read: nothing is taken away, and it is said
    let installed = read(&file);
    fs::write(&file, "{ broken").unwrap();
    let refused = uninstall();
    assert!(
        !refused.status.success() && bin.join("sm").exists(),
        "{refused:?}"
    );
    fs::write(&file, installed).unwrap();
    let done = uninstall();
    assert!(done.status.success(), "{done:?}");
    assert_eq!(read(&file), CLAUDE);
    assert!(!bin.exists());
}
