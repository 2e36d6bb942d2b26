//! Killing the daemon at its own fault points: what is passed is recorded first, then each point is
//! hit once, several worlds side by side. A point that timing keeps from being passed leaves a run
//! without a crash, which has to end as well.

use crate::world::{DEADLINE, World};
use serde_json::Value;
use sm_client::Client;
use sm_client::http::Request;
use sm_testkit::wait_until;
use std::collections::{BTreeSet, VecDeque};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The fault points of one world's daemon (`crates/daemon/src/fault.rs`).
pub struct Points {
    folder: PathBuf,
}

impl Points {
    /// Before the daemon is started.
    pub fn of(world: &World) -> Self {
        let folder = world.paths().state_dir().join("faults");
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .unwrap();
        Self { folder }
    }

    /// From now on points are counted, anew, and the daemon dies at this one.
    pub fn arm(&self, at: Option<&str>) {
        self.disarm();
        let _ = std::fs::remove_file(self.folder.join("passed"));
        let new = self.folder.join("at.new");
        std::fs::write(&new, at.unwrap_or_default()).unwrap();
        std::fs::rename(new, self.folder.join("at")).unwrap();
    }

    pub fn disarm(&self) {
        let _ = std::fs::remove_file(self.folder.join("at"));
    }

    /// `<name> #<n>`, in the order in which they were passed.
    pub fn passed(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.join("passed")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

fn name(point: &str) -> &str {
    point.rsplit_once(" #").map_or(point, |(name, _)| name)
}

/// Answers of a daemon that may be killed at any moment; the next command starts another.
#[track_caller]
pub fn answered(world: &World, target: &str) -> Value {
    let client = Client::new(world.paths());
    let found = wait_until(DEADLINE, || {
        let until = Instant::now() + Duration::from_secs(20);
        match client.request(&Request::get(target), until) {
            Ok(answer) => serde_json::from_str(&answer.text()).ok(),
            Err(_) => {
                world.sm(&["ls"]);
                None
            }
        }
    });
    found.unwrap_or_else(|| panic!("no answer to {target}"))
}

/// Which points are a scenario's own.
pub enum Span {
    All,
    /// From the journal write that decides on this one.
    From(&'static str),
    /// The same, up to this one. A round takes long: what is not passed in every one is left out.
    Within(&'static str, &'static str),
}

/// What is done again and again, with a crash each time.
pub struct Scenario {
    /// Of the fake agent.
    pub knobs: &'static str,
    /// At most so many side by side.
    pub worlds: usize,
    pub span: Span,
    /// Names of points that must have been hit.
    pub must: &'static [&'static str],
    /// Has the points armed, and checks how it ends.
    pub round: fn(&World, &Points, u64, Option<&str>),
}

struct Work {
    waiting: VecDeque<String>,
    counted: BTreeSet<String>,
    hit: BTreeSet<String>,
    again: BTreeSet<String>,
    missed: Vec<String>,
    /// How often a point may still be looked for at another place.
    moves: u32,
}

impl Span {
    fn is_thorough(&self) -> bool {
        match self {
            Self::All | Self::From(_) => true,
            Self::Within(..) => false,
        }
    }

    fn of<'a>(&self, passed: &'a [String]) -> &'a [String] {
        let place = |wanted: &str| passed.iter().position(|point| name(point) == wanted);
        let decided = |wanted: &str| {
            let journal = |point: &String| point.starts_with("before journal");
            passed[..place(wanted)?].iter().rposition(journal)
        };
        let (from, to) = match self {
            Self::All => (Some(0), None),
            Self::From(from) => (decided(from), None),
            Self::Within(from, to) => (decided(from), place(to).map(|at| at + 1)),
        };
        let to = to.unwrap_or(passed.len());
        &passed[from.unwrap_or(to).min(to)..to]
    }
}

impl Work {
    fn begin(points: &[String]) -> Self {
        Self {
            waiting: points.to_vec().into(),
            counted: points.iter().cloned().collect(),
            hit: BTreeSet::new(),
            again: BTreeSet::new(),
            missed: Vec::new(),
            moves: 8,
        }
    }

