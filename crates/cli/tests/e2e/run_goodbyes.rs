//! A person who leaves while `sm run` changes agents: no other agent is started, or the one that is
//! there gets the keys as if it ran directly; and the handoff that was made is named.

use crate::own::{Own, PANE};
use crate::run_ends::{
    AT_ONCE, FULL, agent, channel, farewell, goes_on, manifest, named, running, successors,
};
use crate::world::{DEADLINE, eventually};
use rustix::process::Signal;
use sm_testkit::clean::binary;
use sm_testkit::process::Process;
use sm_testkit::wait_until;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

const ARMED: &str = "Press Ctrl-C again to exit";
const ENDED: &str = "The agent was ended. Handoff HO-";

fn home(own: &Own, name: &str) -> PathBuf {
    own.world.env.home().join(name)
}

fn script(path: PathBuf, text: &str) {
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The channel's lock, held by somebody else: a handoff cannot be made as long as it is.
struct Lock(PathBuf);

impl Lock {
    fn take(own: &Own) -> Self {
        let folder = home(own, &format!(".claude/handoff/{}.lock.d", channel(own)));
        std::fs::create_dir_all(&folder).unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let owner = format!("{}:{}\n", std::process::id(), now.as_secs());
        std::fs::write(folder.join("pid"), owner).unwrap();
        Self(folder)
    }

    fn release(self) {
        std::fs::remove_dir_all(self.0).unwrap();
    }
}

/// A run whose first context is full and whose handoff is being made: it waits for the lock.
fn making(knobs: &str) -> (Own, Lock) {
    making_with(knobs, None)
}

fn making_with(knobs: &str, program: Option<&str>) -> (Own, Lock) {
    let mut own = Own::without_daemon(AT_ONCE, knobs);
    // asked for what the repository looks like while the document is written
    let bin = home(&own, "bin");
    std::fs::create_dir(&bin).unwrap();
    script(bin.join("git"), "#!/bin/sh\n: > \"$HOME/making\"; exit 1\n");
    let env = own.world.env.env();
    let path = &env.iter().find(|(key, _)| key == "PATH").unwrap().1;
    let path = format!("{}:{path}", bin.display());
    own.world.env.set("PATH", path);
    if let Some(text) = program {
        put_before(&own, text);
    }
    let lock = Lock::take(&own);
    own.start(&["run", "claude", FULL]);
    let begun = home(&own, "making");
    assert!(
        wait_until(DEADLINE, || begun.exists().then_some(())).is_some(),
        "{}",
        own.about()
    );
    (own, lock)
}

/// A program that takes the agent's place, and starts it as `$AGENT`.
fn put_before(own: &Own, text: &str) {
    let program = home(own, "before");
    let agent = binary("fake-agent").unwrap();
    script(
        program.clone(),
        &format!("#!/bin/sh\nAGENT={}\n{text}\n", agent.display()),
    );
    let config = format!("[agents.claude]\nprogram = {program:?}\n{AT_ONCE}");
    std::fs::write(own.world.config_file(), config).unwrap();
}

/// The handoff that the last words name is there to go on from, and nobody else was started.
#[track_caller]
fn ended_with_handoff(own: &Own, code: i32) {
    let last = farewell(own, code, "The agent was ended. ");
    assert!(last.starts_with(ENDED), "{last}");
    assert!(
        last.contains("go on with: sm run --handoff claude"),
        "{last}"
    );
    assert_eq!(successors(own), 0, "{}", own.about());
    goes_on(own, &named(&last));
}

#[track_caller]
fn agent_is_gone(own: &Own) {
    eventually("the agent is gone", || {
        running(own, "fake-agent").is_empty()
    });
}

#[test]
fn ctrl_c_while_the_handoff_is_made_is_heard_by_the_agent_and_ends_the_run() {
    let (own, lock) = making("");
    own.tmux.key(PANE, "C-c").unwrap();
    own.shows(ARMED);
    lock.release();
    ended_with_handoff(&own, 130);
}

#[test]
fn an_agent_that_is_left_while_the_handoff_is_made_ends_as_it_would_without_sm() {
    let (own, lock) = making("");
    own.tmux.key(PANE, "C-c").unwrap();
    own.shows(ARMED);
    own.tmux.key(PANE, "C-c").unwrap();
    agent_is_gone(&own);
    lock.release();
    ended_with_handoff(&own, 0);
}

#[test]
fn exit_typed_while_the_handoff_is_made_is_the_end() {
    let (own, lock) = making("");
    own.tmux.type_text(PANE, "/exit").unwrap();
    own.tmux.key(PANE, "Enter").unwrap();
    agent_is_gone(&own);
    lock.release();
    ended_with_handoff(&own, 0);
}

#[test]
fn ctrl_c_reaches_an_agent_that_was_told_to_end_and_does_not() {
    let (own, lock) = making("deaf");
    lock.release();
    own.shows("Told to end: not yet");
    own.tmux.key(PANE, "C-c").unwrap();
    own.shows(ARMED);
    own.tmux.key(PANE, "C-c").unwrap();
    ended_with_handoff(&own, 130);
}

#[test]
fn exit_typed_for_an_agent_that_was_told_to_end_is_the_end() {
    let (own, lock) = making("deaf");
    lock.release();
    own.shows("Told to end: not yet");
    own.tmux.type_text(PANE, "keep this").unwrap();
    own.tmux.key(PANE, "Enter").unwrap();
    own.tmux.type_text(PANE, "/exit").unwrap();
    own.tmux.key(PANE, "Enter").unwrap();
    let last = farewell(&own, 0, "sm run: what you typed meanwhile is kept in ");
    let path = last.lines().next().unwrap().rsplit(' ').next().unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "keep this\n");
    ended_with_handoff(&own, 0);
}

