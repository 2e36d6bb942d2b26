//! config.toml: what is taken, what is refused and how it is said, and that the docs are the table.

use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use sm_daemon::config::{Config, ConfigError, KEYS, LogLevel, TmuxSocket, reference};
use sm_settings::SettingsError;
use sm_store::Durability;

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(
        text.as_bytes(),
        Path::new("/c/config.toml"),
        Some(Path::new("/home/me")),
    )
}

#[test]
fn a_missing_or_empty_file_is_the_defaults() {
    let dir = tempfile::tempdir().unwrap();
    let missing = Config::load(&dir.path().join("config.toml")).unwrap();
    assert_eq!(missing, Config::default());
    assert_eq!(parse("").unwrap(), Config::default());
    assert_eq!(parse("# nothing\n[daemon]\n").unwrap(), Config::default());
    assert_eq!(missing.daemon.port, 8420);
}

#[test]
fn a_pipe_or_a_folder_in_its_place_is_an_error_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("config.toml");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for path in [pipe.as_path(), dir.path()] {
        let error = Config::load(path).unwrap_err().to_string();
        assert!(error.contains("regular file"), "{error}");
    }
}

#[test]
fn every_documented_default_is_what_the_code_uses() {
    let mut file = String::new();
    for key in KEYS {
        file.push_str(&format!("{} = {}\n", key.path, key.default));
    }
    let mut expected = Config::default();
    expected.context.own_rules = true; // they are written here, so an older file does not count
    assert_eq!(parse(&file).unwrap(), expected);
}

#[test]
fn every_key_is_taken() {
    let config = parse(
        r#"
        [daemon]
        port = 0
        log_level = "debug"
        [tmux]
        program = "/opt/tmux"
        socket = "mine"
        config = "~/.tmux.conf"
        history_limit = 1_000
        [agents.claude]
        program = "claude-next"
        args = ["--model", "x"]
        [agents]
        codex = { program = "cx", args = ["-v"] }
        [generic]
        quiet_ms = 200
        [delivery]
        expire_after = "2h"
        [notify]
        command = ["notify-send", "sm"]
        [retention]
        logs_days = 1
        logs_max_mb = 2
        events_days = 3
        [store]
        durability = "normal"
        "#,
    )
    .unwrap();
    assert_eq!(config.daemon.port, 0);
    assert_eq!(config.daemon.log_level, LogLevel::Debug);
    assert_eq!(config.tmux.program, "/opt/tmux");
    assert_eq!(config.tmux.socket, TmuxSocket::Name("mine".into()));
    assert_eq!(
        config.tmux.config,
        Some(PathBuf::from("/home/me/.tmux.conf"))
    );
    assert_eq!(config.tmux.history_limit, 1000);
    assert_eq!(config.agents.claude.program, "claude-next");
    assert_eq!(config.agents.claude.args, ["--model", "x"]);
    assert_eq!(config.agents.codex.program, "cx");
    assert_eq!(config.agents.codex.args, ["-v"]);
    assert_eq!(config.generic.quiet, Duration::from_millis(200));
    assert_eq!(
        config.delivery.expire_after,
        Some(Duration::from_secs(7200))
    );
    assert_eq!(config.notify.command, ["notify-send", "sm"]);
    assert_eq!(config.retention.logs_days, 1);
    assert_eq!(config.retention.logs_max_mb, 2);
    assert_eq!(config.retention.events_days, 3);
    assert_eq!(config.store.durability, Durability::Normal);
}

#[test]
fn paths_count_from_home_or_the_file() {
    for (text, path) in [
        ("~/a/b", "/home/me/a/b"),
        ("/abs/x", "/abs/x"),
        ("rel/x", "/c/rel/x"),
        ("x", "/c/x"),
    ] {
        let config = parse(&format!("tmux.config = {text:?}")).unwrap();
        assert_eq!(config.tmux.config, Some(PathBuf::from(path)), "{text}");
    }
    let config = parse("tmux.socket = \"./t.sock\"").unwrap();
    assert_eq!(
        config.tmux.socket,
        TmuxSocket::Path(PathBuf::from("/c/./t.sock"))
    );
}

