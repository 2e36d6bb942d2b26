//! Crashes at moments that nobody chose.

use crate::common::occurrences;
use crate::{FREE, claude, closing};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[test]
#[ignore = "as long as asked: SM_REAL_CRASHES=100"]
fn messages_survive_crashes_at_random_moments() {
    let Some(world) = claude("messages_survive_crashes_at_random_moments") else {
        return;
    };
    let wanted = std::env::var("SM_REAL_CRASHES").ok();
    let crashes: u64 = wanted.and_then(|n| n.parse().ok()).unwrap_or(20);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let mut seed = now.as_millis() as u64 | 1;
    let mut random = move |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    world.start_idle("api", &FREE);
    let mut sent = Vec::new();
    for n in 0..crashes {
        let start = ["plain words", "/words through the mailbox"][random(2) as usize];
        let text = format!("{start} {n}.");
        let mode = ["sequential", "important", "urgent"][random(3) as usize];
        let id = format!("m{n}");
        let busy = random(3) == 0;
        if busy {
            // the turn's tool takes as long as the crash
            let prompt = format!("RUN: sleep 0.{}; echo tool {n}", random(9) + 1);
            world.post("api", &format!("t{n}"), &prompt);
            std::thread::sleep(Duration::from_millis(random(300)));
        }
        world.post_mode("api", &id, &text, mode);
        let wait = random(300);
        std::thread::sleep(Duration::from_millis(wait));
        world.kill_daemon();
        world.sm(&["ls"]).exits(0);
        eprintln!("{n}: {mode} {start:?} busy {busy} killed after {wait} ms");
        sent.push((id, text));
        if random(2) == 0 {
            world.wait_state("api", "idle");
        }
    }
    for (id, _) in &sent {
        world.wait_message("api", id, "submitted");
    }
    let last = closing(&world, "api");
    for (id, text) in &sent {
        world.wait_message("api", id, "consumed");
        assert_eq!(
            occurrences(&last, text),
            1,
            "{text} {id}\n{}",
            world.about("api")
        );
    }
}