    /// Kinds of points that the first round did not pass.
    fn found(&mut self, points: &[String]) {
        for point in points {
            if !self.counted.iter().any(|known| name(known) == name(point)) {
                self.counted.insert(point.clone());
                self.waiting.push_back(point.clone());
            }
        }
    }

    /// Whether it is tried where this round has passed it: a few times.
    fn moved(&mut self, point: &str, instead: &str) -> bool {
        if self.moves == 0 {
            return false;
        }
        self.moves -= 1;
        self.counted.remove(point);
        self.counted.insert(instead.to_owned());
        self.waiting.push_back(instead.to_owned());
        true
    }

    fn tried(&mut self, point: String, hit: bool, again: bool) {
        if hit {
            self.hit.insert(point);
        } else if again && self.again.insert(point.clone()) {
            self.waiting.push_back(point); // when the others are through
        } else {
            self.missed.push(point);
        }
    }
}

fn lock(work: &Mutex<Work>) -> MutexGuard<'_, Work> {
    work.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says where the daemon was killed if the test fails.
struct Telling<'a>(Option<&'a str>, &'a AtomicBool);

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.1.store(true, Ordering::Relaxed);
            eprintln!("── FAILED when killed at: {}", self.0.unwrap_or("no point"));
        }
    }
}

impl Scenario {
    fn world(&self) -> (World, Points) {
        let mut world = World::new();
        world.env.set("FAKE_AGENT", self.knobs);
        let points = Points::of(&world);
        world.agent("api");
        (world, points)
    }

    /// A round without a crash, then one for each point.
    #[track_caller]
    pub fn kill_everywhere(&self) {
        let failed = AtomicBool::new(false);
        let first = self.world();
        let run = |(world, points): &(World, Points), round: u64, at: Option<&str>| {
            let telling = Telling(at, &failed);
            (self.round)(world, points, round, at);
            points.disarm();
            drop(telling);
            points.passed()
        };
        // what is done again now and then is passed in few rounds: the shortest is the usual one
        let looks = if self.span.is_thorough() { 1 } else { 2 };
        let rounds = (1..=looks).map(|round| run(&first, round, None));
        let passed = rounds.min_by_key(|passed| self.span.of(passed).len());
        let passed = passed.unwrap_or_default();
        let work = Mutex::new(Work::begin(self.span.of(&passed)));
        let round_after_round = |mine: (World, Points), mut round: u64| {
            while !failed.load(Ordering::Relaxed) {
                let Some(point) = lock(&work).waiting.pop_front() else {
                    return;
                };
                let passed = run(&mine, round, Some(&point));
                round += 1;
                let died = passed.iter().position(|passed| *passed == point);
                let mut work = lock(&work);
                if self.span.is_thorough() {
                    // after a crash another daemon passes others
                    work.found(self.span.of(&passed[..died.unwrap_or(passed.len())]));
                }
                let instead = match died.is_none() && self.must.contains(&name(&point)) {
                    true => self
                        .span
                        .of(&passed)
                        .iter()
                        .rfind(|p| name(p) == name(&point)),
                    false => None,
                };
                match instead {
                    // how often one is passed before it differs from round to round
                    Some(instead) if work.moved(&point, instead) => {}
                    Some(_) | None => {
                        work.tried(point, died.is_some(), self.span.is_thorough());
                    }
                }
            }
        };
        let round_after_round = &round_after_round;
        std::thread::scope(|scope| {
            scope.spawn(move || round_after_round(first, looks + 1));
            let worlds = self.worlds.min(lock(&work).counted.len());
            for _ in 1..worlds {
                scope.spawn(move || round_after_round(self.world(), 1));
            }
        });
        let work = lock(&work);
        let (points, hits) = (work.counted.len(), work.hit.len());
        println!(
            "{points} points, {hits} hit, not reached: {:#?}",
            work.missed
        );
        let hit: BTreeSet<&str> = work.hit.iter().map(|point| name(point)).collect();
        let never = self.must.iter().filter(|must| !hit.contains(*must));
        let never: Vec<_> = never.collect();
        assert!(never.is_empty(), "never hit: {never:#?}\n{passed:#?}");
        assert!(2 * hits > points, "not reached: {:#?}", work.missed);
    }
}
