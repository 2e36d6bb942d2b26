//! A channel on the real file system: what one process sees, one step after the other.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use sm_channel::{
    Channel, ChannelError, ChannelName, Durable, Files, Found, Kind, NewHandoff, Occupied, Owner,
    Place, Put, RealFiles, Which, header_of,
};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn new<'a>(session: &'a str, text: &'a str, occupied: Occupied) -> NewHandoff<'a> {
    NewHandoff {
        session,
        pid: 1,
        working_dir: "/w",
        kind: Kind::Auto,
        text: text.as_bytes(),
        occupied,
    }
}

fn channel(place: &Place, name: &str) -> Channel<RealFiles> {
    let expiry = Some(Duration::from_secs(7200));
    Channel::new(
        place.clone(),
        name.parse().unwrap(),
        expiry,
        RealFiles::default(),
    )
}

#[test]
fn an_automatic_handoff_steps_aside_for_another_sessions_and_is_loaded_by_id() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::new(folder.path());
    place.ensure().unwrap();
    let mut one = channel(&place, "global");
    let first = one
        .create(&new("alpha", "first", Occupied::StepAside))
        .unwrap();
    assert_eq!(first.put, Put::Current);
    let beside = one
        .create(&new("beta", "beside", Occupied::StepAside))
        .unwrap();
    assert_eq!(beside.put, Put::Archive);
    assert_eq!(one.active().unwrap(), Some(first.id.clone()));
    let loaded = one.load(&Which::Id(beside.id), 2).unwrap();
    assert!(loaded.document.ends_with(b"\nbeside\n"));
    // Its own is replaced, and kept.
    let second = one
        .create(&new("alpha", "second", Occupied::StepAside))
        .unwrap();
    assert_eq!(second.put, Put::Current);
    let loaded = one.load(&Which::Active, 2).unwrap();
    assert_eq!(loaded.id, second.id);
    let loaded = one.load(&Which::Id(first.id), 2).unwrap();
    assert!(loaded.document.ends_with(b"\nfirst\n"));
    assert!(matches!(
        one.load(&Which::Active, 2),
        Err(ChannelError::None { .. })
    ));
}

#[test]
fn handoffs_of_one_second_have_different_ids_and_channels_keep_theirs_apart() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::new(folder.path());
    place.ensure().unwrap();
    let mut ids = Vec::new();
    for text in ["a", "b", "c", "d"] {
        let made = channel(&place, "one").create(&new("s", text, Occupied::Replace));
        ids.push(made.unwrap().id);
    }
    // Another channel may come to the same id: its document goes beside the other's.
    let other = channel(&place, "two").create(&new("s", "other", Occupied::Replace));
    let other = other.unwrap().id;
    channel(&place, "two").load(&Which::Active, 1).unwrap();
    let again = channel(&place, "two")
        .load(&Which::Id(other.clone()), 1)
        .unwrap();
    assert_eq!(header_of(&again.document, "CHANNEL"), Some("two"));
    for (id, text) in ids.iter().zip(["a", "b", "c", "d"]) {
        let kept = channel(&place, "one").load(&Which::Id(id.clone()), 1);
        let document = kept.unwrap().document;
        assert!(document.ends_with(format!("\n{text}\n").as_bytes()));
    }
    ids.dedup();
    assert_eq!(ids.len(), 4);
    assert_eq!(ChannelName::global().as_str(), "global");
}

#[test]
fn a_lock_that_is_held_is_waited_for_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::new(folder.path());
    place.ensure().unwrap();
    let lock = place.handoffs().join("global.lock.d");
    std::fs::create_dir(&lock).unwrap();
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let me = std::process::id();
    std::fs::write(lock.join("pid"), format!("{me}:{now}\n")).unwrap();
    let files = RealFiles::new(Duration::ZERO);
    let mut one = Channel::new(place.clone(), ChannelName::global(), None, files);
    let error = one.create(&new("s", "x", Occupied::Replace)).unwrap_err();
    assert!(matches!(error, ChannelError::Busy { .. }), "{error}");
    assert!(
        error.to_string().contains(&format!("held by process {me}")),
        "{error}"
    );
    // Nothing of the attempt is left.
    assert_eq!(std::fs::read_dir(place.handoffs()).unwrap().count(), 2);
}

/// The system's files, with a neighbour who archives a document of the same id at the worst moment.
struct Neighbour {
    files: RealFiles,
    archive: PathBuf,
}

impl Files for Neighbour {
    fn write_new(&mut self, path: &Path, bytes: &[u8], durable: Durable) -> io::Result<()> {
        if let Some(id) = header_of(bytes, "HANDOFF-ID") {
            let theirs = String::from_utf8_lossy(bytes).replace("global", "other");
            std::fs::write(self.archive.join(format!("{id}.md")), theirs)?;
        }
        self.files.write_new(path, bytes, durable)
    }
    fn mkdir(&mut self, path: &Path) -> io::Result<Found> {
        self.files.mkdir(path)
    }
    fn read(&mut self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        self.files.read(path)
    }
    fn link(&mut self, from: &Path, to: &Path) -> io::Result<Found> {
        self.files.link(from, to)
    }
    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<bool> {
        self.files.rename(from, to)
    }
    fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.files.remove(path)
    }
    fn remove_folder(&mut self, path: &Path, usual: &str) -> io::Result<()> {
        self.files.remove_folder(path, usual)
    }
    fn list(&mut self, path: &Path) -> io::Result<Vec<String>> {
        self.files.list(path)
    }
    fn age(&mut self, path: &Path) -> io::Result<Option<Duration>> {
        self.files.age(path)
    }
    fn sync_folder(&mut self, path: &Path) -> io::Result<()> {
        self.files.sync_folder(path)
    }
    fn now(&mut self) -> jiff::Timestamp {
        self.files.now()
    }
    fn pid(&self) -> u32 {
        self.files.pid()
    }
    fn number(&mut self) -> u64 {
        self.files.number()
    }
    fn is_alive(&mut self, owner: Owner) -> bool {
        self.files.is_alive(owner)
    }
    fn pause(&mut self, attempt: u32) -> bool {
        self.files.pause(attempt)
    }
}

#[test]
fn one_that_steps_aside_never_takes_the_name_of_another_channels_in_the_archive() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::new(folder.path());
    place.ensure().unwrap();
    let mut one = channel(&place, "global");
    one.create(&new("alpha", "first", Occupied::StepAside))
        .unwrap();
    let neighbour = Neighbour {
        files: RealFiles::default(),
        archive: place.archive(),
    };
    let mut beside = Channel::new(place.clone(), ChannelName::global(), None, neighbour);
    let made = beside
        .create(&new("beta", "beside", Occupied::StepAside))
        .unwrap();
    assert_eq!(made.put, Put::Archive);
    let theirs = std::fs::read(place.archived(&made.id)).unwrap();
    assert_eq!(header_of(&theirs, "CHANNEL"), Some("other"));
    let ours = one.load(&Which::Id(made.id), 2).unwrap();
    assert!(ours.document.ends_with(b"\nbeside\n"));
    assert_eq!(header_of(&ours.document, "CHANNEL"), Some("global"));
}
