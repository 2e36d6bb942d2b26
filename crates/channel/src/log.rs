//! What was refused is written down, one line each, in `handoff/handoff.log`. Failing to do so
//! stops nothing.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use jiff::Timestamp;

use crate::document::time;
use crate::names::ChannelName;
use crate::place::Place;

const LARGEST: u64 = 1 << 20;

pub fn append(place: &Place, channel: &ChannelName, text: &str) {
    let path = place.log();
    if fs::metadata(&path).is_ok_and(|found| found.len() > LARGEST) {
        let _ = fs::rename(&path, path.with_extension("log.1"));
    }
    let line = format!(
        "{} {channel}: {}\n",
        time(Timestamp::now()),
        text.replace(['\n', '\r'], " ")
    );
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&path);
    if let Ok(mut file) = file {
        let _ = file.write_all(line.as_bytes());
    }
}
