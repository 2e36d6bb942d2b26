//! `sm uninstall`, `sm stop --purge` and `make uninstall`: whatever any command has put anywhere goes
//! again, and everything of the person's stays as it was.

use crate::fake::Home;
use sm_client::footprint::{TraceKind, missing_folders};
use sm_client::{Footprint, Paths};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const BASHRC: &str = "export A=1\nalias ll='ls -l'";
const CLAUDE: &str = "{\n  \"model\": \"opus\",\n  \"hooks\": {}\n}\n";

/// Every file and folder below, with what is in it and its mode.
fn tree(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let about = entry.metadata().unwrap();
            let content = match about.is_dir() {
                true => {
                    folders.push(entry.path());
                    Vec::new()
                }
                false => fs::read(entry.path()).unwrap_or_default(),
            };
            all.insert(entry.path(), (about.permissions().mode(), content));
        }
    }
    all
}

/// `sm` as this person uses it: the ordinary instance, below the home folder.
fn sm(home: &Home, folder: &Path, args: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_sm"))
        .args(args)
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", "/usr/bin:/bin")
        .env("SM_BIN", "/bin/false")
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    output
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A home with things of its own, in which every command was used that puts something somewhere.
struct Used {
    home: Home,
    project: PathBuf,
    before: BTreeMap<PathBuf, (u32, Vec<u8>)>,
}

/// The places of the ordinary instance.
fn footprint(home: &Path) -> Footprint {
    let var = |key: &str| (key == "HOME").then(|| home.as_os_str().to_owned());
    Footprint::of(&Paths::resolve(var, sm_client::platform::uid()).unwrap())
}

/// What agents and the daemon put somewhere while they run, and what a run that was killed leaves.
fn put_by_agents(home: &Path) {
    let list = footprint(home);
    let rules = home.join(".config/sm/agent.toml");
    let text = b"[approvals]\nallow = [\"bash:make\"]\n";
    list.note_replaced(TraceKind::AgentRules, &rules, None, text)
        .unwrap();
    fs::create_dir_all(rules.parent().unwrap()).unwrap();
    fs::write(rules, text).unwrap();
    let handoff = home.join(".local/share/claude-sessions/handoffs/20260202-notes");
    let folders = missing_folders(&handoff);
    fs::create_dir_all(&handoff).unwrap();
    list.note_made(TraceKind::Handoff, &handoff, folders)
        .unwrap();
    fs::write(handoff.join("handoff.md"), "# Go on\n").unwrap();
    for file in [".current-session", ".restart-session", ".context-status"] {
        fs::write(home.join(".claude").join(file), "s:x\n").unwrap();
    }
    let kinds = list.traces().into_iter().map(|trace| trace.kind);
    let kinds: BTreeSet<TraceKind> = kinds.collect();
    assert!(
        TraceKind::ALL.iter().all(|kind| kinds.contains(kind)),
        "every kind is tried: {kinds:?}"
    );
}

fn used() -> Used {
    let home = Home::new();
    let project = home.path().join("src/shop");
    for folder in [".claude", ".codex", "src/shop", "src/other/.sm"] {
        fs::create_dir_all(home.path().join(folder)).unwrap();
    }
    fs::write(home.path().join(".bashrc"), BASHRC).unwrap();
    fs::set_permissions(
        home.path().join(".bashrc"),
        PermissionsExt::from_mode(0o640),
    )
    .unwrap();
    fs::write(home.path().join(".zshrc"), "").unwrap();
    fs::write(home.path().join(".claude/settings.json"), CLAUDE).unwrap();
    fs::write(home.path().join("src/other/.sm/pins.md"), "my own\n- old").unwrap();
    let before = tree(home.path());
    let other = home.path().join("src/other");
    sm(&home, &project, &["alias", "install", "--yes"]);
    let fish = ["alias", "install", "--shell", "fish", "--yes"];
    sm(&home, &project, &fish);
    let here = ["hooks", "install", "claude", "--scope", "project"];
    sm(&home, &project, &here);
    sm(&home, &project, &["hooks", "install"]);
    sm(&home, &project, &["service", "install"]);
    for folder in [&project, &other] {
        for pin in ["never touch prod", "ask before a migration"] {
            sm(&home, folder, &["pin", "add", "--project", pin]);
        }
    }
    sm(&home, &project, &["channel", "register", ".", "shop"]);
    fs::write(project.join("notes.md"), "# Go on\n").unwrap();
    sm(&home, &project, &["channel", "create", "notes.md"]);
    fs::remove_file(project.join("notes.md")).unwrap();
    sm(&home, &project, &["channel"]);
    put_by_agents(home.path());
    assert!(tree(home.path()).len() > before.len() + 10);
    Used {
        home,
        project,
        before,
    }
}

impl Used {
    fn at(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    #[track_caller]
    fn is_as_before(&self) {
        let mut now = tree(self.home.path());
        // what every desktop has, and sm did not begin to own
        for folder in [
            ".local",
            ".local/state",
            ".local/share",
            ".config",
            "prefix",
        ] {
            now.remove(&self.at(folder));
        }
        let names = |all: &BTreeMap<PathBuf, _>| all.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&now), names(&self.before));
        assert_eq!(now, self.before);
    }
}

