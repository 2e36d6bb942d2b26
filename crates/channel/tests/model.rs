//! Every interleaving of two creators and two loaders of one channel, and every way in which any
//! of them can be killed between two system calls, on a file system in memory.
//!
//! The code under test is the real one. A process is run again from its beginning with what it was
//! answered so far, and is then let do one thing more; states that are alike are looked at once.
//! What a process does to names that nobody else uses is done together with its next visible step:
//! the others cannot tell.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;
use sm_channel::{
    Channel, ChannelError, ChannelName, Created, Durable, Files, Found, Kind, Loaded, Manifest,
    NewHandoff, Occupied, Owner, Place, Status, Which,
};

/// `None` is a folder.
type Disk = BTreeMap<String, Option<Rc<Vec<u8>>>>;

#[derive(Clone, Hash)]
enum Reply {
    Found(u8),
    Bytes(Option<Rc<Vec<u8>>>),
    Bool(bool),
    Names(Vec<String>),
    Unit,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Job {
    Create(&'static str),
    Load,
}

#[derive(Clone, Hash)]
enum Proc {
    Running(Rc<Vec<Reply>>),
    Created(String),
    Loaded(String, Rc<Vec<u8>>),
    /// There was nothing to load.
    Nothing,
    Killed,
}

impl Proc {
    fn is_running(&self) -> bool {
        matches!(self, Self::Running(_))
    }
}

#[derive(Clone, Hash)]
struct State {
    disk: Disk,
    procs: Vec<Proc>,
}

const FIRST_PID: u32 = 100;
const HANDOFFS: &str = "/c/handoff";
const MANIFEST: &str = "/c/handoff/global.manifest.json";
const CURRENT: &str = "/c/handoff/global-CURRENT.md";
const LOCK: &str = "/c/handoff/global.lock.d";

/// One process's view of the disk during one step.
struct Stepper<'a> {
    me: usize,
    disk: &'a mut Disk,
    alive: Vec<bool>,
    history: Vec<Reply>,
    cursor: usize,
    /// The one visible step was done.
    stepped: bool,
    /// Nothing is done any more.
    stopped: bool,
    /// It waits for the lock: everything it knows is forgotten.
    paused: bool,
    number: u64,
}

fn key(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn stop<T>() -> io::Result<T> {
    Err(io::Error::other("stopped here"))
}

impl Stepper<'_> {
    fn is_private(&self, path: &str) -> bool {
        path.contains(&format!("-{}-", FIRST_PID as usize + self.me))
    }

    fn step(&mut self, private: bool, act: impl FnOnce(&mut Self) -> Reply) -> Option<Reply> {
        if self.stopped {
            return None;
        }
        if self.cursor < self.history.len() {
            self.cursor += 1;
            return Some(self.history[self.cursor - 1].clone());
        }
        if !private && self.stepped {
            self.stopped = true;
            return None;
        }
        self.stepped |= !private;
        let reply = act(self);
        self.history.push(reply.clone());
        self.cursor += 1;
        Some(reply)
    }

    fn folder_of(path: &str) -> &str {
        path.rsplit_once('/').unwrap().0
    }

    /// Whoever changes what counts must own the lock in this very moment.
    fn must_own(&self, to: &str) {
        if to == MANIFEST || to == CURRENT {
            let owner = self.disk.get(&format!("{LOCK}/pid")).cloned().flatten();
            let owner = owner.and_then(|bytes| Owner::parse(&bytes));
            assert_eq!(
                owner.map(|owner| owner.pid),
                Some(self.pid()),
                "{to} is changed by a process that has no lock"
            );
        }
    }
}

fn found(found: Found) -> u8 {
    match found {
        Found::Nothing => 0,
        Found::Something => 1,
        Found::NoFolder => 2,
    }
}

fn as_found(reply: Option<Reply>) -> io::Result<Found> {
    match reply {
        Some(Reply::Found(0)) => Ok(Found::Nothing),
        Some(Reply::Found(1)) => Ok(Found::Something),
        Some(Reply::Found(_)) => Ok(Found::NoFolder),
        _ => stop(),
    }
}

fn as_unit(reply: Option<Reply>) -> io::Result<()> {
    reply.map_or_else(stop, |_| Ok(()))
}

impl Files for Stepper<'_> {
    fn mkdir(&mut self, path: &Path) -> io::Result<Found> {
        let path = key(path);
        as_found(self.step(false, |s| {
            let there = s.disk.contains_key(&path);
            s.disk.entry(path).or_insert(None);
            Reply::Found(found(if there {
                Found::Something
            } else {
                Found::Nothing
            }))
        }))
    }