/// Which keys are in the person's terminal and were read by nobody.
fn unread(own: &Own) -> u64 {
    let tty = own.tmux.show(PANE, "#{pane_tty}").unwrap();
    let tty = std::fs::File::open(tty.trim()).unwrap();
    rustix::io::ioctl_fionread(&tty).unwrap()
}

/// The first agent is gone, killed by nobody's key, and the second cannot be started yet.
fn between() -> (Own, Lock) {
    let (own, lock) = making("");
    let agent = agent(&own);
    agent.signal(Signal::KILL);
    // not even its parent, which waits until the run has heard of it, has it any more
    eventually("it was waited for", || Process::find(agent.pid).is_none());
    (own, lock)
}

#[test]
fn ctrl_c_between_two_agents_is_the_end() {
    let (own, lock) = between();
    own.tmux.key(PANE, "C-c").unwrap();
    eventually("the key is there", || unread(&own) == 1);
    lock.release();
    ended_with_handoff(&own, 130);
}

#[test]
fn exit_typed_between_two_agents_is_the_end() {
    let (own, lock) = between();
    own.tmux.type_text(PANE, "/exit").unwrap();
    own.tmux.key(PANE, "Enter").unwrap();
    eventually("the keys are there", || unread(&own) == 6);
    lock.release();
    ended_with_handoff(&own, 0);
    let drafts = own.world.env.sm_home().join("state/drafts");
    assert!(!drafts.exists(), "nothing was typed that is to be kept");
}

#[test]
fn an_agent_that_is_gone_without_a_person_has_a_successor() {
    let (own, lock) = between();
    lock.release();
    eventually("a second context", || successors(&own) == 1);
    own.shows("❯");
    own.enters("/exit");
    assert_eq!(own.code(), 0, "{}", own.about());
}