#[test]
fn an_unknown_key_names_file_line_and_the_nearest_key() {
    for (file, line, key, nearest) in [
        ("[daemon]\nprot = 1\n", 2, "daemon.prot", "daemon.port"),
        ("\n\nport = 1\n", 3, "port", "daemon.port"),
        ("[deamon]\nport = 1\n", 1, "deamon.port", "daemon.port"),
        (
            "[agents.claude]\nprogam = 'x'\n",
            2,
            "agents.claude.progam",
            "agents.claude.program",
        ),
        (
            "[agents.codx]\nargs = []\n",
            1,
            "agents.codx.args",
            "agents.codex.args",
        ),
        (
            "[store]\nlogs_days = 3\n",
            2,
            "store.logs_days",
            "retention.logs_days",
        ),
        ("'daemon.port' = 1\n", 1, "daemon.port", "daemon.port"),
        (
            "[notify]\ncomand = []\n",
            2,
            "notify.comand",
            "notify.command",
        ),
        // The first in the file is told, not the first in the alphabet.
        (
            "[store]\ndurabilty = 1\n[daemon]\naaa = 1\n",
            2,
            "store.durabilty",
            "store.durability",
        ),
    ] {
        let error = parse(file).unwrap_err();
        let ConfigError::File(SettingsError::UnknownKey {
            line: l,
            key: k,
            nearest: n,
            ..
        }) = &error
        else {
            panic!("{file:?}: {error}");
        };
        assert_eq!(
            (*l, k.as_str(), n.as_str()),
            (line, key, nearest),
            "{file:?}"
        );
    }
    let error = parse("[daemon]\nprot = 1\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "/c/config.toml, line 2: unknown key `daemon.prot`; the nearest valid key is `daemon.port`"
    );
    assert_eq!(
        error.hint(),
        "in line 2 write `daemon.port` instead of `daemon.prot`, or remove it; [daemon] has: port, log_level"
    );
}

#[test]
fn the_levels_of_a_run_are_in_order() {
    for (file, says) in [
        (
            "[run]\nwarn = 80",
            "`run.warn` is 80, which is more than `run.critical` with 75",
        ),
        (
            "[run]\nearly_warn = 70",
            "`run.early_warn` is 70, which is more than `run.warn` with 65",
        ),
        (
            "[run]\ncritical = 93\nlimit = 91",
            "`run.critical` is 93, which is more than `run.limit` with 91",
        ),
    ] {
        let error = parse(file).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert!(
            error
                .hint()
                .contains("run.early_warn <= run.warn <= run.critical <= run.limit")
        );
    }
    parse("[run]\nearly_warn = 75\nwarn = 75").unwrap();
}

#[test]
fn a_wrong_value_says_what_is_expected() {
    for (file, says) in [
        (
            "[daemon]\nport = \"80\"",
            "line 2: `daemon.port` is the text \"80\"; expected a whole number from 0 to 65535",
        ),
        (
            "daemon.port = 65536",
            "`daemon.port` is the number 65536; expected a whole number",
        ),
        ("daemon.port = -1", "is the number -1"),
        ("daemon.port = 1.5", "is the number 1.5"),
        ("daemon.port = true", "is true"),
        ("daemon.port = 1979-05-27", "is a date"),
        (
            "daemon.log_level = 'loud'",
            "expected one of \"error\", \"warn\", \"info\", \"debug\", \"trace\"",
        ),
        ("daemon = 3", "`daemon` is the number 3; expected a table"),
        (
            "agents.claude = []",
            "`agents.claude` is a list; expected a table",
        ),
        (
            "agents.claude.args = 'x'",
            "is the text \"x\"; expected a list of texts",
        ),
        ("agents.claude.args = [1]", "expected a list of texts"),
        ("tmux.program = ''", "expected a text that is not empty"),
        ("tmux.program = \"a\\u0000b\"", "expected a text"),
        ("tmux.history_limit = 1", "from 100 to 10000000"),
        ("delivery.expire_after = '3 weeks'", "expected a duration"),
        ("delivery.expire_after = '0s'", "expected a duration"),
        ("delivery.expire_after = '5'", "expected a duration"),
        (
            "delivery.expire_after = '99999999999999999999d'",
            "expected a duration",
        ),
        ("delivery.expire_after = '-5s'", "expected a duration"),
        ("notify.command = ['']", "expected a list of a program"),
        (
            "store.durability = 'none'",
            "expected one of \"full\", \"normal\"",
        ),
        ("generic.quiet_ms = { a = 1 }", "is a table; expected"),
    ] {
        let error = parse(file).unwrap_err();
        assert!(
            matches!(error, ConfigError::File(SettingsError::WrongValue { .. })),
            "{file:?}: {error}"
        );
        assert!(error.to_string().contains(says), "{file:?}: {error}");
        assert!(!error.hint().is_empty());
    }
}