    fn read(&mut self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        let path = key(path);
        match self.step(false, |s| {
            Reply::Bytes(s.disk.get(&path).cloned().flatten())
        }) {
            Some(Reply::Bytes(bytes)) => Ok(bytes.map(|bytes| bytes.to_vec())),
            _ => stop(),
        }
    }

    fn write_new(&mut self, path: &Path, bytes: &[u8], _: Durable) -> io::Result<()> {
        let path = key(path);
        assert!(self.is_private(&path), "{path}");
        as_unit(self.step(true, |s| {
            let before = s.disk.insert(path, Some(Rc::new(bytes.to_vec())));
            assert!(before.is_none(), "a temporary name is used once");
            Reply::Unit
        }))
    }

    fn link(&mut self, from: &Path, to: &Path) -> io::Result<Found> {
        let (from, to) = (key(from), key(to));
        let private = self.is_private(&to) && !to.starts_with(LOCK);
        as_found(self.step(private, |s| {
            Reply::Found(found(match s.disk.get(&from).cloned() {
                None => Found::NoFolder,
                Some(_) if !s.disk.contains_key(Self::folder_of(&to)) => Found::NoFolder,
                Some(_) if s.disk.contains_key(&to) => Found::Something,
                Some(file) => {
                    s.disk.insert(to, file);
                    Found::Nothing
                }
            }))
        }))
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<bool> {
        let (from, to) = (key(from), key(to));
        match self.step(false, |s| {
            s.must_own(&to);
            let Some(file) = s.disk.remove(&from) else {
                return Reply::Bool(false);
            };
            let inside: Vec<String> = s
                .disk
                .keys()
                .filter(|name| name.starts_with(&format!("{from}/")))
                .cloned()
                .collect();
            for name in inside {
                let moved = s.disk.remove(&name).unwrap();
                s.disk.insert(name.replacen(&from, &to, 1), moved);
            }
            s.disk.insert(to, file);
            Reply::Bool(true)
        }) {
            Some(Reply::Bool(done)) => Ok(done),
            _ => stop(),
        }
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        let path = key(path);
        as_unit(self.step(self.is_private(&path), |s| {
            s.must_own(&path);
            s.disk.remove(&path);
            Reply::Unit
        }))
    }

    fn remove_folder(&mut self, path: &Path, _usual: &str) -> io::Result<()> {
        let path = key(path);
        as_unit(self.step(self.is_private(&path), |s| {
            s.disk
                .retain(|name, _| name != &path && !name.starts_with(&format!("{path}/")));
            Reply::Unit
        }))
    }

    fn list(&mut self, path: &Path) -> io::Result<Vec<String>> {
        let folder = format!("{}/", key(path));
        match self.step(false, |s| {
            let names = s.disk.keys().filter_map(|name| name.strip_prefix(&folder));
            // Names of others come and go all the time; those of the dead are what is looked for.
            let dead = |name: &&str| {
                name.starts_with('.')
                    && (0..s.alive.len()).any(|one| {
                        !s.alive[one] && name.contains(&format!("-{}-", FIRST_PID as usize + one))
                    })
            };
            Reply::Names(
                names
                    .filter(dead)
                    .filter(|name| !name.contains('/'))
                    .map(str::to_owned)
                    .collect(),
            )
        }) {
            Some(Reply::Names(names)) => Ok(names),
            _ => stop(),
        }
    }

    fn age(&mut self, path: &Path) -> io::Result<Option<Duration>> {
        let path = key(path);
        // Anything may have happened long ago: a process can be stopped for an hour anywhere.
        match self.step(false, |s| Reply::Bool(s.disk.contains_key(&path))) {
            Some(Reply::Bool(there)) => Ok(there.then_some(Duration::from_secs(3600))),
            _ => stop(),
        }
    }

    fn sync_folder(&mut self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn now(&mut self) -> Timestamp {
        "2026-02-02T06:45:30Z".parse().unwrap()
    }

    fn pid(&self) -> u32 {
        FIRST_PID + u32::try_from(self.me).unwrap()
    }

    fn number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    fn is_alive(&mut self, owner: Owner) -> bool {
        let one = owner.pid.wrapping_sub(FIRST_PID) as usize;
        let reply = self.step(false, |s| {
            Reply::Bool(s.alive.get(one).copied().unwrap_or(false))
        });
        !matches!(reply, Some(Reply::Bool(false)))
    }

    fn pause(&mut self, _: u32) -> bool {
        if !self.stopped {
            assert!(
                self.cursor == self.history.len(),
                "nobody remembers a pause"
            );
            self.paused = true;
            self.stopped = true;
        }
        false
    }
}

enum Done {
    Created(Result<Created, ChannelError>),
    Loaded(Result<Loaded, ChannelError>),
}

fn perform(files: Stepper<'_>, job: Job) -> (Done, Stepper<'_>) {
    let mut channel = Channel::new(Place::new("/c"), ChannelName::global(), None, files);
    let done = match job {
        Job::Create(text) => Done::Created(channel.create(&NewHandoff {
            session: "s",
            pid: 1,
            working_dir: "/w",
            kind: Kind::Auto,
            text: text.as_bytes(),
            occupied: Occupied::Replace,
        })),
        Job::Load => Done::Loaded(channel.load(&Which::Active, 2)),
    };
    (done, channel.into_files())
}

/// One visible step of one process.
fn advance(state: &State, jobs: &[Job], me: usize) -> State {
    let mut next = state.clone();
    let Proc::Running(history) = &state.procs[me] else {
        unreachable!("only who runs is advanced");
    };
    let stepper = Stepper {
        me,
        disk: &mut next.disk,
        alive: state.procs.iter().map(Proc::is_running).collect(),
        history: history.to_vec(),
        cursor: 0,
        stepped: false,
        stopped: false,
        paused: false,
        number: 0,
    };
    let (done, stepper) = perform(stepper, jobs[me]);
    let (stopped, paused, history) = (stepper.stopped, stepper.paused, stepper.history);
    next.procs[me] = if paused {
        Proc::Running(Rc::default())
    } else if stopped {
        Proc::Running(Rc::new(history))
    } else {
        match done {
            Done::Created(created) => Proc::Created(created.unwrap().id.to_string()),
            Done::Loaded(Ok(loaded)) => {
                Proc::Loaded(loaded.id.to_string(), Rc::new(loaded.document))
            }
            Done::Loaded(Err(ChannelError::None { .. })) => Proc::Nothing,
            Done::Loaded(Err(error)) => panic!("a loader was refused: {error}"),
        }
    };
    next
}

fn id(state: &State) -> u128 {
    let mut hashers = [DefaultHasher::new(), DefaultHasher::new()];
    1u8.hash(&mut hashers[1]);
    let [a, b] = hashers.each_mut().map(|hasher| {
        state.hash(hasher);
        hasher.finish()
    });
    (u128::from(a) << 64) | u128::from(b)
}

/// Whether a document with this text is still somewhere.
fn is_kept(disk: &Disk, text: &str) -> bool {
    disk.iter().any(|(name, file)| {
        let place = name == CURRENT || name.starts_with("/c/handoff/archive/");
        let ends = |file: &Rc<Vec<u8>>| file.ends_with(format!("\n{text}\n").as_bytes());
        place && file.as_ref().is_some_and(ends)
    })
}

/// What holds at every moment.
fn check(state: &State, jobs: &[Job], before: Option<&str>) {
    let mut given = Vec::new();
    for (proc, job) in state.procs.iter().zip(jobs) {
        match (proc, job) {
            (Proc::Created(_), Job::Create(text)) => {
                assert!(is_kept(&state.disk, text), "{text} is lost");
            }
            (Proc::Loaded(id, document), _) => {
                assert!(!given.contains(&id), "{id} was given out twice");
                assert!(String::from_utf8_lossy(document).contains(id.as_str()));
                given.push(id);
            }
            _ => {}
        }
    }
    if let Some(text) = before {
        assert!(is_kept(&state.disk, text), "what was there before is lost");
    }
    let manifest = state.disk.get(MANIFEST).cloned().flatten();
    let manifest = manifest.map(|bytes| Manifest::parse(&bytes).unwrap());
    let current = manifest.as_ref().and_then(Manifest::current);
    for id in given {
        let again = current.is_some_and(|c| c.id.as_str() == id && c.status == Status::Active);
        assert!(!again, "{id} was given out and can be loaded again");
    }
}

/// What holds when nobody runs any more, whoever was killed where: what is active can be loaded,
/// once, and life goes on.
fn check_end(state: &State, jobs: &[Job]) {
    let manifest = state.disk.get(MANIFEST).cloned().flatten();
    let active = manifest.is_some_and(|bytes| {
        Manifest::parse(&bytes)
            .unwrap()
            .current()
            .is_some_and(|current| current.status == Status::Active)
    });
    let killed = state.procs.iter().any(|proc| matches!(proc, Proc::Killed));
    if !killed {
        let locked = state
            .disk
            .keys()
            .any(|name| name.contains("/.") || name.starts_with(LOCK));
        assert!(!locked, "something is left over: {:?}", state.disk.keys());
    }
    let mut later = state.clone();
    let mut jobs = jobs.to_vec();
    for job in [
        Job::Load,
        Job::Load,
        Job::Create("later"),
        Job::Load,
        Job::Load,
    ] {
        jobs.push(job);
        later.procs.push(Proc::Running(Rc::default()));
        let last = later.procs.len() - 1;
        for steps in 0.. {
            assert!(steps < 300, "{job:?} does not get the lock");
            later = advance(&later, &jobs, last);
            if !later.procs[last].is_running() {
                break;
            }
        }
    }
    let [first, second, made, third, fourth] = later.procs.last_chunk().unwrap();
    assert_eq!(matches!(first, Proc::Loaded(..)), active);
    assert!(matches!(second, Proc::Nothing));
    assert!(matches!(made, Proc::Created(_)));
    assert!(matches!(third, Proc::Loaded(_, document) if document.ends_with(b"\nlater\n")));
    assert!(matches!(fourth, Proc::Nothing));
    check(&later, &jobs, None);
    let left = later
        .disk
        .keys()
        .filter(|name| name.contains("/.doc") || name.contains("/.new"));
    assert_eq!(left.count(), 0, "sweeping left something");
}

struct Walked {
    states: usize,
    ends: usize,
}

/// Walks through everything that can happen, with at most so many killed.
fn walk(start: State, jobs: &[Job], kills: usize, before: Option<&str>) -> Walked {
    let mut known: HashMap<u128, u32> = HashMap::from([(id(&start), 0)]);
    let mut open = vec![(0u32, start)];
    // Who can come from where, to see that nobody waits for ever.
    let mut came_from: Vec<Vec<u32>> = vec![Vec::new()];
    let mut ends = Vec::new();
    while let Some((at, state)) = open.pop() {
        check(&state, jobs, before);
        let running: Vec<usize> = (0..jobs.len())
            .filter(|one| state.procs[*one].is_running())
            .collect();
        if running.is_empty() {
            check_end(&state, jobs);
            ends.push(at);
            continue;
        }
        let killed = jobs.len()
            - state
                .procs
                .iter()
                .filter(|proc| !matches!(proc, Proc::Killed))
                .count();
        for one in running {
            let mut nexts = vec![advance(&state, jobs, one)];
            if killed < kills {
                let mut next = state.clone();
                next.procs[one] = Proc::Killed;
                nexts.push(next);
            }
            for next in nexts {
                let new = u32::try_from(known.len()).unwrap();
                let to = *known.entry(id(&next)).or_insert(new);
                if to == new {
                    came_from.push(Vec::new());
                    open.push((to, next));
                }
                came_from[to as usize].push(at);
            }
        }
    }
    let mut reaches = vec![false; came_from.len()];
    let mut open = ends.clone();
    while let Some(at) = open.pop() {
        if !std::mem::replace(&mut reaches[at as usize], true) {
            open.extend(&came_from[at as usize]);
        }
    }
    assert!(
        reaches.into_iter().all(|end| end),
        "somebody waits for ever"
    );
    Walked {
        states: came_from.len(),
        ends: ends.len(),
    }
}

fn empty() -> State {
    let folders = ["/c", HANDOFFS, "/c/handoff/archive"];
    State {
        disk: folders.map(|name| (name.to_owned(), None)).into(),
        procs: Vec::new(),
    }
}

fn running(mut state: State, jobs: &[Job]) -> State {
    state.procs = jobs.iter().map(|_| Proc::Running(Rc::default())).collect();
    state
}

/// A channel that has an active handoff.
fn with_one(text: &'static str) -> State {
    let jobs = [Job::Create(text)];
    let mut state = running(empty(), &jobs);
    while state.procs[0].is_running() {
        state = advance(&state, &jobs, 0);
    }
    state
}

const ALL_FOUR: [Job; 4] = [Job::Create("one"), Job::Load, Job::Create("two"), Job::Load];

fn report(what: &str, walked: &Walked) {
    println!("{what}: {} states, {} ends", walked.states, walked.ends);
}

#[test]
fn two_creators_and_two_loaders_in_every_order_one_killed_anywhere() {
    let start = running(with_one("before"), &ALL_FOUR);
    let walked = walk(start, &ALL_FOUR, 1, Some("before"));
    report("four on an active handoff, one killed", &walked);
    assert!(walked.states > 100_000 && walked.ends > 100);
}

#[test]
fn three_processes_in_every_order_all_of_them_killed_anywhere() {
    for (jobs, before) in [
        ([Job::Create("one"), Job::Load, Job::Load], Some("before")),
        (
            [Job::Create("one"), Job::Create("two"), Job::Load],
            Some("before"),
        ),
        ([Job::Create("one"), Job::Load, Job::Load], None),
    ] {
        let start = before.map_or_else(empty, with_one);
        let walked = walk(running(start, &jobs), &jobs, jobs.len(), before);
        report(&format!("{jobs:?} after {before:?}"), &walked);
        assert!(walked.states > 5_000 && walked.ends > 50, "{jobs:?}");
    }
}

#[test]
#[ignore = "a million states: with --ignored, when the lock or the order of the steps is changed"]
fn two_creators_and_two_loaders_in_every_order_all_of_them_killed_anywhere() {
    let start = running(with_one("before"), &ALL_FOUR);
    let walked = walk(start, &ALL_FOUR, 4, Some("before"));
    report("four on an active handoff, all killed", &walked);
    assert!(walked.states > 500_000 && walked.ends > 10_000);
}
