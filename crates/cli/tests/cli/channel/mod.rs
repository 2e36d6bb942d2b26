//! Channels: the same files as the shell library, from both sides.

mod at_once;
mod library;
mod places;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const SHELL: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../testkit/bench/handoff-manifest.sh"
);
const SESSION: &str = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";

/// A home of its own, where syncing costs little if there is such a place.
struct World {
    home: TempDir,
}

/// Which of the two does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Sm,
    Shell,
}

const SIDES: [Side; 2] = [Side::Sm, Side::Shell];

#[derive(Debug)]
struct Said {
    code: i32,
    out: String,
    err: String,
}

impl World {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix("sm-channel-");
        let home = if memory.is_dir() {
            builder.tempdir_in(memory)
        } else {
            builder.tempdir()
        };
        let home = home.unwrap();
        fs::create_dir_all(home.path().join("work/inner")).unwrap();
        Self { home }
    }

    fn claude(&self, name: &str) -> PathBuf {
        self.home.path().join(".claude").join(name)
    }

    fn manifest(&self, channel: &str) -> Value {
        let path = self.claude(&format!("handoff/{channel}.manifest.json"));
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    }

    fn prepared(&self, mut command: Command) -> Command {
        command
            .env_clear()
            .env("HOME", self.home.path())
            .env("SM_HOME", self.home.path().join("sm"))
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .current_dir(self.home.path().join("work"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn sm(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sm"));
        command.arg("channel").args(args);
        self.prepared(command)
    }

    /// A function of the library, by either.
    fn function(&self, side: Side, args: &[&str]) -> Command {
        match side {
            Side::Sm => self.sm(&[&["lib"], args].concat()),
            Side::Shell => {
                let mut command = Command::new("bash");
                command.arg(SHELL).args(args);
                self.prepared(command)
            }
        }
    }

    fn call(&self, side: Side, args: &[&str]) -> Said {
        said(self.function(side, args))
    }

    fn run(&self, args: &[&str]) -> Said {
        said(self.sm(args))
    }
}

fn said(mut command: Command) -> Said {
    let output = command.output().unwrap();
    Said {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Said {
    #[track_caller]
    fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    #[track_caller]
    fn complains(self, part: &str) -> Self {
        assert!(self.err.contains(part), "{part:?} in {self:?}");
        self
    }
}
