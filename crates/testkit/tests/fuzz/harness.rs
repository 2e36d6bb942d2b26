//! Runs one target: an input for every number, the same for the same seed.

use crate::corpus::{Corpus, Rng};
use crate::memory;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Memory an input may take besides a multiple of its size.
const BASE: usize = 32 << 20;
const PER_BYTE: usize = 256;
/// A single input that takes this long will not end.
const STUCK: Duration = Duration::from_secs(120);

/// What is fed, and what one run of it may draw on.
pub struct Input<'a> {
    pub bytes: &'a [u8],
    pub rng: Rng,
}

impl Input<'_> {
    /// The input in a few pieces, cut anywhere.
    pub fn pieces(&mut self) -> Vec<&[u8]> {
        let bytes = self.bytes;
        let mut rest = bytes;
        let mut pieces = Vec::new();
        for _ in 0..self.rng.below(6) {
            let (piece, tail) = rest.split_at(self.rng.below(rest.len() + 1));
            pieces.push(piece);
            rest = tail;
        }
        pieces.push(rest);
        pieces
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.bytes).into_owned()
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn fresh_seed() -> u64 {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).unwrap();
    u64::from(u32::from_le_bytes(bytes))
}

/// Feeds the target until its time is over.
pub fn fuzz(name: &str, corpus: &Corpus, mut target: impl FnMut(Input<'_>)) {
    let length = Duration::from_secs(number("SM_FUZZ_SECONDS").unwrap_or(1));
    let seed = number("SM_FUZZ_SEED").unwrap_or_else(fresh_seed);
    let mut at = number("SM_FUZZ_FROM").unwrap_or(0);
    println!("fuzz {name}: SM_FUZZ_SEED={seed}");
    let guard = Watchdog::start(name, seed);
    // what is found is reported here: the ordinary message would come without its seed
    let began = Instant::now();
    let first = at;
    while began.elapsed() < length || at == first {
        guard.at.store(at, Ordering::Relaxed);
        let mut rng = Rng::new(seed, at);
        let bytes = corpus.input(&mut rng);
        memory::begin();
        let input = Input { bytes: &bytes, rng };
        let result = catch_unwind(AssertUnwindSafe(|| target(input)));
        let peak = memory::peak();
        let again = format!("repeat it with SM_FUZZ_SEED={seed} SM_FUZZ_FROM={at}");
        if result.is_err() {
            panic!(
                "{name}: {again}\n{:?}",
                String::from_utf8_lossy(&bytes[..bytes.len().min(512)])
            );
        }
        let most = BASE + PER_BYTE * bytes.len();
        assert!(
            peak <= most,
            "{name}: {} bytes took {peak} bytes of memory; {again}",
            bytes.len()
        );
        at += 1;
    }
    println!("fuzz {name}: {} inputs", at - first);
}

/// Says which input never ended.
struct Watchdog {
    at: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl Watchdog {
    fn start(name: &str, seed: u64) -> Self {
        let (at, over) = (
            Arc::new(AtomicU64::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let (seen, done, name) = (Arc::clone(&at), Arc::clone(&over), name.to_owned());
        std::thread::spawn(move || {
            let (mut last, mut since) = (0, Instant::now());
            while !done.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(50));
                let now = seen.load(Ordering::Relaxed);
                if now != last {
                    (last, since) = (now, Instant::now());
                } else if since.elapsed() > STUCK {
                    eprintln!("{name} hangs: SM_FUZZ_SEED={seed} SM_FUZZ_FROM={now}");
                    std::process::abort();
                }
            }
        });
        Self { at, over }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