#[test]
fn what_is_not_toml_is_told_with_its_line() {
    for (bytes, says) in [
        (
            b"[daemon]\nport = = 3\n".as_slice(),
            "line 2: it is not TOML",
        ),
        (
            b"[daemon]\nport = 1\nport = 2\n".as_slice(),
            "line 3: it is not TOML",
        ),
        (b"[daemon]\n# \xff\n".as_slice(), "line 2: it is not UTF-8"),
    ] {
        let error = Config::parse(bytes, Path::new("/c/config.toml"), None).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert!(!error.to_string().contains('\n'), "{error}");
        assert!(!error.hint().is_empty());
    }
    let large = vec![b'#'; 2 << 20];
    let error = Config::parse(&large, Path::new("/c/config.toml"), None).unwrap_err();
    assert!(
        matches!(error, ConfigError::File(SettingsError::TooLarge { .. })),
        "{error}"
    );
    // Deep nesting is refused by the parser, not by the stack.
    let deep = format!("a = {}", "[".repeat(200_000));
    assert!(parse(&deep).is_err());
}

#[test]
fn what_cannot_be_read_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let error = Config::load(dir.path()).unwrap_err();
    assert!(
        matches!(error, ConfigError::File(SettingsError::Read { .. })),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains(&dir.path().display().to_string())
    );
}

#[test]
fn the_port_of_the_environment_goes_before() {
    let mut config = Config::default();
    config.override_port("9000").unwrap();
    assert_eq!(config.daemon.port, 9000);
    for wrong in ["", "x", "65536", "-1"] {
        let error = config.override_port(wrong).unwrap_err();
        assert!(error.to_string().contains("SM_PORT"), "{error}");
    }
    assert_eq!(config.daemon.port, 9000);
}

#[test]
fn the_docs_are_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, reference()).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == reference(),
        "docs/config.md is not what the table of keys says: run the tests with UPDATE_DOCS=1"
    );
    for key in KEYS {
        assert!(!key.doc.is_empty(), "{}", key.path);
        assert!(found.contains(&format!("| `{}` |", key.name())));
    }
}

proptest! {
    #[test]
    fn no_file_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
        if let Err(error) = Config::parse(&bytes, Path::new("c"), None) {
            prop_assert!(!error.to_string().is_empty() && !error.hint().is_empty());
        }
    }

    #[test]
    fn no_toml_makes_it_panic(
        table in "(daemon|tmux|agents|agents\\.claude|notify|delivery|x\\.y)",
        key in "[a-z_]{1,12}",
        value in "(\\[[0-9a-z\",]{0,8}\\]|\"[^\"\\\\]{0,20}\"|[0-9xob_+.-]{1,24}|\\{[a-z=0-9]{0,6}\\})",
    ) {
        let file = format!("[{table}]\n{key} = {value}\n");
        if let Err(error) = Config::parse(file.as_bytes(), Path::new("c"), None) {
            prop_assert!(!error.to_string().is_empty() && !error.hint().is_empty());
        }
    }
}