#[test]
fn a_purge_takes_back_whatever_any_command_has_put_anywhere() {
    let used = used();
    let refused = Command::new(env!("CARGO_BIN_EXE_sm"))
        .args(["stop", "--purge"])
        .env_clear()
        .env("HOME", used.home.path())
        .env("PATH", "/usr/bin:/bin")
        .env("SM_BIN", "/bin/false")
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let listed = text(&refused);
    for one in [
        ".bashrc",
        ".zshrc",
        "config.fish",
        ".claude/settings.json",
        ".codex/",
        "sm.service",
        ".claude/handoff",
        "channel-registry.json",
        "shop/.sm/pins.md",
        "other/.sm/pins.md",
        "shop/.claude/settings",
        "agent.toml",
        "claude-sessions/handoffs/20260202-notes",
    ] {
        assert!(listed.contains(one), "{one} in {listed}");
    }
    let said = sm(&used.home, &used.project, &["stop", "--purge", "--yes"]);
    assert!(text(&said).contains("all of it is removed"), "{said:?}");
    assert!(text(&said).contains("`unalias claude codex`"), "{said:?}");
    used.is_as_before();
}

#[test]
fn what_a_person_has_changed_too_stays_and_is_told() {
    let used = used();
    let pins = used.at("src/shop/.sm/pins.md");
    let mine = fs::read_to_string(&pins).unwrap() + "- mine\n";
    fs::write(&pins, &mine).unwrap();
    let bashrc = used.at(".bashrc");
    let text_now = fs::read_to_string(&bashrc).unwrap() + "export B=2\n";
    fs::write(&bashrc, text_now).unwrap();
    let said = text(&sm(
        &used.home,
        &used.project,
        &["stop", "--purge", "--yes"],
    ));
    assert!(said.contains("you have changed it too"), "{said}");
    assert!(said.contains("shop/.sm/pins.md"), "{said}");
    assert_eq!(fs::read_to_string(&pins).unwrap(), mine);
    let left = fs::read_to_string(&bashrc).unwrap();
    assert_eq!(left, format!("{BASHRC}\nexport B=2\n"));
}

/// `claude` must not be an alias to a program that is gone.
#[test]
fn an_uninstall_leaves_no_alias_hook_or_service_behind_and_says_what_stays() {
    let used = used();
    let prefix = used.at("prefix");
    let bin = prefix.join("bin");
    fs::create_dir_all(&bin).unwrap();
    for program in ["sm", "sm-hook"] {
        let built = sm_testkit::clean::binary(program).unwrap();
        fs::copy(built, bin.join(program)).unwrap();
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/install.sh");
    let uninstall = |purge: &str| {
        Command::new("sh")
            .args([script, "uninstall"])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", used.home.path())
            .env("PREFIX", &prefix)
            .env("PURGE", purge)
            .env("YES", purge)
            .output()
            .unwrap()
    };
    let done = uninstall("");
    assert!(done.status.success(), "{done:?}");
    assert!(!bin.exists());
    for (file, content) in [(".bashrc", BASHRC), (".claude/settings.json", CLAUDE)] {
        assert_eq!(fs::read_to_string(used.at(file)).unwrap(), content);
    }
    assert!(!used.at(".config/fish").exists());
    assert!(!used.at(".config/systemd").exists());
    assert!(!used.project.join(".claude").exists());
    // what holds words of the person stays, and is named
    for (file, path) in [
        ("pins", "src/shop/.sm/pins.md"),
        ("handoffs", ".claude/handoff"),
        ("state", ".local/state/sm"),
        ("rules", ".config/sm/agent.toml"),
        (
            "a handoff",
            ".local/share/claude-sessions/handoffs/20260202-notes",
        ),
    ] {
        assert!(used.at(path).exists(), "{file}");
        assert!(text(&done).contains(path), "{file}: {done:?}");
    }
    // and goes with a purge
    fs::create_dir_all(&bin).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_sm"), bin.join("sm")).unwrap();
    let done = uninstall("1");
    assert!(done.status.success(), "{done:?}");
    used.is_as_before();
}

/// One that is in the project's history is the project's.
#[test]
fn pins_that_git_has_stay() {
    let used = used();
    let git = |args: &[&str]| {
        let ran = Command::new("git")
            .arg("-C")
            .arg(&used.project)
            .args(args)
            .env("HOME", used.home.path())
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    git(&["init", "-q"]);
    git(&["add", ".sm/pins.md"]);
    let said = text(&sm(
        &used.home,
        &used.project,
        &["stop", "--purge", "--yes"],
    ));
    assert!(said.contains("repository's history"), "{said}");
    assert!(used.project.join(".sm/pins.md").exists());
}

/// Another instance leaves what belongs to the ordinary one.
#[test]
fn an_instance_of_its_own_takes_out_only_what_it_has_put_somewhere() {
    let used = used();
    let installed = fs::read_to_string(used.at(".bashrc")).unwrap();
    used.home
        .run(&["stop", "--purge", "--yes"])
        .exits(0)
        .says("nothing of this instance");
    assert_eq!(fs::read_to_string(used.at(".bashrc")).unwrap(), installed);
}
