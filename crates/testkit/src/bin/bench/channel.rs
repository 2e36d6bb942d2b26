//! Creating and loading a channel's handoff: `sm channel` against the shell library.
//!
//! The files are on a file system in memory, so that programs are compared and not disks: the
//! library never syncs. What syncing costs on the disk at hand is shown beside it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sm_testkit::clean::binary;
use tempfile::TempDir;

use crate::samples::{Samples, spread};
use crate::table::{Row, Table};
use crate::{Result, cost};

const LIBRARY: &str = include_str!("../../../bench/handoff-manifest.sh");
const ROUNDS: usize = 40;
/// Cheap calls are made this often a round.
const CHEAP: usize = 5;

#[derive(Default)]
struct Cost {
    wall: Samples,
    cpu: Samples,
}

impl Cost {
    fn add(&mut self, mut command: Command) -> Result<()> {
        let call = cost::call(&mut command)?;
        self.wall.add(call.wall);
        self.cpu.add(call.cpu);
        Ok(())
    }
}

struct Home {
    dir: TempDir,
    sm: PathBuf,
    library: PathBuf,
    text: PathBuf,
}

impl Home {
    fn below(folder: &Path) -> Result<Self> {
        let dir = tempfile::Builder::new()
            .prefix("sm-bench-")
            .tempdir_in(folder)?;
        let library = dir.path().join("handoff-manifest.sh");
        std::fs::write(&library, LIBRARY)?;
        std::fs::set_permissions(&library, std::fs::Permissions::from_mode(0o755))?;
        let text = dir.path().join("text.md");
        std::fs::write(&text, "where the work stands\n".repeat(200))?;
        Ok(Self {
            sm: binary("sm")?,
            dir,
            library,
            text,
        })
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.dir.path())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("TZ", "UTC")
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
    }

    fn ours(&self, what: &str) -> Command {
        let mut command = self.command(&self.sm);
        command.args(["channel", what]);
        if what == "create" {
            command.arg(&self.text);
        }
        command
    }

    fn theirs(&self, call: &str) -> Command {
        let mut command = self.command(Path::new("bash"));
        let script = format!("source {}; {call}", self.library.display());
        command.args(["-c", &script]);
        command
    }
}

pub fn run(table: &mut Table) -> Result<()> {
    let memory = Path::new("/dev/shm");
    let quick = if memory.is_dir() {
        Home::below(memory)?
    } else {
        Home::below(&std::env::temp_dir())?
    };
    let disk = Home::below(&std::env::temp_dir())?;
    let [
        mut create,
        mut load,
        mut old_create,
        mut old_load,
        mut on_disk,
        mut load_disk,
        mut nothing,
    ] = std::array::from_fn(|_| Cost::default());
    for _ in 0..ROUNDS {
        for _ in 0..CHEAP {
            nothing.add(quick.command(Path::new("/bin/true")))?;
            create.add(quick.ours("create"))?;
            load.add(quick.ours("load"))?;
        }
        on_disk.add(disk.ours("create"))?;
        load_disk.add(disk.ours("load"))?;
        old_create.add(quick.theirs("create_handoff global \"$(cat text.md)\""))?;
        old_load.add(quick.theirs("load_handoff global"))?;
    }
    table.section("A channel's handoff (min / p50 / p95)");
    for (what, ours, theirs) in [("create", &create, &old_create), ("load", &load, &old_load)] {
        for (kind, ours, theirs) in [
            ("wall", &ours.wall, &theirs.wall),
            ("CPU", &ours.cpu, &theirs.cpu),
        ] {
            let ratio = theirs.p50() / ours.p50();
            table.row(
                Row::new(format!("{what}, {kind}"), spread(ours))
                    .against(format!("bash + jq: {}", spread(theirs)), ratio)
                    .target("at least 50x less", ratio >= 50.0),
            );
        }
    }
    let floor = format!("/bin/true: {}", spread(&nothing.wall));
    for (what, cost) in [("create", &on_disk), ("load", &load_disk)] {
        let ratio = nothing.wall.p50() / cost.wall.p50();
        table.row(
            Row::new(
                format!("{what}, wall, synced to the disk"),
                spread(&cost.wall),
            )
            .against(floor.clone(), ratio),
        );
    }
    Ok(())
}