/// The second agent is started and has not taken the terminal yet.
const SLOW_SECOND: &str = "if [ -e \"$HOME/first\" ] && [ ! -e \"$HOME/go\" ]; then
  echo not yet; while [ ! -e \"$HOME/go\" ]; do sleep 0.05; done
fi
: > \"$HOME/first\"
exec \"$AGENT\" \"$@\"";

#[test]
fn ctrl_c_before_the_second_agent_has_taken_the_terminal_ends_it_and_names_the_handoff() {
    let (own, lock) = making_with("", Some(SLOW_SECOND));
    lock.release();
    own.shows("not yet");
    own.tmux.key(PANE, "C-c").unwrap();
    assert_eq!(own.code(), 130, "{}", own.about());
    std::fs::write(home(&own, "go"), "").unwrap();
    ended_with_handoff(&own, 130);
}

#[test]
fn ctrl_c_at_the_second_agents_composer_is_its_own() {
    let (own, lock) = making("");
    lock.release();
    eventually("a second context", || successors(&own) == 1);
    own.shows("Fake reply to: Continue from handoff");
    eventually("it waits", || {
        let title = own.tmux.show(PANE, "#{pane_title}");
        title.is_ok_and(|title| title.starts_with('✳'))
    });
    own.tmux.key(PANE, "C-c").unwrap();
    own.shows(ARMED);
    own.tmux.key(PANE, "C-c").unwrap();
    assert_eq!(own.code(), 0, "{}", own.about());
    assert_eq!(successors(&own), 1, "{}", own.about());
}

#[test]
fn ctrl_c_in_the_second_agents_first_turn_interrupts_it_and_no_more() {
    // its prompt says that it works until it is interrupted
    let held = "case \"$*\" in *'Continue from handoff'*)
  n=$# i=0
  for word; do
    i=$((i + 1)); [ $i -gt 1 ] || set --
    [ $i -lt $n ] || word=\"$word
HOLD: $HOME/never\"
    set -- \"$@\" \"$word\"
  done;;
esac
exec \"$AGENT\" \"$@\"";
    let (own, lock) = making_with("", Some(held));
    lock.release();
    eventually("a second context", || successors(&own) == 1);
    own.tmux.key(PANE, "C-c").unwrap();
    own.shows("Interrupted");
    own.enters("SAY: still here");
    own.shows("● still here");
    own.enters("/exit");
    assert_eq!(own.code(), 0, "{}", own.about());
    assert_eq!(successors(&own), 1, "{}", own.about());
}

#[test]
fn an_agent_that_ends_with_130_in_a_full_context_has_no_successor() {
    let (own, lock) = making_with("", Some("\"$AGENT\" \"$@\" || exit 130"));
    agent(&own).signal(Signal::KILL);
    agent_is_gone(&own);
    lock.release();
    // (the program that goes on would end so as well)
    let last = farewell(&own, 130, "The agent was ended. ");
    assert!(last.starts_with(ENDED), "{last}");
    assert_eq!(successors(&own), 0, "{}", own.about());
}

/// Closes the terminal; what the handoff needs is given when the agent is gone.
#[track_caller]
fn closed(own: &Own, lock: Lock) {
    let (env, cwd) = (own.world.env.env(), own.world.env.project());
    // tmux ends with its last session
    own.tmux
        .start("other", (80, 24), &cwd, &env, &["cat"])
        .unwrap();
    own.tmux
        .call(&["kill-session", "-t", &format!("={PANE}")])
        .unwrap();
    agent_is_gone(own);
    lock.release();
    eventually("nobody is left", || {
        running(own, "fake-agent").is_empty() && running(own, "sm").is_empty()
    });
    assert_eq!(successors(own), 0);
    let manifest = manifest(own).to_string();
    assert!(manifest.contains("\"active\""), "{manifest}");
    own.start(&["run", "--handoff", "claude"]);
    eventually("it goes on", || successors(own) == 1);
    own.enters("/exit");
    assert_eq!(own.code(), 0, "{}", own.about());
}

#[test]
fn a_terminal_that_is_closed_while_the_handoff_is_made_leaves_it_to_go_on_from() {
    let (own, lock) = making("");
    closed(&own, lock);
}

#[test]
fn a_terminal_that_is_closed_between_two_agents_leaves_the_handoff_to_go_on_from() {
    let (own, lock) = between();
    closed(&own, lock);
}

#[test]
fn exit_typed_while_the_second_agent_starts_waits_for_its_composer() {
    let (own, lock) = making_with("", Some(SLOW_SECOND));
    lock.release();
    own.shows("not yet");
    own.tmux.type_text(PANE, "/exit").unwrap();
    own.tmux.key(PANE, "Enter").unwrap();
    std::fs::write(home(&own, "go"), "").unwrap();
    assert_eq!(own.code(), 0, "{}", own.about());
    assert_eq!(successors(&own), 1, "{}", own.about());
}
