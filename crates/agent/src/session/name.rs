//! Names of session files and of the folders they are in; ids and times as they stand in them.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

/// A file system takes names of 255 bytes.
const LONGEST_FOLDER: usize = 200;

/// The folder in `sessions` of those that belong to one working directory.
pub fn folder_of(sessions: &Path, cwd: &Path) -> PathBuf {
    let cwd = cwd.to_string_lossy();
    let inner: String = cwd
        .strip_prefix('/')
        .unwrap_or(&cwd)
        .chars()
        .map(|c| {
            if matches!(c, '/' | '\\' | ':') {
                '-'
            } else {
                c
            }
        })
        .collect();
    if inner.len() <= LONGEST_FOLDER {
        return sessions.join(format!("--{inner}--"));
    }
    // The end tells more than the beginning; the number keeps two long ones apart.
    let mut from = inner.len() - LONGEST_FOLDER;
    while !inner.is_char_boundary(from) {
        from += 1;
    }
    let number = cwd.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    sessions.join(format!("--{number:016x}-{}--", &inner[from..]))
}

/// `2026-11-15T06:33:13.963Z`.
pub(super) fn iso(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Milliseconds since 1970 of such a time; 0 for what is none.
pub(super) fn millis(iso: &str) -> u64 {
    iso.parse::<Timestamp>()
        .ok()
        .and_then(|time| u64::try_from(time.as_millisecond()).ok())
        .unwrap_or(0)
}

/// `2026-11-15T06-33-13-963Z_<id>.jsonl`.
pub(super) fn file_name(now: Timestamp, id: &str) -> String {
    format!("{}_{id}.jsonl", iso(now).replace([':', '.'], "-"))
}

/// A UUID of version 7: it sorts by time.
pub(super) fn uuid_v7(now: Timestamp) -> String {
    let mut bytes = random::<16>();
    let millis = u64::try_from(now.as_millisecond()).unwrap_or(0);
    bytes[..6].copy_from_slice(&millis.to_be_bytes()[2..]);
    bytes[6] = bytes[6] & 0x0f | 0x70;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

/// An id for a session that is about to begin.
pub fn new_id() -> String {
    uuid_v7(Timestamp::now())
}

/// Ids need to differ, not to be secret: without the system's randomness the clock and the process
/// serve.
pub(super) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if getrandom::fill(&mut bytes).is_err() {
        let mut seed =
            Timestamp::now().as_nanosecond() as u64 ^ u64::from(std::process::id()) << 40;
        for byte in &mut bytes {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (seed >> 56) as u8;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_as_others_name_it() {
        let of = |cwd: &str| folder_of(Path::new("/s"), Path::new(cwd));
        assert_eq!(
            of("/home/user/project"),
            Path::new("/s/--home-user-project--")
        );
        assert_eq!(of("/"), Path::new("/s/----"));
        assert_eq!(of("/a:b\\c"), Path::new("/s/--a-b-c--"));
    }

    #[test]
    fn a_long_folder_is_cut_and_told_apart() {
        let long = format!("/{}", "ä/".repeat(400));
        let a = folder_of(Path::new("/s"), Path::new(&long));
        let b = folder_of(Path::new("/s"), Path::new(&format!("/x{long}")));
        assert_ne!(a, b);
        assert!(a.file_name().unwrap().len() < 255);
    }

    #[test]
    fn names_carry_the_time() {
        let now: Timestamp = "2026-11-15T06:33:13.963Z".parse().unwrap();
        assert_eq!(iso(now), "2026-11-15T06:33:13.963Z");
        assert_eq!(millis(&iso(now)), 1_794_724_393_963);
        assert_eq!(millis("yesterday"), 0);
        let id = uuid_v7(now);
        assert!(id.starts_with("01a1dde8-f3eb-7"), "{id}");
        assert_eq!(id.len(), 36);
        assert_eq!(
            file_name(now, &id),
            format!("2026-11-15T06-33-13-963Z_{id}.jsonl")
        );
        assert_ne!(id, uuid_v7(now));
    }
}
